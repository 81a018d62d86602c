/* Constant tables; each list is sorted by its first member (bytewise). */
#ifndef EVCTL_SCAN_TABLES_H
#define EVCTL_SCAN_TABLES_H

#include <stddef.h>
#include <stdint.h>

struct scan_alias {
	const char *name;
	uint32_t point;
};
struct scan_charmap {
	const char *name;
	uint16_t high[128];
};
struct scan_codec_alias {
	const char *alias, *codec;
};

extern const struct scan_alias scan_aliases[];
extern const size_t scan_alias_count;
extern const struct scan_charmap scan_charmaps[];
extern const size_t scan_charmap_count;
extern const struct scan_codec_alias scan_codec_aliases[];
extern const size_t scan_codec_alias_count;

/* A byte and the one behind it (0 if it stands alone), and what they mean to Python; 0 if nothing.
 */
struct scan_pair {
	uint16_t bytes;
	uint32_t point;
};
/* A double-byte encoding: which bytes from 128 on begin a sequence, and where iconv() is wrong. */
struct scan_double {
	const char *name, *iconv;
	uint64_t leads[2];
	const struct scan_pair *pairs;
	size_t npairs;
};
extern const struct scan_double scan_doubles[];
extern const size_t scan_double_count;

/* sys.stdlib_module_names, and what comes with the sandbox's packages. */
extern const char *const scan_stdlib[];
extern const size_t scan_stdlib_count;
extern const char *const scan_sandbox[];
extern const size_t scan_sandbox_count;

#endif
