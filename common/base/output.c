#include "base/output.h"
#include "base/file.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

/*
 * A terminal must not be driven by data: control characters are shown as \xNN, so that a name can
 * neither move the cursor nor forge a row.
 */
static void add_visible(struct buf *b, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c < 0x20 || c == 0x7f)
			buf_addf(b, "\\x%02x", c);
		else if (c == 0xc2 && (unsigned char)s[1] >= 0x80 && (unsigned char)s[1] < 0xa0)
			buf_addf(b, "\\x%02x", (unsigned char)*++s);
		else
			buf_addc(b, (char)c);
	}
}

static void add_cell(struct buf *b, const json_t *v)
{
	size_t i;
	json_t *item;
	switch (v ? json_typeof(v) : JSON_NULL) {
	case JSON_STRING:
		add_visible(b, json_string_value(v));
		break;
	case JSON_INTEGER:
		buf_addf(b, "%lld", (long long)json_integer_value(v));
		break;
	case JSON_REAL:
		buf_addf(b, "%g", json_real_value(v));
		break;
	case JSON_TRUE:
		buf_adds(b, "yes");
		break;
	case JSON_ARRAY:
		json_array_foreach(v, i, item) {
			if (i)
				buf_adds(b, ", ");
			add_cell(b, item);
		}
		break;
	case JSON_OBJECT:
		json_to_buf(v, b);
		break;
	case JSON_FALSE:
	case JSON_NULL:
		break;
	}
}

/* Columns on screen of UTF-8 text: code points, which is right for all but wide scripts. */
static size_t width(const char *s)
{
	size_t n = 0;
	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

static void print_json(const json_t *j)
{
	bool tty = isatty(STDOUT_FILENO);
	json_dumpf(j, stdout, JSON_ENCODE_ANY | (tty ? JSON_INDENT(2) : JSON_COMPACT));
	putchar('\n');
}

void output_json(json_t *j)
{
	print_json(j);
	json_decref(j);
}

static char *cell_text(const json_t *row, const struct column *c)
{
	struct buf b = {0};
	add_cell(&b, json_object_get(row, c->key));
	return buf_detach(&b);
}

static void print_plain(const struct column *cols, const json_t *rows, bool name_only)
{
	size_t i;
	json_t *row;
	json_array_foreach(rows, i, row) {
		for (const struct column *c = cols; c->title; c++) {
			STR_AUTO text = cell_text(row, c);
			printf("%s%s", c == cols ? "" : "\t", text ? text : "");
			if (name_only)
				break;
		}
		putchar('\n');
	}
}

static void print_aligned(const struct column *cols, const json_t *rows)
{
	size_t ncols = 0, widths[16] = {0}, i;
	json_t *row;
	while (cols[ncols].title && ncols < 16) {
		widths[ncols] = width(cols[ncols].title);
		ncols++;
	}
	json_array_foreach(rows, i, row) {
		for (size_t c = 0; c < ncols; c++) {
			STR_AUTO text = cell_text(row, &cols[c]);
			size_t w = text ? width(text) : 0;
			if (w > widths[c])
				widths[c] = w;
		}
	}
	const char *bold = program_color(stdout) ? "\033[1m" : "", *plain = *bold ? "\033[0m" : "";
	for (size_t c = 0; c < ncols; c++)
		printf("%s%s%s%*s", bold, cols[c].title, plain,
			c + 1 == ncols ? 0 : (int)(widths[c] - width(cols[c].title) + 2), "");
	putchar('\n');
	json_array_foreach(rows, i, row) {
		for (size_t c = 0; c < ncols; c++) {
			STR_AUTO text = cell_text(row, &cols[c]);
			printf("%s%*s", text ? text : "",
				c + 1 == ncols ? 0 : (int)(widths[c] - width(text ? text : "") + 2),
				"");
		}
		putchar('\n');
	}
}

int output_list(const struct invocation *in, const struct column *cols, json_t *rows, struct err *e)
{
	if (!rows)
		return err_set(e, ERR_FAIL, "out of memory");
	if (in->output == OUTPUT_JSON)
		print_json(rows);
	else if (in->output == OUTPUT_NAME || !isatty(STDOUT_FILENO))
		print_plain(cols, rows, in->output == OUTPUT_NAME);
	else if (json_array_size(rows))
		print_aligned(cols, rows);
	json_decref(rows);
	return 0;
}

int output_object(const struct invocation *in, const struct column *cols, json_t *obj, struct err *e)
{
	if (!obj)
		return err_set(e, ERR_FAIL, "out of memory");
	if (in->output == OUTPUT_JSON)
		print_json(obj);
	for (const struct column *c = cols; in->output != OUTPUT_JSON && c->title; c++) {
		STR_AUTO text = cell_text(obj, c);
		if (in->output == OUTPUT_NAME) {
			printf("%s\n", text ? text : "");
			break;
		}
		if (isatty(STDOUT_FILENO))
			printf("%-14s %s\n", c->title, text ? text : "");
		else
			printf("%s\t%s\n", c->key, text ? text : "");
	}
	json_decref(obj);
	return 0;
}

void output_say(const struct invocation *in, const char *fmt, ...)
{
	if (in->output != OUTPUT_TEXT)
		return;
	BUF_AUTO b = {0};
	va_list ap;
	va_start(ap, fmt);
	buf_vaddf(&b, fmt, ap);
	va_end(ap);
	printf("%s\n", buf_str(&b));
}

void output_text(FILE *f, const char *p, size_t n)
{
	if (!isatty(fileno(f))) {
		fwrite(p, 1, n, f);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];
		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
			fprintf(f, "\\x%02x", c);
		else if (c == 0xc2 && i + 1 < n && (p[i + 1] & 0xe0) == 0x80)
			fprintf(f, "\\x%02x", (unsigned char)p[++i]);
		else
			fputc(c, f);
	}
}

const char *output_time(int64_t ms, char *buf, size_t n)
{
	time_t t = (time_t)(ms / 1000);
	struct tm tm;
	gmtime_r(&t, &tm);
	if (!strftime(buf, n, "%Y-%m-%dT%H:%M:%SZ", &tm) && n)
		buf[0] = '\0';
	return buf;
}
