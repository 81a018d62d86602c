/*
 * Experts: their rows, what is attached to them, and their published snapshots.
 *
 * An expert is seen through a view: either its draft (the live directory, the live hosts and
 * bindings) or one numbered snapshot (frozen code, hosts, flags and bindings; the payers of
 * credentials are live in both). Everything in a view belongs to it; expert_view_free() wipes
 * nothing, as code is no key, and views hold no values of credentials.
 *
 * Changes run in a transaction of their own, with their audit row, as in state/cred.h. Names that
 * do not exist are ERR_NOTFOUND with the command that lists or makes them.
 */
#ifndef EVCTL_STATE_EXPERT_H
#define EVCTL_STATE_EXPERT_H

#include "base/json.h"
#include "manifest/manifest.h"
#include "manifest/tree.h"
#include "state/bound_host.h"
#include "state/state.h"

#define EXPERT_VERSION_MAX 1000000000

/* Which version to look at; numbers from 1 are snapshots. */
enum {
	EXPERT_DRAFT = 0,
	EXPERT_PUBLISHED = -1, /* what is published now; nothing published is ERR_NOTFOUND */
	EXPERT_DEFAULT = -2,   /* the same, but an expert never published gives its draft */
};

struct expert {
	int64_t id;
	char *name, *dir;
	int published;	  /* version offered now, 0: none */
	int last_version; /* 0: never published */
};

struct expert_view {
	int64_t id;
	char *name;
	char *dir;	  /* of the draft, real and absolute; not for snapshots' code */
	int version;	  /* 0: the draft */
	bool forced;	  /* published in spite of a red verdict */
	int64_t snapshot; /* snapshots.id, 0: the draft */
	struct manifest m;
	struct tree t;		  /* empty when loaded without code */
	struct bound_host *hosts; /* by name and port */
	size_t nhosts;
	json_t *reads; /* verify/findings.h; of a snapshot always, of a draft once looked for */
};

#define EXPERT_VIEW_AUTO __attribute__((cleanup(expert_view_free))) struct expert_view
#define EXPERT_AUTO __attribute__((cleanup(expert_free))) struct expert

void expert_free(struct expert *x);
void expert_view_free(struct expert_view *v);

/* Whether its builder is to be told that its draft runs: once. */
bool expert_first_draft(struct state *st, const char *name);
int expert_find(struct state *st, const char *name, struct expert *out, struct err *e);
/* The id of the expert of that name whose draft is in that directory; *found says if there is one.
 */
int expert_at(struct state *st, const char *name, const char *dir, int64_t *id, bool *found,
	struct err *e);

/*
 * Fills a zeroed view with manifest, code and hosts; on -1 it is empty again. A snapshot's code
 * needs the private key (state_unlock() is called); a draft's does not. ERR_USAGE where a draft's
 * directory or expert.yaml is not fit (manifest/tree.h), or it holds the state or a private key.
 */
int expert_load(
	struct state *st, const char *name, int version, struct expert_view *v, struct err *e);
/* The same without code: v->t stays empty, no key is needed. Of a draft only expert.yaml is read.
 */
int expert_load_meta(
	struct state *st, const char *name, int version, struct expert_view *v, struct err *e);

/* Appends the hosts of the view's snapshot, or of the draft of expert v->id; part of loading. */
int expert_load_hosts(struct state *st, struct expert_view *v, struct err *e);
/* Appends one, which becomes the view's. */
int expert_add_host(struct expert_view *v, struct bound_host *h, struct err *e);

/*
 * What create, set and the loading of a draft have in common: *real gets the absolute real path
 * (freed by the caller), m and t what is in it, all checked. t NULL: expert.yaml alone is read.
 */
int expert_read_dir(const struct state_place *place, const char *dir, char **real,
	struct manifest *m, struct tree *t, struct err *e);

/* ---- changes ---- */

/* dir is real; m->name is the expert's name, m->hosts (which must exist) are attached. */
int expert_create(struct state *st, const char *dir, const struct manifest *m, struct err *e);
int expert_set_dir(struct state *st, const struct expert *x, const char *dir,
	const struct manifest *m, struct err *e);
/*
 * All of the hosts, which must exist, or none: [{host, injects (or null), changed}], changed being
 * false where it was so already.
 */
json_t *expert_attach(struct state *st, const struct expert *x, char *const *hosts, size_t n,
	bool attach, struct err *e);
/*
 * Freezes a draft view into the next version and makes that the published one. Needs no private
 * key. findings (verify/findings.h) stays the caller's.
 */
int expert_publish(struct state *st, const struct expert_view *v, const json_t *findings,
	const char *verdict, bool forced, int *version, struct err *e);
/* *was gets the version that is offered no more, 0 if there was none. */
int expert_unpublish(struct state *st, const struct expert *x, int *was, struct err *e);
/* ERR_CONFLICT lists the live sessions and runs that use it. */
int expert_remove(struct state *st, const struct expert *x, struct err *e);
int expert_remove_version(struct state *st, const struct expert *x, int version, struct err *e);
/* Live sessions and runs, one a line ("session s..."); version -1: of any. */
int expert_users(
	struct state *st, const struct expert *x, int version, struct strv *users, struct err *e);

/* ERR_CONFLICT that names them. Returns -1. */
int expert_refuse_users(
	const struct expert *x, int version, const struct strv *users, struct err *e);
/* Could the version be removed? ERR_NOTFOUND; ERR_CONFLICT where it is published or in use. */
int expert_check_version(struct state *st, const struct expert *x, int version, struct err *e);
/* Keeps what completions and lists say of the tools; within a transaction. */
int expert_note_tools(struct state *st, int64_t expert, const struct manifest *m, struct err *e);

/* ---- lists ---- */

/* [{version, published, status, forced, flags, hosts, created}], newest first. */
json_t *expert_versions(struct state *st, const struct expert *x, struct err *e);
/* What was last seen of a draft's tools: [{name, description}], by name. */
json_t *expert_tools_seen(struct state *st, int64_t expert, struct err *e);
/* How much goes with it: versions, and buyers who supplied keys. */
int expert_weigh(struct state *st, const struct expert *x, int64_t *versions, int64_t *buyers,
	struct err *e);
/* Names of all experts, sorted. */
int expert_names(struct state *st, struct strv *out, struct err *e);
/*
 * What the owner is shown of one. A draft that cannot be read is shown all the same, with what the
 * state knows and the problem: a list must not fail because one directory is gone.
 */
json_t *expert_describe(struct state *st, const char *name, struct err *e);
/* The same with its tools (and their entries) and hosts as texts, for a table. */
json_t *expert_cells(const json_t *described, bool with_entry);

/* ---- the archive that is sealed ---- */

/* Length-prefixed: "EVA1", then paths and bytes in the tree's order. */
int snapshot_pack(const struct tree *t, struct buf *out, struct err *e);
/* Trusts nothing: anything that snapshot_pack() would not have made is ERR_STATE. */
int snapshot_unpack(const void *p, size_t n, struct tree *t, struct err *e);
/*
 * What tells one state of the code from another, expert.yaml aside: 64 hex digits; out holds 65.
 * Kept with a snapshot's findings as `code`.
 */
int snapshot_code_id(const struct tree *t, char out[65], struct err *e);

#endif
