#include "base/output.h"
#include "base/file.h"
#include "base/terminal.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No name can move the cursor of a terminal, or forge a row. */
static void add_cell(struct buf *b, const json_t *v)
{
	BUF_AUTO object = {0};
	size_t i;
	json_t *item;
	switch (v ? json_typeof(v) : JSON_NULL) {
	case JSON_STRING:
		text_add_visible(b, json_string_value(v), json_string_length(v), false);
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
		json_array_foreach (v, i, item) {
			if (i)
				buf_adds(b, ", ");
			add_cell(b, item);
		}
		break;
	case JSON_OBJECT:
		json_to_buf(v, &object);
		text_add_visible(b, buf_str(&object), object.len, false);
		break;
	case JSON_FALSE:
	case JSON_NULL:
		break;
	}
}

void output_json_text(FILE *f, const char *p, size_t n)
{
	bool tty = isatty(fileno(f));
	if (!tty)
		fwrite(p, 1, n, f);
	for (const char *end = p + n; tty && p < end;) {
		const char *at = p;
		uint32_t c = text_next(&p, end);
		if (c == '\n' || !text_deceives(c))
			fwrite(at, 1, (size_t)(p - at), f);
		else if (c < 0x10000)
			fprintf(f, "\\u%04x", c);
		else
			fprintf(f, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
	}
	fputc('\n', f);
}

void output_json_line(FILE *f, const json_t *j, size_t flags)
{
	char *text = json_dumps(j, flags | JSON_ENCODE_ANY);
	if (text)
		output_json_text(f, text, strlen(text));
	free(text);
}

static void print_json(const json_t *j)
{
	bool tty = isatty(STDOUT_FILENO);
	output_json_line(stdout, j, tty ? JSON_INDENT(2) : JSON_COMPACT);
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
	json_array_foreach (rows, i, row) {
		for (const struct column *c = cols; c->title; c++) {
			STR_AUTO text = cell_text(row, c);
			printf("%s%s", c == cols ? "" : "\t", text ? text : "");
			if (name_only)
				break;
		}
		putchar('\n');
	}
}

#define COLUMNS_MAX 16
#define GAP 2

#define KEPT 2	     /* columns that stay, whatever the words in them */
#define LEAST_CUT 12 /* columns of a word that is cut */
#define WORD_MAX 60  /* columns of a word for which no other column goes */
#define NARROW 60

struct table {
	struct column cols[COLUMNS_MAX];
	size_t n, widths[COLUMNS_MAX], least[COLUMNS_MAX];
	bool empty[COLUMNS_MAX];
};

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static void measure(struct table *t, const struct column *cols, const json_t *rows)
{
	size_t i;
	json_t *row;
	for (t->n = 0; cols[t->n].title && t->n < COLUMNS_MAX; t->n++) {
		t->cols[t->n] = cols[t->n];
		t->widths[t->n] = t->least[t->n] = terminal_width(cols[t->n].title);
		t->empty[t->n] = true;
	}
	json_array_foreach (rows, i, row) {
		for (size_t c = 0; c < t->n; c++) {
			STR_AUTO text = cell_text(row, &t->cols[c]);
			t->empty[c] &= !text || !*text;
			t->widths[c] = larger(t->widths[c], terminal_width(text ? text : ""));
			size_t word = terminal_longest_word(text ? text : "");
			t->least[c] = larger(t->least[c], word < WORD_MAX ? word : WORD_MAX);
		}
	}
}

static size_t whole_width(const struct table *t)
{
	size_t sum = 0;
	for (size_t c = 0; c < t->n; c++)
		sum += t->widths[c] + (c + 1 < t->n ? GAP : 0);
	return sum;
}

/* Takes from the widest column that can give, until all fit; false when none can. */
static bool squeeze(struct table *t, size_t columns)
{
	while (whole_width(t) > columns) {
		size_t widest = t->n;
		for (size_t c = 0; c < t->n; c++)
			if (t->widths[c] > t->least[c] &&
				(widest == t->n || t->widths[c] > t->widths[widest]))
				widest = c;
		if (widest == t->n)
			return false;
		t->widths[widest]--;
	}
	return true;
}

static size_t least_width(const struct table *t)
{
	size_t sum = 0;
	for (size_t c = 0; c < t->n; c++)
		sum += t->least[c] + (c + 1 < t->n ? GAP : 0);
	return sum;
}

/* The column that is missed least: an empty one, else the one that says so, else the last. */
static size_t least_missed(const struct table *t)
{
	size_t found = t->n - 1;
	for (size_t c = t->n; c-- > 1;)
		if (t->empty[c])
			return c;
	for (size_t c = 1; c < t->n; c++)
		if (t->cols[c].spare > t->cols[found].spare)
			found = c;
	return found;
}

static void drop(struct table *t, size_t at)
{
	t->n--;
	for (size_t c = at; c < t->n; c++) {
		t->cols[c] = t->cols[c + 1];
		t->widths[c] = t->widths[c + 1];
		t->least[c] = t->least[c + 1];
		t->empty[c] = t->empty[c + 1];
	}
}

/*
 * Fewer columns where not all fit, and then words that are cut. False: on less than any terminal
 * has for itself, where a name would be in shreds.
 */
static bool fit(struct table *t, size_t columns)
{
	while (t->n > KEPT && least_width(t) > columns)
		drop(t, least_missed(t));
	if (least_width(t) > columns && columns < NARROW)
		return false;
	for (size_t c = 0; least_width(t) > columns && c < t->n; c++)
		if (t->least[c] > LEAST_CUT)
			t->least[c] = LEAST_CUT;
	squeeze(t, columns);
	return true;
}

/* One row of cells, each wrapped in its column. */
static void print_cells(
	const struct table *t, const char *const *cells, const char *on, const char *off)
{
	const char *rest[COLUMNS_MAX], *line;
	bool more = true;
	for (size_t c = 0; c < t->n; c++)
		rest[c] = cells[c];
	while (more) {
		size_t gap = 0;
		more = false;
		for (size_t c = 0; c < t->n; c++) {
			size_t n = terminal_next_line(&rest[c], &line, t->widths[c]);
			size_t w = text_chars(line, n);
			if (n) /* blanks only before what follows them: no line ends in some */
				printf("%*s%s%.*s%s", (int)gap, "", on, (int)n, line, off);
			gap = (n ? 0 : gap) + t->widths[c] - w + GAP;
			more |= *rest[c] != '\0';
		}
		putchar('\n');
	}
}

static void print_table(const struct table *t, const json_t *rows)
{
	const char *cells[COLUMNS_MAX];
	bool color = terminal_color(stdout);
	size_t i;
	json_t *row;
	for (size_t c = 0; c < t->n; c++)
		cells[c] = t->cols[c].title;
	print_cells(t, cells, color ? "\033[1m" : "", color ? "\033[0m" : "");
	json_array_foreach (rows, i, row) {
		char *text[COLUMNS_MAX];
		for (size_t c = 0; c < t->n; c++) {
			text[c] = cell_text(row, &t->cols[c]);
			cells[c] = text[c] ? text[c] : "";
		}
		print_cells(t, cells, "", "");
		for (size_t c = 0; c < t->n; c++)
			free(text[c]);
	}
}

static void print_member(const struct column *c, const json_t *obj, size_t label, size_t columns)
{
	STR_AUTO text = cell_text(obj, c);
	printf("%-*s ", (int)label, c->title);
	terminal_wrapped(stdout, text ? text : "", label + 1, columns);
}

static void print_members(
	const struct column *cols, const json_t *obj, size_t label, size_t columns)
{
	for (const struct column *c = cols; c->title; c++)
		print_member(c, obj, label, columns);
}

/* On a very narrow terminal: each row as a few lines of its own. */
static void print_blocks(const struct table *t, const json_t *rows, size_t columns)
{
	size_t label = 0, i;
	json_t *row;
	for (size_t c = 0; c < t->n; c++)
		label = larger(label, terminal_width(t->cols[c].title));
	json_array_foreach (rows, i, row) {
		if (i)
			putchar('\n');
		for (size_t c = 0; c < t->n; c++) {
			STR_AUTO text = cell_text(row, &t->cols[c]);
			if (text && *text)
				print_member(&t->cols[c], row, label, columns);
		}
	}
}

static void print_aligned(const struct column *cols, const json_t *rows, bool wide)
{
	struct table t;
	size_t columns = terminal_columns();
	measure(&t, cols, rows);
	if (wide || fit(&t, columns))
		print_table(&t, rows);
	else
		print_blocks(&t, rows, columns);
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
		print_aligned(cols, rows, in->common.wide);
	json_decref(rows);
	return 0;
}

int output_object(
	const struct invocation *in, const struct column *cols, json_t *obj, struct err *e)
{
	if (!obj)
		return err_set(e, ERR_FAIL, "out of memory");
	if (in->output == OUTPUT_JSON)
		print_json(obj);
	bool text_form = in->output == OUTPUT_TEXT, tty = isatty(STDOUT_FILENO);
	if (text_form && tty)
		print_members(cols, obj, 14, terminal_columns());
	for (const struct column *c = cols; in->output != OUTPUT_JSON && c->title; c++) {
		if (text_form && tty)
			break;
		STR_AUTO text = cell_text(obj, c);
		if (!text_form) {
			printf("%s\n", text ? text : "");
			break;
		}
		printf("%s\t%s\n", c->key, text ? text : "");
	}
	json_decref(obj);
	return 0;
}

__attribute__((format(printf, 1, 0))) static void say_line(const char *fmt, va_list ap)
{
	BUF_AUTO b = {0};
	buf_vaddf(&b, fmt, ap);
	buf_addc(&b, '\n');
	output_text(stdout, buf_str(&b), b.len);
}

int output_done(const struct invocation *in, const struct column *cols, json_t *obj, struct err *e,
	const char *fmt, ...)
{
	va_list ap;
	if (in->output != OUTPUT_TEXT)
		return output_object(in, cols, obj, e);
	va_start(ap, fmt);
	say_line(fmt, ap);
	va_end(ap);
	json_decref(obj);
	return 0;
}

void output_say(const struct invocation *in, const char *fmt, ...)
{
	va_list ap;
	if (in->output != OUTPUT_TEXT)
		return;
	va_start(ap, fmt);
	say_line(fmt, ap);
	va_end(ap);
}

void output_paint(const struct invocation *in, const char *sgr)
{
	if (in->output == OUTPUT_TEXT && terminal_color(stdout))
		printf("\033[%sm", sgr);
}

/* Whether the last text to stdout and to stderr has no newline at its end. */
static bool unfinished[2];

void output_fresh_line(void)
{
	struct stat out, err;
	bool one_place = fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
			 out.st_dev == err.st_dev && out.st_ino == err.st_ino;
	fflush(stdout);
	if (unfinished[1] || (unfinished[0] && one_place))
		fputc('\n', stderr);
	unfinished[1] = false;
	unfinished[0] = unfinished[0] && !one_place;
}

void output_text(FILE *f, const char *p, size_t n)
{
	if (n)
		unfinished[f == stderr] = p[n - 1] != '\n';
	if (!isatty(fileno(f))) {
		fwrite(p, 1, n, f);
		return;
	}
	BUF_AUTO b = {.limit = 4 * n + 1};
	text_add_visible(&b, p, n, true);
	fwrite(buf_str(&b), 1, b.len, f);
}

void output_piece(FILE *f, struct output_held *h, const char *p, size_t n)
{
	BUF_AUTO b = {.limit = n + sizeof h->bytes};
	buf_add(&b, h->bytes, h->n);
	buf_add(&b, p, n);
	h->n = n ? text_begun(buf_str(&b), b.len) : 0;
	memcpy(h->bytes, buf_str(&b) + b.len - h->n, h->n);
	output_text(f, buf_str(&b), b.len - h->n);
}
