#include "guard/keyring.h"

#include "base/grow.h"
#include "base/vault.h"
#include "guard/escape.h"

#include <stdlib.h>
#include <string.h>

#define VALUE_MAX ((size_t)1 << 20)

struct leak *leak_new(void)
{
	struct leak *l = calloc(1, sizeof *l);
	if (l)
		l->text = (struct buf){.secret = true, .limit = (size_t)1 << 30};
	return l;
}

void leak_free(struct leak **lp)
{
	struct leak *l = *lp;
	*lp = NULL;
	if (!l)
		return;
	if (!l->base) {
		buf_free(&l->text);
		free(l->forms);
		wipe_free(l->patterns);
		free(l->bits);
	}
	free(l->values);
	free(l);
}

bool leak_empty(const struct leak *l)
{
	for (size_t i = 0; l && i < l->nvalues; i++)
		if (l->values[i].wanted)
			return false;
	return true;
}

const uint8_t keyring_kept[256] = {
#define SAME(c) [c] = (c)
#define FOUR(c) SAME(c), SAME((c) + 1), SAME((c) + 2), SAME((c) + 3)
#define SIXTEEN(c) FOUR(c), FOUR((c) + 4), FOUR((c) + 8), FOUR((c) + 12)
#define LOW(c) [c] = (c) + 32
	SAME(1), SAME(2), SAME(3), FOUR(4), SAME(8), SAME(14), SAME(15), SIXTEEN(16), SAME('!'),
	SAME('#'), SAME('$'), SAME('%'), SAME('&'), SAME('('), SAME(')'), SAME('*'), SAME(','),
	SAME('-'), SAME('.'), SAME('/'), SIXTEEN('0'), SAME('@'), LOW('A'), LOW('B'), LOW('C'),
	LOW('D'), LOW('E'), LOW('F'), LOW('G'), LOW('H'), LOW('I'), LOW('J'), LOW('K'), LOW('L'),
	LOW('M'), LOW('N'), LOW('O'), LOW('P'), LOW('Q'), LOW('R'), LOW('S'), LOW('T'), LOW('U'),
	LOW('V'), LOW('W'), LOW('X'), LOW('Y'), LOW('Z'), SAME('['), SAME(']'), SAME('^'),
	SAME('_'), SIXTEEN('`'), SIXTEEN('p'), SIXTEEN(0x80), SIXTEEN(0x90), SIXTEEN(0xa0),
	SIXTEEN(0xb0), SIXTEEN(0xc0), SIXTEEN(0xd0), SIXTEEN(0xe0), SIXTEEN(0xf0)};

/* ---- building ---- */

int leak_add(struct leak *l, unsigned id, const void *value, size_t n, const void *instead)
{
	if (l->sealed || n > VALUE_MAX)
		return -1;
	if (!n)
		return 0;
	struct leak_value *grown = grow(l->values, l->nvalues, &l->values_room, sizeof *grown);
	if (!grown)
		return -1;
	l->values = grown;
	l->values[l->nvalues++] = (struct leak_value){
		.at = l->text.len, .n = n, .id = id, .replaced = instead != NULL, .wanted = true};
	buf_add(&l->text, value, n);
	if (instead)
		buf_add(&l->text, instead, n);
	return buf_failed(&l->text) ? -1 : 0;
}

struct coded keyring_coded(const struct leak *l, const struct leak_pattern *p, bool put)
{
	const struct leak_form *f = &l->forms[p->form];
	return (struct coded){keyring_text(l, put ? f->put : f->find), f->n, p->inner, p->outer};
}

static int add_pattern(struct leak *l, uint32_t form, struct code inner, struct code outer)
{
	struct leak_pattern p = {.form = form, .inner = inner, .outer = outer};
	struct coded c = keyring_coded(l, &p, false);
	size_t n = coded_length(&c), kept = 0, i = 0;
	if (n < LEAK_LOOSE)
		return 0;
	for (; i < n && kept < WORD; i++) {
		uint8_t k = keyring_kept[coded_at(&c, i)];
		p.word = k ? p.word << 8 | k : p.word;
		kept += k != 0;
	}
	if (kept < WORD)
		return 0;
	p.after = (uint32_t)i;
	if (l->npatterns == l->patterns_room) {
		size_t room = l->patterns_room ? l->patterns_room * 2 : 256;
		struct leak_pattern *grown = wipe_realloc(l->patterns, room * sizeof *grown);
		if (!grown)
			return -1;
		l->patterns = grown;
		l->patterns_room = room;
	}
	l->patterns[l->npatterns++] = p;
	return 0;
}

static bool have_form(const struct leak *l, size_t from, size_t at, size_t n)
{
	for (size_t i = from; i < l->nforms; i++)
		if (l->forms[i].n == n &&
			memcmp(keyring_text(l, l->forms[i].find), keyring_text(l, at), n) == 0)
			return true;
	return false;
}

/* The i-th spelling of a value becomes a form; 1 when it is none of the list, or not a new one. */
static int add_form(struct leak *l, size_t from, uint32_t value, unsigned i)
{
	const struct leak_value *v = &l->values[value];
	size_t at = l->text.len;
	/* What is spelled is in the same buffer, which must not move. */
	if (buf_reserve(&l->text, v->n * 14 + 64) < 0)
		return -1;
	if (spell(i, keyring_text(l, v->at), v->n, &l->text) < 0)
		return 1;
	size_t n = l->text.len - at;
	if (!n || have_form(l, from, at, n)) {
		l->text.len = at;
		return 1;
	}
	struct leak_form f = {.find = at, .n = (uint32_t)n, .value = value};
	if (v->replaced) {
		f.put = l->text.len;
		spell(i, keyring_text(l, v->at + v->n), v->n, &l->text);
		f.puts = l->text.len - f.put == n;
	}
	struct leak_form *grown = grow(l->forms, l->nforms, &l->forms_room, sizeof *grown);
	if (!grown || buf_failed(&l->text))
		return -1;
	l->forms = grown;
	l->forms[l->nforms++] = f;
	return 0;
}

static int add_spellings(struct leak *l, uint32_t value)
{
	struct code inner[CODES_MAX], outer[CODES_MAX];
	size_t codes = codes_list(inner, outer), from = l->nforms;
	for (unsigned i = 0; i < SPELLINGS; i++) {
		int rc = add_form(l, from, value, i);
		if (rc > 0)
			continue;
		const uint8_t *text = keyring_text(l, l->values[value].at);
		size_t k = rc == 0 && spell_stands(i, text, l->values[value].n) ? 0 : 1;
		for (; rc == 0 && k < codes; k++)
			rc = add_pattern(l, (uint32_t)l->nforms - 1, inner[k], outer[k]);
		if (rc < 0)
			return -1;
	}
	return 0;
}

static int by_word(const void *a, const void *b)
{
	uint64_t x = ((const struct leak_pattern *)a)->word,
		 y = ((const struct leak_pattern *)b)->word;
	return x < y ? -1 : x > y;
}

static int make_filter(struct leak *l)
{
	unsigned log = 12;
	while (((size_t)1 << log) < l->npatterns * 32 && log < 30)
		log++;
	l->shift = 64 - log;
	l->bits = calloc((size_t)1 << (log - 6), sizeof *l->bits);
	for (size_t i = 0; l->bits && i < l->npatterns; i++) {
		uint64_t h = (l->patterns[i].word * 0x9e3779b97f4a7c15u) >> l->shift;
		l->bits[h >> 6] |= (uint64_t)1 << (h & 63);
	}
	return l->bits ? 0 : -1;
}

static size_t kept_of(const struct leak *l, const struct leak_value *v)
{
	size_t kept = 0;
	for (size_t i = 0; i < v->n; i++)
		kept += keyring_kept[keyring_text(l, v->at)[i]] != 0;
	return kept;
}

int leak_seal(struct leak *l)
{
	if (l->sealed)
		return -1;
	for (size_t i = 0; i < l->nvalues; i++) {
		struct leak_value *v = &l->values[i];
		v->exact = v->n < LEAK_LOOSE || kept_of(l, v) < WORD;
		l->swaps |= v->replaced;
		l->shorts |= v->exact;
		if (v->exact)
			l->cautious[keyring_text(l, v->at)[0]] = true;
		if (v->n >= LEAK_LOOSE && add_spellings(l, (uint32_t)i) < 0)
			return -1;
	}
	for (unsigned c = 0; c < 256; c++)
		if (escape_begins((uint8_t)c, true) || c == ' ' || c == ':' || c == '\t')
			l->cautious[c] = true;
	if (l->npatterns)
		qsort(l->patterns, l->npatterns, sizeof *l->patterns, by_word);
	l->sealed = true;
	return make_filter(l);
}

struct leak *leak_share(const struct leak *l,
	bool (*want)(void *arg, unsigned id, const void *value, size_t n), void *arg)
{
	struct leak *s = malloc(sizeof *s);
	if (!s)
		return NULL;
	*s = *l;
	s->base = l;
	s->values = calloc(l->nvalues + 1, sizeof *s->values);
	for (size_t i = 0; s->values && i < l->nvalues; i++) {
		const struct leak_value *v = &l->values[i];
		s->values[i] = *v;
		s->values[i].wanted = v->wanted && want(arg, v->id, keyring_text(l, v->at), v->n);
	}
	if (!s->values)
		leak_free(&s);
	return s;
}

/* ---- looking up ---- */

/* The first pattern whose word is not below. */
static size_t not_below(const struct leak *l, uint64_t word)
{
	size_t low = 0, high = l->npatterns;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (l->patterns[mid].word < word)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

size_t keyring_find(const struct leak *l, uint64_t word)
{
	size_t i = not_below(l, word);
	return i < l->npatterns && l->patterns[i].word == word ? i : l->npatterns;
}

bool keyring_begins(const struct leak *l, uint64_t word, unsigned n)
{
	unsigned rest = 8 * (WORD - n);
	uint64_t top = word << rest;
	size_t i = not_below(l, top);
	return i < l->npatterns && l->patterns[i].word >> rest == top >> rest;
}
