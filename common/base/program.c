#include "base/program.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/complete.h"
#include "base/help.h"
#include "base/say.h"
#include "base/spec.h"
#include "base/swapped.h"

#define STACK_LEAST ((rlim_t)512 << 10)
#define STACK_WANTED ((rlim_t)8 << 20)

/* Where whoever found the fault knew no mend, these know more. */
static void hint_at_least(const struct invocation *in, struct err *e)
{
	const char *verb = in->verb && in->verb->name ? in->verb->name : "";
	if (e->hint[0])
		return;
	if (e->code == ERR_USAGE)
		err_hint(e, "%s%s%s --help", in->program->name, *verb ? " " : "", verb);
	else if ((e->code == ERR_STATE || e->code == ERR_KEY) &&
		 strcmp(in->program->name, "evctl-doctor") != 0)
		err_hint(e, "evctl doctor");
}

static bool wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const char *a = argv[i];
		if (strcmp(a, "-ojson") == 0 || strcmp(a, "--output=json") == 0 ||
			strcmp(a, "-o=json") == 0)
			return true;
		if ((strcmp(a, "-o") == 0 || strcmp(a, "--output") == 0) && i + 1 < argc &&
			strcmp(argv[i + 1], "json") == 0)
			return true;
	}
	return false;
}

static int missing_verb(const struct invocation *in, struct err *e)
{
	err_set(e, ERR_USAGE, "no verb given");
	return err_hint(e, "%s --help", in->program->name);
}

static int work(struct invocation *in, int argc, char **argv, struct err *e)
{
	if (argv_read(in, argc, argv, e) < 0)
		return -1;
	if (in->common.help) {
		help_print(stdout, in->program, in->verb);
		return 0;
	}
	if (in->common.version) {
		printf("%s %s\n", in->program->name, EVCTL_VERSION);
		return 0;
	}
	if (argv_output(in, e) < 0)
		return -1;
	if (!in->verb)
		return missing_verb(in, e);
	return argv_check(in, e) < 0 ? -1 : in->verb->run(in, e);
}

/*
 * A closed 0, 1 or 2 would be the number of the next file that is opened, and what is printed would
 * go into it. The stand-ins can be neither read nor written, so that a closed output is noticed.
 */
static void occupy_standard_descriptors(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		int got = open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
		if (got != fd)
			_exit(ERR_FAIL);
		fcntl(fd, F_SETFD, 0);
	}
}

/*
 * Owner's bits are not taken away from what is made here, whatever the caller's mask says: a file
 * that its owner cannot open is of no use. The main stack grows up to the limit of the moment.
 */
static int prepare(struct err *e)
{
	struct rlimit r;
	umask(umask(0) & 077);
	if (getrlimit(RLIMIT_STACK, &r) < 0 || r.rlim_cur >= STACK_LEAST)
		return 0;
	const struct rlimit raised = {STACK_WANTED, STACK_WANTED}, most = {r.rlim_max, r.rlim_max};
	if (r.rlim_max >= STACK_LEAST ? setrlimit(RLIMIT_STACK, &most) == 0
				      : setrlimit(RLIMIT_STACK, &raised) == 0)
		return 0;
	err_set(e, ERR_SANDBOX, "the stack is limited to %llu KB, which is too little",
		(unsigned long long)r.rlim_max / 1024);
	return err_hint(e, "raise it: ulimit -s 8192");
}

/* A shell goes on with its loop where a program merely ends after Ctrl-C. */
static void die_by(int sig)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, sig);
	signal(sig, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
}

int program_main(const struct program *p, int argc, char **argv)
{
	struct err e = {0};
	struct invocation in = {.program = p};
	occupy_standard_descriptors();
	signal(SIGXFSZ, SIG_IGN); /* a limit on files is an error to tell of */
	if (argc == 2 && strcmp(argv[1], "--dump-spec") == 0) {
		spec_print(p, stdout);
		return 0;
	}
	if (argc >= 2 && strcmp(argv[1], "--complete") == 0) {
		complete_print(p, argc - 2, argv + 2);
		return 0;
	}
	if (wants_json(argc, argv))
		in.output = OUTPUT_JSON;
	int r = prepare(&e) < 0 ? -1 : work(&in, argc, argv, &e);
	int code = r < 0 ? ERR_EXIT_CODE(e.code) : in.exit_code;
	if (r < 0 && !in.silent) {
		swapped_hint(&in, &e);
		hint_at_least(&in, &e);
		say_error(&in, &e);
	}
	if ((fflush(stdout) != 0 || ferror(stdout)) && code == 0) {
		struct err out = {0};
		err_errno(&out, ERR_FAIL, "cannot write the output");
		err_hint(&out, "check the disk and where the output goes");
		say_error(&in, &out);
		code = ERR_FAIL;
	}
	argv_free(&in);
	if (in.dies_by)
		die_by(in.dies_by);
	return code;
}
