#include "base/terminal.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_color(FILE *f)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	return isatty(fileno(f)) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

size_t terminal_width(const char *s)
{
	return text_chars(s, strlen(s));
}

size_t terminal_columns(void)
{
	struct winsize w;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col >= 20)
		return w.ws_col;
	return 80;
}

/* A line may end at a blank, but a flag's '!' stays with its word. */
static bool may_break(const char *s, size_t at)
{
	return s[at] == ' ' && at > 0 && s[at - 1] != '!';
}

/* How many bytes of s go on a line of so many columns: up to its last blank, else all that fit. */
static size_t fit(const char *s, size_t columns)
{
	size_t seen = 0, at = 0, blank = 0;
	for (; s[at]; at++) {
		if ((s[at] & 0xc0) != 0x80 && seen++ == columns)
			return s[at] == ' ' ? at : blank ? blank : at;
		if (may_break(s, at))
			blank = at;
	}
	return at;
}

size_t terminal_longest_word(const char *s)
{
	size_t most = 0, now = 0;
	for (size_t at = 0; s[at]; at++) {
		now = may_break(s, at) ? 0 : now + ((s[at] & 0xc0) != 0x80);
		if (now > most)
			most = now;
	}
	return most;
}

size_t terminal_next_line(const char **rest, const char **line, size_t columns)
{
	size_t n = fit(*rest, columns);
	*line = *rest;
	*rest += n;
	while (n && **rest == ' ')
		(*rest)++;
	return n;
}

void terminal_wrapped(FILE *f, const char *text, size_t indent, size_t columns)
{
	const char *line;
	size_t room = columns > indent + 10 ? columns - indent : 10;
	for (bool first = true; first || *text; first = false) {
		size_t n = terminal_next_line(&text, &line, room);
		fprintf(f, "%*s%.*s\n", first ? 0 : (int)indent, "", (int)n, line);
	}
}
