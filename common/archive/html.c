#include "archive/html.h"

#include "base/file.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPLACEMENT 0xfffd

/* The next character; its bytes are *len at s. Bad bytes are U+FFFD, one by one. */
static uint32_t next_char(const char *s, size_t left, size_t *len)
{
	const char *p = s;
	uint32_t c = text_next(&p, s + left);
	*len = (size_t)(p - s);
	return c < TEXT_BAD_BYTE ? c : REPLACEMENT;
}

static void add_char(struct buf *b, uint32_t c, const char *s, size_t len)
{
	static const char *const names[128] = {['&'] = "&amp;",
		['<'] = "&lt;",
		['>'] = "&gt;",
		['"'] = "&quot;",
		['\''] = "&#39;"};
	if (c < 128 && names[c])
		buf_adds(b, names[c]);
	else if (c == REPLACEMENT)
		buf_adds(b, "\xef\xbf\xbd");
	else
		buf_add(b, s, len);
}

void html_text(struct buf *b, const char *s)
{
	size_t len;
	for (size_t left = strlen(s); left; s += len, left -= len) {
		uint32_t c = next_char(s, left, &len);
		if (text_deceives(c))
			buf_addf(b, "<span class=\"odd\">U+%04X</span>", (unsigned)c);
		else
			add_char(b, c, s, len);
	}
}

void html_attr(struct buf *b, const char *s)
{
	size_t len;
	for (size_t left = strlen(s); left; s += len, left -= len) {
		uint32_t c = next_char(s, left, &len);
		add_char(b, text_deceives(c) ? REPLACEMENT : c, s, len);
	}
}

#define UNRESERVED "-._~" /* RFC 3986, beside letters and digits */

void html_url(struct buf *b, const char *s)
{
	text_add_percent(b, s, strlen(s), UNRESERVED);
}

/* Characters that some system's shell, desktop or file system takes for more than a letter. */
static bool is_safe_in_name(uint32_t c)
{
	return !text_deceives(c) && c != REPLACEMENT &&
	       !(c < 128 && strchr("/\\:*?\"<>|%", (int)c));
}

void html_filename(struct buf *b, const char *name)
{
	const char *slash = strrchr(name, '/'), *s = slash ? slash + 1 : name;
	size_t len;
	for (size_t left = strlen(s), at = 0; left; s += len, left -= len, at++) {
		uint32_t c = next_char(s, left, &len);
		bool hidden = at == 0 && c == '.';
		if (hidden || !is_safe_in_name(c))
			buf_addc(b, '_');
		else
			text_add_percent(b, s, len, UNRESERVED);
	}
}

void html_bytes(struct buf *b, int64_t n)
{
	static const char *const units[] = {"KB", "MB", "GB", "TB"};
	double v = (double)n / 1000;
	size_t i = 0;
	if (n < 1000) {
		buf_addf(b, "%lld byte%s", (long long)n, n == 1 ? "" : "s");
		return;
	}
	for (; v >= 999.5 && i < 3; i++)
		v /= 1000;
	buf_addf(b, v < 9.95 ? "%.1f %s" : "%.0f %s", v, units[i]);
}

void html_seconds(struct buf *b, int64_t ms)
{
	buf_addf(b, "%.*f s", ms < 10000 ? 2 : 0, (double)ms / 1000);
}

void html_instant(struct buf *b, int64_t ms)
{
	char text[24];
	clock_text(ms, text, sizeof text);
	buf_adds(b, text);
}

static struct tm local(int64_t ms)
{
	struct tm tm;
	time_t t = (time_t)(ms / 1000);
	localtime_r(&t, &tm);
	return tm;
}

void html_clock(struct buf *b, int64_t ms)
{
	struct tm tm = local(ms);
	buf_addf(b, "%d:%02d", tm.tm_hour, tm.tm_min);
}

void html_when(struct buf *b, int64_t ms)
{
	char text[64];
	struct tm tm = local(ms);
	strftime(text, sizeof text, "%B %Y, %H:%M", &tm);
	buf_addf(b, "%d %s", tm.tm_mday, text);
}

void html_day(struct buf *b, int64_t ms)
{
	char day[32], text[64];
	struct tm tm = local(ms);
	strftime(day, sizeof day, "%A", &tm);
	strftime(text, sizeof text, "%B %Y", &tm);
	buf_addf(b, "%s, %d %s", day, tm.tm_mday, text);
}
