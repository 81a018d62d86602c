/*
 * Options as tables. A verb's options land in a struct of its own: each row says in which member,
 * of a type that the compiler checks, so that a misspelt option does not compile.
 *
 *	struct start {
 *		const char *buyer;
 *		int idle;
 *		bool draft;
 *	};
 *	static const struct option_spec start_options[] = {
 *		OPT_STR(struct start, buyer, "buyer", "B", "for this buyer", .kind = NAME_BUYER),
 *		OPT_INT(struct start, idle, "idle", "S", "end it after so long", 900, 1, 86400),
 *		OPT_FLAG(struct start, draft, "draft", "of the draft"), OPT_END(struct start)};
 *
 * What is not given is NULL, false, empty, or the number that the row says.
 */
#ifndef EVCTL_BASE_OPTIONS_H
#define EVCTL_BASE_OPTIONS_H

#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

/* What kind of live name an argument is, for completion. */
enum name_kind {
	NAME_NONE,
	NAME_FILE,
	NAME_DIR,
	NAME_CREDENTIAL,
	NAME_HOST,
	NAME_EXPERT,
	NAME_TOOL, /* of the expert before it */
	NAME_RUN,
	NAME_ARTIFACT, /* of the run before it */
	NAME_SESSION,
	NAME_BATCH,
	NAME_CONNECTION,
	NAME_VERSION, /* of the expert before it */
	NAME_BUYER,
	NAME_BUYER_TOKEN, /* the id of one that is good */
	NAME_WORD,	  /* one of option_spec.choices / arg_spec.choices */
};

enum option_type {
	OPTION_FLAG, /* bool */
	OPTION_STR,  /* const char *: the last one given; a command line's own bytes */
	OPTION_INT,  /* int */
	OPTION_LIST, /* struct strv: all that were given, in order */
};

struct option_spec {
	const char *name; /* without dashes */
	char letter;	  /* short form, or 0 */
	const char *arg;  /* what it takes, as in help ("FILE"), or NULL for a flag */
	const char *help;
	enum name_kind kind;
	const char *choices; /* "a|b|c": the only words allowed, or NULL */
	bool members;	     /* takes K=V, a member of the input of the tool before it */
	enum option_type type;
	size_t at; /* where in the struct it lands; of the last row, the struct's size */
	int dflt, min, max;
};

#define OPTION_FD_MAX (1 << 20) /* the highest number of a descriptor that an option takes */

/* Where member m of struct T is; an error where it is of another type. */
#define OPTION_AT(T, m, of) (offsetof(T, m) + 0 * sizeof(char[_Generic(((T *)0)->m, of : 1)]))
/* Further members of the row (letter, kind, choices) may follow in each of these. */
#define OPT_FLAG(T, m, word, text, ...)                                                       \
	{                                                                                     \
		.name = word, .help = text, .type = OPTION_FLAG, .at = OPTION_AT(T, m, bool), \
		__VA_ARGS__                                                                   \
	}
#define OPT_STR(T, m, word, takes, text, ...)                                 \
	{                                                                     \
		.name = word, .arg = takes, .help = text, .type = OPTION_STR, \
		.at = OPTION_AT(T, m, const char *), __VA_ARGS__              \
	}
#define OPT_WORD(T, m, word, takes, text, words) \
	OPT_STR(T, m, word, takes, text, .kind = NAME_WORD, .choices = words)
#define OPT_INT(T, m, word, takes, text, otherwise, least, most, ...)                     \
	{                                                                                 \
		.name = word, .arg = takes, .help = text, .type = OPTION_INT,             \
		.at = OPTION_AT(T, m, int), .dflt = otherwise, .min = least, .max = most, \
		__VA_ARGS__                                                               \
	}
#define OPT_LIST(T, m, word, takes, text, ...)                                 \
	{                                                                      \
		.name = word, .arg = takes, .help = text, .type = OPTION_LIST, \
		.at = OPTION_AT(T, m, struct strv), __VA_ARGS__                \
	}
#define OPT_END(T)              \
	{                       \
		.at = sizeof(T) \
	}

struct arg_spec {
	const char *name; /* as in help: "NAME" */
	enum name_kind kind;
	const char *choices; /* "a|b" or NULL */
	bool optional;
	bool repeats; /* the last one may be given many times */
};

/* The row of that name (n bytes) or letter, or NULL; a table of NULL has none. */
const struct option_spec *option_named(const struct option_spec *table, const char *name, size_t n);
const struct option_spec *option_lettered(const struct option_spec *table, char letter);
/* Whether a word is one of "a|b|c". */
bool option_chosen(const char *word, const char *choices);
/* "yes" or "no" into *flag; NULL, not given, leaves it. */
void option_yes(const char *word, bool *flag);

/* Whether a value is one of the words, or the name of a file, that its row wants; ERR_USAGE. */
int option_check(const struct option_spec *o, const char *value, struct err *e);
/* A table's struct with nothing given yet; NULL without memory, or for no table. */
void *options_new(const struct option_spec *table);
/* Puts a value into the struct of its row's table; ERR_USAGE where it is to be a number. */
int option_land(const struct option_spec *o, const char *value, void *into, struct err *e);
/* Frees the struct and what landed in it. */
void options_free(const struct option_spec *table, void *into);

#endif
