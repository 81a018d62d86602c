#include "scan/decode.h"
#include "base/text.h"
#include "scan/codec.h"
#include "scan/lex.h"
#include "scan/lex_bits.h"
#include "scan/str.h"

#include <stdlib.h>
#include <string.h>

/* A text on its way; the room behind it is zero. */
struct decoded {
	char *s;
	size_t n;
};

static _Noreturn void give_up(struct arena *a, enum fail_what what, const char *message)
{
	a->fail->line = 1;
	a->fail->col = 0;
	a->fail->message = message;
	fail_jump(a->fail, what);
}

static _Noreturn void refuse(struct arena *a, const char *message)
{
	give_up(a, FAIL_SYNTAX, message);
}

/* CRLF and CR to LF, and an LF at the end. */
static struct decoded with_newlines(struct arena *a, const char *p, size_t n)
{
	struct decoded t = {arena_alloc(a, n + 2 + LEX_PAD), 0};
	const char *end = p + n;
	char *to = t.s;
	while (p < end) {
		const char *cr = memchr(p, '\r', (size_t)(end - p));
		size_t run = (size_t)((cr ? cr : end) - p);
		memcpy(to, p, run);
		to += run;
		if (!cr)
			break;
		*to++ = '\n';
		p = cr + 1;
		if (p < end && *p == '\n')
			p++;
	}
	/* A CRLF at the very end counts twice, as in CPython: 'x \\' may come before it. */
	if (to == t.s || to[-1] != '\n' || (n > 1 && end[-1] == '\n' && end[-2] == '\r'))
		*to++ = '\n';
	t.n = (size_t)(to - t.s);
	return t;
}

/* CPython's get_normal_name(): only the first twelve bytes count. */
static const char *normal_name(const char *s)
{
	static const char *const latin[] = {"latin-1", "iso-8859-1", "iso-latin-1"};
	char buf[13] = {0};
	for (int i = 0; i < 12 && s[i]; i++)
		buf[i] = s[i] == '_'		      ? '-'
			 : s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] | 0x20)
						      : s[i];
	if (strcmp(buf, "utf-8") == 0 || strncmp(buf, "utf-8-", 6) == 0)
		return "utf-8";
	for (size_t i = 0; i < 3; i++) {
		size_t n = strlen(latin[i]);
		if (strncmp(buf, latin[i], n) == 0 && (buf[n] == '\0' || buf[n] == '-'))
			return "iso-8859-1";
	}
	return s;
}

static bool is_cookie_char(char c)
{
	return (lex_is_word(c) && (unsigned char)c < 0x80) || c == '-' || c == '.';
}

/* The cookie on a line of n bytes, which must hold nothing else but a comment; NULL if none. */
static const char *cookie(struct arena *a, const char *s, size_t n)
{
	size_t i = 0, last = n > 6 ? n - 6 : 0;
	for (; i < last && s[i] != '#'; i++)
		if (s[i] != ' ' && s[i] != '\t' && s[i] != '\f')
			return NULL;
	for (; i < last; i++) {
		const char *t = s + i + 6;
		if (memcmp(s + i, "coding", 6) != 0 || (*t != ':' && *t != '='))
			continue;
		do
			t++;
		while (*t == ' ' || *t == '\t');
		const char *begin = t;
		while (is_cookie_char(*t))
			t++;
		if (t > begin)
			return normal_name(arena_copy(a, begin, (size_t)(t - begin)));
	}
	return NULL;
}

/* Whether the line is blank or a comment, so that the next one may have a cookie. */
static bool is_idle_line(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t' || *s == '\f'))
		s++;
	return s == end || *s == '#';
}

static const char *find_cookie(struct arena *a, const char *s)
{
	const char *end = lex_line_end(s), *found = cookie(a, s, (size_t)(end - s));
	if (found || !is_idle_line(s, end) || end[1] == '\0')
		return found;
	const char *second = end + 1;
	end = lex_line_end(second);
	return *end ? cookie(a, second, (size_t)(end + 1 - second)) : NULL;
}

static struct decoded new_text(struct arena *a, size_t room)
{
	return (struct decoded){arena_alloc(a, room + LEX_PAD), 0};
}

static struct decoded from_coding(struct arena *a, const struct coding *c, const char *s, size_t n)
{
	/* Nothing may jump while a converter is open, so the room is made first. */
	struct decoded t = new_text(a, 4 * n + 16);
	switch (codec_decode(c, s, n, t.s, &t.n)) {
	case CODEC_DONE:
		return t;
	case CODEC_UNSURE:
		give_up(a, FAIL_CODING,
			"the encoding that the file declares is not fully known here");
	default:
		refuse(a, "the file is not in the encoding that it declares");
	}
}

/* unicode_escape, and raw_unicode_escape, which knows \u and \U only. */
static struct decoded from_escapes(struct arena *a, const char *s, size_t n, bool raw)
{
	struct decoded in = from_coding(a, codec_find("latin_1"), s, n), out = new_text(a, in.n);
	if (raw) {
		/* Hide the other escapes: double each backslash that has no u or U behind it. */
		struct decoded twice = new_text(a, 2 * in.n);
		for (size_t i = 0; i < in.n; i++) {
			bool slash = in.s[i] == '\\';
			char next = slash && i + 1 < in.n ? in.s[i + 1] : '\0';
			twice.s[twice.n++] = in.s[i];
			if (slash && next != 'u' && next != 'U')
				twice.s[twice.n++] = '\\';
			if (slash && next == '\\') {
				twice.s[twice.n++] = '\\';
				twice.s[twice.n++] = '\\';
				i++;
			}
		}
		in = twice;
	}
	if (str_unescape(in.s, in.n, out.s, &out.n).message)
		refuse(a, "the file is not in the encoding that it declares");
	return out;
}

static struct decoded transcode(struct arena *a, const char *declared, const char *s, size_t n)
{
	const struct coding *c = codec_find(declared);
	if (!c)
		refuse(a, "unknown source encoding");
	if (c->kind == CODING_UTF_8)
		return (struct decoded){(char *)(uintptr_t)s, n};
	if (c->kind == CODING_ESCAPES || c->kind == CODING_RAW_ESCAPES)
		return from_escapes(a, s, n, c->kind == CODING_RAW_ESCAPES);
	return from_coding(a, c, s, n);
}

char *decode_source(struct arena *a, const void *bytes, size_t n)
{
	static const char mark[] = "\xEF\xBB\xBF";
	if (memchr(bytes, '\0', n))
		refuse(a, "the file contains a NUL byte");
	struct decoded t = with_newlines(a, bytes, n);
	bool marked = strncmp(t.s, mark, 3) == 0;
	if (marked)
		t = (struct decoded){t.s + 3, t.n - 3};
	const char *declared = find_cookie(a, t.s);
	if (!declared || strcmp(declared, "utf-8") == 0)
		return t.s;
	if (marked)
		refuse(a, "a byte order mark with another encoding than UTF-8");
	t = transcode(a, declared, t.s, t.n);
	/* Lone surrogates cannot be written as UTF-8, so CPython refuses them here. */
	if (!text_is_utf8(t.s, t.n))
		refuse(a, "the file is not in the encoding that it declares");
	size_t len = strlen(t.s);
	if (len == 0 || t.s[len - 1] != '\n')
		t.s[len] = '\n';
	return t.s;
}
