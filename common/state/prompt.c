#include "state/prompt.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/text.h"
#include "state/state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_TTY 4095 /* of Linux's line discipline: it drops the rest and says nothing */

static int slurp(int fd, const char *what, size_t max, struct secret *out, struct err *e)
{
	size_t n = 0;
	ssize_t got;
	if (secret_alloc(out, max + 1, e) < 0)
		return -1;
	while (n < out->n && (got = read(fd, out->data + n, out->n - n)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(e, ERR_USAGE, "cannot read the %s", what);
		n += (size_t)got;
	}
	if (n > max)
		return err_set(e, ERR_USAGE, "the %s is longer than %zu bytes", what, max);
	secret_truncate(out, n);
	return 0;
}

/* Waits for something to read; a signal that came meanwhile is left pending. */
static int wait_input(int fd, int signals, struct err *e)
{
	struct pollfd on[] = {{fd, POLLIN, 0}, {signals, POLLIN, 0}};
	while (poll(on, 2, -1) < 0)
		if (errno != EINTR)
			return err_errno(e, ERR_FAIL, "cannot wait for the terminal");
	return on[1].revents ? err_set(e, ERR_CANCELLED, "cancelled") : 0;
}

/* One line, by bytes: no buffering library ever holds it. */
static int read_line(int fd, int signals, struct secret *out, struct err *e)
{
	size_t n = 0;
	char c;
	if (secret_alloc(out, LINE_MAX_TTY, e) < 0)
		return -1;
	for (;;) {
		if (wait_input(fd, signals, e) < 0)
			return -1;
		ssize_t got = read(fd, &c, 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0 && n == 0)
			return err_set(e, ERR_CANCELLED, "cancelled");
		if (got <= 0 || c == '\n')
			break;
		if (n < LINE_MAX_TTY)
			out->data[n++] = c;
	}
	c = 0;
	if (n == LINE_MAX_TTY) {
		err_set(e, ERR_USAGE, "too long for a terminal, which drops what is past %d bytes",
			LINE_MAX_TTY);
		return err_hint(e, "give --from-file FILE, --from-file - or --from-fd N");
	}
	secret_truncate(out, n);
	return 0;
}

/* Asks with the echo off, and with the terminal as it was when this returns. */
static int ask(
	const char *what, const struct termios *old, int signals, struct secret *out, struct err *e)
{
	struct termios quiet = *old;
	quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
	quiet.c_lflag |= ICANON | ISIG;
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
	dprintf(STDERR_FILENO, "%s (hidden): ", what);
	int r = read_line(STDIN_FILENO, signals, out, e);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, old);
	dprintf(STDERR_FILENO, "\n");
	if (r < 0)
		secret_free(out);
	return r;
}

static bool pending(int sig)
{
	sigset_t set;
	return sigpending(&set) == 0 && sigismember(&set, sig) == 1;
}

int prompt_hidden(const char *what, struct secret *out, struct err *e)
{
	const struct timespec now = {0};
	struct termios old;
	sigset_t ends, ctrl_c, before;
	int r;
	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &old) < 0) {
		err_set(e, ERR_USAGE, "no terminal to ask for the %s", what);
		return err_hint(e, "give --from-file FILE, --from-file - or --from-fd N");
	}
	sigemptyset(&ctrl_c);
	sigaddset(&ctrl_c, SIGINT);
	ends = ctrl_c;
	for (const int *sig = (const int[]){SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, 0}; *sig; sig++)
		sigaddset(&ends, *sig);
	FD_AUTO signals = signalfd(-1, &ends, SFD_CLOEXEC);
	if (signals < 0)
		return err_errno(e, ERR_FAIL, "cannot watch for signals");
	/* Signals strike only once the echo is on again, so that no terminal is left silent. */
	for (bool again = true; again;) {
		sigprocmask(SIG_BLOCK, &ends, &before);
		r = ask(what, &old, signals, out, e);
		if (sigtimedwait(&ctrl_c, NULL, &now) == SIGINT && r == 0) {
			secret_free(out);
			r = err_set(e, ERR_CANCELLED, "cancelled");
		}
		again = r < 0 && pending(SIGTSTP); /* stopped: asks anew when it goes on */
		sigprocmask(SIG_SETMASK, &before, NULL);
	}
	return r;
}

static void drop_newline(struct secret *s)
{
	size_t n = s->n;
	if (n && s->data[n - 1] == '\n')
		n--;
	if (n < s->n && n && s->data[n - 1] == '\r')
		n--;
	secret_truncate(s, n);
}

int prompt_from_fd(
	int fd, const char *option, size_t max, bool trim, struct secret *out, struct err *e)
{
	if (fcntl(fd, F_GETFD) < 0) {
		err_set(e, ERR_USAGE, "descriptor %d of '--%s' is not open", fd, option);
		return err_hint(e, "in bash: --%s 3 3< FILE", option);
	}
	if (slurp(fd, "value", max, out, e) < 0)
		return -1;
	if (trim)
		drop_newline(out);
	return 0;
}

static int from_file(
	struct secret_source *from, const char *what, struct secret *out, struct err *e)
{
	bool is_stdin = strcmp(from->file, "-") == 0;
	FD_AUTO fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
			      : open(from->file, O_RDONLY | O_CLOEXEC);
	if (fd < 0) /* the path is not echoed: it may be the value, given by mistake */
		return err_errno(e, ERR_USAGE, "cannot open the file of '--from-file'");
	if (slurp(fd, what, KIB(LIMIT_VALUE_KIB), out, e) < 0)
		return -1;
	if (is_stdin || from->trim)
		drop_newline(out);
	else
		from->newline_kept = out->n && out->data[out->n - 1] == '\n';
	return 0;
}

static int check_value(const struct secret *s, const char *what, bool for_header, struct err *e)
{
	if (!s->n)
		return err_set(e, ERR_USAGE, "the %s is empty", what);
	if (memchr(s->data, 0, s->n))
		return err_set(e, ERR_USAGE, "the %s holds a NUL byte", what);
	if (for_header && (memchr(s->data, '\n', s->n) || memchr(s->data, '\r', s->n))) {
		err_set(e, ERR_USAGE, "the %s holds a line break, which no header can carry", what);
		return err_hint(e, "add --trim if the file merely ends in a newline");
	}
	return 0;
}

bool secret_is_named(const struct secret_source *from)
{
	return from->file || from->fd >= 0;
}

int secret_input(struct secret_source *from, const char *what, bool for_header, struct secret *out,
	struct err *e)
{
	int r;
	if (from->file && from->fd >= 0)
		return err_set(e, ERR_USAGE, "give '--from-file' or '--from-fd', not both");
	if (from->file)
		r = from_file(from, what, out, e);
	else if (from->fd >= 0)
		r = prompt_from_fd(from->fd, "from-fd", KIB(LIMIT_VALUE_KIB), from->trim, out, e);
	else
		r = prompt_hidden(what, out, e);
	if (r == 0)
		r = check_value(out, what, for_header, e);
	if (r < 0)
		secret_free(out);
	return r;
}

/* The last four characters of 16 or more (code points, not bytes); none unless they are printable
 * ASCII. */
void secret_tail(char out[5], const struct secret *s)
{
	out[0] = '\0';
	if (text_chars(s->data, s->n) < 16)
		return;
	for (size_t i = s->n - 4; i < s->n; i++)
		if (s->data[i] <= 0x20 || s->data[i] >= 0x7f)
			return;
	memcpy(out, s->data + s->n - 4, 4);
	out[4] = '\0';
}
