/*
 * Python's source encodings, decoded to UTF-8 as CPython 3.11 does. What is not done by hand goes
 * through iconv(3) one character at a time, so that glibc never composes two into one, and its
 * differences are in the table: tests/scan/codings.t compares every coding with CPython's. iconv
 * loads its converters from the file system; no other I/O is done.
 */
#ifndef EVCTL_SCAN_CODEC_H
#define EVCTL_SCAN_CODEC_H

#include <stddef.h>
#include <stdint.h>
#include <uchar.h>

/* n codes that follow each other stand for n points that do; with point 0 CPython refuses them. */
struct coding_fix {
	uint32_t code; /* a character's bytes, the first in front */
	uint32_t n;
	uint32_t point;
};

enum coding_kind {
	CODING_CHARS,  /* without states; bytes below 128 that have no fix are ASCII */
	CODING_EUC_KR, /* has syllables made up of letters, too */
	CODING_UTF_8,
	CODING_ESCAPES,
	CODING_RAW_ESCAPES,
	CODING_ISO_2022,
	CODING_HZ,
	CODING_IDNA,
	CODING_UTF_7,
};

struct coding {
	const char *name;    /* the module in Python's encodings */
	const char *aliases; /* of encodings/aliases.py, a space between them */
	const char *iconv;   /* glibc's name; NULL if bytes from 128 on have no other meaning */
	const struct coding_fix *fixes; /* where glibc and CPython differ; ends with n 0 */
	enum coding_kind kind;
	const char *also;     /* glibc's name for the three-byte characters that the first lacks */
	const char *sets;     /* ISO 2022's designations; a fix is for the last byte << 16 | code */
	const char16_t *high; /* bytes from 128 on, where glibc knows nothing like it */
};

extern const struct coding codings[];
extern const size_t coding_count;

/* By any spelling that Python takes; NULL if it takes none, or its files cannot hold a cookie. */
const struct coding *codec_find(const char *spelling);

enum codec_result {
	CODEC_DONE,
	CODEC_WRONG, /* the text is not in the encoding */
	CODEC_UNSURE /* this machine's iconv lacks it, or CPython may see more in it than we do */
};

/* Of any kind but UTF-8 and escapes. out has room for 4 * n + 16 bytes, and gets *len. */
enum codec_result codec_decode(
	const struct coding *c, const char *s, size_t n, char *out, size_t *len);

#endif
