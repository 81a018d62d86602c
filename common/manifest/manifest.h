/*
 * expert.yaml as data. Pure: bytes in, structs out; no state, no files (manifest/tree.h reads
 * those).
 *
 * Everything in a parsed manifest is valid: names match `[a-z0-9][a-z0-9._-]{0,63}`, tool names
 * differ, there is at least one tool, entries are relative ".py" paths without "..", schemas have
 * passed schema_check_schema(). Errors are ERR_USAGE "PATH:LINE:COL: cause", both counted from 1,
 * columns in characters, with a hint where the cause has a mend. Hosts are only checked to be plain
 * words (net/hostname.h knows their grammar). All strings are UTF-8 without control characters,
 * save newline and tab in descriptions; all belong to the manifest.
 */
#ifndef EVCTL_MANIFEST_MANIFEST_H
#define EVCTL_MANIFEST_MANIFEST_H

#include "base/err.h"
#include "base/json.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

#define MANIFEST_FILE "expert.yaml"
#define MANIFEST_MAX_BYTES ((size_t)1000000)
#define MANIFEST_MAX_TOOLS 256
#define MANIFEST_MAX_EXAMPLES 100		   /* of a tool */
#define MANIFEST_MEMORY_MIN ((size_t)16 * 1000000) /* "16M": sizes are decimal, "16Mi" is not */

struct manifest_tool {
	char *name;
	char *description; /* "" when not given */
	char *entry_file;  /* "leads.py", "lib/leads.py" */
	char *entry_func;  /* NULL: the file is a script */
	json_t *input;	   /* a JSON Schema object, or NULL; see manifest/derive.h */
	json_t *output;	   /* likewise */
	json_t *examples;  /* [{input, output?, exit?}], or NULL: none */
	int timeout_ms;	   /* 1000 to MS(LIMIT_CALL_S) */
	size_t memory;	   /* bytes, MANIFEST_MEMORY_MIN to GIB(LIMIT_MEMORY_GIB) */
	int line;	   /* of the tool in the file */
	json_t *faults;	   /* of entry and input: [{file, line, message, hint}]; not kept */
};

struct manifest {
	char *name;
	char *description; /* "" when not given */
	struct manifest_tool *tools;
	size_t ntools;
	struct strv hosts;
	struct strv ignore;  /* gitignore-like patterns, see manifest/ignore.h */
	struct strv private; /* the same: files that no result may hold, as the code */
};

#define MANIFEST_AUTO __attribute__((cleanup(manifest_free))) struct manifest

/* Fills a zeroed manifest; on -1 it is empty again. */
int manifest_parse(struct manifest *m, const char *path_for_messages, const void *bytes, size_t n,
	struct err *e);
/* Frees and zeroes; a zeroed one is fine. */
void manifest_free(struct manifest *m);

/* The tool of that name, or NULL. */
const struct manifest_tool *manifest_tool(const struct manifest *m, const char *name);
/* What the tool that asks for most memory may have, bytes: for a room in which all are called. */
size_t manifest_most_memory(const struct manifest *m);

/*
 * The whole manifest as a JSON object, and back; lossless, for snapshots. from_json fills a zeroed
 * manifest and trusts nothing: anything that manifest_parse() would not have made is ERR_STATE.
 */
json_t *manifest_to_json(const struct manifest *m); /* NULL without memory */
int manifest_from_json(struct manifest *m, const json_t *j, struct err *e);

/* Whether s is a name for an expert, tool, connection or buyer: `[a-z0-9][a-z0-9._-]{0,63}`. */
bool manifest_name_ok(const char *s);

#endif
