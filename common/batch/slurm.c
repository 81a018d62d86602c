#include "batch/batch_in.h"

#include "base/child.h"
#include "base/file.h"
#include "base/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND_MS 60000
#define OUTPUT_MAX ((size_t)64 << 20)
#define ARRAY_DEFAULT 1001
#define PAUSE_MS 1000 /* before a submission is tried again, longer each time */
#define PAUSES 6
#define SPARE_MB 200 /* beside what a tool may have */

/* ---- its commands -------------------------------------------------------------------------- */

static char *find_command(const char *name, struct err *e)
{
	const char *path = getenv("PATH");
	for (const char *p = path ? path : ""; *p;) {
		size_t n = strcspn(p, ":");
		char *file = NULL;
		if (p[0] == '/' && asprintf(&file, "%.*s/%s", (int)n, p, name) > 0 &&
			access(file, X_OK) == 0)
			return file;
		free(file);
		p += n + (p[n] == ':');
	}
	err_set(e, ERR_NOTFOUND, "engine 'slurm' is not here: there is no '%s'", name);
	err_hint(e, "install Slurm's client, or --engine local");
	return NULL;
}

int slurm_here(struct err *e)
{
	STR_AUTO file = find_command("sbatch", e);
	return file ? 0 : -1;
}

/* Runs one; 0 and its output where it ended with 0, -1 with what it said. */
static int run_command(const char *const *args, const char *input, struct buf *out, struct err *e)
{
	const char *argv[64] = {NULL};
	STR_AUTO file = find_command(args[0], e);
	struct child c = CHILD_NONE;
	int status = 0;
	if (!file)
		return -1;
	argv[0] = file;
	for (size_t i = 1; i < 63 && args[i]; i++)
		argv[i] = args[i];
	FD_AUTO in = fd_from_bytes("script", input ? input : "", input ? strlen(input) : 0);
	FD_AUTO to = memfd_create("output", MFD_CLOEXEC);
	const int fds[3] = {in, to, to};
	const struct child_spec spec = {
		.argv = argv, .envp = (const char *const *)environ, .fds = fds, .nfds = 3};
	if (in < 0 || to < 0 || child_start(&c, &spec, e) < 0)
		return err_set(e, ERR_FAIL, "cannot start '%s'", args[0]);
	if (child_wait(&c, &status, clock_mono_ms() + COMMAND_MS) == 0) {
		child_kill(&c);
		return err_set(e, ERR_BUSY, "'%s' does not end", args[0]);
	}
	out->limit = OUTPUT_MAX;
	if (lseek(to, 0, SEEK_SET) < 0 || fd_read_all(to, out) < 0)
		return err_errno(e, ERR_FAIL, "cannot read what '%s' said", args[0]);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_set(e, ERR_FAIL, "'%s' failed: %.*s", args[0], (int)strcspn(buf_str(out), "\n"),
		buf_str(out));
}

/* ---- submitting ---------------------------------------------------------------------------- */

static int64_t array_limit(void)
{
	BUF_AUTO out = {0};
	struct err quiet = {0};
	const char *const args[] = {"scontrol", "show", "config", NULL};
	const char *at = NULL;
	if (run_command(args, NULL, &out, &quiet) == 0)
		at = strstr(buf_str(&out), "MaxArraySize");
	at = at ? strchr(at, '=') : NULL;
	long long n = at ? strtoll(at + 1, NULL, 10) : 0;
	return n > 0 ? n : ARRAY_DEFAULT;
}

/* What was submitted although the answer was a failure is adopted by its name. */
static int adopt(const char *name, char job[32], struct err *e)
{
	BUF_AUTO out = {0};
	char by_name[96];
	snprintf(by_name, sizeof by_name, "--name=%s", name);
	const char *const args[] = {"squeue", "-h", "--states=all", by_name, "-o", "%F", NULL};
	if (run_command(args, NULL, &out, e) < 0)
		return -1;
	size_t n = strspn(buf_str(&out), "0123456789");
	snprintf(job, 32, "%.*s", (int)(n < 31 ? n : 31), buf_str(&out));
	return n ? 1 : 0;
}

/* Where waiting helps. */
static bool may_pass(const struct err *was)
{
	return was->code == ERR_BUSY || strstr(was->msg, "Unable to contact") ||
	       strstr(was->msg, "imeout") || strstr(was->msg, "limit") ||
	       strstr(was->msg, "temporarily") || strstr(was->msg, "Socket");
}

static int try_once(
	const char *const *args, const char *script, const char *name, char job[32], struct err *e)
{
	BUF_AUTO out = {0};
	struct err quiet = {0};
	if (run_command(args, script, &out, e) < 0)
		return adopt(name, job, &quiet) > 0 ? 0 : -1;
	/* What it warns of may stand before the number. */
	const char *line = buf_str(&out);
	for (const char *s = line; *s; s += strcspn(s, "\n"), s += *s == '\n')
		line = s;
	size_t n = strspn(line, "0123456789");
	snprintf(job, 32, "%.*s", (int)(n < 31 ? n : 31), line);
	return n ? 0 : err_set(e, ERR_FAIL, "'sbatch' said no job: %.200s", buf_str(&out));
}

static int submit(
	const char *const *args, const char *script, const char *name, char job[32], struct err *e)
{
	for (int i = 0;; i++) {
		struct err was = {0};
		if (try_once(args, script, name, job, &was) == 0)
			return 0;
		if (i == PAUSES || !may_pass(&was)) {
			*e = was;
			return -1;
		}
		usleep((useconds_t)(PAUSE_MS * 1000U) << i);
	}
}

static int make_script(const struct remote *r, int64_t offset, struct buf *b, struct err *e)
{
	buf_adds(b, "#!/bin/sh\nexec ");
	buf_addword(b, r->program);
	buf_addc(b, ' ');
	buf_addword(b, r->d->b.spool);
	buf_addf(b, " +%lld\n", (long long)offset);
	return buf_failed(b) ? err_set(e, ERR_FAIL, "out of memory") : 0;
}

static int submit_part(struct remote *r, size_t from, size_t to, struct err *e)
{
	const struct drive *d = r->d;
	const json_t *more = json_object_get(d->b.settings, "options");
	BUF_AUTO script = {0};
	char array[48], name[64], named[80], job[32], memory[48];
	STR_AUTO errors = NULL;
	int64_t offset = r->v[from]->chunk.chunk;
	snprintf(array, sizeof array, "--array=0-%zu", to - from - 1);
	snprintf(name, sizeof name, "evctl-%s-%lld", d->b.id, (long long)offset);
	snprintf(memory, sizeof memory, "--mem=%lldM",
		(long long)(json_int_of(d->b.settings, "memory") >> 20) + SPARE_MB);
	snprintf(named, sizeof named, "--job-name=%s", name);
	if (asprintf(&errors, "--error=%s/log/%%A_%%a", d->b.spool) < 0) {
		errors = NULL;
		return err_set(e, ERR_FAIL, "out of memory");
	}
	const char *args[64] = {"sbatch", "--parsable", "--export=NIL", "--no-requeue",
		"--ntasks=1", "--signal=B:TERM@30", "--output=/dev/null", errors, named, array,
		memory};
	size_t n = 11;
	for (size_t i = 0; i < json_array_size(more) && n < 62; i++)
		args[n++] = json_string_value(json_array_get(more, i));
	if (make_script(r, offset, &script, e) < 0 ||
		submit(args, buf_str(&script), name, job, e) < 0)
		return -1;
	for (size_t i = from; i < to; i++) {
		struct batch_chunk *c = &r->v[i]->chunk;
		if (asprintf(&c->job, "%s_%zu", job, i - from) < 0) {
			c->job = NULL;
			return err_set(e, ERR_FAIL, "out of memory");
		}
		r->v[i]->alive = clock_mono_ms();
		if (batch_set_job(d->st, d->b.id, c->chunk, c->job, e) < 0)
			return -1;
	}
	return 0;
}

int slurm_submit(struct remote *r, size_t from, size_t to, struct err *e)
{
	size_t most = (size_t)array_limit();
	if (state_begin(r->d->st, e) < 0)
		return -1;
	int done = 0;
	for (; done == 0 && from < to; from += most)
		done = submit_part(r, from, to - from > most ? from + most : to, e);
	if (done == 0)
		return state_commit(r->d->st, e);
	state_rollback(r->d->st);
	return -1;
}

/* ---- looking ------------------------------------------------------------------------------- */

static bool lives(const char *state)
{
	static const char *const over[] = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE",
		"FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"};
	for (size_t i = 0; i < sizeof over / sizeof over[0]; i++)
		if (strncmp(state, over[i], strlen(over[i])) == 0)
			return false;
	return true;
}

static const char *job_of(const struct remote_flow *f)
{
	return f->chunk.job ? f->chunk.job : "";
}

static int by_job(const void *a, const void *b)
{
	return strcmp(
		job_of(*(struct remote_flow *const *)a), job_of(*(struct remote_flow *const *)b));
}

static int is_job(const void *id, const void *flow)
{
	return strcmp(id, job_of(*(struct remote_flow *const *)flow));
}

static void mark(struct remote_flow **sorted, size_t n, const char *line)
{
	char id[32], state[32];
	if (sscanf(line, "%31s %31s", id, state) != 2 || !lives(state))
		return;
	struct remote_flow **f = bsearch(id, sorted, n, sizeof *sorted, is_job);
	if (f)
		(*f)->alive = clock_mono_ms();
}

static void mark_all(struct remote *r, const char *lines)
{
	struct remote_flow **sorted = r->n ? calloc(r->n, sizeof *sorted) : NULL;
	if (!sorted)
		return;
	memcpy(sorted, r->v, r->n * sizeof *sorted);
	qsort(sorted, r->n, sizeof *sorted, by_job);
	for (const char *s = lines; *s; s += *s == '\n') {
		mark(sorted, r->n, s);
		s += strcspn(s, "\n");
	}
	free(sorted);
}

void slurm_look(struct remote *r)
{
	BUF_AUTO out = {0};
	struct err away = {0};
	char by_name[64];
	snprintf(by_name, sizeof by_name, "--user=%lu", (unsigned long)geteuid());
	const char *const args[] = {
		"squeue", "-h", "-r", by_name, "--states=all", "-o", "%i %T", NULL};
	r->away = run_command(args, NULL, &out, &away) < 0;
	if (!r->away)
		mark_all(r, buf_str(&out));
}

/* Whole arrays: the flows of one stand together, and all of a batch is cancelled. */
void slurm_cancel(struct remote *r)
{
	char last[32] = "";
	for (size_t i = 0; i < r->n; i++) {
		struct err quiet = {0};
		BUF_AUTO out = {0};
		char array[32];
		const char *job = job_of(r->v[i]);
		snprintf(array, sizeof array, "%.*s", (int)strcspn(job, "_"), job);
		const char *const args[] = {"scancel", array, NULL};
		if (!*array || strcmp(array, last) == 0)
			continue;
		memcpy(last, array, sizeof last);
		run_command(args, NULL, &out, &quiet);
	}
}
