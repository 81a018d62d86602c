/* The schema of an entry function, and what is said of a schema that the function does not fit. */
#include "../lib/tap.h"

#include "base/buf.h"
#include "manifest/derive.h"

#include <stdlib.h>
#include <string.h>

/* One tool whose entry is a.py:f; `input` is YAML for it, "" for none. */
static bool derive(const char *input, const char *const *files, struct manifest *m)
{
	BUF_AUTO yaml = {0};
	struct tree_file all[8] = {{0}};
	struct tree t = {.files = all};
	struct err e = {0};
	buf_addf(&yaml, "name: x\ntools:\n- name: t\n  entry: a.py:f\n%s%s\n",
		*input ? "  input: " : "", input);
	for (; files[2 * t.n]; t.n++)
		all[t.n] = (struct tree_file){.path = (char *)(uintptr_t)files[2 * t.n],
			.data = (char *)(uintptr_t)files[2 * t.n + 1],
			.n = strlen(files[2 * t.n + 1])};
	return manifest_parse(m, "expert.yaml", buf_str(&yaml), yaml.len, &e) == 0 &&
	       derive_from_tree(m, &t, &e) == 0;
}

static void check_input(struct tap *t, const char *name, const char *input,
	const char *const *files, const char *want)
{
	MANIFEST_AUTO m = {0};
	BUF_AUTO got = {0};
	if (!derive(input, files, &m)) {
		ok(t, false, "%s: an error", name);
		return;
	}
	if (m.tools[0].input)
		json_to_buf(m.tools[0].input, &got);
	ok(t, strcmp(buf_str(&got), want) == 0, "%s", name);
	if (strcmp(buf_str(&got), want) != 0)
		printf("# got  %s\n# want %s\n", buf_str(&got), want);
}

/* ---- annotations: "def f(x: ANNOTATION)" to the schema of x ---------------------------------- */

struct annotation {
	const char *text, *schema;
};

static const char prelude[] =
	"import enum, typing, typing as t\n"
	"import collections.abc as abc\n"
	"import models\n"
	"from dataclasses import dataclass, field, InitVar\n"
	"from datetime import date\n"
	"from typing import *\n"
	"from typing import Annotated, Any, ClassVar, Dict, Final, List, Literal, NewType, NotRequired, "
	"Optional, Required, Tuple, TypedDict, Union\n"
	"from models import Colour, Lead as Person, Level\n"
	"Id = NewType('Id', int)\n"
	"Month = Literal['jan', 'feb']\n"
	"Either = int | str\n"
	"Alias = Month\n"
	"if x: Twice = int\n"
	"else: Twice = str\n"
	"class Auto(enum.StrEnum):\n"
	"    \"\"\"Kinds.\"\"\"\n"
	"    ONE = enum.auto()\n"
	"    TWO = enum.auto()\n"
	"class Computed(enum.Enum):\n"
	"    A = len('x')\n"
	"class Named(TypedDict, total=False):\n"
	"    \"\"\"A name.\n\n"
	"    Attributes:\n"
	"        first: the first one\n"
	"    \"\"\"\n"
	"    first: Required[str]\n"
	"    last: str\n"
	"class More(Named):\n"
	"    age: int\n"
	"    nick: NotRequired[str]\n"
	"@dataclass(frozen=True)\n"
	"class Trip:\n"
	"    to: str\n"
	"    count: ClassVar[int] = 0\n"
	"    nights: int = 1\n"
	"    tags: list[str] = field(default_factory=list)\n"
	"    hidden: int = field(init=False, default=3)\n"
	"    legs: 'list[Trip] | None' = None\n"
	"@dataclass\n"
	"class Odd(Exception):\n"
	"    a: int\n"
	"@dataclass\n"
	"class Own:\n"
	"    a: int\n"
	"    def __init__(self, b): pass\n"
	"class Plain:\n"
	"    pass\n";

static const char models[] = "import enum\nfrom dataclasses import dataclass\n"
			     "class Colour(str, enum.Enum):\n    RED = 'red'\n    BLUE = 'blue'\n"
			     "    def nice(self): return self.value\n"
			     "class Level(enum.IntEnum):\n    LOW = 1\n    HIGH = 0x10\n"
			     "@dataclass\nclass Base:\n    id: int\n"
			     "@dataclass\nclass Lead(Base):\n    mail: str = ''\n";

#define LEAD                                                                                     \
	"{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"integer\"},\"mail\":{\"type\":" \
	"\"string\",\"default\":\"\"}},\"required\":[\"id\"],\"additionalProperties\":false}"

static const struct annotation annotations[] = {
	{"int", "{\"type\":\"integer\"}"},
	{"float", "{\"type\":\"number\"}"},
	{"str", "{\"type\":\"string\"}"},
	{"bool", "{\"type\":\"boolean\"}"},
	{"None", "{\"type\":\"null\"}"},
	{"list", "{\"type\":\"array\"}"},
	{"dict", "{\"type\":\"object\"}"},
	{"bytes", "{}"},
	{"date", "{}"},
	{"Any", "{}"},
	{"Plain", "{}"},
	{"nowhere", "{}"},
	{"models", "{}"},
	{"'int'", "{\"type\":\"integer\"}"},
	{"'not a type('", "{}"},
	{"'list[\\n int]'", "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}"},
	{"list[int]", "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}"},
	{"List['str']", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"},
	{"t.List[t.Any]", "{\"type\":\"array\"}"},
	{"abc.Sequence[float]", "{\"type\":\"array\",\"items\":{\"type\":\"number\"}}"},
	{"tuple[int, ...]", "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}"},
	{"Tuple[int, str]", "{\"type\":\"array\"}"},
	{"dict[str, int]", "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}}"},
	{"typing.Dict[str, Any]", "{\"type\":\"object\"}"},
	{"Optional[int]", "{\"type\":[\"integer\",\"null\"]}"},
	{"int | None", "{\"type\":[\"integer\",\"null\"]}"},
	{"Union[int, str, None]", "{\"type\":[\"integer\",\"string\",\"null\"]}"},
	{"Either", "{\"type\":[\"integer\",\"string\"]}"},
	{"int | nowhere", "{}"},
	{"list[int] | str", "{\"anyOf\":[{\"type\":\"array\",\"items\":{\"type\":\"integer\"}},"
			    "{\"type\":\"string\"}]}"},
	{"Optional[list[int]]", "{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"integer\"}}"},
	{"Literal['a', 'b']", "{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}"},
	{"Literal['a', 1, -2, None]",
		"{\"type\":[\"string\",\"integer\",\"null\"],\"enum\":[\"a\",1,-2,null]}"},
	{"Literal[Month, 'mar']", "{\"type\":\"string\",\"enum\":[\"jan\",\"feb\",\"mar\"]}"},
	{"Literal[b'x']", "{}"},
	{"Optional[Month]", "{\"type\":[\"string\",\"null\"],\"enum\":[\"jan\",\"feb\",null]}"},
	{"Alias", "{\"type\":\"string\",\"enum\":[\"jan\",\"feb\"]}"},
	{"Twice", "{}"},
	{"Id", "{\"type\":\"integer\"}"},
	{"Final[int]", "{\"type\":\"integer\"}"},
	{"Annotated[int, 'how  many']", "{\"type\":\"integer\",\"description\":\"how many\"}"},
	{"Colour", "{\"type\":\"string\",\"enum\":[\"red\",\"blue\"]}"},
	{"models.Level", "{\"type\":\"integer\",\"enum\":[1,16]}"},
	{"Auto", "{\"type\":\"string\",\"enum\":[\"one\",\"two\"]}"},
	{"Computed", "{}"},
	{"Named", "{\"type\":\"object\",\"properties\":{\"first\":{\"type\":\"string\","
		  "\"description\":\"the first one\"},\"last\":{\"type\":\"string\"}},"
		  "\"required\":[\"first\"],\"description\":\"A name.\"}"},
	{"More", "{\"type\":\"object\",\"properties\":{\"first\":{\"type\":\"string\","
		 "\"description\":\"the first one\"},\"last\":{\"type\":\"string\"},"
		 "\"age\":{\"type\":\"integer\"},\"nick\":{\"type\":\"string\"}},"
		 "\"required\":[\"first\",\"age\"]}"},
	{"Trip", "{\"type\":\"object\",\"properties\":{\"to\":{\"type\":\"string\"},\"nights\":"
		 "{\"type\":\"integer\",\"default\":1},\"tags\":{\"type\":\"array\",\"items\":"
		 "{\"type\":\"string\"}},\"legs\":{\"type\":[\"array\",\"null\"],\"items\":"
		 "{\"type\":\"object\"},\"default\":null}},\"required\":[\"to\"],"
		 "\"additionalProperties\":false}"},
	{"Person", LEAD},
	{"models.Lead", LEAD},
	{"Odd", "{}"},
	{"Own", "{}"},
};

static void test_annotations(struct tap *t)
{
	for (size_t i = 0; i < sizeof annotations / sizeof *annotations; i++) {
		BUF_AUTO code = {0};
		BUF_AUTO want = {0};
		buf_addf(&code, "%sdef f(x: %s): pass\n", prelude, annotations[i].text);
		buf_addf(&want,
			"{\"type\":\"object\",\"properties\":{\"x\":%s},\"required\":[\"x\"],"
			"\"additionalProperties\":false}",
			annotations[i].schema);
		const char *files[] = {"a.py", buf_str(&code), "models.py", models, NULL};
		check_input(t, annotations[i].text, "", files, buf_str(&want));
	}
}

/* ---- defaults: "def f(x=DEFAULT)" to the schema of x ----------------------------------------- */

static const struct annotation defaults[] = {
	{"x=1_000", "{\"default\":1000}"},
	{"x=0xff", "{\"default\":255}"},
	{"x=0o17", "{\"default\":15}"},
	{"x=-5", "{\"default\":-5}"},
	{"x=9223372036854775807", "{\"default\":9223372036854775807}"},
	{"x=9223372036854775808", "{}"},
	{"x=1.5", "{\"default\":1.5}"},
	{"x=00.50", "{\"default\":0.5}"},
	{"x=5.", "{\"default\":5.0}"},
	{"x=.5e1", "{\"default\":5.0}"},
	{"x=1j", "{}"},
	{"x=1e999", "{}"},
	{"x=True", "{\"default\":true}"},
	{"x=...", "{}"},
	{"x='a\"\\\\\\n'", "{\"default\":\"a\\\"\\\\\\n\"}"},
	{"x='\\ud800'", "{}"},
	{"x='\\0'", "{}"},
	{"x=b'a'", "{}"},
	{"x=[1, (2,)]", "{\"default\":[1,[2]]}"},
	{"x={'a': [None]}", "{\"default\":{\"a\":[null]}}"},
	{"x={1: 2}", "{}"},
	{"x=LIMIT", "{\"default\":10}"},
	{"x=CHANGED", "{}"},
	{"x=LOOP", "{}"},
	{"x=Colour.RED", "{\"default\":\"red\"}"},
	{"x=len('a')", "{}"},
	{"x: int = None", "{\"type\":[\"integer\",\"null\"],\"default\":null}"},
	{"x: int | str = None", "{\"type\":[\"integer\",\"string\",\"null\"],\"default\":null}"},
	{"x: 'Colour' = Colour.BLUE",
		"{\"type\":\"string\",\"enum\":[\"red\",\"blue\"],\"default\":\"blue\"}"},
};

static void test_defaults(struct tap *t)
{
	for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
		BUF_AUTO code = {0};
		BUF_AUTO want = {0};
		buf_addf(&code,
			"from models import Colour\nLIMIT = 10\nCHANGED = 1\nLOOP = LOOP\n"
			"def g():\n    global CHANGED\ndef f(%s): pass\n",
			defaults[i].text);
		buf_addf(&want,
			"{\"type\":\"object\",\"properties\":{\"x\":%s},"
			"\"additionalProperties\":false}",
			defaults[i].schema);
		const char *files[] = {"a.py", buf_str(&code), "models.py", models, NULL};
		check_input(t, defaults[i].text, "", files, buf_str(&want));
	}
}

/* ---- whole functions ------------------------------------------------------------------------- */

#define EMPTY "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"
#define ONE                                                                    \
	"{\"type\":\"object\",\"properties\":{\"x\":{}},\"required\":[\"x\"]," \
	"\"additionalProperties\":false}"
#define LAX "{\"type\":\"object\",\"properties\":{\"x\":{}}}"

struct whole {
	const char *name, *code, *schema;
};

static const struct whole wholes[] = {
	{"no parameters", "def f(): pass", EMPTY},
	{"async", "async def f(x): pass", ONE},
	{"keyword-only", "def f(*, x): pass", ONE},
	{"*args", "def f(x, *rest): pass", ONE},
	{"positional-only with a default is not offered", "def f(y=1, /, *, x): pass", ONE},
	{"**kwargs", "def f(x, **more): pass",
		"{\"type\":\"object\",\"properties\":{\"x\":{}},\"required\":[\"x\"]}"},
	{"the last definition", "def f(a, b): pass\ndef f(x): pass", ONE},
	{"one that may be", "if y:\n    def f(x): pass", ONE},
	{"either of two", "if y:\n    def f(x): pass\nelse:\n    def f(): pass", ""},
	{"in try", "try:\n    def f(x): pass\nfinally:\n    pass", ONE},
	{"under an alias", "def g(x): pass\nf = g", ONE},
	{"from another file", "from models import g as f", ONE},
	{"from another file, and again", "import models\nf = models.g", ONE},
	{"from outside", "from os import getcwd as f", ""},
	{"an instance", "f = Thing().f", ""},
	{"a class", "class f:\n    def __init__(self, x): pass", ""},
	{"a lambda", "f = lambda x: x", ""},
	{"bound anew in a function", "def f(x): pass\ndef g():\n    global f\n    f = 1", ""},
	{"a cache keeps the parameters",
		"from functools import lru_cache\n@lru_cache(maxsize=1)\ndef f(x): pass", ONE},
	{"another decorator may change them", "@wrap\ndef f(x): pass", LAX},
	{"a star import may have it", "from models import *", ""},
	{"a syntax error", "def f(x:", ""},
	{"docstring: Google",
		"def f(x):\n    '''Does.\n\n    Args:\n        x (int): how\n            many\n"
		"        y: no\n    '''",
		"{\"type\":\"object\",\"properties\":{\"x\":{\"description\":\"how many\"}},"
		"\"required\":[\"x\"],\"additionalProperties\":false}"},
	{"docstring: NumPy",
		"def f(x):\n    '''Does.\n\n    Parameters\n    ----------\n    w, x : int\n"
		"        how\n        many\n    y : int\n        no\n    '''",
		"{\"type\":\"object\",\"properties\":{\"x\":{\"description\":\"how many\"}},"
		"\"required\":[\"x\"],\"additionalProperties\":false}"},
	{"docstring: Sphinx",
		"def f(x):\n    '''Does.\n\n    :param int x: how\n        many\n"
		"    :param xy: no\n    '''",
		"{\"type\":\"object\",\"properties\":{\"x\":{\"description\":\"how many\"}},"
		"\"required\":[\"x\"],\"additionalProperties\":false}"},
	{"docstring: nothing of it", "def f(x):\n    '''Args: x, and\n    x: more'''", ONE},
};

static void test_wholes(struct tap *t)
{
	for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
		const char *files[] = {
			"a.py", wholes[i].code, "models.py", "def g(x): pass\n", NULL};
		check_input(t, wholes[i].name, "", files, wholes[i].schema);
	}
}

/* ---- a schema that is given ------------------------------------------------------------------ */

struct given {
	const char *name, *code, *input, *schema, *fault;
};

static const struct given givens[] = {
	{"closed", "def f(x): pass", "{properties: {x: {type: string}}, required: [x]}",
		"{\"properties\":{\"x\":{\"type\":\"string\"}},\"required\":[\"x\"],"
		"\"additionalProperties\":false}",
		NULL},
	{"a parameter that it does not name", "def f(x=1, y=2): pass",
		"{properties: {x: {type: string}}}",
		"{\"properties\":{\"x\":{\"type\":\"string\"},\"y\":{}},\"additionalProperties\":"
		"false}",
		NULL},
	{"a member without parameter is let in no more", "def f(x=1): pass",
		"{properties: {x: {}, z: {}}}",
		"{\"properties\":{\"x\":{}},\"additionalProperties\":false}", NULL},
	{"unless the schema says so", "def f(x=1): pass",
		"{properties: {x: {}, z: {}}, additionalProperties: true}",
		"{\"properties\":{\"x\":{},\"z\":{}},\"additionalProperties\":true}", NULL},
	{"or the function", "def f(**more): pass", "{properties: {z: {}}, required: [z]}",
		"{\"properties\":{\"z\":{}},\"required\":[\"z\"]}", NULL},
	{"not of what cannot be told", "f = x", "{properties: {z: {}}}",
		"{\"properties\":{\"z\":{}}}", NULL},
	{"nor of what a decorator may change", "@wrap\ndef f(x): pass", "{properties: {z: {}}}",
		"{\"properties\":{\"z\":{}}}", NULL},
	{"one it never gives", "def f(x): pass", "{type: object}",
		"{\"type\":\"object\",\"required\":[\"x\"],\"properties\":{\"x\":{}},"
		"\"additionalProperties\":false}",
		"f() needs 'x', which 'input:' does not give"},
	{"one it gives sometimes", "def f(x): pass", "{properties: {x: {}}}",
		"{\"properties\":{\"x\":{}},\"required\":[\"x\"],\"additionalProperties\":false}",
		"f() needs 'x', which 'input:' does not require"},
	{"one it may give by another way", "def f(x): pass",
		"{allOf: [{properties: {x: {}}, required: [x]}]}",
		"{\"allOf\":[{\"properties\":{\"x\":{}},\"required\":[\"x\"]}],\"required\":[\"x\"],"
		"\"properties\":{\"x\":{}},\"additionalProperties\":false}",
		NULL},
	{"required, and no parameter", "def f(month=1): pass", "{required: [mont]}",
		"{\"required\":[\"mont\"],\"properties\":{\"month\":{}},\"additionalProperties\":"
		"false}",
		"'input:' requires 'mont', and f() has no parameter of that name"},
};

static const char *fault_of(const struct manifest *m, size_t i)
{
	const json_t *row = json_array_get(m->tools[0].faults, i);
	return row ? json_text_of(row, "message") : NULL;
}

static void check_fault(
	struct tap *t, const char *name, const char *code, const char *input, const char *want)
{
	MANIFEST_AUTO m = {0};
	const char *files[] = {"a.py", code, "models.py", "def g(x): pass\n", NULL};
	bool good = derive(input, files, &m);
	const char *got = good ? fault_of(&m, 0) : "an error";
	ok(t, good && !fault_of(&m, 1) && (want ? got && strcmp(got, want) == 0 : !got), "%s: %s",
		name, want ? want : "no fault");
	if (got && (!want || strcmp(got, want) != 0))
		printf("# got  %s\n", got);
}

static void test_givens(struct tap *t)
{
	for (size_t i = 0; i < sizeof givens / sizeof *givens; i++) {
		const char *files[] = {"a.py", givens[i].code, NULL};
		check_input(t, givens[i].name, givens[i].input, files, givens[i].schema);
		check_fault(t, givens[i].name, givens[i].code, givens[i].input, givens[i].fault);
	}
}

/* ---- entries --------------------------------------------------------------------------------- */

#define GONE "a.py has no function 'f'"
#define YIELDS "f() yields, and a generator is no result"

static const struct whole entries[] = {
	{"nothing", "def g(): pass", GONE},
	{"a method only", "class A:\n    def f(self): pass", GONE},
	{"within a function only", "def g():\n    def f(): pass\n    f = 1", GONE},
	{"a mere annotation", "f: int", GONE},
	{"assigned", "f = print", NULL},
	{"assigned among others", "a, (f, *b) = x", NULL},
	{"imported", "from models import g as f", NULL},
	{"imported whole", "import f.x", NULL},
	{"from a star", "from models import *", NULL},
	{"a loop's", "for f in x: pass", NULL},
	{"a context's", "with x as f: pass", NULL},
	{"a pattern's", "match x:\n    case [f]: pass", NULL},
	{"a walrus's", "print(f := 1)", NULL},
	{"a global", "def g():\n    global f\n    f = 1\ng()", NULL},
	{"by globals()", "globals()['f'] = print", NULL},
	{"by setattr", "import sys\nsetattr(sys.modules[__name__], 'f', 1)", NULL},
	{"by an Enum's conversion", "import enum\nenum.IntEnum._convert_('X', __name__, str)",
		NULL},
	{"by exec", "exec('f = 1')", NULL},
	{"by __getattr__", "def __getattr__(name): return print", NULL},
	{"in try, or else", "try:\n    from x import f\nexcept ImportError:\n    f = None", NULL},
	{"yields", "def f(): yield 1", YIELDS},
	{"yields from", "def f():\n    for x in y:\n        z = yield from x", YIELDS},
	{"yields asynchronously", "async def f(): yield 1", YIELDS},
	{"something within yields", "def f():\n    def g(): yield 1\n    return list(g())", NULL},
	{"collected by a decorator", "@listed\ndef f(): yield 1", NULL},
	{"positional only", "def f(x, /): pass",
		"f() takes 'x' by position only, and inputs come by name"},
	{"positional only, with a default", "def f(x=1, /): pass", NULL},
};

static void test_entries(struct tap *t)
{
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
		check_fault(t, entries[i].name, entries[i].code, "", entries[i].schema);
}

static void test_description(struct tap *t)
{
	MANIFEST_AUTO m = {0};
	const char *files[] = {"a.py",
		"def f(x):\n    \"\"\"\n    Counts\n      leads.\n\n    More.\n    \"\"\"", NULL};
	bool good = derive("", files, &m);
	ok(t, good && strcmp(m.tools[0].description, "Counts leads.") == 0,
		"the docstring's first paragraph describes the tool");
}

int main(void)
{
	struct tap t = {0};
	test_annotations(&t);
	test_defaults(&t);
	test_wholes(&t);
	test_givens(&t);
	test_entries(&t);
	test_description(&t);
	return tap_done(&t);
}
