#include "run/asked.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Whether a schema says of a member that it may be text; nothing said is not text. */
static bool may_be_text(const json_t *type)
{
	size_t i;
	json_t *one;
	if (json_is_string(type))
		return strcmp(json_string_value(type), "string") == 0;
	json_array_foreach (type, i, one)
		if (may_be_text(one))
			return true;
	return false;
}

static json_t *arg_value(
	const struct manifest_tool *t, const char *key, const char *text, struct err *e)
{
	const json_t *props = t && t->input ? json_object_get(t->input, "properties") : NULL;
	const json_t *type = json_object_get(json_object_get(props, key), "type");
	struct err bad = {0};
	json_t *v = may_be_text(type) ? NULL : json_parse(key, text, strlen(text), &bad);
	if (v || !type || may_be_text(type))
		return v ? v : json_text_or_null(text);
	err_set(e, ERR_USAGE, "'--arg %s=...' is not JSON: %s", key, bad.msg);
	err_hint(e, "text is taken as it is only where the tool's schema says string");
	return NULL;
}

static int add_arg(json_t *o, const struct manifest_tool *t, const char *given, struct err *e)
{
	size_t n = strcspn(given, "=");
	STR_AUTO key = strndup(given, n);
	if (!key)
		return err_set(e, ERR_FAIL, "out of memory");
	if (!given[n] || !n) {
		err_set(e, ERR_USAGE, "'--arg' takes NAME=VALUE");
		return err_hint(e, "evctl-run E TOOL --arg month=2026-01");
	}
	if (json_object_get(o, key))
		return err_set(e, ERR_USAGE, "'--arg %s=...' is given twice", key);
	json_t *v = arg_value(t, key, given + n + 1, e);
	if (!v)
		return -1;
	if (json_object_set_new(o, key, v) == 0)
		return 0;
	return err_set(e, ERR_USAGE, "'--arg' has a name that is not UTF-8");
}

int asked_args(
	const struct manifest_tool *t, const struct strv *given, struct buf *b, struct err *e)
{
	JSON_AUTO all = json_object();
	for (size_t i = 0; i < given->n; i++)
		if (add_arg(all, t, given->v[i], e) < 0)
			return -1;
	json_to_buf(all, b);
	return 0;
}

int asked_call(json_t *call, struct run_request *rq, struct buf *input, struct err *e)
{
	const char *key;
	json_t *value;
	json_object_foreach (call, key, value) {
		if (strcmp(key, "tool") != 0 && strcmp(key, "input") != 0)
			return err_set(e, ERR_USAGE, "call: unknown member '%.60s'", key);
	}
	rq->tool = json_string_value(json_object_get(call, "tool"));
	if (!rq->tool)
		return err_set(e, ERR_USAGE, "call: no tool is named");
	value = json_object_get(call, "input");
	if (!value)
		return 0;
	json_to_buf(value, input);
	rq->input = buf_str(input);
	rq->ninput = input->len;
	return 0;
}

int asked_line(const char *line, size_t n, json_t **call, struct run_request *rq, struct buf *input,
	struct err *e)
{
	*call = json_parse("call", line, n, e);
	if (*call && asked_call(*call, rq, input, e) == 0)
		return 0;
	return err_hint(e, "a call is one line: {\"tool\": \"NAME\", \"input\": {...}}");
}

int asked_code(const struct run_outcome *o)
{
	return o->cancelled ? ERR_CANCELLED : run_exit_code(o->status);
}

int asked_failure(const struct run_outcome *o, const char *buyer, struct err *e)
{
	if (o->status == RUN_OK)
		return 0;
	STR_AUTO names = o->missing.n ? strv_join(&o->missing, ", ") : NULL;
	err_set(e, (enum err_code)asked_code(o), "run %s: %s%s%s", o->id,
		o->signal == SIGINT ? "interrupted" : run_status_word(o->status), names ? ": " : "",
		names ? names : "");
	if (o->missing.n)
		return err_hint(e, "evctl-cred supply %s --expert %s --buyer %s", o->missing.v[0],
			o->expert, o->version && buyer ? buyer : "builder");
	return buyer ? -1 : err_hint(e, "evctl-log show %s", o->id);
}
