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

void report_dynamic(struct here *h, const struct node *n, const char *why, const char *hint)
{
	VEC_GROW(&h->s->arena, h->s->dynamics);
	h->s->dynamics.v[h->s->dynamics.n++] =
		(struct scan_dynamic){h->file->name, (int)n->line, why, hint};
}

/* Another round may try another key. */
static bool is_caught(const struct here *h, const struct texts *keys)
{
	return h->caught || (h->tried && (keys->unknown || keys->of.n > 1));
}

static bool is_required(struct here *h, struct node *key, const struct text *value, bool required)
{
	enum without without = guard_of(h, key, value);
	return without == WITHOUT_GIVES_UP || (without == WITHOUT_UNKNOWN && required);
}

static bool is_at_import(const struct scope *scope)
{
	while (scope && scope->kind != SCOPE_MODULE && scope->kind != SCOPE_FUNCTION)
		scope = scope->up;
	return scope && scope->kind == SCOPE_MODULE;
}

void report_read(struct here *h, struct node *key, uint32_t line, bool required)
{
	struct scan *s = h->s;
	struct texts t = key_values(s, key, h->scope, h->loop);
	struct text other;
	required = required && !is_caught(h, &t);
	if (t.unknown && helper_need(h, key, is_required(h, key, NULL, required)))
		return;
	if (t.unknown) {
		words_key(h, key, line);
		return;
	}
	const char *instead = guard_instead(h, &other) ? clean(s, other) : NULL;
	for (size_t i = 0; i < t.of.n; i++) {
		if (h->copy && copy_supplies(s, h->copy, t.of.v[i]))
			continue;
		bool must = is_required(h, key, &t.of.v[i], required);
		VEC_GROW(&s->arena, s->reads);
		s->reads.v[s->reads.n++] = (struct scan_read){.name = clean(s, t.of.v[i]),
			.file = h->file->name,
			.line = (int)line,
			.required = must,
			.at_import = is_at_import(h->scope),
			.instead = instead};
	}
}

void report_globals(struct here *h, const struct node *n)
{
	VEC_GROW(&h->s->arena, h->s->globals);
	h->s->globals.v[h->s->globals.n++] = (struct scan_place){h->file->name, (int)n->line};
}

void report_filled(struct here *h, const struct node *n)
{
	if (!h->s->filled.file)
		h->s->filled = (struct scan_place){h->file->name, (int)n->line};
}

static const char *why_env(const struct scan *s, const struct node *on)
{
	bool ours = on->kind == E_NAME &&
		    (on->op == NAME_FIXED ? on->var->sym : on->name) == s->syms.known[SYM_EV_KEYS];
	return ours ? "EV_KEYS is os.environ here, by an import or assignment that must go" : NULL;
}

void report_env(struct here *h, struct node *key, const struct node *on, uint32_t line)
{
	struct scan *s = h->s;
	struct texts t = key_values(s, key, h->scope, h->loop);
	for (size_t i = 0; i < t.of.n && !t.unknown; i++) {
		VEC_GROW(&s->arena, s->envs);
		s->envs.v[s->envs.n++] = (struct scan_env){
			clean(s, t.of.v[i]), h->file->name, (int)line, why_env(s, on)};
	}
}

/* Imports */

void report_import_call(struct here *h, struct node *n)
{
	struct node *x = n->call.args.n ? n->call.args.v[0] : NULL;
	if (!x || x->kind != E_STR || !x->str.n || memchr(x->str.s, '\0', x->str.n))
		return;
	const char *s = arena_copy(&h->s->arena, x->str.s, x->str.n);
	uint32_t dots = (uint32_t)strspn(s, ".");
	struct import_found f = module_find(h->s, h->file, dots, s[dots] ? s + dots : NULL);
	if (f.module)
		module_note_import(h->s, h->file, f.module, NULL, false, false);
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

static int compare_places(const void *pa, const void *pb)
{
	const struct scan_place *a = pa, *b = pb;
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

/* Of several reads of a key on a line the one that needs it most speaks for all. */
static void keep_most_needed(struct scan *s)
{
	size_t kept = 0;
	for (size_t i = 0; i < s->reads.n; i++) {
		struct scan_read *r = &s->reads.v[i], *last = kept ? &s->reads.v[kept - 1] : NULL;
		if (!last || compare_reads(last, r) != 0) {
			s->reads.v[kept++] = *r;
			continue;
		}
		last->at_import = last->at_import && r->at_import;
		if (!r->instead || !last->instead || compare_text(last->instead, r->instead))
			last->instead = NULL;
	}
	s->reads.n = kept;
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
			if (strlen(words[i]) == n && strncasecmp(words[i], name, n) == 0)
				return true;
		if (!name[n])
			return false;
		name += n + 1;
	}
}

static int compare_strings(const void *a, const void *b)
{
	return strcasecmp(*(const char *const *)a, *(const char *const *)b);
}

static void keep_mistakes(struct scan *s)
{
	size_t n = s->reads.n, kept = 0;
	const char **names = arena_alloc(&s->arena, (n + 1) * sizeof(*names));
	for (size_t i = 0; i < n; i++)
		names[i] = s->reads.v[i].name;
	qsort(names, n, sizeof(*names), compare_strings);
	for (size_t i = 0; i < s->envs.n; i++) {
		struct scan_env *env = &s->envs.v[i];
		const char *name = env->name;
		bool ours = env->why; /* who reads os.environ as EV_KEYS means a key */
		if (!ours && s->filled.file &&
			(strcmp(env->file, s->filled.file) != 0 || env->line > s->filled.line))
			env->why = "os.environ has it only because EV_KEYS was copied into it";
		if (ours || sounds_secret(name) ||
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
	if (s->reads.n)
		qsort(s->reads.v, s->reads.n, sizeof(*s->reads.v), compare_reads);
	keep_most_needed(s);
	SORT_UNIQUE(s->dynamics, compare_dynamics);
	SORT_UNIQUE(s->globals, compare_places);
	SORT_UNIQUE(s->envs, compare_envs);
	SORT_UNIQUE(s->imports, compare_imports);
	SORT_UNIQUE(s->syntaxes, compare_syntaxes);
}
