#include "scan/scan.h"
#include "base/python.h"
#include "scan/compile.h"
#include "scan/decode.h"
#include "scan/parse.h"
#include "scan/sema.h"

#include <stdlib.h>
#include <string.h>

/* All that a directory's trees may take; source of the largest expert stays far below. */
#define SCAN_MEMORY_MAX ((size_t)768 << 20)

static int set_up(struct scan *s)
{
	struct fail f;
	s->arena = (struct arena){.limit = SCAN_MEMORY_MAX, .fail = &f};
	if (setjmp(f.at))
		return -1;
	symtab_init(&s->syms, &s->arena);
	s->arena.fail = NULL;
	return 0;
}

struct scan *scan_new(const struct python *python)
{
	struct scan *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->python = python;
	if (set_up(s) == 0)
		return s;
	scan_free(s);
	return NULL;
}

void scan_free(struct scan *s)
{
	if (!s)
		return;
	arena_free(&s->arena);
	free(s);
}

static int report(const struct fail *f, struct err *e)
{
	if (f->what == FAIL_LIMIT)
		return err_set(e, ERR_LIMIT, "there is too much Python code to be analysed");
	return err_set(e, ERR_FAIL, "out of memory");
}

static struct scan_file *new_file(struct scan *s, const char *relpath)
{
	struct scan_file *file = arena_alloc(&s->arena, sizeof(*file));
	VEC_GROW(&s->arena, s->files);
	file->name = arena_copy(&s->arena, relpath, strlen(relpath));
	file->index = s->files.n;
	s->files.v[s->files.n++] = file;
	return file;
}

static void note_syntax(
	struct scan_file *file, int line, int column, const char *message, const char *needs)
{
	file->syntax = (struct scan_syntax){file->name, line, column, message, needs};
}

static const char *version_name(int minor)
{
	return minor == 14 ? "3.14" : minor == 13 ? "3.13" : "3.12";
}

/*
 * One attempt, in 3.11's syntax or in 3.14's. 1 parsed, 0 not (f says where and why), -1 when the
 * memory is at its end. text is decoded by the first attempt and kept for the second.
 */
static int attempt(struct scan *s, struct scan_file *file, const void *bytes, size_t n, char **text,
	bool modern, int *needs, struct fail *f)
{
	s->arena.fail = f;
	if (setjmp(f->at))
		return f->what == FAIL_SYNTAX || f->what == FAIL_CODING ? 0 : -1;
	if (!*text)
		*text = decode_source(&s->arena, bytes, n);
	struct parse_result r = parse_module(*text, &s->syms, modern);
	struct compile_fault c = compile_check(&s->syms, r.body);
	file->body = r.body;
	file->urls = r.urls;
	*needs = r.needs;
	f->line = c.line;
	f->col = c.col;
	f->message = c.message;
	return !c.message;
}

static int parse_file(
	struct scan *s, struct scan_file *file, const void *bytes, size_t n, struct err *e)
{
	struct fail f = {.line = 1}, again = {.line = 1};
	char *text = NULL;
	int needs = 11;
	int got = attempt(s, file, bytes, n, &text, false, &needs, &f);

	if (got < 0)
		return report(&f, e);
	file->parsed = got;
	if (got)
		return 0;
	if (f.what == FAIL_CODING) {
		file->unread = f.message;
		return 0;
	}
	int line = (int)f.line, column = text ? (int)parse_column(text, f.line, f.col) : 1;
	note_syntax(file, line, column, f.message, NULL);
	if (!text)
		return 0;
	got = attempt(s, file, bytes, n, &text, true, &needs, &again);
	if (got < 0)
		return report(&again, e);
	file->parsed = got;
	/* What only the newer lexer takes, without a construct that says so, is PEP 701. */
	needs = needs < 12 ? 12 : needs;
	bool known = s->python && needs <= s->python->minor;
	if (got)
		note_syntax(file, line, column, known ? NULL : f.message, version_name(needs));
	return 0;
}

static struct scan_file *begin_file(struct scan *s, const char *relpath, struct err *e)
{
	struct fail f;
	s->arena.fail = &f;
	if (setjmp(f.at)) {
		(void)report(&f, e);
		return NULL;
	}
	return new_file(s, relpath);
}

static int note_urls(struct scan *s, struct scan_file *file, struct err *e)
{
	struct fail f;
	s->arena.fail = &f;
	if (setjmp(f.at))
		return report(&f, e);
	url_note(s, file, file->urls);
	return 0;
}

int scan_add_file(struct scan *s, const char *relpath, const void *bytes, size_t n, struct err *e)
{
	struct scan_file *file = begin_file(s, relpath, e);
	if (!file)
		return -1;
	if (n > SCAN_FILE_MAX) {
		note_syntax(file, 1, 0, "the file is too big to be analysed", NULL);
		return 0;
	}
	return parse_file(s, file, bytes, n, e) < 0 ? -1 : note_urls(s, file, e);
}

static void build_scopes(struct scan *s)
{
	struct sym *keys = s->syms.known[SYM_EV_KEYS];
	s->keys_builtin = (struct var){.sym = keys, .val = {.bits = VAL_DICT}};
	for (size_t i = 0; i < s->files.n; i++)
		scope_build(s, s->files.v[i]);
}

/* Each helper that leads to another needs two; what is not settled by then is dynamic. */
#define MAX_ROUNDS 12

int scan_resolve(struct scan *s, struct err *e)
{
	struct fail f;
	s->arena.fail = &f;
	if (setjmp(f.at))
		return report(&f, e);
	module_index(s);
	build_scopes(s);
	bound_elsewhere(s);
	imports_collect(s);
	do {
		s->epoch++;
		value_settle(s);
		leave_find_demands(s);
		reads_collect(s);
	} while (s->changed && ++s->round < MAX_ROUNDS);
	report_finish(s);
	return 0;
}

size_t scan_file_count(const struct scan *s)
{
	return s->files.n;
}

const char *scan_file_name(const struct scan *s, size_t i)
{
	return s->files.v[i]->name;
}

const struct scan_read *scan_reads(const struct scan *s, size_t *n)
{
	*n = s->reads.n;
	return s->reads.v;
}

const struct scan_dynamic *scan_dynamics(const struct scan *s, size_t *n)
{
	*n = s->dynamics.n;
	return s->dynamics.v;
}

const struct scan_place *scan_not_in_globals(const struct scan *s, size_t *n)
{
	*n = s->globals.n;
	return s->globals.v;
}

const struct scan_env *scan_env_mistakes(const struct scan *s, size_t *n)
{
	*n = s->envs.n;
	return s->envs.v;
}

const struct scan_syntax *scan_syntax_errors(const struct scan *s, size_t *n)
{
	*n = s->syntaxes.n;
	return s->syntaxes.v;
}

const struct scan_import *scan_imports(const struct scan *s, size_t *n)
{
	*n = s->imports.n;
	return s->imports.v;
}
