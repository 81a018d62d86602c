/*
 * The plan against its golden files: what a sandbox can see is reviewed there, line by line. With
 * an argument, writes the files anew into that directory.
 */
#include "../lib/tap.h"

#include "base/file.h"
#include "sandbox/plan.h"

#include <stdlib.h>

static void fill(struct strv *sv, const char *const *words)
{
	for (; *words; words++)
		strv_add(sv, *words);
}

/* A machine that stays the same. */
static void make_mounts(struct mounts *m)
{
	static const char *const binds[] = {"/usr/bin/python3.11", "/usr/lib/python3.11",
		"/usr/lib/python3/dist-packages", "/usr/lib/x86_64-linux-gnu", NULL};
	static const char *const links[] = {"/usr/bin/python3", "python3.11", "/lib", "usr/lib",
		"/etc/alternatives/libblas.so.3-x86_64-linux-gnu",
		"/usr/lib/x86_64-linux-gnu/blas/libblas.so.3", NULL};
	static const char *const modules[] = {"/usr/lib/python3.11",
		"/usr/lib/python3.11/lib-dynload", "/usr/lib/python3/dist-packages", NULL};
	static const char *const masks[] = {"cmdline", "keys", "pressure/", "sys/", NULL};
	memset(m, 0, sizeof *m);
	m->python = strdup("/usr/bin/python3.11");
	m->loader = strdup("/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
	fill(&m->binds, binds);
	fill(&m->links, links);
	fill(&m->modules, modules);
	fill(&m->masks, masks);
}

/* One option a line, with what belongs to it. */
static void print_plan(const struct strv *argv, const struct buf *args, struct buf *out)
{
	for (size_t i = 0; i < argv->n; i++)
		buf_addf(out, "%s%s", i ? " " : "", argv->v[i]);
	for (size_t i = 0; i < args->len; i += strlen(args->data + i) + 1) {
		const char *word = args->data + i;
		buf_addf(out, "%s%s", strncmp(word, "--", 2) == 0 ? "\n" : " ", word);
	}
	buf_addc(out, '\n');
}

static void check(struct tap *t, const struct mounts *m, bool session, const char *into)
{
	STRV_AUTO argv = {0};
	BUF_AUTO args = {0}, text = {0}, golden = {0};
	struct err e = {0};
	char path[256];
	const struct plan plan = {.mounts = m, .session = session};
	snprintf(path, sizeof path, "%s/sandbox-%s.plan", into ? into : "tests/golden",
		session ? "session" : "single");
	if (!ok(t, plan_bwrap(&plan, &argv, &args, &e) == 0, "%s: planned", path))
		return;
	print_plan(&argv, &args, &text);
	if (into)
		ok(t, file_write_atomic(path, text.data, text.len, 0644, &e) == 0, "%s: written",
			path);
	else if (ok(t, file_read(path, &golden, &e) == 0, "%s: read", path))
		is_text(t, buf_str(&text), buf_str(&golden), path);
}

int main(int argc, char **argv)
{
	struct tap t = {0};
	struct mounts m;
	make_mounts(&m);
	check(&t, &m, false, argc > 1 ? argv[1] : NULL);
	check(&t, &m, true, argc > 1 ? argv[1] : NULL);
	mounts_free(&m);
	return tap_done(&t);
}
