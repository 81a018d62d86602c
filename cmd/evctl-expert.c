/* evctl-expert: sets of code tools, the hosts attached to them, and their published versions. */
#include "base/file.h"
#include "base/limits.h"
#include "base/output.h"
#include "base/say.h"
#include "cli/cli.h"
#include "manifest/starter.h"
#include "run/examples.h"
#include "run/keys.h"
#include "state/livenames.h"
#include "state/expert.h"
#include "state/buyer.h"
#include "state/listing.h"
#include "verify/diff.h"
#include "verify/publish.h"
#include "verify/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAMED_MOST 10 /* in a note; the JSON has them all */

/* ---- showing ----------------------------------------------------------------------------------
 */

/* Whether the draft is what is published: `draft` is "same", "differs" or null, `differs` in what.
 */
static void add_draft(struct state *st, json_t *row)
{
	struct err none = {0};
	BUF_AUTO parts = {0};
	json_t *draft = json_null();
	if (row && json_is_integer(json_object_get(row, "published")) &&
		diff_draft(st, json_text_of(row, "name"), &parts, &none) == 0)
		draft = json_string(parts.len ? "differs" : "same");
	json_object_set_new(row, "draft", draft);
	json_object_set_new(row, "differs", json_text_or_null(parts.len ? buf_str(&parts) : NULL));
}

/* Its code is looked at for that, so not where names alone are printed. */
static json_t *describe(
	const struct invocation *in, struct state *st, const char *name, struct err *e)
{
	json_t *row = expert_describe(st, name, e);
	if (row && in->output != OUTPUT_NAME)
		add_draft(st, row);
	return row;
}

/* JSON as it is; text gets its cells made readable. Takes row over. */
static json_t *for_output(const struct invocation *in, json_t *row, bool with_entry)
{
	if (!row || in->output != OUTPUT_TEXT)
		return row;
	if (json_is_string(json_object_get(row, "problem")))
		say_warn(in, "%s: %s", json_text_of(row, "name"), json_text_of(row, "problem"));
	json_t *out = expert_cells(row, with_entry);
	if (json_is_string(json_object_get(row, "differs")))
		json_object_set_new(
			out, "draft", json_sprintf("differs: %s", json_text_of(row, "differs")));
	json_decref(row);
	return out;
}

static const struct column list_columns[] = {{"NAME", "name"}, {"PUBLISHED", "published"},
	{"DRAFT", "draft"}, {"TOOLS", "tools", 1}, {"HOSTS", "hosts", 2}, {"DIRECTORY", "dir", 3},
	{NULL}};
static const struct column show_columns[] = {{"NAME", "name"}, {"DESCRIPTION", "description"},
	{"DIRECTORY", "dir"}, {"TOOLS", "tools"}, {"INPUTS", "inputs"}, {"HOSTS", "hosts"},
	{"PUBLISHED", "published"}, {"DRAFT", "draft"}, {"VERSIONS", "versions"}, {NULL}};

static const struct cli_noun expert = {.columns = show_columns, .find = expert_describe};

static int list_all(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	STRV_AUTO names = {0};
	if (cli_state(&st, in, STATE_READ, e) < 0 || expert_names(&st, &names, e) < 0)
		return -1;
	JSON_AUTO rows = json_array();
	for (size_t i = 0; i < names.n; i++) {
		json_t *row = for_output(in, describe(in, &st, names.v[i], e), false);
		if (!row)
			return -1;
		json_array_append_new(rows, row);
	}
	return output_list(in, list_columns, json_incref(rows), e);
}

/* Takes made over; NULL is of an error before. */
static int print_made(const struct invocation *in, json_t *made,
	void (*text)(const json_t *, struct buf *), struct err *e)
{
	static const struct column columns[] = {{"EXPERT", "expert"}, {NULL}};
	BUF_AUTO b = {0};
	if (!made || in->output != OUTPUT_TEXT)
		return output_object(in, columns, made, e);
	text(made, &b);
	json_decref(made);
	output_text(stdout, buf_str(&b), b.len);
	return 0;
}

struct expert_show {
	bool diff, stat, patch;
};

/* Which files differ is seen with the private key only; without it the rest is told. */
static int add_files(const struct invocation *in, struct state *st, const struct expert_view *draft,
	json_t *diff, struct buf *patch, struct err *e)
{
	const struct expert_show *o = in->options;
	EXPERT_VIEW_AUTO published = {0};
	struct err why = {0};
	if (expert_load(st, draft->name, EXPERT_PUBLISHED, &published, &why) == 0)
		return diff_files(diff, &published.t, &draft->t, o->patch ? patch : NULL, e);
	if (o->stat || o->patch) {
		*e = why;
		return -1;
	}
	say_note(in, "which files differ cannot be told: %s", why.msg);
	return 0;
}

static int print_patch(const struct buf *patch)
{
	output_text(stdout, buf_str(patch), patch->len);
	return 0;
}

static int show_diff(const struct invocation *in, struct state *st, const char *name, struct err *e)
{
	const struct expert_show *o = in->options;
	EXPERT_VIEW_AUTO published = {0};
	EXPERT_VIEW_AUTO draft = {0};
	BUF_AUTO patch = {.limit = 4 * MB(LIMIT_EXPERT_MB)};
	JSON_AUTO diff = diff_find(st, name, &published, &draft, e);
	if (!diff)
		return -1;
	bool code = strcmp(json_text_of(diff, "code"), "same") != 0;
	if ((code || o->stat || o->patch) && add_files(in, st, &draft, diff, &patch, e) < 0)
		return -1;
	if (o->patch && in->output == OUTPUT_TEXT)
		return print_patch(&patch);
	if (o->patch)
		json_object_set_new(diff, "patch", json_text(buf_str(&patch), patch.len));
	return print_made(in, json_incref(diff), o->stat ? diff_stat : diff_text, e);
}

static int show_one(struct invocation *in, struct err *e)
{
	const struct expert_show *o = in->options;
	STATE_AUTO st = {0};
	if (cli_state(&st, in, STATE_READ, e) < 0)
		return -1;
	if (o->diff || o->stat || o->patch)
		return show_diff(in, &st, arg(in, 0), e);
	return output_object(
		in, show_columns, for_output(in, describe(in, &st, arg(in, 0), e), true), e);
}

static int run_versions(struct invocation *in, struct err *e)
{
	static const struct column columns[] = {{"VERSION", "version"}, {"PUBLISHED", "published"},
		{"STATUS", "status"}, {"FLAGS", "flags"}, {"HOSTS", "hosts"},
		{"CREATED", "created"}, {NULL}};
	STATE_AUTO st = {0};
	EXPERT_AUTO x = {0};
	if (cli_state(&st, in, STATE_READ, e) < 0 || expert_find(&st, arg(in, 0), &x, e) < 0)
		return -1;
	return output_list(in, columns, expert_versions(&st, &x, e), e);
}

struct listing {
	bool markdown;
};

static int run_listing(struct invocation *in, struct err *e)
{
	const struct listing *o = in->options;
	STATE_AUTO st = {0};
	EXPERT_AUTO x = {0};
	EXPERT_VIEW_AUTO v = {0};
	if (cli_state(&st, in, STATE_READ, e) < 0 || expert_find(&st, arg(in, 0), &x, e) < 0)
		return -1;
	if (!x.published)
		say_note(in, "'%s' is not published: this is what its draft would show", x.name);
	if (expert_load_meta(&st, x.name, x.published ? EXPERT_PUBLISHED : EXPERT_DRAFT, &v, e) < 0)
		return -1;
	bool markdown =
		o->markdown || (in->common.output && strcmp(in->common.output, "text") != 0);
	return print_made(
		in, listing_make(&st, &v, e), markdown ? listing_markdown : listing_text, e);
}

/* ---- making and changing -----------------------------------------------------------------------
 */

struct create {
	const char *dir;
	bool if_missing;
};

static int need_dir(const struct invocation *in, const char *dir, struct err *e)
{
	if (dir)
		return 0;
	err_set(e, ERR_USAGE, "missing option: --dir DIR");
	return err_hint(e, "%s %s %s --dir DIR", in->program->name, in->verb->name, arg(in, 0));
}

/* The directory's expert.yaml must be this expert's: two names for one thing would be a trap. */
static int read_named(const struct invocation *in, const struct state *st, const char *name,
	const char *dir, char **real, struct manifest *m, struct err *e)
{
	TREE_AUTO t = {0};
	if (expert_read_dir(&st->place, dir, real, m, &t, e) < 0)
		return -1;
	for (size_t i = 0; i < t.n; i++)
		if (t.files[i].suspicious)
			say_warn(in, "! file %s: %s", t.files[i].path,
				t.files[i].why ? t.files[i].why : "looks like a key");
	if (strcmp(m->name, name) == 0)
		return 0;
	err_set(e, ERR_USAGE, "%s/%s names the expert '%s', not '%s'", *real, MANIFEST_FILE,
		m->name, name);
	return err_hint(e, "evctl-expert %s %s --dir %s, or write `name: %s` there", in->verb->name,
		m->name, dir, name);
}

/* Where nothing is yet: what is there may be a day's work. */
static int refuse_written(const char *path, struct err *e)
{
	err_set(e, ERR_CONFLICT, "there is '%s' already", path);
	return err_hint(e, "evctl help expert.yaml has what else may be in it");
}

static int write_new(const char *path, const struct buf *text, struct err *e)
{
	FD_AUTO fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 && errno == EEXIST)
		return refuse_written(path, e);
	if (fd >= 0 && fd_write_full(fd, text->data, text->len) == 0)
		return 0;
	return err_errno(e, ERR_FAIL, "cannot write '%s'", path);
}

static int print_started(
	const struct invocation *in, const struct manifest *m, const char *path, struct err *e)
{
	static const struct column columns[] = {{"NAME", "name"}, {"FILE", "file"}, {NULL}};
	BUF_AUTO dir = {0};
	json_t *tools = json_array();
	for (size_t i = 0; i < m->ntools; i++)
		json_array_append_new(tools, json_string(m->tools[i].name));
	buf_addword(&dir, arg(in, 0));
	int r = output_done(in, columns,
		json_pack("{s:s,s:o,s:o}", "name", m->name, "file", json_text_or_null(path),
			"tools", tools),
		e, "wrote %s: %zu tool%s", path, m->ntools, m->ntools == 1 ? "" : "s");
	say_note(in, "look it over, then: evctl-expert create %s --dir %s", m->name, buf_str(&dir));
	return r;
}

static int run_init(struct invocation *in, struct err *e)
{
	MANIFEST_AUTO m = {0};
	BUF_AUTO text = {0};
	struct strv entries = {0};
	STR_AUTO path = path_join(arg(in, 0), MANIFEST_FILE);
	if (!path)
		return err_set(e, ERR_FAIL, "out of memory");
	if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return refuse_written(path, e);
	entries.v = in->args.v + 1;
	entries.n = in->args.n - 1;
	if (starter_make(&m, arg(in, 0), &entries, &text, e) < 0 || write_new(path, &text, e) < 0)
		return -1;
	return print_started(in, &m, path, e);
}

static int run_create(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	MANIFEST_AUTO m = {0};
	EXPERT_AUTO x = {0};
	STR_AUTO real = NULL;
	struct err quiet = {0};
	const struct create *o = in->options;
	const char *name = arg(in, 0);
	if (name_check("expert", name, e) < 0 || need_dir(in, o->dir, e) < 0 ||
		cli_state(&st, in, STATE_WRITE, e) < 0)
		return -1;
	if (o->if_missing && expert_find(&st, name, &x, &quiet) == 0)
		return cli_report(in, &st, &expert, name, e, "there already; nothing changed");
	if (read_named(in, &st, name, o->dir, &real, &m, e) < 0 ||
		expert_create(&st, real, &m, e) < 0)
		return -1;
	return cli_report(in, &st, &expert, name, e,
		"created expert %s: %zu tool%s, %zu host%s attached", name, m.ntools,
		m.ntools == 1 ? "" : "s", m.hosts.n, m.hosts.n == 1 ? "" : "s");
}

struct expert_set {
	const char *dir, *contact;
	bool listed, unlisted;
};

/* Whether the door shows it to whoever asks. */
static int set_listed(struct invocation *in, const struct expert_set *o, struct err *e)
{
	STATE_AUTO st = {0};
	EXPERT_AUTO x = {0};
	if (o->dir || (o->listed && o->unlisted) || (o->contact && o->unlisted))
		return err_set(e, ERR_USAGE, "--listed goes with --contact, and with nothing else"),
		       err_hint(e, "evctl-expert set E --listed --contact TEXT");
	if (cli_state(&st, in, STATE_WRITE, e) < 0 || expert_find(&st, arg(in, 0), &x, e) < 0 ||
		expert_list_openly(&st, &x, !o->unlisted, o->contact, e) < 0)
		return -1;
	if (!o->unlisted && !x.published)
		say_note(in, "it is shown once a version is published: evctl-expert publish %s",
			x.name);
	return cli_report(in, &st, &expert, x.name, e,
		o->unlisted ? "expert %s is listed no more" : "expert %s is listed", x.name);
}

static int run_set(struct invocation *in, struct err *e)
{
	const struct expert_set *o = in->options;
	STATE_AUTO st = {0};
	MANIFEST_AUTO m = {0};
	EXPERT_AUTO x = {0};
	STR_AUTO real = NULL;
	if (o->listed || o->unlisted || o->contact)
		return set_listed(in, o, e);
	if (need_dir(in, o->dir, e) < 0 || cli_state(&st, in, STATE_WRITE, e) < 0 ||
		expert_find(&st, arg(in, 0), &x, e) < 0 ||
		read_named(in, &st, x.name, o->dir, &real, &m, e) < 0 ||
		expert_set_dir(&st, &x, real, &m, e) < 0)
		return -1;
	return cli_report(in, &st, &expert, x.name, e, "expert %s now lives in %s", x.name, real);
}

static void say_attached(
	const struct invocation *in, const struct expert *x, const json_t *row, bool attach)
{
	const char *host = json_text_of(row, "host");
	bool changed = json_is_true(json_object_get(row, "changed"));
	const char *did = attach    ? changed ? "attached" : "attached already:"
			  : changed ? "detached"
				    : "not attached:";
	output_say(in, "%s %s%s%s", did, host,
		attach && !*json_text_of(row, "injects") ? " (egress only)" : "",
		attach && *host == '*' ? "  ! wildcard" : "");
	if (x->published && changed)
		say_note(in, "version %d keeps its hosts until: evctl-expert publish %s",
			x->published, x->name);
}

static int attach_or_detach(struct invocation *in, bool attach, struct err *e)
{
	STATE_AUTO st = {0};
	EXPERT_AUTO x = {0};
	json_t *row;
	size_t i, n = in->args.n - 1;
	if (n == 0) {
		err_set(e, ERR_USAGE, "missing argument: HOST");
		return err_hint(e, "evctl-host list");
	}
	if (cli_state(&st, in, STATE_WRITE, e) < 0 || expert_find(&st, arg(in, 0), &x, e) < 0)
		return -1;
	JSON_AUTO done = expert_attach(&st, &x, in->args.v + 1, n, attach, e);
	if (!done)
		return -1;
	if (in->output != OUTPUT_TEXT)
		return cli_show(in, &st, &expert, x.name, e);
	json_array_foreach (done, i, row)
		say_attached(in, &x, row, attach);
	return 0;
}

static int run_attach(struct invocation *in, struct err *e)
{
	return attach_or_detach(in, true, e);
}

static int run_detach(struct invocation *in, struct err *e)
{
	return attach_or_detach(in, false, e);
}

/* ---- publishing --------------------------------------------------------------------------------
 */

/* Their runs end with exit 14 from now on: the owner is the one who can tell them. */
static void note_supply_again(const struct invocation *in, const char *name, const json_t *again)
{
	BUF_AUTO who = {0};
	size_t i, n = json_array_size(again);
	const json_t *row;
	json_array_foreach (again, i, row)
		if (i < NAMED_MOST)
			buf_addf(&who, "%s%s (%s)", i ? ", " : "", json_text_of(row, "buyer"),
				json_text_of(row, "key"));
	if (n > NAMED_MOST)
		buf_addf(&who, " and %zu more", n - NAMED_MOST);
	if (n)
		say_note(in,
			"%zu key%s must be supplied again, for hosts that this version adds or "
			"widens: %s; evctl-cred supply KEY --expert %s --buyer BUYER",
			n, n == 1 ? "" : "s", buf_str(&who), name);
}

static int print_published(const struct invocation *in, const char *name, int version, bool same,
	json_t *verdict, const json_t *again, struct err *e)
{
	static const struct column columns[] = {{"EXPERT", "expert"}, {NULL}};
	json_t *flags = json_object_get(verdict, "flags"), *row;
	size_t i;
	if (in->output != OUTPUT_TEXT)
		return output_object(in, columns,
			json_pack("{s:s,s:i,s:b,s:O,s:O,s:O,s:O,s:O}", "expert", name, "version",
				version, "unchanged", (int)same, "status",
				json_object_get(verdict, "status"), "flags", flags, "missing",
				json_object_get(verdict, "missing"), "buyer_keys",
				json_object_get(verdict, "buyer_keys"), "supply_again", again),
			e);
	if (same) {
		output_say(in,
			"unchanged: %s is as published in version %d (--force makes another)", name,
			version);
		return 0;
	}
	output_say(in, "published %s, version %d: %s", name, version, verify_status(verdict));
	json_array_foreach (flags, i, row)
		output_say(in, "%s", json_string_value(row));
	json_array_foreach (json_object_get(verdict, "buyer_keys"), i, row)
		output_say(in, "each buyer brings: %s, for %s", json_text_of(row, "name"),
			json_text_of(row, "host"));
	note_supply_again(in, name, again);
	return 0;
}

struct expert_publish {
	bool force, examples;
};

static void say_hook(void *in, const char *text)
{
	say_note(in, "%s", text);
}

/* They are run as drafts are, before anything is frozen. */
static int try_examples(struct invocation *in, struct state *st, const char *name, struct err *e)
{
	struct run_who who = {.expert = name, .version = EXPERT_DRAFT};
	struct run_hooks hooks = {.note = say_hook, .ctx = in};
	struct runner *r = NULL;
	if (runner_open(&r, st, &who, e) < 0)
		return -1;
	JSON_AUTO results = examples_run(r, NULL, &hooks, e);
	runner_close(&r);
	if (!results || examples_refuse(results, name, e) < 0)
		return err_wrap(e, "nothing was published");
	return 0;
}

static int run_publish(struct invocation *in, struct err *e)
{
	const struct expert_publish *o = in->options;
	STATE_AUTO st = {0};
	EXPERT_VIEW_AUTO v = {0};
	int version;
	if (cli_state(&st, in, STATE_WRITE, e) < 0 ||
		(o->examples && try_examples(in, &st, arg(in, 0), e) < 0))
		return -1;
	bool same;
	JSON_AUTO verdict = publish(&st, arg(in, 0), o->force, &v, &version, &same, e);
	if (!verdict)
		return -1;
	JSON_AUTO again = key_supply_again(&st, v.id, version, e);
	return again ? print_published(in, v.name, version, same, verdict, again, e) : -1;
}

static int run_unpublish(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	EXPERT_AUTO x = {0};
	int was;
	if (cli_state(&st, in, STATE_WRITE, e) < 0 || expert_find(&st, arg(in, 0), &x, e) < 0 ||
		expert_unpublish(&st, &x, &was, e) < 0)
		return -1;
	if (!was)
		return cli_report(
			in, &st, &expert, x.name, e, "nothing of %s is published", x.name);
	return cli_report(in, &st, &expert, x.name, e,
		"unpublished %s: version %d is kept, and offered no more", x.name, was);
}

/* ---- removing ----------------------------------------------------------------------------------
 */

/* Asking comes after the check, so that nobody confirms what is then refused. */
static int check_users(struct state *st, const struct expert *x, int version, struct err *e)
{
	STRV_AUTO users = {0};
	if (expert_users(st, x, version, &users, e) < 0)
		return -1;
	return users.n ? expert_refuse_users(x, version, &users, e) : 0;
}

static int run_rm(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	EXPERT_AUTO x = {0};
	int64_t buyers = 0, versions = 0;
	if (cli_state(&st, in, STATE_WRITE, e) < 0 || expert_find(&st, arg(in, 0), &x, e) < 0 ||
		check_users(&st, &x, -1, e) < 0 || expert_weigh(&st, &x, &versions, &buyers, e) < 0)
		return -1;
	if (say_confirm(in, e,
		    "remove expert '%s' (%lld published version%s, keys of %lld buyer%s)", x.name,
		    (long long)versions, versions == 1 ? "" : "s", (long long)buyers,
		    buyers == 1 ? "" : "s") < 0 ||
		expert_remove(&st, &x, e) < 0)
		return -1;
	output_say(in, "removed expert %s; its directory is left alone", x.name);
	return 0;
}

static int run_rm_version(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	EXPERT_AUTO x = {0};
	char *end;
	long n = strtol(arg(in, 1), &end, 10);
	if (n < 1 || n > 1000000000 || *end || end == arg(in, 1)) {
		err_set(e, ERR_USAGE, "not a version: '%.20s'", arg(in, 1));
		return err_hint(e, "evctl-expert versions %s", arg(in, 0));
	}
	if (cli_state(&st, in, STATE_WRITE, e) < 0 || expert_find(&st, arg(in, 0), &x, e) < 0 ||
		expert_check_version(&st, &x, (int)n, e) < 0 ||
		say_confirm(in, e, "remove version %ld of expert '%s'", n, x.name) < 0 ||
		expert_remove_version(&st, &x, (int)n, e) < 0)
		return -1;
	output_say(in, "removed version %ld of expert %s", n, x.name);
	return 0;
}

/* ---- the program -------------------------------------------------------------------------------
 */

static const struct arg_spec start_args[] = {
	{"DIR", NAME_DIR}, {"FILE:FUNCTION", NAME_FILE, .optional = true, .repeats = true}, {NULL}};
static const struct arg_spec new_expert[] = {{"NAME"}, {NULL}};
static const struct arg_spec expert_arg[] = {{"EXPERT", NAME_EXPERT}, {NULL}};
static const struct arg_spec expert_hosts[] = {
	{"EXPERT", NAME_EXPERT}, {"HOST", NAME_HOST, .repeats = true}, {NULL}};
static const struct arg_spec expert_version[] = {
	{"EXPERT", NAME_EXPERT}, {"VERSION", NAME_VERSION}, {NULL}};

static const struct option_spec create_options[] = {
	OPT_STR(struct create, dir, "dir", "DIR", "the directory with expert.yaml and the code",
		.kind = NAME_DIR),
	OPT_FLAG(struct create, if_missing, "if-missing", "do nothing if there is one already"),
	OPT_END(struct create)};
static const struct option_spec set_options[] = {
	OPT_STR(struct expert_set, dir, "dir", "DIR", "where its expert.yaml and code are now",
		.kind = NAME_DIR),
	OPT_FLAG(struct expert_set, listed, "listed", "the door shows its listing to whoever asks"),
	OPT_FLAG(struct expert_set, unlisted, "unlisted", "not any more"),
	OPT_STR(struct expert_set, contact, "contact", "TEXT",
		"whom to ask about it, shown with the listing"),
	OPT_END(struct expert_set)};
static const struct option_spec show_options[] = {
	OPT_FLAG(struct expert_show, diff, "diff",
		"what differs between the published version and the draft"),
	OPT_FLAG(struct expert_show, stat, "stat", "which files, and by how many lines"),
	OPT_FLAG(struct expert_show, patch, "patch", "the lines themselves", .letter = 'p'),
	OPT_END(struct expert_show)};
static const struct option_spec publish_options[] = {
	OPT_FLAG(struct expert_publish, force, "force",
		"publish in spite of a red verdict, flagged, or what is published already"),
	OPT_FLAG(struct expert_publish, examples, "examples",
		"only if the examples in expert.yaml come to what they say"),
	OPT_END(struct expert_publish)};
static const struct option_spec listing_options[] = {
	OPT_FLAG(struct listing, markdown, "markdown", "as Markdown"), OPT_END(struct listing)};

static const struct verb verbs[] = {
	{"init", "write a first expert.yaml from the functions in a directory", start_args, NULL,
		NULL, run_init},
	{"create", "make an expert of a directory; its `hosts:` are attached", new_expert,
		create_options, NULL, run_create},
	{"list", "list experts with their tools and hosts", NULL, NULL, NULL, list_all},
	{"show", "show one, or what its draft changes", expert_arg, show_options, NULL, show_one},
	{"attach", "attach hosts to an expert's draft", expert_hosts, NULL, NULL, run_attach},
	{"detach", "detach hosts from an expert's draft", expert_hosts, NULL, NULL, run_detach},
	{"set", "say where its directory is now, or who is shown its listing", expert_arg,
		set_options, NULL, run_set},
	{"publish", "freeze code, hosts and bindings into the next version", expert_arg,
		publish_options, NULL, run_publish},
	{"unpublish", "offer no version any more", expert_arg, NULL, NULL, run_unpublish},
	{"versions", "list the frozen versions", expert_arg, NULL, NULL, run_versions},
	{"listing", "what a buyer sees before hiring it", expert_arg, listing_options, NULL,
		run_listing, "markdown"},
	{"rm", "remove an expert that nobody uses", expert_arg, NULL, NULL, run_rm},
	{"rm-version", "remove a frozen version that nobody uses", expert_version, NULL, NULL,
		run_rm_version},
	{NULL}};

static const struct program program = {.name = "evctl-expert",
	.summary = "experts: sets of code tools, and the hosts that they may reach",
	.examples = "  evctl-expert init ./crm-helper             # writes its expert.yaml\n"
		    "  evctl-expert create crm-helper --dir ./crm-helper\n"
		    "  evctl-expert attach crm-helper api.crm.example\n"
		    "  evctl-expert show crm-helper --diff       # draft against published\n"
		    "  evctl-expert publish crm-helper\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}
