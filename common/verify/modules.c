#include "verify/modules.h"
#include "base/python.h"

#include <stdio.h>
#include <string.h>

/* Modules whose distribution is called otherwise. */
static const struct {
	const char *module, *distribution;
} distributions[] = {
	{"Crypto", "pycryptodome"},
	{"Levenshtein", "python-Levenshtein"},
	{"MySQLdb", "mysqlclient"},
	{"OpenSSL", "pyOpenSSL"},
	{"attr", "attrs"},
	{"bs4", "beautifulsoup4"},
	{"cv2", "opencv-python-headless"},
	{"dateutil", "python-dateutil"},
	{"discord", "discord.py"},
	{"docx", "python-docx"},
	{"dotenv", "python-dotenv"},
	{"faiss", "faiss-cpu"},
	{"fitz", "PyMuPDF"},
	{"git", "GitPython"},
	{"github", "PyGithub"},
	{"gitlab", "python-gitlab"},
	{"google", "google-cloud-NAME"},
	{"googleapiclient", "google-api-python-client"},
	{"igraph", "python-igraph"},
	{"jose", "python-jose"},
	{"jwt", "PyJWT"},
	{"magic", "python-magic"},
	{"markdown", "Markdown"},
	{"nacl", "PyNaCl"},
	{"pkg_resources", "setuptools"},
	{"pptx", "python-pptx"},
	{"psycopg2", "psycopg2-binary"},
	{"ruamel", "ruamel.yaml"},
	{"serial", "pyserial"},
	{"skimage", "scikit-image"},
	{"sklearn", "scikit-learn"},
	{"slugify", "python-slugify"},
	{"telegram", "python-telegram-bot"},
	{"usb", "pyusb"},
	{"win32api", "pywin32"},
	{"yaml", "PyYAML"},
	{"zmq", "pyzmq"},
};

static const char *distribution(const char *top)
{
	for (size_t i = 0; i < sizeof distributions / sizeof *distributions; i++)
		if (strcmp(distributions[i].module, top) == 0)
			return distributions[i].distribution;
	return top;
}

/* Those that distributions of Python keep apart, or that are for other systems: nothing to bring.
 */
static bool is_python_s(const char *top)
{
	static const char *const names[] = {"tkinter", "_tkinter", "turtle", "turtledemo",
		"idlelib", "winreg", "_winapi", "msilib", "msvcrt", "winsound", "nt", "dbm",
		"_gdbm", "ensurepip", "venv", "distutils", "imp", "asyncore", "asynchat", "smtpd",
		"cgi", "cgitb", "telnetlib"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], top) == 0)
			return true;
	return false;
}

static bool is_entry(const struct manifest_tool *t, const struct scan_import *x)
{
	return strcmp(t->entry_file, x->file) == 0;
}

/* A file that a tool begins with is in no package, wherever it is, so a relative import finds none.
 */
static bool begins_a_tool(const struct reach *r, const struct scan_import *x)
{
	for (size_t i = 0; r->m && i < r->m->ntools; i++)
		if (is_entry(&r->m->tools[i], x))
			return true;
	return false;
}

/* ---- files that hide Python's own modules ---------------------------------------------------- */

/* A file at the top, which comes before Python's module of its name wherever that is imported. */
struct hiding {
	char module[64];
	size_t file;
};

/* "random" of random.py or random/__init__.py, where Python has one that is not there before. */
static bool hides(const struct reach *r, size_t file, struct hiding *h)
{
	static const char init[] = "/__init__.py", py[] = ".py";
	const char *name = scan_file_name(r->s, file), *slash = strchr(name, '/');
	size_t n = strlen(name), tail = slash ? sizeof init - 1 : sizeof py - 1;
	if (n <= tail || n - tail >= sizeof h->module ||
		strcmp(name + n - tail, slash ? init : py) != 0)
		return false;
	snprintf(h->module, sizeof h->module, "%.*s", (int)(n - tail), name);
	h->file = file;
	return !strpbrk(h->module, "./") && python_imports(r->py, h->module) &&
	       !python_is_loaded(r->py, h->module);
}

static bool hides_any(const struct reach *r)
{
	struct hiding h;
	for (size_t i = 0; i < r->nfiles; i++)
		if (hides(r, i, &h))
			return true;
	return false;
}

/* What an import takes from the hidden module and the file has not, with its length; or NULL. */
static const char *taken(
	const struct reach *r, const struct scan_import *x, const struct hiding *h, size_t *n)
{
	const char *name = NULL;
	while ((name = python_next_need(r->py, x->module, h->module, name, n)))
		if (!scan_may_bind(r->s, h->file, name, *n))
			return name;
	return NULL;
}

/* ---- what does not import ------------------------------------------------------------------- */

static bool is_lost(const struct reach *r, const struct scan_import *x)
{
	return x->missing || (x->dots && begins_a_tool(r, x));
}

/* Whether a tool surely comes to it. */
static bool tool_comes(const struct reach *r, size_t tool, const struct scan_import *x)
{
	const struct manifest_tool *t = &r->m->tools[tool];
	return x->certain && reach_surely(r, tool, x->file) &&
	       (!x->main_only || (is_entry(t, x) && !t->entry_func));
}

static bool is_come_to(const struct reach *r, const struct scan_import *x)
{
	for (size_t i = 0; r->m && i < r->m->ntools; i++)
		if (tool_comes(r, i, x))
			return true;
	return !r->m && x->certain;
}

/* Whether a tool cannot begin without it. */
static bool is_needed(const struct reach *r, const struct scan_import *x)
{
	for (size_t i = 0; r->m && i < r->m->ntools; i++)
		if (tool_comes(r, i, x) &&
			(x->missing || (x->dots && is_entry(&r->m->tools[i], x))))
			return true;
	return !r->m && x->certain && x->missing;
}

static void add_hint(struct buf *b, const struct reach *r, const struct scan_import *x)
{
	if (x->dots && (x->module[0] == '.' || !x->missing)) {
		buf_adds(b, "the file is in no package: import without the dot");
	} else if (x->lacking) {
		const char *dot = strrchr(x->module, '.');
		buf_addf(b, "%s has no '%s'", x->lacking, dot ? dot + 1 : x->module);
		if (!x->inside)
			buf_addf(b, " in Python 3.%d", r->py->minor);
	} else if (x->dots || x->inside) {
		buf_adds(b, "no such file: ");
		for (const char *s = x->module; *s; s++)
			buf_addc(b, *s == '.' ? '/' : *s);
		buf_adds(b, ".py");
	} else if (is_python_s(x->top)) {
		buf_adds(b, "the sandbox's Python comes without it");
	} else {
		buf_addf(b, "bring it, if it is pure Python: pip install --target DIR %s",
			distribution(x->top));
	}
}

/* A relative import of a file that is in no package is shown as it is written: ".lib". */
static void add_name(struct buf *b, const struct scan_import *x)
{
	const char *slash = strrchr(x->file, '/'), *module = x->module;
	size_t n = slash ? (size_t)(slash - x->file) : 0;
	if (!x->dots || x->missing || x->dots > 1 || strlen(module) < n)
		n = 0;
	else
		buf_adds(b, module[n] ? "" : ".");
	buf_adds(b, module + n);
}

static void add_row(json_t *out, json_t *told, const struct buf *name, const struct scan_import *x,
	const struct buf *hint)
{
	if (json_object_get(told, buf_str(name)))
		return;
	json_object_set_new_nocheck(told, buf_str(name), json_true());
	json_array_append_new(
		out, json_pack("{s:o,s:o,s:i,s:o}", "module", json_text(buf_str(name), name->len),
			     "file", json_text(x->file, strlen(x->file)), "line", x->line, "hint",
			     json_text(buf_str(hint), hint->len)));
}

/* One import that takes what a file of the directory has not, though Python's module has it. */
static void tell_hidden(
	const struct reach *r, const struct hiding *h, bool needed, json_t *out, json_t *told)
{
	size_t n, len;
	const struct scan_import *a = scan_imports(r->s, &n);
	for (size_t i = 0; i < n; i++) {
		const struct scan_import *x = &a[i];
		BUF_AUTO hint = {0}, name = {0};
		if (x->target || x->missing || x->dots || is_come_to(r, x) != needed ||
			(!needed && !reach_at_all(r, x->file)))
			continue;
		const char *takes = taken(r, x, h, &len);
		if (!takes)
			continue;
		buf_adds(&name, h->module);
		buf_addf(&hint, "%s hides Python's, from which %s takes '%.*s': rename the file",
			scan_file_name(r->s, h->file), x->module, (int)len, takes);
		add_row(out, told, &name, x, &hint);
		return;
	}
}

json_t *modules_missing(const struct reach *r, bool needed)
{
	size_t n;
	struct hiding h;
	const struct scan_import *a = scan_imports(r->s, &n);
	json_t *out = json_array(), *told = json_object();
	for (size_t i = 0; i < r->nfiles; i++)
		if (hides(r, i, &h))
			tell_hidden(r, &h, needed, out, told);
	for (size_t i = 0; i < n; i++) {
		BUF_AUTO hint = {0}, name = {0};
		if (!is_lost(r, &a[i]) || is_needed(r, &a[i]) != needed ||
			(!needed && !reach_at_all(r, a[i].file)))
			continue;
		add_name(&name, &a[i]);
		add_hint(&hint, r, &a[i]);
		add_row(out, told, &name, &a[i], &hint);
	}
	json_decref(told);
	return out;
}

json_t *modules_used(const struct reach *r)
{
	size_t n;
	const struct scan_import *a = scan_imports(r->s, &n);
	json_t *out = json_object();
	for (size_t i = 0; r->m && i < r->m->ntools; i++)
		json_object_set_new(out, r->m->tools[i].name, json_array());
	/* Imported ahead they would have Python's modules, not the files that hide them. */
	if (hides_any(r))
		return out;
	for (size_t k = 0; k < n; k++) {
		if (a[k].target || a[k].missing || a[k].guarded || a[k].dots)
			continue;
		for (size_t i = 0; r->m && i < r->m->ntools; i++) {
			json_t *list = json_object_get(out, r->m->tools[i].name);
			if (reach_by_tool(r, i, a[k].file) && !json_array_has(list, a[k].module))
				json_array_append_new(list, json_string(a[k].module));
		}
	}
	return out;
}
