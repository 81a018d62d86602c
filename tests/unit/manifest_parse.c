/* expert.yaml: what is read, and where each mistake is said to be. */
#include "../lib/tap.h"

#include "base/buf.h"
#include "manifest/doc.h"
#include "manifest/manifest.h"
#include "manifest/schema.h"

#include <stdlib.h>

/* A good manifest's head and its one tool, which rows add to. */
#define HEAD "name: crm\ntools:\n- name: a\n  entry: a.py:run\n" /* 4 lines */

struct bad {
	const char *name, *yaml, *msg, *hint;
};

static const struct bad bad_documents[] = {
	{"empty", "", "expert.yaml:1:1: the file is empty", NULL},
	{"only a comment", "# hello\n", "expert.yaml:1:1: the file is empty", NULL},
	{"a scalar", "hello\n", "expert.yaml:1:1: expert.yaml must be a mapping, got text", NULL},
	{"a list", "- a\n", "expert.yaml:1:1: expert.yaml must be a mapping, got a list", NULL},
	{"a tab", "name: crm\n\ttools: []\n", "expert.yaml:2:1: found a tab character",
		"indent with spaces"},
	{"unclosed", "name: [a\n", "expert.yaml:2:1: did not find expected", NULL},
	{"a colon in text", HEAD "description: a: b\n",
		"expert.yaml:5:15: mapping values are not allowed", "quote"},
	{"two documents", HEAD "---\nname: b\n", "expert.yaml:5:1: only one document", NULL},
	{"an anchor", "name: &a crm\n", "expert.yaml:1:7: anchors are not allowed", "quote"},
	{"an alias", HEAD "description: *a\n", "expert.yaml:5:14: aliases are not allowed",
		"quote"},
	{"an anchored list", HEAD "hosts: &h [a]\n", "expert.yaml:5:8: anchors are not", NULL},
	{"an anchored map", "name: crm\ntools: &x {}\n", "expert.yaml:2:8: anchors are not", NULL},
	{"a tag", HEAD "description: !!str x\n", "expert.yaml:5:14: tags are not allowed", "quote"},
	{"a tag on a list", HEAD "hosts: !set [a]\n", "expert.yaml:5:8: tags are not allowed",
		NULL},
	{"a tag on a map", "!!map {name: x}\n", "expert.yaml:1:1: tags are not allowed", NULL},
	{"the bare tag", HEAD "description: ! x\n", "expert.yaml:5:14: tags are not allowed", NULL},
	{"a key twice", HEAD "name: x\n", "expert.yaml:5:1: duplicate key 'name' (first at line 1)",
		NULL},
	{"a key twice, deep down", HEAD "  input: {properties: {b: {}, a: {},\n    b: {}}}\n",
		"expert.yaml:6:5: duplicate key 'b' (first at line 5)", NULL},
	{"a key twice, quoted once", HEAD "\"name\": x\n", "expert.yaml:5:1: duplicate key 'name'",
		NULL},
	{"a merge key", HEAD "  <<: {timeout: 3}\n", "expert.yaml:5:3: unknown field '<<'", NULL},
	{"a list as a key", "? [a]\n: b\n", "expert.yaml:1:3: a key must be plain text", NULL},
	{"a map as a key", "{a: b}: c\n", "expert.yaml:1:1: a key must be plain text", NULL},
	{"NUL", HEAD "description: \"a\\0b\"\n", "expert.yaml:5:14: a NUL character", NULL},
	{"bad UTF-8", "name: crm\nx: \xff\n", "expert.yaml:2:4: not valid UTF-8", NULL},
	{"a control character", "name: a\x01\n", "expert.yaml:1:8: control characters", NULL},
	{"columns are characters", "description: \"\u00e9\u00e9\u00e9\", x\n",
		"expert.yaml:1:19: ", NULL},
};

static const struct bad bad_fields[] = {
	{"no name", "tools: []\n", "expert.yaml:1:1: expert.yaml lacks 'name'", NULL},
	{"no tools", "name: x\n", "expert.yaml:1:1: expert.yaml lacks 'tools'", "tools: [{name"},
	{"empty tools", "name: x\ntools: []\n", "expert.yaml:2:8: tools must be a list of one",
		NULL},
	{"tools is nothing", "name: x\ntools:\n", "expert.yaml:2:7: tools must be a list", NULL},
	{"tools is a map", "name: x\ntools: {a: b}\n", "expert.yaml:2:8: tools must be a list",
		NULL},
	{"a tool is text", "name: x\ntools: [a]\n",
		"expert.yaml:2:9: the tool must be a mapping, got text", NULL},
	{"an unknown field", HEAD "colour: red\n",
		"expert.yaml:5:1: unknown field 'colour' in expert.yaml",
		"the fields of expert.yaml are: name, description, tools, hosts, ignore, private"},
	{"a field misspelt", HEAD "host: []\n", "expert.yaml:5:1: unknown field 'host'",
		"did you mean 'hosts'?"},
	{"a tool's field misspelt", HEAD "  timout: 3\n",
		"expert.yaml:5:3: unknown field 'timout' in the tool", "did you mean 'timeout'?"},
	{"an escape in a field", HEAD "\"\\e[31m\": 1\n", "expert.yaml:5:1: unknown field '?[31m'",
		NULL},
	{"a long field",
		HEAD "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: 1\n",
		"expert.yaml:5:1: unknown field 'xxxxxxxxxxxxxxxxxxxx", NULL},
	{"name: upper case", "name: CRM\ntools: [{name: a, entry: a.py}]\n",
		"expert.yaml:1:7: not a name: 'CRM'", "lower-case"},
	{"name: a number", "name: 12\ntools: []\n",
		"expert.yaml:1:7: name must be text, got a number", "quotes"},
	{"name: nothing", "name:\ntools: []\n", "expert.yaml:1:6: name must be text, got nothing",
		NULL},
	{"name: a dot first", "name: .a\ntools: []\n", "expert.yaml:1:7: not a name", NULL},
	{"name: empty", "name: \"\"\ntools: []\n", "expert.yaml:1:7: not a name: ''", NULL},
	{"name: 65 long",
		"name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\ntools: "
		"[]\n",
		"expert.yaml:1:7: not a name", NULL},
	{"name: a slash", "name: a/b\ntools: []\n", "expert.yaml:1:7: not a name", NULL},
	{"a tool without name", "name: x\ntools:\n- entry: a.py\n",
		"expert.yaml:3:3: the tool lacks 'name'", NULL},
	{"a tool without entry", "name: x\ntools:\n- name: a\n",
		"expert.yaml:3:3: the tool lacks 'entry'", NULL},
	{"two tools of a name", HEAD "- entry: b.py\n  name: a\n",
		"expert.yaml:6:9: duplicate tool 'a' (first at line 3)", NULL},
	{"description: a control", HEAD "description: \"a\\x1b\"\n",
		"expert.yaml:5:14: description holds control characters", NULL},
	{"description: true", HEAD "description: true\n",
		"expert.yaml:5:14: description must be text, got true or false", "quotes"},
	{"description: a list", HEAD "description: [a]\n",
		"expert.yaml:5:14: description must be text, got a list", NULL},
	{"hosts: text", HEAD "hosts: a.example\n",
		"expert.yaml:5:8: hosts must be a list, got text", "hosts: [a.example]"},
	{"hosts: a space", HEAD "hosts: [a, b c]\n", "expert.yaml:5:12: hosts must be words", NULL},
	{"hosts: twice", HEAD "hosts: [a, b, a]\n", "expert.yaml:5:15: hosts names 'a' twice",
		NULL},
	{"hosts: empty", HEAD "hosts: ['']\n", "expert.yaml:5:9: hosts holds an empty text", NULL},
	{"hosts: a map", HEAD "hosts: [{host: a}]\n", "expert.yaml:5:9: hosts must be text", NULL},
	{"ignore: up", HEAD "ignore: [../x]\n", "expert.yaml:5:10: ignore pattern leaves", NULL},
	{"ignore: nothing", HEAD "ignore: [a, /]\n", "expert.yaml:5:13: ignore pattern names",
		NULL},
	{"ignore: ./", HEAD "ignore: [./a]\n", "expert.yaml:5:10: ignore pattern starts", NULL},
};

#define TOOL "name: x\ntools:\n- name: a\n  entry: "

static const struct bad bad_tools[] = {
	{"entry: not Python", TOOL "a.sh\n", "expert.yaml:4:10: entry must name a '.py' file",
		"FILE.py:FUNCTION"},
	{"entry: only .py", TOOL ".py\n", "expert.yaml:4:10: entry must name a '.py' file", NULL},
	{"entry: up", TOOL "../a.py\n", "expert.yaml:4:10: entry must not leave", NULL},
	{"entry: up inside", TOOL "a/../../b.py:f\n", "expert.yaml:4:10: entry must not leave",
		NULL},
	{"entry: absolute", TOOL "/a.py\n", "expert.yaml:4:10: entry must be relative", NULL},
	{"entry: empty part", TOOL "a//b.py\n", "expert.yaml:4:10: entry must be a plain path",
		NULL},
	{"entry: dot part", TOOL "a/./b.py\n", "expert.yaml:4:10: entry must be a plain path",
		NULL},
	{"entry: no function", TOOL "'a.py:'\n", "expert.yaml:4:10: entry must name a function",
		NULL},
	{"entry: a digit first", TOOL "a.py:1x\n", "expert.yaml:4:10: entry must name a function",
		NULL},
	{"entry: a method", TOOL "a.py:A.b\n", "expert.yaml:4:10: entry must name a function",
		NULL},
	{"entry: a call", TOOL "a.py:f()\n", "expert.yaml:4:10: entry must name a function", NULL},
	{"entry: a newline", TOOL "\"a\\nb.py\"\n", "expert.yaml:4:10: entry holds control", NULL},
	{"timeout: 26", HEAD "  timeout: 26\n", "expert.yaml:5:12: timeout must be a number of",
		NULL},
	{"timeout: 0", HEAD "  timeout: 0\n", "expert.yaml:5:12: timeout must be a number of",
		NULL},
	{"timeout: 0.5", HEAD "  timeout: 0.5\n", "expert.yaml:5:12: timeout must be", NULL},
	{"timeout: 25.001", HEAD "  timeout: 25.001\n", "expert.yaml:5:12: timeout must be", NULL},
	{"timeout: 20s", HEAD "  timeout: 20s\n", "expert.yaml:5:12: timeout must be",
		"timeout: 20"},
	{"timeout: quoted", HEAD "  timeout: '20'\n", "expert.yaml:5:12: timeout must be", NULL},
	{"timeout: true", HEAD "  timeout: true\n", "expert.yaml:5:12: timeout must be", NULL},
	{"timeout: a list", HEAD "  timeout: [2]\n", "expert.yaml:5:12: timeout must be", NULL},
	{"timeout: .inf", HEAD "  timeout: .inf\n", "expert.yaml:5:12: a number that JSON", NULL},
	{"timeout: -3", HEAD "  timeout: -3\n", "expert.yaml:5:12: timeout must be", NULL},
	{"memory: too much", HEAD "  memory: 2G\n", "expert.yaml:5:11: memory is too much", NULL},
	{"memory: just too much", HEAD "  memory: 1073741825\n",
		"expert.yaml:5:11: memory is too much", NULL},
	{"memory: too little", HEAD "  memory: 15M\n", "expert.yaml:5:11: memory is too little",
		NULL},
	{"memory: no unit", HEAD "  memory: 512\n", "expert.yaml:5:11: memory is too little",
		"memory: 512M"},
	{"memory: overflow", HEAD "  memory: 999999999999G\n",
		"expert.yaml:5:11: memory is too much", NULL},
	{"memory: a word", HEAD "  memory: lots\n", "expert.yaml:5:11: memory must be a whole",
		NULL},
	{"memory: a fraction", HEAD "  memory: 0.5G\n", "expert.yaml:5:11: memory must be", "512M"},
	{"memory: a list", HEAD "  memory: []\n", "expert.yaml:5:11: memory must be a whole", NULL},
	{"input: text", HEAD "  input: object\n",
		"expert.yaml:5:10: input must be a JSON Schema object, got text", NULL},
	{"input: true", HEAD "  input: true\n", "expert.yaml:5:10: input must be a JSON Schema",
		NULL},
	{"input: no object", HEAD "  input:\n    type: string\n",
		"expert.yaml:6:11: input must be of type 'object'", NULL},
	{"input: a wrong type",
		HEAD "  input:\n    properties:\n      month:\n        type: strin\n",
		"expert.yaml:8:15: input schema: properties.month.type: 'strin' is not a type",
		"did you mean 'string'?"},
	{"input: a Python type", HEAD "  input: {properties: {n: {type: int}}}\n",
		"expert.yaml:5:34: input schema: properties.n.type: 'int' is not a type",
		"did you mean 'integer'?"},
	{"input: null unquoted", HEAD "  input: {properties: {n: {type: [string, null]}}}\n",
		"expert.yaml:5:43: input schema: properties.n.type[1]: a type must be text",
		"quotes"},
	{"input: a bare type", HEAD "  input: {properties: {month: string}}\n",
		"expert.yaml:5:31: input schema: properties.month: a schema must be an object",
		"write {type: string}"},
	{"input: required in the member", HEAD "  input: {properties: {n: {required: true}}}\n",
		"expert.yaml:5:38: input schema: properties.n.required: must be a list of names",
		"list the names"},
	{"input: a bad pattern", HEAD "  input:\n    properties:\n      m: {pattern: '(a'}\n",
		"expert.yaml:7:20: input schema: properties.m.pattern: not a pattern", NULL},
	{"input: a bad pattern as key", HEAD "  input:\n    patternProperties:\n      '[': {}\n",
		"expert.yaml:7:7: input schema: patternProperties[\"[\"]: not a pattern", NULL},
	{"input: nowhere", HEAD "  input:\n    allOf:\n    - $ref: '#/$defs/x'\n",
		"expert.yaml:7:13: input schema: allOf[0].$ref: there is no '#/$defs/x'", NULL},
	{"input: remote", HEAD "  input: {$ref: 'https://x/y'}\n",
		"expert.yaml:5:17: input schema: $ref: 'https://x/y' is not local", "#/$defs/NAME"},
	{"output: a wrong type", HEAD "  output: {type: dict}\n",
		"expert.yaml:5:18: output schema: type: 'dict' is not a type", "'object'"},
	{"input: not JSON", HEAD "  input: {properties: {n: {maximum: .nan}}}\n",
		"expert.yaml:5:37: a number that JSON cannot hold", NULL},
};

static int parse(struct manifest *m, const char *yaml, struct err *e)
{
	return manifest_parse(m, "expert.yaml", yaml, strlen(yaml), e);
}

static void check_bad(struct tap *t, const struct bad *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		MANIFEST_AUTO m = {0};
		struct err e = {0};
		int rc = parse(&m, rows[i].yaml, &e);
		says(t, &e, ERR_USAGE, rows[i].msg, rows[i].hint, rows[i].name);
		if (rc != -1 || m.name || m.ntools)
			ok(t, false, "%s: refused, and nothing is left behind", rows[i].name);
	}
}

static const char whole[] =
	"\xef\xbb\xbf# a byte order mark goes first\n"
	"name: crm-helper\n"
	"description: |\n  Counts leads.\n  And charts them.\n"
	"tools:\n"
	"  - name: count-leads\n"
	"    description: How many leads\n"
	"    entry: ./lib/leads.py:count_leads\n"
	"    input:\n"
	"      type: object\n"
	"      properties:\n"
	"        month: {type: string, pattern: '^[0-9]{4}-[0-9]{2}$'}\n"
	"        n: {enum: [1, 2.5, 0x10, 0o17, -3, 1e3, .5, yes, 'true', true, ~, null, '', +7,\n"
	"          012, 99999999999999999999]}\n"
	"      required: [month]\n"
	"    output: {type: object}\n"
	"    timeout: 2.5\n"
	"    memory: 512M\n"
	"  - {name: b.c_d-1, entry: 'a:b.py'}\n"
	"hosts: [api.crm.example, \"*.x.example:8443\"]\n"
	"ignore: [data/, '*.tmp', '!keep me.tmp', docs/**]\n"
	"private: ['prompts/*.txt', sql/]\n"
	"...\n";

static void check_tool(struct tap *t, const struct manifest *m)
{
	const struct manifest_tool *a = manifest_tool(m, "count-leads");
	ok(t, a && strcmp(a->entry_file, "lib/leads.py") == 0, "entry: the file, without ./");
	ok(t, a && strcmp(a->entry_func, "count_leads") == 0, "entry: the function");
	ok(t, a && a->timeout_ms == 2500, "timeout in milliseconds");
	ok(t, a && a->memory == 512000000, "512M is decimal");
	ok(t, a && a->line == 7, "the tool's line");
	ok(t, a && a->output && json_object_size(a->output) == 1, "output");
	const struct manifest_tool *b = manifest_tool(m, "b.c_d-1");
	ok(t, b && strcmp(b->entry_file, "a:b.py") == 0 && !b->entry_func,
		"what ends in .py is a file, whatever is in it");
	ok(t, b && b->timeout_ms == 25000 && b->memory == 1073741824, "defaults");
	ok(t, b && !b->input && !b->output && strcmp(b->description, "") == 0, "nothing given");
	ok(t, !manifest_tool(m, "nope"), "no such tool");
}

static void check_core_types(struct tap *t, const struct manifest *m)
{
	static const char want[] =
		"[1,2.5,16,15,-3,1000.0,0.5,\"yes\",\"true\",true,null,null,\"\","
		"7,12,1e20]";
	const struct manifest_tool *a = manifest_tool(m, "count-leads");
	json_t *properties = json_object_get(a->input, "properties");
	json_t *values = json_object_get(json_object_get(properties, "n"), "enum");
	char *got = json_dumps(values, JSON_COMPACT);
	ok(t, got && strcmp(got, want) == 0, "scalars have YAML 1.2's core types");
	if (got && strcmp(got, want) != 0)
		printf("# got  %s\n# want %s\n", got, want);
	free(got);
}

static void check_snapshot(struct tap *t, const struct manifest *m)
{
	struct err e = {0};
	MANIFEST_AUTO again = {0};
	JSON_AUTO j = manifest_to_json(m);
	ok(t, j && manifest_from_json(&again, j, &e) == 0, "to JSON and back");
	JSON_AUTO j2 = manifest_to_json(&again);
	ok(t, json_equal(j, j2), "and nothing is lost");
	ok(t,
		again.ignore.n == 4 && again.private.n == 2 && again.hosts.n == 2 &&
			again.ntools == 2,
		"lists are kept");
}

static void check_whole(struct tap *t)
{
	MANIFEST_AUTO m = {0};
	struct err e = {0};
	if (!ok(t, parse(&m, whole, &e) == 0, "a whole manifest: %s", e.msg))
		return;
	ok(t, strcmp(m.name, "crm-helper") == 0, "name");
	ok(t, strcmp(m.description, "Counts leads.\nAnd charts them.\n") == 0, "description");
	ok(t, m.hosts.n == 2 && strcmp(m.hosts.v[1], "*.x.example:8443") == 0, "hosts");
	ok(t, m.ignore.n == 4 && strcmp(m.ignore.v[2], "!keep me.tmp") == 0, "ignore");
	check_tool(t, &m);
	check_core_types(t, &m);
	check_snapshot(t, &m);
}

/* Each row damages a good snapshot at one member. */
static void check_damage(struct tap *t)
{
	static const struct {
		const char *member, *json;
		bool of_tool;
	} rows[] = {{"name", "\"A\"", false}, {"name", "3", false}, {"name", "null", false},
		{"description", "null", false}, {"description", "\"\\u001b\"", false},
		{"tools", "[]", false}, {"tools", "{}", false}, {"tools", "[1]", false},
		{"hosts", "[\"\"]", false}, {"hosts", "null", false}, {"hosts", "[1]", false},
		{"ignore", "[\"../x\"]", false}, {"name", "\"../x\"", true},
		{"entry_file", "\"/etc/x.py\"", true}, {"entry_file", "\"../x.py\"", true},
		{"entry_file", "null", true}, {"entry_func", "\"a b\"", true},
		{"entry_func", "7", true}, {"input", "[]", true},
		{"input", "{\"type\":\"x\"}", true}, {"input", "{\"type\":\"string\"}", true},
		{"output", "true", true}, {"timeout_ms", "25001", true},
		{"timeout_ms", "999", true}, {"timeout_ms", "2.5", true},
		{"memory", "1073741825", true}, {"memory", "0", true}, {"line", "0", true}};
	MANIFEST_AUTO m = {0};
	struct err e = {0};
	parse(&m, HEAD, &e);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		MANIFEST_AUTO out = {0};
		struct err de = {0};
		JSON_AUTO j = manifest_to_json(&m);
		json_t *tool = json_array_get(json_object_get(j, "tools"), 0);
		json_object_set_new(rows[i].of_tool ? tool : j, rows[i].member,
			json_loads(rows[i].json, JSON_DECODE_ANY, NULL));
		manifest_from_json(&out, j, &de);
		ok(t, de.code == ERR_STATE && !out.name && !out.ntools, "damaged: %s %s: %s",
			rows[i].member, rows[i].json, de.msg);
	}
	MANIFEST_AUTO out = {0};
	struct err ge = {0};
	JSON_AUTO j = manifest_to_json(&m);
	ok(t, manifest_from_json(&out, j, &ge) == 0, "undamaged: fine");
	json_t *tools = json_object_get(j, "tools");
	json_array_append(tools, json_array_get(tools, 0));
	MANIFEST_AUTO twice = {0};
	ok(t, manifest_from_json(&twice, j, &ge) < 0, "damaged: a tool twice");
}

static void check_sizes(struct tap *t)
{
	static const struct {
		const char *text;
		size_t bytes;
	} rows[] = {{"16M", 16000000}, {"16Mi", 16777216}, {"1G", 1000000000}, {"1Gi", 1073741824},
		{"1GiB", 1073741824}, {"600MB", 600000000}, {"256Mi", 268435456},
		{"500000K", 500000000}, {"20000Ki", 20480000}, {"1073741824", 1073741824},
		{"\"512 M\"", 512000000}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		BUF_AUTO b = {0};
		MANIFEST_AUTO m = {0};
		struct err e = {0};
		buf_addf(&b, HEAD "  memory: %s\n", rows[i].text);
		parse(&m, buf_str(&b), &e);
		ok(t, m.ntools && m.tools[0].memory == rows[i].bytes, "memory: %s", rows[i].text);
	}
}

/* Something, over and over, and the error or none. */
static void check_big(struct tap *t, const char *name, const char *head, const char *again,
	size_t n, const char *tail, const char *msg)
{
	BUF_AUTO b = {0};
	MANIFEST_AUTO m = {0};
	struct err e = {0};
	buf_adds(&b, head);
	for (size_t i = 0; i < n; i++)
		buf_adds(&b, again);
	buf_adds(&b, tail);
	int rc = manifest_parse(&m, "expert.yaml", buf_str(&b), b.len, &e);
	if (msg)
		says(t, &e, ERR_USAGE, msg, NULL, name);
	else
		ok(t, rc == 0, "%s: fine: %s", name, e.msg);
}

static void check_limits(struct tap *t)
{
	/* HEAD's open levels: the map, tools, the tool, input, then ours. */
	check_big(t, "1 MB", HEAD "#", "x", 999950, "\n", NULL);
	check_big(t, "over 1 MB", HEAD "#", "x", 1000000, "\n", "expert.yaml:1:1: too long");
	check_big(t, "64 levels", HEAD "  input: {default: ", "[", 60, "]",
		"expert.yaml:6:1: did not");
	check_big(t, "65 levels", HEAD "  input: {default: ", "[", 61, "",
		"expert.yaml:5:80: nested too deeply");
	check_big(t, "half a million brackets", HEAD "  input: ", "[", 500000, "",
		"expert.yaml:5:71: nested too deeply");
	check_big(t, "1000 hosts and one", HEAD "hosts: [", "a,", 1001, "]",
		"expert.yaml:5:8: hosts is too long");
	check_big(t, "257 tools", "name: x\ntools:\n", "- {}\n", 257, "",
		"expert.yaml:3:1: too many tools");
	check_big(t, "a long description", HEAD "description: ", "x", 4001, "\n",
		"expert.yaml:5:14: description is too long");
}

/* 100,000 different keys, one of them twice: found, and in no quadratic time. */
static void check_many_keys(struct tap *t)
{
	BUF_AUTO b = {0};
	MANIFEST_AUTO m = {0};
	struct err e = {0};
	buf_adds(&b, HEAD "  input: {default: {\n");
	for (int i = 0; i < 100000; i++)
		buf_addf(&b, "k%d,\n", i == 99999 ? 5 : i);
	buf_adds(&b, "}}\n");
	manifest_parse(&m, "expert.yaml", buf_str(&b), b.len, &e);
	says(t, &e, ERR_USAGE, "expert.yaml:100005:1: duplicate key 'k5' (first at line 11)", NULL,
		"100,000 keys");
}

int main(void)
{
	struct tap t = {0};
	check_bad(&t, bad_documents, sizeof bad_documents / sizeof *bad_documents);
	check_bad(&t, bad_fields, sizeof bad_fields / sizeof *bad_fields);
	check_bad(&t, bad_tools, sizeof bad_tools / sizeof *bad_tools);
	check_whole(&t);
	check_damage(&t);
	check_sizes(&t);
	check_limits(&t);
	check_many_keys(&t);
	return tap_done(&t);
}
