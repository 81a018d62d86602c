#include "manifest/starter.h"

#include "base/file.h"
#include "base/text.h"
#include "manifest/derive.h"
#include "manifest/tree.h"
#include "manifest/yaml_text.h"
#include "scan/signature.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_MOST 64

/* ---- names --------------------------------------------------------------------------------- */

/* A name that experts and tools may have, of any text: "count_leads" is "count-leads". */
static void add_name(struct buf *b, const char *text)
{
	static const char set[] = "abcdefghijklmnopqrstuvwxyz0123456789.";
	size_t start = b->len;
	for (; *text && b->len - start < NAME_MOST; text++) {
		char c = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
		bool fits = strchr(set, c) != NULL;
		bool first = b->len == start;
		if (!first || (fits && c != '.'))
			buf_addc(b, fits ? c : '-');
	}
	if (b->len == start)
		buf_adds(b, "my-expert");
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);
	return n >= k && strcmp(s + n - k, end) == 0;
}

static bool is_python(const char *path)
{
	return ends_with(path, ".py") && strlen(path) > 3;
}

static bool is_test(const char *path)
{
	return strncmp(path, "test_", 5) == 0 || ends_with(path, "_test.py") ||
	       strcmp(path, "conftest.py") == 0 || strcmp(path, "setup.py") == 0;
}

/* ---- what could be a tool ------------------------------------------------------------------ */

static bool is_imported(const struct scan *s, const char *file)
{
	size_t n;
	const struct scan_import *all = scan_imports(s, &n);
	for (size_t i = 0; i < n; i++)
		if (all[i].target && strcmp(all[i].target, file) == 0 &&
			strcmp(all[i].file, file) != 0)
			return true;
	return false;
}

static size_t add_functions(struct scan *s, const char *file, struct strv *out)
{
	size_t n, before = out->n;
	const char *const *names = scan_function_names(s, file, &n);
	for (size_t i = 0; i < n; i++) {
		BUF_AUTO entry = {0};
		buf_addf(&entry, "%s:%s", file, names[i]);
		if (names[i][0] != '_' && !strv_has(out, buf_str(&entry)))
			strv_add(out, buf_str(&entry));
	}
	return out->n - before;
}

/* The files at the top that are not there for others, or, where `helpers`, those too. */
static void find_entries(struct scan *s, const struct tree *t, bool helpers, struct strv *out)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct tree_file *f = &t->files[i];
		if (!is_python(f->path) || strchr(f->path, '/') || is_test(f->path) ||
			(!helpers && is_imported(s, f->path)))
			continue;
		if (!add_functions(s, f->path, out) && strstr(f->data, "__main__"))
			strv_add(out, f->path);
	}
}

static int scan_tree(struct scan *s, const struct tree *t, struct err *e)
{
	if (!s)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < t->n; i++)
		if (is_python(t->files[i].path) &&
			scan_add_file(s, t->files[i].path, t->files[i].data, t->files[i].n, e) < 0)
			return -1;
	return scan_resolve(s, e);
}

/* ---- the manifest -------------------------------------------------------------------------- */

/* "DIR/leads.py:f", as a shell completes it, is "leads.py:f". */
static const char *from_dir(const char *dir, const char *entry)
{
	size_t n = strlen(dir);
	while (n > 1 && dir[n - 1] == '/')
		n--;
	if (strncmp(entry, dir, n) == 0 && entry[n] == '/')
		entry += n + 1;
	return strncmp(entry, "./", 2) == 0 ? entry + 2 : entry;
}

/* Of the function, or the script; with the file's name too where that one is taken. */
static void tool_name(const struct strv *taken, const char *entry, struct buf *out)
{
	STR_AUTO file = strdup(entry);
	const char *colon = strrchr(entry, ':');
	if (!file)
		return;
	file[strcspn(file, ":")] = '\0';
	if (is_python(file))
		file[strlen(file) - 3] = '\0';
	add_name(out, colon ? colon + 1 : file);
	if (!strv_has(taken, buf_str(out)))
		return;
	buf_clear(out);
	buf_addf(out, "%s-%s", file, colon ? colon + 1 : "script");
	STR_AUTO both = buf_detach(out);
	add_name(out, both ? both : "");
}

static int add_tool(
	struct manifest *m, const char *dir, const char *given, struct strv *taken, struct err *e)
{
	BUF_AUTO text = {0};
	BUF_AUTO name = {0};
	MANIFEST_AUTO one = {0};
	struct err none = {0};
	char shown[TEXT_SHOWN_MAX];
	const char *entry = from_dir(dir, given);
	JSON_AUTO word = json_string(entry);
	tool_name(taken, entry, &name);
	buf_addf(&text, "name: x\ntools:\n- name: %s\n  entry: ", buf_str(&name));
	yaml_scalar(word, &text);
	if (!word || manifest_parse(&one, "", buf_str(&text), text.len, &none) < 0) {
		err_set(e, ERR_USAGE, "not an entry: '%s'", text_shown(given, shown));
		return err_hint(e, "write FILE.py:FUNCTION, or FILE.py for a script");
	}
	m->tools[m->ntools++] = one.tools[0];
	one.ntools = 0;
	strv_add(taken, buf_str(&name));
	return 0;
}

static int add_tools(struct manifest *m, const char *dir, const struct strv *entries, struct err *e)
{
	STRV_AUTO taken = {0};
	m->tools = calloc(entries->n + 1, sizeof *m->tools);
	if (!m->tools)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < entries->n && m->ntools < MANIFEST_MAX_TOOLS; i++)
		if (add_tool(m, dir, entries->v[i], &taken, e) < 0)
			return -1;
	return 0;
}

/* What a tool cannot be: a file that is not there, a name that is no function. */
static int refuse_fault(
	const struct manifest_tool *t, const struct tree *tree, const char *dir, struct err *e)
{
	char shown[TEXT_SHOWN_MAX];
	const json_t *fault = json_array_get(t->faults, 0);
	if (!tree_find(tree, t->entry_file))
		return err_set(e, ERR_NOTFOUND, "no file '%s' in '%s'",
			text_shown(t->entry_file, shown), dir);
	if (!fault)
		return 0;
	err_set(e, ERR_USAGE, "%s: %s", text_shown(t->entry_file, shown),
		json_text_of(fault, "message"));
	return *json_text_of(fault, "hint") ? err_hint(e, "%s", json_text_of(fault, "hint")) : -1;
}

/* Of those that were only found, what cannot be called is left out. */
static void drop_faulty(struct manifest *m)
{
	MANIFEST_AUTO dropped = {0};
	size_t kept = 0;
	dropped.tools = calloc(m->ntools + 1, sizeof *dropped.tools);
	for (size_t i = 0; dropped.tools && i < m->ntools; i++)
		if (json_array_size(m->tools[i].faults))
			dropped.tools[dropped.ntools++] = m->tools[i];
		else
			m->tools[kept++] = m->tools[i];
	m->ntools = dropped.tools ? kept : m->ntools;
}

static int nothing_there(const char *dir, struct err *e)
{
	err_set(e, ERR_NOTFOUND, "no function in the Python files of '%s'", dir);
	return err_hint(e, "write one: def hello(name): return {\"hello\": name}, in hello.py");
}

static int fill(struct manifest *m, const char *dir, const struct strv *entries,
	const struct tree *t, struct scan *s, struct err *e)
{
	STRV_AUTO found = {0};
	if (!entries->n) {
		find_entries(s, t, false, &found);
		if (!found.n)
			find_entries(s, t, true, &found);
	}
	if (add_tools(m, dir, entries->n ? entries : &found, e) < 0 ||
		derive_from_tree(m, t, e) < 0)
		return -1;
	if (!entries->n)
		drop_faulty(m);
	for (size_t i = 0; i < m->ntools; i++)
		if (refuse_fault(&m->tools[i], t, dir, e) < 0)
			return -1;
	return m->ntools ? 0 : nothing_there(dir, e);
}

/* ---- the text ------------------------------------------------------------------------------ */

static void add_field(struct buf *b, int indent, const char *name, const char *value)
{
	JSON_AUTO text = json_text_or_null(value);
	buf_addf(b, "%*s%s: ", indent, "", name);
	yaml_scalar(text, b);
	buf_addc(b, '\n');
}

static void write_tool(const struct manifest_tool *t, struct buf *b)
{
	BUF_AUTO entry = {0};
	buf_adds(b, "  - name: ");
	buf_adds(b, t->name);
	buf_addc(b, '\n');
	if (*t->description)
		add_field(b, 4, "description", t->description);
	else
		buf_adds(b, "    # description: what it does, for buyers (or a docstring)\n");
	buf_addf(&entry, "%s%s%s", t->entry_file, t->entry_func ? ":" : "",
		t->entry_func ? t->entry_func : "");
	add_field(b, 4, "entry", buf_str(&entry));
	if (t->input) {
		buf_adds(b, "    input:");
		yaml_after_key(t->input, 4, b);
	}
	buf_adds(b,
		"    # examples: [{input: {}, output: {}}]   # evctl-run E --examples tries them\n"
		"    # timeout: 20                           # seconds\n"
		"    # memory: 512M\n");
}

/* Hosts that the code names: to be declared before they can be attached. */
static void write_hosts(struct scan *s, struct buf *b)
{
	STRV_AUTO seen = {0};
	size_t n;
	const struct scan_url *urls = scan_urls(s, &n);
	JSON_AUTO list = json_array();
	for (size_t i = 0; i < n; i++) {
		BUF_AUTO host = {0};
		buf_adds(&host, urls[i].host);
		if (urls[i].port != 443)
			buf_addf(&host, ":%d", urls[i].port);
		if (strv_has(&seen, buf_str(&host)))
			continue;
		strv_add(&seen, buf_str(&host));
		json_array_append_new(list, json_text_or_null(buf_str(&host)));
	}
	if (!json_array_size(list))
		json_array_append_new(list, json_string("api.example.com"));
	buf_adds(b, "# hosts that the code may reach, attached when the expert is created "
		    "(evctl-host add HOST first)\n# hosts: ");
	yaml_flow(list, b);
	buf_addc(b, '\n');
}

static void write_all(const struct manifest *m, struct scan *s, struct buf *b)
{
	buf_adds(b, "# What evctl makes an expert of; all fields: man expert.yaml\n");
	add_field(b, 0, "name", m->name);
	buf_adds(b, "# description: what it is for, in a line; buyers see it\n"
		    "tools:\n");
	for (size_t i = 0; i < m->ntools; i++)
		write_tool(&m->tools[i], b);
	write_hosts(s, b);
	buf_adds(b, "# ignore: [data/, '*.tmp']         # files that do not belong to the expert\n"
		    "# private: [prompts/*.txt]         # further files that no result may hold\n");
}

static int name_expert(struct manifest *m, const char *dir, struct err *e)
{
	STR_AUTO real = realpath(dir, NULL);
	BUF_AUTO name = {0};
	const char *slash = real ? strrchr(real, '/') : NULL;
	add_name(&name, slash ? slash + 1 : dir);
	m->name = buf_detach(&name);
	m->description = strdup("");
	return m->name && m->description ? 0 : err_set(e, ERR_FAIL, "out of memory");
}

/* It has to be one itself, whatever the names in there are. */
static int check_text(const struct buf *yaml, struct err *e)
{
	MANIFEST_AUTO m = {0};
	return manifest_parse(&m, MANIFEST_FILE, buf_str(yaml), yaml->len, e);
}

static int make(struct manifest *m, const char *dir, const struct strv *entries, struct buf *yaml,
	struct err *e)
{
	TREE_AUTO t = {0};
	FD_AUTO fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? err_set(e, ERR_NOTFOUND, "no such directory: '%s'", dir)
				       : err_errno(e, ERR_USAGE, "cannot open '%s'", dir);
	if (tree_load(&t, fd, dir, NULL, e) < 0 || name_expert(m, dir, e) < 0)
		return -1;
	struct scan *s = scan_new(NULL);
	int r = scan_tree(s, &t, e) < 0 ? -1 : fill(m, dir, entries, &t, s, e);
	if (r == 0)
		write_all(m, s, yaml);
	scan_free(s);
	return r < 0 ? -1 : check_text(yaml, e);
}

int starter_make(struct manifest *m, const char *dir, const struct strv *entries, struct buf *yaml,
	struct err *e)
{
	if (make(m, dir, entries, yaml, e) == 0)
		return 0;
	manifest_free(m);
	return -1;
}

static bool has_python(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	bool found = false;
	while (d && !found && (entry = readdir(d)))
		found = is_python(entry->d_name);
	if (d)
		closedir(d);
	return found;
}

static bool has_file(const char *dir, const char *name)
{
	STR_AUTO path = path_join(dir, name);
	return !path || faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void starter_offer(const char *dir, struct err *e)
{
	BUF_AUTO word = {0};
	if (e->code != ERR_NOTFOUND || has_file(dir, MANIFEST_FILE) ||
		has_file(dir, "expert.yml") || !has_python(dir) ||
		!text_is_clean(dir, strlen(dir), false))
		return;
	buf_addword(&word, dir);
	err_hint(e, "evctl-expert init %s", buf_str(&word));
}
