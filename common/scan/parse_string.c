#include "base/text.h"
#include "scan/parse_in.h"
#include "scan/str.h"

#include <string.h>

/* A string token that has been passed. */
struct piece {
	const char *start, *stop, *body, *end;
	struct place at;
	uint8_t flags;
	/* how far fields have been placed, and the lines until there */
	const char *seen, *line;
	uint32_t lines;
};

/*
 * Adjacent literals on their way to one node. Text is gathered until an f-string's field interrupts
 * it; then it becomes a node of its own on the parser's stack.
 */
struct build {
	char *text;
	size_t n, room;	    /* of text */
	struct place first; /* of the whole; of nodes made before the last */
	struct place last;  /* of the last text, and of the result */
	uint32_t mark;
	bool format, template;
};

static void reserve(struct parse *p, struct build *b, size_t n)
{
	if (b->text && b->room - b->n >= n)
		return;
	char *old = b->text;
	b->room = b->n + n > 2 * b->n ? b->n + n : 2 * b->n;
	b->text = arena_alloc(p->arena, b->room);
	if (old)
		memcpy(b->text, old, b->n);
}

static void note_url(struct parse *p, struct place at, const char *s, size_t n, bool whole)
{
	struct parse_url *u = arena_alloc(p->arena, sizeof(*u));
	*u = (struct parse_url){s, (uint32_t)n, at.line, whole, p->urls};
	p->urls = u;
}

static inline bool is_url(const char *s, size_t n)
{
	return n > 10 && memcmp(s, "http", 4) == 0;
}

static struct node *text_node(
	struct parse *p, enum node_kind kind, struct place at, const char *s, size_t n)
{
	struct node *x = PARSE_NEW(p, kind, at, str);
	x->str.s = s;
	x->str.n = (uint32_t)n;
	return x;
}

static struct node *whole_text(
	struct parse *p, enum node_kind kind, struct place at, const char *s, size_t n)
{
	if (is_url(s, n) && kind == E_STR)
		note_url(p, at, s, n, true);
	return text_node(p, kind, at, s, n);
}

static void flush(struct parse *p, struct build *b, struct place at)
{
	if (!b->n)
		return;
	if (is_url(b->text, b->n))
		note_url(p, at, b->text, b->n, false);
	parse_push(p, text_node(p, E_STR, at, b->text, b->n));
	b->text += b->n;
	b->room -= b->n;
	b->n = 0;
}

/* CPython looks into strings when it has read all that are adjacent, and what follows them. */
static _Noreturn void string_error(struct parse *p, const char *message)
{
	while (p->lx.kind == T_STRING)
		lex_next(&p->lx);
	/* These say by themselves that they are of an f-string. */
	bool field = p->field;
	p->field = false;
	parse_error(p, field ? lex_say(&p->lx, "f-string: %s", message) : message);
}

static const char *in_bytes(struct parse *p, struct str_fault f)
{
	if (!f.message)
		return NULL;
	return lex_say(&p->lx, "(value error) %s at position %zu", f.message, f.start);
}

/* CPython counts in a text where each character over 127 stands as an escape of ten. */
static size_t escaped_length(const char *s, size_t n)
{
	size_t len = 0;
	for (size_t i = 0; i < n; i++)
		len += (unsigned char)s[i] < 0x80 ? 1 : (s[i] & 0xC0) == 0xC0 ? 10 : 0;
	return len;
}

static const char *in_text(struct parse *p, const char *s, struct str_fault f)
{
	if (!f.message)
		return NULL;
	return lex_say(&p->lx,
		"(unicode error) 'unicodeescape' codec can't decode bytes in position %zu-%zu: %s",
		escaped_length(s, f.start), escaped_length(s, f.stop) - 1, f.message);
}

/* Appends what a literal's inside stands for. */
static void add_literal(struct parse *p, struct build *b, const char *s, size_t n, uint8_t flags)
{
	const char *wrong = NULL;
	size_t len = n;
	if (!n)
		return;
	reserve(p, b, n);
	if (flags & LEX_RAW || !memchr(s, '\\', n))
		memcpy(b->text + b->n, s, n);
	else if (flags & LEX_BYTES)
		wrong = in_bytes(p, bytes_unescape(s, n, b->text + b->n, &len));
	else
		wrong = in_text(p, s, str_unescape(s, n, b->text + b->n, &len));
	if (!wrong && flags & LEX_HIGH && flags & LEX_BYTES)
		wrong = "bytes can only contain ASCII literal characters";
	/* Checked before escapes: those may give lone surrogates, which are no UTF-8. */
	if (!wrong && flags & LEX_HIGH && !text_is_utf8(s, n))
		wrong = "a string literal is not valid UTF-8";
	if (wrong)
		string_error(p, wrong);
	b->n += len;
}

/* The text of "{name=}" goes into the string too. */
static void add_text(struct parse *p, struct build *b, const char *s, const char *end)
{
	size_t n = (size_t)(end - s);
	reserve(p, b, n);
	memcpy(b->text + b->n, s, n);
	b->n += n;
}

static struct node *finish(struct parse *p, struct build *b)
{
	if (!b->format)
		return whole_text(p, E_STR, b->last, b->n ? b->text : "", b->n);
	flush(p, b, b->last);
	struct node *n = PARSE_NEW(p, E_JOINED, b->last, list);
	n->flags = b->template ? NODE_TEMPLATE : 0;
	n->list = parse_take(p, b->mark);
	return n;
}

static void push_field(
	struct parse *p, struct place at, struct node *value, char conversion, struct node *spec)
{
	struct node *n = PARSE_NEW(p, E_FORMATTED, at, fmt);
	n->op = (uint8_t)conversion;
	n->fmt.value = value;
	n->fmt.spec = spec;
	parse_push(p, n);
}

/*
 * f-strings as before PEP 701: the token ends at the first quote; then fields are cut out of it by
 * a simple scan, and parsed on their own, in parentheses. CPython's fstring_find_expr() and its
 * friends, with all their quirks.
 */
static _Noreturn void field_error(struct parse *p, const struct piece *t, const char *message)
{
	if (p->modern)
		parse_fail(p, t->at, message);
	string_error(p, message);
}

/* Where the field's expression ends: on '!', ':', '=' or '}'. */
struct scan_field {
	const char *at, *end;
	char quote;
	bool triple;
	int depth;
	char open[LEX_MAX_PARENS];
};

static bool skip_quoted(struct scan_field *f, char c)
{
	bool three = f->at + 2 < f->end && f->at[1] == c && f->at[2] == c;
	if (f->quote) {
		if (c != f->quote || (f->triple && !three))
			return true;
		if (f->triple)
			f->at += 2;
		f->quote = 0;
		return true;
	}
	if (c != '"' && c != '\'')
		return false;
	f->quote = c;
	f->triple = three;
	if (three)
		f->at += 2;
	return true;
}

static const char *close_in_field(struct lex *lx, struct scan_field *f, char c)
{
	char want = c == ')' ? '(' : c == ']' ? '[' : '{';
	if (!f->depth)
		return lex_say(lx, "f-string: unmatched '%c'", c);
	char open = f->open[--f->depth];
	if (open == want)
		return NULL;
	return lex_say(lx,
		"f-string: closing parenthesis '%c' does not match opening parenthesis '%c'", c,
		open);
}

/* True on the byte that ends the expression. '!=', '==', '<=', '>=' are stepped over. */
static bool ends_field(struct scan_field *f, char c)
{
	if (f->depth || !c || !strchr("!:}=<>", c))
		return false;
	if (f->at + 1 < f->end && f->at[1] == '=' && strchr("!=<>", c)) {
		f->at++;
		return false;
	}
	return c != '<' && c != '>';
}

static const char *find_field_end(struct parse *p, struct piece *t, const char *s, const char *end)
{
	struct scan_field f = {.at = s, .end = end};
	const char *wrong = NULL;
	for (; f.at < f.end && !wrong; f.at++) {
		char c = *f.at;
		if (c == '\\')
			wrong = "f-string expression part cannot include a backslash";
		else if (skip_quoted(&f, c))
			continue;
		else if ((c == '(' || c == '[' || c == '{') && f.depth == LEX_MAX_PARENS)
			wrong = "f-string: too many nested parenthesis";
		else if (c == '(' || c == '[' || c == '{')
			f.open[f.depth++] = c;
		else if (c == '#')
			wrong = "f-string expression part cannot include '#'";
		else if (ends_field(&f, c))
			break;
		else if (c == ']' || c == '}' || c == ')')
			wrong = close_in_field(&p->lx, &f, c);
	}
	if (!wrong && f.quote)
		wrong = "f-string: unterminated string";
	if (!wrong && f.depth)
		wrong = lex_say(&p->lx, "f-string: unmatched '%c'", f.open[f.depth - 1]);
	if (!wrong && f.at >= f.end)
		wrong = "f-string: expecting '}'";
	if (wrong)
		field_error(p, t, wrong);
	return f.at;
}

/*
 * Where the nodes of a field are: how many lines below the string's first, and how far right. A
 * field that begins with a newline has its columns from there.
 */
static struct place field_place(struct piece *t, const char *brace)
{
	struct place d = {0, 0};
	const char *s = brace + 1;
	/* Fields come in order, so each byte is looked at once. */
	for (const char *p = t->seen ? t->seen : t->start; p < brace; p++) {
		if (*p != '\n')
			continue;
		t->lines++;
		t->line = p + 1;
	}
	t->seen = brace;
	while (*s == ' ' || *s == '\t' || *s == '\f')
		s++;
	if (*s != '}' && *s != '\n')
		d.col = (uint32_t)(brace - (t->line ? t->line : t->start));
	d.line = t->lines;
	return d;
}

/* s is behind the brace. */
static struct node *parse_field(struct parse *p, struct piece *t, const char *s, const char *end)
{
	struct lex_paren parens[LEX_MAX_PARENS];
	struct lex outer = p->lx;
	size_t n = (size_t)(end - s);
	int level = p->level;
	bool field = p->field;
	const char *q = s, *whole = p->text;
	while (q < end && (*q == ' ' || *q == '\t' || *q == '\n' || *q == '\f'))
		q++;
	if (q == end)
		field_error(p, t, "f-string: empty expression not allowed");
	char *text = arena_alloc(p->arena, n + 4 + LEX_PAD);
	text[0] = '(';
	memcpy(text + 1, s, n);
	text[n + 1] = ')';
	text[n + 2] = '\n';
	struct place d = field_place(t, s - 1);
	lex_init(&p->lx, text, parens, outer.indents, p->syms);
	p->lx.fresh_line = false;
	p->lx.at_line = p->lx.shift_line = t->at.line + d.line;
	p->lx.shift_col = d.line ? d.col : t->at.col + d.col;
	p->level = 0;
	p->text = text;
	if (!field)
		p->outer = &outer;
	p->field = true;
	lex_next(&p->lx);
	struct node *value = parse_star_expressions(p);
	p->lx = outer;
	p->level = level;
	p->field = field;
	p->text = whole;
	return value;
}

static void add_pieces(
	struct parse *p, struct build *b, struct piece *t, const char **at, int nesting);

/* '!r', ':spec' and '}' behind a field's expression. */
static void field_tail(struct parse *p, struct build *b, struct piece *t, const char **at,
	int nesting, struct node *value, bool debug)
{
	char conversion = 0;
	struct node *spec = NULL;

	if (*at < t->end && **at == '!') {
		if (*at + 1 >= t->end)
			field_error(p, t, "f-string: expecting '}'");
		if (!strchr("sra", (*at)[1]))
			field_error(p, t,
				"f-string: invalid conversion character: expected 's', 'r', or "
				"'a'");
		conversion = (*at)[1];
		*at += 2;
	}
	if (*at < t->end && **at == ':') {
		struct build inner = {.first = b->first, .last = t->at, .mark = p->depth};
		++*at;
		if (*at >= t->end)
			field_error(p, t, "f-string: expecting '}'");
		add_pieces(p, &inner, t, at, nesting + 1);
		spec = finish(p, &inner);
	}
	if (*at >= t->end || **at != '}')
		field_error(p, t, "f-string: expecting '}'");
	++*at;
	if (debug && !spec && !conversion)
		conversion = 'r';
	push_field(p, b->first, value, conversion, spec);
}

static void add_field(
	struct parse *p, struct build *b, struct piece *t, const char **at, int nesting)
{
	const char *s = ++*at;

	if (nesting >= 2)
		field_error(p, t, "f-string: expressions nested too deeply");
	*at = find_field_end(p, t, s, t->end);
	struct node *value = parse_field(p, t, s, *at);
	bool debug = **at == '=';
	if (debug) {
		++*at;
		while (**at == ' ' || (**at >= '\t' && **at <= '\r'))
			++*at;
		add_text(p, b, s, *at);
		if (*at >= t->end)
			field_error(p, t, "f-string: expecting '}'");
	}
	flush(p, b, b->first);
	field_tail(p, b, t, at, nesting, value, debug);
}

/* Behind a backslash; past '\\N{...}' as a whole, whose braces open no field. */
static const char *skip_named(const char *s, const char *end)
{
	if (s < end && *s++ == '{')
		while (s < end && *s++ != '}')
			;
	return s;
}

/* Literal text up to a field, or through the first of two equal braces: then true. */
static bool add_plain(
	struct parse *p, struct build *b, struct piece *t, const char **at, int nesting)
{
	const char *start = *at, *s = start;
	bool twice = false;

	while (s < t->end) {
		char c = *s++;
		if (c == '\\' && !(t->flags & LEX_RAW) && s < t->end) {
			c = *s++;
			if (c == 'N') {
				s = skip_named(s, t->end);
				continue;
			}
		}
		if (c != '{' && c != '}')
			continue;
		twice = nesting == 0 && s < t->end && *s == c;
		if (nesting == 0 && !twice && c == '}')
			field_error(p, t, "f-string: single '}' is not allowed");
		if (!twice)
			s--;
		break;
	}
	add_literal(p, b, start, (size_t)(s - start), t->flags);
	*at = s + twice;
	return twice;
}

static void add_pieces(
	struct parse *p, struct build *b, struct piece *t, const char **at, int nesting)
{
	b->format = true;
	for (;;) {
		if (add_plain(p, b, t, at, nesting))
			continue;
		if (*at >= t->end || **at == '}')
			break;
		add_field(p, b, t, at, nesting);
	}
	if (nesting && (*at >= t->end || **at != '}'))
		field_error(p, t, "f-string: expecting '}'");
}

/* PEP 701: the lexer gives the literal pieces, and the fields are parsed where they stand. */
static void modern_pieces(
	struct parse *p, struct build *b, struct piece *t, char quote, int nesting);

static void modern_field(struct parse *p, struct build *b, struct piece *t, char quote, int nesting)
{
	int outer = p->lx.fs_level;
	char conversion = 0;
	struct node *spec = NULL;
	parse_enter(p);
	lex_next(&p->lx); /* the brace */
	p->lx.fs_level = p->lx.level;
	const char *start = p->lx.at;
	lex_next(&p->lx);
	struct node *value = parse_yield_or_star(p);
	if (p->lx.kind == T_EQUAL) {
		lex_next(&p->lx);
		add_text(p, b, start, p->lx.start);
	}
	flush(p, b, b->first);
	if (parse_accept(p, T_BANG)) {
		conversion = *p->lx.start;
		if (p->lx.kind != T_NAME || p->lx.stop - p->lx.start != 1 ||
			!strchr("sra", conversion))
			parse_error(p, "f-string: invalid conversion character");
		lex_next(&p->lx);
	}
	if (p->lx.kind == T_COLON) {
		struct build inner = {.first = b->first, .last = t->at, .mark = p->depth};
		inner.format = true;
		modern_pieces(p, &inner, t, quote, nesting + 1);
		spec = finish(p, &inner);
		lex_next(&p->lx);
	}
	if (p->lx.kind != T_RBRACE)
		parse_error(p, "f-string: expecting '}'");
	p->lx.fs_level = outer;
	push_field(p, b->first, value, conversion, spec);
	parse_leave(p);
}

static void modern_pieces(
	struct parse *p, struct build *b, struct piece *t, char quote, int nesting)
{
	for (;;) {
		const char *start, *stop;
		char c = lex_fstring_piece(&p->lx, quote, t->flags, &start, &stop);
		bool twice = nesting == 0 && c == stop[1] && (c == '{' || c == '}');
		uint8_t flags = t->flags | LEX_HIGH;
		add_literal(p, b, start, (size_t)(stop - start) + twice, flags);
		if (twice)
			p->lx.at += 2;
		else if (c == '{')
			modern_field(p, b, t, quote, nesting);
		else if (c == '}' && nesting == 0)
			field_error(p, t, "f-string: single '}' is not allowed");
		else
			return;
	}
}

static void add_modern(struct parse *p, struct build *b, struct piece *t)
{
	if (t->flags & LEX_TEMPLATE) {
		parse_modern(p, 14);
		b->template = true;
	}
	b->format = true;
	modern_pieces(p, b, t, t->stop[-1], 0);
	p->lx.at += t->flags & LEX_TRIPLE ? 3 : 1;
	lex_next(&p->lx);
}

static struct piece take_piece(struct parse *p)
{
	struct piece t = {.start = p->lx.start, .stop = p->lx.stop, .flags = p->lx.flags};
	t.at = parse_here(p);
	if (p->lx.kind == T_STRING) {
		t.body = lex_string_body(&p->lx, &t.end);
		lex_next(&p->lx);
	}
	return t;
}

/* From t, which has been passed, through the last of the adjacent literals. */
static struct node *joined(struct parse *p, struct piece t, bool fields)
{
	struct build b = {.first = t.at, .last = t.at, .mark = p->depth};
	uint8_t bytes = t.flags & LEX_BYTES, template = t.flags & LEX_TEMPLATE;
	for (;;) {
		if ((t.flags & LEX_TEMPLATE) != template)
			string_error(
				p, "cannot mix t-string literals with string or bytes literals");
		if ((t.flags & LEX_BYTES) != bytes)
			string_error(p, "cannot mix bytes and nonbytes literals");
		if (fields)
			add_modern(p, &b, &t);
		else if (t.flags & LEX_FORMAT)
			add_pieces(p, &b, &t, &(const char *){t.body}, 0);
		else
			add_literal(p, &b, t.body, (size_t)(t.end - t.body), t.flags);
		if (p->lx.kind != T_STRING && p->lx.kind != T_FSTRING)
			break;
		fields = p->lx.kind == T_FSTRING;
		t = take_piece(p);
	}
	struct node *n = finish(p, &b);
	if (bytes)
		n->kind = E_BYTES;
	return n;
}

struct node *parse_strings(struct parse *p)
{
	if (p->lx.kind == T_FSTRING)
		return joined(p, take_piece(p), true);
	const char *start = p->lx.start, *stop = p->lx.stop, *end;
	const char *body = lex_string_body(&p->lx, &end);
	uint8_t flags = p->lx.flags;
	struct place at = parse_here(p);

	lex_next(&p->lx);
	bool alone = p->lx.kind != T_STRING && p->lx.kind != T_FSTRING;
	bool plain =
		!(flags & (LEX_FORMAT | LEX_HIGH)) && (flags & LEX_RAW || !(flags & LEX_ESCAPES));
	/* Most literals are alone and mean what they say. */
	if (alone && plain)
		return whole_text(
			p, flags & LEX_BYTES ? E_BYTES : E_STR, at, body, (size_t)(end - body));
	return joined(p,
		(struct piece){.start = start,
			.stop = stop,
			.body = body,
			.end = end,
			.at = at,
			.flags = flags},
		false);
}
