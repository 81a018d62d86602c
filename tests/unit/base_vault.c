/* Memory for secrets: ends at a page that faults, is nothing in a child, gone when freed. */
#include "../lib/tap.h"
#include "base/buf.h"
#include "base/vault.h"
#include "state/seal.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* How a child ends that touches a byte; the signal, or 0. */
static int touching(volatile char *p, bool write)
{
	pid_t pid = fork();
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		if (write)
			*p = 1;
		else
			(void)*p;
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* The byte as a forked child sees it. */
static int seen_by_child(volatile char *p)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit((unsigned char)*p);
	int status;
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

/* Built with the address sanitizer, a program locks nothing: its mlock() does nothing. */
#ifdef __SANITIZE_ADDRESS__
#define LOCKED ""
#else
#define LOCKED " lo"
#endif

/* What the kernel says of the mapping that holds p: locked, out of dumps, wiped on fork; want,
 * where it cannot be asked. */
static bool is_kept(const void *p, bool want)
{
	if (emulated())
		return want;
	char line[512];
	bool in = false, kept = false;
	FILE *f = fopen("/proc/self/smaps", "re");
	while (f && fgets(line, sizeof line, f)) {
		unsigned long from, to;
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			in = (uintptr_t)p >= from && (uintptr_t)p < to;
		else if (in && strncmp(line, "VmFlags:", 8) == 0)
			kept = strstr(line, LOCKED) && strstr(line, " dd") && strstr(line, " wf");
	}
	if (f)
		fclose(f);
	return kept;
}

static void test_pages(struct tap *t)
{
	static const size_t sizes[] = {0, 1, 15, 16, 17, 4095, 4096, 4097, 20000};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		size_t n = sizes[i], room = n ? (n + 15) / 16 * 16 : 16;
		char *p = vault_new(n);
		bool zero = p && (uintptr_t)p % 16 == 0;
		for (size_t k = 0; zero && k < n; k++)
			zero = p[k] == 0;
		ok(t, zero, "%zu bytes, all zero", n);
		memset(p, 'x', n);
		ok(t, touching(p + room - 1, true) == 0, "control: the last may be touched");
		ok(t, touching(p + room, false) == SIGSEGV, "what is behind may not");
		ok(t, touching((char *)((uintptr_t)p & ~(uintptr_t)4095) - 1, true) == SIGSEGV,
			"nor what is before");
		ok(t, !n || (seen_by_child(p) == 0 && p[0] == 'x'), "a child sees nothing");
		if (emulated())
			skip(t, "locked, and in no core dump", "an emulator does not tell");
		else
			ok(t, is_kept(p, true), "locked, and in no core dump");
		vault_free(p);
		ok(t, touching(p, false) == SIGSEGV, "gone when freed");
	}
}

static void test_holders(struct tap *t)
{
	struct err e = {0};
	BUF_AUTO b = {.secret = true};
	for (int i = 0; i < 3000; i++)
		buf_addf(&b, "%d ", i);
	ok(t,
		!buf_failed(&b) && b.len == 13890 && strncmp(b.data, "0 1 2 ", 6) == 0 &&
			is_kept(b.data, true) && seen_by_child(b.data) == 0,
		"a secret buffer is of it, and grows");
	SECRET_AUTO s = {0};
	ok(t,
		secret_set(&s, "value", 5, &e) == 0 && strcmp(s.data, "value") == 0 &&
			is_kept(s.data, true) && seen_by_child(s.data) == 0,
		"so is a secret");
	BUF_AUTO plain = {0};
	buf_adds(&plain, "x");
	ok(t, !is_kept(plain.data, false) && seen_by_child(plain.data) == 'x',
		"control: others are not");
}

int main(void)
{
	struct tap t = {0};
	setvbuf(stdout, NULL, _IONBF, 0);
	test_pages(&t);
	test_holders(&t);
	return tap_done(&t);
}
