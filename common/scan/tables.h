/* Constant tables; each list is sorted by its first member (bytewise). */
#ifndef EVCTL_SCAN_TABLES_H
#define EVCTL_SCAN_TABLES_H

#include <stddef.h>
#include <stdint.h>

struct scan_alias {
	const char *name;
	uint32_t point;
};

extern const struct scan_alias scan_aliases[];
extern const size_t scan_alias_count;

/* sys.stdlib_module_names, and what comes with the sandbox's packages. */
extern const char *const scan_stdlib[];
extern const size_t scan_stdlib_count;
extern const char *const scan_sandbox[];
extern const size_t scan_sandbox_count;

#endif
