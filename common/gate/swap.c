#include "gate/swap.h"

#include "base/b64.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

/* Uniform below n (n <= 64): bytes that would favour the low numbers are drawn again. */
static int draw(unsigned n, unsigned *out)
{
	uint8_t b;
	do
		if (getrandom(&b, 1, 0) != 1)
			return -1;
	while (b >= 256 / n * n);
	*out = b % n;
	return 0;
}

static int redraw(char *c)
{
	unsigned v;
	char base = *c >= 'a' && *c <= 'z' ? 'a' : *c >= 'A' && *c <= 'Z' ? 'A' : '0';
	if (base == '0' && !(*c >= '0' && *c <= '9'))
		return 0;
	if (draw(base == '0' ? 10 : 26, &v) < 0)
		return -1;
	*c = (char)(base + (int)v);
	return 1;
}

/* "sk_live_", "xoxb-", "ghp_": a kind of key that everybody knows, if a secret's worth is left. */
static size_t known_prefix(const char *p, size_t n)
{
	size_t end = 0;
	for (size_t i = 0; i < n && i < 12; i++) {
		if (p[i] == '_' || p[i] == '-')
			end = i + 1;
		else if (p[i] < 'a' || p[i] > 'z')
			break;
	}
	return n >= end + 16 ? end : 0;
}

int swap_standin(const void *value, size_t n, char *out, struct err *e)
{
	const char *v = value;
	size_t drawn = 0;
	if (n < SWAP_MIN)
		return err_set(
			e, ERR_USAGE, "the value is under %d bytes: too short to seal", SWAP_MIN);
	if (memchr(v, 0, n) || memchr(v, '\r', n) || memchr(v, '\n', n))
		return err_set(e, ERR_USAGE, "a sealed value has no line end and no NUL");
	memcpy(out, v, n);
	out[n] = '\0';
	for (size_t i = known_prefix(v, n); i < n; i++) {
		int rc = redraw(&out[i]);
		if (rc < 0)
			return err_errno(e, ERR_FAIL, "no random numbers");
		drawn += (size_t)rc;
	}
	if (drawn < SWAP_MIN) {
		explicit_bzero(out, n);
		return err_set(e, ERR_USAGE,
			"the value has under %d letters and digits: cannot be sealed", SWAP_MIN);
	}
	return 0;
}

static int swap_basic(const struct leak *l, const char *p, size_t n, struct buf *out)
{
	uint8_t plain[8192];
	if (n > sizeof plain)
		return 0;
	ssize_t len = b64_decode(p, n, plain);
	int hits = len > 0 ? (int)leak_replace(l, plain, (size_t)len) : 0;
	if (hits)
		b64_encode(plain, (size_t)len, out);
	explicit_bzero(plain, sizeof plain);
	return hits;
}

int swap_text(const struct leak *l, const char *name, size_t name_len, const char *p, size_t n,
	struct buf *out)
{
	size_t at = out->len;
	if (leak_empty(l)) {
		buf_add(out, p, n);
		return buf_failed(out) ? -1 : 0;
	}
	bool auth = name_len == 13 && strncasecmp(name, "Authorization", 13) == 0;
	if (auth && n > 6 && strncasecmp(p, "Basic ", 6) == 0) {
		size_t skip = 6 + strspn(p + 6, " ");
		buf_add(out, p, skip);
		int hits = skip < n ? swap_basic(l, p + skip, n - skip, out) : 0;
		if (hits)
			return buf_failed(out) ? -1 : hits;
		out->len = at;
	}
	buf_add(out, p, n);
	return buf_failed(out) ? -1 : (int)leak_replace(l, out->data + at, n);
}
