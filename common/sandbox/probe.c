#include "sandbox/probe.h"
#include "base/buf.h"
#include "base/child.h"
#include "base/file.h"
#include "base/python.h"
#include "sandbox/cgroup.h"
#include "sandbox/launch.h"
#include "sandbox/mounts.h"
#include "sandbox/plan.h"
#include "sandbox/userns.h"
#include "sandbox/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define TRIAL_MS 15000

/* What code finds inside besides the standard library. */
static const struct package {
	const char *module, *project, *debian;
} packages[] = {{"numpy", "numpy", "python3-numpy"}, {"pandas", "pandas", "python3-pandas"},
	{"matplotlib", "matplotlib", "python3-matplotlib"}, {"pypdf", "pypdf", "python3-pypdf"},
	{"PIL", "Pillow", "python3-pil"}, {"cryptography", "cryptography", "python3-cryptography"},
	{"psutil", "psutil", "python3-psutil"}};
#define NPACKAGES (sizeof packages / sizeof *packages)

/*
 * Runs inside: what the kernel holds the process to, the Python's version, and each package's; "-"
 * for one that is not there, "?" for one that does not say.
 */
static const char trial_code[] =
	"import importlib.metadata, importlib.util, sys\n"
	"def version(module, project):\n"
	"    spec = importlib.util.find_spec(module)\n"
	"    if spec is None or spec.origin is None:\n"
	"        return '-'\n"
	"    try:\n"
	"        return importlib.metadata.version(project).split()[0]\n"
	"    except Exception:\n"
	"        return '?'\n"
	"def f(names):\n"
	"    status = dict(l.split(':', 1) for l in open('/proc/self/status') if ':' in l)\n"
	"    return ' '.join([status['Seccomp'].strip(), status['NoNewPrivs'].strip(),\n"
	"                     sys.version.split()[0]] + [version(*n) for n in names])\n";

static struct probe_item *add(struct sandbox_probe *p, const char *name, enum probe_need need)
{
	struct probe_item *it = &p->items[p->n < PROBE_MAX - 1 ? p->n++ : PROBE_MAX - 1];
	memset(it, 0, sizeof *it);
	it->name = name;
	it->need = need;
	return it;
}

__attribute__((format(printf, 2, 3))) static void found(struct probe_item *it, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(it->is, sizeof it->is, fmt, ap);
	va_end(ap);
}

static void judge(struct probe_item *it, bool ok, const char *mend)
{
	it->ok = ok;
	snprintf(it->mend, sizeof it->mend, "%.*s", (int)sizeof it->mend - 1, ok ? "" : mend);
}

static void probe_kernel(struct sandbox_probe *p)
{
	struct probe_item *it = add(p, "kernel", PROBE_REQUIRED);
	struct utsname u;
	int major = 0, minor = 0;
	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	found(it, "%s %s", u.release, u.machine);
	judge(it, major > 5 || (major == 5 && minor >= 11), "Linux 5.11 or newer is needed");
}

/* By making one: the switches that forbid it are many, and some are lifted for a single program. */
static void probe_namespaces(struct sandbox_probe *p)
{
	struct probe_item *it = add(p, "user-namespaces", PROBE_REQUIRED);
	long max = userns_setting("/proc/sys/user/max_user_namespaces");
	int error = launch_try();
	if (error == 0) {
		found(it, "up to %ld", max);
		return judge(it, true, "");
	}
	const char *mend =
		max == 0 ? "sysctl -w user.max_user_namespaces=10000" : userns_mend(error);
	found(it, max == 0 ? "none allowed" : "refused: %s", strerror(error));
	judge(it, false, *mend ? mend : "allow unprivileged user namespaces");
}

/* The version that bwrap gives of itself; "" when it cannot be run. */
static void bwrap_version(char *out, size_t size)
{
	static const char *const argv[] = {PLAN_BWRAP, "--version", NULL};
	int pipe_fds[2];
	struct child c = CHILD_NONE;
	struct err ignored = {0};
	out[0] = '\0';
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return;
	const int fds[] = {-1, pipe_fds[1], -1};
	const struct child_spec spec = {.argv = argv, .fds = fds, .nfds = 3};
	int started = child_start(&c, &spec, &ignored);
	fd_close(&pipe_fds[1]);
	BUF_AUTO b = {.limit = 4096};
	if (started == 0 && fd_read_all(pipe_fds[0], &b) == 0)
		sscanf(buf_str(&b), "bubblewrap %31s", out);
	fd_close(&pipe_fds[0]);
	child_kill(&c);
	out[size - 1] = '\0';
}

static void probe_bwrap(struct sandbox_probe *p)
{
	struct probe_item *it = add(p, "bubblewrap", PROBE_REQUIRED);
	char version[32] = "";
	int major = 0, minor = 0;
	bwrap_version(version, sizeof version);
	sscanf(version, "%d.%d", &major, &minor);
	found(it, "%s", version[0] ? version : "not found at " PLAN_BWRAP);
	it->gone = !version[0];
	judge(it, major > 0 || minor >= 5, "apt-get install bubblewrap (0.5 or newer)");
}

/* Modules are found where they were when evctl was installed: another Python since then has others.
 */
static void probe_python(struct sandbox_probe *p, const char *share_dir)
{
	struct probe_item *it = add(p, "python", PROBE_REQUIRED);
	PYTHON_AUTO py = {0};
	struct mounts m;
	struct err e = {0};
	char version[16];
	if (mounts_find(&m, NULL, &e) < 0) {
		found(it, "%s", e.msg);
		it->gone = true;
		return judge(it, false, "apt-get install python3");
	}
	STR_AUTO facts = path_join(share_dir, "cell/python");
	bool known = facts && python_read(&py, facts, &e) == 0;
	snprintf(version, sizeof version, "python3.%d", py.minor);
	found(it, "%s, %zu modules", m.python, py.modules.n + py.open.n);
	judge(it, known && strcmp(strrchr(m.python, '/') + 1, version) == 0,
		"install evctl again: make install");
	mounts_free(&m);
}

static void probe_cell(struct sandbox_probe *p, const char *share_dir)
{
	struct probe_item *it = add(p, "cell", PROBE_REQUIRED);
	STR_AUTO cell = path_join(share_dir, "cell/cell.pyc");
	STR_AUTO fonts = path_join(share_dir, "cell/matplotlib");
	bool ok = cell && file_exists(cell);
	found(it, "%s", cell ? cell : "");
	it->gone = !ok;
	judge(it, ok, "install evctl again: make install");
	it = add(p, "font-list", PROBE_WANTED);
	DIR *d = fonts ? opendir(fonts) : NULL;
	bool has = false;
	for (struct dirent *de; d && (de = readdir(d));)
		has = has || strncmp(de->d_name, "fontlist-", 9) == 0;
	if (d)
		closedir(d);
	found(it, "%s", has ? "made at install" : "none: each first plot takes a second more");
	judge(it, has, "install python3-matplotlib, then evctl again: make install");
}

static void probe_landlock(struct sandbox_probe *p)
{
	struct probe_item *it = add(p, "landlock", PROBE_WANTED);
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
	if (abi > 0)
		found(it, "version %ld", abi);
	else
		found(it, "not there: mounts and the system call filter hold alone");
	judge(it, abi > 0, "a kernel with Landlock, and 'landlock' in its lsm= list");
}

static void probe_cgroup(struct sandbox_probe *p)
{
	static const char *const words[] = {
		[CGROUP_NONE] = "none that can be written: memory is bounded for each process only",
		[CGROUP_V1] = "version 1, memory and pids",
		[CGROUP_V2] = "version 2, memory and pids"};
	struct probe_item *it = add(p, "cgroup", PROBE_WANTED);
	struct cgroup cg;
	cgroup_open(&cg, (size_t)64 << 20, 64);
	found(it, "%s", words[cg.mode]);
	judge(it, cg.mode != CGROUP_NONE,
		"run evctl in a delegated group: systemd-run --user --scope -p Delegate=yes evctl "
		"...");
	cgroup_close(&cg);
}

/* All packages as the trial's input. */
static void trial_input(struct buf *b)
{
	buf_adds(b, "{\"names\":[");
	for (size_t i = 0; i < NPACKAGES; i++)
		buf_addf(b, "%s[\"%s\",\"%s\"]", i ? "," : "", packages[i].module,
			packages[i].project);
	buf_adds(b, "]}");
}

static int run_trial(struct sandbox_result *r, const char *share_dir, struct err *e)
{
	const struct sandbox_file file = {"probe.py", trial_code, sizeof trial_code - 1};
	const int ports[] = {80, 443};
	const struct sandbox_spec spec = {
		.files = &file, .nfiles = 1, .ports = ports, .nports = 2, .share_dir = share_dir};
	BUF_AUTO input = {0};
	struct sandbox *sb;
	trial_input(&input);
	if (sandbox_open(&sb, &spec, e) < 0)
		return -1;
	const struct sandbox_call call = {.entry_file = file.path,
		.entry_func = "f",
		.inputs = input.data,
		.ninputs = input.len,
		.timeout_ms = TRIAL_MS};
	int done = sandbox_call(sb, &call, r, e);
	sandbox_close(&sb);
	return done;
}

static void judge_package(struct sandbox_probe *p, const struct package *k, const char *version)
{
	struct probe_item *it = add(p, k->module, PROBE_WANTED);
	char mend[64];
	bool there = version && strcmp(version, "-") != 0;
	snprintf(mend, sizeof mend, "apt-get install %s", k->debian);
	found(it, "%s", !there ? "not there" : strcmp(version, "?") == 0 ? "there" : version);
	judge(it, there, mend);
}

static void say_python_version(struct sandbox_probe *p, const char *version)
{
	for (size_t i = 0; version && i < p->n; i++) {
		struct probe_item *it = &p->items[i];
		char path[sizeof it->is];
		if (strcmp(it->name, "python") != 0)
			continue;
		snprintf(path, sizeof path, "%s", it->is);
		found(it, "%.32s, %.200s", version, path);
	}
}

/* The answer is "SECCOMP NO-NEW-PRIVS PYTHON VERSION..." in quotes. */
static void judge_trial(struct sandbox_probe *p, struct probe_item *trial, char *answer)
{
	char *rest = NULL;
	const char *seccomp = strtok_r(answer, "\" ", &rest);
	const char *privs = strtok_r(NULL, "\" ", &rest);
	struct probe_item *it = add(p, "seccomp", PROBE_REQUIRED);
	bool held = seccomp && privs && strcmp(seccomp, "2") == 0 && strcmp(privs, "1") == 0;
	found(it, "%s", held ? "filter in force" : "no filter in force");
	judge(it, held, "a kernel with CONFIG_SECCOMP_FILTER");
	found(trial, "a call in it works");
	judge(trial, held, "see seccomp");
	say_python_version(p, strtok_r(NULL, "\" ", &rest));
	for (size_t i = 0; i < NPACKAGES; i++)
		judge_package(p, &packages[i], strtok_r(NULL, "\" ", &rest));
}

/* All of it at once: what is not met by any item above shows here. */
static void probe_trial(struct sandbox_probe *p, const char *share_dir)
{
	struct probe_item *it = add(p, "sandbox", PROBE_REQUIRED);
	struct sandbox_result r = {0};
	struct err e = {0};
	if (run_trial(&r, share_dir, &e) < 0) {
		found(it, "%s", e.msg);
		judge(it, false, e.hint[0] ? e.hint : "see the items that are not met");
	} else if (r.status != SANDBOX_OK) {
		found(it, "a call in it fails: %s", r.why);
		judge(it, false, "see the items that are not met");
	} else {
		judge_trial(p, it, r.result.data);
	}
	sandbox_result_free(&r);
}

int sandbox_probe(struct sandbox_probe *p, const char *share_dir, struct err *e)
{
	(void)e;
	memset(p, 0, sizeof *p);
	probe_kernel(p);
	probe_namespaces(p);
	probe_bwrap(p);
	probe_python(p, share_dir);
	probe_cell(p, share_dir);
	probe_landlock(p);
	probe_cgroup(p);
	probe_trial(p, share_dir);
	p->ok = true;
	for (size_t i = 0; i < p->n; i++)
		p->ok = p->ok && (p->items[i].ok || p->items[i].need == PROBE_WANTED);
	return 0;
}
