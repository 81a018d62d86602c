/* What keeper and callers say: there and back, and every message cut short or made longer. */
#include "run/wire.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

static const struct gate_row rows[] = {{.host = {"a.example", .port = 443}, .key = "K"},
	{.host = {"*.b.example", 8443, .plain = true, {true, "127.0.0.1:9", "PEM"}}}};
static struct call_key keys[] = {{.name = "K", .value = "va\0ue", .len = 5, .guard = true},
	{.name = "S",
		.value = "sealed-value",
		.len = 12,
		.standin = "standin-text",
		.guard = true}};
static const struct room_call call = {.call = {.entry_file = "m.py",
					      .entry_func = NULL,
					      .inputs = "{\"a\": 1}",
					      .ninputs = 8,
					      .timeout_ms = 1234,
					      .memory = (size_t)5 << 32},
	.policy = {.id = "rabc", .deadline_ms = 99, .rows = rows, .nrows = 2, .keys = {keys, 2}}};

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool call_is_right(const struct room_call *c)
{
	const struct sandbox_call *s = &c->call;
	const struct gate_policy *p = &c->policy;
	if (!same(s->entry_file, "m.py") || s->entry_func || s->ninputs != 8 ||
		memcmp(s->inputs, "{\"a\": 1}", 8) != 0 || s->timeout_ms != 1234 ||
		s->memory != (size_t)5 << 32 || !same(p->id, "rabc") || p->deadline_ms != 99 ||
		p->nrows != 2 || p->keys.n != 2 || s->keys.n != 0)
		return false;
	for (int i = 0; i < 2; i++) {
		const struct gate_row *a = &p->rows[i], *b = &rows[i];
		const struct call_key *k = &p->keys.v[i];
		if (!host_same(&a->host, &b->host) || !same(a->key, b->key))
			return false;
		if (k->len != keys[i].len || memcmp(k->value, keys[i].value, k->len) != 0 ||
			!same(k->name, keys[i].name) || !same(k->standin, keys[i].standin) ||
			k->guard != keys[i].guard)
			return false;
	}
	struct call_key open = call_key_for_code(&p->keys.v[0]),
			sealed = call_key_for_code(&p->keys.v[1]);
	return memcmp(open.value, "va\0ue", 5) == 0 && open.len == 5 &&
	       memcmp(sealed.value, "standin-text", 12) == 0 && sealed.len == 12 && !sealed.standin;
}

/* Its first n bytes, in memory that ends there, so that a sanitizer sees a step too far. */
static struct buf part_of(const struct buf *b, size_t n)
{
	struct buf part = {.data = malloc(n ? n : 1), .len = n};
	memcpy(part.data, b->data, n);
	return part;
}

/* How many that are cut short are taken. */
static size_t count_cuts(
	const struct buf *b, const struct fields *f, const void *empty, size_t size)
{
	size_t taken = 0;
	for (size_t n = 0; n < b->len; n++) {
		struct err bad = {0};
		struct buf part = part_of(b, n);
		char to[sizeof(struct room_reply)];
		memcpy(to, empty, size);
		if (wire_read(&part, f, to, &bad) == 0) {
			taken++;
			field_free(f, to);
		}
		free(part.data);
	}
	return taken;
}

static void test_call(struct tap *t)
{
	BUF_AUTO b = {0};
	const struct room_call none = {0};
	struct room_call c = {0};
	struct err e = {0};
	ok(t, field_write(&b, &wire_call, &call, &e) == 0, "a call is written");
	ok(t, wire_read(&b, &wire_call, &c, &e) == 0 && call_is_right(&c),
		"a call, there and back");
	field_free(&wire_call, &c);
	size_t taken = count_cuts(&b, &wire_call, &none, sizeof none);
	ok(t, taken == 0, "none that is cut short is taken (%zu)", taken);
	for (size_t i = 0; i < b.len; i++) {
		struct err bad = {0};
		struct buf copy = part_of(&b, b.len);
		copy.data[i] = (char)0xff;
		c = none;
		if (wire_read(&copy, &wire_call, &c, &bad) == 0)
			field_free(&wire_call, &c);
		free(copy.data);
	}
	ok(t, true, "bytes that are wrong do no harm");
}

static void test_reply(struct tap *t)
{
	struct net_event event = {.at = 7,
		.method = "GET",
		.host = "a",
		.path = "/",
		.port = 443,
		.status = 200,
		.up = 1,
		.down = 2,
		.ms = 3,
		.verdict = "allowed"};
	struct room_reply r = {.result = {.status = SANDBOX_LIMIT,
				       .limit = "memory",
				       .why = "why",
				       .ms = 5,
				       .start_ms = 4,
				       .scratch = 8,
				       .log_truncated = true},
		.report = {.events = &event, .n = 1, .summary = {.requests = 1, .down = 2}},
		.gate_lost = true,
		.bounds = "cgroup2",
		.ready_ms = 6};
	const struct room_reply none = {0};
	struct room_reply got = {0};
	BUF_AUTO b = {0};
	struct err e = {0};
	buf_adds(&r.result.log, "log");
	ok(t,
		field_write(&b, &wire_reply, &r, &e) == 0 &&
			wire_read(&b, &wire_reply, &got, &e) == 0 &&
			got.result.status == SANDBOX_LIMIT && same(got.result.limit, "memory") &&
			same(got.result.why, "why") && got.result.ms == 5 &&
			got.result.start_ms == 4 && got.result.scratch == 8 &&
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
	size_t taken = count_cuts(&b, &wire_reply, &none, sizeof none);
	ok(t, taken == 0, "none that is cut short is taken (%zu)", taken);
	buf_free(&r.result.log);
}

static void test_keys(struct tap *t)
{
	struct call_key k[2] = {
		{.name = "A", .value = "one", .len = 3, .guard = true}, {.name = "B"}};
	struct call_keys all = {.v = k, .n = 2}, got = {0};
	BUF_AUTO b = {0};
	struct err e = {0}, bad = {0};
	ok(t,
		field_write(&b, &wire_turn, &all, &e) == 0 &&
			wire_read(&b, &wire_turn, &got, &e) == 0 && got.n == 2 &&
			same(got.v[0].name, "A") && got.v[0].guard && got.v[0].len == 3 &&
			memcmp(got.v[0].value, "one", 3) == 0 && !got.v[1].guard &&
			got.v[1].len == 0,
		"keys, there and back");
	field_free(&wire_turn, &got);
	b.len--;
	ok(t, wire_read(&b, &wire_turn, &got, &bad) < 0 && got.n == 0 && !got.v, "cut short: none");
}

static void test_error(struct tap *t)
{
	struct err said = {.code = ERR_BUSY, .msg = "no", .hint = "wait"}, e = {0}, none = {0};
	BUF_AUTO b = {0};
	ok(t,
		field_write(&b, &wire_error, &said, &e) == 0 && wire_error_read(&b, &e) < 0 &&
			e.code == ERR_BUSY && same(e.msg, "no") && same(e.hint, "wait"),
		"an error, there and back");
	b.data[2] = 0; /* the code: none */
	ok(t, wire_error_read(&b, &none) < 0 && none.code == ERR_FAIL,
		"one without a code is one too");
}

int main(void)
{
	struct tap tap = {0};
	test_call(&tap);
	test_reply(&tap);
	test_keys(&tap);
	test_error(&tap);
	return tap_done(&tap);
}
