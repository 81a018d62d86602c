/* JSON Schema: values that pass and, beside them, values that don't and what is said of those. */
#include "../lib/tap.h"

#include "base/buf.h"
#include "base/file.h"
#include "manifest/schema.h"

#include <stdlib.h>

struct row {
	const char *schema, *value;
	const char *msg; /* NULL: it passes */
	const char *hint;
};

#define MISSING "missing, and required"

static const struct row types[] = {
	{"true", "1", NULL, NULL},
	{"false", "1", "input: must not be there", NULL},
	{"{}", "null", NULL, NULL},
	{"{'type':'string'}", "'x'", NULL, NULL},
	{"{'type':'string'}", "1", "input: expected string, got integer", NULL},
	{"{'type':'integer'}", "1", NULL, NULL},
	{"{'type':'integer'}", "1.0", NULL, NULL},
	{"{'type':'integer'}", "1e300", NULL, NULL},
	{"{'type':'integer'}", "1.5", "input: expected integer, got number", NULL},
	{"{'type':'integer'}", "true", "input: expected integer, got boolean", NULL},
	{"{'type':'integer'}", "'1'", "input: expected integer, got string", NULL},
	{"{'type':'number'}", "1", NULL, NULL},
	{"{'type':'number'}", "1.5", NULL, NULL},
	{"{'type':'number'}", "null", "input: expected number, got null", NULL},
	{"{'type':'boolean'}", "false", NULL, NULL},
	{"{'type':'boolean'}", "0", "input: expected boolean, got integer", NULL},
	{"{'type':'null'}", "null", NULL, NULL},
	{"{'type':'null'}", "false", "input: expected null, got boolean", NULL},
	{"{'type':'array'}", "[]", NULL, NULL},
	{"{'type':'array'}", "{}", "input: expected array, got object", NULL},
	{"{'type':'object'}", "{}", NULL, NULL},
	{"{'type':'object'}", "[]", "input: expected object, got array", NULL},
	{"{'type':['string','null']}", "null", NULL, NULL},
	{"{'type':['string','null']}", "3", "input: expected string or null, got integer", NULL},
	{"{'minimum':5,'type':'string'}", "3", "input: expected string, got integer", NULL},
	{"{'enum':[1,'a',null,[1],{'a':1}]}", "1.0", NULL, NULL},
	{"{'enum':[1,'a',null,[1],{'a':1}]}", "[1.0]", NULL, NULL},
	{"{'enum':[1,'a',null,[1],{'a':1}]}", "{'a':1}", NULL, NULL},
	{"{'enum':[1,'a']}", "'b'", "input: must be one of 1, \"a\"", NULL},
	{"{'enum':[0]}", "false", "input: must be one of 0", NULL},
	{"{'enum':['\\u001b[31m']}", "1", "input: must be one of \"\\u001B[31m\"", NULL},
	{"{'const':{'a':1,'b':[true]}}", "{'b':[true],'a':1.0}", NULL, NULL},
	{"{'const':{'a':1,'b':[true]}}", "{'b':[1],'a':1}", "input: must be {\"a\":1,\"b\":[true]}",
		NULL},
	{"{'const':null}", "null", NULL, NULL},
	{"{'const':9007199254740993}", "9007199254740993", NULL, NULL},
	{"{'const':9007199254740993}", "9007199254740992.0", "input: must be 9007199254740993",
		NULL},
	{"{'title':'x','description':'y','default':7,'examples':[1],'x-mine':{'type':3}}", "'s'",
		NULL, NULL},
	{"{'format':'email'}", "'no address'", NULL, NULL},
};

static const struct row numbers[] = {
	{"{'minimum':1.1}", "1.1", NULL, NULL},
	{"{'minimum':1.1}", "1", "input: must be at least 1.1", NULL},
	{"{'minimum':9007199254740993}", "9007199254740992", "input: must be at least", NULL},
	{"{'maximum':3}", "3.0", NULL, NULL},
	{"{'maximum':3}", "3.5", "input: must be at most 3", NULL},
	{"{'maximum':3}", "'9'", NULL, NULL},
	{"{'exclusiveMinimum':3}", "4", NULL, NULL},
	{"{'exclusiveMinimum':3}", "3", "input: must be more than 3", NULL},
	{"{'exclusiveMaximum':3}", "2.9", NULL, NULL},
	{"{'exclusiveMaximum':3}", "3", "input: must be less than 3", NULL},
	{"{'multipleOf':2}", "-10", NULL, NULL},
	{"{'multipleOf':2}", "7", "input: must be a multiple of 2", NULL},
	{"{'multipleOf':2}", "4.0", NULL, NULL},
	{"{'multipleOf':1}", "2251799813685249.5", "input: must be a multiple of 1", NULL},
	{"{'multipleOf':0.1}", "0.3", NULL, NULL},
	{"{'multipleOf':0.1}", "0.35", "input: must be a multiple of 0.1", NULL},
	{"{'multipleOf':0.01}", "19.99", NULL, NULL},
	{"{'multipleOf':0.01}", "19.995", "input: must be a multiple of", NULL},
	{"{'multipleOf':0.0001}", "0.0075", NULL, NULL},
	{"{'multipleOf':0.0001}", "0.00751", "input: must be a multiple of", NULL},
	{"{'multipleOf':0.123456789}", "1e308", "input: must be a multiple of", NULL},
	{"{'multipleOf':3}", "9223372036854775806", NULL, NULL},
	{"{'multipleOf':3}", "9223372036854775807", "input: must be a multiple of 3", NULL},
	{"{'multipleOf':-1}", "-9223372036854775808", NULL, NULL},
};

static const struct row strings[] = {
	{"{'minLength':2}", "'\\ud83d\\ude00\\u00e9'", NULL, NULL},
	{"{'minLength':3}", "'\\ud83d\\ude00\\u00e9'",
		"input: must be at least 3 characters long, got 2", NULL},
	{"{'maxLength':2.0}", "'\\ud83d\\ude00\\u00e9'", NULL, NULL},
	{"{'maxLength':1}", "'ab'", "input: must be at most 1 character long, got 2", NULL},
	{"{'maxLength':1}", "[1,2]", NULL, NULL},
	{"{'maxLength':1e300}", "'x'", NULL, NULL},
	{"{'pattern':'^[0-9]{4}-[0-9]{2}$'}", "'2026-01'", NULL, NULL},
	{"{'pattern':'^[0-9]{4}-[0-9]{2}$'}", "'2026-1'",
		"input: does not match the pattern '^[0-9]{4}-[0-9]{2}$'", NULL},
	{"{'pattern':'^a$'}", "'a\\n'", "input: does not match", NULL},
	{"{'pattern':'b+'}", "'abbc'", NULL, NULL},
	{"{'pattern':'^.$'}", "'\\u00e9'", NULL, NULL},
	{"{'pattern':'^\\\\u00e9$'}", "'\\u00e9'", NULL, NULL},
	{"{'pattern':'^\\\\d$'}", "'\\u0967'", "input: does not match", NULL},
	{"{'pattern':'^\\\\p{Lu}'}", "'\\u00c9x'", NULL, NULL},
	{"{'pattern':'x'}", "3", NULL, NULL},
	{"{'pattern':'^[]$'}", "''", "input: does not match", NULL},
	{"{'pattern':'^a\\\\u0000b$'}", "'a\\u0000b'", NULL, NULL},
};

static const struct row arrays[] = {
	{"{'items':{'type':'integer'}}", "[1,2]", NULL, NULL},
	{"{'items':{'type':'integer'}}", "[1,'x',null]", "input[1]: expected integer, got string",
		NULL},
	{"{'items':false}", "[]", NULL, NULL},
	{"{'items':false}", "[1]", "input: must have at most 0 items, got 1", NULL},
	{"{'items':{'type':'integer'}}", "{'0':'x'}", NULL, NULL},
	{"{'prefixItems':[{'type':'string'},{'type':'integer'}]}", "['a']", NULL, NULL},
	{"{'prefixItems':[{'type':'string'},{'type':'integer'}]}", "['a',1,null]", NULL, NULL},
	{"{'prefixItems':[{'type':'string'},{'type':'integer'}]}", "['a','b']",
		"input[1]: expected integer, got string", NULL},
	{"{'prefixItems':[true],'items':false}", "[1]", NULL, NULL},
	{"{'prefixItems':[true],'items':false}", "[1,2]", "input: must have at most 1 item, got 2",
		NULL},
	{"{'prefixItems':[true],'items':{'type':'null'}}", "[1,null]", NULL, NULL},
	{"{'prefixItems':[true],'items':{'type':'null'}}", "[1,null,2]",
		"input[2]: expected null, got integer", NULL},
	{"{'minItems':1}", "[1]", NULL, NULL},
	{"{'minItems':1}", "[]", "input: must have at least 1 item, got 0", NULL},
	{"{'minItems':1}", "{}", NULL, NULL},
	{"{'maxItems':2}", "[1,2]", NULL, NULL},
	{"{'maxItems':2}", "[1,2,3]", "input: must have at most 2 items, got 3", NULL},
	{"{'contains':{'const':5}}", "[1,5]", NULL, NULL},
	{"{'contains':{'const':5}}", "[1,2]",
		"input: must hold at least 1 item that fits 'contains'", NULL},
	{"{'contains':{'const':5},'minContains':0}", "[]", NULL, NULL},
	{"{'contains':{'const':5},'minContains':2}", "[5,1,5]", NULL, NULL},
	{"{'contains':{'const':5},'minContains':2}", "[5,1]",
		"input: must hold at least 2 items that fit 'contains'", NULL},
	{"{'contains':{'const':5},'maxContains':1}", "[5,1,5]",
		"input: must hold at most 1 item that fits 'contains'", NULL},
	{"{'maxContains':1}", "[5,5]", NULL, NULL},
	{"{'uniqueItems':true}", "[1,true,'1',[1],[true],{'a':1},{'a':2},null]", NULL, NULL},
	{"{'uniqueItems':true}", "[0,1,1.0]", "input: items 1 and 2 are the same", NULL},
	{"{'uniqueItems':true}", "[0.0,-0.0]", "input: items 0 and 1 are the same", NULL},
	{"{'uniqueItems':true}", "[{'a':1,'b':2},3,{'b':2,'a':1}]",
		"input: items 0 and 2 are the same", NULL},
	{"{'uniqueItems':true}", "[[[1]],[[1]]]", "input: items 0 and 1 are the same", NULL},
	{"{'uniqueItems':true}", "[9007199254740993,9007199254740992]", NULL, NULL},
	{"{'uniqueItems':false}", "[1,1]", NULL, NULL},
};

#define MONTH "{'properties':{'month':{'type':'string'},'n':{}},'required':['month']}"
#define CLOSED                                                                           \
	"{'properties':{'month':{},'n':{}},'patternProperties':{'^x-':{'type':'null'}}," \
	"'additionalProperties':false}"

static const struct row objects[] = {
	{MONTH, "{'month':'x'}", NULL, NULL},
	{MONTH, "{'month':7}", "input.month: expected string, got integer", NULL},
	{MONTH, "{'n':7}", "input.month: " MISSING, NULL},
	{MONTH, "[]", NULL, NULL},
	{"{'properties':{'a':{'items':{'properties':{'b c':{'type':'null'}}}}}}",
		"{'a':[{},{'b c':1}]}", "input.a[1][\"b c\"]: expected null, got integer", NULL},
	{"{'properties':{'a':false}}", "{'b':1}", NULL, NULL},
	{"{'properties':{'a':false}}", "{'a':1}", "input.a: must not be there", NULL},
	{"{'additionalProperties':{'type':'null'}}", "{'\\u001b[2J':1}",
		"input[\"\\u001B[2J\"]: expected null, got integer", NULL},
	{"{'additionalProperties':{'type':'null'}}", "{'a\\u007f\\u009b':1}",
		"input[\"a?\\u009B\"]: expected null, got integer", NULL},
	{CLOSED, "{'month':1,'n':2,'x-a':null}", NULL, NULL},
	{CLOSED, "{'mnoth':1}", "input.mnoth: no such member", "did you mean 'month'?"},
	{CLOSED, "{'quite':1}", "input.quite: no such member", "the members are: month, n"},
	{CLOSED, "{'x-a':1}", "input.x-a: expected null, got integer", NULL},
	{"{'properties':{'a':{}},'additionalProperties':{'type':'integer'}}", "{'a':'x','b':1}",
		NULL, NULL},
	{"{'properties':{'a':{}},'additionalProperties':{'type':'integer'}}", "{'a':'x','b':'y'}",
		"input.b: expected integer, got string", NULL},
	{"{'patternProperties':{'^a':{'type':'integer'},'b$':{'minimum':3}}}", "{'ab':3,'c':''}",
		NULL, NULL},
	{"{'patternProperties':{'^a':{'type':'integer'},'b$':{'minimum':3}}}", "{'ab':2}",
		"input.ab: must be at least 3", NULL},
	{"{'propertyNames':{'pattern':'^[a-z]+$'}}", "{'abc':1}", NULL, NULL},
	{"{'propertyNames':{'pattern':'^[a-z]+$'}}", "{'abc':1,'A':2}",
		"input.A: the member's name is not allowed", NULL},
	{"{'propertyNames':{'maxLength':2}}", "{}", NULL, NULL},
	{"{'minProperties':1}", "{'a':1}", NULL, NULL},
	{"{'minProperties':1}", "{}", "input: must have at least 1 member, got 0", NULL},
	{"{'maxProperties':1}", "{'a':1}", NULL, NULL},
	{"{'maxProperties':1}", "{'a':1,'b':2}", "input: must have at most 1 member, got 2", NULL},
	{"{'dependentRequired':{'a':['b','c']}}", "{'b':1}", NULL, NULL},
	{"{'dependentRequired':{'a':['b','c']}}", "{'a':1,'b':1,'c':1}", NULL, NULL},
	{"{'dependentRequired':{'a':['b','c']}}", "{'a':1,'b':1}",
		"input.c: missing, and required with 'a'", NULL},
	{"{'dependentSchemas':{'a':{'maxProperties':1}}}", "{'b':1,'c':2}", NULL, NULL},
	{"{'dependentSchemas':{'a':{'maxProperties':1}}}", "{'a':1,'c':2}",
		"input: must have at most 1 member, got 2", NULL},
	{"{'required':['toString']}", "{}", "input.toString: " MISSING, NULL},
};

#define NULLABLE "{'anyOf':[{'type':'string'},{'type':'null'}]}"
#define TREE                                                                                 \
	"{'$ref':'#/$defs/node','$defs':{'node':{'type':'object','properties':{'v':{'type':" \
	"'integer'},'kids':{'items':{'$ref':'#/$defs/node'}}},'required':['v']}}}"
#define IF_THEN                                                                                \
	"{'if':{'properties':{'k':{'const':'a'}},'required':['k']},'then':{'required':['x']}," \
	"'else':{'required':['y']}}"

static const struct row combined[] = {
	{"{'allOf':[{'minimum':1},{'maximum':3}]}", "2", NULL, NULL},
	{"{'allOf':[{'minimum':1},{'maximum':3}]}", "4", "input: must be at most 3", NULL},
	{NULLABLE, "null", NULL, NULL},
	{NULLABLE, "1", "input: expected string or null, got integer", NULL},
	{"{'anyOf':[{'type':'string','maxLength':2},{'type':'integer'}]}", "'abc'",
		"input: must be at most 2 characters long, got 3", NULL},
	{"{'anyOf':[{'minimum':5},{'maximum':1}]}", "3",
		"input: fits none of the 2 alternatives (anyOf)", NULL},
	{"{'anyOf':[false,true]}", "3", NULL, NULL},
	{"{'oneOf':[{'multipleOf':2},{'multipleOf':3}]}", "9", NULL, NULL},
	{"{'oneOf':[{'multipleOf':2},{'multipleOf':3}]}", "6",
		"input: fits alternatives 0 and 1, may fit one (oneOf)", NULL},
	{"{'oneOf':[{'multipleOf':2},{'multipleOf':3}]}", "7",
		"input: fits none of the 2 alternatives (oneOf)", NULL},
	{"{'not':{'type':'string'}}", "1", NULL, NULL},
	{"{'not':{'type':'string'}}", "'x'", "input: is what the schema rules out (not)", NULL},
	{"{'not':{'not':{'type':'string'}}}", "1", "input: is what the schema rules out", NULL},
	{IF_THEN, "{'k':'a','x':1}", NULL, NULL},
	{IF_THEN, "{'k':'a','y':1}", "input.x: " MISSING, NULL},
	{IF_THEN, "{'k':'b','y':1}", NULL, NULL},
	{IF_THEN, "{'x':1}", "input.y: " MISSING, NULL},
	{"{'then':false,'else':false}", "1", NULL, NULL},
	{TREE, "{'v':1,'kids':[{'v':2,'kids':[{'v':3}]}]}", NULL, NULL},
	{TREE, "{'v':1,'kids':[{'v':2,'kids':[{'v':'3'}]}]}",
		"input.kids[0].kids[0].v: expected integer, got string", NULL},
	{"{'properties':{'a':{'$ref':'#'}},'additionalProperties':false}", "{'a':{'a':{}}}", NULL,
		NULL},
	{"{'properties':{'a':{'$ref':'#'}},'additionalProperties':false}", "{'a':{'b':{}}}",
		"input.a.b: no such member", NULL},
	{"{'$ref':'#/$defs/a~1b~0c%25d','$defs':{'a/b~c%d':{'type':'null'}}}", "1",
		"input: expected null, got integer", NULL},
	{"{'$ref':'#/allOf/1','allOf':[{},{'type':'null'}]}", "1", "input: expected null", NULL},
	{"{'definitions':{'s':{'type':'string'}},'properties':{'a':{'$ref':'#/definitions/s',"
	 "'maxLength':1}}}",
		"{'a':'xx'}", "input.a: must be at most 1 character long", NULL},
	{"{'properties':{'$ref':{'type':'string'}}}", "{'$ref':1}",
		"input.$ref: expected string, got integer", NULL},
	{"{'x-defs':{'s':{'type':'string'}},'$ref':'#/x-defs/s'}", "1", "input: expected string",
		NULL},
};

/* JSON with ' for ", for the reader's sake. */
static json_t *json(const char *text)
{
	char *copy = strdup(text);
	for (char *s = copy; *s; s++)
		*s = *s == '\'' ? '"' : *s;
	json_t *j = json_loads(copy, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (!j)
		printf("Bail out! not JSON: %s\n", copy);
	free(copy);
	return j;
}

static void check_rows(struct tap *t, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct err ce = {0}, e = {0};
		char name[300];
		JSON_AUTO schema = json(rows[i].schema);
		JSON_AUTO value = json(rows[i].value);
		bool negative = strcmp(rows[i].schema, "{'multipleOf':-1}") == 0;
		if (schema_check_schema(schema, &ce) < 0 && !negative)
			ok(t, false, "not a schema: %s: %s", rows[i].schema, ce.msg);
		int rc = schema_validate(schema, value, &e);
		snprintf(name, sizeof name, "%s %s", rows[i].schema, rows[i].value);
		if (rows[i].msg)
			says(t, &e, ERR_USAGE, rows[i].msg, rows[i].hint, name);
		else
			ok(t, rc == 0 && e.code == 0, "%s passes %s", name, e.msg);
	}
}

static const struct row bad_schemas[] = {
	{"3", "", "a schema must be an object, or true or false", NULL},
	{"null", "", "a schema must be an object", NULL},
	{"{'type':'strin'}", "", "type: 'strin' is not a type", "did you mean 'string'?"},
	{"{'type':'zzzzzzzz'}", "", "type: 'zzzzzzzz' is not a type", "the types are"},
	{"{'type':['string','string']}", "", "type[1]: a type is named twice", NULL},
	{"{'type':[]}", "", "type: must be a type or a list", NULL},
	{"{'type':3}", "", "type: a type must be text", NULL},
	{"{'properties':[]}", "", "properties: must be an object of schemas", NULL},
	{"{'properties':{'a':{'items':{'type':'x y'}}}}", "", "properties.a.items.type: ", NULL},
	{"{'required':'a'}", "", "required: must be a list of names", NULL},
	{"{'required':[1]}", "", "required[0]: a name must be text", NULL},
	{"{'minLength':-1}", "", "minLength: must be a whole number", NULL},
	{"{'minLength':1.5}", "", "minLength: must be a whole number", NULL},
	{"{'maxItems':'3'}", "", "maxItems: must be a whole number", NULL},
	{"{'minimum':'3'}", "", "minimum: must be a number", NULL},
	{"{'exclusiveMinimum':true}", "", "exclusiveMinimum: must be a number", "write the bound"},
	{"{'multipleOf':0}", "", "multipleOf: must be more than 0", NULL},
	{"{'uniqueItems':1}", "", "uniqueItems: must be true or false", NULL},
	{"{'enum':[]}", "", "enum: must be a list of one or more values", NULL},
	{"{'enum':'a'}", "", "enum: must be a list", NULL},
	{"{'items':[{}]}", "", "items: must be one schema", "prefixItems"},
	{"{'items':3}", "", "items: a schema must be an object", NULL},
	{"{'allOf':[]}", "", "allOf: must be a list of one or more schemas", NULL},
	{"{'anyOf':[{},3]}", "", "anyOf[1]: a schema must be an object", NULL},
	{"{'pattern':'('}", "", "pattern: not a pattern: missing closing parenthesis, at byte 1",
		NULL},
	{"{'pattern':3}", "", "pattern: must be text", NULL},
	{"{'pattern':'(((a{500}){500}){500})'}", "", "pattern: not a pattern: ", NULL},
	{"{'pattern':'\\\\C'}", "", "pattern: not a pattern: ", NULL},
	{"{'patternProperties':{'*':{}}}", "", "patternProperties[\"*\"]: not a pattern", NULL},
	{"{'dependentRequired':{'a':'b'}}", "", "dependentRequired.a: must be a list", NULL},
	{"{'dependentRequired':['a']}", "", "dependentRequired: must be an object", NULL},
	{"{'dependencies':{}}", "", "dependencies: 'dependencies' is not supported",
		"dependentRequired"},
	{"{'unevaluatedProperties':false}", "", "unevaluatedProperties: ", "additionalProperties"},
	{"{'$dynamicRef':'#x'}", "", "$dynamicRef: '$dynamicRef' is not supported", "use $ref"},
	{"{'$ref':'other.json'}", "", "$ref: 'other.json' is not local", "#/$defs/NAME"},
	{"{'$ref':'#name'}", "", "$ref: '#name' is not local", NULL},
	{"{'$ref':'file:///etc/passwd'}", "", "$ref: 'file:///etc/passwd' is not local", NULL},
	{"{'$ref':3}", "", "$ref: must be text", NULL},
	{"{'$ref':'#/a'}", "", "$ref: there is no '#/a' in this schema", NULL},
	{"{'$ref':'#/required','required':['a']}", "", "$ref: '#/required' is not a schema", NULL},
	{"{'$ref':'#/%zz'}", "", "$ref: there is no", NULL},
	{"{'$ref':'#/~2'}", "", "$ref: there is no", NULL},
	{"{'$ref':'#/allOf/01','allOf':[true,true]}", "", "$ref: there is no", NULL},
	{"{'$ref':'#/x/y','x':{'y':{'type':'int'}}}", "", "[\"#/x/y\"].type: 'int' is not",
		"integer"},
	{"{'properties':{'a':{'$id':'x'}}}", "", "properties.a.$id: '$id' is supported at the top",
		NULL},
	{"{'if':3}", "", "if: a schema must be", NULL},
	{"{'description':3}", "", "description: must be text", NULL},
	{"{'$id':'https://x.example/y','$schema':'z','$anchor':'q'}", "", NULL, NULL},
	{"{'$defs':{'a':{'$ref':'#/$defs/b'},'b':{'$ref':'#/$defs/a'}}}", "", NULL, NULL},
	{"{'$defs':{'a':true},'$ref':'#/$defs/a'}", "", NULL, NULL},
};

static void check_bad_schemas(struct tap *t)
{
	for (size_t i = 0; i < sizeof bad_schemas / sizeof *bad_schemas; i++) {
		const struct row *r = &bad_schemas[i];
		struct err e = {0};
		JSON_AUTO schema = json(r->schema);
		int rc = schema_check_schema(schema, &e);
		if (r->msg)
			says(t, &e, ERR_USAGE, r->msg, r->hint, r->schema);
		else
			ok(t, rc == 0, "%s is a schema %s", r->schema, e.msg);
	}
}

static void check_where(struct tap *t)
{
	STRV_AUTO where = {0};
	struct err e = {0};
	JSON_AUTO schema = json("{'allOf':[true,{'properties':{'a b':{'type':['null','x']}}}]}");
	schema_check_schema_at(schema, &where, &e);
	char *all = strv_join(&where, "|");
	ok(t, all && strcmp(all, "allOf|1|properties|a b|type|1") == 0, "where: %s", all);
	free(all);
}

/* A schema and a value that would take for ever: said to, within seconds, and never passed. */
static void check_bounded(
	struct tap *t, const char *name, const json_t *schema, const json_t *value, const char *msg)
{
	struct err ce = {0}, e = {0};
	int64_t start = clock_mono_ms();
	ok(t, schema_check_schema(schema, &ce) == 0, "%s: a schema %s", name, ce.msg);
	int rc = schema_validate(schema, value, &e);
	if (msg)
		says(t, &e, ERR_USAGE, msg, NULL, name);
	else
		ok(t, rc == 0, "%s: passes %s", name, e.msg);
	int64_t ms = clock_mono_ms() - start;
	ok(t, ms < 30000, "%s: bounded: %lld ms", name, (long long)ms);
}

#define TOO_LONG "takes too long to check against the schema"

/* Twenty definitions, each needing the next twice over: 2^20 and more, with one verdict. */
static void check_exponential(struct tap *t)
{
	BUF_AUTO b = {0};
	buf_adds(&b, "{'$ref':'#/$defs/d0','$defs':{");
	for (int i = 0; i < 30; i++)
		buf_addf(&b, "'d%d':{'allOf':[{'$ref':'#/$defs/d%d'},{'$ref':'#/$defs/d%d'}]},", i,
			i + 1, i + 1);
	buf_adds(&b, "'d30':true}}");
	JSON_AUTO schema = json(buf_str(&b));
	JSON_AUTO value = json("1");
	check_bounded(t, "2^30 references", schema, value, "input: " TOO_LONG);
	JSON_AUTO not = json_pack("{s:O, s:{s:s}}", "$defs", json_object_get(schema, "$defs"),
		"not", "$ref", "#/$defs/d0");
	check_bounded(t, "2^30 references, in a not", not, value, "input: " TOO_LONG);
	JSON_AUTO any = json_pack("{s:O, s:[{s:s}, b]}", "$defs", json_object_get(schema, "$defs"),
		"anyOf", "$ref", "#/$defs/d0", 1);
	check_bounded(t, "2^30 references, in an anyOf", any, value, "input: " TOO_LONG);
}

static void check_loops(struct tap *t)
{
	JSON_AUTO value = json("1");
	JSON_AUTO self = json("{'$ref':'#'}");
	check_bounded(
		t, "itself", self, value, "input: the value or the schema is nested too deeply");
	JSON_AUTO not = json("{'not':{'$ref':'#'}}");
	check_bounded(t, "not itself", not, value, "input: the value or the schema is nested");
	JSON_AUTO pair = json(
		"{'$ref':'#/$defs/a','$defs':{'a':{'$ref':'#/$defs/b'},'b':{'$ref':'#/$defs/a'}}}");
	check_bounded(
		t, "two in a circle", pair, value, "input: the value or the schema is nested");
}

static json_t *repeated(const char *s, size_t n, const char *tail)
{
	BUF_AUTO b = {0};
	for (size_t i = 0; i < n; i++)
		buf_adds(&b, s);
	buf_adds(&b, tail);
	return json_stringn(b.data, b.len);
}

static void check_patterns(struct tap *t)
{
	static const struct {
		const char *pattern, *s;
		size_t n;
		const char *tail;
		const char *msg;
	} rows[] = {
		{"^(a+)+$", "a", 40, "b", "input: " TOO_LONG},
		{"^(a|aa)+$", "a", 60, "b", "input: " TOO_LONG},
		{"^([a-z]+)*[0-9]$", "a", 1000, "!", "input: " TOO_LONG},
		{"x*[yz]", "x", 1000000, "", "input: " TOO_LONG},
		{"(.*)(.*)(.*)(.*)(.*)[^a]$", "a", 2000, "", "input: " TOO_LONG},
		{"(a{1,30000})\\1[bc]", "a", 500000, "", "input: " TOO_LONG},
		{"^(?:(?=(a+))\\1)*+b", "a", 100000, "", "input: does not match"},
		{"a{30000}b|a{30000}c", "a", 900000, "", "input: " TOO_LONG},
		{"^((a|b)(?2)*)*[cd]", "ab", 200, "", "input: " TOO_LONG},
		{"^[a-z]+$", "a", 1000000, "", NULL},
		{"^(?:[a-z]+ ?)+$", "word ", 10000, "", NULL},
		{"needle$", "a", 1000000, "needle", NULL},
		{"^(((((((((a*)*)*)*)*)*)*)*)*)*$", "a", 100, "b", "input: " TOO_LONG},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		JSON_AUTO schema = json_pack("{s:s}", "pattern", rows[i].pattern);
		JSON_AUTO value = repeated(rows[i].s, rows[i].n, rows[i].tail);
		check_bounded(t, rows[i].pattern, schema, value, rows[i].msg);
	}
}

static void check_sizes(struct tap *t)
{
	JSON_AUTO many = json_array();
	JSON_AUTO nested = json_array();
	for (int i = 0; i < 200000; i++) {
		json_array_append_new(many, json_pack("{s:i, s:s}", "id", i, "k", "v"));
		json_array_append_new(nested, json_integer(7));
	}
	JSON_AUTO rows =
		json("{'type':'array','uniqueItems':true,'items':{'type':'object','properties':"
		     "{'id':{'type':'integer','minimum':0},'k':{'type':'string'}},"
		     "'required':['id']}}");
	check_bounded(t, "200,000 honest rows", rows, many, NULL);
	JSON_AUTO unique = json("{'uniqueItems':true}");
	check_bounded(
		t, "200,000 times the same", unique, nested, "input: items 0 and 1 are the same");
	JSON_AUTO each = json("{'items':{'not':{'pattern':'^(a+)+$'}}}");
	JSON_AUTO words = json_array();
	for (int i = 0; i < 20000; i++)
		json_array_append_new(words, json_string("aaaaaaaaaab"));
	check_bounded(t, "20,000 times a small explosion", each, words, "input[1");
}

/* A value as deep as a parser lets through, against a schema that follows it down. */
static void check_depth(struct tap *t)
{
	json_t *v = json_array();
	for (int i = 0; i < 700; i++)
		v = json_pack("[o]", v);
	JSON_AUTO deep = v;
	JSON_AUTO schema = json("{'items':{'$ref':'#'}}");
	check_bounded(t, "700 deep, two steps each", schema, deep, "input[0][0][0]");
	JSON_AUTO kids = json("{'items':{'items':{'items':{'type':'array'}}}}");
	check_bounded(t, "700 deep, three looked at", kids, deep, NULL);
	JSON_AUTO same = json_pack("{s:o}", "const", json_deep_copy(deep));
	check_bounded(t, "700 deep, the same", same, deep, NULL);
}

static void check_names(struct tap *t)
{
	struct err e = {0};
	JSON_AUTO schema = json("{'properties':{'a':{'type':'null'}}}");
	JSON_AUTO value = json("{'a':1}");
	schema_validate_as("output", schema, value, &e);
	says(t, &e, ERR_USAGE, "output.a: expected null", NULL, "the root's name");
	struct err le = {0};
	JSON_AUTO s2 = json("{'additionalProperties':false}");
	JSON_AUTO v2 = json_object();
	json_t *name = repeated("n", 500, "");
	json_object_set_new(v2, json_string_value(name), json_null());
	json_decref(name);
	schema_validate(s2, v2, &le);
	ok(t, strlen(le.msg) < 120 && strstr(le.msg, "no such member"), "a long name is cut: %s",
		le.msg);
}

#define ROWS(x) x, sizeof x / sizeof *x

int main(void)
{
	struct tap t = {0};
	check_rows(&t, ROWS(types));
	check_rows(&t, ROWS(numbers));
	check_rows(&t, ROWS(strings));
	check_rows(&t, ROWS(arrays));
	check_rows(&t, ROWS(objects));
	check_rows(&t, ROWS(combined));
	check_bad_schemas(&t);
	check_where(&t);
	check_exponential(&t);
	check_loops(&t);
	check_patterns(&t);
	check_sizes(&t);
	check_depth(&t);
	check_names(&t);
	return tap_done(&t);
}
