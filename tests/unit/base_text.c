/* The one list of what deceives against what Unicode says of each character; what is shown instead.
 */
#include "../lib/tap.h"
#include "base/text.h"

#include <unictype.h>
#include <unistr.h>

/* Not asked of the list: line ends, direction, what takes no room, no characters at all. */
static bool unicode_says(ucs4_t c)
{
	if (c == 0x200c || c == 0x200d || (c >= 0xfe00 && c <= 0xfe0f))
		return false; /* joiners and variation selectors are part of what is read */
	return uc_is_general_category_withtable(
		       c, UC_CATEGORY_MASK_Cc | UC_CATEGORY_MASK_Zl | UC_CATEGORY_MASK_Zp) ||
	       uc_is_property_bidi_control(c) || uc_is_property_default_ignorable_code_point(c) ||
	       uc_is_property_not_a_character(c) || (c >= 0xfff9 && c <= 0xfffb);
}

static void test_list(struct tap *t)
{
	unsigned wrong = 0, deceive = 0;
	for (ucs4_t c = 0; c < 0x110000; c++) {
		if (c >= 0xd800 && c < 0xe000)
			continue;
		deceive += text_deceives(c);
		if (text_deceives(c) != unicode_says(c) && wrong++ < 20)
			printf("# U+%04X: %d\n", (unsigned)c, text_deceives(c));
	}
	ok(t, wrong == 0, "the list is what Unicode says of each character");
	ok(t, deceive > 4000, "control: many deceive");
}

static void test_every(struct tap *t)
{
	bool back = true, shown = true, clean = true, utf8 = true;
	for (ucs4_t c = 1; c < 0x110000; c++) {
		char s[8], cut[TEXT_SHOWN_MAX];
		*text_put(s, c) = '\0';
		size_t n = strlen(s);
		bool surrogate = c >= 0xd800 && c < 0xe000, bad = surrogate || text_deceives(c);
		const char *p = s;
		uint32_t got = text_next(&p, s + n);
		back &= surrogate ? got == TEXT_BAD_BYTE + 0xed && p == s + 1
				  : got == c && p == s + n;
		utf8 &= text_is_utf8(s, n) == !surrogate;
		clean &= text_is_clean(s, n, false) == !bad;
		BUF_AUTO b = {0};
		text_add_visible(&b, s, n, false);
		shown &= bad ? b.len == 4 * n && memcmp(b.data, "\\x", 2) == 0
			     : strcmp(buf_str(&b), s) == 0;
		shown &= strchr(text_shown(s, cut), '?') == cut ? bad || c == '?' : !bad;
	}
	ok(t, back, "each character comes back, a surrogate as a bad byte");
	ok(t, utf8, "and is UTF-8, but for surrogates");
	ok(t, clean, "text is clean without those that deceive");
	ok(t, shown, "and what is shown holds none");
}

static void test_begun(struct tap *t)
{
	static const struct {
		const char *s;
		size_t n;
	} rows[] = {{"", 0}, {"a", 0}, {"\xc3", 1}, {"a\xe2\x82", 2}, {"\xf0\x9f\x91", 3},
		{"\xe2\x82\xac", 0}, {"\xff", 0}, {"\x80", 0}, {"\xc0", 0}, {"\xed\xa0", 0},
		{"\x80\x80\x80\x80", 0}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		ok(t, text_begun(rows[i].s, strlen(rows[i].s)) == rows[i].n, "what has begun, %zu",
			i);
}

static void test_escapes(struct tap *t)
{
	bool digits = true;
	for (int c = 0; c < 256; c++) {
		const char *at = c ? strchr("0123456789abcdefABCDEF", c) : NULL;
		long at_value = at ? at - strchr("0123456789abcdefABCDEF", '0') : -1;
		digits &= text_hex((char)c) == (at_value > 15 ? at_value - 6 : at_value);
	}
	ok(t, digits, "hex digits of all bytes");
	char s[] = "%41%4g%%2f%e2%4";
	size_t n = text_unpercent(s, strlen(s), s);
	ok(t, n == 9 && memcmp(s, "A%4g%/\xe2%4", 9) == 0, "percent signs that are escapes");
	BUF_AUTO b = {0};
	text_add_visible(&b, "a\n\tb\r\x1b[\0\xff\xe2\x80\xae", 12, true);
	is_text(t, buf_str(&b), "a\n\tb\\x0d\\x1b[\\x00\\xff\\xe2\\x80\\xae", "several lines");
	buf_clear(&b);
	text_add_visible(&b, "a\n\tb", 4, false);
	is_text(t, buf_str(&b), "a\\x0a\\x09b", "one line");
}

int main(void)
{
	struct tap t = {0};
	test_list(&t);
	test_every(&t);
	test_begun(&t);
	test_escapes(&t);
	return tap_done(&t);
}
