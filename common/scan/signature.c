#include "scan/signature.h"

#include "scan/docstring.h"
#include "scan/type.h"

#include <setjmp.h>
#include <string.h>

#define TYPES_MAX 500
#define NAMES_MAX 5000
#define WALKS_MAX 50
/* Bytes of a docstring times parameters: the docstring is gone through for each. */
#define DOC_WORK_MAX ((size_t)4 << 20)

/* ---- the function -------------------------------------------------------------------------- */

static void look_for_yield(struct node *n, void *arg)
{
	bool *found = arg;
	if (n->kind == E_YIELD || n->kind == E_YIELD_FROM)
		*found = true;
	if (n->kind != S_FUNC && n->kind != E_LAMBDA && n->kind != S_CLASS && !*found)
		ast_each(n, look_for_yield, arg);
}

static bool yields(const struct node *f)
{
	bool found = false;
	for (uint32_t i = 0; i < f->func.body.n; i++)
		look_for_yield(f->func.body.v[i], &found);
	return found;
}

/* Those of the standard library that hand the arguments on as they are. */
static bool keeps_signature(struct scan_file *file, const struct node *d)
{
	static const char *const known[] = {"functools", "typing"};
	const struct node *root = d->kind == E_CALL ? d->call.func : d;
	const struct sym *last = root->kind == E_ATTR	? root->attr.name
				 : root->kind == E_NAME ? root->name
							: NULL;
	static const char *const names[] = {"cache", "lru_cache", "no_type_check", "final"};
	const struct node *base = root->kind == E_ATTR ? root->attr.value : root;
	struct bound b = base->kind == E_NAME && base->op == NAME_PLAIN ? bound_in(file, base->name)
									: (struct bound){0};
	bool named = false, imported = false;
	for (size_t i = 0; last && i < sizeof names / sizeof *names; i++)
		named |= strcmp(last->s, names[i]) == 0;
	if (!named || b.kind != BOUND_IMPORT || b.node->alias.as)
		return false;
	const struct sym *from =
		b.stmt->kind == S_IMPORTFROM ? b.stmt->import.module : b.node->alias.name;
	for (size_t i = 0; from && i < sizeof known / sizeof *known; i++)
		imported |= strcmp(from->s, known[i]) == 0;
	return imported;
}

static bool is_wrapped(struct scan_file *file, const struct node *f)
{
	for (uint32_t i = 0; i < f->func.decorators.n; i++)
		if (!keeps_signature(file, f->func.decorators.v[i]))
			return true;
	return false;
}

/* The text of Annotated[TYPE, 'text']. */
static const char *annotated(struct reader *r, struct scan_file *file, const struct node *n)
{
	if (!n || n->kind != E_SUBSCRIPT || n->sub.index->kind != E_TUPLE)
		return NULL;
	struct meaning m = meaning_of(r, file, n->sub.value, 0);
	const char *word = type_word(&m);
	struct seq parts = n->sub.index->list;
	if (!word || strcmp(word, "Annotated") != 0 || parts.n < 2 || parts.v[1]->kind != E_STR)
		return NULL;
	return docstring_summary(&r->s->arena, parts.v[1]->str.s, parts.v[1]->str.n);
}

static enum scan_param_kind param_kind(const struct node *p)
{
	switch (p->op) {
	case PARAM_POS_ONLY:
		return SCAN_PARAM_POSITIONAL;
	case PARAM_VARARGS:
		return SCAN_PARAM_REST;
	case PARAM_KWARGS:
		return SCAN_PARAM_KEYWORDS;
	default:
		return SCAN_PARAM_PLAIN;
	}
}

static struct scan_param read_param(struct reader *r, struct scan_file *file, const struct node *p,
	const char *doc, size_t ndoc)
{
	struct scan_param out = {.name = p->param.name->s, .kind = param_kind(p)};
	bool plain = out.kind == SCAN_PARAM_PLAIN || out.kind == SCAN_PARAM_POSITIONAL;
	out.required = plain && !p->param.value;
	out.type = type_of(r, file, plain ? p->param.annotation : NULL, 0);
	if (p->param.value)
		out.fallback = type_constant(r, file, p->param.value, 0);
	out.doc = annotated(r, file, p->param.annotation);
	if (!out.doc && doc)
		out.doc = docstring_param(&r->s->arena, doc, ndoc, out.name);
	return out;
}

static void read_function(
	struct reader *r, struct scan_file *file, const struct node *f, struct scan_function *out)
{
	size_t ndoc;
	const char *doc = type_docstring(f->func.body, &ndoc);
	struct seq params = f->func.params;
	struct scan_param *v = arena_alloc(&r->s->arena, (params.n + 1) * sizeof *v);
	*out = (struct scan_function){.file = file->name,
		.line = (int)f->line,
		.yields = yields(f),
		.wrapped = is_wrapped(file, f),
		.params = v,
		.n = params.n};
	bool plain = ndoc <= DOC_WORK_MAX / (params.n + 1);
	for (uint32_t i = 0; i < params.n; i++)
		v[i] = read_param(r, file, params.v[i], plain ? doc : NULL, ndoc);
	if (doc)
		out->doc = docstring_summary(&r->s->arena, doc, ndoc);
}

/* ---- the entry ----------------------------------------------------------------------------- */

static enum scan_entry look_up(
	struct reader *r, struct scan_file *file, const struct sym *name, struct scan_function *out)
{
	if (!file->parsed)
		return SCAN_ENTRY_UNKNOWN;
	bool freely = bound_freely(r->s, file), again = bound_again(file, name);
	if (bound_in(file, name).kind == BOUND_NOT)
		return freely || again || name->dot_stored ? SCAN_ENTRY_UNKNOWN : SCAN_ENTRY_GONE;
	struct meaning m = meaning_of_name(r, file, name, 0);
	if (again || name->dot_stored || m.kind != MEANS_BOUND || m.bound.kind != BOUND_FUNCTION)
		return SCAN_ENTRY_UNKNOWN;
	if (bound_again(m.file, m.bound.node->func.name))
		return SCAN_ENTRY_UNKNOWN;
	read_function(r, m.file, m.bound.node, out);
	return SCAN_ENTRY_FUNCTION;
}

static const char *dir_of(struct scan *s, const char *file)
{
	const char *slash = strrchr(file, '/');
	return slash ? arena_copy(&s->arena, file, (size_t)(slash - file)) : "";
}

static int out_of_room(const struct fail *f, struct err *e)
{
	if (f->what == FAIL_LIMIT)
		return err_set(e, ERR_LIMIT, "there is too much Python code to be analysed");
	return err_set(e, ERR_FAIL, "out of memory");
}

int scan_entry_function(struct scan *s, const struct scan_source *from, const char *file,
	const char *name, enum scan_entry *found, struct scan_function *out, struct err *e)
{
	struct err why = {0};
	struct reader r = {.s = s,
		.from = from,
		.e = &why,
		.left = TYPES_MAX,
		.names = NAMES_MAX,
		.walks = WALKS_MAX};
	struct fail f;
	*found = SCAN_ENTRY_UNKNOWN;
	s->arena.fail = &f;
	if (setjmp(f.at))
		return out_of_room(&f, e);
	r.entry_dir = dir_of(s, file);
	struct scan_file *entry = meaning_file(&r, file);
	if (entry)
		*found = look_up(&r, entry, sym_intern(&s->syms, name, strlen(name)), out);
	if (!why.code)
		return 0;
	*e = why;
	return -1;
}

const char *const *scan_function_names(struct scan *s, const char *file, size_t *n)
{
	VEC(const char *) names = {0};
	struct fail f;
	*n = 0;
	s->arena.fail = &f;
	if (setjmp(f.at))
		return NULL;
	for (size_t i = 0; i < s->files.n; i++) {
		struct scan_file *at = s->files.v[i];
		for (uint32_t k = 0; strcmp(at->name, file) == 0 && k < at->body.n; k++) {
			if (at->body.v[k]->kind != S_FUNC)
				continue;
			VEC_GROW(&s->arena, names);
			names.v[names.n++] = at->body.v[k]->func.name->s;
		}
	}
	*n = names.n;
	return names.v;
}
