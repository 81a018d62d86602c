/*
 * Prints what the parser made of files, for tests/scan/differential.t. Reads paths from stdin, one
 * a line; for each prints "F PATH", "ok" or "error LINE COLUMN MESSAGE", then in any order N line
 * col NAME a name S line col NAME                     a subscript whose value is that name C line
 * col NAME a call of an attribute of that name T line col HEX / B line col HEX     a text or bytes
 * constant
 *
 * With -c: only whether the file is taken, by compile_check() too. With -p MINOR: by
 * Python 3.MINOR's syntax, as the scanner tries: 3.11's first.
 */
#include "base/file.h"
#include "scan/compile.h"
#include "scan/decode.h"
#include "scan/parse.h"
#include "scan/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void hex(char kind, const struct node *n)
{
	static const char digit[] = "0123456789abcdef";

	printf("%c %u %u ", kind, n->line, n->col);
	for (uint32_t i = 0; i < n->str.n; i++) {
		unsigned char c = (unsigned char)n->str.s[i];
		putchar(digit[c >> 4]);
		putchar(digit[c & 15]);
	}
	putchar('\n');
}

static void dump(struct node *n, void *arg)
{
	if (n->kind == E_NAME)
		printf("N %u %u %s\n", n->line, n->col, n->name->s);
	if (n->kind == E_SUBSCRIPT && n->sub.value->kind == E_NAME)
		printf("S %u %u %s\n", n->line, n->col, n->sub.value->name->s);
	if (n->kind == E_CALL && n->call.func->kind == E_ATTR)
		printf("C %u %u %s\n", n->line, n->col, n->call.func->attr.name->s);
	if (n->kind == E_STR)
		hex('T', n);
	if (n->kind == E_BYTES)
		hex('B', n);
	ast_each(n, dump, arg);
}

/* Whether it is taken, else why not is printed; with the older syntax only when there is no other
 * to try. */
static bool dump_as(const char *path, bool compile, int minor, bool modern)
{
	BUF_AUTO b = {0};
	struct err e = {0};
	struct arena arena = {.limit = (size_t)1 << 30};
	struct symtab syms;
	struct fail f;

	if (file_read(path, &b, &e) < 0) {
		puts("unreadable");
		return true;
	}
	char *volatile text = NULL;
	arena.fail = &f;
	if (setjmp(f.at)) {
		if (modern || minor < 12 || !text)
			printf("error %u %u %s\n", f.line,
				text ? parse_column(text, f.line, f.col) : 1,
				f.message ? f.message : "memory");
		bool tried = !text;
		arena_free(&arena);
		return tried;
	}
	symtab_init(&syms, &arena);
	text = decode_source(&arena, buf_str(&b), b.len);
	struct parse_result r = parse_module(text, &syms, modern);
	struct compile_fault c = {0};
	if (compile)
		c = compile_check(&syms, r.body);
	if (r.needs > minor)
		printf("error 1 1 this needs Python 3.%d\n", r.needs);
	else if (c.message)
		printf("error %u %u %s\n", c.line, parse_column(text, c.line, c.col), c.message);
	else
		puts("ok");
	for (uint32_t i = 0; i < r.body.n && !compile && r.needs <= minor; i++)
		dump(r.body.v[i], NULL);
	arena_free(&arena);
	return true;
}

int main(int argc, char **argv)
{
	bool compile = false;
	int minor = 11;
	char line[4096];

	for (int c; (c = getopt(argc, argv, "cp:")) != -1;) {
		compile |= c == 'c';
		minor = c == 'p' ? atoi(optarg) : minor;
	}
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		printf("F %s\n", line);
		if (!dump_as(line, compile, minor, false) && minor >= 12)
			dump_as(line, compile, minor, true);
	}
	return 0;
}
