/* What one tool needs, from findings as a snapshot keeps them; and which command supplies a key. */
#include "../lib/tap.h"
#include "base/file.h"
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tap tap;

static bool is(const struct strv *sv, const char *joined)
{
	STR_AUTO s = strv_join(sv, ",");
	return s && strcmp(s, joined) == 0;
}

static json_t *findings(void)
{
	static const char text[] =
		"{'reads': ["
		"{'name':'A','file':'a.py','line':1,'kind':'required','tools':['one','two']},"
		"{'name':'A','file':'a.py','line':2,'kind':'optional','tools':['one','two']},"
		"{'name':'B','file':'a.py','line':3,'kind':'required','tools':['one']},"
		"{'name':'O','file':'a.py','line':4,'kind':'optional','tools':['one']},"
		"{'name':'S','file':'s.py','line':1,'kind':'required','tools':[]}],"
		"'dynamic': [{'file':'a.py','line':5,'why':'x','tools':['two']}],"
		"'modules': {'one': ['pandas'], 'two': []}}";
	char *json = strdup(text);
	for (char *p = json; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	json_t *j = json_loads(json, 0, NULL);
	free(json);
	return j;
}

static struct bound_host host(const char *name, const char *credential, bool buyer, bool value)
{
	return (struct bound_host){.host = {.name = strdup(name), .port = 443},
		.credential = credential ? 1 : 0,
		.credential_name = credential ? strdup(credential) : NULL,
		.buyer_pays = buyer,
		.has_value = value};
}

static void add_host(struct expert_view *v, struct bound_host h)
{
	v->hosts = reallocarray(v->hosts, v->nhosts + 1, sizeof h);
	v->hosts[v->nhosts++] = h;
}

static void test_needs(void)
{
	EXPERT_VIEW_AUTO v = {.reads = findings()};
	VERIFY_NEEDS_AUTO one = {0};
	VERIFY_NEEDS_AUTO two = {0};
	VERIFY_NEEDS_AUTO none = {0};
	struct err e = {0};
	add_host(&v, host("a.example", "A", true, false));
	add_host(&v, host("b.example", "B", false, false));
	ok(&tap, verify_reads_for_tool(&v, "one", &one, &e) == 0, "one");
	ok(&tap, is(&one.required, "A,B") && is(&one.optional, "O"),
		"a key that is both is required; files that the tool does not reach do not count");
	ok(&tap, is(&one.missing, "B"), "a buyer's key is not missing; one without a value is");
	ok(&tap, is(&one.modules, "pandas") && !one.dynamic, "modules; nothing dynamic");
	ok(&tap,
		verify_reads_for_tool(&v, "two", &two, &e) == 0 && is(&two.required, "A") &&
			two.dynamic && two.modules.n == 0,
		"two");
	ok(&tap, verify_reads_for_tool(&v, "no-such", &none, &e) == 0 && none.required.n == 0,
		"no such tool: nothing");
}

static bool hint_is(const struct verify_input *in, const char *name, const char *want)
{
	STR_AUTO h = verify_hint(in, name);
	if (!h || strcmp(h, want) != 0)
		printf("# %s\n", h ? h : "NULL");
	return h && strcmp(h, want) == 0;
}

static void test_hints(void)
{
	EXPERT_VIEW_AUTO v = {0};
	struct verify_key keys[] = {{"BOUND", true, true, "x.example"},
		{"EMPTY", true, false, NULL}, {"FREE", true, true, NULL}};
	struct verify_input in = {.expert = "e", .keys = keys, .nkeys = 3};
	ok(&tap, hint_is(&in, "NONE", "evctl-cred add NONE"), "no credential: add");
	ok(&tap, hint_is(&in, "EMPTY", "evctl-cred rotate EMPTY"), "no value: rotate");
	ok(&tap, hint_is(&in, "BOUND", "evctl-expert attach e x.example"),
		"bound elsewhere: attach");
	ok(&tap, hint_is(&in, "FREE", "evctl-bind set HOST FREE"), "bound nowhere: bind");
	add_host(&v, host("f.example", NULL, false, false));
	in.hosts = v.hosts;
	in.nhosts = v.nhosts;
	ok(&tap, hint_is(&in, "FREE", "evctl-bind set f.example FREE"),
		"one host is free: that one");
	add_host(&v, host("g.example", NULL, false, false));
	in.hosts = v.hosts;
	in.nhosts = v.nhosts;
	ok(&tap, hint_is(&in, "FREE", "evctl-bind set HOST FREE"), "two are: the person chooses");
	add_host(&v, host("h.example", "CRM_KEY", false, false));
	in.hosts = v.hosts;
	in.nhosts = v.nhosts;
	ok(&tap,
		hint_is(&in, "CRM_KYE",
			"did you mean EV_KEYS['CRM_KEY']? Else: evctl-cred add CRM_KYE"),
		"what an attached host supplies, and no code reads, is a near name");
	ok(&tap, hint_is(&in, "OTHER", "evctl-cred add OTHER"), "a name far from it is not");
	struct verify_key both[] = {{"CRM_KEY", true, true, "h.example"}};
	in.keys = both;
	in.nkeys = 1;
	ok(&tap, hint_is(&in, "CRM_KEY2", "evctl-cred add CRM_KEY2"),
		"nor one beside a key that is read");
	ok(&tap, hint_is(&in, "a b; rm -rf /", "rename the key: letters, digits and _, at most 64"),
		"a name that no credential can have is in no command");
}

int main(void)
{
	test_needs();
	test_hints();
	return tap_done(&tap);
}
