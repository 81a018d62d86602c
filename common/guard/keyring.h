/* What is looked for, made ready: inside guard/ only. */
#ifndef EVCTL_GUARD_KEYRING_H
#define EVCTL_GUARD_KEYRING_H

#include "guard/leak.h"
#include "guard/spell.h"

#include <stdint.h>

#define WORD 8 /* kept characters that a spelling is found by */

struct leak_value {
	size_t at, n; /* in text; its replacement, where it has one, is behind it */
	unsigned id;
	bool replaced;
	bool wanted;
	bool exact; /* looked for as it is alone */
};

struct leak_form {
	size_t find, put; /* in text; put only where its value is replaced, and as long */
	uint32_t n;
	uint32_t value;
	bool puts;
};

struct leak_pattern {
	uint64_t word; /* its first kept characters */
	uint32_t form;
	uint32_t after; /* index of the character behind them */
	struct code inner, outer;
};

struct leak {
	bool sealed;
	const struct leak *base; /* whose tables these are; NULL: its own */
	struct buf text;	 /* secret: the values, then the forms */
	struct leak_value *values;
	size_t nvalues, values_room;
	struct leak_form *forms;
	size_t nforms, forms_room;
	struct leak_pattern *patterns; /* by word */
	size_t npatterns, patterns_room;
	uint64_t *bits;
	unsigned shift;
	bool swaps;	    /* some value is replaced by another */
	bool shorts;	    /* some value is looked for as it is */
	bool cautious[256]; /* bytes that may begin an escape, a short value, or a line of a dump */
};

/* A byte as it is compared: without its case; 0 when it is dropped. */
extern const uint8_t keyring_kept[256];

static inline bool keyring_may(const struct leak *l, uint64_t word)
{
	uint64_t h = (word * 0x9e3779b97f4a7c15u) >> l->shift;
	return l->bits[h >> 6] >> (h & 63) & 1;
}

/* The first pattern with that word, or npatterns. */
size_t keyring_find(const struct leak *l, uint64_t word);
/* Whether some pattern begins with these n kept characters (the low bytes of word). */
bool keyring_begins(const struct leak *l, uint64_t word, unsigned n);
struct coded keyring_coded(const struct leak *l, const struct leak_pattern *p, bool put);

static inline const uint8_t *keyring_text(const struct leak *l, size_t at)
{
	return (const uint8_t *)l->text.data + at;
}

#endif
