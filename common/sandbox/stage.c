#include "sandbox/stage.h"
#include "sandbox/strays.h"
#include "base/buf.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u
#define CA_NAME "ca-certificates.crt"

/*
 * The tmpfs belongs to a user namespace in which root is nobody, so root writes as the one who is
 * there. Per thread, and undone by end_as(). Either change makes a process that cannot be dumped or
 * traced one that can, by the machine's setting; so it is made what it was.
 */
struct as {
	uid_t uid;
	gid_t gid;
	mode_t mask;
	bool dumpable;
};

static struct as begin_as(uid_t uid)
{
	struct as old = {.mask = umask(022), .dumpable = prctl(PR_GET_DUMPABLE) == 1};
	old.gid = (gid_t)setfsgid(geteuid() == 0 ? uid : getegid());
	old.uid = (uid_t)setfsuid(uid);
	if (!old.dumpable)
		prctl(PR_SET_DUMPABLE, 0);
	return old;
}

static void end_as(struct as old)
{
	setfsuid(old.uid);
	setfsgid(old.gid);
	if (!old.dumpable)
		prctl(PR_SET_DUMPABLE, 0);
	umask(old.mask);
}

static bool path_ok(const char *path)
{
	size_t len = strlen(path);
	if (len == 0 || len >= PATH_MAX - 64)
		return false;
	for (const char *at = path;;) {
		size_t n = strcspn(at, "/");
		if (n == 0 || n > NAME_MAX || (n == 1 && at[0] == '.') ||
			(n == 2 && at[0] == '.' && at[1] == '.'))
			return false;
		if (at[n] == '\0')
			return true;
		at += n + 1;
	}
}

int stage_measure(const struct sandbox_spec *spec, size_t *bytes, unsigned *inodes, struct err *e)
{
	*bytes = 16 << 20;
	*inodes = 1024;
	for (size_t i = 0; i < spec->nfiles; i++) {
		const struct sandbox_file *f = &spec->files[i];
		if (!path_ok(f->path))
			return err_set(e, ERR_USAGE, "not a path inside the expert: '%s'", f->path);
		*bytes += (f->n + PAGE - 1) / PAGE * PAGE;
		for (const char *at = f->path; at; at = strchr(at + 1, '/')) {
			*bytes += PAGE;
			*inodes += 1;
		}
	}
	return 0;
}

/* Makes the directories of path below dir; a descriptor of the last, *name what is left. */
static int open_parent(int dir, const char *path, const char **name)
{
	char part[NAME_MAX + 1];
	int at = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	for (size_t n; at >= 0 && path[n = strcspn(path, "/")] == '/'; path += n + 1) {
		memcpy(part, path, n);
		part[n] = '\0';
		if (mkdirat(at, part, 0755) < 0 && errno != EEXIST) {
			fd_close(&at);
			break;
		}
		int next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		fd_close(&at);
		at = next;
	}
	*name = path;
	return at;
}

static int put(int dir, const char *path, const void *data, size_t n, struct err *e)
{
	const char *name;
	FD_AUTO parent = open_parent(dir, path, &name);
	FD_AUTO fd = parent < 0
			     ? -1
			     : openat(parent, name,
				       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 || fd_write_full(fd, data, n) < 0)
		return err_errno(e, ERR_SANDBOX, "cannot put '%s' into the sandbox", path);
	return 0;
}

static int put_text(int dir, const char *path, const char *text, struct err *e)
{
	return put(dir, path, text, strlen(text), e);
}

/*
 * Files of this machine, read before anything is written, so that no inode is shared: with evctl's
 * own rights, as what is installed may be where only its owner reads.
 */
struct copies {
	struct {
		char *path; /* in the stage */
		struct buf bytes;
	} v[16];
	size_t n;
};
#define COPIES_AUTO __attribute__((cleanup(copies_free))) struct copies

static void copies_free(struct copies *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].path);
		buf_free(&c->v[i].bytes);
	}
}

static int take(struct copies *c, const char *path, const char *from, bool must, struct err *e)
{
	struct err inner = {0};
	if (c->n == sizeof c->v / sizeof *c->v)
		return 0;
	struct buf *b = &c->v[c->n].bytes;
	b->limit = 16 << 20;
	c->v[c->n++].path = strdup(path);
	if (!from || !c->v[c->n - 1].path)
		return err_set(e, ERR_SANDBOX, "out of memory");
	if (file_read(from, b, &inner) == 0)
		return 0;
	free(c->v[--c->n].path);
	buf_free(b);
	if (!must)
		return 0;
	err_set(e, ERR_SANDBOX, "%s", inner.msg);
	return err_hint(e, "install evctl again: make install");
}

/* matplotlib wants a directory that it may write to; what is in it was made at install. */
static int take_fonts(struct copies *c, const char *share, struct err *e)
{
	STR_AUTO from = path_join(share, "cell/matplotlib");
	DIR *d = from ? opendir(from) : NULL;
	int failed = 0;
	if (!d)
		return 0;
	for (struct dirent *de; failed == 0 && (de = readdir(d));) {
		if (de->d_name[0] == '.')
			continue;
		STR_AUTO src = path_join(from, de->d_name);
		STR_AUTO dst = path_join(".matplotlib", de->d_name);
		failed = dst ? take(c, dst, src, false, e) : -1;
	}
	closedir(d);
	return failed;
}

static int take_cell(struct copies *c, const char *share, struct err *e)
{
	STR_AUTO pyc = path_join(share, "cell/cell.pyc");
	STR_AUTO py = path_join(share, "cell/cell.py");
	return take(c, "cell/cell.pyc", pyc, true, e) < 0 ||
			       take(c, "cell/cell.py", py, true, e) < 0 ||
			       take(c, "etc/matplotlibrc", "/etc/matplotlibrc", false, e) < 0
		       ? -1
		       : 0;
}

static int put_copies(int dir, const struct copies *c, struct err *e)
{
	for (size_t i = 0; i < c->n; i++)
		if (put(dir, c->v[i].path, c->v[i].bytes.data, c->v[i].bytes.len, e) < 0)
			return -1;
	return 0;
}

static int put_hosts(int dir, const struct sandbox_spec *spec, struct err *e)
{
	BUF_AUTO b = {0};
	buf_adds(&b, "127.0.0.1 localhost sandbox\n::1 localhost\n");
	for (size_t i = 0; i < spec->nhosts; i++)
		buf_addf(&b, "127.0.0.1 %s %s.\n", spec->hosts[i], spec->hosts[i]);
	if (buf_failed(&b))
		return err_set(e, ERR_SANDBOX, "out of memory");
	return put(dir, "etc/hosts", b.data, b.len, e);
}

static int put_links(int dir, const struct mounts *m, struct err *e)
{
	for (size_t i = 0; i + 1 < m->links.n; i += 2) {
		const char *path = m->links.v[i], *name;
		if (strncmp(path, "/etc/", 5) != 0)
			continue;
		FD_AUTO parent = open_parent(dir, path + 1, &name);
		if (parent < 0 || symlinkat(m->links.v[i + 1], parent, name) < 0)
			return err_errno(e, ERR_SANDBOX, "cannot link '%s'", path);
	}
	return 0;
}

static int put_etc(int dir, const struct sandbox_spec *spec, const struct mounts *m, struct err *e)
{
	const char *name;
	FD_AUTO certs = open_parent(dir, "etc/ssl/certs/", &name);
	if (certs < 0)
		return err_errno(e, ERR_SANDBOX, "cannot fill the sandbox");
	if (put_hosts(dir, spec, e) < 0 || put_links(dir, m, e) < 0 ||
		put_text(dir, "etc/passwd", "tool:x:1000:1000:tool:/scratch:/nonexistent\n", e) <
			0 ||
		put_text(dir, "etc/group", "tool:x:1000:\n", e) < 0)
		return -1;
	return put_text(dir, "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n", e);
}

/* One setting a line: a word, a space, the rest. */
static int put_config(
	int dir, const struct sandbox_spec *spec, const struct mounts *m, struct err *e)
{
	BUF_AUTO b = {0};
	buf_addf(&b, "session %d\n", spec->session);
	buf_addf(&b, "exec %s\nexec %s\n", m->python, m->loader);
	for (size_t i = 0; i < m->modules.n; i++)
		buf_addf(&b, "path %s\n", m->modules.v[i]);
	for (size_t i = 0; i < spec->nwildcards; i++)
		buf_addf(&b, "wildcard %s\n", spec->wildcards[i] + (spec->wildcards[i][0] == '*'));
	for (size_t i = 0; i < spec->npreload; i++)
		buf_addf(&b, "preload %s\n", spec->preload[i]);
	if (buf_failed(&b))
		return err_set(e, ERR_SANDBOX, "out of memory");
	return put(dir, "cell/config", b.data, b.len, e);
}

static int put_tool(int dir, const struct sandbox_spec *spec, struct err *e)
{
	FD_AUTO tool = openat(dir, "tool", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tool < 0)
		return err_errno(e, ERR_SANDBOX, "cannot fill the sandbox");
	for (size_t i = 0; i < spec->nfiles; i++)
		if (put(tool, spec->files[i].path, spec->files[i].data, spec->files[i].n, e) < 0)
			return -1;
	return 0;
}

int stage_fill(int dir, int tmp, uid_t uid, const struct sandbox_spec *spec, const struct mounts *m,
	struct err *e)
{
	COPIES_AUTO cell = {0};
	COPIES_AUTO fonts = {0};
	if (take_cell(&cell, spec->share_dir, e) < 0 || take_fonts(&fonts, spec->share_dir, e) < 0)
		return -1;
	struct as old = begin_as(uid);
	int failed = put_tool(dir, spec, e) < 0 || put_etc(dir, spec, m, e) < 0 ||
		     put_config(dir, spec, m, e) < 0 || put_copies(dir, &cell, e) < 0 ||
		     put_copies(tmp, &fonts, e) < 0;
	end_as(old);
	return failed ? -1 : 0;
}

int stage_set_ca(int dir, uid_t uid, const char *pem, size_t n, struct err *e)
{
	FD_AUTO certs = openat(dir, "etc/ssl/certs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (certs < 0)
		return err_errno(e, ERR_SANDBOX, "cannot reach the sandbox's files");
	struct as old = begin_as(uid);
	(void)unlinkat(certs, CA_NAME, 0);
	int failed = put(certs, CA_NAME, pem, n, e);
	end_as(old);
	return failed;
}

static int empty(int dir, mode_t mode)
{
	return fchmod(dir, mode) < 0 ? -1 : file_empty_dir(dir);
}

int stage_empty(int outputs, uid_t uid)
{
	struct as old = begin_as(uid);
	int failed = empty(outputs, 0755);
	end_as(old);
	return failed;
}

static int clear_but_outputs(int scratch)
{
	FD_AUTO dir = openat(scratch, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = dir >= 0 ? fdopendir(dir) : NULL;
	int failed = d ? 0 : -1;
	if (d)
		dir = -1; /* the stream's */
	for (struct dirent *de; d && (de = readdir(d));)
		if (strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0 &&
			strcmp(de->d_name, "outputs") != 0)
			failed |= file_remove_tree(scratch, de->d_name);
	if (d)
		closedir(d);
	return failed;
}

int stage_clear_scratch(int stage, uid_t uid)
{
	FD_AUTO scratch = openat(stage, "work/scratch", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (scratch < 0)
		return -1;
	struct as old = begin_as(uid);
	int failed = fchmod(scratch, 0755) < 0 || clear_but_outputs(scratch) < 0;
	end_as(old);
	return failed ? -1 : 0;
}

void stage_strays(int scratch, int tmp, uid_t uid, int64_t since_ns, struct buf *out)
{
	struct strays s = {.since_ns = since_ns, .out = out};
	struct as old = begin_as(uid);
	strays_look(&s, scratch, "");
	strays_look(&s, tmp, "/tmp/");
	end_as(old);
	strays_end(&s);
}

int stage_renew(int tmp, int shm, uid_t uid, const char *share)
{
	struct err ignored = {0};
	COPIES_AUTO fonts = {0};
	bool taken = take_fonts(&fonts, share, &ignored) == 0;
	struct as old = begin_as(uid);
	int failed = empty(tmp, 01777) < 0 || empty(shm, 01777) < 0;
	/* Where /scratch leaves no room for it, matplotlib does without. */
	if (!failed && taken)
		put_copies(tmp, &fonts, &ignored);
	end_as(old);
	return failed ? -1 : 0;
}
