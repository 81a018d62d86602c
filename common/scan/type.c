#include "scan/type.h"
#include "scan/docstring.h"
#include "scan/parse.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define CONSTANT_MAX 2000 /* bytes of JSON */
#define FIELDS_MAX 500

const char *type_docstring(struct seq body, size_t *n)
{
	struct node *first = body.n ? body.v[0] : NULL;
	*n = 0;
	if (!first || first->kind != S_EXPR || first->one->kind != E_STR)
		return NULL;
	*n = first->one->str.n;
	return first->one->str.s;
}

const char *type_word(const struct meaning *m)
{
	static const char *const modules[] = {"builtins.", "typing.", "typing_extensions.",
		"collections.abc.", "collections.", "enum.", "dataclasses."};
	for (size_t i = 0; m->kind == MEANS_OUTSIDE && i < sizeof modules / sizeof *modules; i++) {
		size_t n = strlen(modules[i]);
		if (strncmp(m->dotted, modules[i], n) == 0 && !strchr(m->dotted + n, '.'))
			return m->dotted + n;
	}
	return NULL;
}

static bool is_one_of(const char *word, const char *const *words)
{
	for (size_t i = 0; word && words[i]; i++)
		if (strcmp(words[i], word) == 0)
			return true;
	return false;
}

/* ---- constants ----------------------------------------------------------------------------- */

/* JSON text as it grows; bad once it is too long, or something is no constant. */
struct json_out {
	struct reader *r;
	struct scan_file *file;
	unsigned depth;
	VEC(char) text;
	bool bad;
};

static void put(struct json_out *o, const char *s, size_t n)
{
	o->bad |= o->text.n + n > CONSTANT_MAX;
	for (size_t i = 0; i < n && !o->bad; i++) {
		VEC_GROW(&o->r->s->arena, o->text);
		o->text.v[o->text.n++] = s[i];
	}
}

static void put_text(struct json_out *o, const char *s)
{
	put(o, s, strlen(s));
}

static void put_string(struct json_out *o, const char *s, size_t n)
{
	static const char hex[] = "0123456789abcdef";
	put_text(o, "\"");
	for (size_t i = 0; i < n && !o->bad; i++) {
		unsigned char c = (unsigned char)s[i];
		char escape[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
		/* Lone surrogates, and the NUL that our own strings cannot hold. */
		o->bad |= c == 0 || (c == 0xED && i + 1 < n && (unsigned char)s[i + 1] >= 0xA0);
		if (c < ' ')
			put(o, escape, sizeof escape);
		else if (c == '"' || c == '\\')
			put(o, (char[]){'\\', (char)c}, 2);
		else
			put(o, (char[]){(char)c}, 1);
	}
	put_text(o, "\"");
}

static int base_of(const char *digits)
{
	if (digits[0] != '0' || !digits[1])
		return 10;
	char c = (char)(digits[1] | 0x20);
	return c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 10;
}

static void put_integer(struct json_out *o, const char *digits, int base)
{
	char plain[24];
	size_t at = sizeof plain;
	char *end;
	unsigned long long v = strtoull(digits + (base == 10 ? 0 : 2), &end, base);
	if (*end || v > INT64_MAX) {
		o->bad = true;
		return;
	}
	do
		plain[--at] = (char)('0' + v % 10);
	while (v /= 10);
	put(o, plain + at, sizeof plain - at);
}

/* "5." and ".5" are no JSON. */
static void put_real(struct json_out *o, const char *digits)
{
	size_t whole = strspn(digits, "0123456789");
	const char *rest = digits + whole;
	const char *lead = digits + strspn(digits, "0");
	/* Zeros in front: "007.5"; one stays before the point. */
	if (lead >= rest)
		put_text(o, "0");
	else
		put(o, lead, (size_t)(rest - lead));
	if (*rest == '.') {
		size_t n = strspn(++rest, "0123456789");
		put_text(o, ".");
		put(o, n ? rest : "0", n ? n : 1);
		rest += n;
	}
	put_text(o, rest);
}

static void put_number(struct json_out *o, const struct node *n)
{
	char digits[64];
	size_t k = 0;
	for (uint32_t i = 0; i < n->str.n; i++) {
		if (n->str.s[i] == '_')
			continue;
		if (k + 1 == sizeof digits) {
			o->bad = true;
			return;
		}
		digits[k++] = n->str.s[i];
	}
	digits[k] = '\0';
	int base = base_of(digits);
	if (base == 10 && strpbrk(digits, "jJ"))
		o->bad = true;
	else if (base == 10 && strpbrk(digits, ".eE"))
		put_real(o, digits);
	else
		put_integer(o, digits, base);
}

static void put_constant(struct json_out *o, struct node *n);
static const char *enum_constant(struct json_out *o, const struct node *n);

static void put_list(struct json_out *o, struct seq s)
{
	put_text(o, "[");
	for (uint32_t i = 0; i < s.n && !o->bad; i++) {
		put_text(o, i ? "," : "");
		put_constant(o, s.v[i]);
	}
	put_text(o, "]");
}

static void put_dict(struct json_out *o, const struct node *n)
{
	put_text(o, "{");
	for (uint32_t i = 0; i < n->dict.keys.n && !o->bad; i++) {
		const struct node *key = n->dict.keys.v[i];
		o->bad |= !key || key->kind != E_STR;
		if (o->bad)
			return;
		put_text(o, i ? "," : "");
		put_string(o, key->str.s, key->str.n);
		put_text(o, ":");
		put_constant(o, n->dict.values.v[i]);
	}
	put_text(o, "}");
}

/* A name of a constant, which may be another file's, or a member of an Enum. */
static void put_named(struct json_out *o, struct node *n)
{
	struct meaning m = meaning_of(o->r, o->file, n, o->depth);
	const char *text = n->kind == E_ATTR ? enum_constant(o, n) : NULL;
	if (text || m.kind != MEANS_BOUND) {
		o->bad |= !text;
		put_text(o, text ? text : "");
		return;
	}
	if (m.kind == MEANS_BOUND && m.bound.kind == BOUND_VALUE && m.bound.node != n &&
		!meaning_bound_again(o->r, m.file, n->kind == E_NAME ? n->name : n->attr.name))
		text = type_constant(o->r, m.file, m.bound.node, o->depth + 1);
	o->bad |= !text;
	if (text)
		put_text(o, text);
}

static void put_constant(struct json_out *o, struct node *n)
{
	if (o->bad || o->depth > MEANING_MAX_DEPTH) {
		o->bad = true;
		return;
	}
	o->depth++;
	if (n->kind == E_CONST && n->op == T_NUMBER)
		put_number(o, n);
	else if (n->kind == E_CONST && n->op != T_ELLIPSIS)
		put_text(o, n->op == K_NONE ? "null" : n->op == K_TRUE ? "true" : "false");
	else if (n->kind == E_STR)
		put_string(o, n->str.s, n->str.n);
	else if (n->kind == E_UNARY && n->op == T_MINUS && n->one->kind == E_CONST &&
		 n->one->op == T_NUMBER) {
		put_text(o, "-");
		put_number(o, n->one);
	} else if (n->kind == E_LIST || n->kind == E_TUPLE)
		put_list(o, n->list);
	else if (n->kind == E_DICT)
		put_dict(o, n);
	else if (n->kind == E_NAME || n->kind == E_ATTR)
		put_named(o, n);
	else
		o->bad = true;
	o->depth--;
}

const char *type_constant(struct reader *r, struct scan_file *file, struct node *n, unsigned depth)
{
	struct json_out o = {.r = r, .file = file, .depth = depth};
	put_constant(&o, n);
	return o.bad ? NULL : arena_copy(&r->s->arena, o.text.v, o.text.n);
}

/* ---- types --------------------------------------------------------------------------------- */

static const struct scan_type any = {.kind = SCAN_TYPE_ANY};

static struct scan_type *new_type(struct reader *r, enum scan_type_kind kind)
{
	struct scan_type *t = arena_alloc(&r->s->arena, sizeof *t);
	t->kind = kind;
	return t;
}

static const struct scan_type *holder(
	struct reader *r, enum scan_type_kind kind, const struct scan_type *held)
{
	struct scan_type *t = new_type(r, kind);
	t->of = arena_alloc(&r->s->arena, sizeof *t->of);
	t->of[0] = held;
	t->n = 1;
	return t;
}

/* A union within is its members'; one of anything is anything. */
static const struct scan_type *union_of(
	struct reader *r, const struct scan_type *const *v, size_t n)
{
	struct scan_type *t = new_type(r, SCAN_TYPE_UNION);
	size_t room = 0;
	for (size_t i = 0; i < n; i++) {
		if (v[i]->kind == SCAN_TYPE_ANY)
			return &any;
		room += v[i]->kind == SCAN_TYPE_UNION ? v[i]->n : 1;
	}
	t->of = arena_alloc(&r->s->arena, (room + 1) * sizeof *t->of);
	for (size_t i = 0; i < n; i++) {
		bool many = v[i]->kind == SCAN_TYPE_UNION;
		for (size_t k = 0; k < (many ? v[i]->n : 1); k++)
			t->of[t->n++] = many ? v[i]->of[k] : v[i];
	}
	return t->n == 1 ? t->of[0] : t;
}

static const struct scan_type *type_of_all(
	struct reader *r, struct scan_file *file, struct seq s, unsigned depth)
{
	const struct scan_type **v = arena_alloc(&r->s->arena, (s.n + 1) * sizeof(*v));
	for (uint32_t i = 0; i < s.n; i++)
		v[i] = type_of(r, file, s.v[i], depth);
	return union_of(r, v, s.n);
}

/* "list[int]" in a text; what is no expression says nothing. */
static struct node *parse_text(struct reader *r, const struct node *n)
{
	struct arena *a = &r->s->arena;
	struct fail *outer = a->fail, f = {.line = 1};
	char *text = arena_alloc(a, (size_t)n->str.n + 4 + LEX_PAD);
	struct node *got = NULL;
	if (memchr(n->str.s, '\0', n->str.n))
		return NULL;
	text[0] = '(';
	memcpy(text + 1, n->str.s, n->str.n);
	memcpy(text + 1 + n->str.n, ")\n", 2);
	a->fail = &f;
	if (setjmp(f.at)) {
		a->fail = outer;
		if (f.what != FAIL_SYNTAX && f.what != FAIL_CODING)
			fail_jump(outer, f.what);
		return NULL;
	}
	struct seq body = parse_module(text, &r->s->syms, false).body;
	a->fail = outer;
	if (body.n == 1 && body.v[0]->kind == S_EXPR)
		got = body.v[0]->one;
	return got;
}

/* ---- classes ------------------------------------------------------------------------------- */

enum class_kind { CLASS_OTHER, CLASS_ENUM, CLASS_STR_ENUM, CLASS_TYPED_DICT, CLASS_DATACLASS };

static bool is_dataclass(struct reader *r, struct scan_file *file, const struct node *cls)
{
	for (uint32_t i = 0; i < cls->cls.decorators.n; i++) {
		const struct node *d = cls->cls.decorators.v[i];
		struct meaning m = meaning_of(r, file, d->kind == E_CALL ? d->call.func : d, 0);
		const char *word = type_word(&m);
		if (word && strcmp(word, "dataclass") == 0)
			return true;
	}
	return false;
}

static bool has_method(const struct node *cls, const char *const *names)
{
	for (uint32_t i = 0; i < cls->cls.body.n; i++)
		if (cls->cls.body.v[i]->kind == S_FUNC &&
			is_one_of(cls->cls.body.v[i]->func.name->s, names))
			return true;
	return false;
}

static enum class_kind class_kind(
	struct reader *r, struct scan_file *file, const struct node *cls, unsigned depth)
{
	static const char *const makers[] = {
		"__new__", "__init__", "_missing_", "_generate_next_value_", NULL};
	static const char *const enums[] = {"Enum", "IntEnum", "ReprEnum", NULL};
	static const char *const mixins[] = {"str", "int", "object", "float", "Generic", NULL};
	enum class_kind kind = CLASS_OTHER;
	if (depth > MEANING_MAX_DEPTH)
		return CLASS_OTHER;
	if (is_dataclass(r, file, cls))
		return CLASS_DATACLASS;
	for (uint32_t i = 0; i < cls->cls.args.n; i++) {
		struct meaning m = meaning_of(r, file, cls->cls.args.v[i], depth);
		const char *word = type_word(&m);
		if (m.kind == MEANS_BOUND && m.bound.kind == BOUND_CLASS)
			kind = class_kind(r, m.file, m.bound.node, depth + 1);
		else if (word && is_one_of(word, enums))
			kind = CLASS_ENUM;
		else if (word && strcmp(word, "StrEnum") == 0)
			kind = CLASS_STR_ENUM;
		else if (word && strcmp(word, "TypedDict") == 0)
			kind = CLASS_TYPED_DICT;
		else if (!is_one_of(word, mixins))
			return CLASS_OTHER;
	}
	bool plain = kind == CLASS_TYPED_DICT || !has_method(cls, makers);
	return kind == CLASS_DATACLASS || !plain ? CLASS_OTHER : kind;
}

static bool is_auto(struct reader *r, struct scan_file *file, const struct node *n)
{
	if (n->kind != E_CALL || n->call.args.n || n->call.keywords.n)
		return false;
	struct meaning m = meaning_of(r, file, n->call.func, 0);
	const char *word = type_word(&m);
	return word && strcmp(word, "auto") == 0;
}

static const char *lower_name(struct reader *r, const struct sym *name)
{
	char *text = arena_alloc(&r->s->arena, (size_t)name->len + 3), *to = text;
	*to++ = '"';
	for (uint32_t i = 0; i < name->len; i++)
		*to++ = (char)(name->s[i] >= 'A' && name->s[i] <= 'Z' ? name->s[i] | 0x20
								      : name->s[i]);
	*to = '"';
	return text;
}

/* The value of NAME = VALUE in an Enum as JSON, NULL if it cannot be told. */
static const char *member_value(struct reader *r, struct scan_file *file, enum class_kind kind,
	const struct sym *name, struct node *value)
{
	if (is_auto(r, file, value))
		return kind == CLASS_STR_ENUM ? lower_name(r, name) : NULL;
	if (value->kind != E_CONST && value->kind != E_STR && value->kind != E_UNARY)
		return NULL;
	return type_constant(r, file, value, 0);
}

static const struct scan_type *enum_type(
	struct reader *r, struct scan_file *file, const struct node *cls, enum class_kind kind)
{
	struct scan_type *t = new_type(r, SCAN_TYPE_CONSTS);
	struct seq body = cls->cls.body;
	t->made = SCAN_MADE_ENUM;
	t->consts = arena_alloc(&r->s->arena, (body.n + 1) * sizeof *t->consts);
	for (uint32_t i = 0; i < body.n; i++) {
		struct node *n = body.v[i];
		if (n->kind == S_FUNC || n->kind == S_PASS || n->kind == S_EXPR)
			continue;
		bool plain = n->kind == S_ASSIGN && n->assign.targets.n == 1 &&
			     n->assign.targets.v[0]->kind == E_NAME &&
			     n->assign.targets.v[0]->op == NAME_PLAIN;
		const struct sym *name = plain ? n->assign.targets.v[0]->name : NULL;
		if (!plain || name->s[0] == '_')
			return &any;
		t->consts[t->n] = member_value(r, file, kind, name, n->assign.value);
		if (!t->consts[t->n++])
			return &any;
	}
	return t->n ? t : &any;
}

/* Color.RED */
static const char *enum_constant(struct json_out *o, const struct node *n)
{
	struct meaning m = meaning_of(o->r, o->file, n->attr.value, o->depth);
	if (m.kind != MEANS_BOUND || m.bound.kind != BOUND_CLASS)
		return NULL;
	enum class_kind kind = class_kind(o->r, m.file, m.bound.node, o->depth);
	if (kind != CLASS_ENUM && kind != CLASS_STR_ENUM)
		return NULL;
	for (uint32_t i = 0; i < m.bound.node->cls.body.n; i++) {
		const struct node *a = m.bound.node->cls.body.v[i];
		if (a->kind == S_ASSIGN && a->assign.targets.v[0]->kind == E_NAME &&
			a->assign.targets.v[0]->op == NAME_PLAIN &&
			a->assign.targets.v[0]->name == n->attr.name)
			return member_value(o->r, m.file, kind, n->attr.name, a->assign.value);
	}
	return NULL;
}

/* ---- objects ------------------------------------------------------------------------------- */

struct class_fields {
	struct reader *r;
	VEC(struct scan_param) of;
	enum class_kind kind;
	bool bad;
};

static struct scan_param *field_named(struct class_fields *f, const char *name)
{
	for (size_t i = 0; i < f->of.n; i++)
		if (strcmp(f->of.v[i].name, name) == 0)
			return &f->of.v[i];
	VEC_GROW(&f->r->s->arena, f->of);
	return &f->of.v[f->of.n++];
}

static const struct node *keyword_of(const struct node *call, const char *name)
{
	for (uint32_t i = 0; i < call->call.keywords.n; i++) {
		const struct node *k = call->call.keywords.v[i];
		if (k->keyword.name && strcmp(k->keyword.name->s, name) == 0)
			return k->keyword.value;
	}
	return NULL;
}

static bool is_const(const struct node *n, enum token op)
{
	return n && n->kind == E_CONST && n->op == op;
}

/* "Required[int]" in a TypedDict, "ClassVar[int]" in a dataclass; NULL: none such. */
static const char *qualifier(
	struct reader *r, struct scan_file *file, const struct node *annotation)
{
	static const char *const words[] = {
		"Required", "NotRequired", "ReadOnly", "ClassVar", "InitVar", "Final", NULL};
	const struct node *n = annotation;
	if (n->kind == E_SUBSCRIPT)
		n = n->sub.value;
	struct meaning m = meaning_of(r, file, n, 0);
	const char *word = type_word(&m);
	return is_one_of(word, words) ? word : NULL;
}

/* Whether a dataclass's __init__ takes it, and with what default. */
static bool take_default(
	struct class_fields *f, struct scan_file *file, struct node *value, struct scan_param *p)
{
	p->required = !value;
	if (!value)
		return true;
	struct meaning m =
		meaning_of(f->r, file, value->kind == E_CALL ? value->call.func : value, 0);
	const char *word = type_word(&m);
	if (value->kind != E_CALL || !word || strcmp(word, "field") != 0) {
		p->fallback = type_constant(f->r, file, value, 0);
		return true;
	}
	const struct node *given = keyword_of(value, "default");
	p->required = !given && !keyword_of(value, "default_factory");
	if (given)
		p->fallback = type_constant(f->r, file, (struct node *)(uintptr_t)given, 0);
	return !is_const(keyword_of(value, "init"), K_FALSE);
}

static void add_field(struct class_fields *f, struct scan_file *file, struct node *n, bool total,
	const char *doc, size_t ndoc, unsigned depth)
{
	struct node *annotation = n->three.b;
	struct scan_param p = {.kind = SCAN_PARAM_PLAIN, .required = total};
	if (f->of.n >= FIELDS_MAX) {
		f->bad = true;
		return;
	}
	if (annotation->kind == E_STR && !(annotation = parse_text(f->r, annotation)))
		annotation = n->three.b;
	const char *word = qualifier(f->r, file, annotation);
	if (word && strcmp(word, "ClassVar") == 0)
		return;
	if (word && strcmp(word, "Required") == 0)
		p.required = true;
	if (word && strcmp(word, "NotRequired") == 0)
		p.required = false;
	if (f->kind == CLASS_DATACLASS && !take_default(f, file, n->three.c, &p))
		return;
	p.name = n->three.a->name->s;
	p.type = type_of(f->r, file, annotation, depth + 1);
	p.doc = docstring_param(&f->r->s->arena, doc, ndoc, p.name);
	*field_named(f, p.name) = p;
}

static void add_class(
	struct class_fields *f, struct scan_file *file, const struct node *cls, unsigned depth)
{
	size_t ndoc;
	const char *doc = type_docstring(cls->cls.body, &ndoc);
	static const char *const makers[] = {"__init__", "__new__", NULL};
	bool total = !is_const(
		keyword_of(&(struct node){.call = {.keywords = cls->cls.keywords}}, "total"),
		K_FALSE);
	if (depth > MEANING_MAX_DEPTH || has_method(cls, makers)) {
		f->bad = true;
		return;
	}
	for (uint32_t i = cls->cls.args.n; i-- > 0;) {
		struct meaning m = meaning_of(f->r, file, cls->cls.args.v[i], depth);
		const char *word = type_word(&m);
		if (m.kind == MEANS_BOUND && m.bound.kind == BOUND_CLASS)
			add_class(f, m.file, m.bound.node, depth + 1);
		else if (!word || (strcmp(word, "TypedDict") != 0 && strcmp(word, "object") != 0))
			f->bad = true;
	}
	bool fields = f->kind == CLASS_TYPED_DICT || is_dataclass(f->r, file, cls);
	for (uint32_t i = 0; fields && i < cls->cls.body.n; i++) {
		struct node *n = cls->cls.body.v[i];
		if (n->kind == S_ANNASSIGN && n->three.a->kind == E_NAME &&
			n->three.a->op == NAME_PLAIN)
			add_field(f, file, n, total, doc, ndoc, depth);
	}
}

static const struct scan_type *object_type(struct reader *r, struct scan_file *file,
	const struct node *cls, enum class_kind kind, unsigned depth)
{
	struct class_fields f = {.r = r, .kind = kind};
	size_t ndoc;
	const char *doc = type_docstring(cls->cls.body, &ndoc);
	/* One within itself is not told further. */
	for (unsigned i = 0; i < r->nopen; i++)
		if (r->open[i] == cls)
			return holder(r, SCAN_TYPE_DICT, &any);
	if (r->nopen == READER_MAX_OPEN)
		return &any;
	r->open[r->nopen++] = cls;
	add_class(&f, file, cls, depth);
	r->nopen--;
	if (f.bad)
		return &any;
	struct scan_type *t = new_type(r, SCAN_TYPE_OBJECT);
	t->made = kind == CLASS_DATACLASS ? SCAN_MADE_DATACLASS : SCAN_MADE_NONE;
	t->fields = f.of.v;
	t->n = f.of.n;
	t->doc = ndoc ? docstring_summary(&r->s->arena, doc, ndoc) : NULL;
	return t;
}

static const struct scan_type *class_type(
	struct reader *r, struct scan_file *file, const struct node *cls, unsigned depth)
{
	enum class_kind kind = class_kind(r, file, cls, depth);
	if (kind == CLASS_ENUM || kind == CLASS_STR_ENUM)
		return enum_type(r, file, cls, kind);
	return kind == CLASS_OTHER ? &any : object_type(r, file, cls, kind, depth);
}

/* ---- annotations --------------------------------------------------------------------------- */

static const char *const lists[] = {"list", "List", "Sequence", "MutableSequence", "Iterable",
	"Collection", "tuple", "Tuple", "set", "Set", "frozenset", "FrozenSet", "AbstractSet",
	NULL};
static const char *const dicts[] = {
	"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", NULL};

static const struct scan_type *plain_type(struct reader *r, const char *word)
{
	static const struct {
		const char *word;
		enum scan_type_kind kind;
	} words[] = {{"int", SCAN_TYPE_INT}, {"float", SCAN_TYPE_FLOAT}, {"str", SCAN_TYPE_STR},
		{"Text", SCAN_TYPE_STR}, {"LiteralString", SCAN_TYPE_STR},
		{"bool", SCAN_TYPE_BOOL}};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i].word, word) == 0)
			return new_type(r, words[i].kind);
	if (is_one_of(word, lists))
		return holder(r, SCAN_TYPE_LIST, &any);
	return is_one_of(word, dicts) ? holder(r, SCAN_TYPE_DICT, &any) : &any;
}

static struct seq parts_of(struct node *index, struct node **one)
{
	if (index->kind == E_TUPLE)
		return index->list;
	*one = index;
	return (struct seq){one, 1};
}

static const struct scan_type *literal_type(
	struct reader *r, struct scan_file *file, struct seq parts, unsigned depth)
{
	struct scan_type *t = new_type(r, SCAN_TYPE_CONSTS);
	VEC(const char *) all = {0};
	for (uint32_t i = 0; i < parts.n; i++) {
		struct node *n = parts.v[i];
		if (n->kind == E_NAME || n->kind == E_ATTR || n->kind == E_SUBSCRIPT) {
			const struct scan_type *inner = type_of(r, file, n, depth + 1);
			if (inner->kind != SCAN_TYPE_CONSTS || inner->made != SCAN_MADE_NONE)
				return &any;
			for (size_t k = 0; k < inner->n; k++) {
				VEC_GROW(&r->s->arena, all);
				all.v[all.n++] = inner->consts[k];
			}
			continue;
		}
		const char *text = type_constant(r, file, n, depth);
		if (!text)
			return &any;
		VEC_GROW(&r->s->arena, all);
		all.v[all.n++] = text;
	}
	t->consts = all.v;
	t->n = all.n;
	return t;
}

static const struct scan_type *list_type(struct reader *r, struct scan_file *file, const char *word,
	struct seq parts, unsigned depth)
{
	bool tuple = strcmp(word, "tuple") == 0 || strcmp(word, "Tuple") == 0;
	bool alike = !tuple ? parts.n == 1 : parts.n == 2 && is_const(parts.v[1], T_ELLIPSIS);
	return holder(r, SCAN_TYPE_LIST, alike ? type_of(r, file, parts.v[0], depth + 1) : &any);
}

static const struct scan_type *subscript_type(
	struct reader *r, struct scan_file *file, struct node *n, unsigned depth)
{
	static const char *const through[] = {
		"Annotated", "Final", "Required", "NotRequired", "ReadOnly", "InitVar", NULL};
	struct node *one;
	struct meaning m = meaning_of(r, file, n->sub.value, depth);
	const char *word = type_word(&m);
	struct seq parts = parts_of(n->sub.index, &one);
	if (!word || !parts.n)
		return &any;
	if (strcmp(word, "Literal") == 0)
		return literal_type(r, file, parts, depth);
	if (strcmp(word, "Union") == 0)
		return type_of_all(r, file, parts, depth + 1);
	if (strcmp(word, "Optional") == 0) {
		const struct scan_type *two[] = {
			type_of(r, file, parts.v[0], depth + 1), new_type(r, SCAN_TYPE_NULL)};
		return union_of(r, two, 2);
	}
	if (is_one_of(word, through))
		return type_of(r, file, parts.v[0], depth + 1);
	if (is_one_of(word, lists))
		return list_type(r, file, word, parts, depth);
	if (is_one_of(word, dicts) && parts.n == 2)
		return holder(r, SCAN_TYPE_DICT, type_of(r, file, parts.v[1], depth + 1));
	return plain_type(r, word);
}

/* NewType('Id', int) */
static const struct scan_type *call_type(
	struct reader *r, struct scan_file *file, struct node *n, unsigned depth)
{
	struct meaning m = meaning_of(r, file, n->call.func, depth);
	const char *word = type_word(&m);
	if (!word || strcmp(word, "NewType") != 0 || n->call.args.n != 2)
		return &any;
	return type_of(r, file, n->call.args.v[1], depth + 1);
}

static const struct scan_type *named_type(
	struct reader *r, struct scan_file *file, struct node *n, unsigned depth)
{
	struct meaning m = meaning_of(r, file, n, depth);
	const char *word = type_word(&m);
	if (word)
		return plain_type(r, word);
	if (m.kind != MEANS_BOUND)
		return &any;
	if (m.bound.kind == BOUND_CLASS)
		return class_type(r, m.file, m.bound.node, depth + 1);
	struct node *v = m.bound.kind == BOUND_VALUE ? m.bound.node : NULL;
	bool alias = v && (v->kind == E_SUBSCRIPT || v->kind == E_CALL ||
				  (v->kind == E_BINOP && v->op == T_BAR));
	return alias ? type_of(r, m.file, v, depth + 1) : &any;
}

const struct scan_type *type_of(
	struct reader *r, struct scan_file *file, struct node *n, unsigned depth)
{
	if (!n || depth > MEANING_MAX_DEPTH || !r->left)
		return &any;
	r->left--;
	switch (n->kind) {
	case E_NAME:
	case E_ATTR:
		return named_type(r, file, n, depth);
	case E_SUBSCRIPT:
		return subscript_type(r, file, n, depth);
	case E_CALL:
		return call_type(r, file, n, depth);
	case E_STR:
		n = parse_text(r, n);
		return n ? type_of(r, file, n, depth + 1) : &any;
	case E_CONST:
		return n->op == K_NONE ? new_type(r, SCAN_TYPE_NULL) : &any;
	case E_BINOP: {
		const struct scan_type *two[] = {type_of(r, file, n->two.a, depth + 1),
			type_of(r, file, n->two.b, depth + 1)};
		return n->op == T_BAR ? union_of(r, two, 2) : &any;
	}
	default:
		return &any;
	}
}
