/* evctl-artifact: the files that runs wrote, held until they are fetched. */
#include "archive/archive.h"
#include "base/file.h"
#include "base/output.h"
#include "base/say.h"
#include "base/zip.h"
#include "cli/cli.h"
#include "run/deliver.h"
#include "state/livenames.h"
#include "state/objects.h"
#include "state/run_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct column columns[] = {{"RUN", "run"}, {"NAME", "name"}, {"BYTES", "bytes"},
	{"TYPE", "type", 3}, {"EXPERT", "expert", 2}, {"BUYER", "buyer", 4},
	{"CREATED", "created", 1}, {"FETCHED", "fetched", 5}, {NULL}};
static const struct column details[] = {{"RUN", "run"}, {"NAME", "name"}, {"BYTES", "bytes"},
	{"TYPE", "type"}, {"INLINE", "inline"}, {"SHA256", "sha256"}, {"EXPERT", "expert"},
	{"TOOL", "tool"}, {"BUYER", "buyer"}, {"OWNER ONLY", "owner_only"}, {"CREATED", "created"},
	{"FETCHED", "fetched"}, {"LOOK AT IT", "preview"}, {NULL}};

static int open_state(
	struct state *st, const struct invocation *in, const char *buyer, struct err *e)
{
	if (buyer && name_check("buyer", buyer, e) < 0)
		return -1;
	return cli_state_swept(st, in, e);
}

struct artifact_list {
	const char *buyer;
};

static int do_list(struct invocation *in, struct err *e)
{
	const struct artifact_list *o = in->options;
	STATE_AUTO st = {0};
	if (open_state(&st, in, o->buyer, e) < 0)
		return -1;
	json_t *rows = artifact_list(&st, arg(in, 0), o->buyer, e);
	/* Of one run the names are what tells them apart. */
	bool names = arg(in, 0) && in->output == OUTPUT_NAME;
	return rows ? output_list(in, names ? columns + 1 : columns, rows, e) : -1;
}

/* A command that shows it in a terminal, where there is one for its type. */
static json_t *preview_of(const json_t *row)
{
	const char *type = json_string_value(json_object_get(row, "type"));
	const char *with = strncmp(type, "image/", 6) == 0 ? "chafa -"
			   : strncmp(type, "text/", 5) == 0 || strcmp(type, "application/json") == 0
				   ? "less"
				   : NULL;
	if (!with)
		return json_null();
	const char *name = json_string_value(json_object_get(row, "name"));
	BUF_AUTO word = {.limit = 8192};
	buf_addword(&word, name);
	return json_sprintf("evctl-artifact get %s --to - %s%s | %s",
		json_string_value(json_object_get(row, "run")), name[0] == '-' ? "-- " : "",
		buf_str(&word), with);
}

static int do_show(struct invocation *in, struct err *e)
{
	const struct artifact_list *o = in->options;
	STATE_AUTO st = {0};
	ARTIFACT_AUTO a = {0};
	if (open_state(&st, in, o->buyer, e) < 0 ||
		artifact_find(&st, arg(in, 0), arg(in, 1), o->buyer, &a, e) < 0)
		return -1;
	JSON_AUTO rows = artifact_list(&st, arg(in, 0), o->buyer, e);
	size_t i;
	json_t *row;
	json_array_foreach (rows, i, row) {
		if (strcmp(json_string_value(json_object_get(row, "name")), a.name) != 0)
			continue;
		json_object_set_new(row, "preview", preview_of(row));
		return output_object(in, details, json_incref(row), e);
	}
	return rows ? err_set(e, ERR_NOTFOUND, "no artifact '%s'", a.name) : -1;
}

/* ---- get ----------------------------------------------------------------------------------- */

static const char *leaf_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool is_dir(const char *path)
{
	struct stat sb;
	return stat(path, &sb) == 0 && S_ISDIR(sb.st_mode);
}

struct get {
	const char *to, *zip, *buyer;
};

/* Splits --to into the directory that is written to, and the name there. */
static int target_of(const char *to, const struct artifact *a, char **dir, char **name)
{
	size_t n = to ? strlen(to) : 0;
	if (!to || is_dir(to) || (n && to[n - 1] == '/')) {
		*dir = strdup(to ? to : ".");
		*name = strdup(leaf_of(a->name));
	} else {
		const char *leaf = leaf_of(to);
		*dir = leaf == to ? strdup(".") : strndup(to, (size_t)(leaf - to));
		*name = strdup(leaf);
	}
	return *dir && *name ? 0 : -1;
}

static int put_on_stdout(const struct artifact *a, const struct buf *b, struct err *e)
{
	if (isatty(STDOUT_FILENO) && strncmp(a->type, "text/", 5) != 0) {
		err_set(e, ERR_USAGE, "'%s' is %s, which cannot be shown on a terminal", a->name,
			a->type);
		return err_hint(e, "give --to FILE, or pipe it on");
	}
	output_text(stdout, buf_str(b), b->len);
	if (fflush(stdout) == 0)
		return 0;
	return err_errno(e, ERR_FAIL, "cannot write the output");
}

static const struct column got_columns[] = {
	{"NAME", "name"}, {"TO", "to"}, {"BYTES", "bytes"}, {"SHA256", "sha256"}, {NULL}};

static json_t *got_row(const struct artifact *a, const char *to)
{
	return json_pack("{s:s,s:s,s:s,s:I,s:s,s:s}", "run", a->run, "name", a->name, "to", to,
		"bytes", (json_int_t)a->bytes, "type", a->type, "sha256", a->sha256);
}

static int put_in_file(
	struct invocation *in, const struct artifact *a, const struct buf *b, struct err *e)
{
	const struct get *o = in->options;
	STR_AUTO dir = NULL;
	STR_AUTO name = NULL;
	if (target_of(o->to, a, &dir, &name) < 0)
		return err_set(e, ERR_FAIL, "out of memory");
	FD_AUTO at = deliver_dir(dir, false, e);
	if (at < 0 || deliver_file(at, name, b->data, b->len, in->common.yes, e) < 0)
		return -1;
	size_t n = strlen(dir);
	while (n > 1 && dir[n - 1] == '/')
		dir[--n] = '\0';
	STR_AUTO to = strcmp(dir, ".") == 0 ? strdup(name) : path_join(dir, name);
	const char *where = to ? to : name;
	return output_done(in, got_columns, got_row(a, where), e, "%s: %lld bytes, %s", where,
		(long long)a->bytes, a->type);
}

/* ---- all of a run's, and archives ---------------------------------------------------------- */

/* Those asked for: one, or all of the run. */
static int names_of(
	const struct invocation *in, struct state *st, struct strv *names, struct err *e)
{
	const struct get *o = in->options;
	if (arg(in, 1)) {
		strv_add(names, arg(in, 1));
		return 0;
	}
	if (artifact_names(st, arg(in, 0), o->buyer, names, e) < 0)
		return -1;
	if (names->n)
		return 0;
	err_set(e, ERR_NOTFOUND, "run %s left no artifact", arg(in, 0));
	return o->buyer ? -1 : err_hint(e, "evctl-log show %s", arg(in, 0));
}

static int load(const struct invocation *in, struct state *st, const char *name, struct artifact *a,
	struct buf *b, struct err *e)
{
	const struct get *o = in->options;
	return artifact_find(st, arg(in, 0), name, o->buyer, a, e) < 0
		       ? -1
		       : objects_read(st, a->sha256, (size_t)a->bytes, b, e);
}

/* What this machine's readers of JSON get of each, and everybody else a line. */
static int report_got(struct invocation *in, const struct strv *names, json_t *rows, const char *to,
	struct err *e)
{
	int64_t bytes = 0;
	size_t i;
	json_t *row;
	json_array_foreach (rows, i, row)
		bytes += json_integer_value(json_object_get(row, "bytes"));
	if (in->output != OUTPUT_TEXT)
		return output_list(in, got_columns, rows, e);
	json_decref(rows);
	output_say(in, "%s: %zu file%s, %lld bytes", to, names->n, names->n == 1 ? "" : "s",
		(long long)bytes);
	return 0;
}

/* Takes each in turn, by a name that the run gave it, to wherever `put` has it go. */
static int each_artifact(struct invocation *in, struct state *st, const struct strv *names,
	json_t *rows, const char *to,
	int (*put)(void *ctx, const char *name, const struct buf *b, struct err *e), void *ctx,
	struct err *e)
{
	const struct get *o = in->options;
	for (size_t i = 0; i < names->n; i++) {
		ARTIFACT_AUTO a = {0};
		BUF_AUTO b = {0};
		if (load(in, st, names->v[i], &a, &b, e) < 0 || put(ctx, a.name, &b, e) < 0)
			return -1;
		STR_AUTO path = o->zip ? strdup(to) : path_join(to, a.name);
		json_array_append_new(rows, got_row(&a, path ? path : to));
	}
	return 0;
}

static int mark_all(
	struct invocation *in, struct state *st, const struct strv *names, struct err *e)
{
	const struct get *o = in->options;
	for (size_t i = 0; o->buyer && i < names->n; i++) {
		ARTIFACT_AUTO a = {0};
		if (artifact_find(st, arg(in, 0), names->v[i], o->buyer, &a, e) < 0 ||
			artifact_mark_fetched(st, &a, e) < 0)
			return -1;
	}
	return 0;
}

struct into {
	int dir;
	bool overwrite;
};

static int put_in_dir(void *ctx, const char *name, const struct buf *b, struct err *e)
{
	const struct into *to = ctx;
	return deliver_file(to->dir, name, b->data, b->len, to->overwrite, e);
}

static int get_all(struct invocation *in, struct state *st, struct err *e)
{
	const struct get *o = in->options;
	const char *to = o->to ? o->to : ".";
	STRV_AUTO names = {0};
	if (strcmp(to, "-") == 0) {
		err_set(e, ERR_USAGE, "standard output takes one file");
		return err_hint(e, "name one, or give --zip -");
	}
	if (names_of(in, st, &names, e) < 0)
		return -1;
	FD_AUTO dir = deliver_dir(to, true, e);
	if (dir < 0)
		return -1;
	/* All or none, as far as can be told. */
	for (size_t i = 0; i < names.n && !in->common.yes; i++)
		if (deliver_check(dir, names.v[i], e) < 0)
			return -1;
	struct into into = {dir, in->common.yes};
	JSON_AUTO rows = json_array();
	if (each_artifact(in, st, &names, rows, to, put_in_dir, &into, e) < 0 ||
		mark_all(in, st, &names, e) < 0)
		return -1;
	return report_got(in, &names, json_incref(rows), to, e);
}

static int put_in_zip(void *ctx, const char *name, const struct buf *b, struct err *e)
{
	return zip_add(ctx, name, b->data, b->len, e);
}

/* The archive whole, or nothing: to a terminal it does not go. */
static int write_zip(struct invocation *in, const struct buf *b, struct err *e)
{
	const struct get *o = in->options;
	if (strcmp(o->zip, "-") == 0) {
		fwrite(b->data, 1, b->len, stdout);
		return fflush(stdout) == 0 ? 0 : err_errno(e, ERR_FAIL, "cannot write the output");
	}
	const char *leaf = leaf_of(o->zip);
	STR_AUTO dir = leaf == o->zip ? strdup(".") : strndup(o->zip, (size_t)(leaf - o->zip));
	FD_AUTO at = dir ? deliver_dir(dir, false, e) : -1;
	return at < 0 ? -1 : deliver_file(at, leaf, b->data, b->len, in->common.yes, e);
}

static int get_zip(struct invocation *in, struct state *st, struct err *e)
{
	const struct get *o = in->options;
	STRV_AUTO names = {0};
	ZIP_AUTO z = {0};
	bool to_stdout = strcmp(o->zip, "-") == 0;
	if (o->to) {
		err_set(e, ERR_USAGE, "'--to' and '--zip' do not go together");
		return err_hint(e, "give one of them");
	}
	if (to_stdout && isatty(STDOUT_FILENO)) {
		err_set(e, ERR_USAGE, "an archive cannot be shown on a terminal");
		return err_hint(e, "give --zip FILE, or pipe it on");
	}
	JSON_AUTO rows = json_array();
	if (names_of(in, st, &names, e) < 0 ||
		each_artifact(in, st, &names, rows, o->zip, put_in_zip, &z, e) < 0 ||
		zip_end(&z, e) < 0 || write_zip(in, &z.out, e) < 0 ||
		mark_all(in, st, &names, e) < 0)
		return -1;
	return to_stdout ? 0 : report_got(in, &names, json_incref(rows), o->zip, e);
}

static int get_one(struct invocation *in, struct state *st, struct err *e)
{
	const struct get *o = in->options;
	ARTIFACT_AUTO a = {0};
	BUF_AUTO b = {0};
	if (load(in, st, arg(in, 1), &a, &b, e) < 0)
		return -1;
	int r = o->to && strcmp(o->to, "-") == 0 ? put_on_stdout(&a, &b, e)
						 : put_in_file(in, &a, &b, e);
	/* The owner's looking at it is no fetch: the buyer has yet to get it. */
	return r == 0 && o->buyer ? artifact_mark_fetched(st, &a, e) : r;
}

static int do_get(struct invocation *in, struct err *e)
{
	const struct get *o = in->options;
	STATE_AUTO st = {0};
	if (open_state(&st, in, o->buyer, e) < 0)
		return -1;
	return o->zip	    ? get_zip(in, &st, e)
	       : arg(in, 1) ? get_one(in, &st, e)
			    : get_all(in, &st, e);
}

/* ---- rm, gc -------------------------------------------------------------------------------- */

static const struct column removed_columns[] = {{"REMOVED", "removed"}, {NULL}};

static int say_removed(struct invocation *in, int64_t n, struct err *e)
{
	return output_done(in, removed_columns, json_pack("{s:I}", "removed", (json_int_t)n), e,
		"removed %lld", (long long)n);
}

static int do_rm(struct invocation *in, struct err *e)
{
	STATE_AUTO st = {0};
	STRV_AUTO names = {0};
	int64_t removed;
	if (open_state(&st, in, NULL, e) < 0 ||
		artifact_names(&st, arg(in, 0), NULL, &names, e) < 0 ||
		say_confirm(in, e, "remove %zu artifact%s of run %s", names.n,
			names.n == 1 ? "" : "s", arg(in, 0)) < 0 ||
		artifact_remove(&st, arg(in, 0), &removed, e) < 0)
		return -1;
	return say_removed(in, removed, e);
}

struct artifact_gc {
	int older;
	bool unfetched;
};

static int do_gc(struct invocation *in, struct err *e)
{
	const struct artifact_gc *o = in->options;
	STATE_AUTO st = {0};
	int64_t removed, before;
	if (cli_days_ago(in, o->older, &before, e) < 0 || open_state(&st, in, NULL, e) < 0 ||
		say_confirm(in, e, "remove %s artifacts older than %d day%s",
			o->unfetched ? "all" : "fetched", o->older, o->older == 1 ? "" : "s") < 0 ||
		artifact_gc(&st, before, o->unfetched, &removed, e) < 0)
		return -1;
	return say_removed(in, removed, e);
}

/* ---- serve --------------------------------------------------------------------------------- */

static const struct column serve_columns[] = {{"LINK", "link"}, {NULL}};

struct serve {
	const char *buyer;
	int port;
};

static int do_serve(struct invocation *in, struct err *e)
{
	const struct serve *o = in->options;
	STATE_AUTO st = {0};
	ARCHIVE_AUTO a = NULL;
	if (open_state(&st, in, o->buyer, e) < 0 || archive_open(&a, &st, o->port, o->buyer, e) < 0)
		return -1;
	if (output_done(in, serve_columns, json_pack("{s:s}", "link", archive_link(a)), e, "%s",
		    archive_link(a)) < 0)
		return -1;
	if (fflush(stdout) != 0)
		return err_errno(e, ERR_FAIL, "cannot write the output");
	say_note(in,
		"the link is good for one browser, once, within %d minutes; Ctrl-C ends the "
		"archive",
		ARCHIVE_LINK_MIN);
	return archive_serve(a, e);
}

static const struct arg_spec list_args[] = {{"RUN", NAME_RUN, .optional = true}, {NULL}};
static const struct arg_spec run_args[] = {{"RUN", NAME_RUN}, {NULL}};
static const struct arg_spec artifact_args[] = {{"RUN", NAME_RUN}, {"NAME", NAME_ARTIFACT}, {NULL}};
static const struct arg_spec get_args[] = {
	{"RUN", NAME_RUN}, {"NAME", NAME_ARTIFACT, .optional = true}, {NULL}};
#define OPT_BUYER(T) \
	OPT_STR(T, buyer, "buyer", "B", "only what this buyer may see", .kind = NAME_BUYER)
static const struct option_spec buyer_options[] = {
	OPT_BUYER(struct artifact_list), OPT_END(struct artifact_list)};
static const struct option_spec get_options[] = {
	OPT_STR(struct get, to, "to", "FILE|DIR|-", "where to (the current directory; '-': stdout)",
		.kind = NAME_FILE),
	OPT_STR(struct get, zip, "zip", "FILE", "as one zip archive ('-': stdout)",
		.kind = NAME_FILE),
	OPT_BUYER(struct get), OPT_END(struct get)};
static const struct option_spec gc_options[] = {
	OPT_INT(struct artifact_gc, older, "older", "DAYS",
		"only those made so many days ago or before", -1, 0, 36500),
	OPT_FLAG(
		struct artifact_gc, unfetched, "unfetched", "those that no buyer has fetched, too"),
	OPT_END(struct artifact_gc)};
static const struct option_spec serve_options[] = {
	OPT_INT(struct serve, port, "port", "N", "listen on this port of 127.0.0.1 (any free one)",
		0, 0, 65535),
	OPT_BUYER(struct serve), OPT_END(struct serve)};

static const struct verb verbs[] = {
	{"list", "list artifacts, of one run or of all", list_args, buyer_options,
		"  evctl-artifact list\n  evctl-artifact list rabc123 --buyer acme\n", do_list},
	{"show", "show one", artifact_args, buyer_options, NULL, do_show},
	{"get", "copy one out, or all of a run, their bytes verified", get_args, get_options,
		"  evctl-artifact get rabc123 chart.png\n"
		"  evctl-artifact get rabc123 --to ./out\n"
		"  evctl-artifact get rabc123 --zip out.zip\n"
		"  evctl-artifact get rabc123 chart.png --to - | chafa -\n",
		do_get},
	{"rm", "remove a run's artifacts", run_args, NULL, NULL, do_rm},
	{"gc", "remove old artifacts that were fetched", NULL, gc_options,
		"  evctl-artifact gc --older 30 --yes\n", do_gc},
	{"serve", "show the archive as a page, to one browser on this machine", NULL, serve_options,
		"  evctl-artifact serve\n  evctl-artifact serve --buyer acme --port 8090\n",
		do_serve},
	{NULL}};

static const struct program program = {.name = "evctl-artifact",
	.summary = "files that runs wrote under outputs/, held until they are fetched",
	.examples = "  evctl-artifact list\n"
		    "  evctl-artifact get rabc123 chart.png --to ~/charts/\n"
		    "  evctl-artifact gc --older 30 --yes\n",
	.verbs = verbs,
	.names = livenames};

int main(int argc, char **argv)
{
	return program_main(&program, argc, argv);
}
