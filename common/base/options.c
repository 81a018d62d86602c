#include "base/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct option_spec *option_named(const struct option_spec *o, const char *name, size_t n)
{
	for (; o && o->name; o++)
		if (strlen(o->name) == n && memcmp(o->name, name, n) == 0)
			return o;
	return NULL;
}

const struct option_spec *option_lettered(const struct option_spec *o, char letter)
{
	for (; o && o->name; o++)
		if (o->letter == letter)
			return o;
	return NULL;
}

bool option_chosen(const char *word, const char *choices)
{
	size_t n = strlen(word);
	for (const char *s = choices; *s;) {
		size_t len = strcspn(s, "|");
		if (len == n && memcmp(s, word, n) == 0)
			return true;
		s += len;
		s += *s == '|';
	}
	return false;
}

void option_yes(const char *word, bool *flag)
{
	if (word)
		*flag = strcmp(word, "yes") == 0;
}

static bool whole_number(const struct option_spec *o, const char *s, int *out)
{
	char *end;
	errno = 0;
	long v = strtol(s, &end, 10);
	if (errno || end == s || *end || v < o->min || v > o->max)
		return false;
	*out = (int)v;
	return true;
}

int option_check(const struct option_spec *o, const char *value, struct err *e)
{
	/* As of a script's variable that is not set: never the current directory. */
	if (o->arg && (o->kind == NAME_FILE || o->kind == NAME_DIR) && !*value)
		return err_set(e, ERR_USAGE, "'--%s' is given an empty name", o->name);
	if (o->choices && !option_chosen(value, o->choices))
		return err_set(
			e, ERR_USAGE, "'--%s' takes %s, not '%.60s'", o->name, o->choices, value);
	return 0;
}

static int land_number(const struct option_spec *o, const char *value, int *at, struct err *e)
{
	if (whole_number(o, value, at))
		return 0;
	err_set(e, ERR_USAGE, "'--%s' takes a whole number from %d to %d, not '%.60s'", o->name,
		o->min, o->max, value);
	/* What it is where nothing is said; else the nearest that there is, of a number. */
	char *end;
	errno = 0;
	long long asked = strtoll(value, &end, 10);
	bool number = end != value && !*end;
	int near = o->dflt > o->min ? o->dflt : number && asked > o->max ? o->max : o->min;
	return err_hint(e, "give '--%s %d'", o->name, near);
}

void *options_new(const struct option_spec *table)
{
	const struct option_spec *end = table;
	while (end && end->name)
		end++;
	char *into = end ? calloc(1, end->at) : NULL;
	for (const struct option_spec *o = table; into && o->name; o++)
		if (o->type == OPTION_INT)
			*(int *)(void *)(into + o->at) = o->dflt;
	return into;
}

int option_land(const struct option_spec *o, const char *value, void *into, struct err *e)
{
	void *at = (char *)into + o->at;
	if (o->type == OPTION_FLAG)
		*(bool *)at = true;
	else if (o->type == OPTION_STR)
		*(const char **)at = value;
	else if (o->type == OPTION_INT)
		return land_number(o, value, at, e);
	else
		strv_add(at, value);
	return 0;
}

void options_free(const struct option_spec *table, void *into)
{
	for (const struct option_spec *o = table; into && o && o->name; o++)
		if (o->type == OPTION_LIST)
			strv_free((struct strv *)(void *)((char *)into + o->at));
	free(into);
}
