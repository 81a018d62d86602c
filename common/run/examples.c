#include "run/examples.h"

#include "base/text.h"
#include "manifest/schema_value.h"
#include "run/asked.h"

#include <stdlib.h>
#include <string.h>

#define SAME_STEPS 10000000L /* a result has at most 1 MB */
#define SHOWN_MAX 2000	     /* bytes of a result in a report */

/* ---- one example --------------------------------------------------------------------------- */

/* What a result is to be held against: a value, or of a script its text without the last newline.
 */
static json_t *result_of(const struct run_outcome *o)
{
	struct err none = {0};
	size_t n = o->result.len;
	if (o->is_json)
		return json_parse("result", buf_str(&o->result), n, &none);
	while (n && o->result.data[n - 1] == '\n')
		n--;
	return json_text(buf_str(&o->result), n);
}

static bool same(const json_t *a, const json_t *b)
{
	long steps = SAME_STEPS;
	return value_same(a, b, &steps) == 1;
}

/* A script's output is text, which may be JSON that was meant. */
static bool is_as_said(const json_t *said, const struct run_outcome *o)
{
	struct err none = {0};
	JSON_AUTO got = o->has_result ? result_of(o) : NULL;
	if (!got)
		return false;
	if (same(said, got))
		return true;
	if (o->is_json || json_is_string(said))
		return false;
	JSON_AUTO parsed = json_parse("result", buf_str(&o->result), o->result.len, &none);
	return parsed && same(said, parsed);
}

static void say(json_t *why, const char *what, const json_t *v)
{
	BUF_AUTO text = {0};
	buf_addf(&text, "%s ", what);
	size_t start = text.len;
	if (v)
		json_to_buf(v, &text);
	else
		buf_adds(&text, "nothing");
	bool cut = text.len - start > SHOWN_MAX;
	json_array_append_new(why, json_sprintf("%.*s%s", (int)(cut ? start + SHOWN_MAX : text.len),
					   buf_str(&text), cut ? "..." : ""));
}

static void judge(json_t *result, const json_t *example, const struct run_outcome *o)
{
	json_t *why = json_object_get(result, "why");
	int code = asked_code(o), expected = (int)json_int_of(example, "exit");
	const json_t *said = json_object_get(example, "output");
	json_object_set_new(result, "run", json_string(o->id));
	json_object_set_new(result, "ms", json_integer(o->ms));
	json_object_set_new(result, "exit", json_integer(code));
	if (code != expected)
		json_array_append_new(why, json_sprintf("exit %d, expected %d (evctl-log show %s)",
						   code, expected, o->id));
	if (!said || (code && code != expected) || is_as_said(said, o))
		return;
	JSON_AUTO got = o->has_result ? result_of(o) : NULL;
	say(why, "output", got);
	say(why, "expected", said);
}

/* No run came of it: an input that does not fit, say. */
static void judge_refusal(json_t *result, const json_t *example, const struct err *e)
{
	int expected = (int)json_int_of(example, "exit"), code = ERR_EXIT_CODE(e->code);
	json_object_set_new(result, "exit", json_integer(code));
	if (code != expected)
		json_array_append_new(json_object_get(result, "why"),
			json_sprintf("exit %d, expected %d: %s", code, expected, e->msg));
}

/* What says nothing of the example: there is no use in trying the next. */
static bool ends_all(enum err_code code)
{
	return code != ERR_USAGE && code != ERR_MISSING_KEY && code != ERR_FINDINGS;
}

static int try_example(struct runner *r, const char *tool, const json_t *example,
	const struct run_hooks *hooks, json_t *result, struct err *e)
{
	RUN_OUTCOME_AUTO out = {0};
	BUF_AUTO input = {0};
	struct err no = {0};
	json_to_buf(json_object_get(example, "input"), &input);
	struct run_request rq = {.tool = tool,
		.input = buf_str(&input),
		.ninput = input.len,
		.hooks = *hooks,
		.signals = true};
	if (runner_call(r, &rq, &out, &no) == 0)
		judge(result, example, &out);
	else if (ends_all(no.code)) {
		*e = no;
		return -1;
	} else
		judge_refusal(result, example, &no);
	json_object_set_new(
		result, "ok", json_boolean(json_array_size(json_object_get(result, "why")) == 0));
	return out.cancelled ? err_set(e, ERR_CANCELLED, "cancelled") : 0;
}

static int try_tool(struct runner *r, const struct manifest_tool *t, const struct run_hooks *hooks,
	json_t *results, struct err *e)
{
	size_t i;
	json_t *example;
	json_array_foreach (t->examples, i, example) {
		json_t *result = json_pack("{s:s,s:i,s:b,s:n,s:n,s:i,s:i,s:[],s:O}", "tool",
			t->name, "example", (int)i + 1, "ok", 0, "run", "exit", "expected",
			(int)json_int_of(example, "exit"), "ms", 0, "why", "input",
			json_object_get(example, "input"));
		if (!result || json_array_append_new(results, result) < 0)
			return err_set(e, ERR_FAIL, "out of memory");
		if (try_example(r, t->name, example, hooks, result, e) < 0)
			return -1;
	}
	return 0;
}

static json_t *no_examples(const struct expert_view *v, const char *tool, struct err *e)
{
	if (tool)
		err_set(e, ERR_NOTFOUND, "tool '%s' of '%s' has no examples", tool, v->name);
	else
		err_set(e, ERR_NOTFOUND, "'%s' has no examples", v->name);
	err_hint(e, "give a tool in expert.yaml some: examples: [{input: {...}, output: ...}]");
	return NULL;
}

json_t *examples_run(
	struct runner *r, const char *tool, const struct run_hooks *hooks, struct err *e)
{
	const struct expert_view *v = runner_view(r);
	struct run_request asked = {.tool = tool, .input = "{}", .ninput = 2};
	JSON_AUTO results = json_array();
	if (tool && !manifest_tool(&v->m, tool)) {
		run_check(v, &asked, e);
		return NULL;
	}
	for (size_t i = 0; i < v->m.ntools; i++) {
		const struct manifest_tool *t = &v->m.tools[i];
		if ((!tool || strcmp(t->name, tool) == 0) && try_tool(r, t, hooks, results, e) < 0)
			return NULL;
	}
	return json_array_size(results) ? json_incref(results) : no_examples(v, tool, e);
}

/* ---- reports ------------------------------------------------------------------------------- */

static bool passed(const json_t *one)
{
	return json_is_true(json_object_get(one, "ok"));
}

size_t examples_failed(const json_t *results)
{
	size_t i, n = 0;
	json_t *one;
	json_array_foreach (results, i, one)
		n += !passed(one);
	return n;
}

int examples_refuse(const json_t *results, const char *expert, struct err *e)
{
	size_t i;
	json_t *one;
	json_array_foreach (results, i, one) {
		if (passed(one))
			continue;
		err_set(e, ERR_FINDINGS, "%zu of %zu examples fail, the first: %s %d: %s",
			examples_failed(results), json_array_size(results),
			json_text_of(one, "tool"), (int)json_int_of(one, "example"),
			json_string_value(json_array_get(json_object_get(one, "why"), 0)));
		return err_hint(e, "evctl-run %s --examples --draft", expert);
	}
	return 0;
}

void examples_tap(const json_t *results, struct buf *out)
{
	size_t i, k;
	json_t *one, *why;
	buf_addf(out, "1..%zu\n", json_array_size(results));
	json_array_foreach (results, i, one) {
		buf_addf(out, "%sok %zu - %s, example %d\n", passed(one) ? "" : "not ", i + 1,
			json_text_of(one, "tool"), (int)json_int_of(one, "example"));
		json_array_foreach (json_object_get(one, "why"), k, why)
			buf_addf(out, "# %s\n", json_string_value(why));
	}
}

/* Text for XML 1.0, which has no way to write most control characters. */
static void add_xml(struct buf *out, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		const char *as = c == '&'   ? "&amp;"
				 : c == '<' ? "&lt;"
				 : c == '>' ? "&gt;"
				 : c == '"' ? "&quot;"
					    : NULL;
		if (as)
			buf_adds(out, as);
		else if (c < ' ' && c != '\n' && c != '\t')
			buf_adds(out, "?");
		else
			buf_addc(out, *s);
	}
}

static void add_case(struct buf *out, const char *expert, const json_t *one)
{
	size_t k;
	json_t *why;
	buf_adds(out, "    <testcase classname=\"");
	add_xml(out, expert);
	buf_addf(out, "\" name=\"%s, example %d\" time=\"%.3f\"", json_text_of(one, "tool"),
		(int)json_int_of(one, "example"), (double)json_int_of(one, "ms") / 1000);
	if (passed(one)) {
		buf_adds(out, "/>\n");
		return;
	}
	buf_adds(out, ">\n      <failure message=\"");
	add_xml(out, json_string_value(json_array_get(json_object_get(one, "why"), 0)));
	buf_adds(out, "\">");
	json_array_foreach (json_object_get(one, "why"), k, why) {
		add_xml(out, json_string_value(why));
		buf_addc(out, '\n');
	}
	buf_adds(out, "</failure>\n    </testcase>\n");
}

void examples_junit(const json_t *results, const char *expert, struct buf *out)
{
	size_t i, n = json_array_size(results), failed = examples_failed(results);
	int64_t ms = 0;
	json_t *one;
	json_array_foreach (results, i, one)
		ms += json_int_of(one, "ms");
	buf_addf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites tests=\"%zu\" failures=\"%zu\" time=\"%.3f\">\n  <testsuite name=\"",
		n, failed, (double)ms / 1000);
	add_xml(out, expert);
	buf_addf(out,
		"\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\" time=\"%.3f\">\n", n,
		failed, (double)ms / 1000);
	json_array_foreach (results, i, one)
		add_case(out, expert, one);
	buf_adds(out, "  </testsuite>\n</testsuites>\n");
}
