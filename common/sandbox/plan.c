#include "sandbox/plan.h"

#include <string.h>

/* Settings, not secrets: nothing of the launcher's environment goes in. */
static const char *const environment[][2] = {
	{"HOME", "/scratch"},
	{"LANG", "C.UTF-8"},
	{"PATH", "/usr/bin"},
	{"TMPDIR", "/tmp"},
	{"TZ", "UTC"},
	{"MPLBACKEND", "Agg"},
	{"MPLCONFIGDIR", "/tmp/.matplotlib"},
	{"OPENBLAS_NUM_THREADS", "1"},
	{"OMP_NUM_THREADS", "1"},
	/* For packages that bring their own list of authorities. */
	{"SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"},
	{"REQUESTS_CA_BUNDLE", "/etc/ssl/certs/ca-certificates.crt"},
};

const char *const plan_devices[PLAN_DEVICES] = {"null", "zero", "full", "random", "urandom"};

const char *const plan_device_links[][2] = {{"fd", "/proc/self/fd"}, {"stdin", "/proc/self/fd/0"},
	{"stdout", "/proc/self/fd/1"}, {"stderr", "/proc/self/fd/2"}, {NULL, NULL}};

static const char *const links[][2] = {
	{"/etc/ssl/certs", "/usr/lib/ssl/certs"},
	{"/etc/ssl/certs/ca-certificates.crt", "/usr/lib/ssl/cert.pem"},
};

/*
 * The cell is compiled when evctl is installed; a Python of another version since then reads the
 * source instead.
 */
static const char boot[] =
	"import marshal,posix,sys\n"
	"def f(n):\n"
	" d=posix.open(n,posix.O_RDONLY|posix.O_CLOEXEC);b=posix.read(d,1<<20);posix.close(d);"
	"return b\n"
	"b=f('/cell/cell.pyc')\n"
	"exec(marshal.loads(b[16:]) if "
	"b[:4]==sys.modules['_frozen_importlib_external'].MAGIC_NUMBER"
	" else compile(f('/cell/cell.py'),'/cell/cell.py','exec'),{'__name__':'cell'})";

static void add(struct buf *args, const char *s)
{
	buf_add(args, s, strlen(s) + 1);
}

static void add2(struct buf *args, const char *a, const char *b)
{
	add(args, a);
	add(args, b);
}

static void add3(struct buf *args, const char *a, const char *b, const char *c)
{
	add2(args, a, b);
	add(args, c);
}

static void namespaces(struct buf *args)
{
	/* The network and the outer pid namespace are launch.c's. */
	static const char *const flags[] = {"--unshare-user", "--unshare-pid", "--unshare-ipc",
		"--unshare-uts", "--unshare-cgroup-try", "--die-with-parent"};
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		add(args, flags[i]);
	add2(args, "--cap-drop", "ALL");
	add2(args, "--hostname", "sandbox");
	add2(args, "--uid", "1000");
	add2(args, "--gid", "1000");
}

static void system_files(const struct mounts *m, struct buf *args)
{
	for (size_t i = 0; i < m->binds.n; i++)
		add3(args, "--ro-bind", m->binds.v[i], m->binds.v[i]);
	for (size_t i = 0; i + 1 < m->links.n; i += 2)
		if (strncmp(m->links.v[i], "/etc/", 5) != 0)
			add3(args, "--symlink", m->links.v[i + 1], m->links.v[i]);
}

static void proc(const struct mounts *m, struct buf *args)
{
	add2(args, "--proc", "/proc");
	for (size_t i = 0; i < m->masks.n; i++) {
		bool dir = strchr(m->masks.v[i], '/');
		add2(args, "--ro-bind", dir ? "/empty" : "/nothing");
		buf_adds(args, "/proc/");
		buf_add(args, m->masks.v[i], strcspn(m->masks.v[i], "/"));
		buf_addc(args, '\0');
	}
}

static void own_files(struct buf *args)
{
	add3(args, "--ro-bind", "/tool", "/tool");
	add3(args, "--ro-bind", "/cell", "/cell");
	add3(args, "--ro-bind", "/etc", "/etc");
	/* Each with what is mounted below it: outputs/, and the devices and shm. */
	add3(args, "--bind", "/work/scratch", "/scratch");
	add3(args, "--bind", "/work/tmp", "/tmp");
	add3(args, "--dev-bind", "/dev", "/dev");
	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		add3(args, "--symlink", links[i][0], links[i][1]);
}

int plan_bwrap(const struct plan *p, struct strv *argv, struct buf *args, struct err *e)
{
	namespaces(args);
	if (p->session)
		add(args, "--as-pid-1");
	for (size_t i = 0; i < sizeof environment / sizeof *environment; i++)
		add3(args, "--setenv", environment[i][0], environment[i][1]);
	/* First, while the list of mounts, which bwrap reads at each bind, is short. */
	proc(p->mounts, args);
	system_files(p->mounts, args);
	own_files(args);
	/* bwrap's root is a tmpfs without a limit: nothing may be written there. */
	add2(args, "--remount-ro", "/");
	add2(args, "--chdir", "/scratch");

	strv_add(argv, PLAN_BWRAP);
	strv_add(argv, "--args");
	strv_addf(argv, "%d", PLAN_FD_ARGS);
	strv_add(argv, "--seccomp");
	strv_addf(argv, "%d", PLAN_FD_SECCOMP);
	strv_add(argv, "--");
	strv_add(argv, p->mounts->python);
	strv_add(argv, "-ISBc");
	strv_add(argv, boot);
	if (argv->failed || args->failed)
		return err_set(e, ERR_SANDBOX, "out of memory");
	return 0;
}
