/*
 * libFuzzer: values and a text, cut at places that the input says. What must hold: a stream gives
 * what the whole text gives, wherever it is cut; a guard lets nothing of a secret out; replacing
 * leaves nothing to be found, and the length alone.
 */
#include "guard/leak.h"
#include "gate/swap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(int holds)
{
	if (!holds)
		abort();
}

/* Through a stream, in pieces whose sizes come from cuts; 1 if the guard stopped it. */
static int stream(const struct leak *l, const char *p, size_t n, const uint8_t *cuts, size_t ncuts,
	int guard, struct buf *out)
{
	struct leak_stream s = {.l = l};
	int rc = 0;
	for (size_t i = 0, k = 0; i < n && rc == 0; k++) {
		size_t len = 1 + (ncuts ? cuts[k % ncuts] : 255);
		len = len < n - i ? len : n - i;
		rc = guard ? leak_guard(&s, p + i, len, out, NULL) : leak_push(&s, p + i, len, out);
		i += len;
	}
	if (rc == 0)
		rc = guard ? leak_guard_end(&s, out, NULL) : leak_flush(&s, out);
	leak_stream_end(&s);
	return rc;
}

static void check(
	const struct leak *l, const char *text, size_t n, const uint8_t *cuts, size_t ncuts)
{
	struct buf out = {0}, stopped = {0};
	char *copy = malloc(n + 1);
	must(copy != NULL);
	memcpy(copy, text, n);
	bool found = leak_find(l, text, n, NULL);
	ssize_t hits = leak_replace(l, copy, n);
	must(found == (hits > 0));
	must(stream(l, text, n, cuts, ncuts, 0, &out) == 0 && out.len == n);
	/* Up to three characters at a line's end are not held back, so that logs flow. */
	must(n == 0 || memchr(text, '\n', n) || memcmp(out.data, copy, n) == 0);
	int rc = stream(l, text, n, cuts, ncuts, 1, &stopped);
	must(rc == found && stopped.len <= n && (found || stopped.len == n));
	must(!leak_find(l, buf_str(&stopped), stopped.len, NULL));
	must(stopped.len == 0 || memcmp(stopped.data, text, stopped.len) == 0);
	buf_free(&out);
	buf_free(&stopped);
	free(copy);
}

static void check_swap(const char *value, size_t n, const char *text, size_t len)
{
	char *standin = malloc(n + 1);
	struct err e = {0};
	must(standin != NULL);
	if (swap_standin(value, n, standin, &e) == 0) {
		must(strlen(standin) == n && memcmp(standin, value, n) != 0);
		struct leak *l = leak_new();
		must(l && leak_add(l, 0, standin, n, value) == 0 && leak_seal(l) == 0);
		struct buf out = {0}, in = {0};
		buf_add(&in, text, len);
		buf_add(&in, standin, n);
		must(swap_text(l, "X", 1, in.data, in.len, &out) >= 1 && out.len == in.len);
		must(memcmp(out.data + len, value, n) == 0);
		buf_free(&out);
		out = (struct buf){0};
		must(swap_text(l, "Authorization", 13, in.data, in.len, &out) >= 0);
		buf_free(&out);
		buf_free(&in);
		leak_free(&l);
	} else {
		must(e.code == ERR_USAGE);
	}
	free(standin);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n < 8)
		return 0;
	size_t a = 1 + data[0] % 32, b = 1 + data[1] % 32, ncuts = data[2] % 8, head = 3 + ncuts;
	if (head + a + b > n)
		return 0;
	const uint8_t *cuts = data + 3;
	const char *v = (const char *)data + head, *text = v + a + b;
	size_t len = n - head - a - b;
	struct leak *l = leak_new();
	must(l && leak_add(l, 0, v, a, NULL) == 0);
	must(leak_add(l, 1, v + a, b, NULL) == 0 && leak_seal(l) == 0);
	check(l, text, len, cuts, ncuts);
	check(l, v, a + b + len, cuts, ncuts); /* the values themselves are in this one */
	leak_free(&l);
	check_swap(v, a, text, len);
	return 0;
}
