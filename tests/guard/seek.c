/*
 * What the guard says of texts, for tests: `seek KEYFILE` reads frames from standard input, each a
 * decimal length, a line end and the text, and answers each with a line: is the key found in it
 * whole, in pieces of 7 bytes, and after it has been replaced? `seek KEYFILE FILE...` does the
 * first for files, and for what is packed in them, and prints those it finds it in.
 */
#include "base/file.h"
#include "guard/leak.h"
#include "guard/parts.h"
#include "guard/unpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct leak *keys(const char *path)
{
	struct err e = {0};
	BUF_AUTO key = {0};
	struct leak *l = leak_new();
	if (file_read(path, &key, &e) < 0 || parts_add(l, 0, key.data, key.len) < 0 ||
		leak_seal(l) < 0)
		exit(2);
	return l;
}

static bool in_pieces(const struct leak *l, const char *p, size_t n)
{
	struct leak_stream s = {.l = l};
	struct buf out = {0};
	int rc = 0;
	for (size_t i = 0; i < n && rc == 0; i += 7)
		rc = leak_guard(&s, p + i, n - i < 7 ? n - i : 7, &out, NULL);
	if (rc == 0)
		rc = leak_guard_end(&s, &out, NULL);
	leak_stream_end(&s);
	buf_free(&out);
	return rc == 1;
}

static int answer(const struct leak *l, char *p, size_t n)
{
	bool whole = leak_find(l, p, n, NULL), pieces = in_pieces(l, p, n);
	leak_replace(l, p, n);
	return printf("%d %d %d\n", whole, pieces, leak_find(l, p, n, NULL)) < 0;
}

static bool look(void *arg, const void *p, size_t n)
{
	return leak_find(arg, p, n, NULL);
}

int main(int argc, char **argv)
{
	struct err e = {0};
	size_t n;
	if (argc < 2)
		return 2;
	struct leak *l = keys(argv[1]);
	for (int i = 2; i < argc; i++) {
		BUF_AUTO text = {.limit = (size_t)1 << 30};
		if (file_read(argv[i], &text, &e) < 0)
			return 2;
		if (leak_find(l, text.data, text.len, NULL) ||
			unpack_any(text.data, text.len, look, l))
			printf("%s\n", argv[i]);
	}
	while (argc == 2 && scanf("%zu", &n) == 1 && getchar() == '\n') {
		char *p = malloc(n + 1);
		if (!p || fread(p, 1, n, stdin) != n || answer(l, p, n))
			return 2;
		free(p);
	}
	leak_free(&l);
	return 0;
}
