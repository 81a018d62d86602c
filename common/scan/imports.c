#include "scan/sema.h"
#include "base/python.h"

#include <stdlib.h>
#include <string.h>

/*
 * What is known of the place of an import: whether it is run whenever its file is. Statements are
 * walked in their order; an expression imports nothing that could be told to be needed.
 */
struct flow {
	bool certain;
	bool main_only; /* if so, only where the file is run as a script */
	bool guarded;	/* an ImportError is caught around it, or it is only for type checkers */
};

enum outcome {
	GOES_ON,
	MISSES, /* by an import of what is not there */
	LEAVES, /* by raise or exit */
};

enum truth { UNKNOWN, TRUE, FALSE, IF_MAIN };

struct import_walk {
	struct scan *s;
	struct scan_file *file;
};

static enum outcome body(struct import_walk *w, struct seq statements, struct flow f);

/* ---- tests whose outcome is known ----------------------------------------------------------- */

static bool is_attr(const struct node *n, const char *of, const char *name)
{
	return n->kind == E_ATTR && n->attr.value->kind == E_NAME &&
	       strcmp(n->attr.value->name->s, of) == 0 && strcmp(n->attr.name->s, name) == 0;
}

static bool is_text(const struct node *n, const char *text)
{
	return n->kind == E_STR && n->str.n == strlen(text) &&
	       memcmp(n->str.s, text, n->str.n) == 0;
}

/* A plain number below 1000; -1 for anything else. */
static int number(const struct node *n)
{
	int value = 0;
	if (n->kind != E_CONST || n->op != T_NUMBER || n->str.n > 3)
		return -1;
	for (uint32_t i = 0; i < n->str.n; i++) {
		if (n->str.s[i] < '0' || n->str.s[i] > '9')
			return -1;
		value = 10 * value + (n->str.s[i] - '0');
	}
	return value;
}

static int minor_of(const struct import_walk *w)
{
	return w->s->python ? w->s->python->minor : 11;
}

/* sys.version_info as so many numbers of it: "[:2]" 2, whole 5, "[0]" and ".major" 1 from 0, ... */
struct version {
	int from, count;
	bool whole;
};

static bool version_slice(const struct node *index, struct version *v)
{
	if (index->kind != E_SLICE || index->three.a || index->three.c || !index->three.b)
		return false;
	*v = (struct version){0, number(index->three.b), true};
	return v->count > 0;
}

static bool is_version(const struct node *n, struct version *v)
{
	*v = (struct version){0, 5, true};
	if (is_attr(n, "sys", "version_info"))
		return true;
	if (n->kind == E_ATTR && is_attr(n->attr.value, "sys", "version_info")) {
		v->count = 1;
		v->whole = false;
		v->from = strcmp(n->attr.name->s, "minor") == 0;
		return v->from || strcmp(n->attr.name->s, "major") == 0;
	}
	if (n->kind != E_SUBSCRIPT || !is_attr(n->sub.value, "sys", "version_info"))
		return false;
	if (version_slice(n->sub.index, v))
		return true;
	*v = (struct version){number(n->sub.index), 1, false};
	return v->from == 0 || v->from == 1;
}

/* Compares the sandbox's version with what is written; false if it cannot be told. */
static bool compare_version(
	const struct import_walk *w, const struct version *v, const struct node *other, int *order)
{
	const int have[2] = {3, minor_of(w)};
	struct seq parts = {(struct node **)&other, 1};
	if (v->whole) {
		if (other->kind != E_TUPLE)
			return false;
		parts = other->list;
	}
	for (int i = 0; i < (int)parts.n && i < v->count; i++) {
		int want = number(parts.v[i]), at = v->from + i;
		if (want < 0)
			return false;
		*order = at < 2 ? (have[at] > want) - (have[at] < want) : 0;
		if (*order)
			return true;
		if (at >= 2)
			return false;
	}
	*order = (v->count > (int)parts.n) - (v->count < (int)parts.n);
	return true;
}

static enum truth as_truth(bool is)
{
	return is ? TRUE : FALSE;
}

static enum truth not(enum truth t) { return t == TRUE ? FALSE : t == FALSE ? TRUE : UNKNOWN; }

static enum truth by_order(enum cmp_op op, int order)
{
	switch (op) {
	case CMP_LT:
		return as_truth(order < 0);
	case CMP_GT:
		return as_truth(order > 0);
	case CMP_LE:
		return as_truth(order <= 0);
	case CMP_GE:
		return as_truth(order >= 0);
	case CMP_EQ:
		return as_truth(order == 0);
	case CMP_NE:
		return as_truth(order != 0);
	default:
		return UNKNOWN;
	}
}

static bool is_linux(const struct node *name, const struct node *text)
{
	return is_text(text, is_attr(name, "os", "name") ? "posix" : "linux");
}

static bool is_system(const struct node *n)
{
	return is_attr(n, "sys", "platform") || is_attr(n, "os", "name");
}

static enum truth compare_system(const struct node *name, enum cmp_op op, const struct node *other)
{
	if (other->kind == E_STR && (op == CMP_EQ || op == CMP_NE))
		return by_order(op, !is_linux(name, other));
	if ((op != CMP_IN && op != CMP_NOT_IN) ||
		(other->kind != E_TUPLE && other->kind != E_LIST && other->kind != E_SET))
		return UNKNOWN;
	for (uint32_t i = 0; i < other->list.n; i++) {
		if (other->list.v[i]->kind != E_STR)
			return UNKNOWN;
		if (is_linux(name, other->list.v[i]))
			return as_truth(op == CMP_IN);
	}
	return as_truth(op == CMP_NOT_IN);
}

static bool is_main(const struct node *a, const struct node *b)
{
	return a->kind == E_NAME && strcmp(a->name->s, "__name__") == 0 && is_text(b, "__main__");
}

static enum truth compared(const struct import_walk *w, const struct node *n)
{
	struct node *a = n->cmp.left, *b = n->cmp.right.v[0];
	enum cmp_op op = n->cmp.ops[0];
	struct version v;
	int order;
	if (n->cmp.right.n != 1)
		return UNKNOWN;
	if (is_version(a, &v) && compare_version(w, &v, b, &order))
		return by_order(op, order);
	if (is_version(b, &v) && compare_version(w, &v, a, &order) && op != CMP_OTHER)
		return by_order(op, -order);
	if (is_system(a))
		return compare_system(a, op, b);
	if (op == CMP_EQ && (is_main(a, b) || is_main(b, a)))
		return IF_MAIN;
	return UNKNOWN;
}

/* sys.platform.startswith("win") */
static enum truth called(const struct node *n)
{
	const struct node *f = n->call.func;
	if (f->kind != E_ATTR || !is_attr(f->attr.value, "sys", "platform") ||
		strcmp(f->attr.name->s, "startswith") != 0 || n->call.args.n != 1 ||
		n->call.args.v[0]->kind != E_STR)
		return UNKNOWN;
	const struct node *x = n->call.args.v[0];
	return as_truth(x->str.n <= 5 && memcmp("linux", x->str.s, x->str.n) == 0);
}

static enum truth named(const char *name)
{
	static const struct {
		const char *name;
		enum truth is;
	} known[] = {{"TYPE_CHECKING", FALSE}, {"PY2", FALSE}, {"PY3", TRUE}};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].is;
	return UNKNOWN;
}

static enum truth truth(const struct import_walk *w, const struct node *n)
{
	bool any = n->kind == E_OR;
	enum truth all = any ? FALSE : TRUE;
	switch (n->kind) {
	case E_CONST:
		if (n->op == T_NUMBER)
			return number(n) < 0 ? UNKNOWN : as_truth(number(n) > 0);
		return as_truth(n->op == K_TRUE || n->op == T_ELLIPSIS);
	case E_NAME:
		return named(n->name->s);
	case E_ATTR:
		return named(n->attr.name->s);
	case E_UNARY:
		return n->op == K_NOT ? not(truth(w, n->one)) : UNKNOWN;
	case E_COMPARE:
		return compared(w, n);
	case E_CALL:
		return called(n);
	case E_AND:
	case E_OR:
		for (uint32_t i = 0; i < n->list.n; i++) {
			enum truth t = truth(w, n->list.v[i]);
			if (t == as_truth(any))
				return t;
			if (t != not(as_truth(any)))
				all = UNKNOWN;
		}
		return all;
	default:
		return UNKNOWN;
	}
}

/* ---- the imports themselves ------------------------------------------------------------------ */

/* The shortest part of a dotted name that does not import. */
static const char *missing_part(struct import_walk *w, const char *name)
{
	const struct python *py = w->s->python;
	if (!py)
		return NULL;
	size_t n = strcspn(name, ".");
	const char *part = arena_copy(&w->s->arena, name, n);
	while (name[n] && python_imports(py, part)) {
		n += 1 + strcspn(name + n + 1, ".");
		part = arena_copy(&w->s->arena, name, n);
	}
	return python_imports(py, part) ? NULL : part;
}

static struct scan_import *add(
	struct import_walk *w, const struct node *n, const char *name, struct flow f)
{
	struct scan *s = w->s;
	VEC_GROW(&s->arena, s->imports);
	struct scan_import *i = &s->imports.v[s->imports.n++];
	*i = (struct scan_import){.module = name,
		.top = arena_copy(&s->arena, name, strcspn(name, ".")),
		.file = w->file->name,
		.line = (int)n->line,
		.dots = n->kind == S_IMPORTFROM ? n->import.dots : 0,
		.guarded = f.guarded,
		.certain = f.certain,
		.main_only = f.main_only};
	return i;
}

static void reach(struct import_walk *w, struct module *m, const struct node *stmt, struct flow f)
{
	module_note_import(w->s, w->file, m, stmt, f.certain, f.main_only);
}

static size_t parts(const char *path)
{
	size_t n = *path != '\0';
	for (; *path; path++)
		n += *path == '/';
	return n;
}

/* Relative imports need a package; files at the top have none. */
static bool has_no_parent(const struct import_walk *w, uint32_t dots)
{
	return dots > parts(w->file->package);
}

static const char *as_written(struct import_walk *w, uint32_t dots, const char *name)
{
	size_t n = name ? strlen(name) : 0;
	char *text = arena_alloc(&w->s->arena, dots + n + 1);
	memset(text, '.', dots);
	if (n)
		memcpy(text + dots, name, n);
	return text;
}

/* True if it is not there. */
static bool relative(struct import_walk *w, struct node *n, const struct import_found *found,
	const char *name, struct flow f)
{
	if (has_no_parent(w, n->import.dots)) {
		add(w, n, as_written(w, n->import.dots, name), f)->missing = true;
		return true;
	}
	struct scan_import *i = *found->name ? add(w, n, found->name, f) : NULL;
	if (found->where == IMPORT_INSIDE || !i)
		return false;
	i->missing =
		!name || !found->top || !module_child(w->s, found->top, name, strcspn(name, "."));
	return i->missing;
}

static bool is_plain(const struct node *n, const char *name)
{
	return n->kind == E_NAME && n->op == NAME_PLAIN && strcmp(n->name->s, name) == 0;
}

static void seek_makers(struct node *n, void *arg)
{
	static const char *const makers[] = {
		"__path__", "globals", "vars", "locals", "exec", "eval", "setattr"};
	bool *found = arg;
	if (*found)
		return;
	*found = n->kind == E_ATTR &&
		 (is_attr(n, "sys", "modules") || is_attr(n, "sys", "meta_path") ||
			 strcmp(n->attr.name->s, "__dict__") == 0);
	for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
		*found |= is_plain(n, makers[i]);
	ast_each(n, seek_makers, arg);
}

/* Whether a module may have names and modules that are not written there. */
static bool makes_names(struct scan *s, struct scan_file *file)
{
	const struct scope *top = file->scope;
	if (file->makes_asked)
		return file->makes;
	bool found = !file->parsed || !top || top->stars || top->open ||
		     scope_own(top, sym_intern(&s->syms, "__getattr__", 11));
	for (uint32_t i = 0; i < file->body.n && !found; i++)
		seek_makers(file->body.v[i], &found);
	file->makes_asked = true;
	file->makes = found;
	return found;
}

/* A file of the directory with the name of a module that Python has may be another. */
static bool is_pythons(const struct import_walk *w, const char *name)
{
	const struct python *py = w->s->python;
	return !py || python_imports(py, arena_copy(&w->s->arena, name, strcspn(name, ".")));
}

/* The part of a dotted name that a package of the directory does not have. */
static const char *missing_child(struct import_walk *w, const struct module *top, const char *name)
{
	size_t n = strcspn(name, "."), rest = name[n] ? strcspn(name + n + 1, ".") : 0;
	bool package = !top->file || strcmp(top->file->package, top->path) == 0;
	if (!package || !rest || is_pythons(w, name) ||
		module_child(w->s, top, name + n + 1, rest) ||
		(top->file && makes_names(w->s, top->file)))
		return NULL;
	return arena_copy(&w->s->arena, name, n + 1 + rest);
}

static bool absolute(struct import_walk *w, struct node *n, const struct import_found *found,
	const char *name, struct flow f)
{
	const char *missing = found->where == IMPORT_OUTSIDE   ? missing_part(w, name)
			      : found->where == IMPORT_NOWHERE ? missing_child(w, found->top, name)
							       : NULL;
	struct scan_import *i = add(w, n, missing ? missing : found->name, f);
	i->missing = missing;
	i->inside = found->top;
	return missing;
}

/* One name of an import; what of the directory it is goes to found. True if it is not there. */
static bool import_one(struct import_walk *w, struct node *n, uint32_t dots, const char *name,
	struct flow f, struct import_found *found)
{
	*found = module_find(w->s, w->file, dots, name);
	if (found->module || found->top)
		reach(w, found->module ? found->module : found->top, n, f);
	bool missing =
		dots || !name ? relative(w, n, found, name, f) : absolute(w, n, found, name, f);
	if (found->module && found->module->file)
		w->s->imports.v[w->s->imports.n - 1].target = found->module->file->name;
	return missing;
}

/* Submodules named by a package's __all__ come with 'import *'. */
static void import_all(
	struct import_walk *w, const struct module *m, const struct node *n, struct flow f)
{
	struct sym *name = w->s->syms.known[SYM___all__];
	struct var *all = m->file && m->file->scope ? scope_own(m->file->scope, name) : NULL;
	for (struct binding *b = all ? all->bindings : NULL; b; b = b->next) {
		if (b->kind != BIND_VALUE || (b->node->kind != E_LIST && b->node->kind != E_TUPLE))
			continue;
		for (uint32_t i = 0; i < b->node->list.n; i++) {
			struct node *x = b->node->list.v[i];
			struct module *sub =
				x->kind == E_STR ? module_child(w->s, m, x->str.s, x->str.n) : NULL;
			if (sub)
				reach(w, sub, n, f);
		}
	}
}

/* Whether a module binds a name, other than by this import itself. */
static bool binds(const struct module *m, const struct sym *name, const struct node *import)
{
	const struct var *v = scope_own(m->file->scope, name);
	const struct binding *b = v ? v->bindings : NULL;
	while (b && b->kind == BIND_IMPORT && b->stmt == import)
		b = b->next;
	return b;
}

/* Whether a module has no such name. A directory without __init__.py has nothing but modules. */
static bool lacks(struct import_walk *w, const struct module *m, const struct sym *name,
	const struct node *import)
{
	if (!m->file)
		return true;
	return name->known != SYM_EV_KEYS && strncmp(name->s, "__", 2) != 0 &&
	       !makes_names(w->s, m->file) && !binds(m, name, import);
}

static char *dotted_name(struct import_walk *w, const char *module, const struct sym *name)
{
	size_t len = strlen(module);
	char *full = arena_alloc(&w->s->arena, len + name->len + 2);
	memcpy(full, module, len);
	if (len)
		full[len++] = '.';
	memcpy(full + len, name->s, name->len);
	return full;
}

static bool import_lacking(struct import_walk *w, struct node *n, const struct import_found *found,
	const struct sym *name, struct flow f)
{
	struct scan_import *i = add(w, n, dotted_name(w, found->name, name), f);
	i->missing = i->inside = true;
	i->lacking = found->module->file ? found->module->file->name : NULL;
	return true;
}

/* Names that the standard library's modules have not, or no longer: from collections import
 * Mapping. */
static bool outside_lacks(struct import_walk *w, struct node *n, struct flow f)
{
	const char *module = n->import.module->s;
	bool lacks = false;
	for (uint32_t i = 0; i < n->import.names.n; i++) {
		const struct sym *name = n->import.names.v[i]->alias.name;
		if (name->s[0] == '*' || python_may_have(w->s->python, module, name->s))
			continue;
		const char *full = dotted_name(w, module, name);
		if (python_imports(w->s->python, full))
			continue;
		struct scan_import *x = add(w, n, full, f);
		x->missing = lacks = true;
		x->lacking = module;
	}
	return lacks;
}

static bool import_from(struct import_walk *w, struct node *n, struct flow f)
{
	struct import_found found;
	bool missing = import_one(
		w, n, n->import.dots, n->import.module ? n->import.module->s : NULL, f, &found);
	if (n->import.dots && has_no_parent(w, n->import.dots))
		return true;
	if (found.where == IMPORT_OUTSIDE && !missing && w->s->python)
		return outside_lacks(w, n, f);
	bool told = n->import.dots || !is_pythons(w, n->import.module->s);
	for (uint32_t i = 0; i < n->import.names.n && found.module; i++) {
		const struct sym *name = n->import.names.v[i]->alias.name;
		if (name->s[0] == '*') {
			import_all(w, found.module, n, f);
			continue;
		}
		struct module *sub = module_child(w->s, found.module, name->s, name->len);
		if (sub)
			reach(w, sub, n, f);
		else if (told && lacks(w, found.module, name, n))
			missing |= import_lacking(w, n, &found, name, f);
	}
	return missing;
}

static enum outcome import(struct import_walk *w, struct node *n, struct flow f)
{
	struct import_found found;
	bool missing = false;
	if (n->kind == S_IMPORTFROM)
		missing = import_from(w, n, f);
	else
		for (uint32_t i = 0; i < n->import.names.n; i++)
			missing |=
				import_one(w, n, 0, n->import.names.v[i]->alias.name->s, f, &found);
	return missing ? MISSES : GOES_ON;
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool catches_import(const struct node *type)
{
	if (!type)
		return true;
	if (type->kind == E_TUPLE) {
		for (uint32_t i = 0; i < type->list.n; i++)
			if (catches_import(type->list.v[i]))
				return true;
		return false;
	}
	const struct sym *name = type->kind == E_NAME && type->op == NAME_PLAIN ? type->name
				 : type->kind == E_ATTR				? type->attr.name
										: NULL;
	return name && (name->known == SYM_ImportError || name->known == SYM_ModuleNotFoundError ||
			       name->known == SYM_Exception || name->known == SYM_BaseException);
}

static bool is_exit(const struct node *n)
{
	const struct node *f = n->kind == E_CALL ? n->call.func : n;
	if (n->kind != E_CALL)
		return false;
	return is_attr(f, "sys", "exit") || is_attr(f, "os", "_exit") ||
	       (f->kind == E_NAME && f->op == NAME_PLAIN &&
		       (strcmp(f->name->s, "exit") == 0 || strcmp(f->name->s, "quit") == 0));
}

static bool leaves(const struct node *n)
{
	return n->kind == S_RAISE || (n->kind == S_EXPR && is_exit(n->one));
}

/* A handler that raises again, or ends the program, catches nothing. */
static bool always_leaves(struct seq statements)
{
	for (uint32_t i = 0; i < statements.n; i++)
		if (leaves(statements.v[i]))
			return true;
	return false;
}

static struct flow perhaps(struct flow f)
{
	f.certain = false;
	return f;
}

static enum outcome handlers(
	struct import_walk *w, struct node *n, struct flow f, enum outcome tried)
{
	enum outcome caught = tried;
	bool found = false;
	for (uint32_t i = 0; i < n->try.handlers.n; i++) {
		struct node *h = n->try.handlers.v[i];
		bool ours = !found && catches_import(h->handler.type);
		bool surely = ours && tried == MISSES;
		enum outcome o = body(w, h->handler.body, surely ? f : perhaps(f));
		found |= ours;
		if (surely)
			caught = o;
	}
	return caught;
}

static enum outcome try(struct import_walk *w, struct node *n, struct flow f)
{
	struct flow in = f;
	for (uint32_t i = 0; i < n->try.handlers.n; i++) {
		struct node *h = n->try.handlers.v[i];
		if (catches_import(h->handler.type) && !always_leaves(h->handler.body))
			in = (struct flow){.guarded = true};
	}
	enum outcome tried = body(w, n->try.body, in);
	enum outcome o = handlers(w, n, f, tried);
	body(w, n->try.orelse, tried == GOES_ON ? f : perhaps(f));
	enum outcome last = body(w, n->try.final, f);
	if (last != GOES_ON)
		return last;
	return o == LEAVES && n->try.handlers.n ? GOES_ON : o;
}

static bool suppresses(const struct node *n)
{
	for (uint32_t i = 0; i < n->with.items.n; i++) {
		const struct node *x = n->with.items.v[i]->two.a;
		const struct node *f = x->kind == E_CALL ? x->call.func : NULL;
		const struct sym *name = !f					    ? NULL
					 : f->kind == E_NAME && f->op == NAME_PLAIN ? f->name
					 : f->kind == E_ATTR			    ? f->attr.name
										    : NULL;
		if (!name || name->known != SYM_suppress)
			continue;
		for (uint32_t k = 0; k < x->call.args.n; k++)
			if (catches_import(x->call.args.v[k]))
				return true;
	}
	return false;
}

static enum outcome with(struct import_walk *w, struct node *n, struct flow f)
{
	if (!suppresses(n))
		return body(w, n->with.body, f);
	body(w, n->with.body, (struct flow){.guarded = true});
	return GOES_ON;
}

static enum outcome branches(struct import_walk *w, struct node *n, struct flow f)
{
	struct flow then = f, other = f;
	enum truth t = truth(w, n->cond.test);
	then.certain &= t == TRUE || t == IF_MAIN;
	then.main_only |= t == IF_MAIN;
	then.guarded |= t == FALSE;
	other.certain &= t == FALSE;
	other.guarded |= t == TRUE;
	enum outcome a = body(w, n->cond.body, then), b = body(w, n->cond.orelse, other);
	if (t == TRUE || t == FALSE)
		return t == TRUE ? a : b;
	return t == UNKNOWN && a != GOES_ON && b != GOES_ON ? a : GOES_ON;
}

static enum outcome statement(struct import_walk *w, struct node *n, struct flow f)
{
	switch (n->kind) {
	case S_IMPORT:
	case S_IMPORTFROM:
		return import(w, n, f);
	case S_IF:
		return branches(w, n, f);
	case S_TRY:
		return try(w, n, f);
	case S_WITH:
		return with(w, n, f);
	case S_CLASS:
		return body(w, n->cls.body, f);
	case S_FUNC:
		if (n->flags & NODE_IMPORTS)
			body(w, n->func.body, (struct flow){0});
		return GOES_ON;
	case S_WHILE:
		body(w, n->cond.body, perhaps(f));
		body(w, n->cond.orelse, perhaps(f));
		return GOES_ON;
	case S_FOR:
		body(w, n->loop.body, perhaps(f));
		body(w, n->loop.orelse, perhaps(f));
		return GOES_ON;
	case S_MATCH:
		for (uint32_t i = 0; i < n->match.cases.n; i++)
			body(w, n->match.cases.v[i]->kase.body, perhaps(f));
		return GOES_ON;
	default:
		return leaves(n) ? LEAVES : GOES_ON;
	}
}

/* What stands behind a statement that leaves is not run. Behind a missing module all are told at
 * once. */
static enum outcome body(struct import_walk *w, struct seq statements, struct flow f)
{
	enum outcome o = GOES_ON;
	for (uint32_t i = 0; i < statements.n; i++) {
		enum outcome now = statement(w, statements.v[i], f);
		if (o == GOES_ON)
			o = now;
		if (now == LEAVES)
			f = perhaps(f);
	}
	return o;
}

bool scan_may_bind(struct scan *s, size_t file, const char *name, size_t n)
{
	struct scan_file *f = s->files.v[file];
	return makes_names(s, f) || scope_own(f->scope, sym_intern(&s->syms, name, n));
}

void imports_collect(struct scan *s)
{
	for (size_t i = 0; i < s->files.n; i++) {
		struct import_walk w = {s, s->files.v[i]};
		if (w.file->parsed)
			body(&w, w.file->body, (struct flow){.certain = true});
	}
}
