#include "archive/page.h"
#include "archive/html.h"
#include "archive/template.h"

#include "base/json.h"
#include "state/run_record.h"

#include <string.h>

#define RUNS_A_PAGE 20

const char page_style[] = {
#include "archive_style.inc"
	0};
const char page_icon[] = {
#include "archive_icon.inc"
	0};

static const struct template templates[] = {
#include "archive_templates.inc"
	{NULL, NULL}};

/* ---- what fills the holes ------------------------------------------------------------------ */

/* Without memory the member is missing, and the page fails. */
static void set(json_t *o, const char *key, json_t *value)
{
	json_object_set_new(o, key, value);
}

static json_t *new_page(const struct view *v, const char *title)
{
	return json_pack("{s:s, s:o, s:o, s:o}", "base", v->base, "viewer",
		json_text_or_null(v->buyer), "title", json_text_or_null(title), "up",
		json_text_or_null(v->up));
}

/* What the bytes are, in a word that people use. */
static const char *type_word(const char *type)
{
	static const char *const words[][2] = {{"image/png", "PNG image"},
		{"image/jpeg", "JPEG image"}, {"image/gif", "GIF image"},
		{"image/webp", "WebP image"}, {"image/svg+xml", "SVG drawing"},
		{"image/tiff", "TIFF image"}, {"video/mp4", "MP4 clip"},
		{"video/webm", "WebM clip"}, {"video/x-matroska", "Matroska video"},
		{"audio/mpeg", "MP3 sound"}, {"audio/mp4", "M4A sound"}, {"audio/wav", "WAV sound"},
		{"audio/flac", "FLAC sound"}, {"application/pdf", "PDF document"},
		{"application/json", "JSON"}, {"text/csv", "CSV table"}, {"text/html", "HTML"},
		{"text/plain", "Text"}, {"application/xml", "XML"},
		{"application/zip", "ZIP archive"}, {"application/gzip", "gzip archive"},
		{"application/x-tar", "tar archive"}, {"application/octet-stream", "Data"}};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i][0], type) == 0)
			return words[i][1];
	return type;
}

/* "CSV" of the name; where it has no short plain ending, "FILE". */
static json_t *ending_of(const char *name)
{
	const char *dot = strrchr(name, '.'), *slash = strrchr(name, '/');
	size_t n = dot ? strlen(dot + 1) : 0;
	bool plain = dot && dot > (slash ? slash + 1 : name) && n >= 1 && n <= 5;
	for (size_t i = 1; plain && i <= n; i++)
		plain = (dot[i] >= 'a' && dot[i] <= 'z') || (dot[i] >= 'A' && dot[i] <= 'Z') ||
			(dot[i] >= '0' && dot[i] <= '9');
	if (!plain)
		return json_string("FILE");
	char up[5];
	for (size_t i = 0; i < n; i++)
		up[i] = dot[i + 1] >= 'a' && dot[i + 1] <= 'z' ? (char)(dot[i + 1] - 32)
							       : dot[i + 1];
	return json_stringn(up, n);
}

/*
 * "image", "video", "audio" or "file". Shown only if its structure was found sound, and if it is
 * one of these by name, too: a drawing is an image, and a program.
 */
static const char *kind_of(const char *type, bool sound)
{
	static const char *const shown[][2] = {{"image/png", "image"}, {"image/jpeg", "image"},
		{"image/gif", "image"}, {"image/webp", "image"}, {"video/mp4", "video"},
		{"video/webm", "video"}, {"audio/mpeg", "audio"}, {"audio/mp4", "audio"},
		{"audio/wav", "audio"}};
	for (size_t i = 0; sound && i < sizeof shown / sizeof *shown; i++)
		if (strcmp(shown[i][0], type) == 0)
			return shown[i][1];
	return "file";
}

/* To an artifact with a name: what it is. Returns the kind. */
static const char *describe(json_t *a, const char *type, bool sound)
{
	const char *kind = kind_of(type, sound);
	set(a, "kind", json_text_or_null(type_word(type)));
	set(a, "ending", ending_of(json_text_of(a, "name")));
	set(a, kind, json_true());
	return kind;
}

/* Pictures and clips as cards, then the rest as rows. */
static int add_artifacts(
	json_t *run, const struct view *v, const struct gallery_filter *f, struct err *e)
{
	JSON_AUTO artifacts = gallery_artifacts(v->st, f, json_text_of(run, "run"), e);
	json_t *cards = json_array(), *rows = json_array();
	size_t i;
	json_t *a;
	json_array_foreach (artifacts, i, a) {
		const char *kind = describe(a, json_text_of(a, "type"), json_int_of(a, "inline"));
		bool seen = strcmp(kind, "image") == 0 || strcmp(kind, "video") == 0;
		json_array_append(seen ? cards : rows, a);
	}
	set(run, "cards", cards);
	set(run, "rows", rows);
	return artifacts ? 0 : -1;
}

/* The status is in the buyers' words, which are the owner's too. */
static int add_facts(
	json_t *run, const struct view *v, const struct gallery_filter *f, struct err *e)
{
	const char *status = json_text_of(run, "status");
	if (!v->buyer)
		json_object_set(run, "for", json_object_get(run, "buyer"));
	if (strcmp(status, "ok") != 0)
		set(run, "trouble", json_string(status));
	return add_artifacts(run, v, f, e);
}

/* ---- the gallery --------------------------------------------------------------------------- */

static const char *known_kind(const char *kind)
{
	static const char *const kinds[] = {"image", "video", "audio", "file"};
	for (size_t i = 0; kind && i < 4; i++)
		if (strcmp(kind, kinds[i]) == 0)
			return kinds[i];
	return NULL;
}

/* The gallery's address with the filter kept, but for the kind, and from the newest on. */
static json_t *gallery_link(
	const struct view *v, const struct gallery_filter *f, const char *kind, const char *before)
{
	const char *const parts[][2] = {
		{"kind", kind}, {"expert", f->expert}, {"text", f->text}, {"before", before}};
	BUF_AUTO b = {0};
	char gap = '?';
	buf_adds(&b, v->base);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (!parts[i][1])
			continue;
		buf_addf(&b, "%c%s=", gap, parts[i][0]);
		html_url(&b, parts[i][1]);
		gap = '&';
	}
	return buf_failed(&b) ? NULL : json_string(buf_str(&b));
}

static json_t *kind_links(const struct view *v, const struct gallery_filter *f)
{
	static const char *const kinds[][2] = {{NULL, "All"}, {"image", "Images"},
		{"video", "Clips"}, {"audio", "Sound"}, {"file", "Files"}};
	json_t *links = json_array();
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const char *k = kinds[i][0];
		bool here = k ? f->kind && strcmp(k, f->kind) == 0 : !f->kind;
		json_array_append_new(
			links, json_pack("{s:o, s:s, s:b}", "link", gallery_link(v, f, k, NULL),
				       "word", kinds[i][1], "here", here));
	}
	return links;
}

static int add_search(
	json_t *page, const struct view *v, const struct gallery_filter *f, struct err *e)
{
	json_t *experts = gallery_experts(v->st, f, e);
	size_t i;
	json_t *x;
	if (!experts)
		return -1;
	json_array_foreach (experts, i, x) {
		const char *name = json_text_of(x, "expert");
		set(x, "chosen", json_boolean(f->expert && strcmp(name, f->expert) == 0));
	}
	set(page, "kinds", kind_links(v, f));
	set(page, "only", json_text_or_null(f->kind));
	set(page, "experts", experts);
	set(page, "text", json_text_or_null(f->text ? f->text : ""));
	set(page, "narrowed", json_boolean(f->expert || f->kind || f->text));
	return 0;
}

static int add_totals(
	json_t *page, const struct view *v, const struct gallery_filter *f, struct err *e)
{
	struct gallery_totals t;
	if (gallery_totals(v->st, f, &t, e) < 0)
		return -1;
	set(page, "total", json_integer(t.artifacts));
	set(page, "total_runs", json_integer(t.runs));
	set(page, "total_bytes", json_integer(t.bytes));
	return 0;
}

/* A heading wherever another day begins. */
static void mark_day(json_t *run, struct buf *last)
{
	BUF_AUTO day = {0};
	html_day(&day, json_int_of(run, "started"));
	set(run, "begins_day", json_boolean(strcmp(buf_str(&day), buf_str(last)) != 0));
	buf_clear(last);
	buf_adds(last, buf_str(&day));
}

static int add_runs(
	json_t *page, const struct view *v, const struct gallery_filter *f, struct err *e)
{
	json_t *runs = gallery_runs(v->st, f, RUNS_A_PAGE + 1, e);
	BUF_AUTO day = {0};
	size_t i;
	json_t *run;
	if (!runs)
		return -1;
	set(page, "runs", runs);
	bool more = json_array_size(runs) > RUNS_A_PAGE;
	if (more)
		json_array_remove(runs, RUNS_A_PAGE);
	json_array_foreach (runs, i, run) {
		mark_day(run, &day);
		if (add_facts(run, v, f, e) < 0)
			return -1;
	}
	set(page, "pages", json_boolean(f->before || more));
	if (f->before)
		set(page, "newest", gallery_link(v, f, f->kind, NULL));
	run = json_array_get(runs, RUNS_A_PAGE - 1);
	if (more)
		set(page, "older", gallery_link(v, f, f->kind, json_text_of(run, "run")));
	return 0;
}

static const char *given(const char *s)
{
	return s && *s ? s : NULL;
}

int page_gallery(
	const struct view *v, const struct gallery_filter *asked, struct buf *out, struct err *e)
{
	struct gallery_filter f = {v->buyer, .expert = given(asked->expert),
		.text = given(asked->text), .kind = known_kind(asked->kind),
		.before = given(asked->before)};
	JSON_AUTO page = new_page(v, "Archive");
	if (add_search(page, v, &f, e) < 0 || add_totals(page, v, &f, e) < 0 ||
		(json_int_of(page, "total") && add_runs(page, v, &f, e) < 0))
		return -1;
	template_render(templates, "gallery", page, out);
	return 0;
}

/* ---- one run ------------------------------------------------------------------------------- */

/* A buyer learns how many files were withheld; names and reasons are the owner's. */
static int add_withheld(json_t *page, const struct view *v, const char *run, struct err *e)
{
	json_t *files = run_withheld(v->st, run, e);
	size_t n = json_array_size(files);
	if (!files)
		return -1;
	set(page, "withheld", json_integer((json_int_t)n));
	set(page, "withheld_one", json_boolean(n == 1));
	if (v->buyer)
		json_decref(files);
	else
		set(page, "files", files);
	return 0;
}

int page_run(const struct view *v, const char *id, struct buf *out, struct err *e)
{
	struct gallery_filter any = {.buyer = v->buyer};
	JSON_AUTO run = gallery_run(v->st, id, v->buyer, e);
	if (!run)
		return -1;
	JSON_AUTO page = new_page(v, json_text_of(run, "tool"));
	if (add_facts(run, v, &any, e) < 0 || add_withheld(page, v, id, e) < 0)
		return -1;
	json_object_update(page, run);
	template_render(templates, "run", page, out);
	return 0;
}

/* ---- one artifact -------------------------------------------------------------------------- */

int page_artifact(
	const struct view *v, const char *run, const char *name, struct buf *out, struct err *e)
{
	ARTIFACT_AUTO a = {0};
	if (artifact_find(v->st, run, name, v->buyer, &a, e) < 0)
		return -1;
	/* In the order in which the run's page shows them. */
	JSON_AUTO near = gallery_neighbours(v->st, a.run, a.name, v->buyer, e);
	JSON_AUTO page = new_page(v, a.name);
	if (!near)
		return -1;
	json_object_update(page, near);
	set(page, "run", json_text_or_null(a.run));
	set(page, "name", json_text_or_null(a.name));
	set(page, "bytes", json_integer(a.bytes));
	set(page, "created", json_integer(a.created));
	set(page, "fetched", json_integer(a.fetched));
	set(page, "owner_only", json_boolean(a.owner_only));
	set(page, "sha256", json_string(a.sha256));
	if (!v->buyer)
		set(page, "for", json_text_or_null(a.buyer));
	describe(page, a.type, a.inline_ok);
	template_render(templates, "artifact", page, out);
	return 0;
}

/* ---- messages ------------------------------------------------------------------------------ */

void page_message(
	const struct view *v, bool with_links, const char *title, const char *text, struct buf *out)
{
	JSON_AUTO page = new_page(v, title);
	set(page, "let_in", json_boolean(with_links));
	set(page, "text", json_text_or_null(text));
	template_render(templates, "message", page, out);
}

/*
 * A page that moves on by itself, not a redirect: a browser that came from another site's link
 * would not send a SameSite=Strict cookie after a redirect.
 */
void page_welcome(const struct view *v, struct buf *out)
{
	JSON_AUTO page = new_page(v, "Archive");
	template_render(templates, "welcome", page, out);
}
