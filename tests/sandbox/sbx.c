/*
 * sbx: a sandbox and its calls, from a JSON specification on stdin to a JSON report on stdout, for
 * the tests beside it. Without the rest of evctl: no state, no gate.
 *
 *   {"share": DIR, "files": {PATH: TEXT}, "session": bool, "hosts": [], "wildcards": [],
 *    "ports": [], "preload": [], "ca": TEXT, "limits": {...}, "accept": N,
 *    "calls": [{"file", "func", "inputs", "keys": {}, "timeout", "memory", "keep_outputs"}]}
 *
 * A call's "await" is a file that it waits for before it begins; "stream" says "done" after each.
 * "accept": takes N connections on the listeners, answers each with a line, while calls run.
 * "bench": N repeats the one call N times and reports each time in microseconds; "pause": MS lies
 * between two, which isn't counted.
 */
#include "base/file.h"
#include "base/json.h"
#include "sandbox/collect.h"
#include "sandbox/probe.h"
#include "sandbox/sandbox.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct lists {
	struct sandbox_file *files;
	const char **hosts, **wildcards, **preload;
	int *ports;
};

static size_t strings(const json_t *spec, const char *name, const char ***out)
{
	json_t *list = json_object_get(spec, name);
	size_t n = json_array_size(list);
	*out = calloc(n + 1, sizeof **out);
	for (size_t i = 0; i < n; i++)
		(*out)[i] = json_string_value(json_array_get(list, i));
	return n;
}

static size_t number(const json_t *o, const char *name)
{
	return (size_t)json_integer_value(json_object_get(o, name));
}

static void fill_spec(struct sandbox_spec *s, struct lists *l, json_t *spec)
{
	json_t *files = json_object_get(spec, "files"), *ports = json_object_get(spec, "ports");
	json_t *limits = json_object_get(spec, "limits"), *text;
	const char *path;
	size_t i = 0;
	l->files = calloc(json_object_size(files) + 1, sizeof *l->files);
	json_object_foreach (files, path, text) {
		l->files[i++] = (struct sandbox_file){
			path, json_string_value(text), json_string_length(text)};
	}
	l->ports = calloc(json_array_size(ports) + 1, sizeof *l->ports);
	for (size_t k = 0; k < json_array_size(ports); k++)
		l->ports[k] = (int)json_integer_value(json_array_get(ports, k));
	*s = (struct sandbox_spec){
		.files = l->files,
		.nfiles = i,
		.ports = l->ports,
		.nports = json_array_size(ports),
		.session = json_is_true(json_object_get(spec, "session")),
		.share_dir = json_string_value(json_object_get(spec, "share")),
		.limits = {.memory = number(limits, "memory"),
			.scratch = number(limits, "scratch"),
			.result = number(limits, "result"),
			.log = number(limits, "log"),
			.processes = (unsigned)number(limits, "processes")},
	};
	s->nhosts = strings(spec, "hosts", &l->hosts);
	s->nwildcards = strings(spec, "wildcards", &l->wildcards);
	s->npreload = strings(spec, "preload", &l->preload);
	s->hosts = l->hosts;
	s->wildcards = l->wildcards;
	s->preload = l->preload;
}

static void free_lists(struct lists *l)
{
	free(l->files);
	free(l->hosts);
	free(l->wildcards);
	free(l->preload);
	free(l->ports);
}

static json_t *hex(const char *p, size_t n)
{
	BUF_AUTO b = {0};
	for (size_t i = 0; i < n; i++)
		buf_addf(&b, "%02x", (unsigned char)p[i]);
	return json_string(buf_str(&b));
}

static json_t *report_outputs(struct sandbox *sb)
{
	struct collected c;
	struct err e = {0};
	if (collect_outputs(sandbox_outputs(sb), &c, NULL, &e) < 0)
		return json_pack("{s:s}", "error", e.msg);
	json_t *files = json_array(), *withheld = json_array();
	for (size_t i = 0; i < c.nfiles; i++) {
		struct collected_file *f = &c.files[i];
		json_array_append_new(
			files, json_pack("{s:s, s:I, s:s, s:b, s:o}", "name", f->name, "size",
				       (json_int_t)f->size, "type", f->type, "inline", f->inline_ok,
				       "head", hex(f->data, f->size < 64 ? f->size : 64)));
	}
	for (size_t i = 0; i < c.nwithheld; i++)
		json_array_append_new(withheld, json_pack("{s:s, s:s}", "name", c.withheld[i].name,
							"why", c.withheld[i].why));
	json_t *out = json_pack("{s:o, s:o, s:I, s:b}", "files", files, "withheld", withheld,
		"more", (json_int_t)c.more_withheld, "over_cap", c.over_cap);
	collected_free(&c);
	return out;
}

static void fill_call(struct sandbox_call *c, json_t *call, char **inputs, struct call_key *keys)
{
	json_t *in = json_object_get(call, "inputs"), *k = json_object_get(call, "keys"), *value;
	const char *name;
	size_t n = 0;
	*inputs = in ? json_dumps(in, JSON_COMPACT) : strdup("{}");
	json_object_foreach (k, name, value) {
		keys[n++] = (struct call_key){.name = name,
			.value = json_string_value(value),
			.len = json_string_length(value)};
	}
	*c = (struct sandbox_call){
		.entry_file = json_string_value(json_object_get(call, "file")),
		.entry_func = json_string_value(json_object_get(call, "func")),
		.inputs = *inputs,
		.ninputs = strlen(*inputs),
		.keys = {keys, n},
		.timeout_ms = (int)number(call, "timeout"),
		.memory = number(call, "memory"),
	};
}

static json_t *one_call(struct sandbox *sb, json_t *call)
{
	static const char *const words[] = {"ok", "failed", "timeout", "limit"};
	const char *await = json_string_value(json_object_get(call, "await"));
	while (await && !file_exists(await))
		usleep(5000);
	struct sandbox_call c;
	struct sandbox_result r = {0};
	struct call_key keys[64];
	struct err e = {0};
	char *inputs;
	fill_call(&c, call, &inputs, keys);
	int done = sandbox_call(sb, &c, &r, &e);
	free(inputs);
	if (done < 0) {
		sandbox_result_free(&r);
		return json_pack("{s:s, s:i, s:s, s:s}", "error", e.msg, "code", e.code, "hint",
			e.hint, "status", "error");
	}
	json_t *o = json_pack("{s:s, s:s?, s:s?, s:o, s:o, s:b, s:i, s:i, s:I, s:b, s:o}", "status",
		words[r.status], "limit", r.limit, "why", r.why, "result",
		json_text(buf_str(&r.result), r.result.len), "log",
		json_text(buf_str(&r.log), r.log.len), "log_truncated", r.log_truncated, "ms", r.ms,
		"start_ms", r.start_ms, "scratch", (json_int_t)r.scratch, "alive",
		sandbox_alive(sb), "outputs", report_outputs(sb));
	sandbox_result_free(&r);
	if (!json_is_true(json_object_get(call, "keep_outputs")) && sandbox_reset_outputs(sb) < 0)
		json_object_set_new(o, "error", json_string("outputs cannot be emptied"));
	return o;
}

/* Stands in for the gate: says hello to whoever connects. */
static pid_t accept_some(struct sandbox *sb, int n)
{
	int fds[64];
	uint16_t ports[64];
	size_t have = sandbox_listeners(sb, fds, ports, 64);
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	fd_set set;
	while (n-- > 0) {
		FD_ZERO(&set);
		for (size_t i = 0; i < have; i++)
			FD_SET(fds[i], &set);
		select(1024, &set, NULL, NULL, NULL);
		for (size_t i = 0; i < have; i++) {
			if (!FD_ISSET(fds[i], &set))
				continue;
			FD_AUTO c = accept(fds[i], NULL, NULL);
			dprintf(c, "hello on %u\n", ports[i]);
			break;
		}
	}
	_exit(0);
}

static int64_t now_us(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static int fail(const struct err *e)
{
	json_t *o = json_pack("{s:s, s:i, s:s}", "error", e->msg, "code", e->code, "hint", e->hint);
	json_dumpf(o, stdout, JSON_INDENT(1));
	puts("");
	json_decref(o);
	return e->code;
}

static size_t count_fds(void)
{
	size_t n = 0;
	for (int fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* A session: one sandbox, N calls. Else N sandboxes of one call each. */
static int bench(const struct sandbox_spec *spec, json_t *call, size_t n, size_t pause_ms)
{
	struct sandbox *sb = NULL;
	struct err e = {0};
	json_t *times = json_array();
	size_t fds = count_fds();
	for (size_t i = 0; i < n; i++) {
		usleep((useconds_t)pause_ms * 1000);
		int64_t begun = now_us();
		if (!sb && sandbox_open(&sb, spec, &e) < 0)
			return fail(&e);
		struct sandbox_call c;
		struct sandbox_result r = {0};
		struct call_key keys[64];
		char *inputs;
		fill_call(&c, call, &inputs, keys);
		if (sandbox_call(sb, &c, &r, &e) < 0 || r.status != SANDBOX_OK) {
			fprintf(stderr, "%s%s\n", e.msg, buf_str(&r.log));
			return 1;
		}
		sandbox_result_free(&r);
		free(inputs);
		if (!spec->session)
			sandbox_close(&sb);
		json_array_append_new(times, json_integer(now_us() - begun));
	}
	sandbox_close(&sb);
	if (count_fds() != fds || waitpid(-1, NULL, __WALL | WNOHANG) >= 0) {
		fputs("descriptors or children left\n", stderr);
		return 1;
	}
	json_dumpf(times, stdout, JSON_COMPACT);
	puts("");
	json_decref(times);
	return 0;
}

static int probe(const char *share)
{
	static struct sandbox_probe p;
	struct err e = {0};
	json_t *o = json_object();
	if (sandbox_probe(&p, share, &e) < 0)
		return fail(&e);
	for (size_t i = 0; i < p.n; i++)
		json_object_set_new(o, p.items[i].name,
			json_pack("{s:b, s:b, s:s, s:s}", "ok", p.items[i].ok, "required",
				p.items[i].need == PROBE_REQUIRED, "is", p.items[i].is, "mend",
				p.items[i].mend));
	json_dumpf(o, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	json_decref(o);
	return !p.ok;
}

static int run_calls(const struct sandbox_spec *s, json_t *spec)
{
	struct sandbox *sb;
	struct err e = {0};
	if (sandbox_open(&sb, s, &e) < 0)
		return fail(&e);
	const char *ca = json_string_value(json_object_get(spec, "ca"));
	if (ca && sandbox_set_ca(sb, ca, strlen(ca), &e) < 0)
		return fail(&e);
	pid_t gate = number(spec, "accept") ? accept_some(sb, (int)number(spec, "accept")) : -1;
	sandbox_drop_listeners(sb);
	json_t *list = json_array(), *call;
	size_t i;
	json_array_foreach (json_object_get(spec, "calls"), i, call) {
		json_array_append_new(list, one_call(sb, call));
		if (json_is_true(json_object_get(spec, "stream"))) {
			puts("done");
			fflush(stdout);
		}
	}
	json_t *report = json_pack("{s:s, s:o}", "bounds", sandbox_bounds(sb), "calls", list);
	sandbox_close(&sb);
	if (gate > 0) {
		kill(gate, SIGKILL);
		waitpid(gate, NULL, 0);
	}
	json_dumpf(report, stdout, JSON_COMPACT);
	puts("");
	json_decref(report);
	return 0;
}

static int run(json_t *spec)
{
	struct sandbox_spec s;
	struct lists l;
	json_t *first = json_array_get(json_object_get(spec, "calls"), 0);
	size_t n = number(spec, "bench");
	fill_spec(&s, &l, spec);
	int code = n ? bench(&s, first, n, number(spec, "pause")) : run_calls(&s, spec);
	free_lists(&l);
	json_decref(spec);
	return code;
}

int main(int argc, char **argv)
{
	/* As every supervisor that holds secrets is. */
	prctl(PR_SET_DUMPABLE, 0);
	if (argc == 3 && strcmp(argv[1], "probe") == 0)
		return probe(argv[2]);
	BUF_AUTO text = {0};
	struct err e = {0};
	if (fd_read_all(0, &text) < 0)
		return 1;
	json_t *spec = json_parse("specification", text.data, text.len, &e);
	return spec ? run(spec) : fail(&e);
}
