/* evctl: the front door. `evctl NOUN ...` becomes `evctl-NOUN ...`. */
#include "base/file.h"
#include "base/nearest.h"
#include "base/paths.h"
#include "base/program.h"
#include "base/synonym.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct noun {
	const char *name, *help;
} nouns[] = {{"init", "make the state"}, {"cred", "credentials: names and their secret values"},
	{"host", "hosts that code may reach"}, {"bind", "which credential a host injects"},
	{"expert", "sets of code tools"}, {"verify", "is every key that the code reads supplied?"},
	{"run", "run a tool"}, {"session", "sandboxes that many calls share"},
	{"batch", "many calls at once"}, {"node", "machines that batches may be sealed to"},
	{"buyer", "whom the door lets in"}, {"serve", "the door for buyers at a distance"},
	{"artifact", "files that runs wrote"},
	{"conn", "outside APIs that the expert itself calls"},
	{"mcp", "a Model Context Protocol server"}, {"log", "what runs did, and the audit trail"},
	{"state", "the state file"}, {"doctor", "what this machine can enforce"},
	{"apply", "hosts, experts and grants from one file"}, {"help", "a noun's manual"}, {NULL}};

static char *program_path(const char *noun, struct err *e)
{
	char name[80];
	snprintf(name, sizeof name, "evctl-%s", noun);
	char *path = paths_beside(name, e);
	if (path)
		return path;
	err_set(e, ERR_FAIL, "there is no '%s' where evctl is", name);
	err_hint(e, "make, or install the whole of evctl");
	return NULL;
}

static bool is_noun(const char *word)
{
	for (const struct noun *n = nouns; n->name; n++)
		if (strcmp(n->name, word) == 0)
			return true;
	return false;
}

/* Runs evctl-PROGRAM with the options given before the noun, then the rest. Does not return. */
static int become(
	struct invocation *in, const char *program, const char *verb, size_t from, struct err *e)
{
	STRV_AUTO argv = {0};
	STR_AUTO path = program_path(program, e);
	if (!path)
		return -1;
	strv_addf(&argv, "evctl-%s", program);
	for (size_t i = 0; i < in->ngiven; i++) {
		const struct option_spec *o = in->given[i].spec;
		if (o->arg)
			strv_addf(&argv, "--%s=%s", o->name, in->given[i].value);
		else
			strv_addf(&argv, "--%s", o->name);
	}
	if (verb)
		strv_add(&argv, verb);
	for (size_t i = from; i < in->args.n; i++)
		strv_add(&argv, in->args.v[i]);
	if (argv.failed)
		return err_set(e, ERR_FAIL, "out of memory");
	execv(path, argv.v);
	err_errno(e, ERR_FAIL, "cannot start '%s'", path);
	return err_hint(e, "make, or install the whole of evctl");
}

/* ---- help ---------------------------------------------------------------------------------- */

/* Pages that are no program's. */
static const struct topic {
	const char *name, *page;
	int section;
	const char *help;
} topics[] = {
	{"contract", "evctl-contract", 7, "what every program promises"},
	{"reads", "evctl-reads", 7, "what counts as a read of EV_KEYS"},
	{"expert.yaml", "expert.yaml", 5, "the file that describes an expert"},
};
#define NTOPICS (sizeof topics / sizeof *topics)

/* What a topic is called among the manual pages; false if it is none. */
static bool find_page(const char *topic, char page[64], int *section)
{
	const char *noun = strncmp(topic, "evctl-", 6) == 0 ? topic + 6 : topic;
	for (size_t i = 0; i < NTOPICS; i++)
		if (strcmp(noun, topics[i].name) == 0) {
			*section = topics[i].section;
			snprintf(page, 64, "%s", topics[i].page);
			return true;
		}
	*section = 1;
	if (strcmp(topic, "evctl") == 0 || strcmp(noun, "help") == 0)
		snprintf(page, 64, "evctl");
	else if (strcmp(noun, "init") == 0)
		snprintf(page, 64, "evctl-state");
	else if (is_noun(noun))
		snprintf(page, 64, "evctl-%s", noun);
	else
		return false;
	return true;
}

/* What is near to a word that is no noun, nor (for help) a topic. */
static int unknown(enum err_code code, const char *what, const char *lead, const char *word,
	size_t ntopics, struct err *e)
{
	const char *words[sizeof nouns / sizeof *nouns + NTOPICS];
	size_t n = 0;
	for (; nouns[n].name; n++)
		words[n] = nouns[n].name;
	for (size_t i = 0; i < ntopics; i++)
		words[n++] = topics[i].name;
	words[n] = NULL;
	const char *near = synonym_word(word, words);
	const char *command = code == ERR_USAGE ? synonym_command("evctl", word, false) : NULL;
	bool surely = command && synonym_command("evctl", word, true);
	if (!near && !command)
		near = nearest_word(word, words);
	err_set(e, code, "%s '%.60s'", what, word);
	if (strcmp(word, "version") == 0)
		return err_hint(e, "did you mean 'evctl --version'?");
	if (command && (surely || !near))
		return err_hint(e, "did you mean '%s'?", command);
	return near ? err_hint(e, "did you mean '%s %s'?", lead, near)
		    : err_hint(e, "evctl --help");
}

/* Runs man on a page, from where this program was installed or built. Returns if it cannot. */
static void show_page(const char *page, int section)
{
	char tail[160];
	struct err none = {0};
	snprintf(tail, sizeof tail, "../share/man/man%d/%s.%d", section, page, section);
	STR_AUTO installed = paths_beside(tail, &none);
	snprintf(tail, sizeof tail, "../man/%s.%d", page, section);
	STR_AUTO built = paths_beside(tail, &none);
	const char *file = installed ? installed : built;
	if (file)
		execlp("man", "man", "-l", file, NULL);
	else
		execlp("man", "man", page, NULL);
}

static int help(const struct invocation *in, struct err *e)
{
	const char *topic = arg(in, 1);
	char page[64];
	int section;
	if (!topic) {
		execl("/proc/self/exe", "evctl", "--help", NULL);
		return err_errno(e, ERR_FAIL, "cannot start evctl again");
	}
	if (!find_page(topic, page, &section))
		return unknown(ERR_NOTFOUND, "no help on", "evctl help", topic, NTOPICS, e);
	show_page(page, section);
	/* No manual viewer here: a program's own help says nearly as much. */
	if (section == 1) {
		STR_AUTO path = strcmp(page, "evctl") == 0
					? strdup("/proc/self/exe")
					: program_path(page + strlen("evctl-"), e);
		if (path)
			execl(path, page, "--help", NULL);
	}
	err_set(e, ERR_FAIL, "there is no 'man' to show %s(%d)", page, section);
	return err_hint(e, "apt-get install man-db");
}

static int run(struct invocation *in, struct err *e)
{
	const char *noun = arg(in, 0);
	if (strcmp(noun, "help") == 0)
		return help(in, e);
	if (!is_noun(noun))
		return unknown(ERR_USAGE, "unknown command", "evctl", noun, 0, e);
	if (strcmp(noun, "init") == 0)
		return become(in, "state", "init", 1, e);
	return become(in, noun, NULL, 1, e);
}

static const struct arg_spec args[] = {
	{"NOUN", NAME_WORD}, {"ARG", NAME_NONE, NULL, true, true}, {NULL}};
static const struct verb verbs[] = {{NULL, "", args, NULL, NULL, run}, {NULL}};

static const struct program program = {.name = "evctl",
	.summary = "package private Python as a tool, run it sealed, hand out the result only\n\n"
		   "Nouns: cred host bind expert verify run session artifact conn mcp log state\n"
		   "       doctor apply batch node buyer serve; and init.\n"
		   "       `evctl NOUN ...` runs `evctl-NOUN ...`",
	.examples = "  evctl init                                   # once\n"
		    "  evctl cred add CRM_KEY                       # 1. a credential\n"
		    "  evctl host add api.crm.example               # 2. a host\n"
		    "  evctl bind set api.crm.example CRM_KEY       # 3. bind one to the other\n"
		    "  evctl expert create crm --dir ./crm\n"
		    "  evctl expert attach crm api.crm.example      # 4. attach the host\n"
		    "  evctl verify crm                             # 5. is every key supplied?\n"
		    "  evctl run crm count-leads --arg month=2026-10\n",
	.verbs = verbs,
	.rest_is_command = true};

/* ---- completion ---------------------------------------------------------------------------- */

static bool takes_value(const char *word)
{
	if (strchr(word, '='))
		return false;
	for (const struct option_spec *o = common_options; o->name; o++)
		if (o->arg && ((strncmp(word, "--", 2) == 0 && strcmp(word + 2, o->name) == 0) ||
				      (o->letter && word[1] == o->letter && !word[2])))
			return true;
	return false;
}

/* Where the noun is among the words before the one being typed; n when it is not there yet. */
static int find_noun(int n, char **words)
{
	for (int i = 0; i < n; i++) {
		if (words[i][0] != '-')
			return i;
		i += takes_value(words[i]);
	}
	return n;
}

/* `evctl NOUN ...` completes as evctl-NOUN does, with the options before the noun. */
static void complete_noun(int noun, int n, char **words)
{
	struct err e = {0};
	bool init = strcmp(words[noun], "init") == 0;
	STR_AUTO path = program_path(init ? "state" : words[noun], &e);
	STRV_AUTO argv = {0};
	strv_addf(&argv, "evctl-%s", words[noun]);
	strv_add(&argv, "--complete");
	for (int i = 0; i < n; i++)
		if (i != noun || init)
			strv_add(&argv, words[i]);
	if (path && !argv.failed)
		execv(path, argv.v);
}

static void offer(const char *word, const char *help, const char *prefix)
{
	if (strncmp(word, prefix, strlen(prefix)) == 0)
		printf("%s\t%s\n", word, help);
}

static void offer_nouns(const char *prefix)
{
	for (size_t i = 0; nouns[i].name; i++)
		offer(nouns[i].name, nouns[i].help, prefix);
}

/* n words, the last of them being typed. True when all is said. */
static bool complete(int n, char **words)
{
	int noun = n > 0 ? find_noun(n - 1, words) : 0;
	if (noun + 1 < n && strcmp(words[noun], "help") == 0) {
		offer_nouns(words[n - 1]);
		for (size_t i = 0; i < NTOPICS; i++)
			offer(topics[i].name, topics[i].help, words[n - 1]);
		return true;
	}
	if (noun + 1 < n) {
		if (is_noun(words[noun]))
			complete_noun(noun, n, words);
		return true;
	}
	if (n > 0 && (words[n - 1][0] == '-' || (n > 1 && takes_value(words[n - 2]))))
		return false; /* the common options, as every program's */
	offer_nouns(n > 0 ? words[n - 1] : "");
	return true;
}

int main(int argc, char **argv)
{
	if (argc >= 2 && strcmp(argv[1], "--complete") == 0 && complete(argc - 2, argv + 2))
		return 0;
	return program_main(&program, argc, argv);
}
