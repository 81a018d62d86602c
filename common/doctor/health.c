#include "doctor/health.h"
#include "doctor/door.h"

#include "base/file.h"
#include "state/cred_day.h"
#include "state/keyfile.h"
#include "state/objects.h"
#include "state/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LEAST_FREE_BYTES ((uint64_t)200 * 1000 * 1000)
#define YEAR_2024_MS ((int64_t)1704067200 * 1000)

static void say_fixed(json_t *fixed, const char *what)
{
	json_array_append_new(fixed, json_string(what));
}

/* What --fix would mend, as far as the mode of a file is its owner's to change. */
static void say_fixable(json_t *row, const struct stat *st)
{
	if (st->st_uid == geteuid() || geteuid() == 0)
		json_object_set_new(row, "fixable", json_true());
}

static void check_mode(
	const char *path, const char *check, mode_t want, bool fix, json_t *rows, json_t *fixed)
{
	struct stat st;
	char is[64], mend[4300];
	if (stat(path, &st) < 0)
		return;
	bool ok = (st.st_mode & 0077) == 0;
	if (!ok && fix && chmod(path, want) == 0) {
		say_fixed(fixed, check);
		ok = true;
		st.st_mode = want;
	}
	snprintf(is, sizeof is, "%04o, owner %ld", st.st_mode & 07777u, (long)st.st_uid);
	snprintf(mend, sizeof mend, "chmod %o '%s'", want, path);
	json_t *row = health_add(rows, "state", check, ok ? HEALTH_OK : HEALTH_EXPOSED, is, mend);
	if (!ok)
		say_fixable(row, &st);
}

/* It is made with the state: without it no artifact can be kept. */
static void check_objects_directory(const char *path, bool fix, json_t *rows, json_t *fixed)
{
	char mend[4300];
	if (access(path, F_OK) == 0) {
		check_mode(path, "objects-directory", 0700, fix, rows, fixed);
		return;
	}
	bool ok = fix && mkdir(path, 0700) == 0;
	if (ok)
		say_fixed(fixed, "objects-directory");
	snprintf(mend, sizeof mend, "mkdir -m 700 '%s'", path);
	json_t *row = health_add(rows, "state", "objects-directory",
		ok ? HEALTH_OK : HEALTH_MISSING, ok ? "0700" : "not there", mend);
	if (!ok)
		json_object_set_new(row, "fixable", json_true());
}

/* SQLite writes beside its file, also to read. */
static void check_writable(const char *dir, json_t *rows)
{
	char mend[4300];
	if (access(dir, W_OK) == 0)
		return;
	snprintf(mend, sizeof mend,
		errno == EROFS
			? "mount -o remount,rw on what holds '%s'; or copy it and name the copy: "
			  "--state DIR"
			: "chown %2$ld '%1$s'",
		dir, (long)geteuid());
	health_add(rows, "state", "state-writable", HEALTH_BROKEN, strerror(errno), mend);
}

/* SQLite writes to these too, also to read; what is there of them is the state's own. */
static void check_beside(const char *dir, bool fix, json_t *rows, json_t *fixed)
{
	static const char *const names[] = {"state.db-shm", "state.db-wal"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		STR_AUTO path = path_join(dir, names[i]);
		struct stat st;
		char is[64], mend[4300];
		if (!path || lstat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
			(st.st_mode & 0600) == 0600)
			continue;
		bool ok = fix && chmod(path, 0600) == 0;
		if (ok)
			say_fixed(fixed, names[i]);
		snprintf(is, sizeof is, "%04o, owner %ld", ok ? 0600u : st.st_mode & 07777u,
			(long)st.st_uid);
		snprintf(mend, sizeof mend, "chmod 600 '%s'", path);
		json_t *row = health_add(
			rows, "state", names[i], ok ? HEALTH_OK : HEALTH_BROKEN, is, mend);
		if (!ok)
			say_fixable(row, &st);
	}
}

static void check_files(const char *dir, bool fix, json_t *rows, json_t *fixed)
{
	STR_AUTO db = path_join(dir, "state.db");
	STR_AUTO objects = path_join(dir, "objects");
	check_mode(dir, "state-directory", 0700, fix, rows, fixed);
	if (db)
		check_mode(db, "state-file", 0600, fix, rows, fixed);
	if (objects)
		check_objects_directory(objects, fix, rows, fixed);
}

static void check_database(struct state *st, json_t *rows)
{
	struct err e = {0};
	char is[64];
	int64_t n = 0;
	bool ok = state_check(st, &e) == 0;
	health_add(rows, "state", "integrity", ok ? HEALTH_OK : HEALTH_BROKEN, ok ? "sound" : e.msg,
		"evctl-state restore BACKUP");
	err_clear(&e);
	ok = audit_verify(st, &n, &e) == 0;
	snprintf(is, sizeof is, "%lld rows, unbroken", (long long)n);
	health_add(rows, "state", "audit-chain", ok ? HEALTH_OK : HEALTH_BROKEN, ok ? is : e.msg,
		"compare with a backup: evctl-state restore BACKUP");
}

/* A key that others could read is closed to them, and the advice to change it stays. */
static bool is_open_key(const struct state *st, struct stat *k)
{
	const char *path = st->place.key_fd < 0 ? st->key_from : NULL;
	return path && stat(path, k) == 0 && S_ISREG(k->st_mode) && (k->st_mode & 0077);
}

static bool close_key(struct state *st, json_t *fixed)
{
	struct stat k;
	if (!is_open_key(st, &k) || k.st_uid != geteuid() || chmod(st->key_from, 0600) < 0)
		return false;
	say_fixed(fixed, "private-key (others could read it: evctl-state rekey makes a new one)");
	return true;
}

static enum health judge_key(const struct state *st, bool ok)
{
	struct stat k;
	if (ok)
		return HEALTH_OK;
	if (is_open_key(st, &k))
		return HEALTH_EXPOSED;
	return st->place.key_fd >= 0 || (st->key_from && file_exists(st->key_from))
		       ? HEALTH_BROKEN
		       : HEALTH_MISSING;
}

static void check_key(struct state *st, bool fix, json_t *rows, json_t *fixed)
{
	struct err e = {0}, none = {0};
	struct stat k;
	bool ok = state_unlock(st, &e) == 0;
	if (!ok && fix && close_key(st, fixed)) {
		err_clear(&e);
		ok = state_unlock(st, &e) == 0;
	}
	/* A wrapped key cannot be tried without its passphrase; that it is wrapped is fine. */
	bool wrapped = !ok && st->place.pass_fd < 0 && st->key_from &&
		       keyfile_is_wrapped(st->key_from, &none) == 1 && !is_open_key(st, &k);
	enum health level = judge_key(st, ok || wrapped);
	json_t *row = health_add(rows, "state", "private-key", level,
		ok	  ? st->key_from
		: wrapped ? "wrapped by a passphrase"
			  : e.msg,
		e.hint[0] ? e.hint : "give --key-file FILE");
	if (level == HEALTH_EXPOSED && is_open_key(st, &k) && k.st_uid == geteuid())
		json_object_set_new(row, "fixable", json_true());
}

static void check_days(struct state *st, json_t *rows)
{
	struct err quiet = {0};
	JSON_AUTO due = json_array();
	BUF_AUTO is = {0};
	size_t i;
	json_t *text;
	cred_day_due(st, 0, false, due, &quiet);
	json_array_foreach (due, i, text)
		buf_addf(&is, "%s%s", i ? "; " : "", json_string_value(text));
	if (is.len)
		health_add(rows, "state", "credentials-due", HEALTH_WEAKER, buf_str(&is),
			"evctl-cred rotate NAME --expires DAY");
}

static void check_objects(struct state *st, bool fix, json_t *rows, json_t *fixed)
{
	struct err quiet = {0};
	char is[64], run[32] = "", mend[96];
	int64_t removed = 0;
	if (fix && objects_orphans(st) && objects_sweep(st, &removed, &quiet) == 0 && removed)
		say_fixed(fixed, "orphan-objects");
	int64_t orphans = objects_orphans(st), missing = objects_missing(st, run);
	snprintf(is, sizeof is, "%lld", (long long)orphans);
	json_t *row = health_wanted(
		rows, "state", "orphan-objects", orphans == 0, is, "evctl doctor --fix");
	if (orphans)
		json_object_set_new(row, "fixable", json_true());
	snprintf(is, sizeof is, "%lld", (long long)missing);
	snprintf(mend, sizeof mend, "evctl-state restore BACKUP, or evctl-artifact rm %s", run);
	health_add(rows, "state", "missing-objects", missing ? HEALTH_BROKEN : HEALTH_OK, is, mend);
}

/* SQLite's locks and shared memory are the kernel's: two kernels over one file damage it. */
static void check_network(const char *dir, json_t *rows)
{
	const char *kind = file_network(dir);
	char is[64];
	snprintf(is, sizeof is, "the state is on a network file system (%s)", kind ? kind : "");
	if (kind)
		health_add(rows, "state", "local-disk", HEALTH_WEAKER, is,
			"move it to a disk of this machine; never share it between machines");
}

/* What cannot be locked may be written to swap; a run does not fail for it. */
static void check_locked(json_t *rows)
{
	long page = sysconf(_SC_PAGESIZE);
	void *p = mmap(
		NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return;
	bool ok = mlock(p, (size_t)page) == 0;
	health_wanted(rows, "machine", "locked-memory", ok,
		ok ? "keys stay out of swap"
		   : "keys cannot be locked in memory, and may get to swap",
		"raise it: ulimit -l 1024");
	munmap(p, (size_t)page);
}

static void check_clock(struct state *st, json_t *rows)
{
	int64_t last = st ? audit_last(st) : 0, now = clock_real_ms();
	char is[24];
	bool ok = now > YEAR_2024_MS && now + 60000 >= last;
	health_add(rows, "machine", "clock", ok ? HEALTH_OK : HEALTH_BROKEN,
		clock_text(now, is, sizeof is),
		"set the clock: certificates are judged by it (timedatectl set-ntp true)");
}

static void check_disk(const char *dir, json_t *rows)
{
	struct statvfs v;
	char is[96];
	if (statvfs(dir, &v) < 0)
		return;
	uint64_t free_bytes = (uint64_t)v.f_bavail * v.f_frsize;
	bool inodes = v.f_files == 0 || v.f_favail > 1000;
	snprintf(is, sizeof is, "%llu MB free", (unsigned long long)(free_bytes / 1000000));
	bool enough = free_bytes >= LEAST_FREE_BYTES && inodes;
	health_add(rows, "machine", "disk-space", enough ? HEALTH_OK : HEALTH_BROKEN, is,
		"make room: evctl-artifact gc --older 30, evctl-log gc --older 30");
}

/* Sessions and runs whose process is gone without a word. */
static void end_dead(struct state *st, json_t *fixed)
{
	struct err none = {0};
	size_t n = session_dead(st);
	if (session_sweep(st, &none) == 0 && n > 0)
		say_fixed(fixed, "gone-runs");
}

int health_state(
	const struct state_place *place, bool fix, json_t *rows, json_t *fixed, struct err *e)
{
	STATE_AUTO st = {0};
	const char *dir = place->dir;
	STR_AUTO db = state_place_path(place, "state.db", e);
	if (!db)
		return -1;
	check_locked(rows);
	if (!file_exists(db)) {
		health_add(rows, "state", "state-file", HEALTH_OK, "none yet: evctl init", "");
		check_clock(NULL, rows);
		return 0;
	}
	check_files(dir, fix, rows, fixed);
	check_beside(dir, fix, rows, fixed);
	check_writable(dir, rows);
	check_network(dir, rows);
	struct err why = {0};
	if (state_open(&st, place, fix ? STATE_WRITE : STATE_READ, &why) < 0) {
		bool here = strcmp(why.hint, "evctl doctor") == 0;
		health_add(rows, "state", "open", HEALTH_BROKEN, why.msg,
			here ? "see state-writable and state-file" : why.hint);
		check_disk(dir, rows);
		return 0;
	}
	if (fix)
		end_dead(&st, fixed);
	check_database(&st, rows);
	check_key(&st, fix, rows, fixed);
	check_objects(&st, fix, rows, fixed);
	check_days(&st, rows);
	check_clock(&st, rows);
	check_disk(dir, rows);
	return health_door(&st, rows, e);
}
