/*
 * JSON Schema 2020-12, the part that people use: type, enum, const, the numeric, string, array and
 * object keywords, patterns, allOf/anyOf/oneOf/not, if/then/else, dependentRequired and
 * dependentSchemas, contains, and local $ref. `format` and other annotations say nothing; unknown
 * keywords are ignored, as the standard has it. What would change the verdict and isn't supported
 * ($dynamicRef, unevaluatedProperties, unevaluatedItems, dependencies, $ref to elsewhere) is
 * refused by schema_check_schema() rather than ignored.
 *
 * Pure, and bounded whatever the schema and value are: a budget of steps, which regular expressions
 * draw on too, and a depth. Running out is ERR_USAGE like any other failure, never a pass.
 * Messages name the member at fault and never hold a value: "input.month: expected string, got
 * integer". A member's name is shown escaped unless it is a plain word.
 */
#ifndef EVCTL_MANIFEST_SCHEMA_H
#define EVCTL_MANIFEST_SCHEMA_H

#include "base/err.h"
#include "base/json.h"
#include "base/strv.h"

/* Is it a schema (an object or a boolean) that schema_validate() fully understands? 0, or
 * ERR_USAGE. */
int schema_check_schema(const json_t *schema, struct err *e);
/* As above; where gets the members on the way to the fault, so that a caller can find its line. */
int schema_check_schema_at(const json_t *schema, struct strv *where, struct err *e);

/* 0, or ERR_USAGE naming the first fault. The schema should have passed the check. */
int schema_validate(const json_t *schema, const json_t *value, struct err *e);
/* As above, with a word for the whole value in messages instead of "input" ("output"). */
int schema_validate_as(const char *root, const json_t *schema, const json_t *value, struct err *e);

#endif
