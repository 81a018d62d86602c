/* Templates: what fills a hole is escaped for where it stands, and what is wrong shows no page. */
#include "archive/template.h"
#include "../lib/tap.h"

#include <string.h>

#define MODEL                                                                            \
	"{\"x\": \"<b>\\\"&'\", \"n\": 1, \"zero\": 0, \"empty\": \"\", \"nil\": null, " \
	"\"yes\": true, \"no\": false, \"none\": [], \"turn\": \"a\\u202eb\", "          \
	"\"rows\": [{\"y\": \"1\"}, {\"y\": \"2\", \"x\": \"in\"}]}"

static const struct {
	const char *text, *want; /* want NULL: no page */
} cases[] = {
	{"plain } text { here", "plain } text { here"},
	{"<p>{{x}}</p>", "<p>&lt;b&gt;&quot;&amp;&#39;</p>"},
	{"<a href=\"{{x}}\">", "<a href=\"&lt;b&gt;&quot;&amp;&#39;\">"},
	{"<a href=\"/{{x:url}}\">", "<a href=\"/%3Cb%3E%22%26%27\">"},
	{"<p>{{turn}}", "<p>a<span class=\"odd\">U+202E</span>b"},
	{"<p t=\"{{turn}}\">", "<p t=\"a\xef\xbf\xbd"
			       "b\">"},
	{"<title>{{turn:plain}}", "<title>a\xef\xbf\xbd"
				  "b"},
	{"<a \">\" t=\"{{turn}}\">", "<a \">\" t=\"a\xef\xbf\xbd"
				     "b\">"},
	{"{{n}} file{{n:s}}, {{zero}} file{{zero:s}}", "1 file, 0 files"},
	{"{{n:size}}", "1 byte"},
	/* Not in a tag but outside its quotes, nor in a form for something else. */
	{"<{{x}}>", NULL},
	{"<p {{x}}>", NULL},
	{"<p t={{x}}>", NULL},
	{"<p {{n}}>", NULL},
	{"<p>{{x:size}}", NULL},
	{"<p>{{n:url}}", NULL},
	{"<p>{{x:raw}}", NULL},
	/* No value. */
	{"{{missing}}", NULL},
	{"{{nil}}", NULL},
	{"{{yes}}", NULL},
	{"{{rows}}", NULL},
	{"{{missing:url}}", NULL},
	{"[{{empty}}]", "[]"},
	/* If and if not. */
	{"{{?x}}a{{/}}{{?n}}b{{/}}{{?yes}}c{{/}}{{?rows}}d{{/}}", "abcd"},
	{"{{?empty}}a{{/}}{{?zero}}b{{/}}{{?no}}c{{/}}{{?none}}d{{/}}{{?nil}}e{{/}}{{?q}}f{{/}}.",
		"."},
	{"{{!empty}}a{{/}}{{!zero}}b{{/}}{{!no}}c{{/}}{{!none}}d{{/}}{{!nil}}e{{/}}{{!q}}f{{/}}",
		"abcdef"},
	{"{{!x}}a{{/}}{{!n}}b{{/}}{{!yes}}c{{/}}.", "."},
	{"{{?no}}{{missing}}{{?yes}}a{{/}}b{{/}}c", "c"},
	{"<p{{?yes}} id=\"{{x:url}}\"{{/}}>{{x}}",
		"<p id=\"%3Cb%3E%22%26%27\">&lt;b&gt;&quot;&amp;&#39;"},
	{"<p{{?yes}}>{{x}}</p{{/}}>", "<p>&lt;b&gt;&quot;&amp;&#39;</p>"},
	/* Each, and what is found where. */
	{"{{#rows}}({{y}} {{n}} {{x:url}}){{/}}", "(1 1 %3Cb%3E%22%26%27)(2 1 in)"},
	{"{{#none}}{{missing}}{{/}}{{#missing}}a{{/}}b", "b"},
	{"{{#rows}}{{?x}}{{#rows}}{{y}}{{/}}{{/}};{{/}}", "12;12;"},
	/* Others. */
	{"{{>part}}!", "(1 &lt;b&gt;&quot;&amp;&#39;)!"},
	{"{{#rows}}{{>part}}{{/}}", "(1 &lt;b&gt;&quot;&amp;&#39;)(1 in)"},
	{"{{?no}}{{>nothing}}{{/}}a", "a"},
	{"{{>nothing}}", NULL},
	{"{{>itself}}", NULL},
	/* What is no template. */
	{"{{?x}}a", NULL},
	{"{{#rows}}a", NULL},
	{"a{{/}}", NULL},
	{"{{x", NULL},
	{"{{}}", NULL},
	{"<p>{{?x}}<b", NULL},
	{"<p", NULL},
	{"<p t=\"", NULL},
};

static void test_case(struct tap *t, const json_t *model, const char *text, const char *want)
{
	const struct template all[] = {{"page", text}, {"part", "({{n}} {{x}})\n"},
		{"itself", "{{>itself}}"}, {NULL, NULL}};
	BUF_AUTO out = {0};
	BUF_AUTO whole = {0};
	template_render(all, "page", model, &out);
	if (!want) {
		ok(t, buf_failed(&out), "no page: %s", text);
		return;
	}
	buf_addf(&whole, "%s\n", want);
	ok(t, !buf_failed(&out), "a page: %s", text);
	is_text(t, buf_str(&out), buf_str(&whole), text);
}

int main(void)
{
	struct tap t = {0};
	struct err e = {0};
	JSON_AUTO model = json_parse("model", MODEL, strlen(MODEL), &e);
	ok(&t, model, "the model");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		test_case(&t, model, cases[i].text, cases[i].want);
	return tap_done(&t);
}
