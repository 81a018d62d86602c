#include "broker/scrub.h"
#include "guard/parts.h"
#include "gate/coding.h"

#include <string.h>

#define INFLATED_MAX ((size_t)100 << 20)

int scrub_make(struct scrub *s, const struct secret *key)
{
	s->l = leak_new();
	if (s->l && parts_add(s->l, 0, key->data, key->n) == 0 && leak_seal(s->l) == 0)
		return 0;
	scrub_free(s);
	return -1;
}

void scrub_free(struct scrub *s)
{
	leak_free(&s->l);
}

void scrub_text(const struct scrub *s, char *p, size_t n)
{
	leak_replace(s->l, p, n);
}

struct search {
	struct leak_stream s;
	struct buf out;
	size_t total;
};

static int search_piece(void *arg, const void *p, size_t n)
{
	struct search *w = arg;
	buf_clear(&w->out);
	w->total += n;
	if (w->total > INFLATED_MAX || leak_guard(&w->s, p, n, &w->out, NULL) != 0)
		return -1;
	return 0;
}

/* A gzip file as the body: searched, not rewritten. One that is over the limit counts as a hit. */
static bool inside_gzip(const struct leak *l, const struct buf *body)
{
	if (body->len < 18 || memcmp(body->data, "\x1f\x8b\x08", 3) != 0)
		return false;
	struct search w = {.s.l = l, .out.limit = (size_t)1 << 20};
	struct decoding *d = coding_new(CODING_GZIP);
	if (!d)
		return true;
	bool stopped = coding_push(d, body->data, body->len, search_piece, &w) < 0;
	bool hit = w.s.hits > 0 || (stopped && w.total > INFLATED_MAX);
	/* A value at the very end is held back until nothing more can follow. */
	hit = hit || leak_guard_end(&w.s, &w.out, NULL) != 0;
	coding_free(&d);
	leak_stream_end(&w.s);
	if (w.out.data)
		explicit_bzero(w.out.data, w.out.cap);
	buf_free(&w.out);
	return hit;
}

static int clean_text(void *ctx, struct buf *text)
{
	leak_replace(ctx, text->data, text->len);
	return 0;
}

int scrub_texts(const struct scrub *s, json_t **v)
{
	json_t *clean = json_map_texts(*v, clean_text, s->l);
	json_decref(*v);
	*v = clean;
	return clean ? 0 : -1;
}

int scrub_body(const struct scrub *s, struct buf *body)
{
	leak_replace(s->l, body->data, body->len);
	return inside_gzip(s->l, body) ? -1 : 0;
}
