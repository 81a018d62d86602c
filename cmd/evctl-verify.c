/* evctl-verify: is every key that the code reads supplied? */
#include "base/file.h"
#include "base/output.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/cli.h"
#include "state/livenames.h"
#include "verify/check.h"
#include "verify/findings.h"
#include "verify/report.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One argument, from its reading to its verdict. */
struct job {
	const char *given;
	bool is_dir;	 /* else the name of an expert */
	bool registered; /* the state knows it as an expert */
	struct expert_view v;
	json_t *verdict;
	struct err e; /* why there is no verdict */
};

struct jobs {
	const struct invocation *in;
	struct state_place place;
	struct state *st; /* NULL: there is none */
	struct job *v;
	size_t n;
	atomic_size_t next;
};

static void jobs_free(struct jobs *j)
{
	for (size_t i = 0; i < j->n; i++) {
		expert_view_free(&j->v[i].v);
		json_decref(j->v[i].verdict);
	}
	free(j->v);
	state_place_free(&j->place);
}

/* ---- reading and scanning: no database, so that it can run on every core --------------------- */

static bool has_manifest(int dirfd)
{
	struct stat s;
	return fstatat(dirfd, MANIFEST_FILE, &s, AT_SYMLINK_NOFOLLOW) == 0 ||
	       fstatat(dirfd, "expert.yml", &s, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool has_python(const struct tree *t)
{
	for (size_t i = 0; i < t->n; i++) {
		size_t n = strlen(t->files[i].path);
		if (n > 3 && strcmp(t->files[i].path + n - 3, ".py") == 0)
			return true;
	}
	return false;
}

/*
 * A directory of code that is no expert yet is judged as it is: any of its files may be run. 1 it
 * is such a one, 0 it isn't, -1 error.
 */
static int read_bare(struct job *j, struct err *e)
{
	FD_AUTO fd = open(j->v.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || has_manifest(fd))
		return 0;
	if (tree_load(&j->v.t, fd, j->v.dir, NULL, e) < 0)
		return -1;
	if (!has_python(&j->v.t))
		return 0;
	char shown[TEXT_SHOWN_MAX];
	const char *slash = strrchr(j->v.dir, '/');
	j->v.name = strdup(text_shown(slash ? slash + 1 : j->v.dir, shown));
	j->v.reads = findings_make(NULL, &j->v.t, e);
	return j->v.name && j->v.reads ? 1 : err_set(e, ERR_FAIL, "out of memory");
}

static int read_dir(const struct state_place *place, struct job *j, struct err *e)
{
	struct expert_view *v = &j->v;
	STR_AUTO given = v->dir ? v->dir : strdup(j->given);
	v->dir = NULL;
	if (expert_read_dir(place, given, &v->dir, &v->m, &v->t, e) < 0) {
		if (!j->is_dir || e->code != ERR_NOTFOUND || !v->dir)
			return -1;
		struct err bare = {0};
		int r = read_bare(j, &bare);
		if (r < 0)
			*e = bare;
		if (r > 0)
			err_clear(e);
		return r > 0 ? 0 : -1;
	}
	if (v->name && strcmp(v->name, v->m.name) != 0) {
		err_set(e, ERR_USAGE, "%s/%s names the expert '%s', not '%s'", v->dir,
			MANIFEST_FILE, v->m.name, v->name);
		return err_hint(e, "write `name: %s` there", v->name);
	}
	if (!v->name)
		v->name = strdup(v->m.name);
	return v->name ? verify_find(v, e) : err_set(e, ERR_FAIL, "out of memory");
}

static void *work(void *arg_)
{
	struct jobs *js = arg_;
	size_t i;
	while ((i = atomic_fetch_add(&js->next, 1)) < js->n) {
		struct job *j = &js->v[i];
		if (j->e.code || j->v.reads)
			continue;
		read_dir(&js->place, j, &j->e);
		tree_free(&j->v.t);
	}
	return NULL;
}

/* Where a thread cannot be had, this one does the work. */
static void work_on_all_cores(struct jobs *js)
{
	pthread_t threads[16];
	size_t n = 0, cores = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
	while (n < 16 && n + 1 < cores && n + 1 < js->n &&
		pthread_create(&threads[n], NULL, work, js) == 0)
		n++;
	work(js);
	while (n)
		pthread_join(threads[--n], NULL);
}

/* ---- what the state says --------------------------------------------------------------------- */

static bool is_dir_arg(const char *s)
{
	return strchr(s, '/') || strcmp(s, ".") == 0;
}

/* Before the scan: which directory, or which snapshot. */
static int prepare(struct jobs *js, struct job *j, bool published)
{
	struct expert x;
	struct err *e = &j->e;
	j->is_dir = is_dir_arg(j->given);
	if (j->is_dir && published) {
		err_set(e, ERR_USAGE, "'--published' takes experts, not directories");
		return err_hint(e, "evctl-expert list");
	}
	if (j->is_dir)
		return 0;
	j->registered = true;
	if (published)
		return expert_load_meta(js->st, j->given, EXPERT_PUBLISHED, &j->v, e);
	if (expert_find(js->st, j->given, &x, e) < 0) {
		if (e->code == ERR_NOTFOUND && access(j->given, F_OK) == 0)
			err_hint(e, "for the directory: evctl-verify ./%s", j->given);
		return -1;
	}
	j->v = (struct expert_view){.id = x.id, .name = x.name, .dir = x.dir};
	return expert_load_hosts(js->st, &j->v, e);
}

/* The directory of an expert that is known by the name in its expert.yaml is that expert. */
static int recognise(struct state *st, struct job *j, struct err *e)
{
	bool found;
	if (!j->v.m.name)
		return 0;
	if (expert_at(st, j->v.m.name, j->v.dir, &j->v.id, &found, e) < 0)
		return -1;
	j->registered = found;
	return found ? expert_load_hosts(st, &j->v, e) : 0;
}

/* Else the hosts are those that expert.yaml names, as they are declared and bound now. */
static int take_manifest_hosts(struct jobs *js, struct job *j, struct err *e)
{
	for (size_t i = 0; i < j->v.m.hosts.n; i++) {
		BOUND_HOST_AUTO h = {0};
		struct err one = {0};
		const char *name = j->v.m.hosts.v[i];
		if (host_find(js->st, name, &h, &one) == 0) {
			if (expert_add_host(&j->v, &h, e) < 0)
				return -1;
		} else if (one.code == ERR_NOTFOUND) {
			program_note(js->in, "host '%s' of '%s' is not declared: evctl-host add %s",
				name, j->given, name);
		} else {
			*e = one;
			return -1;
		}
	}
	return 0;
}

static void judge(struct jobs *js, struct job *j)
{
	if (j->e.code)
		return;
	if (j->is_dir && js->st &&
		(recognise(js->st, j, &j->e) < 0 ||
			(!j->registered && take_manifest_hosts(js, j, &j->e) < 0)))
		return;
	j->verdict = verify_view(js->st, &j->v, j->registered, &j->e);
}

/* ---- output ---------------------------------------------------------------------------------- */

/* The directory as seen from here, with a slash: "", "experts/crm/", or absolute. */
static char *prefix_of(const struct job *j)
{
	STR_AUTO here = realpath(".", NULL);
	const char *dir = j->v.dir ? j->v.dir : "";
	size_t n = here ? strlen(here) : 0;
	char *out = NULL;
	if (n > 1 && strncmp(dir, here, n) == 0 && (!dir[n] || dir[n] == '/'))
		dir += n + (dir[n] == '/');
	if (asprintf(&out, "%s%s", dir, *dir ? "/" : "") < 0)
		return NULL;
	return out;
}

/* Paths as the caller gave the directory; of an expert given by name, as in its directory. */
static char *shown_prefix(const struct job *j)
{
	char *out = NULL;
	size_t n = strlen(j->given);
	const char *slash = n && j->given[n - 1] == '/' ? "" : "/";
	if (!j->is_dir || strcmp(j->given, ".") == 0 || strcmp(j->given, "./") == 0)
		return strdup("");
	return asprintf(&out, "%s%s", j->given, slash) < 0 ? NULL : out;
}

static void print_text(const struct jobs *js)
{
	bool several = js->n > 1, first = true;
	for (size_t i = 0; i < js->n; i++) {
		const struct job *j = &js->v[i];
		STR_AUTO prefix = shown_prefix(j);
		BUF_AUTO out = {0};
		if (!j->verdict)
			continue;
		if (several)
			printf("%s%s:\n", first ? "" : "\n", j->v.name);
		first = false;
		report_text(j->verdict,
			&(struct report_style){terminal_color(stdout), prefix ? prefix : ""}, &out);
		fwrite(buf_str(&out), 1, out.len, stdout);
	}
}

static void print_sarif(const struct jobs *js)
{
	STRV_AUTO prefixes = {0};
	json_t **verdicts = calloc(js->n, sizeof *verdicts);
	size_t n = 0;
	for (size_t i = 0; verdicts && i < js->n; i++) {
		STR_AUTO prefix = prefix_of(&js->v[i]);
		if (!js->v[i].verdict)
			continue;
		verdicts[n++] = js->v[i].verdict;
		strv_add(&prefixes, prefix ? prefix : "");
	}
	JSON_AUTO sarif = report_sarif(verdicts, (const char *const *)prefixes.v, n);
	output_json_line(stdout, sarif, JSON_INDENT(1));
	free(verdicts);
}

static int print_json(const struct jobs *js, struct err *e)
{
	static const struct column names[] = {{"EXPERT", "expert"}, {NULL, NULL}};
	if (js->n == 1)
		return js->v[0].verdict
			       ? output_object(js->in, names, json_incref(js->v[0].verdict), e)
			       : 0;
	json_t *rows = json_array();
	for (size_t i = 0; i < js->n; i++)
		if (js->v[i].verdict)
			json_array_append(rows, js->v[i].verdict);
	return output_list(js->in, names, rows, e);
}

static int print(const struct jobs *js, struct err *e)
{
	const char *word = js->in->common.output;
	if (js->in->output != OUTPUT_TEXT)
		return print_json(js, e);
	if (word && strcmp(word, "sarif") == 0)
		print_sarif(js);
	else
		print_text(js);
	return 0;
}

/* ---- the program ----------------------------------------------------------------------------- */

static bool any_names(const struct invocation *in)
{
	for (size_t i = 0; i < in->args.n; i++)
		if (!is_dir_arg(in->args.v[i]))
			return true;
	return false;
}

/* Directories alone can be judged without a state, and then nothing is bound. */
static int open_state(struct jobs *js, struct state *st, struct err *e)
{
	const struct invocation *in = js->in;
	struct err quiet = {0};
	if (cli_place(in, &js->place, e) < 0)
		return -1;
	STR_AUTO path = state_place_path(&js->place, "state.db", &quiet);
	if (!any_names(in) && (!path || !file_exists(path))) {
		if (in->common.state)
			program_note(in, "there is no state in '%s': no host supplies anything",
				in->common.state);
		return 0;
	}
	if (state_open(st, &js->place, STATE_READ, e) < 0)
		return -1;
	js->st = st;
	return 0;
}

static int exit_code(const struct jobs *js, bool strict)
{
	for (size_t i = 0; i < js->n; i++) {
		const char *status = js->v[i].verdict ? verify_status(js->v[i].verdict) : "green";
		if (strcmp(status, "red") == 0 || (strict && strcmp(status, "amber") == 0))
			return ERR_FINDINGS;
	}
	return 0;
}

/* The first argument that could not be judged is the error; the others were printed. */
static int first_error(const struct jobs *js, struct err *e)
{
	for (size_t i = 0; i < js->n; i++) {
		if (js->v[i].e.code) {
			*e = js->v[i].e;
			return -1;
		}
	}
	return 0;
}

struct judging {
	bool published, strict;
};

static int run_verify(struct invocation *in, struct err *e)
{
	const struct judging *o = in->options;
	STATE_AUTO st = {0};
	__attribute__((cleanup(jobs_free))) struct jobs js = {.in = in, .n = in->args.n};
	js.v = calloc(js.n, sizeof *js.v);
	if (!js.v)
		return err_set(e, ERR_FAIL, "out of memory");
	if (open_state(&js, &st, e) < 0)
		return -1;
	for (size_t i = 0; i < js.n; i++) {
		js.v[i].given = in->args.v[i];
		prepare(&js, &js.v[i], o->published);
	}
	work_on_all_cores(&js);
	for (size_t i = 0; i < js.n; i++)
		judge(&js, &js.v[i]);
	in->exit_code = exit_code(&js, o->strict);
	if (js.n == 1 && js.v[0].e.code)
		return first_error(&js, e);
	return print(&js, e) < 0 ? -1 : first_error(&js, e);
}

static const struct arg_spec args[] = {{"EXPERT|DIR", NAME_EXPERT, NULL, false, true}, {NULL}};
static const struct option_spec options[] = {
	OPT_FLAG(struct judging, published, "published", "judge what is published, not the draft"),
	OPT_FLAG(struct judging, strict, "strict", "amber counts as a finding too"),
	OPT_END(struct judging)};

static const struct verb verbs[] = {
	{NULL, "judge experts: is every key that their code reads supplied?", args, options, NULL,
		run_verify, "sarif"},
	{NULL}};

static const struct program program = {.name = "evctl-verify",
	.summary = "find every key that code reads, and what is missing, without running it",
	.examples = "  evctl-verify crm-helper\n"
		    "  evctl-verify ./crm-helper --strict       # a directory has a '/' or is '.'\n"
		    "  evctl-verify experts/*/ -o sarif > evctl.sarif\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}
