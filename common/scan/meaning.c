#include "scan/meaning.h"

#include <string.h>

/* ---- bindings of one module ---------------------------------------------------------------- */

struct binding_search {
	const struct sym *name;
	struct bound found;
};

/* A binding that surely happens replaces those before it; one that may is only clear if alone. */
static void take(struct binding_search *q, bool sure, struct bound b)
{
	if (!sure && q->found.kind != BOUND_NOT)
		b.kind = BOUND_OTHER;
	q->found = b;
}

static bool holds_name(const struct node *target, const struct sym *name)
{
	if (!target)
		return false;
	switch (target->kind) {
	case E_NAME:
		return target->op == NAME_PLAIN && target->name == name;
	case E_STARRED:
		return holds_name(target->one, name);
	case E_TUPLE:
	case E_LIST:
		for (uint32_t i = 0; i < target->list.n; i++)
			if (holds_name(target->list.v[i], name))
				return true;
		return false;
	default:
		return false;
	}
}

static void take_target(
	struct binding_search *q, bool sure, const struct node *target, struct node *value)
{
	if (!holds_name(target, q->name))
		return;
	bool plain = target->kind == E_NAME && value;
	take(q, sure, (struct bound){plain ? BOUND_VALUE : BOUND_OTHER, value, NULL});
}

/* "import a.b" binds a. */
static bool binds_alias(
	const struct binding_search *q, const struct node *stmt, const struct node *alias)
{
	const struct sym *name = alias->alias.name;
	if (alias->alias.as)
		return alias->alias.as == q->name;
	if (stmt->kind == S_IMPORTFROM)
		return name == q->name;
	size_t n = strcspn(name->s, ".");
	return n == q->name->len && memcmp(name->s, q->name->s, n) == 0;
}

static void take_import(struct binding_search *q, bool sure, struct node *stmt)
{
	for (uint32_t i = 0; i < stmt->import.names.n; i++) {
		struct node *alias = stmt->import.names.v[i];
		if (binds_alias(q, stmt, alias))
			take(q, sure, (struct bound){BOUND_IMPORT, alias, stmt});
	}
}

static bool captures(const struct node *p, const struct sym *name);

static bool any_captures(const struct seq s, const struct sym *name)
{
	for (uint32_t i = 0; i < s.n; i++)
		if (captures(s.v[i], name))
			return true;
	return false;
}

static bool captures(const struct node *p, const struct sym *name)
{
	if (!p)
		return false;
	switch (p->kind) {
	case P_SEQUENCE:
	case P_OR:
		return any_captures(p->list, name);
	case P_MAPPING:
		return p->mapping.rest == name || any_captures(p->mapping.values, name);
	case P_CLASS:
		return any_captures(p->pclass.args, name) || any_captures(p->pclass.values, name);
	case P_STAR:
	case P_AS:
		return p->capture.name == name || captures(p->capture.pattern, name);
	default:
		return false;
	}
}

static void search_in(struct binding_search *q, struct seq body, bool sure);

static void search_try(struct binding_search *q, struct node *n, bool sure)
{
	search_in(q, n->try.body, sure && !n->try.handlers.n);
	for (uint32_t i = 0; i < n->try.handlers.n; i++) {
		struct node *h = n->try.handlers.v[i];
		if (h->handler.name == q->name)
			take(q, false, (struct bound){.kind = BOUND_OTHER});
		search_in(q, h->handler.body, false);
	}
	search_in(q, n->try.orelse, false);
	search_in(q, n->try.final, sure);
}

static void search_match(struct binding_search *q, struct node *n)
{
	for (uint32_t i = 0; i < n->match.cases.n; i++) {
		struct node *c = n->match.cases.v[i];
		if (captures(c->kase.pattern, q->name))
			take(q, false, (struct bound){.kind = BOUND_OTHER});
		search_in(q, c->kase.body, false);
	}
}

static void search_block(struct binding_search *q, struct node *n, bool sure)
{
	switch (n->kind) {
	case S_IF:
	case S_WHILE:
		search_in(q, n->cond.body, false);
		search_in(q, n->cond.orelse, false);
		break;
	case S_FOR:
		take_target(q, false, n->loop.target, NULL);
		search_in(q, n->loop.body, false);
		search_in(q, n->loop.orelse, false);
		break;
	case S_WITH:
		for (uint32_t i = 0; i < n->with.items.n; i++)
			take_target(q, sure, n->with.items.v[i]->two.b, NULL);
		search_in(q, n->with.body, sure);
		break;
	case S_TRY:
		search_try(q, n, sure);
		break;
	case S_MATCH:
		search_match(q, n);
		break;
	default:
		break;
	}
}

static void search_statement(struct binding_search *q, struct node *n, bool sure)
{
	switch (n->kind) {
	case S_FUNC:
		if (n->func.name == q->name)
			take(q, sure, (struct bound){BOUND_FUNCTION, n, NULL});
		break;
	case S_CLASS:
		if (n->cls.name == q->name)
			take(q, sure, (struct bound){BOUND_CLASS, n, NULL});
		break;
	case S_ASSIGN:
		for (uint32_t i = 0; i < n->assign.targets.n; i++)
			take_target(q, sure, n->assign.targets.v[i], n->assign.value);
		break;
	case S_ANNASSIGN:
		if (n->three.c)
			take_target(q, sure, n->three.a, n->three.c);
		break;
	case S_AUGASSIGN:
		take_target(q, sure, n->two.a, NULL);
		break;
	case S_TYPEALIAS:
		if (n->alias_stmt.name == q->name)
			take(q, sure, (struct bound){BOUND_VALUE, n->alias_stmt.value, NULL});
		break;
	case S_IMPORT:
	case S_IMPORTFROM:
		take_import(q, sure, n);
		break;
	default:
		search_block(q, n, sure);
	}
}

static void search_in(struct binding_search *q, struct seq body, bool sure)
{
	for (uint32_t i = 0; i < body.n; i++)
		search_statement(q, body.v[i], sure);
}

struct bound bound_in(const struct scan_file *file, const struct sym *name)
{
	struct binding_search q = {.name = name};
	search_in(&q, file->body, true);
	return q.found;
}

/* ---- what else may bind -------------------------------------------------------------------- */

struct look {
	const struct sym *name;
	const struct sym *const *words; /* NULL-terminated */
	bool found;
};

static bool is_word(const struct look *l, const struct sym *name)
{
	for (size_t i = 0; l->words[i]; i++)
		if (l->words[i] == name)
			return true;
	return false;
}

static void look_freely(struct node *n, void *arg)
{
	struct look *l = arg;
	if (n->kind == S_IMPORTFROM)
		l->found |= n->import.names.v[0]->alias.name->s[0] == '*';
	else if (n->kind == E_NAME && n->op == NAME_PLAIN)
		l->found |= is_word(l, n->name);
	else if (n->kind == E_ATTR)
		l->found |= is_word(l, n->attr.name);
	else if (n->kind == S_FUNC)
		l->found |= strcmp(n->func.name->s, "__getattr__") == 0;
	if (!l->found)
		ast_each(n, look_freely, arg);
}

bool bound_freely(struct scan *s, const struct scan_file *file)
{
	static const char *const texts[] = {"globals", "locals", "vars", "exec", "setattr",
		"__dict__", "__setattr__", "modules", "__getattr__", "f_globals", "_convert_"};
	const struct sym *words[sizeof texts / sizeof *texts + 1] = {NULL};
	struct look l = {.words = words};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		words[i] = sym_intern(&s->syms, texts[i], strlen(texts[i]));
	for (uint32_t i = 0; i < file->body.n && !l.found; i++)
		look_freely(file->body.v[i], &l);
	return l.found;
}

static void look_again(struct node *n, void *arg)
{
	struct look *l = arg;
	if (n->kind == S_GLOBAL)
		for (uint32_t i = 0; i < n->names.n; i++)
			l->found |= n->names.v[i] == l->name;
	if (n->kind == E_NAMED)
		l->found |= holds_name(n->two.a, l->name);
	if (!l->found)
		ast_each(n, look_again, arg);
}

bool bound_again(const struct scan_file *file, const struct sym *name)
{
	struct look l = {.name = name};
	for (uint32_t i = 0; i < file->body.n && !l.found; i++)
		look_again(file->body.v[i], &l);
	return l.found;
}

bool meaning_bound_again(struct reader *r, const struct scan_file *file, const struct sym *name)
{
	if (!r->walks)
		return true;
	r->walks--;
	return bound_again(file, name);
}

/* ---- files --------------------------------------------------------------------------------- */

static struct scan_file *have(const struct scan *s, const char *path)
{
	for (size_t i = 0; i < s->files.n; i++)
		if (strcmp(s->files.v[i]->name, path) == 0)
			return s->files.v[i];
	return NULL;
}

struct scan_file *meaning_file(struct reader *r, const char *path)
{
	struct scan_file *f = have(r->s, path);
	struct fail *fail = r->s->arena.fail;
	if (f || !r->from || r->e->code)
		return f;
	int got = r->from->add(r->from->ctx, r->s, path, r->e);
	r->s->arena.fail = fail;
	return got > 0 ? have(r->s, path) : NULL;
}

static char *joined(struct scan *s, const char *dir, size_t ndir, const char *rest, const char *end)
{
	size_t n = strlen(rest), m = strlen(end);
	char *out = arena_alloc(&s->arena, ndir + n + m + 2), *to = out;
	memcpy(to, dir, ndir);
	to += ndir;
	if (ndir && n)
		*to++ = '/';
	for (size_t i = 0; i < n; i++)
		*to++ = rest[i] == '.' ? '/' : rest[i];
	memcpy(to, ndir || n || *end != '/' ? end : end + 1, m);
	return out;
}

/* The module or package that a dotted name is beneath a directory. */
static struct scan_file *module_in(struct reader *r, const char *dir, size_t n, const char *dotted)
{
	struct scan_file *f = *dotted ? meaning_file(r, joined(r->s, dir, n, dotted, ".py")) : NULL;
	return f ? f : meaning_file(r, joined(r->s, dir, n, dotted, "/__init__.py"));
}

static size_t dir_length(const char *path, size_t n)
{
	while (n && path[n - 1] != '/')
		n--;
	return n ? n - 1 : 0;
}

/* What makes types is Python's own, whatever the directory has. */
static bool is_outside(const char *dotted)
{
	static const char *const tops[] = {
		"typing", "typing_extensions", "collections", "enum", "dataclasses", "builtins"};
	size_t n = strcspn(dotted, ".");
	for (size_t i = 0; i < sizeof tops / sizeof *tops; i++)
		if (strlen(tops[i]) == n && memcmp(tops[i], dotted, n) == 0)
			return true;
	return false;
}

static struct scan_file *import_file(
	struct reader *r, const struct scan_file *from, uint32_t dots, const char *dotted)
{
	size_t n = dir_length(from->name, strlen(from->name));
	if (dots) {
		for (uint32_t i = 1; i < dots; i++)
			n = dir_length(from->name, n);
		return module_in(r, from->name, n, dotted);
	}
	if (is_outside(dotted))
		return NULL;
	struct scan_file *f = module_in(r, "", 0, dotted);
	return f || !*r->entry_dir ? f : module_in(r, r->entry_dir, strlen(r->entry_dir), dotted);
}

/* ---- meanings ------------------------------------------------------------------------------ */

static const char *dotted_with(struct scan *s, const char *left, const char *right)
{
	size_t n = strlen(left), m = strlen(right);
	char *out = arena_alloc(&s->arena, n + m + 2);
	memcpy(out, left, n);
	out[n] = '.';
	memcpy(out + n + 1, right, m);
	return out;
}

static struct meaning outside(const char *dotted)
{
	return (struct meaning){.kind = MEANS_OUTSIDE, .dotted = dotted};
}

static struct meaning module(struct scan_file *f)
{
	return (struct meaning){.kind = f ? MEANS_MODULE : MEANS_NOTHING, .file = f};
}

/* from MODULE import NAME */
static struct meaning of_member(struct reader *r, struct scan_file *from, const struct node *stmt,
	const struct sym *name, unsigned depth)
{
	const char *dotted = stmt->import.module ? stmt->import.module->s : "";
	struct scan_file *f = import_file(r, from, stmt->import.dots, dotted);
	if (f) {
		struct meaning m = meaning_of_name(r, f, name, depth + 1);
		if (m.kind == MEANS_BOUND || bound_in(f, name).kind != BOUND_NOT)
			return m;
	}
	if (!stmt->import.dots && !f && is_outside(dotted))
		return outside(dotted_with(r->s, dotted, name->s));
	/* A submodule, also of a directory without __init__.py. */
	const char *sub = *dotted ? dotted_with(r->s, dotted, name->s) : name->s;
	return module(import_file(r, from, stmt->import.dots, sub));
}

static struct meaning of_import(
	struct reader *r, struct scan_file *from, const struct bound *b, unsigned depth)
{
	const struct sym *name = b->node->alias.name;
	if (b->stmt->kind == S_IMPORTFROM)
		return of_member(r, from, b->stmt, name, depth);
	const char *dotted = name->s;
	if (!b->node->alias.as)
		dotted = arena_copy(&r->s->arena, dotted, strcspn(dotted, "."));
	return is_outside(dotted) ? outside(dotted) : module(import_file(r, from, 0, dotted));
}

struct meaning meaning_of_name(
	struct reader *r, struct scan_file *file, const struct sym *name, unsigned depth)
{
	if (depth > MEANING_MAX_DEPTH || !r->names)
		return (struct meaning){0};
	r->names--;
	struct bound b = bound_in(file, name);
	if (b.kind == BOUND_OTHER)
		return (struct meaning){0};
	if (b.kind == BOUND_NOT)
		return outside(dotted_with(r->s, "builtins", name->s));
	if (b.kind == BOUND_IMPORT)
		return of_import(r, file, &b, depth);
	if (b.kind == BOUND_VALUE && (b.node->kind == E_NAME || b.node->kind == E_ATTR)) {
		struct meaning m = meaning_of(r, file, b.node, depth + 1);
		if (m.kind != MEANS_NOTHING)
			return m;
	}
	return (struct meaning){.kind = MEANS_BOUND, .file = file, .bound = b};
}

struct meaning meaning_of(
	struct reader *r, struct scan_file *file, const struct node *n, unsigned depth)
{
	if (depth > MEANING_MAX_DEPTH)
		return (struct meaning){0};
	if (n->kind == E_NAME && n->op == NAME_PLAIN)
		return meaning_of_name(r, file, n->name, depth);
	if (n->kind != E_ATTR)
		return (struct meaning){0};
	struct meaning m = meaning_of(r, file, n->attr.value, depth + 1);
	if (m.kind == MEANS_OUTSIDE && strncmp(m.dotted, "builtins.", 9) != 0)
		return outside(dotted_with(r->s, m.dotted, n->attr.name->s));
	if (m.kind == MEANS_MODULE)
		return meaning_of_name(r, m.file, n->attr.name, depth + 1);
	return (struct meaning){0};
}
