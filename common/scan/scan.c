#include "scan/scan.h"
#include "scan/decode.h"
#include "scan/parse.h"
#include "scan/scan_in.h"

#include <stdlib.h>
#include <string.h>

/* All that a directory's trees may take; source of the largest expert stays far below. */
#define SCAN_MEMORY_MAX ((size_t)768 << 20)

struct scan *scan_new(void)
{
	struct scan *s = calloc(1, sizeof(*s));
	struct fail f;

	if (!s)
		return NULL;
	s->arena = (struct arena){.limit = SCAN_MEMORY_MAX, .fail = &f};
	if (setjmp(f.at)) {
		arena_free(&s->arena);
		free(s);
		return NULL;
	}
	symtab_init(&s->syms, &s->arena);
	s->arena.fail = NULL;
	return s;
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

	if (s->nfiles == s->room) {
		struct scan_file **old = s->files;
		s->room = s->room ? 2 * s->room : 32;
		s->files = arena_alloc(&s->arena, s->room * sizeof(*old));
		if (old)
			memcpy(s->files, old, s->nfiles * sizeof(*old));
	}
	file->name = arena_copy(&s->arena, relpath, strlen(relpath));
	s->files[s->nfiles++] = file;
	return file;
}

static void note_syntax(
	struct scan_file *file, int line, int col, const char *message, const char *needs)
{
	file->syntax = (struct scan_syntax){file->name, line, col, message, needs};
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
		return f->what == FAIL_SYNTAX ? 0 : -1;
	if (!*text)
		*text = decode_source(&s->arena, bytes, n);
	struct parse_result r = parse_module(*text, &s->syms, modern);
	file->body = r.body;
	*needs = r.needs;
	return 1;
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
	note_syntax(file, (int)f.line, (int)f.col, f.message, NULL);
	if (!text)
		return 0;
	got = attempt(s, file, bytes, n, &text, true, &needs, &again);
	if (got < 0)
		return report(&again, e);
	file->parsed = got;
	/* What only the newer lexer takes, without a construct that says so, is PEP 701. */
	if (got)
		note_syntax(file, (int)f.line, (int)f.col, f.message, version_name(needs));
	return 0;
}

int scan_add_file(struct scan *s, const char *relpath, const void *bytes, size_t n, struct err *e)
{
	struct fail f;

	s->arena.fail = &f;
	if (setjmp(f.at))
		return report(&f, e);
	struct scan_file *file = new_file(s, relpath);
	if (n > SCAN_FILE_MAX) {
		note_syntax(file, 1, 0, "the file is too big to be analysed", NULL);
		return 0;
	}
	return parse_file(s, file, bytes, n, e);
}

size_t scan_file_count(const struct scan *s)
{
	return s->nfiles;
}

const char *scan_file_name(const struct scan *s, size_t i)
{
	return s->files[i]->name;
}
