#include "manifest/schema.h"

#include "base/nearest.h"
#include "manifest/pattern.h"
#include "manifest/place.h"
#include "manifest/schema_ref.h"
#include "base/text.h"
#include "manifest/schema_value.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALIDATE_STEPS 5000000
/* Schemas within schemas, $ref included: keeps the C stack small. */
#define VALIDATE_MAX_DEPTH 800

/* STOPPED: out of steps, depth or memory; said already, and no verdict may come of it. */
enum verdict { STOPPED = -1, VALID = 0, INVALID = 1 };

struct run {
	const json_t *root;
	const char *name; /* of the whole value */
	long steps;
	struct cached {
		const char *text; /* by address, which lives as long as the schema */
		struct compiled_pattern *pattern;
	} * patterns; /* open addressing; room is a power of two */
	size_t npatterns, room;
	struct err *e;
};

/* One value against one schema. */
struct ctx {
	struct run *run;
	const json_t *schema;
	const json_t *value;
	const struct value_place *at;
	bool quiet; /* a failure here is no failure yet: record nothing */
	int depth;
};

static enum verdict invalid(const struct ctx *c, const struct value_place *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static enum verdict invalid(const struct ctx *c, const struct value_place *at, const char *fmt, ...)
{
	char cause[600];
	BUF_AUTO path = {0};
	va_list ap;
	if (c->quiet)
		return INVALID;
	va_start(ap, fmt);
	vsnprintf(cause, sizeof cause, fmt, ap);
	va_end(ap);
	place_show(c->run->name, at, &path);
	err_set(c->run->e, ERR_USAGE, "%s: %s", buf_str(&path), cause);
	return INVALID;
}

static enum verdict stop(const struct ctx *c, const char *why)
{
	BUF_AUTO path = {0};
	place_show(c->run->name, c->at, &path);
	err_set(c->run->e, ERR_USAGE, "%s: %s", buf_str(&path), why);
	return STOPPED;
}

static enum verdict out_of_steps(const struct ctx *c)
{
	return stop(c, "takes too long to check against the schema");
}

static enum verdict spend(const struct ctx *c, size_t n)
{
	c->run->steps -= (long)n;
	return c->run->steps < 0 ? out_of_steps(c) : VALID;
}

static enum verdict check(const struct ctx *c);

static enum verdict check_with(const struct ctx *c, const json_t *schema, const json_t *value,
	const struct value_place *at)
{
	struct ctx in = *c;
	in.schema = schema;
	in.value = value;
	in.at = at;
	in.depth++;
	return check(&in);
}

static enum verdict check_here(const struct ctx *c, const json_t *schema)
{
	return check_with(c, schema, c->value, c->at);
}

static enum verdict check_quietly(const struct ctx *c, const json_t *schema)
{
	struct ctx in = *c;
	in.quiet = true;
	return check_here(&in, schema);
}

static enum verdict check_member(
	const struct ctx *c, const json_t *schema, const char *key, json_t *v)
{
	struct value_place at = {c->at, key, 0};
	return check_with(c, schema, v, &at);
}

static enum verdict check_item(const struct ctx *c, const json_t *schema, size_t i)
{
	struct value_place at = {c->at, NULL, i};
	return check_with(c, schema, json_array_get(c->value, i), &at);
}

static const json_t *sibling(const struct ctx *c, const char *keyword)
{
	return json_object_get(c->schema, keyword);
}

/* --- type, enum, const --- */

static bool is_whole(const json_t *v)
{
	return json_is_integer(v) ||
	       (json_is_real(v) && floor(json_real_value(v)) == json_real_value(v));
}

static bool type_fits(const json_t *type, const json_t *v)
{
	const char *word = json_string_value(type);
	if (!word)
		return false;
	if (strcmp(word, "number") == 0)
		return json_is_number(v);
	if (strcmp(word, "integer") == 0)
		return is_whole(v);
	return strcmp(word, json_type_name(v)) == 0;
}

/* type is a word or a list of words. */
static bool types_fit(const json_t *type, const json_t *v)
{
	if (!json_is_array(type))
		return type_fits(type, v);
	for (size_t i = 0; i < json_array_size(type); i++)
		if (type_fits(json_array_get(type, i), v))
			return true;
	return false;
}

static void add_type(struct buf *b, const json_t *type)
{
	char shown[TEXT_SHOWN_MAX];
	const char *word = json_string_value(type);
	if (word && !strstr(buf_str(b), word))
		buf_addf(b, "%s%s", b->len ? " or " : "", text_shown(word, shown));
	for (size_t i = 0; i < json_array_size(type); i++)
		add_type(b, json_array_get(type, i));
}

static enum verdict kw_type(const struct ctx *c, const json_t *type)
{
	BUF_AUTO b = {0};
	if (types_fit(type, c->value))
		return VALID;
	if (!c->quiet)
		add_type(&b, type);
	return invalid(c, c->at, "expected %s, got %s", buf_str(&b), json_type_name(c->value));
}

/* The schema's own values, for a message. */
static void add_value(struct buf *b, const json_t *v)
{
	char *text = place_value(v);
	size_t n = text ? strlen(text) : 0;
	if (b->len < 300)
		buf_addf(
			b, "%s%.60s%s", b->len ? ", " : "", text ? text : "?", n > 60 ? "..." : "");
	free(text);
}

static enum verdict kw_enum(const struct ctx *c, const json_t *list)
{
	BUF_AUTO b = {.limit = 1000};
	size_t n = json_array_size(list);
	for (size_t i = 0; i < n; i++) {
		int rc = value_same(c->value, json_array_get(list, i), &c->run->steps);
		if (rc)
			return rc < 0 ? out_of_steps(c) : VALID;
	}
	for (size_t i = 0; !c->quiet && i < n && i < 8; i++)
		add_value(&b, json_array_get(list, i));
	return invalid(c, c->at, "must be one of %s%s", buf_str(&b), n > 8 ? ", ..." : "");
}

static enum verdict kw_const(const struct ctx *c, const json_t *v)
{
	BUF_AUTO b = {0};
	int rc = value_same(c->value, v, &c->run->steps);
	if (rc)
		return rc < 0 ? out_of_steps(c) : VALID;
	if (!c->quiet)
		add_value(&b, v);
	return invalid(c, c->at, "must be %s", buf_str(&b));
}

/* --- numbers --- */

static enum verdict bound(const struct ctx *c, const json_t *limit, bool ok, const char *words)
{
	if (ok || !json_is_number(c->value) || !json_is_number(limit))
		return VALID;
	BUF_AUTO b = {0};
	if (!c->quiet)
		add_value(&b, limit);
	return invalid(c, c->at, "must be %s %s", words, buf_str(&b));
}

static enum verdict kw_minimum(const struct ctx *c, const json_t *m)
{
	return bound(c, m, value_number(c->value) >= value_number(m), "at least");
}

static enum verdict kw_maximum(const struct ctx *c, const json_t *m)
{
	return bound(c, m, value_number(c->value) <= value_number(m), "at most");
}

static enum verdict kw_exclusive_minimum(const struct ctx *c, const json_t *m)
{
	return bound(c, m, value_number(c->value) > value_number(m), "more than");
}

static enum verdict kw_exclusive_maximum(const struct ctx *c, const json_t *m)
{
	return bound(c, m, value_number(c->value) < value_number(m), "less than");
}

/*
 * Whole numbers exactly. Reals are decimals that binary only comes near, so 0.3 must be a multiple
 * of 0.1: the quotient may be off by what rounding its two sides can do to it, and no more.
 */
static bool is_multiple(const json_t *v, const json_t *of)
{
	if (json_is_integer(v) && json_is_integer(of))
		return json_integer_value(v) % json_integer_value(of) == 0;
	if (is_whole(of))
		return fmodl(value_number(v), value_number(of)) == 0;
	double q = json_number_value(v) / json_number_value(of);
	return isfinite(q) && fabs(q - nearbyint(q)) <= fabs(q) * 2 * DBL_EPSILON;
}

static enum verdict kw_multiple_of(const struct ctx *c, const json_t *of)
{
	if (!json_is_number(c->value) || !(json_number_value(of) > 0))
		return VALID;
	return bound(c, of, is_multiple(c->value, of), "a multiple of");
}

/* --- strings --- */

/* A count as the schema has it: 2 and 2.0 alike. False if it isn't one. */
static bool count_of(const json_t *j, size_t *n)
{
	double d = json_number_value(j);
	if (!json_is_number(j) || !(d >= 0) || d != floor(d))
		return false;
	*n = d > 1e15 ? (size_t)1e15 : (size_t)d;
	return true;
}

static enum verdict length(const struct ctx *c, const json_t *limit, bool most)
{
	size_t n;
	if (!json_is_string(c->value) || !count_of(limit, &n))
		return VALID;
	if (spend(c, json_string_length(c->value) / 64) < 0)
		return STOPPED;
	size_t got = text_chars(json_string_value(c->value), json_string_length(c->value));
	if (most ? got <= n : got >= n)
		return VALID;
	return invalid(c, c->at, "must be at %s %zu character%s long, got %zu",
		most ? "most" : "least", n, n == 1 ? "" : "s", got);
}

static enum verdict kw_min_length(const struct ctx *c, const json_t *limit)
{
	return length(c, limit, false);
}

static enum verdict kw_max_length(const struct ctx *c, const json_t *limit)
{
	return length(c, limit, true);
}

static struct cached *cache_slot(const struct run *r, const char *text)
{
	size_t i = ((uintptr_t)text >> 3) * 0x9e3779b97f4a7c15u >> 20;
	for (i &= r->room - 1; r->patterns[i].text && r->patterns[i].text != text;)
		i = (i + 1) & (r->room - 1);
	return &r->patterns[i];
}

static int cache_grow(struct run *r)
{
	struct run old = *r;
	if (r->npatterns * 2 < r->room)
		return 0;
	r->room = old.room ? old.room * 2 : 16;
	r->patterns = calloc(r->room, sizeof *r->patterns);
	if (!r->patterns) {
		*r = old;
		return -1;
	}
	for (size_t i = 0; i < old.room; i++)
		if (old.patterns[i].text)
			*cache_slot(r, old.patterns[i].text) = old.patterns[i];
	free(old.patterns);
	return 0;
}

/* A pattern once compiled serves the whole run; each costs steps, as compiling takes time. */
static struct compiled_pattern *pattern_of(const struct ctx *c, const char *text, size_t n)
{
	char why[100];
	struct run *r = c->run;
	if (cache_grow(r) < 0) {
		stop(c, "out of memory");
		return NULL;
	}
	struct cached *s = cache_slot(r, text);
	if (s->text)
		return s->pattern;
	if (spend(c, 100 + n) < 0)
		return NULL;
	struct compiled_pattern *p = pattern_new(text, n, why, sizeof why);
	if (!p) {
		stop(c, "the schema's pattern cannot be used");
		return NULL;
	}
	*s = (struct cached){text, p};
	r->npatterns++;
	return p;
}

/* VALID: matches. INVALID: doesn't; nothing is said. */
static enum verdict match(
	const struct ctx *c, const char *pattern, size_t plen, const char *s, size_t n)
{
	const struct compiled_pattern *p = pattern_of(c, pattern, plen);
	int rc = p ? pattern_match(p, s, n, &c->run->steps) : -1;
	if (rc >= 0)
		return rc ? VALID : INVALID;
	return p ? out_of_steps(c) : STOPPED;
}

static enum verdict kw_pattern(const struct ctx *c, const json_t *pattern)
{
	char shown[TEXT_SHOWN_MAX];
	if (!json_is_string(c->value) || !json_is_string(pattern))
		return VALID;
	const char *text = json_string_value(pattern);
	enum verdict v = match(c, text, json_string_length(pattern), json_string_value(c->value),
		json_string_length(c->value));
	if (v != INVALID)
		return v;
	return invalid(c, c->at, "does not match the pattern '%s'", text_shown(text, shown));
}

/* --- arrays --- */

static enum verdict size(const struct ctx *c, const json_t *limit, bool most, const char *what)
{
	size_t n, got = json_is_array(c->value) ? json_array_size(c->value)
						: json_object_size(c->value);
	if (!count_of(limit, &n) || (most ? got <= n : got >= n))
		return VALID;
	return invalid(c, c->at, "must have at %s %zu %s%s, got %zu", most ? "most" : "least", n,
		what, n == 1 ? "" : "s", got);
}

static enum verdict kw_min_items(const struct ctx *c, const json_t *limit)
{
	return json_is_array(c->value) ? size(c, limit, false, "item") : VALID;
}

static enum verdict kw_max_items(const struct ctx *c, const json_t *limit)
{
	return json_is_array(c->value) ? size(c, limit, true, "item") : VALID;
}

static enum verdict kw_unique_items(const struct ctx *c, const json_t *wanted)
{
	size_t first, second;
	if (!json_is_true(wanted) || !json_is_array(c->value))
		return VALID;
	int rc = value_find_twins(c->value, &first, &second, &c->run->steps);
	if (rc < 0)
		return out_of_steps(c);
	if (rc == 0)
		return VALID;
	return invalid(c, c->at, "items %zu and %zu are the same", first, second);
}

static enum verdict kw_prefix_items(const struct ctx *c, const json_t *schemas)
{
	size_t n = json_array_size(c->value), most = json_array_size(schemas);
	for (size_t i = 0; i < n && i < most; i++) {
		enum verdict v = check_item(c, json_array_get(schemas, i), i);
		if (v)
			return v;
	}
	return VALID;
}

static enum verdict kw_items(const struct ctx *c, const json_t *schema)
{
	size_t n = json_array_size(c->value), from = json_array_size(sibling(c, "prefixItems"));
	if (json_is_false(schema) && n > from)
		return invalid(c, c->at, "must have at most %zu item%s, got %zu", from,
			from == 1 ? "" : "s", n);
	for (size_t i = from; i < n; i++) {
		enum verdict v = check_item(c, schema, i);
		if (v)
			return v;
	}
	return VALID;
}

static enum verdict kw_contains(const struct ctx *c, const json_t *schema)
{
	size_t least = 1, most = SIZE_MAX, got = 0;
	struct ctx quiet = *c;
	if (!json_is_array(c->value))
		return VALID;
	quiet.quiet = true;
	count_of(sibling(c, "minContains"), &least);
	count_of(sibling(c, "maxContains"), &most);
	for (size_t i = 0; i < json_array_size(c->value); i++) {
		enum verdict v = check_item(&quiet, schema, i);
		if (v < 0)
			return v;
		got += v == VALID;
	}
	if (got < least)
		return invalid(c, c->at, "must hold at least %zu item%s that fit%s 'contains'",
			least, least == 1 ? "" : "s", least == 1 ? "s" : "");
	if (got > most)
		return invalid(c, c->at, "must hold at most %zu item%s that fit%s 'contains'", most,
			most == 1 ? "" : "s", most == 1 ? "s" : "");
	return VALID;
}

/* --- objects --- */

static enum verdict kw_min_properties(const struct ctx *c, const json_t *limit)
{
	return json_is_object(c->value) ? size(c, limit, false, "member") : VALID;
}

static enum verdict kw_max_properties(const struct ctx *c, const json_t *limit)
{
	return json_is_object(c->value) ? size(c, limit, true, "member") : VALID;
}

/* Is each of the names a member? `because` is another member's name, or NULL. */
static enum verdict need(const struct ctx *c, const json_t *names, const char *because)
{
	char shown[TEXT_SHOWN_MAX];
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));
		size_t n = json_string_length(json_array_get(names, i));
		if (spend(c, 1 + n / 32) < 0)
			return STOPPED;
		if (!name || json_object_getn(c->value, name, n))
			continue;
		struct value_place at = {c->at, name, 0};
		return because ? invalid(c, &at, "missing, and required with '%s'",
					 text_shown(because, shown))
			       : invalid(c, &at, "missing, and required");
	}
	return VALID;
}

static enum verdict kw_required(const struct ctx *c, const json_t *names)
{
	return json_is_object(c->value) ? need(c, names, NULL) : VALID;
}

/* Walks the value's members, never the schema's: a buyer's input pays for its own size. */
#define FOR_MEMBERS(it, value)                                   \
	for (void *it = json_object_iter((json_t *)(value)); it; \
		it = json_object_iter_next((json_t *)(value), it))

static enum verdict kw_dependent_required(const struct ctx *c, const json_t *map)
{
	FOR_MEMBERS (it, c->value) {
		const char *key = json_object_iter_key(it);
		const json_t *names = json_object_get(map, key);
		enum verdict v = names ? need(c, names, key) : spend(c, 1);
		if (v)
			return v;
	}
	return VALID;
}

static enum verdict kw_dependent_schemas(const struct ctx *c, const json_t *map)
{
	FOR_MEMBERS (it, c->value) {
		const json_t *s = json_object_get(map, json_object_iter_key(it));
		enum verdict v = s ? check_here(c, s) : spend(c, 1);
		if (v)
			return v;
	}
	return VALID;
}

static enum verdict kw_properties(const struct ctx *c, const json_t *map)
{
	FOR_MEMBERS (it, c->value) {
		const char *key = json_object_iter_key(it);
		size_t n = json_object_iter_key_len(it);
		const json_t *s = json_object_getn(map, key, n);
		if (spend(c, 1 + n / 32) < 0)
			return STOPPED;
		enum verdict v = s ? check_member(c, s, key, json_object_iter_value(it)) : VALID;
		if (v)
			return v;
	}
	return VALID;
}

static enum verdict kw_pattern_properties(const struct ctx *c, const json_t *map)
{
	FOR_MEMBERS (it, c->value) {
		const char *key = json_object_iter_key(it);
		FOR_MEMBERS (p, map) {
			enum verdict v = match(c, json_object_iter_key(p),
				json_object_iter_key_len(p), key, json_object_iter_key_len(it));
			if (v == VALID)
				v = check_member(c, json_object_iter_value(p), key,
					json_object_iter_value(it));
			else if (v == INVALID)
				v = VALID;
			if (v)
				return v;
		}
	}
	return VALID;
}

/* VALID: properties or patternProperties speak for this member. */
static enum verdict is_known(const struct ctx *c, const char *key, size_t n)
{
	if (json_object_getn(sibling(c, "properties"), key, n))
		return VALID;
	const json_t *map = sibling(c, "patternProperties");
	FOR_MEMBERS (p, map) {
		enum verdict v =
			match(c, json_object_iter_key(p), json_object_iter_key_len(p), key, n);
		if (v != INVALID)
			return v;
	}
	return INVALID;
}

static enum verdict unknown_member(const struct ctx *c, const char *key)
{
	const char *names[65] = {NULL};
	BUF_AUTO all = {.limit = 1000};
	size_t n = 0;
	struct value_place at = {c->at, key, 0};
	if (c->quiet)
		return INVALID;
	FOR_MEMBERS (it, sibling(c, "properties")) {
		const char *name = json_object_iter_key(it);
		size_t len = json_object_iter_key_len(it);
		if (n == 64 || len > 64 || !text_is_clean(name, len, false))
			continue;
		names[n++] = name;
		if (n <= 10)
			buf_addf(&all, "%s%s", n > 1 ? ", " : "", name);
	}
	const char *near = strlen(key) <= 64 ? nearest_word(key, names) : NULL;
	/* In the message too: some who call see nothing else. */
	if (near)
		invalid(c, &at, "no such member; did you mean '%s'?", near);
	else
		invalid(c, &at, "no such member");
	if (near)
		err_hint(c->run->e, "did you mean '%s'?", near);
	else if (n)
		err_hint(c->run->e, "the members are: %s%s", buf_str(&all), n > 10 ? ", ..." : "");
	return INVALID;
}

static enum verdict kw_additional_properties(const struct ctx *c, const json_t *schema)
{
	FOR_MEMBERS (it, c->value) {
		const char *key = json_object_iter_key(it);
		size_t n = json_object_iter_key_len(it);
		if (spend(c, 1 + n / 32) < 0)
			return STOPPED;
		enum verdict v = is_known(c, key, n);
		if (v == INVALID)
			v = json_is_false(schema)
				    ? unknown_member(c, key)
				    : check_member(c, schema, key, json_object_iter_value(it));
		if (v)
			return v;
	}
	return VALID;
}

static enum verdict kw_property_names(const struct ctx *c, const json_t *schema)
{
	FOR_MEMBERS (it, c->value) {
		const char *key = json_object_iter_key(it);
		struct value_place at = {c->at, key, 0};
		struct ctx quiet = *c;
		quiet.quiet = true;
		if (spend(c, json_object_iter_key_len(it) / 32) < 0)
			return STOPPED;
		JSON_AUTO name = json_stringn_nocheck(key, json_object_iter_key_len(it));
		enum verdict v =
			name ? check_with(&quiet, schema, name, &at) : stop(c, "out of memory");
		if (v == INVALID)
			return invalid(c, &at, "the member's name is not allowed");
		if (v)
			return v;
	}
	return VALID;
}

/* --- schemas within schemas --- */

static enum verdict kw_all_of(const struct ctx *c, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		enum verdict v = check_here(c, json_array_get(list, i));
		if (v)
			return v;
	}
	return VALID;
}

/*
 * None of the alternatives fits: says why as a person would. If the type leaves only one, it is
 * that one's failure that counts; if it leaves none, the types are what was expected.
 */
static enum verdict no_alternative(const struct ctx *c, const json_t *list, const char *keyword)
{
	const json_t *only = NULL;
	size_t n = json_array_size(list), fitting = 0;
	BUF_AUTO types = {.limit = 300};
	if (c->quiet)
		return INVALID;
	for (size_t i = 0; i < n; i++) {
		const json_t *type = json_object_get(json_array_get(list, i), "type");
		if (type)
			add_type(&types, type);
		if (type && !types_fit(type, c->value))
			continue;
		fitting += 1 + !type;
		only = json_array_get(list, i);
	}
	if (fitting == 0 && !buf_failed(&types))
		return invalid(
			c, c->at, "expected %s, got %s", buf_str(&types), json_type_name(c->value));
	if (fitting == 1)
		return check_here(c, only);
	return invalid(c, c->at, "fits none of the %zu alternatives (%s)", n, keyword);
}

static enum verdict kw_any_of(const struct ctx *c, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		enum verdict v = check_quietly(c, json_array_get(list, i));
		if (v != INVALID)
			return v;
	}
	return no_alternative(c, list, "anyOf");
}

static enum verdict kw_one_of(const struct ctx *c, const json_t *list)
{
	size_t got = 0, n = json_array_size(list), first = 0;
	for (size_t i = 0; i < n; i++) {
		enum verdict v = check_quietly(c, json_array_get(list, i));
		if (v < 0)
			return v;
		if (v == VALID && ++got == 1)
			first = i;
		else if (v == VALID)
			return invalid(c, c->at,
				"fits alternatives %zu and %zu, may fit one (oneOf)", first, i);
	}
	return got ? VALID : no_alternative(c, list, "oneOf");
}

static enum verdict kw_not(const struct ctx *c, const json_t *schema)
{
	enum verdict v = check_quietly(c, schema);
	if (v == VALID)
		return invalid(c, c->at, "is what the schema rules out (not)");
	return v < 0 ? v : VALID;
}

static enum verdict kw_if(const struct ctx *c, const json_t *schema)
{
	enum verdict v = check_quietly(c, schema);
	if (v < 0)
		return v;
	const json_t *next = sibling(c, v == VALID ? "then" : "else");
	return next ? check_here(c, next) : VALID;
}

static enum verdict kw_ref(const struct ctx *c, const json_t *ref)
{
	if (!json_is_string(ref))
		return VALID;
	if (spend(c, 1 + json_string_length(ref) / 8) < 0)
		return STOPPED;
	const json_t *target = schema_ref(c->run->root, json_string_value(ref));
	if (!target)
		return stop(c, "the schema's $ref leads nowhere");
	return check_here(c, target);
}

struct keyword {
	const char *name;
	enum verdict (*check)(const struct ctx *, const json_t *);
};

/* Sorted by name. */
static const struct keyword keywords[] = {
	{"$ref", kw_ref},
	{"additionalProperties", kw_additional_properties},
	{"allOf", kw_all_of},
	{"anyOf", kw_any_of},
	{"const", kw_const},
	{"contains", kw_contains},
	{"dependentRequired", kw_dependent_required},
	{"dependentSchemas", kw_dependent_schemas},
	{"enum", kw_enum},
	{"exclusiveMaximum", kw_exclusive_maximum},
	{"exclusiveMinimum", kw_exclusive_minimum},
	{"if", kw_if},
	{"items", kw_items},
	{"maxItems", kw_max_items},
	{"maxLength", kw_max_length},
	{"maxProperties", kw_max_properties},
	{"maximum", kw_maximum},
	{"minItems", kw_min_items},
	{"minLength", kw_min_length},
	{"minProperties", kw_min_properties},
	{"minimum", kw_minimum},
	{"multipleOf", kw_multiple_of},
	{"not", kw_not},
	{"oneOf", kw_one_of},
	{"pattern", kw_pattern},
	{"patternProperties", kw_pattern_properties},
	{"prefixItems", kw_prefix_items},
	{"properties", kw_properties},
	{"propertyNames", kw_property_names},
	{"required", kw_required},
	{"uniqueItems", kw_unique_items},
};

static int by_name(const void *key, const void *keyword)
{
	return strcmp(key, ((const struct keyword *)keyword)->name);
}

/*
 * The type first, whatever the order in the schema, then members that may not be there (a name
 * written wrong leaves another out): the messages that help most.
 */
static enum verdict check_keywords(const struct ctx *c)
{
	const json_t *type = sibling(c, "type");
	const json_t *rest = sibling(c, "additionalProperties");
	enum verdict v = type ? kw_type(c, type) : VALID;
	if (!v && json_is_false(rest))
		v = kw_additional_properties(c, rest);
	for (void *it = json_object_iter((json_t *)c->schema); !v && it;
		it = json_object_iter_next((json_t *)c->schema, it)) {
		const struct keyword *k = bsearch(json_object_iter_key(it), keywords,
			sizeof keywords / sizeof *keywords, sizeof *keywords, by_name);
		if (spend(c, 1) < 0)
			return STOPPED;
		if (k)
			v = k->check(c, json_object_iter_value(it));
	}
	return v;
}

static enum verdict check(const struct ctx *c)
{
	if (spend(c, 1) < 0)
		return STOPPED;
	if (c->depth > VALIDATE_MAX_DEPTH)
		return stop(c, "the value or the schema is nested too deeply");
	if (json_is_true(c->schema))
		return VALID;
	if (json_is_false(c->schema))
		return invalid(c, c->at, "must not be there");
	if (!json_is_object(c->schema))
		return stop(c, "the schema is not an object");
	return check_keywords(c);
}

int schema_validate_as(const char *root, const json_t *schema, const json_t *value, struct err *e)
{
	struct run r = {.root = schema, .name = root, .steps = VALIDATE_STEPS, .e = e};
	struct value_place top = {0};
	enum verdict v = check(&(struct ctx){&r, schema, value, &top, false, 0});
	for (size_t i = 0; i < r.room; i++)
		pattern_free(r.patterns[i].pattern);
	free(r.patterns);
	return v == VALID ? 0 : -1;
}

int schema_validate(const json_t *schema, const json_t *value, struct err *e)
{
	return schema_validate_as("input", schema, value, e);
}
