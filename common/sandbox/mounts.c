#include "sandbox/mounts.h"
#include "base/file.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINKS 40
#define ALTERNATIVES "/etc/alternatives"

/* Welcome where they are, done without where they are not. */
static const char *const optional[] = {
	"/usr/share/zoneinfo",
	"/usr/share/matplotlib/mpl-data",
	"/usr/share/fonts",
	"/usr/lib/locale/C.utf8",
};

static bool beneath(const char *path, const char *dir)
{
	size_t n = strlen(dir);
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static void add_link(struct mounts *m, const char *path, const char *target)
{
	for (size_t i = 0; i + 1 < m->links.n; i += 2)
		if (strcmp(m->links.v[i], path) == 0)
			return;
	strv_add(&m->links, path);
	strv_add(&m->links, target);
}

/* Drops the last component of a path without a trailing slash; "" is the root. */
static void cut_last(char *path)
{
	char *slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
}

/*
 * Walks path, noting each link on the way, and leaves the real path in out. -1 with errno.
 */
static int walk(struct mounts *m, const char *path, char out[PATH_MAX])
{
	char rest[PATH_MAX], next[PATH_MAX], target[PATH_MAX];
	int links = 0;
	if ((size_t)snprintf(rest, sizeof rest, "%s", path) >= sizeof rest)
		return errno = ENAMETOOLONG, -1;
	out[0] = '\0';
	for (char *at = rest; *at;) {
		size_t n = strcspn(at, "/");
		char *after = at + n + (at[n] == '/');
		if (n == 0 || (n == 1 && at[0] == '.')) {
			at = after;
			continue;
		}
		if (n == 2 && memcmp(at, "..", 2) == 0) {
			cut_last(out);
			at = after;
			continue;
		}
		if ((size_t)snprintf(next, sizeof next, "%s/%.*s", out, (int)n, at) >= sizeof next)
			return errno = ENAMETOOLONG, -1;
		ssize_t len = readlink(next, target, sizeof target - 1);
		if (len < 0) {
			if (errno != EINVAL)
				return -1;
			memcpy(out, next, sizeof next);
			at = after;
			continue;
		}
		target[len] = '\0';
		add_link(m, next, target);
		if (++links > MAX_LINKS)
			return errno = ELOOP, -1;
		if (target[0] == '/')
			out[0] = '\0';
		if ((size_t)snprintf(next, sizeof next, "%s/%s", target, after) >= sizeof next)
			return errno = ENAMETOOLONG, -1;
		memcpy(rest, next, sizeof rest);
		at = rest;
	}
	return 0;
}

/* Adds the real place of path to the binds. 0, or -1 with errno. */
static int add_path(struct mounts *m, const char *path, char real[PATH_MAX])
{
	if (walk(m, path, real) < 0)
		return -1;
	if (!beneath(real, "/usr") || strcmp(real, "/usr") == 0)
		return errno = EXDEV, -1;
	if (!strv_has(&m->binds, real))
		strv_add(&m->binds, real);
	return 0;
}

static int must_add(struct mounts *m, const char *path, char real[PATH_MAX], struct err *e)
{
	if (add_path(m, path, real) == 0)
		return 0;
	if (errno == EXDEV)
		return err_set(e, ERR_SANDBOX, "'%s' is not below /usr but at '%s'", path, real);
	return err_errno(e, ERR_SANDBOX, "cannot find '%s'", path);
}

/* The program interpreter that an ELF file names; a new string or NULL. */
static char *elf_interpreter(const char *path)
{
	FD_AUTO fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr eh;
	if (fd < 0 || pread(fd, &eh, sizeof eh, 0) != sizeof eh)
		return NULL;
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
		eh.e_phentsize != sizeof(Elf64_Phdr))
		return NULL;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph;
		if (pread(fd, &ph, sizeof ph, (off_t)(eh.e_phoff + i * sizeof ph)) != sizeof ph)
			return NULL;
		if (ph.p_type != PT_INTERP || ph.p_filesz < 2 || ph.p_filesz > PATH_MAX)
			continue;
		char *s = calloc(1, ph.p_filesz + 1);
		if (s && pread(fd, s, ph.p_filesz, (off_t)ph.p_offset) == (ssize_t)ph.p_filesz)
			return s;
		free(s);
	}
	return NULL;
}

static int add_loader(struct mounts *m, struct err *e)
{
	char real[PATH_MAX], dir[PATH_MAX];
	STR_AUTO interp = elf_interpreter(m->python);
	if (!interp)
		return err_set(e, ERR_SANDBOX, "'%s' names no dynamic loader", m->python);
	if (walk(m, interp, real) < 0)
		return err_errno(e, ERR_SANDBOX, "cannot find '%s'", interp);
	m->loader = strdup(real);
	cut_last(real);
	/* /lib is what links inside libc's directory and ld.so's built-in path go through. */
	if (walk(m, "/lib", dir) < 0)
		return err_errno(e, ERR_SANDBOX, "cannot find '/lib'");
	return must_add(m, real, dir, e);
}

/* Where nothing was made for a Python yet: pythonX.Y beside bin/ is the standard library. */
static int guess_library(struct mounts *m, struct err *e)
{
	char path[PATH_MAX], real[PATH_MAX];
	const char *name = strrchr(m->python, '/') + 1;
	int n = (int)(name - 1 - m->python);
	while (n > 0 && m->python[n - 1] != '/')
		n--;
	if (strncmp(name, "python3.", 8) != 0 || n <= 1)
		return err_set(e, ERR_SANDBOX, "'%s' is not a Python of the system's", m->python);
	snprintf(path, sizeof path, "%.*slib/%s", n, m->python, name);
	if (must_add(m, path, real, e) < 0)
		return -1;
	strv_add(&m->modules, real);
	strv_addf(&m->modules, "%s/lib-dynload", real);
	return 0;
}

/* libblas and its like go through the alternatives; only links to libraries are recreated. */
static void add_alternatives(struct mounts *m)
{
	char path[PATH_MAX], real[PATH_MAX];
	DIR *d = opendir(ALTERNATIVES);
	if (!d)
		return;
	for (struct dirent *de; (de = readdir(d));) {
		if (!strstr(de->d_name, ".so."))
			continue;
		snprintf(path, sizeof path, ALTERNATIVES "/%s", de->d_name);
		(void)walk(m, path, real);
	}
	closedir(d);
}

/*
 * Whatever of /proc is not about processes and not on the list may tell of the host, so what a
 * newer kernel adds is masked too. What only root may read needs no mask: there is no root inside.
 * On the list is what libraries read, and what is the same for all kernels of one build, or the
 * sandbox's own: each mask takes bwrap a tenth of a millisecond.
 */
static int add_masks(struct mounts *m, struct err *e)
{
	static const char *const harmless[] = {"consoles", "cpuinfo", "crypto", "devices", "dma",
		"execdomains", "filesystems", "loadavg", "meminfo", "misc", "mounts", "net", "self",
		"stat", "sysvipc", "thread-self", "tty", "uptime"};
	DIR *d = opendir("/proc");
	if (!d)
		return err_errno(e, ERR_SANDBOX, "cannot read '/proc'");
	for (struct dirent *de; (de = readdir(d));) {
		bool keep = de->d_name[0] == '.' || (de->d_name[0] >= '0' && de->d_name[0] <= '9');
		for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
			keep = keep || strcmp(de->d_name, harmless[i]) == 0;
		struct stat st;
		if (keep || fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!(st.st_mode & S_IROTH))
			continue;
		strv_addf(&m->masks, "%s%s", de->d_name, S_ISDIR(st.st_mode) ? "/" : "");
	}
	closedir(d);
	strv_sort(&m->masks);
	return 0;
}

/* The lines of a file beside the cell. */
static int read_lines(const char *cell, const char *name, struct strv *out, struct err *e)
{
	BUF_AUTO b = {.limit = 1 << 20};
	STR_AUTO file = path_join(cell, name);
	struct err inner = {0};
	if (!file || file_read(file, &b, &inner) < 0) {
		err_set(e, ERR_SANDBOX, "%s", file ? inner.msg : "out of memory");
		return err_hint(e, "install evctl again: make install");
	}
	for (char *save, *line = b.len ? strtok_r(b.data, "\n", &save) : NULL; line;
		line = strtok_r(NULL, "\n", &save))
		strv_add(out, line);
	return out->failed ? err_set(e, ERR_SANDBOX, "out of memory") : 0;
}

/* The standard library, and its extensions; -S leaves the rest of sys.path to us. */
static int add_library(struct mounts *m, const char *cell, struct err *e)
{
	STRV_AUTO lines = {0};
	char real[PATH_MAX];
	if (read_lines(cell, "library", &lines, e) < 0)
		return -1;
	for (size_t i = 0; i < lines.n; i++) {
		if (must_add(m, lines.v[i], real, e) < 0)
			return err_hint(e,
				"Python has changed since evctl was installed: install it again");
		strv_add(&m->modules, real);
	}
	return 0;
}

/* They could do nothing under no-new-privileges; but there shall be none. */
static int add_hidden(struct mounts *m, const char *cell, struct err *e)
{
	STRV_AUTO lines = {0};
	if (read_lines(cell, "hidden", &lines, e) < 0)
		return -1;
	for (size_t i = 0; i < lines.n; i++)
		if (beneath(lines.v[i], "/usr") && !strstr(lines.v[i], ".."))
			strv_add(&m->hidden, lines.v[i] + strlen("/usr/"));
	return 0;
}

/* What a directory of packages has beside what is shown of it. */
static int hide_others(struct mounts *m, const char *real, const struct strv *shown, struct err *e)
{
	DIR *d = opendir(real);
	if (!d)
		return err_errno(e, ERR_SANDBOX, "cannot read '%s'", real);
	for (struct dirent *de; (de = readdir(d));)
		if (de->d_name[0] != '.' && strcmp(de->d_name, "__pycache__") != 0 &&
			!strv_has(shown, de->d_name))
			strv_addf(&m->hidden, "%s/%s", real + strlen("/usr/"), de->d_name);
	closedir(d);
	return 0;
}

/* The system's packages, but only those that every sandbox has, whatever else is installed here. */
static int add_packages(struct mounts *m, const char *cell, struct err *e)
{
	STRV_AUTO lines = {0};
	char real[PATH_MAX];
	if (read_lines(cell, "packages", &lines, e) < 0)
		return -1;
	for (size_t i = 0; i < lines.n; i++) {
		if (lines.v[i][0] != '/' || add_path(m, lines.v[i], real) < 0 ||
			!beneath(real, "/usr"))
			continue;
		strv_add(&m->modules, real);
		if (hide_others(m, real, &lines, e) < 0)
			return -1;
	}
	return 0;
}

static bool inside_other(const struct strv *binds, const char *path, const char *self)
{
	for (size_t i = 0; i < binds->n; i++)
		if (binds->v[i] != self && beneath(path, binds->v[i]))
			return true;
	return false;
}

/* A link or bind inside a bound directory is there already. */
static void drop_inner(struct mounts *m)
{
	struct strv binds = {0}, links = {0};
	strv_sort(&m->binds);
	for (size_t i = 0; i < m->binds.n; i++)
		if (!inside_other(&m->binds, m->binds.v[i], m->binds.v[i]))
			strv_add(&binds, m->binds.v[i]);
	for (size_t i = 0; i + 1 < m->links.n; i += 2) {
		if (inside_other(&binds, m->links.v[i], NULL))
			continue;
		strv_add(&links, m->links.v[i]);
		strv_add(&links, m->links.v[i + 1]);
	}
	strv_free(&m->binds);
	strv_free(&m->links);
	m->binds = binds;
	m->links = links;
}

int mounts_find(struct mounts *m, const char *cell, struct err *e)
{
	char real[PATH_MAX];
	memset(m, 0, sizeof *m);
	if (must_add(m, MOUNTS_PYTHON, real, e) < 0) {
		err_hint(e, "install Python: apt-get install python3");
		goto fail;
	}
	m->python = strdup(real);
	if (!m->python || add_loader(m, e) < 0 || (!cell && guess_library(m, e) < 0))
		goto fail;
	if (cell && (add_library(m, cell, e) < 0 || add_hidden(m, cell, e) < 0 ||
			    add_packages(m, cell, e) < 0))
		goto fail;
	for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
		(void)add_path(m, optional[i], real);
	add_alternatives(m);
	drop_inner(m);
	if (add_masks(m, e) < 0)
		goto fail;
	if (m->loader && !m->binds.failed && !m->links.failed && !m->modules.failed &&
		!m->masks.failed && !m->hidden.failed)
		return 0;
	err_set(e, ERR_SANDBOX, "out of memory");
fail:
	mounts_free(m);
	return -1;
}

void mounts_free(struct mounts *m)
{
	free(m->python);
	free(m->loader);
	strv_free(&m->binds);
	strv_free(&m->links);
	strv_free(&m->modules);
	strv_free(&m->masks);
	strv_free(&m->hidden);
	memset(m, 0, sizeof *m);
}
