/* What the files of this folder share while one file is made true: the plan, as it is noted. */
#ifndef EVCTL_APPLY_APPLYING_H
#define EVCTL_APPLY_APPLYING_H

#include "apply/apply.h"
#include "state/conn.h"

struct applying {
	struct state *st;
	const struct applyfile *a;
	const struct apply_options *o;
	struct apply_result *r;
	json_t *seen; /* the hosts done so far, as {text: line} */
};

/* One item; detail may be NULL. */
void plan_note(struct applying *ap, const char *op, const char *kind, const char *name,
	const char *detail);
/* What only a person can bring, and the command that does. */
void plan_miss(struct applying *ap, const char *kind, const char *name, int line, const char *hint);

/*
 * The fields of one thing: what is new, or what was and what will be. Values are taken over; null
 * is "none". A field that stays as it is says nothing, nor does a new one that is null or false.
 */
struct apply_change {
	bool changes; /* there was something before */
	json_t *list; /* [{field, from, to}] */
};
#define APPLY_CHANGE_AUTO __attribute__((cleanup(apply_change_free))) struct apply_change
void apply_change_free(struct apply_change *f);
void apply_change_add(struct apply_change *f, const char *field, json_t *from, json_t *to);
void apply_change_add_route(
	struct apply_change *f, const struct route *from, const struct route *to);
/* Notes them, as "+" or "~". */
void plan_note_fields(
	struct applying *ap, const char *kind, const char *name, const struct apply_change *f);

/* A path of the file, which starts where the file is. The caller frees. */
char *plan_beside_file(const struct applying *ap, const char *path);

/* Fills r->missing. */
void lacks_find(struct applying *ap);
/* In a plan: stands in for each, with a value of no meaning, so that the rest can be planned. */
int lacks_stand_in(struct applying *ap, struct err *e);
/* Is it among what is missing? */
bool lacks_has(const struct applying *ap, const char *kind, const char *name);

/* Removes what the file's sections lack. */
int prune(struct applying *ap, struct err *e);
/* Takes a connection from all experts but those that w grants it to. */
int revoke_others(
	struct applying *ap, const struct conn *c, const struct apply_connection *w, struct err *e);

#endif
