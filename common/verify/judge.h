/*
 * Many experts and directories, from their reading to their verdicts: the state is asked before and
 * after, and the reading and scanning between run on every core.
 */
#ifndef EVCTL_VERIFY_JUDGE_H
#define EVCTL_VERIFY_JUDGE_H

#include "base/strv.h"
#include "state/expert.h"

#include <stdatomic.h>

/* One argument. */
struct judged {
	const char *given;
	bool is_dir;	 /* else the name of an expert */
	bool registered; /* the state knows it as an expert */
	struct expert_view v;
	json_t *verdict;
	struct err e; /* why there is no verdict */
};

struct judge {
	struct state_place place;
	struct state *st; /* NULL: there is none; the caller's */
	struct judged *v;
	size_t n;
	struct strv notes; /* for people, beside the verdicts */
	atomic_size_t next;
};
#define JUDGE_AUTO __attribute__((cleanup(judge_free))) struct judge

void judge_free(struct judge *j);
/* Whether an argument means a directory: it has a '/', or is '.'. */
bool judge_is_dir(const char *s);
/* For a name that is no expert's, with its error: how to judge the directory or file of that name.
 */
void judge_hint_path(const char *name, struct err *e);
/* place and st are set. What cannot be judged has its error; -1 without memory only. */
int judge_all(struct judge *js, const struct strv *given, bool published, struct err *e);
/* ERR_FINDINGS where a verdict is red, or amber and strict; 0 otherwise. */
enum err_code judge_code(const struct judge *js, bool strict);
/* The first argument that could not be judged is the error; the others have verdicts. */
int judge_error(const struct judge *js, struct err *e);
/*
 * The directory as seen from the root, with a slash: "", "experts/crm/", or absolute; owned. root
 * is a real path; NULL: the top of the git work tree that it is in, or else the current directory.
 */
char *judged_prefix(const struct judged *j, const char *root);
/*
 * The same for people: where there is no root that it is beneath, as the caller gave it; of an
 * expert given by name, as in its directory.
 */
char *judged_shown(const struct judged *j, const char *root);
/*
 * What cannot be judged for what is in its directory (an expert.yaml with a mistake) as a verdict
 * of one finding, where the mistake is; NULL where it is no such thing. Owned.
 */
json_t *judged_broken(const struct judged *j);

#endif
