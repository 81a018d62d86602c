#include "front/run_call.h"

#include "base/file.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define OUT_MAX MB(2) /* a result and what is around it */
#define WHY_MAX KB(64)
#define TIME_MS MS(60) /* the call's 25 s, what waits for its turn, and what is around it */

void run_call_free(struct run_call *c)
{
	buf_free(&c->out);
	buf_free(&c->why);
}

/* -1 at the end, or when there is more than may be. */
static int take(int fd, struct buf *b, size_t max)
{
	char some[16384];
	ssize_t n = read(fd, some, sizeof some);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -1;
	if (b->len + (size_t)n <= max)
		buf_add(b, some, (size_t)n);
	return n == 0 ? -1 : 0;
}

/* -1 when all is given, or nobody takes it. */
static int give(int fd, const char **input, size_t *n)
{
	ssize_t done = *n ? write(fd, *input, *n) : 0;
	if (done < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -1;
	*input += done;
	*n -= (size_t)done;
	return *n ? 0 : -1;
}

int run_call(int fds[3], const char *input, size_t n, struct run_call *c)
{
	int64_t deadline = clock_mono_ms() + TIME_MS;
	c->out.secret = c->why.secret = false;
	while (fds[1] >= 0 || fds[2] >= 0) {
		struct pollfd w[3] = {{.fd = fds[0], .events = POLLOUT},
			{.fd = fds[1], .events = POLLIN}, {.fd = fds[2], .events = POLLIN}};
		int64_t left = deadline - clock_mono_ms();
		if (left <= 0)
			break;
		if (poll(w, 3, (int)left) < 0)
			continue;
		if (w[0].revents && give(fds[0], &input, &n) < 0)
			fd_close(&fds[0]);
		if (w[1].revents && take(fds[1], &c->out, OUT_MAX) < 0)
			fd_close(&fds[1]);
		if (w[2].revents && take(fds[2], &c->why, WHY_MAX) < 0)
			fd_close(&fds[2]);
	}
	bool whole = fds[1] < 0 && fds[2] < 0;
	for (size_t i = 0; i < 3; i++)
		fd_close(&fds[i]);
	return whole && (c->out.len || c->why.len) ? 0 : -1;
}

/* ---- what it comes to ------------------------------------------------------------------------ */

struct word_status {
	const char *word;
	int status;
};

static int status_of(const struct word_status *all, const char *word, int other)
{
	for (; all->word; all++)
		if (strcmp(all->word, word) == 0)
			return all->status;
	return other;
}

/* The last line that is an error. */
static json_t *error_of(const struct buf *why)
{
	const char *p = buf_str(why), *end = p + why->len;
	json_t *found = NULL;
	while (p < end) {
		struct err quiet = {0};
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((nl ? nl : end) - p);
		json_t *line = json_parse("error", p, n, &quiet);
		if (json_is_object(json_object_get(line, "error"))) {
			json_decref(found);
			found = json_incref(line);
		}
		json_decref(line);
		p += n + 1;
	}
	return found;
}

json_t *run_call_answer(const struct run_call *c, int *status)
{
	static const struct word_status ends[] = {{"ok", 200}, {"missing-key", 409}, {"quota", 429},
		{"failed", 502}, {"limit", 502}, {"timeout", 504}, {"cancelled", 502}, {NULL, 0}};
	static const struct word_status kinds[] = {{"usage", 422}, {"not-found", 404},
		{"missing-key", 409}, {"quota", 429}, {"denied", 403}, {"timeout", 504},
		{"busy", 429}, {NULL, 0}};
	struct err quiet = {0};
	json_t *envelope =
		c->out.len ? json_parse("run", buf_str(&c->out), c->out.len, &quiet) : NULL;
	if (json_is_object(envelope)) {
		*status = status_of(ends, json_text_of(envelope, "status"), 502);
		return envelope;
	}
	json_decref(envelope);
	JSON_AUTO said = error_of(&c->why);
	const json_t *error = json_object_get(said, "error");
	const char *kind = json_text_of(error, "kind");
	*status = status_of(kinds, kind, 503);
	/* What the buyer got wrong is told, what the door did is not. */
	bool theirs = *status == 422 || *status == 409 || *status == 429;
	return json_pack("{s:{s:s,s:s}}", "error", "kind", *status == 503 ? "unavailable" : kind,
		"message", theirs ? json_text_of(error, "message") : "nothing was run");
}

/* ---- a plain call ---------------------------------------------------------------------------- */

static void answer_call(struct visit *v, int fds[3], const struct buf *input)
{
	RUN_CALL_AUTO c = {0};
	int status;
	if (run_call(fds, buf_str(input), input->len, &c) < 0) {
		visit_refuse(v, 503, "unavailable", "nothing was run");
		return;
	}
	JSON_AUTO answer = run_call_answer(&c, &status);
	const struct http_header later = {"Retry-After", "60"};
	snprintf(
		v->run, sizeof v->run, "%.*s", (int)sizeof v->run - 1, json_text_of(answer, "run"));
	/* An envelope goes as it came: numbers and all. */
	if (v->run[0])
		visit_answer(v, status, "application/json", &later, status == 429, buf_str(&c.out),
			c.out.len);
	else
		visit_json(v, status, &later, status == 429, answer);
}

static void start_call(
	struct visit *v, const struct visitor *who, const char *tool, const struct buf *input)
{
	const struct door_start ask = {.id = front_link_number(v->f->link),
		.token = who->token_text,
		.expert = who->expert,
		.tool = tool};
	struct door_started got = {0};
	LINK_ANSWER_AUTO a = {0};
	if (front_link_ask(v->f->link, ask.id, &door_start_fields, &ask, &door_started_fields, &got,
		    &a) < 0 ||
		got.status == 503 || (got.status == 200 && a.nfds != 3)) {
		visit_answer(v, 503, "text/plain", &(struct http_header){"Retry-After", "10"}, 1,
			"busy\n", 5);
		return;
	}
	if (got.status != 200) {
		visit_refuse(v, got.status, got.status == 404 ? "not-found" : "denied",
			got.status == 404 ? "no such tool" : "not for this token");
		return;
	}
	a.nfds = 0;
	answer_call(v, a.fds, input);
}

void call_http(struct visit *v, const char *expert, const char *tool)
{
	struct visitor who;
	STR_AUTO token = NULL;
	BUF_AUTO input = {0};
	if (!visit_admit(v, expert, &token, &who))
		return;
	if (!http_request_is(v->r, "POST")) {
		visit_answer(v, 405, NULL, &(struct http_header){"Allow", "POST"}, 1, "", 0);
		return;
	}
	if (v->f->draining) {
		visit_refuse(v, 503, "busy", "the door is closing");
		return;
	}
	snprintf(v->method, sizeof v->method, "%s", tool);
	int status = visit_body(v, MB(LIMIT_INPUT_MB), &input);
	if (status == 0)
		start_call(v, &who, tool, &input);
	else if (status > 0)
		visit_refuse(v, status, "usage",
			status == 413 ? "the input is over " LIMIT_TEXT(LIMIT_INPUT_MB) " MB"
				      : "the body is malformed");
	explicit_bzero(token, strlen(token));
}
