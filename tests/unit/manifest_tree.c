/* An expert's directory: what belongs to it, what is left out, and what is refused. */
#include "../lib/tap.h"

#include "base/file.h"
#include "base/limits.h"
#include "manifest/ignore.h"
#include "manifest/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A scratch directory that everything happens in: DIR/e is the expert, DIR/out is not. */
struct scratch {
	char dir[64];
	int at; /* DIR/e */
};

static void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

static void scratch_new(struct scratch *s)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(s->dir, sizeof s->dir, "%.40s/evctl-test.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(s->dir))
		die("mkdtemp");
	int top = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0 || mkdirat(top, "e", 0755) < 0 || mkdirat(top, "out", 0755) < 0)
		die("mkdir");
	s->at = openat(top, "e", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(top);
}

static void scratch_free(struct scratch *s)
{
	close(s->at);
	file_remove_tree(AT_FDCWD, s->dir);
}

#define SCRATCH __attribute__((cleanup(scratch_free))) struct scratch

static void put_bytes(const struct scratch *s, const char *path, const void *p, size_t n)
{
	char *copy = strdup(path);
	for (char *slash = copy; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		if (strcmp(copy, "..") != 0 && mkdirat(s->at, copy, 0755) < 0 && errno != EEXIST)
			die(copy);
	}
	free(copy);
	int fd = openat(s->at, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || fd_write_full(fd, p, n) < 0)
		die(path);
	close(fd);
}

static void put(const struct scratch *s, const char *path, const char *text)
{
	put_bytes(s, path, text, strlen(text));
}

static void put_link(const struct scratch *s, const char *path, const char *target)
{
	if (symlinkat(target, s->at, path) < 0)
		die(path);
}

static int load(const struct scratch *s, struct tree *t, const struct strv *ignore, struct err *e)
{
	return tree_load(t, s->at, "e", ignore, e);
}

/* The paths, joined with spaces, are these. */
static void holds(struct tap *tap, const struct tree *t, const char *paths, const char *name)
{
	STRV_AUTO sv = {0};
	for (size_t i = 0; i < t->n; i++)
		strv_add(&sv, t->files[i].path);
	char *got = strv_join(&sv, " ");
	ok(tap, got && strcmp(got, paths) == 0, "%s", name);
	if (got && strcmp(got, paths) != 0)
		printf("# got  %s\n# want %s\n", got, paths);
	free(got);
}

static void check_plain(struct tap *tap)
{
	SCRATCH s;
	TREE_AUTO t = {0};
	struct err e = {0};
	scratch_new(&s);
	put(&s, "b.py", "two");
	put(&s, "a/z.py", "");
	put(&s, "a.py", "one");
	put_bytes(&s, "a/data.bin", "\0\1\2", 3);
	put(&s, "a/b/c/d.txt", "deep");
	put(&s, "\u00e9 t\u00e9.md", "x");
	mkdirat(s.at, "empty", 0755);
	ok(tap, load(&s, &t, NULL, &e) == 0, "loads: %s", e.msg);
	holds(tap, &t, "a.py a/b/c/d.txt a/data.bin a/z.py b.py \u00e9 t\u00e9.md",
		"every file, sorted by bytes");
	ok(tap, t.bytes == 3 + 4 + 3 + 0 + 3 + 1, "bytes in all");
	const struct tree_file *f = tree_find(&t, "a/data.bin");
	ok(tap, f && f->n == 3 && memcmp(f->data, "\0\1\2", 3) == 0, "bytes as they are");
	f = tree_find(&t, "a/z.py");
	ok(tap, f && f->n == 0 && f->data && !f->data[0], "an empty file");
	ok(tap, !tree_find(&t, "a") && !tree_find(&t, "zz"), "no such file");
	TREE_AUTO none = {0};
	ok(tap, !tree_find(&none, "a"), "nothing in nothing");
}

static void check_left_out(struct tap *tap)
{
	static const char *const out[] = {".git/config", ".hg/x", ".svn/x", "a/.git/HEAD",
		"__pycache__/a.cpython-311.pyc", "a/__pycache__/x", ".mypy_cache/x",
		".pytest_cache/x", ".ruff_cache/x", "a.pyc", "a/b.pyo", ".venv/bin/python",
		"venv/x", "node_modules/m/index.js", "myenv/pyvenv.cfg", "myenv/lib/x.py",
		"a/env2/pyvenv.cfg", "a/env2/x", ".DS_Store", ".tox/x", "sub/.jj/x"};
	SCRATCH s;
	TREE_AUTO t = {0};
	struct err e = {0};
	scratch_new(&s);
	put(&s, "a.py", "");
	put(&s, ".gitignore", "");
	put(&s, "git/x.py", "");
	put(&s, "a/pyc", "");
	put(&s, "env/lib.py", "");
	for (size_t i = 0; i < sizeof out / sizeof *out; i++)
		put(&s, out[i], "x");
	put(&s, "module/.git", "gitdir: ../x");
	put_link(&s, "w.pyc", "/nowhere");
	put(&s, "../out/venv/bin/python", "");
	mkdirat(s.at, "linked", 0755);
	put_link(&s, "linked/.venv", "../../out/venv");
	ok(tap, load(&s, &t, NULL, &e) == 0, "loads: %s", e.msg);
	holds(tap, &t, ".gitignore a.py a/pyc env/lib.py git/x.py",
		"version control, caches and virtual environments are no part of it");
}

static void check_ignore(struct tap *tap)
{
	SCRATCH s;
	TREE_AUTO t = {0};
	STRV_AUTO ignore = {0};
	struct err e = {0};
	scratch_new(&s);
	put(&s, "a.py", "");
	put(&s, "a.tmp", "");
	put(&s, "keep.tmp", "");
	put(&s, "lib/b.tmp", "");
	put(&s, "data/big.csv", "");
	put(&s, "lib/data/c.csv", "");
	put(&s, "docs/x/y.md", "");
	put(&s, "lib/docs/x.md", "");
	mkfifoat(s.at, "pipe", 0600);
	put_link(&s, "latest", "data");
	put(&s, "Thumbs\x01.db", "");
	strv_add(&ignore, "*.tmp");
	strv_add(&ignore, "!keep.tmp");
	strv_add(&ignore, "/data/");
	strv_add(&ignore, "docs/**");
	strv_add(&ignore, "pipe");
	strv_add(&ignore, "latest/");
	strv_add(&ignore, "Thumbs*");
	ok(tap, load(&s, &t, &ignore, &e) == 0, "loads: %s", e.msg);
	holds(tap, &t, "a.py keep.tmp lib/data/c.csv lib/docs/x.md", "ignore: leaves out");
}

static void check_links(struct tap *tap)
{
	SCRATCH s;
	TREE_AUTO t = {0};
	struct err e = {0};
	scratch_new(&s);
	put(&s, "lib/real.py", "real");
	put_link(&s, "alias.py", "lib/real.py");
	put_link(&s, "lib/up.py", "../alias.py");
	put_link(&s, "lib/round.py", "../lib/../lib/real.py");
	ok(tap, load(&s, &t, NULL, &e) == 0, "links that stay: %s", e.msg);
	holds(tap, &t, "alias.py lib/real.py lib/round.py lib/up.py", "are files of their own");
	const struct tree_file *f = tree_find(&t, "lib/up.py");
	ok(tap, f && f->n == 4 && memcmp(f->data, "real", 4) == 0, "with the bytes they lead to");
}

enum { LINK, FIFO, SOCKET, DEVICE };

static void make_socket(const struct scratch *s, const char *name)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(un.sun_path, sizeof un.sun_path, "%s/e/%s", s->dir, name);
	if (fd < 0 || bind(fd, (struct sockaddr *)&un, sizeof un) < 0)
		die("bind");
	close(fd);
}

static void check_refused(struct tap *tap)
{
	static const struct {
		const char *name, *target;
		int kind;
		const char *msg, *hint;
	} rows[] = {
		{"abs.py", "/etc/passwd", LINK, "link leaves the expert's directory: 'e/abs.py'",
			"ignore: [\"/abs.py\"]"},
		{"up.py", "../out/x.py", LINK, "link leaves the expert's directory: 'e/up.py'",
			NULL},
		{"far.py", "sub/../../out/x.py", LINK, "link leaves the expert's directory", NULL},
		{"gone.py", "nothing.py", LINK, "link points at nothing: 'e/gone.py'", NULL},
		{"self.py", "self.py", LINK, "link leads in a circle", NULL},
		{"dir", "sub", LINK, "link to a directory: 'e/dir'", "ignore: [\"/dir\"]"},
		{"loop", ".", LINK, "link to a directory: 'e/loop'", NULL},
		{"proc.py", "/proc/self/cmdline", LINK, "link leaves", NULL},
		{"topipe", "sub/p", LINK, "not a regular file: 'e/", NULL},
		{"pipe", NULL, FIFO, "not a regular file: 'e/pipe'", "ignore: [\"/pipe\"]"},
		{"sock", NULL, SOCKET, "not a regular file: 'e/sock'", NULL},
		{"null", NULL, DEVICE, "not a regular file: 'e/null'", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		SCRATCH s;
		TREE_AUTO t = {0};
		struct err e = {0};
		scratch_new(&s);
		put(&s, "../out/x.py", "secret");
		put(&s, "sub/a.py", "");
		if (strcmp(rows[i].name, "topipe") == 0)
			mkfifoat(s.at, "sub/p", 0600);
		if (rows[i].kind == LINK)
			put_link(&s, rows[i].name, rows[i].target);
		else if (rows[i].kind == FIFO)
			mkfifoat(s.at, rows[i].name, 0600);
		else if (rows[i].kind == SOCKET)
			make_socket(&s, rows[i].name);
		else if (mknodat(s.at, rows[i].name, S_IFCHR | 0600, 0x103) < 0) {
			ok(tap, true, "a device # SKIP needs root");
			continue;
		}
		load(&s, &t, NULL, &e);
		says(tap, &e, ERR_USAGE, rows[i].msg, rows[i].hint, rows[i].name);
		unlinkat(s.at, rows[i].name, 0);
		unlinkat(s.at, "sub/p", 0);
		struct err again = {0};
		ok(tap, t.n == 0 && load(&s, &t, NULL, &again) == 0, "without %s: fine %s",
			rows[i].name, again.msg);
	}
}

static void check_names(struct tap *tap)
{
	static const char *const bad[] = {"a\nb.py", "a\x1b[31m.py", "a\xff.py", "\xc3.py",
		"x/\x7f", "a\u202eyp.py", "\xed\xa0\x80"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		SCRATCH s;
		TREE_AUTO t = {0};
		struct err e = {0};
		scratch_new(&s);
		put(&s, bad[i], "");
		load(&s, &t, NULL, &e);
		says(tap, &e, ERR_USAGE, "file name is not plain UTF-8: 'e/", NULL, "a bad name");
		for (const char *p = e.msg; *p; p++)
			if ((unsigned char)*p < 0x20 || *p == 0x7f)
				ok(tap, false, "no control character is shown");
	}
}

static void check_limits(struct tap *tap)
{
	SCRATCH s;
	struct err e = {0}, e2 = {0}, e3 = {0}, e4 = {0};
	TREE_AUTO t = {0};
	scratch_new(&s);
	for (int i = 0; i < LIMIT_EXPERT_FILES; i++) {
		char name[32];
		snprintf(name, sizeof name, "d%d/f%d", i % 7, i);
		put(&s, name, "");
	}
	ok(tap, load(&s, &t, NULL, &e) == 0 && t.n == 5000, "5,000 files: %s", e.msg);
	tree_free(&t);
	put(&s, "one-more", "");
	load(&s, &t, NULL, &e2);
	says(tap, &e2, ERR_USAGE,
		"too many files: 'e' has more than 5000; most of it: d0/ 715 files, d1/ 715 files",
		"ignore: [data/]", "and one");
	ok(tap, t.n == 0 && !t.files, "nothing is left behind");
	unlinkat(s.at, "one-more", 0);
	unlinkat(s.at, "d0/f0", 0);
	char *big = calloc(1, MB(LIMIT_EXPERT_MB));
	put_bytes(&s, "big", big, MB(LIMIT_EXPERT_MB));
	ok(tap, load(&s, &t, NULL, &e3) == 0 && t.bytes == 100000000, "100 MB: %s", e3.msg);
	tree_free(&t);
	put(&s, "d1/f1", "x");
	load(&s, &t, NULL, &e4);
	says(tap, &e4, ERR_USAGE,
		"too large: the files of 'e' are more than 100 MB; most of it: big 100.0 MB",
		"ignore", "and 1");
	free(big);
}

/* A file without an end, as a hole: judged by its size, not read. */
static void check_sparse(struct tap *tap)
{
	SCRATCH s;
	TREE_AUTO t = {0};
	struct err e = {0};
	scratch_new(&s);
	put(&s, "hole", "");
	int fd = openat(s.at, "hole", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)1 << 40) < 0)
		die("ftruncate");
	close(fd);
	load(&s, &t, NULL, &e);
	says(tap, &e, ERR_USAGE, "too large", NULL, "a terabyte of nothing");
}

/* Deeper than PATH_MAX: an error, no crash; and 300 levels are fine. */
static void check_deep(struct tap *tap)
{
	SCRATCH s;
	TREE_AUTO t = {0};
	struct err e = {0}, e2 = {0};
	scratch_new(&s);
	int at = dup(s.at);
	for (int i = 0; i < 600; i++) {
		if (i == 300) {
			int fd = openat(at, "f.py", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
			close(fd);
			ok(tap, load(&s, &t, NULL, &e) == 0 && t.n == 1, "300 levels: %s", e.msg);
			tree_free(&t);
		}
		if (mkdirat(at, "directory", 0755) < 0)
			die("mkdir");
		int next = openat(at, "directory", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
	}
	close(at);
	ok(tap, load(&s, &t, NULL, &e2) < 0 && e2.code == ERR_FAIL && t.n == 0, "600 levels: %.60s",
		e2.msg);
}

static void check_suspicious(struct tap *tap)
{
	static const struct {
		const char *name, *text, *why;
	} rows[] = {
		{".env", "A=1", "a .env file"},
		{".env.local", "", "a .env file"},
		{"environment.py", "", NULL},
		{"x.pem", "hello", "named like a private key"},
		{"x.pem", "-----BEGIN CERTIFICATE-----\nMII\n", NULL},
		{"x.pem", "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----",
			"holds a private key"},
		{"server.KEY", "", "named like a private key"},
		{"id_rsa", "", "named like a private key"},
		{"id_ed25519.pub", "ssh-ed25519 AAAA", NULL},
		{"cert.p12", "", "named like a private key"},
		{"credentials.json", "{}", "named like credentials"},
		{"client_secret_123.json", "{}", "named like credentials"},
		{"a.py", "K = '''-----BEGIN RSA PRIVATE KEY-----\n", "holds a private key"},
		{"a.py", "-----BEGIN OPENSSH PRIVATE KEY-----", "holds a private key"},
		{"a.py", "-----BEGIN PUBLIC KEY-----", NULL},
		{"a.py", "-----BEGIN x PRIVATE KEY", NULL},
		{"a.py", "k = 'AKIAIOSFODNN7EXAMPLE'", "holds an access key"},
		{"a.py", "AKIAIOSFODNN7EXAMPLEX", NULL},
		{"a.py", "XAKIAIOSFODNN7EXAMPLE", NULL},
		{"a.py", "AKIA", NULL},
		{"keyboard.py", "import key", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		SCRATCH s;
		TREE_AUTO t = {0};
		struct err e = {0};
		scratch_new(&s);
		put(&s, rows[i].name, rows[i].text);
		load(&s, &t, NULL, &e);
		const char *why = t.n ? t.files[0].why : "not loaded";
		ok(tap, (!why && !rows[i].why) || (why && rows[i].why && !strcmp(why, rows[i].why)),
			"%zu: %s: %s", i, rows[i].name, why ? why : "fine");
		ok(tap, t.n == 1 && t.files[0].suspicious == (rows[i].why != NULL), "and the flag");
	}
	SCRATCH s;
	TREE_AUTO t = {0};
	struct err e = {0};
	scratch_new(&s);
	put(&s, "sub/.env", "A=1");
	put_link(&s, "notes.txt", "sub/.env");
	load(&s, &t, NULL, &e);
	ok(tap, t.n == 2 && t.files[0].suspicious, "a .env under another name");
}

static void check_patterns(struct tap *tap)
{
	static const struct {
		const char *pattern, *path;
		bool dir, want;
	} rows[] = {
		{"*.tmp", "a.tmp", false, true},
		{"*.tmp", "x/y/a.tmp", false, true},
		{"*.tmp", "a.tmpx", false, false},
		{"*.tmp", ".tmp", false, true},
		{"data/", "data", true, true},
		{"data/", "data", false, false},
		{"data/", "x/data", true, true},
		{"/data", "x/data", true, false},
		{"/data", "data", false, true},
		{"a/b", "a/b", false, true},
		{"a/b", "x/a/b", false, false},
		{"docs/**", "docs", true, false},
		{"docs/**", "docs/a", false, true},
		{"docs/**", "docs/a/b", false, true},
		{"**/x", "x", false, true},
		{"**/x", "a/b/x", false, true},
		{"**/x", "a/bx", false, false},
		{"a/**/b", "a/b", false, true},
		{"a/**/b", "a/x/y/b", false, true},
		{"a/**/b", "a/xb", false, false},
		{"a/*", "a/b", false, true},
		{"a/*", "a/b/c", false, false},
		{"*", "x/y", false, true},
		{"**", "x/y", false, true},
		{"?", "\u00e9", false, true},
		{"?", "ab", false, false},
		{"a?c", "a/c", false, false},
		{"[a-c].py", "b.py", false, true},
		{"[a-c].py", "d.py", false, false},
		{"[!a-c].py", "d.py", false, true},
		{"[!a-c].py", "a.py", false, false},
		{"[]x].py", "].py", false, true},
		{"[a", "[a", false, true},
		{"[\u00e0-\u00ff]", "\u00e9", false, true},
		{"x[!a]y", "x/y", false, false},
		{"\\*.py", "*.py", false, true},
		{"\\*.py", "a.py", false, false},
		{"a**b", "axxb", false, true},
		{"a**b", "a/b", false, false},
		{"A.py", "a.py", false, false},
		{"*a*a*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false,
			false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		ok(tap,
			ignore_pattern_matches(rows[i].pattern, rows[i].path, rows[i].dir) ==
				rows[i].want,
			"'%s' %s '%s'", rows[i].pattern, rows[i].want ? "matches" : "is not",
			rows[i].path);
}

#define GOOD "name: crm\ntools:\n- name: a\n  entry: lib/a.py:run\n"

/* What manifest_load() says of a directory of the scratch; @ in msg stands for its path. */
static void load_says(struct tap *tap, const struct scratch *s, const char *sub, enum err_code code,
	const char *msg, const char *hint, const char *name)
{
	struct err e = {0};
	MANIFEST_AUTO m = {0};
	TREE_AUTO t = {0};
	char dir[128], want[256];
	snprintf(dir, sizeof dir, "%s/%s", s->dir, sub);
	const char *at = strchr(msg, '@');
	snprintf(want, sizeof want, "%.*s%s%s", at ? (int)(at - msg) : 0, msg, at ? dir : "",
		at ? at + 1 : msg);
	int rc = manifest_load(&m, &t, dir, &e);
	if (code)
		says(tap, &e, code, want, hint, name);
	else
		ok(tap, rc == 0, "%s: %s", name, e.msg);
	ok(tap, (rc == 0) == (m.ntools > 0) && (rc == 0) == (t.n > 0), "and the structs fit");
}

static void check_load(struct tap *tap)
{
	SCRATCH s;
	scratch_new(&s);
	put(&s, "../file", "");
	load_says(tap, &s, "nope", ERR_NOTFOUND, "no such directory: '@'", NULL, "no directory");
	load_says(tap, &s, "file", ERR_USAGE, "not a directory: '@'", NULL, "a file");
	load_says(tap, &s, "e", ERR_NOTFOUND, "no expert.yaml in '@'", "printf '%s", "no manifest");
	put(&s, "expert.yml", GOOD);
	load_says(
		tap, &s, "e", ERR_NOTFOUND, "no expert.yaml in '@'", "rename expert.yml", "a .yml");
	put(&s, "expert.yaml", "name: [\n");
	load_says(tap, &s, "e", ERR_USAGE, "@/expert.yaml:2:1: ", NULL, "a mistake in it");
	put(&s, "expert.yaml", GOOD);
	load_says(tap, &s, "e", ERR_USAGE, "@/expert.yaml:3: tool 'a': there is no file 'lib/a.py'",
		"write the file", "no entry");
	put(&s, "lib/a.py", "def run(): pass\n");
	load_says(tap, &s, "e", ERR_NONE, "", NULL, "all there");
	put(&s, "expert.yaml", GOOD "ignore: [lib/]\n");
	load_says(tap, &s, "e", ERR_USAGE, "@/expert.yaml:3: tool 'a': there is no file", NULL,
		"entry ignored by its directory");
	put(&s, "expert.yaml", GOOD "ignore: ['*.py']\n");
	load_says(tap, &s, "e", ERR_USAGE, "@/expert.yaml:3: tool 'a': there is no file",
		"'ignore:' leaves it out", "entry ignored");
	char *big = malloc(1000002);
	memset(big, '#', 1000002);
	put_bytes(&s, "expert.yaml", big, 1000002);
	free(big);
	load_says(tap, &s, "e", ERR_USAGE, "@/expert.yaml:1:1: too long", NULL, "too long");
	unlinkat(s.at, "expert.yaml", 0);
	put(&s, "../out/expert.yaml", GOOD);
	put_link(&s, "expert.yaml", "../out/expert.yaml");
	load_says(tap, &s, "e", ERR_USAGE, "link leaves the expert's directory: '@/expert.yaml'",
		NULL, "a manifest from elsewhere");
	unlinkat(s.at, "expert.yaml", 0);
	put(&s, "conf/e.yaml", GOOD);
	put_link(&s, "expert.yaml", "conf/e.yaml");
	load_says(tap, &s, "e", ERR_NONE, "", NULL, "a manifest by a link inside");
	unlinkat(s.at, "expert.yaml", 0);
	mkfifoat(s.at, "expert.yaml", 0600);
	load_says(tap, &s, "e", ERR_USAGE, "not a regular file: '@/expert.yaml'", NULL, "a fifo");
	unlinkat(s.at, "expert.yaml", 0);
	mkdirat(s.at, "expert.yaml", 0755);
	load_says(tap, &s, "e", ERR_USAGE, "not a regular file: '@/expert.yaml'", NULL,
		"a directory");
}

/* The hint's command, run by a shell, makes a manifest that loads once its file is there. */
static void check_template(struct tap *tap)
{
	SCRATCH s;
	char cmd[1100], dir[80];
	struct err e = {0}, e2 = {0};
	MANIFEST_AUTO m = {0};
	TREE_AUTO t = {0};
	scratch_new(&s);
	put(&s, "it's new/hello.py", "def hello(): return 1\n");
	snprintf(dir, sizeof dir, "%s/e/it's new", s.dir);
	manifest_load(&m, &t, dir, &e);
	snprintf(cmd, sizeof cmd, "%s", e.hint);
	ok(tap, system(cmd) == 0, "the hint runs: %s", cmd);
	ok(tap, manifest_load(&m, &t, dir, &e2) == 0, "and makes a manifest that loads %s", e2.msg);
}

int main(void)
{
	struct tap tap = {0};
	check_plain(&tap);
	check_left_out(&tap);
	check_ignore(&tap);
	check_links(&tap);
	check_refused(&tap);
	check_names(&tap);
	check_limits(&tap);
	check_sparse(&tap);
	check_deep(&tap);
	check_suspicious(&tap);
	check_patterns(&tap);
	check_load(&tap);
	check_template(&tap);
	return tap_done(&tap);
}
