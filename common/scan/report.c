#include "scan/sema.h"

#include <stdlib.h>
#include <string.h>

/* A text as a C string of valid UTF-8: lone surrogates and NULs become U+FFFD. */
static const char *clean(struct scan *s, struct text t)
{
	char *out = arena_alloc(&s->arena, 3 * (size_t)t.n + 1), *to = out;

	for (uint32_t i = 0; i < t.n; i++) {
		unsigned char c = (unsigned char)t.s[i];
		bool surrogate = c == 0xED && i + 2 < t.n && (unsigned char)t.s[i + 1] >= 0xA0;
		if (c && !surrogate) {
			*to++ = (char)c;
			continue;
		}
		memcpy(to, "\xEF\xBF\xBD", 3);
		to += 3;
		i += surrogate ? 2 : 0;
	}
	*to = '\0';
	return out;
}

void report_dynamic(struct here *h, const struct node *n, const char *why)
{
	VEC_GROW(&h->s->arena, h->s->dynamics);
	h->s->dynamics.v[h->s->dynamics.n++] =
		(struct scan_dynamic){h->file->name, (int)n->line, why, NULL};
}

void report_read(struct here *h, struct node *key, uint32_t line, bool required)
{
	struct scan *s = h->s;
	struct texts t = key_values(s, key, h->scope, h->loop);

	if (t.unknown) {
		report_dynamic(h, &(struct node){.line = line}, "the key is not a known text");
		return;
	}
	for (size_t i = 0; i < t.of.n; i++) {
		enum without without = guard_of(h, key, t.of.v[i]);
		bool must = without == WITHOUT_GIVES_UP ||
			    (without == WITHOUT_UNKNOWN && required && !h->caught);
		VEC_GROW(&s->arena, s->reads);
		s->reads.v[s->reads.n++] =
			(struct scan_read){clean(s, t.of.v[i]), h->file->name, (int)line, must};
	}
}

void report_env(struct here *h, struct node *key, uint32_t line)
{
	struct scan *s = h->s;
	struct texts t = key_values(s, key, h->scope, h->loop);

	for (size_t i = 0; i < t.of.n && !t.unknown; i++) {
		VEC_GROW(&s->arena, s->envs);
		s->envs.v[s->envs.n++] =
			(struct scan_env){clean(s, t.of.v[i]), h->file->name, (int)line};
	}
}

/* Imports */

static void add_import(struct here *h, struct node *n, const struct import_found *f,
	const char *name, bool missing)
{
	struct scan *s = h->s;
	struct scan_import *i;

	VEC_GROW(&s->arena, s->imports);
	i = &s->imports.v[s->imports.n++];
	*i = (struct scan_import){.module = name,
		.top = arena_copy(&s->arena, name, strcspn(name, ".")),
		.file = h->file->name,
		.line = (int)n->line,
		.guarded = h->import_caught || h->type_only,
		.missing = missing};
	if (f->module && f->module->file)
		i->target = f->module->file->name;
}

/*
 * A module is missing if even the first part of its name is nowhere: what a package that the expert
 * brought makes up at run time (six.moves) cannot be told.
 */
static bool is_missing(
	struct here *h, const struct import_found *f, uint32_t dots, const char *written)
{
	if (f->where == IMPORT_INSIDE)
		return false;
	if (dots)
		return !written || !f->top ||
		       !module_child(h->s, f->top, written, strcspn(written, "."));
	if (f->where == IMPORT_NOWHERE || !written)
		return false;
	char *top = arena_copy(&h->s->arena, written, strcspn(written, "."));
	return !scan_is_stdlib(top) && !scan_is_sandbox_package(top);
}

static struct import_found note(struct here *h, struct node *n, uint32_t dots, const char *written)
{
	struct import_found f = module_find(h->s, h->file, dots, written);

	if (f.module)
		module_note_import(h->s, h->file, f.module);
	else if (f.top)
		module_note_import(h->s, h->file, f.top);
	if (*f.name)
		add_import(h, n, &f, f.name, is_missing(h, &f, dots, written));
	return f;
}

/* Submodules named by a package's __all__ come with 'import *'. */
static void note_all(struct here *h, const struct module *m)
{
	struct sym *name = h->s->syms.known[SYM___all__];
	struct var *all = m->file && m->file->scope ? scope_own(m->file->scope, name) : NULL;

	for (struct binding *b = all ? all->bindings : NULL; b; b = b->next) {
		if (b->kind != BIND_VALUE || (b->node->kind != E_LIST && b->node->kind != E_TUPLE))
			continue;
		for (uint32_t i = 0; i < b->node->list.n; i++) {
			struct node *x = b->node->list.v[i];
			struct module *sub =
				x->kind == E_STR ? module_child(h->s, m, x->str.s, x->str.n) : NULL;
			if (sub)
				module_note_import(h->s, h->file, sub);
		}
	}
}

static void report_from(struct here *h, struct node *n)
{
	struct import_found f =
		note(h, n, n->import.dots, n->import.module ? n->import.module->s : NULL);

	for (uint32_t i = 0; i < n->import.names.n && f.module; i++) {
		struct sym *name = n->import.names.v[i]->alias.name;
		if (name->s[0] == '*') {
			note_all(h, f.module);
			continue;
		}
		struct module *sub = module_child(h->s, f.module, name->s, name->len);
		if (sub)
			module_note_import(h->s, h->file, sub);
		if (sub || f.module->file)
			continue;
		/* A directory without __init__.py has nothing but modules. */
		size_t len = strlen(f.name);
		char *full = arena_alloc(&h->s->arena, len + name->len + 2);
		memcpy(full, f.name, len);
		if (len)
			full[len++] = '.';
		memcpy(full + len, name->s, name->len);
		add_import(h, n, &(struct import_found){0}, full, true);
	}
}

void report_import(struct here *h, struct node *n)
{
	if (n->kind == S_IMPORTFROM) {
		report_from(h, n);
		return;
	}
	for (uint32_t i = 0; i < n->import.names.n; i++)
		note(h, n, 0, n->import.names.v[i]->alias.name->s);
}

void report_import_call(struct here *h, struct node *n)
{
	struct node *x = n->call.args.n ? n->call.args.v[0] : NULL;
	if (!x || x->kind != E_STR || !x->str.n || memchr(x->str.s, '\0', x->str.n))
		return;
	const char *s = arena_copy(&h->s->arena, x->str.s, x->str.n);
	uint32_t dots = (uint32_t)strspn(s, ".");
	struct import_found f = module_find(h->s, h->file, dots, s[dots] ? s + dots : NULL);
	if (f.module)
		module_note_import(h->s, h->file, f.module);
}

/* The end */

static int compare_text(const char *a, const char *b)
{
	return a == b ? 0 : strcmp(a, b);
}

#define COMPARE(a, b)                              \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

static int compare_place(const char *af, int al, const char *bf, int bl)
{
	int order = compare_text(af, bf);
	if (order)
		return order;
	COMPARE(al, bl);
	return 0;
}

static int compare_reads(const void *pa, const void *pb)
{
	const struct scan_read *a = pa, *b = pb;
	int order = compare_place(a->file, a->line, b->file, b->line);
	if (!order)
		order = compare_text(a->name, b->name);
	if (!order)
		order = (int)b->required - (int)a->required;
	return order;
}

static int compare_dynamics(const void *pa, const void *pb)
{
	const struct scan_dynamic *a = pa, *b = pb;
	return compare_place(a->file, a->line, b->file, b->line);
}

static int compare_envs(const void *pa, const void *pb)
{
	const struct scan_env *a = pa, *b = pb;
	int order = compare_place(a->file, a->line, b->file, b->line);
	return order ? order : compare_text(a->name, b->name);
}

static int compare_imports(const void *pa, const void *pb)
{
	const struct scan_import *a = pa, *b = pb;
	int order = compare_place(a->file, a->line, b->file, b->line);
	if (!order)
		order = compare_text(a->module, b->module);
	if (!order)
		order = (int)a->guarded - (int)b->guarded;
	return order;
}

static int compare_syntaxes(const void *pa, const void *pb)
{
	const struct scan_syntax *a = pa, *b = pb;
	return compare_place(a->file, a->line, b->file, b->line);
}

static size_t sort_unique(void *v, size_t n, size_t size, int compare(const void *, const void *))
{
	char *p = v;
	size_t kept = 0;

	if (!n)
		return 0;
	qsort(v, n, size, compare);
	for (size_t i = 0; i < n; i++) {
		if (kept && compare(p + (kept - 1) * size, p + i * size) == 0)
			continue;
		if (kept != i)
			memcpy(p + kept * size, p + i * size, size);
		kept++;
	}
	return kept;
}

#define SORT_UNIQUE(vec, compare) \
	((vec).n = sort_unique((vec).v, (vec).n, sizeof(*(vec).v), compare))

/* Whether one of the words between underscores says that this is a secret. */
static bool sounds_secret(const char *name)
{
	static const char *const words[] = {"KEY", "KEYS", "APIKEY", "TOKEN", "TOKENS", "SECRET",
		"SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS"};

	for (;;) {
		size_t n = strcspn(name, "_");
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			if (strlen(words[i]) == n && memcmp(words[i], name, n) == 0)
				return true;
		if (!name[n])
			return false;
		name += n + 1;
	}
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void keep_mistakes(struct scan *s)
{
	size_t n = s->reads.n, kept = 0;
	const char **names = arena_alloc(&s->arena, (n + 1) * sizeof(*names));

	for (size_t i = 0; i < n; i++)
		names[i] = s->reads.v[i].name;
	qsort(names, n, sizeof(*names), compare_strings);
	for (size_t i = 0; i < s->envs.n; i++) {
		const char *name = s->envs.v[i].name;
		if (sounds_secret(name) ||
			bsearch(&name, names, n, sizeof(*names), compare_strings))
			s->envs.v[kept++] = s->envs.v[i];
	}
	s->envs.n = kept;
}

static void add_unread(struct scan *s, const struct scan_file *file)
{
	VEC_GROW(&s->arena, s->dynamics);
	s->dynamics.v[s->dynamics.n++] =
		(struct scan_dynamic){file->name, 1, file->unread, "convert the file to UTF-8"};
}

void report_finish(struct scan *s)
{
	for (size_t i = 0; i < s->files.n; i++) {
		if (s->files.v[i]->unread)
			add_unread(s, s->files.v[i]);
		if (!s->files.v[i]->syntax.message)
			continue;
		VEC_GROW(&s->arena, s->syntaxes);
		s->syntaxes.v[s->syntaxes.n++] = s->files.v[i]->syntax;
	}
	keep_mistakes(s);
	SORT_UNIQUE(s->reads, compare_reads);
	SORT_UNIQUE(s->dynamics, compare_dynamics);
	SORT_UNIQUE(s->envs, compare_envs);
	SORT_UNIQUE(s->imports, compare_imports);
	SORT_UNIQUE(s->syntaxes, compare_syntaxes);
}
