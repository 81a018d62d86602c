/* The supervisor's side: start, policy, events, and a gate that is gone. Runs the real
 * evctl-egress. */
#include "gate/client.h"
#include "../lib/tap.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int listener(uint16_t *port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof in;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(fd, (struct sockaddr *)&in, n) < 0 || listen(fd, 9) < 0 ||
		getsockname(fd, (struct sockaddr *)&in, &n) < 0)
		abort();
	*port = ntohs(in.sin_port);
	return fd;
}

/* Sends one plain request to the gate; the status, 0 if it was closed. */
static int ask(uint16_t port, const char *head)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char buf[4096] = "";
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int status = 0;
	if (connect(fd, (struct sockaddr *)&in, sizeof in) == 0 &&
		send(fd, head, strlen(head), MSG_NOSIGNAL) > 0 &&
		recv(fd, buf, sizeof buf - 1, 0) > 0)
		sscanf(buf, "HTTP/1.1 %d", &status);
	close(fd);
	return status;
}

static const char request[] = "GET /p?q HTTP/1.1\r\nHost: \"quoted\".example\r\n\r\n",
		  refused[] = "GET /p?q HTTP/1.1\r\nHost: no.x.example\r\n\r\n",
		  unreachable[] = "GET /p?q HTTP/1.1\r\nHost: api.x.example\r\n\r\n";

/* An event is written once its answer is out, so they may come in another order. */
static const struct net_event *with_verdict(const struct gate_report *r, const char *verdict)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->events[i].verdict, verdict))
			return &r->events[i];
	return NULL;
}

static void test_call(struct tap *t, struct gate *g, uint16_t port)
{
	struct err e = {0};
	struct gate_report r;
	const struct gate_row rows[] = {
		{.host = {"api.x.example", 443, false, {true, "127.0.0.1:1", NULL}}, .key = "K\"1"},
		{.host = {"*.w.example", 8443, .route.ca = "-----BEGIN\n\"\\\n"}}};
	struct call_key keys[] = {
		{.name = "K\"1", .value = "a\0b\xff-0123456789", .len = 15, .guard = true},
		{.name = "S",
			.value = "real-ABCDEF123456",
			.len = 17,
			.standin = "real-QWERTZ654321",
			.guard = true}};
	struct gate_policy p = {
		.id = "r\"1", .deadline_ms = 10000, .rows = rows, .nrows = 2, .keys = {keys, 2}};
	ok(t, ask(port, refused) == 0, "before the first call: closed");
	ok(t, gate_begin(g, &p, &e) == 0, "a call begins (%s)", e.msg);
	ok(t, ask(port, refused) == 403, "a host that is not attached: 403");
	ok(t, ask(port, request) == 400, "a malformed one: 400");
	ok(t, ask(port, unreachable) == 502, "one that is, but nobody listens there: 502");
	ok(t,
		gate_end(g, &r, &e) == 0 && r.n == 3 && r.summary.requests == 3 &&
			r.summary.refused == 2 && r.summary.failed == 1 && !r.summary.truncated,
		"it ends with three events (%s)", e.msg);
	if (r.n == 3) {
		const struct net_event *first = with_verdict(&r, "host"),
				       *second = with_verdict(&r, "bad-request");
		ok(t,
			first && !strcmp(first->host, "no.x.example") &&
				!strcmp(first->path, "/p") && !strcmp(first->method, "GET") &&
				first->status == 403 && first->port == 80 &&
				first->at > 1600000000000,
			"the first says what happened");
		ok(t, second && !strcmp(second->host, "") && with_verdict(&r, "unreachable"),
			"and so do the others");
	}
	gate_report_free(&r);
	ok(t, r.events == NULL && r.n == 0, "a report is freed");
	ok(t, ask(port, refused) == 0, "after it: closed");
	p.deadline_ms = 0;
	ok(t, gate_begin(g, &p, &e) < 0 && e.code == ERR_SANDBOX && strstr(e.msg, "policy"),
		"a malformed policy is refused");
	e = (struct err){0};
	p.deadline_ms = 10000;
	ok(t, gate_begin(g, &p, &e) == 0 && gate_end(g, &r, &e) == 0 && r.n == 0,
		"and the gate is none the worse for it");
	gate_report_free(&r);
}

/* A program that answers as a gate does, with an event of this path. */
static const char gate_script[] =
	"#!/usr/bin/python3 -I\n"
	"import socket, struct\n"
	"s = socket.socket(fileno=3)\n"
	"def get(): s.recv(struct.unpack('<I', s.recv(4, socket.MSG_WAITALL))[0], "
	"socket.MSG_WAITALL)\n"
	"def put(b): s.sendall(struct.pack('<I', len(b)) + b)\n"
	"def text(b): return struct.pack('<I', len(b)) + b + b'\\0'\n"
	"get(), put(b'Y\\1' + text(b'CA')), get(), put(b'K\\1'), get()\n"
	"put(b'V\\1' + bytes(48) + b'\\1\\0\\0\\0' + bytes(8) + text(b'GET') + text(b'x.example') +\n"
	"    text(b'%s') + bytes(40) + text(b'allowed') + bytes(8))\n";

/* 1 one event, 0 none, -1 the gate counts as gone. */
static int say_path(const char *path)
{
	char name[] = "/tmp/evctl-gate-XXXXXX";
	int fd = mkstemp(name), got = 0;
	struct gate *g = NULL;
	struct gate_report r = {0};
	struct err e = {0};
	const struct gate_policy p = {.id = "r", .deadline_ms = 10000};
	dprintf(fd, gate_script, path);
	fchmod(fd, 0700);
	close(fd);
	if (gate_start(&g, name, NULL, NULL, 0, -1, &e) == 0 && gate_begin(g, &p, &e) == 0)
		got = gate_end(g, &r, &e) == 0 ? (int)r.n : e.code == ERR_SANDBOX ? -1 : 0;
	gate_report_free(&r);
	gate_stop(&g);
	unlink(name);
	return got;
}

int main(void)
{
	struct tap t = {0};
	struct err e = {0};
	struct gate *g = NULL, *none = NULL;
	const char *bin = getenv("EVCTL_BIN"), *pem = NULL, *again = NULL;
	char path[4096];
	uint16_t port;
	uint16_t declared = 80;
	int fd = listener(&port);
	snprintf(path, sizeof path, "%s/evctl-egress", bin ? bin : "build/bin");
	if (access(path, X_OK) < 0) {
		printf("1..0 # SKIP %s is not built\n", path);
		return 0;
	}
	ok(&t, gate_start(&g, path, &fd, &declared, 1, -1, &e) == 0, "starts (%s)", e.msg);
	close(fd);
	ok(&t, g && gate_ca(g, &pem, &e) == 0 && strstr(pem, "BEGIN CERTIFICATE"), "has a CA (%s)",
		e.msg);
	ok(&t, g && gate_ca(g, &again, &e) == 0 && again == pem, "which stays");
	if (g)
		test_call(&t, g, port);
	gate_stop(&g);
	ok(&t, g == NULL && ask(port, refused) == 0, "stopped: nobody listens");
	gate_stop(&g);
	fd = listener(&port);
	if (gate_start(&none, "/nonexistent/evctl-egress", &fd, &declared, 1, -1, &e) == 0)
		ok(&t, gate_ca(none, &pem, &e) < 0 && e.code == ERR_SANDBOX,
			"no such program: told when asked");
	else
		ok(&t, e.code != ERR_NONE, "no such program: told at once");
	gate_stop(&none);
	e = (struct err){0};
	ok(&t,
		gate_start(&none, path, &fd, &declared, 999, -1, &e) < 0 && e.code == ERR_USAGE &&
			!none,
		"too many ports");
	close(fd);
	ok(&t, say_path("/p") == 1, "what a gate says that is text is taken");
	ok(&t, say_path("/\\xff") == -1, "what is not is not a gate's");
	return tap_done(&t);
}
