/* evctl-state: the state file and its keys. */
#include "base/file.h"
#include "base/output.h"
#include "state/livenames.h"
#include "state/state.h"

#include <sys/stat.h>
#include <unistd.h>

static const struct column columns[] = {{"STATE", "state"}, {"KEY", "key"},
	{"FINGERPRINT", "fingerprint"}, {"SCHEMA", "schema"}, {"BYTES", "bytes"},
	{"CREDENTIALS", "credentials"}, {"HOSTS", "hosts"}, {"EXPERTS", "experts"},
	{"CONNECTIONS", "connections"}, {"SESSIONS", "sessions"}, {"RUNS", "runs"},
	{"ARTIFACTS", "artifacts"}, {"ARTIFACT BYTES", "artifact_bytes"}, {"EVENTS", "events"},
	{"AUDIT ROWS", "audit_rows"}, {NULL, NULL}};

static int run_init(struct invocation *in, struct err *e)
{
	STATE_AUTO st;
	char print[40];
	if (state_init(&st, in, opt_flag(in, "passphrase"), e) < 0)
		return -1;
	seal_fingerprint(print, st.public_key);
	if (in->output != OUTPUT_TEXT)
		return output_object(in, columns,
			json_pack("{s:s,s:s,s:s}", "state", st.dir, "key", st.key_from, "fingerprint",
				print),
			e);
	output_say(in, "state        %s", st.dir);
	output_say(in, "private key  %s (keep a copy elsewhere: backups leave it out)", st.key_from);
	output_say(in, "fingerprint  %s", print);
	return 0;
}

static int count(struct state *st, json_t *o, const char *key, const char *sql, struct err *e)
{
	int64_t n;
	bool found;
	if (db_number(st->db, e, &n, &found, sql, "") < 0)
		return -1;
	json_object_set_new(o, key, json_integer(n));
	return 0;
}

static int run_status(struct invocation *in, struct err *e)
{
	static const char *const counts[][2] = {
		{"credentials", "SELECT count(*) FROM credentials"},
		{"hosts", "SELECT count(*) FROM hosts"},
		{"experts", "SELECT count(*) FROM experts"},
		{"connections", "SELECT count(*) FROM connections"},
		{"sessions", "SELECT count(*) FROM sessions WHERE ended IS NULL"},
		{"runs", "SELECT count(*) FROM runs"},
		{"artifacts", "SELECT count(*) FROM artifacts"},
		{"artifact_bytes", "SELECT coalesce(sum(bytes), 0) FROM artifacts"},
		{"events", "SELECT count(*) FROM events"},
		{"audit_rows", "SELECT count(*) FROM audit"},
	};
	STATE_AUTO st;
	struct stat info;
	char print[40];
	if (state_open(&st, in, STATE_READ, e) < 0)
		return -1;
	seal_fingerprint(print, st.public_key);
	STR_AUTO path = path_join(st.dir, "state.db");
	struct err locked = {0};
	bool have_key = state_unlock(&st, &locked) == 0;
	json_t *o = json_pack("{s:s,s:s,s:s,s:i,s:I}", "state", st.dir, "key",
		have_key ? st.key_from : locked.msg, "fingerprint", print, "schema",
		DB_SCHEMA_VERSION, "bytes",
		(json_int_t)(path && stat(path, &info) == 0 ? info.st_size : 0));
	for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
		if (count(&st, o, counts[i][0], counts[i][1], e) < 0) {
			json_decref(o);
			return -1;
		}
	}
	return output_object(in, columns, o, e);
}

static const struct option_spec init_options[] = {
	{"passphrase", 0, NULL, "wrap the private key by a passphrase", NAME_NONE, NULL, false},
	{NULL}};

static const struct verb verbs[] = {
	{"init", "make the state directory, state file and private key", NULL, init_options, NULL,
		run_init},
	{"status", "sizes, counts and the key's fingerprint", NULL, NULL, NULL, run_status}, {NULL}};

static const struct program program = {.name = "evctl-state",
	.summary = "the state file that all programs share, and its private key",
	.examples = "  evctl-state init\n"
		    "  evctl-state init --passphrase\n"
		    "  evctl-state status -o json\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}
