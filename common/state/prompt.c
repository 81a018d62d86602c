#include "state/prompt.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/text.h"
#include "state/paste.h"
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
#define PASTE_MS 50	  /* that the pieces of a paste may be apart */

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

static int too_long(struct err *e)
{
	err_set(e, ERR_USAGE, "too long for a terminal, which drops what is past %d bytes",
		LINE_MAX_TTY);
	return err_hint(e, "give --from-file FILE, --from-file - or --from-fd N");
}

/* Reads a line into to, by bytes: no buffering library ever holds it. *ended: it has no newline,
 * for the terminal said that this is the end. */
static int read_line(int fd, int signals, char *to, size_t *n, bool *ended, struct err *e)
{
	char c;
	*n = 0;
	for (*ended = false;;) {
		if (wait_input(fd, signals, e) < 0)
			return -1;
		ssize_t got = read(fd, &c, 1);
		if (got < 0 && errno == EINTR)
			continue;
		*ended = got <= 0;
		if (*ended || c == '\n')
			break;
		if (*n < LINE_MAX_TTY)
			to[(*n)++] = c;
	}
	c = 0;
	return *n == LINE_MAX_TTY ? too_long(e) : 0;
}

/* Is there more on the terminal, or within the moment that the rest of a paste takes? */
static bool more_waits(int fd)
{
	struct pollfd on = {fd, POLLIN, 0};
	return poll(&on, 1, PASTE_MS) > 0 && (on.revents & POLLIN);
}

static int check_whole(const struct paste *p, struct err *e)
{
	if (!paste_fault(p))
		return 0;
	err_set(e, ERR_USAGE, "what was pasted breaks off: %s is missing", paste_fault(p));
	return err_hint(e, "give --from-file FILE, or --from-file - and the lines");
}

/* The lines of a value, joined; the one line of anything else. */
static int read_lines(
	int fd, int signals, struct secret *out, struct prompt_seen *seen, struct err *e)
{
	const size_t most = seen ? KIB(LIMIT_VALUE_KIB) : LINE_MAX_TTY;
	struct paste shape = {0};
	size_t at = 0, n, lines = 0;
	bool ended = false, on = true;
	if (secret_alloc(out, most + LINE_MAX_TTY + 1, e) < 0)
		return -1;
	while (on && !ended) {
		if (read_line(fd, signals, out->data + at + (lines > 0), &n, &ended, e) < 0)
			return -1;
		if (ended && n == 0)
			break;
		on = seen && paste_goes_on(&shape, out->data + at + (lines > 0), n);
		if (n == 0 && !on && seen)
			on = paste_open(&shape) && more_waits(fd);
		if (n == 0 && !on)
			break;
		if (lines++)
			out->data[at++] = '\n';
		at += n;
		if (at > most)
			return err_set(e, ERR_USAGE, "the value is longer than %zu bytes", most);
		if (on && lines == 1)
			dprintf(STDERR_FILENO, "\n(an empty line or Ctrl-D ends it) ");
	}
	if (ended && !lines)
		return err_set(e, ERR_CANCELLED, "cancelled");
	secret_truncate(out, at);
	if (!seen)
		return 0;
	*seen = (struct prompt_seen){.lines = lines, .dropped = !ended && more_waits(fd)};
	return check_whole(&shape, e);
}

/* Asks with the echo off, and with the terminal as it was when this returns. */
static int ask(const char *what, const struct termios *old, int signals, struct secret *out,
	struct prompt_seen *seen, struct err *e)
{
	struct termios quiet = *old;
	quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
	quiet.c_lflag |= ICANON | ISIG;
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
	dprintf(STDERR_FILENO, "%s (hidden): ", what);
	int r = read_lines(STDIN_FILENO, signals, out, seen, e);
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

int prompt_hidden(const char *what, struct secret *out, struct prompt_seen *seen, struct err *e)
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
		r = ask(what, &old, signals, out, seen, e);
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

static int slurp_fd(int fd, const char *option, size_t max, struct secret *out, struct err *e)
{
	if (fcntl(fd, F_GETFD) < 0) {
		err_set(e, ERR_USAGE, "descriptor %d of '--%s' is not open", fd, option);
		return err_hint(e, "in bash: --%s 3 3< FILE", option);
	}
	return slurp(fd, "value", max, out, e);
}

int prompt_from_fd(int fd, const char *option, size_t max, struct secret *out, struct err *e)
{
	if (slurp_fd(fd, option, max, out, e) < 0)
		return -1;
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
	if (is_stdin)
		drop_newline(out);
	return 0;
}

/* Drops what is around it, or remembers it, to be told. */
static void look_around(struct secret_source *from, struct secret *s)
{
	struct paste_around a;
	paste_around(s->data, s->n, &a);
	if (from->trim && a.blank)
		secret_truncate(s, 0);
	else if (from->trim) {
		secret_truncate(s, s->n - a.after);
		memmove(s->data, s->data + a.before, s->n - a.before);
		secret_truncate(s, s->n - a.before);
	} else
		from->around = a;
}

static int check_value(const struct secret *s, const char *what, bool for_header, struct err *e)
{
	if (!s->n)
		return err_set(e, ERR_USAGE, "the %s is empty", what);
	if (memchr(s->data, 0, s->n)) {
		err_set(e, ERR_USAGE, "the %s holds a NUL byte", what);
		bool wide = s->n > 1 && (memcmp(s->data, "\xff\xfe", 2) == 0 ||
						memcmp(s->data, "\xfe\xff", 2) == 0);
		return wide ? err_hint(e, "it is UTF-16: iconv -f UTF-16 -t UTF-8 FILE, by "
					  "--from-file -")
			    : -1;
	}
	if (for_header && (memchr(s->data, '\n', s->n) || memchr(s->data, '\r', s->n))) {
		err_set(e, ERR_USAGE, "the %s holds a line break, which no header can carry", what);
		return err_hint(e, "add --trim if it merely ends in a newline");
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
		r = slurp_fd(from->fd, "from-fd", KIB(LIMIT_VALUE_KIB), out, e);
	else
		r = prompt_hidden(what, out, &from->seen, e);
	if (r == 0)
		look_around(from, out);
	if (r == 0)
		r = check_value(out, what, for_header, e);
	if (r < 0)
		secret_free(out);
	return r;
}

void secret_hint(struct buf *out, const struct secret *s)
{
	char tail[5];
	secret_tail(tail, s);
	buf_addf(out, SECRET_MASK "%s", tail);
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
