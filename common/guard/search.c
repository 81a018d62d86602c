#include "guard/search.h"

#include "base/grow.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define CANDIDATES_MAX 4096
#define OFFSET_DIGITS 7 /* of a hex dump's line */
#define GAP_MOST 3	/* blanks between its groups */
#define LINE_MOST 3
#define SPAN 4096 /* raw bytes that a few kept characters may be spread over */

void search_start(struct leak_search *s, const struct leak *l, uint64_t at)
{
	struct leak_candidate *cand = s->cand;
	size_t room = s->room;
	*s = (struct leak_search){
		.l = l, .at = at, .apart = true, .cand = cand, .room = room, .quoted = ROUNDS + 1};
}

void search_end(struct leak_search *s)
{
	free(s->cand);
	explicit_bzero(s, sizeof *s);
}

/* ---- candidates ---------------------------------------------------------------------------- */

static uint32_t value_of(const struct leak *l, const struct leak_candidate *c)
{
	return c->exact ? c->what : l->forms[l->patterns[c->what].form].value;
}

/* Of two that overlap the longer one is meant, and of its readings the simplest. */
static void keep_hit(struct leak_search *s, struct leak_hit h)
{
	uint64_t had = s->hit.end - s->hit.start, n = h.end - h.start;
	if (!s->found || n > had || (n == had && h.reading < s->hit.reading))
		s->hit = h;
	s->found = true;
}

static void complete(struct leak_search *s, const struct leak_candidate *c, uint64_t end)
{
	struct leak_hit h = {c->start, end, c->what, c->reading, c->exact, false};
	if (h.start < s->base || h.end > s->base + s->n)
		return;
	if (s->found && h.start >= s->hit.end)
		return;
	if (confirm(s->l, &h, s->p + (h.start - s->base), (size_t)(h.end - h.start)))
		keep_hit(s, h);
}

static void add_candidate(struct leak_search *s, struct leak_candidate c)
{
	struct leak_candidate *grown = NULL;
	if (s->ncand < CANDIDATES_MAX)
		grown = grow(s->cand, s->ncand, &s->room, sizeof *grown);
	if (grown) {
		s->cand = grown;
		s->cand[s->ncand++] = c;
		s->at_work[c.reading]++;
		return;
	}
	/* Rather one alarm too many than one too few. */
	keep_hit(s, (struct leak_hit){c.start < s->base ? s->base : c.start, s->at, c.what,
			    c.reading, c.exact, true});
}

/* The next character of the pattern that is kept, from i on; its length at the end. */
static uint32_t next_kept(const struct coded *c, size_t n, uint32_t i)
{
	while (i < n && !keyring_kept[coded_at(c, i)])
		i++;
	return i;
}

/* To replace it, the character behind it is needed too: it has bits of both. */
static bool waits(const struct leak *l, const struct leak_candidate *c)
{
	struct coded coded = keyring_coded(l, &l->patterns[c->what], false);
	return l->values[value_of(l, c)].replaced && coded_edges(&coded).right;
}

/* 1 it is whole, 0 it goes on, -1 it is none. */
static int go_on(const struct leak *l, struct leak_candidate *c, uint8_t kept, uint64_t to)
{
	if (c->end)
		return 1;
	struct coded coded = keyring_coded(l, &l->patterns[c->what], false);
	size_t n = coded_length(&coded);
	if (keyring_kept[coded_at(&coded, c->next)] != kept)
		return -1;
	c->next = next_kept(&coded, n, c->next + 1);
	if (c->next < n)
		return 0;
	c->end = to;
	return !waits(l, c);
}

static void advance(struct leak_search *s, uint8_t reading, uint8_t kept, uint64_t to)
{
	size_t left = 0;
	for (size_t i = 0; i < s->ncand; i++) {
		struct leak_candidate *c = &s->cand[i];
		int rc = c->exact || c->reading != reading ? 0 : go_on(s->l, c, kept, to);
		if (rc > 0)
			complete(s, c, c->end);
		if (rc == 0)
			s->cand[left++] = *c;
		else
			s->at_work[reading]--;
	}
	s->ncand = left;
}

static void begin(
	struct leak_search *s, uint8_t reading, size_t pattern, uint64_t start, uint64_t to)
{
	struct leak_candidate c = {.start = start, .what = (uint32_t)pattern, .reading = reading};
	const struct leak_pattern *p = &s->l->patterns[pattern];
	if (!s->l->values[value_of(s->l, &c)].wanted || to - start > SPAN)
		return;
	struct coded coded = keyring_coded(s->l, p, false);
	size_t n = coded_length(&coded);
	c.next = next_kept(&coded, n, p->after);
	c.end = c.next == n ? to : 0;
	if (c.end && !waits(s->l, &c))
		complete(s, &c, to);
	else
		add_candidate(s, c);
}

/* ---- short values, as they are ------------------------------------------------------------- */

static void look_exact(struct leak_search *s, uint8_t c, uint64_t from)
{
	size_t left = 0, had = s->ncand;
	for (size_t i = 0; i < had; i++) {
		struct leak_candidate *k = &s->cand[i];
		const struct leak_value *v = k->exact ? &s->l->values[k->what] : NULL;
		bool same = !v || keyring_text(s->l, v->at)[k->next] == c;
		if (v && same && ++k->next == v->n) {
			complete(s, k, from + 1);
			same = false;
		}
		if (same)
			s->cand[left++] = *k;
		else
			s->at_work[READ_RAW]--;
	}
	s->ncand = left;
	for (uint32_t i = 0; s->l->cautious[c] && i < s->l->nvalues; i++) {
		const struct leak_value *v = &s->l->values[i];
		struct leak_candidate k = {.start = from, .what = i, .next = 1, .exact = true};
		if (!v->exact || !v->wanted || keyring_text(s->l, v->at)[0] != c)
			continue;
		if (v->n == 1)
			complete(s, &k, from + 1);
		else
			add_candidate(s, k);
	}
}

/* ---- the readings -------------------------------------------------------------------------- */

static void look(struct leak_search *s, uint8_t reading, uint8_t c, uint64_t from, uint64_t to)
{
	struct leak_reading *r = &s->reading[reading];
	uint8_t kept = keyring_kept[c];
	if (!kept)
		return;
	if (s->at_work[reading])
		advance(s, reading, kept, to);
	r->word = r->word << 8 | kept;
	r->from[r->n++ % WORD] = from;
	if (!keyring_may(s->l, r->word))
		return;
	for (size_t i = keyring_find(s->l, r->word);
		i < s->l->npatterns && s->l->patterns[i].word == r->word; i++)
		begin(s, reading, i, r->from[r->n % WORD], to);
}

/* ---- hex dumps ----------------------------------------------------------------------------- */

static void look_pair(struct leak_search *s, uint8_t reading, unsigned i)
{
	const struct dump *d = &s->dump;
	look(s, reading, d->c[i], d->from[i], d->to[i]);
	look(s, reading, d->c[i + 1], d->from[i + 1], d->to[i + 1]);
}

/* Words of two bytes may have the second one first. */
static void end_group(struct leak_search *s)
{
	struct dump *d = &s->dump;
	d->on = d->n == 2 || d->n == 4 || d->n == 8;
	for (unsigned i = 0; d->on && i < d->n; i += 2)
		look_pair(s, READ_DUMP, i);
	for (unsigned i = d->n; d->on && d->n == 4 && i; i -= 2)
		look_pair(s, READ_DUMP_SWAPPED, i - 2);
	d->bytes += d->n / 2;
	d->on = d->on && d->bytes < 16;
	d->gap = d->n = 0;
}

/* "00000010  73 6b 5f ...  |sk_...|", "00000010: 736b 5f6c ...", "0000010 6b73 6c5f ...". */
static void dump_char(struct leak_search *s, uint8_t c, uint64_t from, uint64_t to)
{
	struct dump *d = &s->dump;
	bool hex = text_hex((char)c) >= 0, blank = c == ' ' || c == '\t';
	if (!d->on) {
		if (!hex && d->run >= OFFSET_DIGITS && (c == ':' || blank))
			*d = (struct dump){.on = true, .gap = blank};
		d->run = hex ? d->run + 1 : 0;
		return;
	}
	if (hex && (d->n == sizeof d->c || (!d->n && !d->gap))) {
		d->on = false;
	} else if (hex) {
		d->c[d->n] = c;
		d->from[d->n] = from;
		d->to[d->n++] = to;
	} else {
		if (d->n)
			end_group(s);
		d->gap++;
		d->on = d->on && blank && d->gap <= GAP_MOST;
	}
}

/* ---- escapes undone ------------------------------------------------------------------------ */

static void undo(
	struct leak_search *s, unsigned of, unsigned r, uint8_t c, uint64_t from, uint64_t to);

/* Reading `to` has come to where reading `of` is. */
static void follow(struct leak_search *s, unsigned of, unsigned to)
{
	s->reading[to] = s->reading[of];
	for (size_t i = 0, n = s->ncand; s->at_work[of] && i < n; i++) {
		struct leak_candidate c = s->cand[i];
		if (c.exact || c.reading != of)
			continue;
		c.reading = (uint8_t)to;
		add_candidate(s, c);
	}
}

/* From this round on, the readings with quoted-printable go their own way. */
static void part_quoted(struct leak_search *s, unsigned round)
{
	s->quoted = round;
	for (unsigned r = round; r <= ROUNDS; r++) {
		unsigned q = r + READ_QUOTED - 1;
		s->own[q] = s->own[r];
		s->undoing[q].n = 0;
		if (s->undoing[r].n)
			s->undoing[q] = s->undoing[r];
		if (s->own[r])
			follow(s, r, q);
	}
}

/* Whether r, made of `of`, reads the same again. */
static void join(struct leak_search *s, unsigned of, unsigned r)
{
	bool last = r == ROUNDS || r == READ_QUOTED + ROUNDS - 1;
	if (!s->own[r] || s->undoing[r].n || s->at_work[r] || (!last && s->own[r + 1]) ||
		(r < ROUNDS && s->quoted == r + 1))
		return;
	s->own[r] = s->reading[r].word != s->reading[of].word;
}

static void read_char(struct leak_search *s, unsigned r, uint8_t c, uint64_t from, uint64_t to)
{
	bool plain = r < ROUNDS, more = r != ROUNDS && r != READ_QUOTED + ROUNDS - 1;
	if (plain && c == '=' && s->quoted > r + 1)
		part_quoted(s, r + 1);
	bool quoted = plain && s->quoted == r + 1;
	if (more)
		undo(s, r, r + 1, c, from, to);
	if (quoted)
		undo(s, r, r + READ_QUOTED, c, from, to);
	/* Dumps are read with the escapes of their lines' ends undone. */
	if (r == 1 || (r == READ_RAW && !s->own[1]))
		dump_char(s, c, from, to);
	look(s, (uint8_t)r, c, from, to);
	if (more)
		join(s, r, r + 1);
	if (quoted)
		join(s, r, r + READ_QUOTED);
}

/* Escapes at the beginning of what waits are undone, as far as it can be told. */
static void settle(struct leak_search *s, unsigned r, bool last)
{
	struct undoing *u = &s->undoing[r];
	struct escape e = {0};
	size_t done = 0;
	while (done < u->n) {
		size_t n = u->n - done;
		ssize_t len = escape_begins(u->c[done], r >= READ_QUOTED)
				      ? escape_read(u->c + done, n, last || n >= ESCAPE_MAX,
						r >= READ_QUOTED, &e)
				      : 0;
		if (len < 0)
			break;
		size_t took = len ? (size_t)len : 1;
		if (!len)
			read_char(s, r, u->c[done], u->from[done], u->to[done]);
		for (size_t i = 0; len && i < e.n; i++)
			read_char(s, r, e.out[i], u->from[done], u->to[done + took - 1]);
		done += took;
	}
	u->n -= done;
	memmove(u->c, u->c + done, u->n);
	memmove(u->from, u->from + done, u->n * sizeof *u->from);
	memmove(u->to, u->to + done, u->n * sizeof *u->to);
}

static void undo(
	struct leak_search *s, unsigned of, unsigned r, uint8_t c, uint64_t from, uint64_t to)
{
	struct undoing *u = &s->undoing[r];
	bool begins = escape_begins(c, r >= READ_QUOTED);
	if (!u->n && !begins && !s->own[r])
		return;
	if (!s->own[r])
		follow(s, of, r);
	s->own[r] = true;
	if (!u->n && !begins) {
		read_char(s, r, c, from, to);
		return;
	}
	u->c[u->n] = c;
	u->from[u->n] = from;
	u->to[u->n++] = to;
	settle(s, r, false);
}

/* The reading that r reads like now. */
static const struct leak_reading *like(const struct leak_search *s, unsigned r)
{
	while (!s->own[r] && r != READ_RAW)
		r = r > ROUNDS && s->quoted == r - READ_QUOTED + 1 ? r - READ_QUOTED : r - 1;
	return &s->reading[r];
}

/* Whether those with quoted-printable read as those without again. */
static void join_quoted(struct leak_search *s)
{
	for (unsigned r = s->quoted; r <= ROUNDS; r++) {
		unsigned q = r + READ_QUOTED - 1;
		if (s->undoing[r].n || s->undoing[q].n || s->at_work[q] ||
			like(s, r)->word != like(s, q)->word)
			return;
	}
	for (unsigned q = READ_QUOTED; q < READ_DUMP; q++)
		s->own[q] = false;
	s->quoted = ROUNDS + 1;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static void step(struct leak_search *s, uint8_t c)
{
	uint64_t from = s->at++;
	if (s->l->shorts)
		look_exact(s, c, from);
	if (c)
		read_char(s, READ_RAW, c, from, from + 1);
	if (s->quoted <= ROUNDS)
		join_quoted(s);
}

/* How many hex digits end before p, which has `before` bytes before it. */
static unsigned digits_before(const uint8_t *p, size_t before)
{
	unsigned n = 0;
	while (n < before && n < 64 && text_hex((char)p[-(ssize_t)n - 1]) >= 0)
		n++;
	return n;
}

/* Whether the readings differ from here on, or that is not known yet. */
static bool parts(const struct leak *l, const uint8_t *p, size_t n, size_t before)
{
	struct escape e = {0};
	if ((*p == ' ' || *p == ':' || *p == '\t') && digits_before(p, before) >= OFFSET_DIGITS)
		return true;
	if (n > 1 && !p[1] && escape_begins(*p, true))
		return true;
	for (size_t i = 0; i < l->nvalues; i++)
		if (l->values[i].exact && keyring_text(l, l->values[i].at)[0] == *p)
			return true;
	return escape_read(p, n, false, true, &e) != 0;
}

/* While all readings are one: to where something begins. */
static size_t skim(struct leak_search *s, const uint8_t *p, size_t n)
{
	size_t before = (size_t)(p - s->p);
	const struct leak *l = s->l;
	uint64_t word = s->reading[READ_RAW].word;
	size_t i = 0;
	for (; i < n; i++) {
		uint8_t kept = keyring_kept[p[i]];
		if (l->cautious[p[i]] && parts(l, p + i, n - i, before + i))
			break;
		uint64_t next = word << 8 | kept;
		if (!kept)
			continue;
		if (keyring_may(l, next) && keyring_find(l, next) < l->npatterns)
			break;
		word = next;
	}
	s->reading[READ_RAW].word = word;
	return i;
}

/* Where each of the last kept characters is, for all readings alike. */
static void part(struct leak_search *s)
{
	struct leak_reading *r = &s->reading[READ_RAW];
	uint64_t at = s->at;
	for (size_t i = 0; i < WORD; i++) {
		while (at > s->base && !keyring_kept[s->p[at - s->base - 1]])
			at--;
		at -= at > s->base;
		r->from[WORD - 1 - i] = at;
	}
	r->n = WORD;
	s->apart = true;
}

static bool joined(const struct leak_search *s)
{
	return !s->own[1] && s->quoted > ROUNDS && !s->ncand && !s->found && !s->dump.on &&
	       !s->dump.run;
}

/* Whether something that began before the hit's end may still become a longer one. */
static bool overlapped(const struct leak_search *s)
{
	for (size_t i = 0; i < s->ncand; i++)
		if (s->cand[i].start < s->hit.end)
			return true;
	return false;
}

bool search_run(struct leak_search *s, const void *p, size_t n, uint64_t base, bool last, bool stop)
{
	s->p = p;
	s->n = n;
	s->base = base;
	while (s->at < base + n) {
		if (!s->apart) {
			s->at += skim(s, s->p + (s->at - base), (size_t)(base + n - s->at));
			bool end = s->at == base + n;
			size_t done = (size_t)(s->at - base);
			unsigned digits = digits_before(s->p + done, done);
			if (end && !digits)
				break;
			part(s);
			s->dump.run = digits;
			if (end)
				break;
		}
		step(s, s->p[s->at - base]);
		if (s->found && (stop || !overlapped(s)))
			return true;
		s->apart = !joined(s);
	}
	for (unsigned r = 1; last && r < READ_DUMP; r++)
		settle(s, r, true);
	if (last && s->dump.on && s->dump.n)
		end_group(s);
	for (size_t i = 0; last && i < s->ncand; i++)
		if (s->cand[i].end)
			complete(s, &s->cand[i], s->cand[i].end);
	return s->found && (last || stop);
}

/* ---- what may go on ------------------------------------------------------------------------ */

/* Where the longest beginning of a pattern begins that the reading ends with, or at. */
static uint64_t begun(const struct leak_search *s, const struct leak_reading *r, unsigned most)
{
	for (unsigned n = WORD - 1; n > most; n--) {
		uint64_t from = r->from[(r->n - n) % WORD];
		if (r->n >= n && s->at - from <= SPAN && keyring_begins(s->l, r->word, n))
			return from;
	}
	return s->at;
}

static uint64_t lower(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t longest(const struct leak *l, const struct leak_candidate *c)
{
	if (c->exact)
		return SPAN;
	struct coded coded = keyring_coded(l, &l->patterns[c->what], false);
	return coded_length(&coded) * 16 + SPAN;
}

/* Where the first candidate begins; those that are spread over too much are dropped. */
static uint64_t first_candidate(struct leak_search *s)
{
	uint64_t m = s->at;
	size_t left = 0;
	for (size_t i = 0; i < s->ncand; i++) {
		struct leak_candidate c = s->cand[i];
		if (s->at - c.start > longest(s->l, &c)) {
			s->at_work[c.reading]--;
			continue;
		}
		m = lower(m, c.start);
		s->cand[left++] = c;
	}
	s->ncand = left;
	return m;
}

/* Where the first reading's beginning of more than so many characters begins. */
static uint64_t first_begun(const struct leak_search *s, unsigned most)
{
	uint64_t m = s->at;
	for (size_t i = 0; i < READINGS; i++)
		if (i == READ_RAW || s->own[i] || i >= READ_DUMP)
			m = lower(m, begun(s, &s->reading[i], most));
	return m;
}

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static uint64_t before(const struct leak_search *s, uint64_t m)
{
	for (int i = 0; i < 8 && m > s->base && is_blank(s->p[m - s->base - 1]); i++)
		m--;
	return m > s->base ? m - 1 : m;
}

uint64_t search_safe(struct leak_search *s, uint64_t *go)
{
	bool was_apart = s->apart, line = s->n && s->p[s->n - 1] == '\n';
	if (!was_apart)
		part(s);
	uint64_t m = first_candidate(s);
	for (size_t i = 1; i < READ_DUMP; i++)
		m = s->undoing[i].n ? lower(m, s->undoing[i].from[0]) : m;
	if (s->dump.on && s->dump.n)
		m = lower(m, s->dump.from[0]);
	if (s->found)
		m = lower(m, s->hit.start);
	*go = lower(m, first_begun(s, line ? LINE_MOST : 0));
	m = lower(m, first_begun(s, 0));
	s->apart = was_apart;
	m = m < s->base ? s->base : m;
	for (int i = 0; i < 8 && m > s->base && s->p[m - s->base - 1] == '+'; i++)
		m--;
	/* The character before has bits of what begins here, or may with what comes. */
	if (s->l->swaps && !s->found && m > s->base &&
		(m < s->at || !is_blank(s->p[m - s->base - 1])))
		m = before(s, m);
	*go = *go == s->at && (!s->l->swaps || line) ? *go : m;
	return m;
}
