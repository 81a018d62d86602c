/* Trees of any depth are removed, and nothing beside them; what is opened beneath stays beneath. */
#include "../lib/tap.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH 3000 /* far beyond PATH_MAX, and beyond the descriptors of a process */

static void put(int at, const char *name)
{
	FD_AUTO fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_full(fd, "x", 1) < 0)
		perror(name);
}

/* Files, links that lead out, a closed directory, and a very deep one. */
static int make_tree(int top)
{
	if (mkdirat(top, "tree", 0700) < 0 || mkdirat(top, "tree/closed", 0700) < 0 ||
		mkdirat(top, "tree/closed/in", 0700) < 0 ||
		symlinkat("../../kept", top, "tree/link") < 0 ||
		symlinkat("/nowhere", top, "tree/closed/in/dangling") < 0)
		return -1;
	put(top, "tree/closed/in/file");
	if (fchmodat(top, "tree/closed", 0, 0) < 0)
		return -1;
	int at = openat(top, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; at >= 0 && i < DEPTH; i++) {
		int next = -1;
		if (mkdirat(at, "d", 0700) == 0)
			next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (i % 100 == 0)
			put(at, "file");
		fd_close(&at);
		at = next;
	}
	fd_close(&at);
	return at;
}

static bool is_there(int top, const char *name)
{
	return faccessat(top, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void test_remove(struct tap *t, int top)
{
	mkdirat(top, "kept", 0700);
	put(top, "kept/file");
	make_tree(top);
	ok(t, is_there(top, "tree/d/d/d"), "control: there is a tree");
	ok(t, file_remove_tree(top, "tree") == 0 && !is_there(top, "tree"), "it is removed");
	ok(t, is_there(top, "kept/file"), "what a link in it led to is not");
	ok(t, file_remove_tree(top, "tree") == 0, "nor is it an error that there is none");
	make_tree(top);
	FD_AUTO tree = openat(top, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(t, file_empty_dir(tree) == 0 && unlinkat(top, "tree", AT_REMOVEDIR) == 0,
		"a directory is emptied, and stays");
	ok(t,
		symlinkat("kept", top, "link") == 0 && file_remove_tree(top, "link") == 0 &&
			!is_there(top, "link") && is_there(top, "kept/file"),
		"of a link only the link goes");
	put(top, "file");
	ok(t, file_remove_tree(top, "file") == 0 && !is_there(top, "file"), "a file goes too");
}

static void test_beneath(struct tap *t, int top)
{
	static const struct {
		const char *path;
		enum beneath how;
		int error;
	} rows[] = {{"b/file", BENEATH_LINKS, 0}, {"b/file", BENEATH_PLAIN, 0},
		{"b/../b/file", BENEATH_PLAIN, 0}, {"b/inner", BENEATH_LINKS, 0},
		{"b/inner", BENEATH_PLAIN, ELOOP}, {"b/outer", BENEATH_LINKS, EXDEV},
		{"b/outer", BENEATH_PLAIN, ELOOP}, {"../kept/file", BENEATH_LINKS, EXDEV},
		{"b/../../kept/file", BENEATH_PLAIN, EXDEV}, {"/etc/passwd", BENEATH_LINKS, EXDEV},
		{"b/none", BENEATH_PLAIN, ENOENT}};
	mkdirat(top, "root", 0700);
	mkdirat(top, "root/b", 0700);
	put(top, "root/b/file");
	ok(t,
		symlinkat("../b/file", top, "root/b/inner") == 0 &&
			symlinkat("../../kept/file", top, "root/b/outer") == 0,
		"links");
	FD_AUTO root = openat(top, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		FD_AUTO fd = fd_open_beneath(root, rows[i].path, O_RDONLY, rows[i].how);
		int error = fd < 0 ? errno : 0;
		ok(t, error == rows[i].error, "%s %d: %s", rows[i].path, rows[i].how,
			strerror(error));
	}
	FD_AUTO fd = fd_open_beneath(root, "b/file", O_RDONLY, BENEATH_PLAIN);
	ok(t, fcntl(fd, F_GETFD) == FD_CLOEXEC, "closed on exec");
	FD_AUTO proc = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	FD_AUTO magic = fd_open_beneath(proc, "exe", O_RDONLY, BENEATH_LINKS);
	ok(t, magic < 0 && errno == ELOOP, "no magic links");
}

int main(void)
{
	struct tap t = {0};
	char dir[] = "/tmp/evctl-test.XXXXXX";
	if (!mkdtemp(dir))
		return 1;
	FD_AUTO top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_remove(&t, top);
	test_beneath(&t, top);
	ok(&t, file_remove_tree(AT_FDCWD, dir) == 0, "nothing is left");
	return tap_done(&t);
}
