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

#endif
