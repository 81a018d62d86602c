/*
 * Decodes for tests/scan/codings.t. Each answer is UTF-8 and 0xFF behind it; 0xFE stands for a text
 * that is refused, 0xFD for one that is not sure.
 *
 * codings list          a line a coding: its name, kind, and the aliases
 * codings find NAME...  a line a spelling: the coding's name or "-"
 * codings pairs NAME    every sequence of one byte, then every one of two
 * codings texts NAME    each line of stdin, which is in hexadecimal
 */
#include "scan/codec.h"

#include <stdio.h>
#include <string.h>

static void answer(const struct coding *c, const char *s, size_t n)
{
	static char out[4 * 4096 + 16];
	size_t len = 0;
	enum codec_result got = codec_decode(c, s, n, out, &len);

	if (got == CODEC_DONE)
		fwrite(out, 1, len, stdout);
	else
		putchar(got == CODEC_WRONG ? 0xFE : 0xFD);
	putchar(0xFF);
}

static void pairs(const struct coding *c)
{
	for (int i = 0; i < 256; i++)
		answer(c, (char[]){(char)i}, 1);
	for (int i = 0; i < 65536; i++)
		answer(c, (char[]){(char)(i >> 8), (char)i}, 2);
}

static void texts(const struct coding *c)
{
	char line[2 * 4096 + 2], text[4096];

	while (fgets(line, sizeof(line), stdin)) {
		size_t n = strcspn(line, "\n") / 2;
		for (size_t i = 0; i < n; i++) {
			unsigned byte = 0;
			sscanf(line + 2 * i, "%2x", &byte);
			text[i] = (char)byte;
		}
		answer(c, text, n);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	const struct coding *c = argc > 2 ? codec_find(argv[2]) : NULL;

	for (size_t i = 0; i < coding_count && strcmp(mode, "list") == 0; i++)
		printf("%s %d %s\n", codings[i].name, (int)codings[i].kind,
			codings[i].aliases ? codings[i].aliases : "");
	for (int i = 2; i < argc && strcmp(mode, "find") == 0; i++) {
		c = codec_find(argv[i]);
		puts(c ? c->name : "-");
	}
	if (c && strcmp(mode, "pairs") == 0)
		pairs(c);
	if (c && strcmp(mode, "texts") == 0)
		texts(c);
	return 0;
}
