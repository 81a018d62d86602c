/* Older state files: brought up to date in one transaction, after a copy that can be restored. */
#include "../lib/tap.h"
#include "base/file.h"
#include "state/backup.h"
#include "state/cred.h"
#include "state/db.h"
#include "state/migrate.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW DB_SCHEMA_VERSION

static struct tap tap;

/* A rebuilt table that others refer to, a new one, and a new column: what migrations do. */
static const struct migration good[] = {
	{NOW + 1,
		"CREATE TABLE hosts2 (id INTEGER PRIMARY KEY, name TEXT NOT NULL, port INTEGER NOT "
		"NULL, "
		"plain INTEGER NOT NULL DEFAULT 0, allow_private INTEGER NOT NULL DEFAULT 0, "
		"connect_to TEXT, ca BLOB, credential INTEGER REFERENCES credentials (id), "
		"created INTEGER NOT NULL, UNIQUE (name, port)) STRICT;"
		"INSERT INTO hosts2 SELECT * FROM hosts; DROP TABLE hosts;"
		"ALTER TABLE hosts2 RENAME TO hosts; CREATE TABLE notes (text TEXT NOT NULL) STRICT"},
	{NOW + 2, "ALTER TABLE notes ADD COLUMN at INTEGER; INSERT INTO notes VALUES ('made', 3)"},
};
static const struct migration broken[] = {
	{NOW + 1, "CREATE TABLE notes (text TEXT NOT NULL) STRICT"},
	{NOW + 2, "ALTER TABLE nothing ADD COLUMN at INTEGER"},
};
static const struct migration dangling[] = {
	{NOW + 1, "UPDATE hosts SET credential = 4711"},
};
static const struct migration gap[] = {
	{NOW + 2, "CREATE TABLE notes (text TEXT NOT NULL) STRICT"},
};

static int64_t number(struct state *st, const char *sql)
{
	struct err e = {0};
	int64_t n = -1;
	bool found;
	if (db_number(st->db, &e, &n, &found, sql, "") < 0)
		return -1;
	return n;
}

static int64_t version_of(struct state *st)
{
	struct err e = {0};
	int64_t v = -1;
	db_version(st->db, &v, &e);
	return v;
}

/* The one backup there is, or NULL. */
static char *backup_there(const char *dir)
{
	STR_AUTO backups = path_join(dir, "backups");
	DIR *d = opendir(backups);
	char *found = NULL, begins[32];
	for (struct dirent *de; d && (de = readdir(d));) {
		snprintf(begins, sizeof begins, "schema-%d-", NOW);
		if (strncmp(de->d_name, begins, strlen(begins)) == 0 && !found)
			found = path_join(backups, de->d_name);
	}
	if (d)
		closedir(d);
	return found;
}

static void fill(struct state *st)
{
	struct err e = {0};
	SECRET_AUTO value = {0};
	bool done = secret_set(&value, "secret-value", 12, &e) == 0 &&
		    cred_add(st, "KEY", false, false, false, &value, &e) == 0 &&
		    db_exec(st->db, &e,
			    "INSERT INTO hosts (name, port, credential, created) VALUES "
			    "('api.example', 443, 1, 1)",
			    "") == 0;
	went(&tap, done, "a state with a host bound to a credential", &e);
}

static void test_failures(struct state *st)
{
	struct err e = {0};
	went(&tap, migrate_steps(st, broken, 2, &e) < 0 && e.code == ERR_STATE,
		"a step that fails: exit 9", &e);
	went(&tap, version_of(st) == NOW && number(st, "SELECT count(*) FROM notes") == -1,
		"and no step of it is there", NULL);
	e = (struct err){0};
	went(&tap, migrate_steps(st, dangling, 1, &e) < 0 && e.code == ERR_STATE,
		"a step that leaves a reference to nothing: exit 9", &e);
	went(&tap, number(st, "SELECT credential FROM hosts") == 1, "and it is taken back", NULL);
	e = (struct err){0};
	went(&tap, migrate_steps(st, gap, 1, &e) < 0 && version_of(st) == NOW,
		"no version is jumped over", &e);
}

static void test_success(struct state *st)
{
	struct err e = {0};
	int64_t rows;
	went(&tap, migrate_steps(st, good, 2, &e) == 0, "two steps", &e);
	went(&tap, version_of(st) == NOW + 2 && number(st, "SELECT at FROM notes") == 3,
		"both were done", NULL);
	went(&tap, number(st, "SELECT credential FROM hosts") == 1, "rows are kept", NULL);
	went(&tap,
		number(st, "SELECT count(*) FROM audit WHERE action = 'state migrate'") == 1 &&
			audit_verify(st, &rows, &e) == 0,
		"with one audit row, and the chain fits", &e);
}

static void test_newer_and_back(const struct state_place *place, const char *kept)
{
	struct err e = {0};
	BACKUP_INFO_AUTO b = {0};
	char newer[32];
	snprintf(newer, sizeof newer, "version %d", NOW + 2);
	{
		STATE_AUTO st = {0};
		went(&tap,
			state_open(&st, place, STATE_READ, &e) < 0 && e.code == ERR_STATE &&
				strstr(e.msg, newer),
			"this program refuses the newer file: exit 9", &e);
	}
	e = (struct err){0};
	went(&tap, kept && backup_restore(place, kept, &b, &e) == 0,
		"the copy kept before is restored", &e);
	STATE_AUTO st = {0};
	struct cred c;
	SECRET_AUTO value = {0};
	went(&tap, state_open(&st, place, STATE_READ, &e) == 0 && version_of(&st) == NOW,
		"as the version that it was", &e);
	went(&tap,
		state_unlock(&st, &e) == 0 && cred_find(&st, "KEY", &c, &e) == 0 &&
			cred_open(&st, &c, 0, NULL, &value, &e) == 1 && value.n == 12 &&
			memcmp(value.data, "secret-value", 12) == 0,
		"with its values", &e);
}

static void test_rekey(const struct state_place *place)
{
	struct err e = {0};
	STATE_AUTO st = {0};
	struct rekey r = {0};
	went(&tap,
		state_open(&st, place, STATE_WRITE, &e) == 0 && backup_rekey(&st, &r, &e) == 0 &&
			r.records == 1,
		"new keys", &e);
	rekey_free(&r);
	STATE_AUTO again = {0};
	struct cred c;
	SECRET_AUTO value = {0};
	went(&tap,
		state_open(&again, place, STATE_READ, &e) == 0 && state_unlock(&again, &e) == 0 &&
			cred_find(&again, "KEY", &c, &e) == 0 &&
			cred_open(&again, &c, 0, NULL, &value, &e) == 1 && value.n == 12 &&
			memcmp(value.data, "secret-value", 12) == 0,
		"open the same value", &e);
}

int main(void)
{
	char dir[] = "/tmp/evctl-test.XXXXXX";
	const struct place_options defaults = {.key_fd = -1, .pass_fd = -1};
	PLACE_AUTO place = {0};
	struct err e = {0};
	if (!mkdtemp(dir) || setenv("EVCTL_HOME", dir, 1) < 0)
		return 1;
	char *kept = NULL;
	{
		STATE_AUTO st = {0};
		went(&tap,
			state_place_find(&place, &defaults, &e) == 0 &&
				state_init(&st, &place, false, &e) == 0,
			"a state", &e);
		fill(&st);
		test_failures(&st);
		kept = backup_there(dir);
		went(&tap, !kept, "a failure leaves no copy", NULL);
		test_success(&st);
		kept = backup_there(dir);
	}
	test_newer_and_back(&place, kept);
	test_rekey(&place);
	free(kept);
	file_remove_tree(AT_FDCWD, dir);
	return tap_done(&tap);
}
