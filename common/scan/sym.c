#include "scan/sym.h"
#include "scan/token.h"

#include <string.h>

static uint32_t hash_words(uint64_t lo, uint64_t hi, uint64_t more)
{
	unsigned __int128 p =
		(unsigned __int128)(lo ^ 0x9e3779b97f4a7c15u ^ more) * (hi ^ 0xff51afd7ed558ccdu);
	uint64_t h = (uint64_t)p ^ (uint64_t)(p >> 64);
	return (uint32_t)(h ^ h >> 32);
}

static void grow(struct symtab *t)
{
	uint32_t cap = t->cap * 2;
	struct sym_slot *slot = arena_alloc(t->arena, cap * sizeof(*slot));
	for (uint32_t i = 0; i < t->cap; i++) {
		if (!t->slot[i].sym)
			continue;
		uint32_t at = t->slot[i].hash & (cap - 1);
		while (slot[at].sym)
			at = (at + 1) & (cap - 1);
		slot[at] = t->slot[i];
	}
	t->slot = slot;
	t->cap = cap;
}

static struct sym *insert(struct symtab *t, uint32_t at, const char *s, size_t n, uint32_t hash)
{
	struct sym *y = arena_alloc(t->arena, sizeof(*y) + (n < 16 ? 16 : n) + 1);
	memcpy(y->s, s, n);
	memcpy(&y->lo, y->s, 8);
	memcpy(&y->hi, y->s + 8, 8);
	y->len = (uint32_t)n;
	y->hash = hash;
	t->slot[at] = (struct sym_slot){hash, y};
	if (++t->n * 2 > t->cap)
		grow(t);
	return y;
}

struct sym *sym_intern_short(struct symtab *t, const char *s, uint32_t n, uint64_t lo, uint64_t hi)
{
	uint32_t hash = hash_words(lo, hi, 0);
	uint32_t at = hash & (t->cap - 1);
	for (; t->slot[at].sym; at = (at + 1) & (t->cap - 1)) {
		struct sym *y = t->slot[at].sym;
		if (t->slot[at].hash == hash && y->lo == lo && y->hi == hi && y->len == n)
			return y;
	}
	return insert(t, at, s, n, hash);
}

static struct sym *intern_long(struct symtab *t, const char *s, size_t n)
{
	uint64_t more = n, w[2] = {0};
	memcpy(w, s, 16);
	for (size_t i = 16; i < n; i++)
		more = (more ^ (unsigned char)s[i]) * 0x100000001b3u;
	uint32_t hash = hash_words(w[0], w[1], more);
	uint32_t at = hash & (t->cap - 1);
	for (; t->slot[at].sym; at = (at + 1) & (t->cap - 1)) {
		struct sym *y = t->slot[at].sym;
		if (t->slot[at].hash == hash && y->len == n && memcmp(y->s, s, n) == 0)
			return y;
	}
	return insert(t, at, s, n, hash);
}

struct sym *sym_intern(struct symtab *t, const char *s, size_t n)
{
	if (n > 16)
		return intern_long(t, s, n);
	uint64_t w[2] = {0};
	memcpy(w, s, n);
	return sym_intern_short(t, s, (uint32_t)n, w[0], w[1]);
}

void symtab_init(struct symtab *t, struct arena *a)
{
	static const char *const known[] = {
#define X(n) #n,
		SYM_KNOWN(X)
#undef X
	};
	static const char *const keywords[] = {
#define X(n, s) s,
		TOKEN_KEYWORDS(X)
#undef X
	};

	*t = (struct symtab){.arena = a, .cap = 1024};
	t->slot = arena_alloc(a, t->cap * sizeof(*t->slot));
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		sym_intern(t, keywords[i], strlen(keywords[i]))->keyword =
			(uint8_t)(T_KEYWORD_FIRST + i);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct sym *y = sym_intern(t, known[i], strlen(known[i]));
		y->known = (uint8_t)(i + 1);
		t->known[i + 1] = y;
	}
}
