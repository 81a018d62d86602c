/* The archive of published code: what is packed comes back; what is damaged never does. */
#include "../lib/tap.h"
#include "state/expert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tap tap;

static struct tree_file file(const char *path, const char *data, size_t len)
{
	struct tree_file f = {.path = strdup(path), .data = malloc(len + 1), .n = len};
	memcpy(f.data, data, len);
	f.data[len] = '\0';
	return f;
}

static bool refused(const struct buf *b, size_t len)
{
	struct tree t = {0};
	struct err e = {0};
	int r = snapshot_unpack(b->data, len, &t, &e);
	bool empty = t.n == 0 && !t.files;
	tree_free(&t);
	return r < 0 && e.code == ERR_STATE && empty;
}

/* An archive of files whose paths nobody checked. */
static void pack_paths(struct buf *b, const char *const *paths)
{
	TREE_AUTO t = {.files = calloc(8, sizeof *t.files)};
	struct err e = {0};
	buf_clear(b);
	for (; *paths; paths++)
		t.files[t.n++] = file(*paths, "x", 1);
	snapshot_pack(&t, b, &e);
}

static void test_round_trip(struct buf *b)
{
	TREE_AUTO t = {.files = calloc(3, sizeof *t.files), .n = 3, .bytes = 8};
	TREE_AUTO back = {0};
	struct err e = {0};
	t.files[0] = file("a.py", "x = 1\n", 6);
	t.files[1] = file("empty", "", 0);
	t.files[2] = file("lib/\xc3\xa9.bin", "\0\n", 2);
	ok(&tap, snapshot_pack(&t, b, &e) == 0, "packs");
	ok(&tap, snapshot_unpack(b->data, b->len, &back, &e) == 0, "unpacks");
	bool same = back.n == t.n && back.bytes == t.bytes;
	for (size_t i = 0; same && i < t.n; i++)
		same = strcmp(t.files[i].path, back.files[i].path) == 0 &&
		       t.files[i].n == back.files[i].n &&
		       memcmp(t.files[i].data, back.files[i].data, t.files[i].n + 1) == 0;
	ok(&tap, same, "the same paths and bytes");
	ok(&tap, tree_find(&back, "empty") == &back.files[1], "and its files are found");
}

static void test_damage(struct buf *b)
{
	size_t whole = b->len, cut = 0;
	for (size_t len = 0; len < whole; len++)
		cut += refused(b, len);
	ok(&tap, cut == whole, "cut short anywhere: refused");
	buf_addc(b, 'x');
	ok(&tap, refused(b, b->len), "a byte too many: refused");
	memset(b->data + 12, 0xff, 8); /* the first path's length */
	ok(&tap, refused(b, whole), "a length beyond the end: refused");
	b->data[0] = 'X';
	ok(&tap, refused(b, whole), "another format: refused");
}

static void test_paths(struct buf *b)
{
	static const char *const bad[][3] = {{"../a"}, {"/a"}, {"a/../b"}, {"a//b"}, {"./a"},
		{"a/"}, {""}, {"b", "a"}, {"a", "a"}};
	TREE_AUTO t = {0};
	struct err e = {0};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		char what[64];
		pack_paths(b, bad[i]);
		snprintf(what, sizeof what, "refused: '%s' '%s'", bad[i][0],
			bad[i][1] ? bad[i][1] : "");
		ok(&tap, refused(b, b->len), "%s", what);
	}
	pack_paths(b, (const char *const[]){"..a", "a", "a.b/c", NULL});
	ok(&tap, snapshot_unpack(b->data, b->len, &t, &e) == 0, "control: plain paths in order");
}

static void test_code_id(void)
{
	char a[65], b[65];
	struct err e = {0};
	TREE_AUTO t = {.files = calloc(2, sizeof *t.files), .n = 2};
	t.files[0] = file("a.py", "1", 1);
	t.files[1] = file(MANIFEST_FILE, "x", 1);
	ok(&tap, snapshot_code_id(&t, a, &e) == 0 && strlen(a) == 64, "64 hex digits");
	t.files[1].data[0] = 'y';
	ok(&tap, snapshot_code_id(&t, b, &e) == 0 && strcmp(a, b) == 0, "expert.yaml is not code");
	t.files[0].data[0] = '2';
	ok(&tap, snapshot_code_id(&t, b, &e) == 0 && strcmp(a, b) != 0, "control: other files are");
}

int main(void)
{
	BUF_AUTO b = {0};
	test_round_trip(&b);
	test_damage(&b);
	test_paths(&b);
	test_code_id();
	return tap_done(&tap);
}
