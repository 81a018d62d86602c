/* What keeper and callers say: there and back, and every message cut short or made longer. */
#include "run/wire.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

static const struct gate_row rows[] = {
	{.host = "a.example", .port = 443, .is_default = true, .key = "K"},
	{.host = "*.b.example",
		.port = 8443,
		.plain = true,
		.allow_private = true,
		.connect_to = "127.0.0.1:9",
		.ca = "PEM"}};
static const struct gate_key keys[] = {{.name = "K", .value = "va\0ue", .len = 5, .guard = true},
	{.name = "S",
		.value = "sealed-value",
		.len = 12,
		.sealed = true,
		.standin = "standin-text",
		.guard = true}};
static const struct room_call call = {.call = {.entry_file = "m.py",
					      .entry_func = NULL,
					      .inputs = "{\"a\": 1}",
					      .ninputs = 8,
					      .timeout_ms = 1234,
					      .memory = (size_t)5 << 32},
	.policy = {.id = "rabc",
		.deadline_ms = 99,
		.rows = rows,
		.nrows = 2,
		.keys = keys,
		.nkeys = 2}};

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool call_is_right(const struct wire_call *c)
{
	const struct sandbox_call *s = &c->call.call;
	const struct gate_policy *p = &c->call.policy;
	if (!same(s->entry_file, "m.py") || s->entry_func || s->ninputs != 8 ||
		memcmp(s->inputs, "{\"a\": 1}", 8) != 0 || s->timeout_ms != 1234 ||
		s->memory != (size_t)5 << 32 || !same(p->id, "rabc") || p->deadline_ms != 99 ||
		p->nrows != 2 || p->nkeys != 2 || s->nkeys != 2)
		return false;
	for (int i = 0; i < 2; i++) {
		const struct gate_row *a = &p->rows[i], *b = &rows[i];
		if (!same(a->host, b->host) || a->port != b->port ||
			a->is_default != b->is_default || a->plain != b->plain ||
			a->allow_private != b->allow_private ||
			!same(a->connect_to, b->connect_to) || !same(a->ca, b->ca) ||
			!same(a->key, b->key))
			return false;
		if (p->keys[i].len != keys[i].len ||
			memcmp(p->keys[i].value, keys[i].value, keys[i].len) != 0 ||
			!same(p->keys[i].name, keys[i].name) ||
			p->keys[i].sealed != keys[i].sealed || p->keys[i].guard != keys[i].guard)
			return false;
	}
	return memcmp(s->keys[0].value, "va\0ue", 5) == 0 &&
	       memcmp(s->keys[1].value, "standin-text", 12) == 0;
}

static void test_call(struct tap *t)
{
	struct wire_out w = {0};
	struct wire_call c;
	struct err e = {0};
	wire_put_call(&w, &call);
	char *text = malloc(w.n);
	size_t n = w.n, taken = 0;
	w = (struct wire_out){.p = text};
	wire_put_call(&w, &call);
	ok(t, w.n == n, "counting and writing agree");
	struct wire_in in = {.p = text, .left = n};
	ok(t, wire_get_call(&in, &c, &e) == 0 && call_is_right(&c) && in.left == 0,
		"a call, there and back");
	wire_call_free(&c);
	for (size_t cut = 0; cut < n; cut++) {
		struct err bad = {0};
		char *part = malloc(cut + 1); /* so that a sanitizer sees a step too far */
		memcpy(part, text, cut);
		in = (struct wire_in){.p = part, .left = cut};
		if (wire_get_call(&in, &c, &bad) == 0) {
			taken++;
			wire_call_free(&c);
		}
		free(part);
	}
	ok(t, taken == 0, "none that is cut short is taken (%zu)", taken);
	for (size_t i = 0; i < n; i++) {
		struct err bad = {0};
		char *copy = malloc(n);
		memcpy(copy, text, n);
		copy[i] = (char)0xff;
		in = (struct wire_in){.p = copy, .left = n};
		if (wire_get_call(&in, &c, &bad) == 0)
			wire_call_free(&c);
		free(copy);
	}
	ok(t, true, "bytes that are wrong do no harm");
	free(text);
}

static void test_reply(struct tap *t)
{
	struct gate_event event = {.at = 7,
		.method = (char *)"GET",
		.host = (char *)"a",
		.path = (char *)"/",
		.port = 443,
		.status = 200,
		.up = 1,
		.down = 2,
		.ms = 3,
		.verdict = (char *)"allowed"};
	struct room_reply r = {.result = {.status = SANDBOX_LIMIT,
				       .limit = "memory",
				       .why = "why",
				       .ms = 5,
				       .start_ms = 4,
				       .log_truncated = true},
		.report = {.events = &event, .n = 1, .summary = {.requests = 1, .down = 2}},
		.gate_lost = true,
		.bounds = "cgroup2",
		.ready_ms = 6};
	struct room_reply got = {0};
	struct wire_out w = {0};
	struct err e = {0};
	buf_adds(&r.result.log, "log");
	wire_put_reply(&w, &r);
	char *text = malloc(w.n);
	w = (struct wire_out){.p = text};
	wire_put_reply(&w, &r);
	struct wire_in in = {.p = text, .left = w.n};
	ok(t,
		wire_get_reply(&in, &got, &e) == 0 && got.result.status == SANDBOX_LIMIT &&
			same(got.result.limit, "memory") && same(got.result.why, "why") &&
			got.result.ms == 5 && got.result.start_ms == 4 &&
			got.result.log_truncated && same(buf_str(&got.result.log), "log") &&
			got.result.result.len == 0 && got.gate_lost &&
			same(got.bounds, "cgroup2") && got.ready_ms == 6,
		"a reply, there and back");
	ok(t,
		got.report.n == 1 && got.report.summary.requests == 1 &&
			got.report.summary.down == 2 && got.report.events[0].at == 7 &&
			same(got.report.events[0].verdict, "allowed") &&
			got.report.events[0].down == 2 && got.report.events[0].port == 443,
		"with its events");
	room_reply_free(&got);
	size_t n = w.n, taken = 0;
	for (size_t cut = 0; cut < n; cut++) {
		struct err bad = {0};
		in = (struct wire_in){.p = text, .left = cut};
		got = (struct room_reply){0};
		taken += wire_get_reply(&in, &got, &bad) == 0;
		room_reply_free(&got);
	}
	ok(t, taken == 0, "none that is cut short is taken (%zu)", taken);
	buf_free(&r.result.log);
	free(text);
}

static void test_keys(struct tap *t)
{
	struct call_key k[2] = {{.name = "A", .guard = true}, {.name = "B"}};
	struct call_keys all = {.v = k, .n = 2}, got;
	struct wire_out w = {0};
	struct err e = {0};
	secret_set(&k[0].value, "one", 3, &e);
	secret_set(&k[1].value, "", 0, &e);
	wire_put_keys(&w, &all);
	char *text = malloc(w.n);
	w = (struct wire_out){.p = text};
	wire_put_keys(&w, &all);
	struct wire_in in = {.p = text, .left = w.n};
	ok(t,
		wire_get_keys(&in, &got, &e) == 0 && got.n == 2 && same(got.v[0].name, "A") &&
			got.v[0].guard && got.v[0].value.n == 3 &&
			memcmp(got.v[0].value.data, "one", 3) == 0 && !got.v[1].guard &&
			got.v[1].value.n == 0,
		"keys, there and back");
	call_keys_free(&got);
	struct err bad = {0};
	in = (struct wire_in){.p = text, .left = w.n - 1};
	ok(t, wire_get_keys(&in, &got, &bad) < 0 && got.n == 0 && !got.v, "cut short: none");
	secret_free(&k[0].value);
	secret_free(&k[1].value);
	free(text);
}

int main(void)
{
	struct tap tap = {0};
	test_call(&tap);
	test_reply(&tap);
	test_keys(&tap);
	return tap_done(&tap);
}
