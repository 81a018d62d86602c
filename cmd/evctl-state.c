/* evctl-state: the state file and its keys. */
#include "base/file.h"
#include "base/output.h"
#include "base/say.h"
#include "cli/cli.h"
#include "state/backup.h"
#include "state/keyfile.h"
#include "state/livenames.h"
#include "state/state.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct column columns[] = {{"STATE", "state"}, {"KEY", "key"},
	{"FINGERPRINT", "fingerprint"}, {"SCHEMA", "schema"}, {"BYTES", "bytes"},
	{"CREDENTIALS", "credentials"}, {"HOSTS", "hosts"}, {"EXPERTS", "experts"},
	{"CONNECTIONS", "connections"}, {"SESSIONS", "sessions"}, {"RUNS", "runs"},
	{"ARTIFACTS", "artifacts"}, {"ARTIFACT BYTES", "artifact_bytes"}, {"EVENTS", "events"},
	{"AUDIT ROWS", "audit_rows"}, {NULL}};

struct init {
	bool passphrase;
};

static int run_init(struct invocation *in, struct err *e)
{
	const struct init *o = in->options;
	STATE_AUTO st = {0};
	PLACE_AUTO place = {0};
	char print[40];
	if (cli_place(in, &place, e) < 0 || state_init(&st, &place, o->passphrase, e) < 0)
		return -1;
	const char *network = file_network(st.place.dir);
	if (network)
		say_warn(in,
			"'%s' is on a network file system (%s): never share a state between "
			"machines",
			st.place.dir, network);
	seal_fingerprint(print, st.public_key);
	if (in->output != OUTPUT_TEXT)
		return output_object(in, columns,
			json_pack("{s:s,s:s,s:s}", "state", st.place.dir, "key", st.key_from,
				"fingerprint", print),
			e);
	output_say(in, "state        %s", st.place.dir);
	output_say(
		in, "private key  %s (keep a copy elsewhere: backups leave it out)", st.key_from);
	output_say(in, "fingerprint  %s", print);
	return 0;
}

static int run_status(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	struct stat info;
	char print[40];
	if (cli_state(&st, in, STATE_READ, e) < 0)
		return -1;
	seal_fingerprint(print, st.public_key);
	STR_AUTO path = path_join(st.place.dir, "state.db");
	struct err locked = {0};
	bool have_key = state_unlock(&st, &locked) == 0;
	JSON_AUTO totals = state_totals(&st, e);
	if (!totals)
		return -1;
	json_t *o = json_pack("{s:s,s:s,s:s,s:I}", "state", st.place.dir, "key",
		have_key ? st.key_from : locked.msg, "fingerprint", print, "bytes",
		(json_int_t)(path && stat(path, &info) == 0 ? info.st_size : 0));
	json_object_update(o, totals);
	return output_object(in, columns, o, e);
}

/* ---- backup and restore -------------------------------------------------------------------- */

static const struct column backup_columns[] = {{"BACKUP", "backup"}, {"CREATED", "created"},
	{"SCHEMA", "schema"}, {"FINGERPRINT", "fingerprint"}, {"OBJECTS", "objects"},
	{"BYTES", "bytes"}, {"LACKING", "lacking"}, {NULL}};

static int run_backup(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	BACKUP_INFO_AUTO b = {0};
	if (cli_state(&st, in, STATE_WRITE, e) < 0 || backup_make(&st, arg(in, 0), &b, e) < 0)
		return -1;
	for (size_t i = 0; i < b.lacking.n; i++)
		say_warn(in, "the bytes of artifact '%s' were missing or damaged already",
			b.lacking.v[i]);
	in->exit_code = b.lacking.n ? ERR_FINDINGS : 0;
	if (in->output != OUTPUT_TEXT)
		return output_object(in, backup_columns,
			json_pack("{s:o,s:s,s:I,s:s,s:I,s:I,s:o}", "backup",
				json_text_or_null(b.path), "created", b.created, "schema",
				(json_int_t)b.schema, "fingerprint", b.fingerprint, "objects",
				(json_int_t)b.objects, "bytes", (json_int_t)b.bytes, "lacking",
				json_texts(&b.lacking)),
			e);
	output_say(in, "backup       %s", b.path);
	output_say(in, "holds        state.db and %lld object%s, %lld bytes", (long long)b.objects,
		b.objects == 1 ? "" : "s", (long long)b.bytes);
	output_say(in, "private key  not in it: keep the one with fingerprint %s", b.fingerprint);
	return 0;
}

/* Restoring needs no key, but using what was restored does. */
static void warn_of_key(const struct invocation *in, const struct state_place *place,
	const struct backup_info *b, bool *have_key)
{
	STATE_AUTO st = {0};
	struct err why = {0};
	*have_key = state_open(&st, place, STATE_READ, &why) == 0 && state_unlock(&st, &why) == 0;
	if (!*have_key)
		say_warn(in, "%s; what is sealed needs the key with fingerprint %s", why.msg,
			b->fingerprint);
}

static int confirm_replacing(
	const struct invocation *in, const char *dir, const struct backup_info *b, struct err *e)
{
	return say_confirm(in, e, "replace the state in '%s' by the backup of %s", dir, b->created);
}

static int run_restore(struct invocation *in, struct err *e)
{
	BACKUP_INFO_AUTO told = {0};
	BACKUP_INFO_AUTO b = {0};
	const char *from = arg(in, 0);
	bool have_key;
	PLACE_AUTO place = {0};
	/* Where there is no state yet, nothing is lost and nobody asked. */
	STR_AUTO db = cli_place(in, &place, e) < 0 ? NULL : state_place_path(&place, "state.db", e);
	const char *dir = place.dir;
	if (!db || backup_read(from, &told, e) < 0 ||
		(file_exists(db) && confirm_replacing(in, dir, &told, e) < 0) ||
		backup_restore(&place, from, &b, e) < 0)
		return -1;
	warn_of_key(in, &place, &b, &have_key);
	if (in->output != OUTPUT_TEXT)
		return output_object(in, columns,
			json_pack("{s:s,s:b,s:s,s:I,s:I,s:I}", "state", dir, "key", (int)have_key,
				"fingerprint", b.fingerprint, "schema", (json_int_t)b.schema,
				"objects", (json_int_t)b.objects, "audit_rows",
				(json_int_t)b.audit_rows),
			e);
	output_say(in, "restored the backup of %s to %s: %lld object%s", b.created, dir,
		(long long)b.objects, b.objects == 1 ? "" : "s");
	return 0;
}

/* ---- new keys ------------------------------------------------------------------------------ */

static const struct column rekey_columns[] = {{"KEY", "key"}, {"FINGERPRINT", "fingerprint"},
	{"OLD KEY", "old_key"}, {"OLD FINGERPRINT", "old_fingerprint"}, {"RECORDS", "records"},
	{NULL}};

struct new_key {
	const char *to;
	int new_passphrase_fd;
	bool passphrase, no_passphrase, drop_old;
};

/* A wrapped key is not followed by a bare one unless that was said. */
static int check_wrapping(const struct state *st, const struct new_key *o, bool wrap, struct err *e)
{
	if (wrap && o->no_passphrase)
		return err_set(e, ERR_USAGE, "'--no-passphrase' contradicts a new passphrase");
	if (wrap || o->no_passphrase || !file_exists(st->key_from))
		return 0;
	int wrapped = keyfile_is_wrapped(st->key_from, e);
	if (wrapped <= 0)
		return wrapped;
	err_set(e, ERR_USAGE,
		"the old key is wrapped by a passphrase: say whether the new key should be, too");
	return err_hint(e, "add --passphrase, or --no-passphrase");
}

static int run_rekey(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	const struct new_key *o = in->options;
	struct rekey r = {.to = o->to,
		.wrap = o->passphrase || o->new_passphrase_fd >= 0,
		.passphrase = {o->new_passphrase_fd, "new-passphrase-fd"},
		.drop_old = o->drop_old};
	if (cli_state(&st, in, STATE_WRITE, e) < 0 || state_unlock(&st, e) < 0 ||
		check_wrapping(&st, o, r.wrap, e) < 0)
		return -1;
	if (r.drop_old && say_confirm(in, e,
				  "remove the old key: older backups, and other states that "
				  "share it, open with it only") < 0)
		return -1;
	int done = backup_rekey(&st, &r, e);
	if (done == 0 && in->output != OUTPUT_TEXT)
		done = output_object(in, rekey_columns,
			json_pack("{s:s,s:s,s:s?,s:s,s:I}", "key", r.key, "fingerprint",
				r.fingerprint, "old_key", r.old_key, "old_fingerprint",
				r.old_fingerprint, "records", (json_int_t)r.records),
			e);
	else if (done == 0) {
		output_say(
			in, "private key  %s (keep a copy elsewhere: backups leave it out)", r.key);
		output_say(in, "fingerprint  %s", r.fingerprint);
		output_say(in, "sealed anew  %lld record%s", (long long)r.records,
			r.records == 1 ? "" : "s");
		if (r.old_key)
			output_say(
				in, "old key      %s (older backups open with it only)", r.old_key);
	}
	rekey_free(&r);
	return done;
}

static const struct arg_spec to_arg[] = {{"TO"}, {NULL}};
static const struct arg_spec from_arg[] = {{"FROM", NAME_DIR}, {NULL}};
static const struct option_spec rekey_options[] = {
	OPT_FLAG(struct new_key, passphrase, "passphrase",
		"wrap the new key by a passphrase, which is asked for"),
	OPT_INT(struct new_key, new_passphrase_fd, "new-passphrase-fd", "N",
		"a descriptor to read the new passphrase from", -1, 0, OPTION_FD_MAX),
	OPT_FLAG(struct new_key, no_passphrase, "no-passphrase",
		"do not wrap the new key, though the old one is"),
	OPT_STR(struct new_key, to, "to", "FILE",
		"where the new key goes (default: in place of the old one)", .kind = NAME_FILE),
	OPT_FLAG(struct new_key, drop_old, "drop-old",
		"remove the old key instead of keeping it beside"),
	OPT_END(struct new_key)};
static const struct option_spec init_options[] = {
	OPT_FLAG(struct init, passphrase, "passphrase", "wrap the private key by a passphrase"),
	OPT_END(struct init)};

static const struct verb verbs[] = {{"init", "make the state directory, state file and private key",
					    NULL, init_options, NULL, run_init},
	{"status", "sizes, counts and the key's fingerprint", NULL, NULL, NULL, run_status},
	{"backup", "copy the state and the artifacts to a new directory", to_arg, NULL,
		"  evctl-state backup ~/backups/evctl-monday\n", run_backup},
	{"restore", "verify a backup and put it in the state's place", from_arg, NULL,
		"  evctl-state restore ~/backups/evctl-monday\n", run_restore},
	{"rekey", "make a new private key and seal everything to it", NULL, rekey_options,
		"  evctl-state rekey\n  evctl-state rekey --passphrase --drop-old\n", run_rekey},
	{NULL}};

static const struct program program = {.name = "evctl-state",
	.summary = "the state file that all programs share, and its private key",
	.examples = "  evctl-state init\n"
		    "  evctl-state init --passphrase\n"
		    "  evctl-state status -o json\n"
		    "  evctl-state backup ~/backups/evctl-monday\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}
