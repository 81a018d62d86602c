/* What is given on a command line lands in the verb's struct, or is refused; nothing else changes
 * it. */
#include "../lib/tap.h"
#include "base/argv.h"

struct made {
	const char *to, *how;
	struct strv names;
	int count;
	bool quiet;
};
static const struct option_spec options[] = {
	OPT_STR(struct made, to, "to", "FILE", "where", .kind = NAME_FILE, .letter = 't'),
	OPT_WORD(struct made, how, "how", "WAY", "which way", "fast|slow"),
	OPT_LIST(struct made, names, "name", "NAME", "again and again"),
	OPT_INT(struct made, count, "count", "N", "how many", 7, 1, 20),
	OPT_FLAG(struct made, quiet, "quiet", "say less", .letter = 'q'), OPT_END(struct made)};
static const struct option_spec others[] = {
	OPT_FLAG(struct made, quiet, "loud", "say more"), OPT_END(struct made)};

static int run(struct invocation *in, struct err *e)
{
	(void)in;
	(void)e;
	return 0;
}

static const struct verb verbs[] = {
	{"make", "", NULL, options, NULL, run}, {"other", "", NULL, others, NULL, run}, {NULL}};
static const struct program program = {.name = "p", .verbs = verbs};

/* The words after the program's name; argv ends with NULL. */
static int given(struct invocation *in, struct err *e, const char *const *words)
{
	char *argv[16] = {(char *)"p"};
	int n = 1;
	while (*words)
		argv[n++] = (char *)*words++;
	*in = (struct invocation){.program = &program};
	*e = (struct err){0};
	return argv_read(in, n, argv, e) < 0 || argv_check(in, e) < 0 ? -1 : 0;
}
#define GIVEN(in, e, ...) given(in, e, (const char *const[]){__VA_ARGS__, NULL})

static void test_lands(struct tap *t)
{
	struct invocation in;
	struct err e;
	went(t, GIVEN(&in, &e, "make") == 0, "nothing given", &e);
	const struct made *o = in.options;
	ok(t, !o->to && !o->how && !o->names.n && o->count == 7 && !o->quiet,
		"is NULL, empty, the row's number, false");
	ok(t, in.common.key_fd == -1 && !in.common.state && !in.common.yes, "in common too");
	argv_free(&in);
	went(t,
		GIVEN(&in, &e, "make", "-qtF", "--how=slow", "--name", "a", "--name=", "--count",
			"20", "-y", "--key-fd", "5") == 0,
		"all given", &e);
	o = in.options;
	is_text(t, o->to, "F", "a letter's value");
	is_text(t, o->how, "slow", "a word");
	ok(t, o->names.n == 2 && strcmp(o->names.v[0], "a") == 0 && !o->names.v[1][0],
		"a list has all, in order");
	ok(t, o->count == 20 && o->quiet, "a number and a flag");
	ok(t, in.common.yes && in.common.key_fd == 5, "common ones");
	argv_free(&in);
	went(t, GIVEN(&in, &e, "--count", "1", "make", "--count=1") == 0, "before the verb", &e);
	o = in.options;
	ok(t, o->count == 1, "the same number twice is one");
	argv_free(&in);
}

static void test_refused(struct tap *t)
{
	static const struct {
		const char *words[4], *msg, *hint;
	} bad[] = {
		{{"make", "--count", "0"}, "'--count' takes a whole number from 1 to 20, not '0'",
			"give '--count 7'"},
		{{"make", "--count", "21"}, "'--count' takes a whole number", "give '--count 7'"},
		{{"make", "--count", "3x"}, "'--count' takes a whole number", "give '--count 7'"},
		{{"make", "--count", ""}, "'--count' takes a whole number", "give '--count 7'"},
		{{"make", "--count=99999999999999999999"}, "'--count' takes", "give '--count 7'"},
		{{"make", "--key-fd", "x"}, "'--key-fd' takes a whole number from 0 to",
			"give '--key-fd 0'"},
		{{"make", "--how", "so"}, "'--how' takes fast|slow, not 'so'", "p make --help"},
		{{"make", "--to", ""}, "'--to' is given an empty name", "p make --help"},
		{{"make", "--quiet=1"}, "option '--quiet' takes no value", "alone"},
		{{"make", "--to=a", "--to=b"}, "option '--to' is given twice", "once"},
		{{"make", "--quit"}, "unknown option '--quit'", "did you mean '--quiet'?"},
		{{"make", "--loud"}, "unknown option '--loud'", NULL},
		{{"--loud", "make"}, "unknown option '--loud'", NULL},
		{{"make", "--to"}, "option '--to' needs a value: FILE", NULL},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct invocation in;
		struct err e;
		int r = given(&in, &e,
			(const char *const[]){bad[i].words[0], bad[i].words[1], bad[i].words[2],
				bad[i].words[3], NULL});
		says(t, &e, ERR_USAGE, bad[i].msg, bad[i].hint, r < 0 ? "refused" : "taken");
		argv_free(&in);
	}
	struct invocation in;
	struct err e;
	went(t, GIVEN(&in, &e, "--loud", "other") == 0, "control: where it belongs", &e);
	argv_free(&in);
	e = (struct err){0};
	in = (struct invocation){.program = &program};
	char *argv[] = {
		(char *)"p", (char *)"make", (char *)"--key-fd", (char *)"x", (char *)"--help"};
	ok(t, argv_read(&in, 5, argv, &e) == 0 && in.common.help,
		"--help is heard beside a wrong number");
	argv_free(&in);
}

int main(void)
{
	struct tap t = {0};
	test_lands(&t);
	test_refused(&t);
	return tap_done(&t);
}
