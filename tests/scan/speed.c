/*
 * For tests/bench/scan.sh: reads paths from stdin, one a line, loads the files, and then parses
 * each by itself, as ast.parse does, for some rounds. Prints the bytes, and the best round's
 * seconds on one core and on all; with -d, the same for one scan of all as one directory, reads and
 * all.
 */
#include "base/file.h"
#include "scan/decode.h"
#include "scan/parse.h"
#include "scan/scan.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 7
#define MAX_THREADS 64

struct source {
	char *path;
	struct buf text;
};

struct job {
	const struct source *files;
	size_t n;
	atomic_size_t next;
};

static double now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void parse_one(struct arena *arena, const struct source *f)
{
	struct symtab syms;
	struct fail fail;

	arena_free(arena);
	arena->fail = &fail;
	if (setjmp(fail.at))
		return;
	symtab_init(&syms, arena);
	char *text = decode_source(arena, buf_str(&f->text), f->text.len);
	parse_module(text, &syms, false);
}

static void *work(void *arg)
{
	struct job *j = arg;
	struct arena arena = {.limit = (size_t)1 << 30};

	for (;;) {
		/* A few at a time, so that the cores do not fight over the counter. */
		size_t i = atomic_fetch_add(&j->next, 8);
		if (i >= j->n)
			break;
		for (size_t k = i; k < i + 8 && k < j->n; k++)
			parse_one(&arena, &j->files[k]);
	}
	arena_free(&arena);
	return NULL;
}

static double parse_all(const struct source *files, size_t n, long threads)
{
	pthread_t id[MAX_THREADS];
	clockid_t clock = threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
	double best = 1e9;

	for (int round = 0; round < ROUNDS; round++) {
		struct job j = {.files = files, .n = n};
		double begun = now(clock);
		for (long t = 1; t < threads; t++)
			pthread_create(&id[t], NULL, work, &j);
		work(&j);
		for (long t = 1; t < threads; t++)
			pthread_join(id[t], NULL);
		double took = now(clock) - begun;
		best = took < best ? took : best;
	}
	return best;
}

static double scan_all(const struct source *files, size_t n)
{
	double best = 1e9;

	for (int round = 0; round < ROUNDS; round++) {
		struct err e = {0};
		double begun = now(CLOCK_PROCESS_CPUTIME_ID);
		struct scan *s = scan_new(NULL);
		for (size_t i = 0; i < n; i++)
			scan_add_file(s, files[i].path + 1, buf_str(&files[i].text),
				files[i].text.len, &e);
		if (scan_resolve(s, &e) < 0)
			fprintf(stderr, "%s\n", e.msg);
		scan_free(s);
		double took = now(CLOCK_PROCESS_CPUTIME_ID) - begun;
		best = took < best ? took : best;
	}
	return best;
}

int main(int argc, char **argv)
{
	struct source *files = NULL;
	char line[4096];
	size_t n = 0, bytes = 0;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	(void)argv;
	while (fgets(line, sizeof(line), stdin)) {
		struct err e = {0};
		line[strcspn(line, "\n")] = '\0';
		files = realloc(files, (n + 1) * sizeof(*files));
		files[n] = (struct source){strdup(line), {0}};
		if (file_read(line, &files[n].text, &e) == 0)
			bytes += files[n++].text.len;
	}
	cores = cores > MAX_THREADS ? MAX_THREADS : cores;
	printf("%zu %.6f %.6f %.6f\n", bytes, parse_all(files, n, 1), parse_all(files, n, cores),
		argc > 1 ? scan_all(files, n) : 0);
	return 0;
}
