#include "verify/judge.h"
#include "base/file.h"
#include "base/text.h"
#include "verify/check.h"
#include "verify/findings.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The hint of what is missing says how to begin; it suits a directory that is empty. */
static int no_python(const struct judged *j, struct err *e)
{
	if (!j->v.t.n)
		return err_set(e, ERR_NOTFOUND,
			"no " MANIFEST_FILE " in '%s': the directory is empty", j->v.dir);
	err_set(e, ERR_NOTFOUND, "no " MANIFEST_FILE " in '%s', and no Python code", j->v.dir);
	return err_hint(
		e, "give the directory that holds the code, or write a tool's .py file there");
}

/*
 * A directory of code that is no expert yet is judged as it is: any of its files may be run. 1 it
 * is such a one, 0 it isn't, -1 error.
 */
static int read_bare(struct judged *j, struct err *e)
{
	FD_AUTO fd = open(j->v.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || has_manifest(fd))
		return 0;
	if (tree_load(&j->v.t, fd, j->v.dir, NULL, e) < 0)
		return -1;
	if (!has_python(&j->v.t))
		return no_python(j, e);
	char shown[TEXT_SHOWN_MAX];
	const char *slash = strrchr(j->v.dir, '/');
	j->v.name = strdup(text_shown(slash ? slash + 1 : j->v.dir, shown));
	j->v.reads = findings_make(NULL, &j->v.t, e);
	return j->v.name && j->v.reads ? 1 : err_set(e, ERR_FAIL, "out of memory");
}

static int read_dir(const struct state_place *place, struct judged *j, struct err *e)
{
	struct expert_view *v = &j->v;
	STR_AUTO given = v->dir ? v->dir : strdup(j->given);
	v->dir = NULL;
	if (expert_read_dir(place, given, &v->dir, &v->m, &v->t, e) < 0) {
		if (!j->is_dir || e->code != ERR_NOTFOUND || !v->dir)
			return -1;
		struct err bare = {0};
		int r = read_bare(j, &bare);
		if (r < 0 && !*bare.hint)
			memcpy(bare.hint, e->hint, sizeof bare.hint);
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
	struct judge *js = arg_;
	size_t i;
	while ((i = atomic_fetch_add(&js->next, 1)) < js->n) {
		struct judged *j = &js->v[i];
		if (j->e.code || j->v.reads)
			continue;
		read_dir(&js->place, j, &j->e);
		tree_free(&j->v.t);
	}
	return NULL;
}

/* Where a thread cannot be had, this one does the work. */
static void work_on_all_cores(struct judge *js)
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

bool judge_is_dir(const char *s)
{
	return strchr(s, '/') || strcmp(s, ".") == 0;
}

static bool is_file(const char *path)
{
	struct stat s;
	return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

static int refuse_file(const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	STR_AUTO dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	BUF_AUTO word = {0};
	err_clear(e);
	err_set(e, ERR_USAGE, "'%s' is a file, and an expert is a directory", path);
	buf_addword(&word, dir ? dir : ".");
	if (!dir || !text_is_clean(dir, strlen(dir), false))
		return -1;
	return err_hint(e, "evctl-verify %s", buf_str(&word));
}

void judge_hint_path(const char *name, struct err *e)
{
	BUF_AUTO word = {0};
	buf_addword(&word, name);
	if (is_file(name))
		refuse_file(name, e);
	else if (file_exists(name) && text_is_clean(name, strlen(name), false))
		err_hint(e, "for the directory: evctl-verify ./%s", buf_str(&word));
}

/* Before the scan: which directory, or which snapshot. */
static int prepare(struct judge *js, struct judged *j, bool published)
{
	struct expert x;
	struct err *e = &j->e;
	j->is_dir = judge_is_dir(j->given);
	if (j->is_dir && published) {
		err_set(e, ERR_USAGE, "'--published' takes experts, not directories");
		return err_hint(e, "evctl-expert list");
	}
	if (j->is_dir && is_file(j->given))
		return refuse_file(j->given, e);
	if (j->is_dir)
		return 0;
	j->registered = true;
	if (published)
		return expert_load_meta(js->st, j->given, EXPERT_PUBLISHED, &j->v, e);
	if (expert_find(js->st, j->given, &x, e) < 0) {
		if (e->code == ERR_NOTFOUND)
			judge_hint_path(j->given, e);
		return -1;
	}
	j->v = (struct expert_view){.id = x.id, .name = x.name, .dir = x.dir};
	return expert_load_hosts(js->st, &j->v, e);
}

/* The directory of an expert that is known by the name in its expert.yaml is that expert. */
static int recognise(struct state *st, struct judged *j, struct err *e)
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
static int take_manifest_hosts(struct judge *js, struct judged *j, struct err *e)
{
	for (size_t i = 0; i < j->v.m.hosts.n; i++) {
		BOUND_HOST_AUTO h = {0};
		struct err one = {0};
		const char *name = j->v.m.hosts.v[i];
		if (host_find(js->st, name, &h, &one) == 0) {
			if (expert_add_host(&j->v, &h, e) < 0)
				return -1;
		} else if (one.code == ERR_NOTFOUND) {
			strv_addf(&js->notes,
				"host '%s' of '%s' is not declared: evctl-host add %s", name,
				j->given, name);
		} else {
			*e = one;
			return -1;
		}
	}
	return 0;
}

static void judge_one(struct judge *js, struct judged *j)
{
	if (j->e.code)
		return;
	if (j->is_dir && js->st &&
		(recognise(js->st, j, &j->e) < 0 ||
			(!j->registered && take_manifest_hosts(js, j, &j->e) < 0)))
		return;
	j->verdict = verify_view(js->st, &j->v, j->registered, &j->e);
}

/* ---- what is said of them -------------------------------------------------------------------- */

static bool is_beneath(const char *dir, const char *root)
{
	size_t n = strlen(root);
	return n > 1 && strncmp(dir, root, n) == 0 && (!dir[n] || dir[n] == '/');
}

static bool has_git(const char *dir)
{
	STR_AUTO git = path_join(dir, ".git");
	return git && file_exists(git);
}

/* The nearest directory at or above dir that has a ".git"; NULL: none. */
static char *work_tree(const char *dir)
{
	char *top = strdup(dir), *slash;
	while (top && *top && !has_git(top))
		if ((slash = strrchr(top, '/')))
			*slash = '\0';
		else
			*top = '\0';
	if (top && *top)
		return top;
	free(top);
	return NULL;
}

/* dir beneath root, with a slash after it unless it is root itself; else absolute. */
static char *relative(const char *dir, const char *root)
{
	size_t n = root ? strlen(root) : 0;
	char *out = NULL;
	if (root && is_beneath(dir, root))
		dir += n + (dir[n] == '/');
	if (asprintf(&out, "%s%s", dir, *dir ? "/" : "") < 0)
		return NULL;
	return out;
}

char *judged_prefix(const struct judged *j, const char *root)
{
	const char *dir = j->v.dir ? j->v.dir : "";
	STR_AUTO top = root ? strdup(root) : work_tree(dir);
	STR_AUTO here = realpath(".", NULL);
	return relative(dir, top ? top : here);
}

char *judged_shown(const struct judged *j, const char *root)
{
	char *out = NULL;
	size_t n = strlen(j->given);
	const char *slash = n && j->given[n - 1] == '/' ? "" : "/";
	STR_AUTO top = root ? strdup(root) : j->v.dir ? work_tree(j->v.dir) : NULL;
	if (top && j->v.dir && is_beneath(j->v.dir, top))
		return relative(j->v.dir, top);
	if (!j->is_dir || strcmp(j->given, ".") == 0 || strcmp(j->given, "./") == 0)
		return strdup("");
	return asprintf(&out, "%s%s", j->given, slash) < 0 ? NULL : out;
}

/* "DIR/expert.yaml:LINE:COL: CAUSE" in parts; line 1 of what names no line. */
static const char *take_place(const char *dir, const char *msg, int *line, int *column)
{
	size_t n = strlen(dir), k = strlen("/" MANIFEST_FILE ":");
	char *end;
	*line = 1;
	*column = 0;
	if (strncmp(msg, dir, n) != 0 || strncmp(msg + n, "/" MANIFEST_FILE ":", k) != 0)
		return msg;
	*line = (int)strtol(msg + n + k, &end, 10);
	if (*end == ':' && end[1] != ' ')
		*column = (int)strtol(end + 1, &end, 10);
	return *end == ':' ? end + 1 + (end[1] == ' ') : end;
}

json_t *judged_broken(const struct judged *j)
{
	int line, column;
	const char *dir = j->v.dir;
	if (j->verdict || j->e.code != ERR_USAGE || !dir)
		return NULL;
	const char *slash = strrchr(dir, '/');
	const char *cause = take_place(dir, j->e.msg, &line, &column);
	return json_pack("{s:o,s:s,s:[{s:s,s:i,s:i,s:o,s:o}]}", "expert",
		json_text_or_null(j->v.name ? j->v.name
				  : slash   ? slash + 1
					    : dir),
		"status", "red", "syntax_errors", "file", MANIFEST_FILE, "line", line, "column",
		column, "message", json_text_or_null(cause), "hint", json_text_or_null(j->e.hint));
}

int judge_all(struct judge *js, const struct strv *given, bool published, struct err *e)
{
	js->v = calloc(given->n, sizeof *js->v);
	if (!js->v)
		return err_set(e, ERR_FAIL, "out of memory");
	js->n = given->n;
	for (size_t i = 0; i < js->n; i++) {
		js->v[i].given = given->v[i];
		prepare(js, &js->v[i], published);
	}
	work_on_all_cores(js);
	for (size_t i = 0; i < js->n; i++)
		judge_one(js, &js->v[i]);
	return 0;
}

enum err_code judge_code(const struct judge *js, bool strict)
{
	for (size_t i = 0; i < js->n; i++) {
		const char *status = js->v[i].verdict ? verify_status(js->v[i].verdict) : "green";
		if (strcmp(status, "red") == 0 || (strict && strcmp(status, "amber") == 0))
			return ERR_FINDINGS;
	}
	return (enum err_code)0; /* none */
}

int judge_error(const struct judge *js, struct err *e)
{
	for (size_t i = 0; i < js->n; i++) {
		if (js->v[i].e.code) {
			*e = js->v[i].e;
			return -1;
		}
	}
	return 0;
}

void judge_free(struct judge *j)
{
	for (size_t i = 0; i < j->n; i++) {
		expert_view_free(&j->v[i].v);
		json_decref(j->v[i].verdict);
	}
	free(j->v);
	state_place_free(&j->place);
	strv_free(&j->notes);
}
