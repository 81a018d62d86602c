/* What annotations and constants mean: between the files that make a signature. */
#ifndef EVCTL_SCAN_TYPE_H
#define EVCTL_SCAN_TYPE_H

#include "scan/meaning.h"

/* Of an annotation, NULL for none. Never NULL. */
const struct scan_type *type_of(
	struct reader *r, struct scan_file *file, struct node *n, unsigned depth);
/* A constant expression as JSON text, NULL if it is none or JSON has no word for it. */
const char *type_constant(struct reader *r, struct scan_file *file, struct node *n, unsigned depth);
/* A body's docstring; n of them, 0: none. */
const char *type_docstring(struct seq body, size_t *n);
/* The last part of an outside name of the modules that make types: "List"; else NULL. */
const char *type_word(const struct meaning *m);

#endif
