#include "base/spec.h"
#include "base/json.h"

static json_t *options_json(const struct option_spec *o)
{
	json_t *a = json_array();
	for (; o && o->name; o++)
		json_array_append_new(
			a, json_pack("{s:s,s:s,s:s?,s:s,s:i,s:s?,s:b}", "name", o->name, "letter",
				   o->letter ? (char[]){o->letter, 0} : "", "arg", o->arg, "help",
				   o->help, "kind", (int)o->kind, "choices", o->choices, "repeats",
				   o->type == OPTION_LIST));
	return a;
}

void spec_print(const struct program *p, FILE *f)
{
	json_t *verbs = json_array();
	for (const struct verb *v = p->verbs; v && v->run; v++) {
		json_t *args = json_array();
		for (const struct arg_spec *a = v->args; a && a->name; a++)
			json_array_append_new(
				args, json_pack("{s:s,s:i,s:s?,s:b,s:b}", "name", a->name, "kind",
					      (int)a->kind, "choices", a->choices, "optional",
					      (int)a->optional, "repeats", (int)a->repeats));
		json_array_append_new(
			verbs, json_pack("{s:s?,s:s,s:o,s:o,s:s?}", "name", v->name, "help",
				       v->help ? v->help : "", "args", args, "options",
				       options_json(v->options), "outputs", v->outputs));
	}
	json_t *o = json_pack("{s:s,s:s,s:s?,s:[],s:o,s:o}", "name", p->name, "summary", p->summary,
		"examples", p->examples, "options", "common", options_json(common_options), "verbs",
		verbs);
	json_dumpf(o, f, JSON_INDENT(1));
	fputc('\n', f);
	json_decref(o);
}
