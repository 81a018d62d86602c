#include "state/run_text.h"

#include <stdarg.h>
#include <string.h>

static long long number_of(const json_t *o, const char *key)
{
	return (long long)json_integer_value(json_object_get(o, key));
}

static void line(struct buf *b, const char *title, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void line(struct buf *b, const char *title, const char *fmt, ...)
{
	va_list ap;
	buf_addf(b, "%-10s ", title);
	va_start(ap, fmt);
	buf_vaddf(b, fmt, ap);
	va_end(ap);
	buf_addc(b, '\n');
}

static void add_head(struct buf *b, const json_t *run)
{
	const json_t *v = json_object_get(run, "version");
	line(b, "run", "%s", json_text_of(run, "run"));
	if (json_is_integer(v))
		line(b, "expert", "%s, version %lld", json_text_of(run, "expert"),
			(long long)json_integer_value(v));
	else
		line(b, "expert", "%s, its draft", json_text_of(run, "expert"));
	line(b, "tool", "%s", json_text_of(run, "tool"));
	line(b, "for", "%s",
		json_text_of(run, "buyer")[0] ? json_text_of(run, "buyer") : "the builder");
	if (json_text_of(run, "session")[0])
		line(b, "session", "%s", json_text_of(run, "session"));
	line(b, "status", "%s%s%s", json_text_of(run, "status"),
		json_text_of(run, "reason")[0] ? ": " : "", json_text_of(run, "reason"));
	line(b, "started", "%s", json_text_of(run, "started"));
	line(b, "ended", "%s", json_text_of(run, "ended"));
}

static void add_detail(struct buf *b, const json_t *d)
{
	const json_t *limits = json_object_get(d, "limits"), *ph = json_object_get(d, "phases");
	const json_t *out = json_object_get(d, "egress");
	if (limits)
		line(b, "limits", "%lld ms, %lld bytes of memory (by %s)%s%s",
			number_of(limits, "timeout_ms"), number_of(limits, "memory"),
			json_text_of(limits, "bounds"),
			json_text_of(d, "limit")[0] ? "; hit: " : "", json_text_of(d, "limit"));
	if (ph)
		line(b, "time",
			"%lld ms to open, %lld for the gate, %lld to start, %lld in the tool, "
			"%lld to collect",
			number_of(ph, "open"), number_of(ph, "gate"), number_of(ph, "start"),
			number_of(ph, "tool"), number_of(ph, "collect"));
	if (out)
		line(b, "egress",
			"%lld requests, %lld refused, %lld failed, %lld bytes up, %lld down",
			number_of(out, "requests"), number_of(out, "refused"),
			number_of(out, "failed"), number_of(out, "up"), number_of(out, "down"));
	size_t i;
	json_t *leak;
	json_array_foreach (json_object_get(d, "leaks"), i, leak) {
		line(b, "leak", "%s", json_string_value(leak));
	}
}

static void add_lists(struct buf *b, const json_t *run)
{
	size_t i;
	json_t *row;
	json_array_foreach (json_object_get(run, "egress"), i, row) {
		if (number_of(row, "counted"))
			line(b, "requests", "%lld more like %s %s:%lld%s, %s",
				number_of(row, "counted"), json_text_of(row, "method"),
				json_text_of(row, "host"), number_of(row, "port"),
				json_text_of(row, "path"), json_text_of(row, "verdict"));
		else
			line(b, "request", "%s %s:%lld%s -> %lld %s", json_text_of(row, "method"),
				json_text_of(row, "host"), number_of(row, "port"),
				json_text_of(row, "path"), number_of(row, "status"),
				json_text_of(row, "verdict"));
	}
	json_array_foreach (json_object_get(run, "artifacts"), i, row) {
		line(b, "artifact", "%s (%lld bytes, %s)", json_text_of(row, "name"),
			number_of(row, "bytes"), json_text_of(row, "type"));
	}
	json_array_foreach (json_object_get(run, "withheld"), i, row) {
		line(b, "withheld", "%s: %s", json_text_of(row, "name"), json_text_of(row, "why"));
	}
}

/* A request that a command would let through: the host, why not, and what to run. */
static bool mend_request(const json_t *row, struct buf *note)
{
	static const struct {
		const char *verdict, *why, *command, *rest;
	} mends[] = {
		{"address", "leads to a private or local address; if it is meant to",
			"evctl-host set", " --allow-private yes"},
		{"certificate",
			"shows a certificate that is not trusted; if it has a CA of its own",
			"evctl-host set", " --ca-file PEM"},
		{"plain", "was to get its key over plain HTTP; ask by https, or", "evctl-host set",
			" --plain yes"},
		{"leak", "was to get a key that is not bound to it; if it is meant to",
			"evctl-bind set", " CRED"},
		{"unreachable", "cannot be reached; what is declared", "evctl-host show", ""},
		{"tls", "does not speak TLS there; what is declared", "evctl-host show", ""},
	};
	const char *host = json_text_of(row, "host"), *verdict = json_text_of(row, "verdict");
	for (size_t i = 0; i < sizeof mends / sizeof mends[0]; i++) {
		if (strcmp(verdict, mends[i].verdict) != 0)
			continue;
		buf_addf(note, "%s %s: %s %s%s", host, mends[i].why, mends[i].command, host,
			mends[i].rest);
		return true;
	}
	if (number_of(row, "status") != 401)
		return false;
	buf_addf(note, "%s itself answered 401; which key it gets: evctl-host show %s", host, host);
	return true;
}

#define NAMED_MOST 5
/* What the cell writes to the log of a name that it could not resolve (share/cell/amend.py). */
static const char unnamed[] = "evctl: no attached host has the name '";

static void add_uncovered(json_t *hosts, const char *name, size_t n)
{
	static const char set[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_:";
	char host[260];
	if (!n || n >= sizeof host)
		return;
	memcpy(host, name, n);
	host[n] = '\0';
	if (host[strspn(host, set)] == '\0' && !json_array_has(hosts, host))
		json_array_append_new(hosts, json_string(host));
}

/* Hosts that the code asked for, and that nothing attached covers. */
static json_t *uncovered(const json_t *run)
{
	json_t *hosts = json_array(), *row;
	size_t i;
	json_array_foreach (json_object_get(run, "egress"), i, row) {
		BUF_AUTO host = {0};
		long long port = number_of(row, "port");
		if (strcmp(json_text_of(row, "verdict"), "host") != 0)
			continue;
		buf_addf(&host, "%s", json_text_of(row, "host"));
		if (port != 443 && port != 80)
			buf_addf(&host, ":%lld", port);
		add_uncovered(hosts, buf_str(&host), host.len);
	}
	for (const char *at = json_text_of(run, "log"); (at = strstr(at, unnamed)); at++) {
		const char *name = at + sizeof unnamed - 1;
		add_uncovered(hosts, name, strcspn(name, "'\n"));
	}
	return hosts;
}

/* False where there is none. */
static bool mend_hosts(const json_t *run, struct buf *note)
{
	JSON_AUTO hosts = uncovered(run);
	const char *expert = json_text_of(run, "expert");
	size_t n = json_array_size(hosts);
	for (size_t i = 0; i < n && i < NAMED_MOST; i++) {
		const char *host = json_string_value(json_array_get(hosts, i));
		buf_addf(note,
			"%sno attached host covers %s: evctl-host add --if-missing %s && "
			"evctl-expert attach %s %s",
			i ? "; " : "", host, host, expert, host);
	}
	if (n > NAMED_MOST)
		buf_addf(note, "; nor %zu more", n - NAMED_MOST);
	return n > 0;
}

/* What a failed tool's log shows of the walls that code runs into. */
static void mend_log(const json_t *run, struct buf *note)
{
	static const struct {
		const char *seen, *note;
	} walls[] = {
		{"Name or service not known",
			"only attached hosts have names inside: evctl-expert attach EXPERT HOST"},
		{"Temporary failure in name resolution",
			"only attached hosts have names inside: evctl-expert attach EXPERT HOST"},
		{"Connection refused", "inside there are ports 80, 443 and those of attached "
				       "hosts: evctl-host add HOST:PORT"},
		{"No module named", "what the expert must bring: evctl-verify EXPERT"},
		{"Read-only file system", "files to keep go under outputs/, others into the "
					  "current directory: man expert.yaml"},
	};
	const char *log = json_text_of(run, "log");
	for (size_t i = 0; i < sizeof walls / sizeof walls[0]; i++) {
		if (!strstr(log, walls[i].seen))
			continue;
		buf_adds(note, walls[i].note);
		return;
	}
}

void run_text(const json_t *run, struct buf *b)
{
	const char *log = json_text_of(run, "log");
	size_t n = json_string_length(json_object_get(run, "log"));
	add_head(b, run);
	add_detail(b, json_object_get(run, "detail"));
	add_lists(b, run);
	if (!n)
		return;
	buf_adds(b, "log\n");
	buf_add(b, log, n);
	if (log[n - 1] != '\n')
		buf_addc(b, '\n');
}

void run_mend(const json_t *run, struct buf *note)
{
	size_t i;
	json_t *row;
	if (mend_hosts(run, note) || strcmp(json_text_of(run, "status"), "failed") != 0)
		return;
	json_array_foreach (json_object_get(run, "egress"), i, row) {
		if (mend_request(row, note))
			return;
	}
	mend_log(run, note);
}
