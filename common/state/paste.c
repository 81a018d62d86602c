#include "state/paste.h"
#include "base/text.h"

#include <string.h>

#define MARK 0xfeff /* the byte order mark */

static bool is_blank(uint32_t c)
{
	static const uint32_t blanks[] = {' ', 0x85, 0xa0, 0x1680, 0x200b, 0x2028, 0x2029, 0x202f,
		0x205f, 0x2060, 0x3000, MARK};
	if ((c >= '\t' && c <= '\r') || (c >= 0x2000 && c <= 0x200a))
		return true;
	for (size_t i = 0; i < sizeof blanks / sizeof blanks[0]; i++)
		if (c == blanks[i])
			return true;
	return false;
}

void paste_around(const char *p, size_t n, struct paste_around *out)
{
	const char *at = p, *end = p + n, *first = NULL, *last = p;
	*out = (struct paste_around){0};
	while (at < end) {
		const char *from = at;
		uint32_t c = text_next(&at, end);
		out->marked |= from == p && c == MARK;
		if (is_blank(c))
			continue;
		if (!first)
			first = from;
		last = at;
	}
	out->blank = n && !first;
	out->before = first ? (size_t)(first - p) : n;
	out->after = first ? (size_t)(end - last) : 0;
	out->newline = (out->after == 1 && *last == '\n') ||
		       (out->after == 2 && memcmp(last, "\r\n", 2) == 0);
}

/* "-----BEGIN X-----" and SSH2's "---- BEGIN X ----", with which is the word. */
static bool is_edge(const char *line, size_t n, const char *word)
{
	size_t dashes = 0, len = strlen(word);
	while (dashes < n && line[dashes] == '-')
		dashes++;
	size_t at = dashes + (dashes < n && line[dashes] == ' ');
	return dashes >= 4 && n - at >= len && memcmp(line + at, word, len) == 0;
}

static bool armour_goes_on(struct paste *p, const char *line, size_t n)
{
	if (is_edge(line, n, "BEGIN ")) {
		p->in_block = p->in_head = true;
		return true;
	}
	if (is_edge(line, n, "END "))
		p->in_block = false;
	if (n == 0 && p->in_block && p->in_head) { /* PGP has an empty line after its headers */
		p->in_head = false;
		return true;
	}
	p->in_head = p->in_head && memchr(line, ':', n);
	return n > 0;
}

static void json_byte(struct paste *p, char c)
{
	bool escaped = p->escaped;
	p->escaped = false;
	if (p->in_string && c == '\\' && !escaped)
		p->escaped = true;
	else if (c == '"' && !escaped)
		p->in_string = !p->in_string;
	else if (!p->in_string)
		p->depth += (c == '{' || c == '[') - (c == '}' || c == ']');
}

static bool json_goes_on(struct paste *p, const char *line, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_byte(p, line[i]);
	return p->depth > 0 && n > 0;
}

bool paste_goes_on(struct paste *p, const char *line, size_t n)
{
	struct paste_around around;
	paste_around(line, n, &around);
	line += around.before;
	n -= around.before + around.after;
	if (p->lines++ == 0 && n)
		p->shape = is_edge(line, n, "BEGIN ")	      ? PASTE_ARMOUR
			   : line[0] == '{' || line[0] == '[' ? PASTE_JSON
							      : PASTE_LINE;
	switch (p->shape) {
	case PASTE_ARMOUR:
		return armour_goes_on(p, line, n);
	case PASTE_JSON:
		return json_goes_on(p, line, n);
	case PASTE_LINE:
		break;
	}
	return false;
}

bool paste_open(const struct paste *p)
{
	return p->shape == PASTE_ARMOUR ? p->in_block : p->shape == PASTE_JSON && p->depth > 0;
}

const char *paste_fault(const struct paste *p)
{
	if (!paste_open(p))
		return NULL;
	if (p->shape == PASTE_ARMOUR)
		return "its END line";
	/* A password may begin with a brace: it is the one line before the empty one. */
	return p->lines > 2 ? "the bracket that closes it" : NULL;
}
