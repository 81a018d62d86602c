#include "issuer/introspect.h"

#include "base/file.h"
#include "base/text.h"
#include "gate/upstream.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX ((size_t)65536)
#define ASK_MS 8000

const struct cage introspect_cage = {.name = "evctl-introspect",
	.readable = cage_name_service,
	.dials = true,
	.files = 256,
	.memory = (rlim_t)2 << 30};

struct introspect {
	int sock;
	struct buf text; /* what rules points into */
	struct issuer_rules rules;
	struct upstream *up;
	pthread_mutex_t writing;
};

/* One question, in a thread of its own. */
struct question {
	struct introspect *of;
	struct buf text;
	struct issuer_ask ask;
	struct buf form, answer;
	size_t sent;
	int status;
};

/* ---- judging --------------------------------------------------------------------------------- */

static bool is_for(const json_t *aud, const char *whom)
{
	const char *one = json_string_value(aud);
	if (!whom)
		return false;
	return one ? strcmp(one, whom) == 0 : json_is_array(aud) && json_array_has(aud, whom);
}

enum issuer_word introspect_judge(const json_t *answer, const struct issuer_rules *rules,
	const struct issuer_ask *ask, int64_t now, struct issuer_told *told)
{
	const json_t *exp = json_object_get(answer, "exp"), *iss = json_object_get(answer, "iss"),
		     *aud = json_object_get(answer, "aud"),
		     *claim = json_object_get(answer, rules->claim);
	if (!json_is_true(json_object_get(answer, "active")) || !json_is_integer(exp))
		return ISSUER_NO;
	if (iss && (!json_is_string(iss) || strcmp(json_string_value(iss), rules->issuer) != 0))
		return ISSUER_NO;
	if (!is_for(aud, ask->origin) && !is_for(aud, ask->resource))
		return ISSUER_NO;
	json_int_t s = json_integer_value(exp);
	if (s <= now / 1000 || s > INT64_MAX / 1000)
		return ISSUER_NO;
	size_t n = json_string_length(claim);
	if (!json_is_string(claim) || !n || n > ISSUER_SUBJECT_MAX ||
		strlen(json_string_value(claim)) != n)
		return ISSUER_NO;
	memcpy(told->subject, json_string_value(claim), n + 1);
	told->until = s * 1000;
	return ISSUER_YES;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static ssize_t give(void *arg, void *p, size_t n)
{
	struct question *q = arg;
	size_t left = q->form.len - q->sent;
	if (n > left)
		n = left;
	memcpy(p, q->form.data + q->sent, n);
	q->sent += n;
	return (ssize_t)n;
}

/* Introspecting twice does no harm. */
static bool again(void *arg)
{
	((struct question *)arg)->sent = 0;
	return true;
}

static int take_head(void *arg, const struct upstream_head *h)
{
	((struct question *)arg)->status = h->status;
	return 0;
}

static int take_body(void *arg, const void *p, size_t n)
{
	struct question *q = arg;
	buf_add(&q->answer, p, n);
	return buf_failed(&q->answer) ? -1 : 0;
}

static int wait_on(void *arg)
{
	(void)arg;
	return 0;
}

static enum http_peer still_there(void *arg)
{
	(void)arg;
	return HTTP_QUIET;
}

static void put_form(struct buf *b, const char *token)
{
	buf_adds(b, "token=");
	text_add_percent(b, token, strlen(token), "-._~");
	buf_adds(b, "&token_type_hint=access_token");
}

static enum issuer_word ask_server(struct question *q, struct issuer_told *told)
{
	const struct issuer_rules *r = &q->of->rules;
	BUF_AUTO authorization = {.secret = true};
	const char *why;
	buf_addf(&authorization, "Authorization: %s", r->authorization);
	put_form(&q->form, q->ask.token);
	const char *const fields[] = {"Content-Type: application/x-www-form-urlencoded",
		"Accept: application/json", buf_str(&authorization), NULL};
	const struct upstream_request request = {.host = r->host,
		.port = r->port,
		.tls = r->tls,
		.method = "POST",
		.target = r->target,
		.fields = fields,
		.length = (int64_t)q->form.len,
		.deadline = clock_mono_ms() + ASK_MS,
		.wait_fd = -1,
		.arg = q,
		.read = give,
		.rewind = again,
		.head = take_head,
		.body = take_body,
		.idle = wait_on,
		.client = still_there};
	struct err quiet = {0};
	if (upstream_run(q->of->up, &request, &why) != UPSTREAM_OK || q->status != 200)
		return ISSUER_SILENT;
	JSON_AUTO answer = json_parse("answer", buf_str(&q->answer), q->answer.len, &quiet);
	return json_is_object(answer) ? introspect_judge(answer, r, &q->ask, clock_real_ms(), told)
				      : ISSUER_SILENT;
}

static int say(struct introspect *in, const struct issuer_told *told)
{
	BUF_AUTO b = {.limit = ISSUER_MESSAGE_MAX};
	struct err quiet = {0};
	if (field_write(&b, &issuer_told_fields, told, &quiet) < 0)
		return -1;
	pthread_mutex_lock(&in->writing);
	int rc = frame_send(in->sock, b.data, b.len, NULL, 0, &quiet);
	pthread_mutex_unlock(&in->writing);
	return rc;
}

static void question_free(struct question *q)
{
	buf_free(&q->text);
	buf_free(&q->form);
	buf_free(&q->answer);
	free(q);
}

static void *answer_one(void *arg)
{
	struct question *q = arg;
	struct issuer_told told = {.id = q->ask.id};
	told.word = ask_server(q, &told);
	say(q->of, &told);
	question_free(q);
	return NULL;
}

/* Takes text over. */
static int begin(struct introspect *in, struct buf *text)
{
	pthread_t t;
	struct question *q = calloc(1, sizeof *q);
	if (!q)
		return -1;
	q->of = in;
	q->text = *text;
	*text = (struct buf){0};
	q->form.secret = true;
	q->answer.limit = ANSWER_MAX;
	if (field_read(&q->text, &issuer_ask_fields, &q->ask) < 0 ||
		pthread_create(&t, NULL, answer_one, q) != 0) {
		question_free(q);
		return -1;
	}
	pthread_detach(t);
	return 0;
}

int introspect_run(int control, struct err *e)
{
	static const struct route route = {.allow_private = true}; /* the operator has named it */
	struct introspect in = {
		.sock = control, .text = {.limit = ISSUER_MESSAGE_MAX, .secret = true}};
	if (frame_recv(control, &in.text, NULL, NULL, clock_mono_ms() + ASK_MS, e) != 1 ||
		field_read(&in.text, &issuer_rules_fields, &in.rules) < 0)
		return err_set(e, ERR_FAIL, "the monitor says no rules");
	if (cage_enter(&introspect_cage, e) < 0 || !(in.up = upstream_new(&route, e)))
		return -1;
	pthread_mutex_init(&in.writing, NULL);
	for (;;) {
		struct buf text = {.limit = ISSUER_MESSAGE_MAX, .secret = true};
		int got = frame_recv(control, &text, NULL, NULL, -1, e);
		int rc = got == 1 ? begin(&in, &text) : -1;
		buf_free(&text);
		if (got <= 0)
			return got;
		if (rc < 0)
			return err_set(e, ERR_FAIL, "the monitor makes no sense");
	}
}
