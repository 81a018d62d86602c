/* Secrets found and replaced: in every form, at every place where a stream may be cut. */
#include "base/b64.h"
#include "guard/leak.h"
#include "gate/swap.h"
#include "../lib/tap.h"

#include <stdlib.h>

#define SECRET "s3cr3t+Key/with\"odd\\bits%"
#define STANDIN "x9ab1z+Qwe/rtyu\"ooo\\zzzz%"

static struct leak *one(const char *value, const char *instead)
{
	struct leak *l = leak_new();
	if (leak_add(l, 7, value, strlen(value), instead) < 0 || leak_seal(l) < 0)
		abort();
	return l;
}

/* Each form as common tools write it. */
static const char *const forms[] = {
	SECRET,
	"s3cr3t%2BKey%2Fwith%22odd%5Cbits%25", /* quote(safe='') */
	"s3cr3t%2bKey%2fwith%22odd%5cbits%25", /* the same in lower case */
	"s3cr3t%2BKey/with%22odd%5Cbits%25",   /* quote() */
	"s3cr3t+Key/with\\\"odd\\\\bits%",     /* json.dumps() */
	"s3cr3t+Key\\/with\\\"odd\\\\bits%",   /* PHP's */
	"733363723374"
	"2b4b65792f77697468226f64645c6269747325",
	"733363723374"
	"2B4B65792F77697468226F64645C6269747325",
	"73:33:63:72:33:74:2b:4b:65:79:2f:77:69:74:68:22:6f:64:64:5c:62:69:74:73:25",
	"73 33 63 72 33 74 2B 4B 65 79 2F 77 69 74 68 22 6F 64 64 5C 62 69 74 73 25",
	"s3cr3t+Key/with&quot;odd\\bits%", /* html.escape() */
	"s3cr3t+Key/with\"\"odd\\bits%",   /* csv */
	"%73%33%63%72%33%74%2B%4B%65%79%2F%77%69%74%68%22%6F%64%64%5C%62%69%74%73%25",
};

static void test_forms(struct tap *t)
{
	struct leak *l = one(SECRET, NULL);
	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		char text[512];
		unsigned id = 0;
		int n = snprintf(text, sizeof text, "before %s after", forms[i]);
		bool found = leak_find(l, text, (size_t)n, &id) && id == 7;
		ssize_t k = leak_replace(l, text, (size_t)n);
		ok(t,
			found && k == 1 && !strstr(text, forms[i]) && strlen(text) == (size_t)n &&
				!memcmp(text, "before ", 7) && !strcmp(text + n - 6, " after"),
			"found and masked, the length kept: %s", forms[i]);
		text[n / 2]++;
		snprintf(text, sizeof text, "before %s after", forms[i]);
		text[7 + strlen(forms[i]) / 2] ^= 1;
		ok(t, !leak_find(l, text, (size_t)n, NULL), "not found with one bit changed");
	}
	leak_free(&l);
}

static void test_utf16(struct tap *t)
{
	static const char value[] = "k\xc3\xa9y-\xf0\x9f\x98\x80-and-more";
	static const unsigned short units[] = {
		'k', 0xe9, 'y', '-', 0xd83d, 0xde00, '-', 'a', 'n', 'd', '-', 'm', 'o', 'r', 'e'};
	const size_t n = sizeof units / sizeof units[0];
	struct leak *l = one(value, NULL);
	for (int big = 0; big < 2; big++) {
		char text[64] = {0};
		for (size_t i = 0; i < n; i++) {
			text[2 * i + 2] = (char)(big ? units[i] >> 8 : units[i]);
			text[2 * i + 3] = (char)(big ? units[i] : units[i] >> 8);
		}
		ok(t, leak_find(l, text, sizeof text, NULL), "UTF-16, %s byte first",
			big ? "high" : "low");
		text[2 * n] ^= 3;
		text[2 * n + 1] ^= 3;
		ok(t, !leak_find(l, text, sizeof text, NULL), "and not when it is another text");
	}
	leak_free(&l);
	l = one("bytes-\xff\x80\xfe-no-text", NULL);
	ok(t, leak_find(l, "bytes-\xff\x80\xfe-no-text", 17, NULL),
		"what is no text is no trouble");
	leak_free(&l);
	l = one("a&b<c>d'e-0123456789", NULL);
	ok(t,
		leak_find(l, "a&amp;b&lt;c&gt;d&#x27;e-0123456789", 36, NULL) &&
			leak_find(l, "a&amp;b&lt;c&gt;d&#39;e-0123456789", 35, NULL) &&
			leak_find(l, "a&amp;b&lt;c&gt;d'e-0123456789", 31, NULL) &&
			leak_find(l, "a&b<c>d''e-0123456789", 22, NULL),
		"escapes of HTML, XML and SQL");
	leak_free(&l);
}

static void test_base64(struct tap *t)
{
	struct leak *l = one(SECRET, NULL);
	for (int before = 0; before < 7; before++) {
		struct buf b = {0}, plain = {0};
		for (int i = 0; i < before; i++)
			buf_addc(&plain, (char)('a' + i));
		buf_adds(&plain, SECRET);
		buf_adds(&plain, "zz");
		b64_encode(plain.data, plain.len, &b);
		char back[128];
		ok(t, leak_find(l, b.data, b.len, NULL), "base64, %d bytes before it", before);
		ssize_t hits = leak_replace(l, b.data, b.len);
		ssize_t n = b64_decode(b.data, b.len, back);
		ok(t,
			hits == 1 && n == (ssize_t)plain.len &&
				!memcmp(back, plain.data, (size_t)before) &&
				memmem(back, (size_t)n, "**********", 10) &&
				!leak_find(l, back, (size_t)n, NULL),
			"masked, it is still base64");
		for (size_t i = 0; i < b.len; i++)
			b.data[i] = b.data[i] == '+' ? '-' : b.data[i] == '/' ? '_' : b.data[i];
		buf_free(&b);
		buf_free(&plain);
	}
	leak_free(&l);
	l = one("\xfb\xff\xfe\xfb\xff\xfe\xfb\xff\xfe\xfb\xff\xfe", NULL);
	ok(t,
		leak_find(l, "x-__--__--__--__-", 17, NULL) ||
			leak_find(l, "-__--__--__--__-", 16, NULL),
		"base64 in the alphabet of URLs");
	leak_free(&l);
}

/* Through a stream cut into `step` bytes; 1 if the guard stopped it. */
static int stream(
	const struct leak *l, const char *p, size_t n, size_t step, bool stop, struct buf *out)
{
	struct leak_stream s = {.l = l};
	int rc = 0;
	for (size_t i = 0; i < n && rc == 0; i += step) {
		size_t len = n - i < step ? n - i : step;
		rc = stop ? leak_guard(&s, p + i, len, out, NULL) : leak_push(&s, p + i, len, out);
	}
	if (rc == 0)
		rc = stop ? leak_guard_end(&s, out, NULL) : leak_flush(&s, out);
	leak_stream_end(&s);
	return rc;
}

static void test_streams(struct tap *t)
{
	struct leak *l = one(SECRET, STANDIN);
	const char text[] = "s3cr3t+Ke s3cr3t+Key/with " SECRET SECRET " tail s3cr3t+Key/with\"odd";
	const char want[] =
		"s3cr3t+Ke s3cr3t+Key/with " STANDIN STANDIN " tail s3cr3t+Key/with\"odd";
	bool all = true, stopped = true;
	for (size_t step = 1; step <= sizeof text; step++) {
		struct buf out = {0}, until = {0};
		stream(l, text, sizeof text - 1, step, false, &out);
		all = all && out.len == sizeof want - 1 && memcmp(out.data, want, out.len) == 0;
		int rc = stream(l, text, sizeof text - 1, step, true, &until);
		stopped =
			stopped && rc == 1 && until.len == 26 && memcmp(until.data, text, 26) == 0;
		buf_free(&out);
		buf_free(&until);
	}
	ok(t, all, "swapped in a stream, wherever it is cut; beginnings of it pass");
	ok(t, stopped, "stopped in a stream: not one byte of the secret passes");
	leak_free(&l);
}

/* Against the simplest search there is. */
static void test_random(struct tap *t)
{
	struct leak *l = leak_new();
	const char *values[] = {"abab", "ababab", "bbbbbbbb", "abcabcabcabc", "b"};
	bool same = true;
	for (unsigned i = 0; i < 4; i++)
		leak_add(l, i, values[i], strlen(values[i]), NULL);
	leak_seal(l);
	srand(1);
	for (int round = 0; round < 20000 && same; round++) {
		char text[40];
		size_t n = (size_t)rand() % sizeof text;
		for (size_t i = 0; i < n; i++)
			text[i] = "abc"[rand() % 3];
		bool naive = false;
		for (int i = 0; i < 4; i++)
			naive = naive || memmem(text, n, values[i], strlen(values[i]));
		struct buf out = {0};
		bool cut = stream(l, text, n, 1 + (size_t)rand() % 5, true, &out) == 1;
		same = naive == leak_find(l, text, n, NULL) && naive == cut;
		buf_free(&out);
	}
	ok(t, same, "20,000 random texts: as the simplest search finds it, whole and in pieces");
	leak_free(&l);
}

static void test_json_wide(struct tap *t)
{
	struct leak *l = one("k\xc3\xa9y-\xf0\x9f\x94\x91-0123456789", NULL);
	const char ascii[] = "\"k\\u00e9y-\\ud83d\\udd11-0123456789\"";
	ok(t, leak_find(l, ascii, sizeof ascii - 1, NULL), "JSON with \\u and surrogate pairs");
	leak_free(&l);
	l = one("a<b>&c0123456789", NULL);
	const char html[] = "a\\u003cb\\u003e\\u0026c0123456789";
	ok(t, leak_find(l, html, sizeof html - 1, NULL), "JSON escaped for HTML");
	leak_free(&l);
}

static void test_small_and_large(struct tap *t)
{
	struct leak *l = one("abc", NULL);
	char text[] = "xxabcxx";
	ok(t, leak_replace(l, text, 7) == 1 && !strcmp(text, "xx***xx"), "three bytes: raw");
	ok(t, !leak_find(l, "616263", 6, NULL), "three bytes: no other form");
	leak_free(&l);
	char *big = malloc(65537);
	for (int i = 0; i < 65536; i++)
		big[i] = (char)('a' + (i * 7 + i / 26) % 26);
	big[65536] = '\0';
	l = one(big, NULL);
	struct buf out = {0};
	ok(t, stream(l, big, 65536, 1000, true, &out) == 1 && out.len == 0, "64 KiB, in a stream");
	ok(t, !leak_find(l, big, 65535, NULL), "64 KiB less one byte is not it");
	buf_free(&out);
	free(big);
	leak_free(&l);
	ok(t, leak_empty(NULL) && !leak_find(NULL, "x", 1, NULL), "nothing to look for");
}

static void test_standin(struct tap *t)
{
	struct err e = {0};
	const char value[] = "sk_live_4eC39HqLyjWDarjtT1zdp7dc+/=";
	char a[64], b[64];
	bool kinds = true;
	ok(t,
		swap_standin(value, sizeof value - 1, a, &e) == 0 &&
			swap_standin(value, sizeof value - 1, b, &e) == 0 && strcmp(a, b) != 0,
		"stand-ins are drawn, and differ");
	ok(t, strlen(a) == sizeof value - 1 && !memcmp(a, "sk_live_", 8) && !strcmp(a + 32, "+/="),
		"same length, the known prefix and the punctuation kept");
	for (size_t i = 0; i < sizeof value - 1; i++) {
		bool digit = value[i] >= '0' && value[i] <= '9';
		bool upper = value[i] >= 'A' && value[i] <= 'Z';
		kinds = kinds && (!digit || (a[i] >= '0' && a[i] <= '9')) &&
			(!upper || (a[i] >= 'A' && a[i] <= 'Z'));
	}
	ok(t, kinds && strcmp(a, value) != 0, "digits stay digits, capitals capitals");
	ok(t, swap_standin("short", 5, a, &e) < 0 && e.code == ERR_USAGE, "too short to seal");
	e = (struct err){0};
	ok(t, swap_standin("+-/+-/+-/+-/+-/", 15, a, &e) < 0 && e.code == ERR_USAGE,
		"nothing in it to draw");
	e = (struct err){0};
	ok(t, swap_standin("abcdefghijklmnop\n", 17, a, &e) < 0, "a line end");
}

static void swapped(struct tap *t, const struct leak *l, const char *name, const char *in,
	const char *want, const char *what)
{
	struct buf out = {0};
	swap_text(l, name, strlen(name), in, strlen(in), &out);
	is_text(t, buf_str(&out), want, what);
	buf_free(&out);
}

static void test_swap(struct tap *t)
{
	struct leak *l = one("standin-ABCDEF12", "realkey-UVWXYZ98");
	swapped(t, l, "X-Key", "a standin-ABCDEF12 b", "a realkey-UVWXYZ98 b", "in a header");
	swapped(t, l, "", "/p?k=standin-ABCDEF12&x=1", "/p?k=realkey-UVWXYZ98&x=1", "in a query");
	swapped(t, l, "authorization", "Basic dXNlcjpzdGFuZGluLUFCQ0RFRjEy",
		"Basic dXNlcjpyZWFsa2V5LVVWV1hZWjk4", "inside Basic");
	swapped(t, l, "Authorization", "Basic c3RhbmRpbi1BQkNERUYxMjo=",
		"Basic cmVhbGtleS1VVldYWVo5ODo=", "as the user of Basic");
	swapped(t, l, "Authorization",
		"Basic dXNlcjpvdGhlcg==", "Basic dXNlcjpvdGhlcg==", "Basic with something else");
	swapped(t, l, "Authorization", "Bearer standin-ABCDEF12", "Bearer realkey-UVWXYZ98",
		"in Bearer");
	swapped(t, l, "Authorization", "Basic !!!", "Basic !!!", "Basic that is no base64");
	swapped(t, l, "X-Key", "standin-ABCDEF13", "standin-ABCDEF13", "another value stays");
	swapped(t, NULL, "X-Key", "standin-ABCDEF12", "standin-ABCDEF12", "nothing to swap");
	leak_free(&l);
}

int main(void)
{
	struct tap t = {0};
	test_forms(&t);
	test_base64(&t);
	test_utf16(&t);
	test_streams(&t);
	test_random(&t);
	test_json_wide(&t);
	test_small_and_large(&t);
	test_standin(&t);
	test_swap(&t);
	return tap_done(&t);
}
