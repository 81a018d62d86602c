#include "archive/page.h"
#include "archive/html.h"

#include "state/run.h"

#include <string.h>

#define RUNS_A_PAGE 20

const char page_style[] = {
#include "archive_style.inc"
	0};
const char page_icon[] = {
#include "archive_icon.inc"
	0};

/* ---- what every page has ------------------------------------------------------------------- */

static void add_link(
	struct buf *b, const struct view *v, const char *what, const char *run, const char *name)
{
	buf_addf(b, "%s%s/", v->base, what);
	html_url(b, run);
	if (!name)
		return;
	buf_addc(b, '/');
	html_url(b, name);
}

static void page_head(struct buf *b, const struct view *v, const char *title)
{
	buf_adds(b, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
	html_attr(b, title);
	buf_addf(b,
		"</title>\n<link rel=\"icon\" type=\"image/svg+xml\" href=\"%sicon.svg\">\n"
		"<link rel=\"stylesheet\" href=\"%sstyle.css\">\n</head>\n<body>\n",
		v->base, v->base);
}

static void page_top(struct buf *b, const struct view *v, const char *title)
{
	page_head(b, v, title);
	buf_addf(b,
		"<a class=\"skip\" href=\"#main\">Skip to the content</a>\n"
		"<header class=\"top\">\n<a class=\"brand\" href=\"%s\" accesskey=\"g\">"
		"<span class=\"mark\" aria-hidden=\"true\"></span>Archive</a>\n",
		v->base);
	if (v->buyer) {
		buf_adds(b, "<span class=\"whose\">for ");
		html_text(b, v->buyer);
		buf_adds(b, "</span>\n");
	}
}

static void page_bottom(struct buf *b, const char *keys)
{
	buf_adds(b, "</main>\n<footer>\n<p>Artifacts are kept with the runs that made them. ");
	buf_adds(b, keys);
	buf_adds(b, "</p>\n</footer>\n</body>\n</html>\n");
}

#define KEYS_MOVE                                                                              \
	"<kbd>Tab</kbd> moves, <kbd>Enter</kbd> opens; with your browser&#8217;s access key, " \
	"<kbd>G</kbd> is the gallery"

/* ---- one artifact, as a card --------------------------------------------------------------- */

struct card {
	const char *run, *name, *type;
	int64_t bytes;
	bool shown, owner_only; /* shown: its structure was found sound */
};

enum kind { KIND_IMAGE, KIND_VIDEO, KIND_SOUND, KIND_FILE };

/* Shown only if it is one of these by name, too: a drawing is an image, and a program. */
static enum kind kind_of(const struct card *c)
{
	static const struct {
		const char *type;
		enum kind kind;
	} kinds[] = {{"image/png", KIND_IMAGE}, {"image/jpeg", KIND_IMAGE},
		{"image/gif", KIND_IMAGE}, {"image/webp", KIND_IMAGE}, {"video/mp4", KIND_VIDEO},
		{"video/webm", KIND_VIDEO}, {"audio/mpeg", KIND_SOUND}, {"audio/mp4", KIND_SOUND},
		{"audio/wav", KIND_SOUND}};
	for (size_t i = 0; c->shown && i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kinds[i].type, c->type) == 0)
			return kinds[i].kind;
	return KIND_FILE;
}

/* "CSV" of the name; where it has no short plain ending, "FILE". */
static void add_ending(struct buf *b, const char *name)
{
	const char *dot = strrchr(name, '.'), *slash = strrchr(name, '/');
	size_t n = dot ? strlen(dot + 1) : 0;
	bool plain = dot && dot > (slash ? slash + 1 : name) && n >= 1 && n <= 5;
	for (size_t i = 1; plain && i <= n; i++)
		plain = (dot[i] >= 'a' && dot[i] <= 'z') || (dot[i] >= 'A' && dot[i] <= 'Z') ||
			(dot[i] >= '0' && dot[i] <= '9');
	if (!plain) {
		buf_adds(b, "FILE");
		return;
	}
	for (size_t i = 1; i <= n; i++)
		buf_addc(b, dot[i] >= 'a' && dot[i] <= 'z' ? (char)(dot[i] - 32) : dot[i]);
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

static void add_image(struct buf *b, const struct view *v, const struct card *c, bool lazy)
{
	buf_adds(b, "<img src=\"");
	add_link(b, v, "raw", c->run, c->name);
	buf_adds(b, "\" alt=\"");
	html_attr(b, c->name);
	buf_addf(b, "\"%s>", lazy ? " loading=\"lazy\" decoding=\"async\"" : "");
}

static void add_player(struct buf *b, const struct view *v, const struct card *c,
	const char *element, const char *preload)
{
	buf_addf(b, "<%s controls preload=\"%s\" src=\"", element, preload);
	add_link(b, v, "raw", c->run, c->name);
	buf_adds(b, "\" aria-label=\"");
	html_attr(b, c->name);
	buf_addf(b, "\"></%s>", element);
}

static void add_badge(struct buf *b, const struct card *c)
{
	buf_adds(b, "<span class=\"ending\" aria-hidden=\"true\">");
	add_ending(b, c->name);
	buf_adds(b, "</span>");
}

/* The name is the one link of a card; the style sheet makes it as large as the card. */
static void add_caption(struct buf *b, const struct view *v, const struct card *c)
{
	buf_adds(b, "<p class=\"name\"><a href=\"");
	add_link(b, v, "view", c->run, c->name);
	buf_adds(b, "\"><bdi>");
	html_text(b, c->name);
	buf_adds(b, "</bdi></a></p><p class=\"facts\">");
	html_text(b, type_word(c->type));
	buf_adds(b, " <span class=\"dot\">&#183;</span> ");
	html_bytes(b, c->bytes);
	if (c->owner_only)
		buf_adds(b, " <span class=\"flag\">owner only</span>");
	buf_adds(b, "</p>");
}

static void add_card(struct buf *b, const struct view *v, const struct card *c, enum kind kind)
{
	buf_adds(b, "<li class=\"card\"><div class=\"tile\">");
	if (kind == KIND_IMAGE)
		add_image(b, v, c, true);
	else
		add_player(b, v, c, "video", "metadata");
	buf_adds(b, "</div>");
	add_caption(b, v, c);
	buf_adds(b, "</li>\n");
}

static void add_row(struct buf *b, const struct view *v, const struct card *c, enum kind kind)
{
	buf_adds(b, "<li class=\"card row\">");
	add_badge(b, c);
	buf_adds(b, "<div class=\"text\">");
	add_caption(b, v, c);
	buf_adds(b, "</div>");
	if (kind == KIND_SOUND)
		add_player(b, v, c, "audio", "none");
	buf_adds(b, "</li>\n");
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
static void add_gallery_link(struct buf *b, const struct view *v, const struct gallery_filter *f,
	const char *kind, const char *before)
{
	const char *const parts[][2] = {
		{"kind", kind}, {"expert", f->expert}, {"text", f->text}, {"before", before}};
	const char *gap = "?";
	buf_adds(b, v->base);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (!parts[i][1])
			continue;
		buf_addf(b, "%s%s=", gap, parts[i][0]);
		html_url(b, parts[i][1]);
		gap = "&amp;";
	}
}

static void add_kinds(struct buf *b, const struct view *v, const struct gallery_filter *f)
{
	static const char *const kinds[][2] = {{NULL, "All"}, {"image", "Images"},
		{"video", "Clips"}, {"audio", "Sound"}, {"file", "Files"}};
	buf_adds(b, "<nav class=\"kinds\" aria-label=\"Kinds\">\n");
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const char *k = kinds[i][0];
		bool here = k ? f->kind && strcmp(k, f->kind) == 0 : !f->kind;
		buf_adds(b, "<a href=\"");
		add_gallery_link(b, v, f, k, NULL);
		buf_addf(b, "\"%s>%s</a>\n", here ? " aria-current=\"page\"" : "", kinds[i][1]);
	}
	buf_adds(b, "</nav>\n");
}

static int add_experts(
	struct buf *b, const struct view *v, const struct gallery_filter *f, struct err *e)
{
	JSON_AUTO experts = gallery_experts(v->st, f, e);
	size_t i;
	json_t *x;
	if (!experts)
		return -1;
	buf_adds(b, "<label>Expert <select name=\"expert\"><option value=\"\">all</option>");
	json_array_foreach(experts, i, x)
	{
		const char *name = json_text_of(x, "expert");
		buf_adds(b, "<option");
		if (f->expert && strcmp(name, f->expert) == 0)
			buf_adds(b, " selected");
		buf_adds(b, ">");
		html_text(b, name);
		buf_adds(b, "</option>");
	}
	buf_adds(b, "</select></label>\n");
	return 0;
}

static int add_search(
	struct buf *b, const struct view *v, const struct gallery_filter *f, struct err *e)
{
	buf_addf(b, "<form class=\"search\" action=\"%s\" role=\"search\">\n", v->base);
	if (f->kind)
		buf_addf(b, "<input type=\"hidden\" name=\"kind\" value=\"%s\">\n", f->kind);
	if (add_experts(b, v, f, e) < 0)
		return -1;
	buf_adds(b, "<label>Name <input type=\"search\" name=\"text\" accesskey=\"s\" value=\"");
	html_attr(b, f->text ? f->text : "");
	buf_adds(b, "\"></label>\n<button>Find</button>\n</form>\n</header>\n");
	return 0;
}

static void add_totals(struct buf *b, const struct gallery_totals *t)
{
	buf_addf(b, "<p class=\"totals\">%lld artifact%s from %lld run%s, ",
		(long long)t->artifacts, t->artifacts == 1 ? "" : "s", (long long)t->runs,
		t->runs == 1 ? "" : "s");
	html_bytes(b, t->bytes);
	buf_adds(b, "</p>\n");
}

/* status: the buyers' words, which are the owner's too. */
static void add_run_facts(struct buf *b, const struct view *v, const json_t *run)
{
	const char *buyer = json_text_of(run, "buyer"), *status = json_text_of(run, "status");
	int64_t version = json_int_of(run, "version"), ms = json_int_of(run, "ms");
	html_text(b, json_text_of(run, "expert"));
	if (version)
		buf_addf(b, " v%lld", (long long)version);
	else
		buf_adds(b, " draft");
	if (!v->buyer && *buyer) {
		buf_adds(b, " <span class=\"dot\">&#183;</span> for ");
		html_text(b, buyer);
	}
	if (ms > 0)
		buf_addf(b, " <span class=\"dot\">&#183;</span> %.*f s", ms < 10000 ? 2 : 0,
			(double)ms / 1000);
	if (strcmp(status, "ok") == 0)
		return;
	buf_adds(b, " <span class=\"flag\">");
	html_text(b, status);
	buf_adds(b, "</span>");
}

/* Pictures and clips as cards, then the rest as rows. */
static int add_cards(struct buf *b, const struct view *v, const struct gallery_filter *f,
	const char *run, struct err *e)
{
	JSON_AUTO artifacts = gallery_artifacts(v->st, f, run, e);
	const char *list = NULL;
	size_t i;
	json_t *a;
	if (!artifacts)
		return -1;
	json_array_foreach(artifacts, i, a)
	{
		struct card c = {run, json_text_of(a, "name"), json_text_of(a, "type"),
			json_int_of(a, "bytes"), json_int_of(a, "inline"),
			json_int_of(a, "owner_only")};
		enum kind kind = kind_of(&c);
		const char *want = kind == KIND_IMAGE || kind == KIND_VIDEO ? "cards" : "rows";
		if (list != want)
			buf_addf(b, "%s<ul class=\"%s\">\n", list ? "</ul>\n" : "", want);
		list = want;
		if (kind == KIND_IMAGE || kind == KIND_VIDEO)
			add_card(b, v, &c, kind);
		else
			add_row(b, v, &c, kind);
	}
	buf_adds(b, list ? "</ul>\n" : "");
	return 0;
}

static int add_gallery_run(struct buf *b, const struct view *v, const struct gallery_filter *f,
	const json_t *run, struct err *e)
{
	const char *id = json_text_of(run, "run");
	buf_adds(b, "<section class=\"run\">\n<h3><a href=\"");
	add_link(b, v, "run", id, NULL);
	buf_adds(b, "\">");
	html_text(b, json_text_of(run, "tool"));
	buf_adds(b, "</a></h3>\n<p class=\"about\">");
	html_clock(b, json_int_of(run, "started"));
	buf_adds(b, " <span class=\"dot\">&#183;</span> ");
	add_run_facts(b, v, run);
	buf_adds(b, "</p>\n");
	if (add_cards(b, v, f, id, e) < 0)
		return -1;
	buf_adds(b, "</section>\n");
	return 0;
}

/* A heading wherever another day begins. */
static void add_day(struct buf *b, int64_t started, struct buf *last)
{
	BUF_AUTO day = {0};
	html_day(&day, started);
	if (last->len && strcmp(buf_str(&day), buf_str(last)) == 0)
		return;
	buf_addf(b, "<h2 class=\"day\">%s</h2>\n", buf_str(&day));
	buf_clear(last);
	buf_adds(last, buf_str(&day));
}

/* older: the run after which it goes on, NULL at the end. */
static void add_pages(
	struct buf *b, const struct view *v, const struct gallery_filter *f, const char *older)
{
	if (!f->before && !older)
		return;
	buf_adds(b, "<nav class=\"pages\" aria-label=\"Pages\">\n");
	if (f->before) {
		buf_adds(b, "<a href=\"");
		add_gallery_link(b, v, f, f->kind, NULL);
		buf_adds(b, "\">Newest</a>\n");
	}
	if (older) {
		buf_adds(b, "<a rel=\"next\" accesskey=\"n\" href=\"");
		add_gallery_link(b, v, f, f->kind, older);
		buf_adds(b, "\">Older runs</a>\n");
	}
	buf_adds(b, "</nav>\n");
}

static int add_runs(
	struct buf *b, const struct view *v, const struct gallery_filter *f, struct err *e)
{
	JSON_AUTO runs = gallery_runs(v->st, f, RUNS_A_PAGE + 1, e);
	BUF_AUTO day = {0};
	size_t i;
	json_t *run;
	if (!runs)
		return -1;
	bool more = json_array_size(runs) > RUNS_A_PAGE;
	if (more)
		json_array_remove(runs, RUNS_A_PAGE);
	json_array_foreach(runs, i, run)
	{
		add_day(b, json_int_of(run, "started"), &day);
		if (add_gallery_run(b, v, f, run, e) < 0)
			return -1;
	}
	run = json_array_get(runs, RUNS_A_PAGE - 1);
	add_pages(b, v, f, more ? json_text_of(run, "run") : NULL);
	return 0;
}

static void add_nothing(struct buf *b, const struct view *v, const struct gallery_filter *f)
{
	if (f->expert || f->kind || f->text)
		buf_addf(b,
			"<p class=\"nothing\">Nothing fits. <a href=\"%s\">Show "
			"everything</a></p>\n",
			v->base);
	else
		buf_adds(b, "<p class=\"nothing\">Nothing here yet. What a run writes to "
			    "<code>outputs/</code> appears on this page.</p>\n");
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
	struct gallery_totals totals;
	page_top(out, v, "Archive");
	add_kinds(out, v, &f);
	if (add_search(out, v, &f, e) < 0)
		return -1;
	buf_adds(out, "<main id=\"main\">\n<h1 class=\"unseen\">Runs and their artifacts</h1>\n");
	if (gallery_totals(v->st, &f, &totals, e) < 0)
		return -1;
	if (totals.artifacts == 0)
		add_nothing(out, v, &f);
	else
		add_totals(out, &totals);
	if (totals.artifacts && add_runs(out, v, &f, e) < 0)
		return -1;
	page_bottom(out, KEYS_MOVE ", <kbd>S</kbd> the search, <kbd>N</kbd> older runs.");
	return 0;
}

/* ---- one run ------------------------------------------------------------------------------- */

/* A buyer learns how many files were withheld; names and reasons are the owner's. */
static int add_withheld(struct buf *b, const struct view *v, const char *run, struct err *e)
{
	JSON_AUTO files = gallery_withheld(v->st, run, e);
	size_t i, n = json_array_size(files);
	json_t *f;
	if (n == 0)
		return files ? 0 : -1;
	buf_addf(b, "<section class=\"withheld\">\n<h2>%zu file%s withheld</h2>\n", n,
		n == 1 ? " was" : "s were");
	buf_adds(b, v->buyer ? "" : "<ul>\n");
	json_array_foreach(v->buyer ? NULL : files, i, f)
	{
		buf_adds(b, "<li><bdi>");
		html_text(b, json_text_of(f, "name"));
		buf_adds(b, "</bdi>: ");
		html_text(b, json_text_of(f, "why"));
		buf_adds(b, "</li>\n");
	}
	buf_adds(b, v->buyer ? "</section>\n" : "</ul>\n</section>\n");
	return 0;
}

int page_run(const struct view *v, const char *id, struct buf *out, struct err *e)
{
	struct gallery_filter any = {.buyer = v->buyer};
	JSON_AUTO run = gallery_run(v->st, id, v->buyer, e);
	if (!run)
		return -1;
	page_top(out, v, json_text_of(run, "tool"));
	buf_adds(out, "</header>\n<main id=\"main\">\n<div class=\"title\">\n<h1>");
	html_text(out, json_text_of(run, "tool"));
	buf_adds(out, "</h1>\n<p class=\"about\">");
	html_when(out, json_int_of(run, "started"));
	buf_adds(out, " <span class=\"dot\">&#183;</span> ");
	add_run_facts(out, v, run);
	buf_adds(out, " <span class=\"dot\">&#183;</span> run <code>");
	html_text(out, id);
	buf_adds(out, "</code></p>\n</div>\n");
	if (add_cards(out, v, &any, id, e) < 0 || add_withheld(out, v, id, e) < 0)
		return -1;
	page_bottom(out, KEYS_MOVE ".");
	return 0;
}

/* ---- one artifact -------------------------------------------------------------------------- */

static void add_stage(struct buf *b, const struct view *v, const struct card *c)
{
	enum kind kind = kind_of(c);
	buf_addf(b, "<div class=\"stage%s\">", kind == KIND_FILE ? " file" : "");
	if (kind == KIND_IMAGE) {
		buf_adds(b, "<a href=\"");
		add_link(b, v, "raw", c->run, c->name);
		buf_adds(b, "\" title=\"Alone, in its own size\">");
		add_image(b, v, c, false);
		buf_adds(b, "</a>");
	} else if (kind == KIND_VIDEO) {
		add_player(b, v, c, "video", "auto");
	} else if (kind == KIND_SOUND) {
		add_player(b, v, c, "audio", "auto");
	} else {
		add_badge(b, c);
		buf_adds(b, "<p>This kind of file is not shown here. Download it to open it.</p>");
	}
	buf_adds(b, "</div>\n");
}

static void add_fact(struct buf *b, const char *what)
{
	buf_addf(b, "<dt>%s</dt><dd>", what);
}

static void add_facts(struct buf *b, const struct view *v, const struct artifact *a)
{
	buf_adds(b, "<dl>");
	add_fact(b, "Kind");
	html_text(b, type_word(a->type));
	buf_adds(b, "</dd>");
	add_fact(b, "Size");
	html_bytes(b, a->bytes);
	buf_adds(b, "</dd>");
	add_fact(b, "Made");
	html_when(b, a->created);
	buf_adds(b, "</dd>");
	if (!v->buyer && a->buyer) {
		add_fact(b, "For");
		html_text(b, a->buyer);
		buf_adds(b, "</dd>");
		add_fact(b, "Fetched");
		if (a->fetched)
			html_when(b, a->fetched);
		else
			buf_adds(b, "not yet");
		buf_adds(b, "</dd>");
	}
	if (a->owner_only) {
		add_fact(b, "Seen by");
		buf_adds(b, "you only</dd>");
	}
	add_fact(b, "SHA-256");
	buf_addf(b, "<code class=\"sum\">%s</code></dd></dl>\n", a->sha256);
}

static void add_neighbour(struct buf *b, const struct view *v, const char *run, const char *name,
	const char *rel, const char *key, const char *word)
{
	if (!name) {
		buf_addf(b, "<span class=\"gone\">%s</span>\n", word);
		return;
	}
	buf_addf(b, "<a rel=\"%s\" accesskey=\"%s\" href=\"", rel, key);
	add_link(b, v, "view", run, name);
	buf_adds(b, "\" title=\"");
	html_attr(b, name);
	buf_addf(b, "\">%s</a>\n", word);
}

/* In the order in which the run's page shows them. */
static int add_neighbours(
	struct buf *b, const struct view *v, const struct artifact *a, struct err *e)
{
	JSON_AUTO near = gallery_neighbours(v->st, a->run, a->name, v->buyer, e);
	if (!near)
		return -1;
	const char *before = json_string_value(json_object_get(near, "before"));
	const char *after = json_string_value(json_object_get(near, "after"));
	buf_adds(b, "<nav class=\"near\" aria-label=\"Artifacts of this run\">\n");
	add_neighbour(b, v, a->run, before, "prev", "p", "Previous");
	buf_addf(b, "<span class=\"place\">%lld of %lld</span>\n",
		(long long)json_int_of(near, "place"), (long long)json_int_of(near, "total"));
	add_neighbour(b, v, a->run, after, "next", "n", "Next");
	buf_adds(b, "</nav>\n");
	return 0;
}

int page_artifact(
	const struct view *v, const char *run, const char *name, struct buf *out, struct err *e)
{
	ARTIFACT_AUTO a = {0};
	if (artifact_find(v->st, run, name, v->buyer, &a, e) < 0)
		return -1;
	struct card c = {a.run, a.name, a.type, a.bytes, a.inline_ok, a.owner_only};
	page_top(out, v, a.name);
	buf_adds(out, "<a class=\"up\" href=\"");
	add_link(out, v, "run", a.run, NULL);
	buf_adds(out, "\" accesskey=\"r\">All of this run</a>\n</header>\n"
		      "<main id=\"main\" class=\"one\">\n");
	add_stage(out, v, &c);
	buf_adds(out, "<aside>\n<h1><bdi>");
	html_text(out, a.name);
	buf_adds(out, "</bdi></h1>\n<p><a class=\"get\" download accesskey=\"d\" href=\"");
	add_link(out, v, "get", a.run, a.name);
	buf_adds(out, "\">Download</a></p>\n");
	if (add_neighbours(out, v, &a, e) < 0)
		return -1;
	add_facts(out, v, &a);
	buf_adds(out, "</aside>\n");
	page_bottom(out,
		KEYS_MOVE ", <kbd>R</kbd> its run, <kbd>P</kbd> and <kbd>N</kbd> the artifacts "
			  "beside it, <kbd>D</kbd> downloads.");
	return 0;
}

/* ---- messages ------------------------------------------------------------------------------ */

void page_message(
	const struct view *v, bool with_links, const char *title, const char *text, struct buf *out)
{
	if (with_links) {
		page_top(out, v, title);
		buf_adds(out, "</header>\n");
	} else {
		page_head(out, v, title);
	}
	buf_adds(out, "<main id=\"main\" class=\"message\">\n<h1>");
	html_text(out, title);
	buf_adds(out, "</h1>\n<p>");
	html_text(out, text);
	buf_adds(out, "</p>\n");
	if (with_links)
		buf_addf(out, "<p><a href=\"%s\">To the gallery</a></p>\n", v->base);
	buf_adds(out, "</main>\n</body>\n</html>\n");
}

/*
 * A page that moves on by itself, not a redirect: a browser that came from another site's link
 * would not send a SameSite=Strict cookie after a redirect.
 */
void page_welcome(const struct view *v, struct buf *out)
{
	buf_addf(out,
		"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n<title>Archive</title>\n"
		"<link rel=\"stylesheet\" href=\"%sstyle.css\">\n</head>\n<body>\n"
		"<main id=\"main\" class=\"message\"><p><a href=\"%s\">To the "
		"gallery</a></p></main>\n"
		"</body>\n</html>\n",
		v->base, v->base, v->base);
}
