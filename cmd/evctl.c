/* evctl: the front door. `evctl NOUN ...` becomes `evctl-NOUN ...`. */
#include "base/file.h"
#include "base/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const nouns[] = {"cred", "host", "bind", "expert", "verify", "run", "session",
	"artifact", "conn", "mcp", "log", "state", "doctor", "apply", "init", "help", NULL};

static char *beside_me(const char *name, struct err *e)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	char *out = NULL;
	if (n > 0) {
		self[n] = '\0';
		char *slash = strrchr(self, '/');
		if (slash)
			*slash = '\0';
		if (asprintf(&out, "%s/evctl-%s", self, name) < 0)
			out = NULL;
	}
	if (!out)
		err_set(e, ERR_FAIL, "cannot find where evctl is installed");
	return out;
}

static bool is_noun(const char *word)
{
	for (const char *const *n = nouns; *n; n++)
		if (strcmp(*n, word) == 0)
			return true;
	return false;
}

static int unknown(const char *word, struct err *e)
{
	const char *near = nearest_word(word, nouns);
	err_set(e, ERR_USAGE, "unknown command '%.60s'", word);
	return near ? err_hint(e, "did you mean 'evctl %s'?", near) : err_hint(e, "evctl --help");
}

/* Runs evctl-PROGRAM with the options given before the noun, then the rest. Does not return. */
static int become(struct invocation *in, const char *program, const char *verb, size_t from,
	struct err *e)
{
	STRV_AUTO argv = {0};
	STR_AUTO path = beside_me(program, e);
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

static int help(struct invocation *in, struct err *e)
{
	const char *topic = arg(in, 1);
	if (!topic) {
		execl("/proc/self/exe", "evctl", "--help", NULL);
		return err_errno(e, ERR_FAIL, "cannot start evctl again");
	}
	STR_AUTO page = NULL;
	if (asprintf(&page, strchr(topic, '.') || strcmp(topic, "contract") == 0 ||
				    strncmp(topic, "evctl", 5) == 0
				? "%s"
				: "evctl-%s",
		    strcmp(topic, "contract") == 0 ? "evctl-contract" : topic) < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	if (is_noun(topic) && !isatty(STDOUT_FILENO)) {
		STR_AUTO path = beside_me(topic, e);
		if (path)
			execl(path, page, "--help", NULL);
	}
	execlp("man", "man", page, NULL);
	err_set(e, ERR_NOTFOUND, "no manual viewer here");
	return err_hint(e, "%s --help", page);
}

static int run(struct invocation *in, struct err *e)
{
	const char *noun = arg(in, 0);
	if (strcmp(noun, "help") == 0)
		return help(in, e);
	if (!is_noun(noun))
		return unknown(noun, e);
	if (strcmp(noun, "init") == 0)
		return become(in, "state", "init", 1, e);
	return become(in, noun, NULL, 1, e);
}

static const struct arg_spec args[] = {{"NOUN", NAME_WORD, NULL, false, false},
	{"ARG", NAME_NONE, NULL, true, true}, {NULL}};
static const struct verb verbs[] = {{NULL, "", args, NULL, NULL, run}, {NULL}};

static const struct program program = {.name = "evctl",
	.summary = "package private Python as a tool, run it sealed, hand out the result only\n\n"
		   "Nouns: cred host bind expert verify run session artifact conn mcp log state\n"
		   "       doctor apply; and init. `evctl NOUN ...` runs `evctl-NOUN ...`",
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

/* `evctl NOUN ...` completes as evctl-NOUN does. */
static void complete_noun(int argc, char **argv)
{
	struct err e = {0};
	STR_AUTO path = beside_me(strcmp(argv[2], "init") == 0 ? "state" : argv[2], &e);
	STRV_AUTO words = {0};
	strv_addf(&words, "evctl-%s", argv[2]);
	strv_add(&words, "--complete");
	if (strcmp(argv[2], "init") == 0)
		strv_add(&words, "init");
	for (int i = 3; i < argc; i++)
		strv_add(&words, argv[i]);
	if (path && !words.failed)
		execv(path, words.v);
}

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "--complete") == 0 && is_noun(argv[2]))
		complete_noun(argc, argv);
	if (argc == 3 && strcmp(argv[1], "--complete") == 0 && argv[2][0] != '-') {
		for (const char *const *n = nouns; *n; n++)
			if (strncmp(*n, argv[2], strlen(argv[2])) == 0)
				puts(*n);
		return 0;
	}
	return program_main(&program, argc, argv);
}
