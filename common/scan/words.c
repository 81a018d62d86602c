/* What is said of a use of EV_KEYS that cannot be followed: why, and how to mend it. */
#include "scan/sema.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Longer names are cut. */
#define NAME_SHOWN 60
#define SAID_MAX 300

__attribute__((format(printf, 2, 3))) static const char *say(
	struct scan *s, const char *format, ...)
{
	char text[SAID_MAX];
	va_list args;

	va_start(args, format);
	int n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return arena_copy(&s->arena, text, n < SAID_MAX ? (size_t)n : SAID_MAX - 1);
}

/* The end of a dotted name, without a part of a character at the cut. */
static const char *shown(struct scan *s, const struct node *n)
{
	const struct sym *name = n->kind == E_ATTR			    ? n->attr.name
				 : n->kind == E_NAME && n->op == NAME_PLAIN ? n->name
									    : NULL;
	if (!name)
		return NULL;
	size_t len = name->len < NAME_SHOWN ? name->len : NAME_SHOWN;
	while (len < name->len && ((unsigned char)name->s[len] & 0xC0) == 0x80)
		len--;
	return arena_copy(&s->arena, name->s, len);
}

static bool is_dict_attr(const char *name)
{
	static const char *const known[] = {"keys", "values", "items", "copy", "popitem",
		"fromkeys", "update", "clear", "get", "pop", "setdefault"};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(name, known[i]) == 0)
			return true;
	return name[0] == '_' && name[1] == '_';
}

void words_attr(struct here *h, struct node *attr, const struct node *at, bool called)
{
	struct scan *s = h->s;
	const char *name = shown(s, attr);
	if (name && !is_dict_attr(name))
		report_dynamic(h, at,
			say(s, "EV_KEYS.%s is an AttributeError: EV_KEYS is a dict", name),
			say(s, "write EV_KEYS['%s']", name));
	else if (called)
		report_dynamic(h, at, say(s, "EV_KEYS.%s() names no key", name),
			"read each key by its name: EV_KEYS['NAME']");
	else
		report_dynamic(h, at, say(s, "EV_KEYS.%s is not called where it is taken", name),
			"read each key by its name: EV_KEYS['NAME']");
}

void words_passed(struct here *h, const struct node *call, const struct node *arg)
{
	struct scan *s = h->s;
	struct node *f = call->call.func;
	const char *name = shown(s, f);
	if (f->kind == E_ATTR && f->attr.name->known == SYM_update &&
		value_of(s, f->attr.value, h->scope, h->loop).bits & VAL_ENVIRON)
		report_dynamic(h, arg, "EV_KEYS is copied into os.environ, for all code to see",
			"read EV_KEYS['NAME'] where the key is needed");
	else if (!name)
		report_dynamic(h, arg, "EV_KEYS is handed to a call that is not followed",
			"hand over the key that it needs: EV_KEYS['NAME']");
	else
		report_dynamic(h, arg,
			say(s, "EV_KEYS is handed to %s(), which is not followed", name),
			say(s, "hand %s() the key that it needs: EV_KEYS['NAME']", name));
}

void words_used(struct here *h, const struct node *n, enum node_kind within)
{
	const char *why = "EV_KEYS is used in a way that is not followed";
	const char *hint = NULL;
	switch (within) {
	case S_RETURN:
	case E_LAMBDA:
	case E_YIELD:
	case E_YIELD_FROM:
		why = "EV_KEYS is returned, and who reads it then is not followed";
		hint = "return the key: EV_KEYS['NAME']";
		break;
	case E_TUPLE:
	case E_LIST:
	case E_SET:
	case E_DICT:
	case S_ASSIGN:
		why = "EV_KEYS is stored where its readers are not followed";
		hint = "store the key that is needed: EV_KEYS['NAME']";
		break;
	case S_FOR:
	case X_COMP:
	case E_STARRED:
		why = "EV_KEYS is gone through, and no key is named";
		hint = "go through the names of the keys: for name in ('A_KEY', 'B_KEY')";
		break;
	case E_JOINED:
	case E_FORMATTED:
		why = "EV_KEYS is made a text, with all keys in it";
		hint = "show the names of keys, never their values";
		break;
	case E_BINOP:
	case E_COMPARE:
		why = "EV_KEYS is merged or compared, and what is read of it is not followed";
		break;
	default:
		break;
	}
	report_dynamic(h, n, why, hint);
}

static const char *why_variable(struct here *h, struct node *key, const char *name)
{
	struct var *v = key->op == NAME_FIXED ? key->var : scope_lookup(h->s, h->scope, key->name);
	struct binding *b = key_only(v);
	if (!v || !v->count)
		return say(h->s, "'%s' is the key, and nothing binds it", name);
	if (!b)
		return say(h->s, "'%s' is the key, and it is bound more than once", name);
	if (b->kind == BIND_PARAM || b->kind == BIND_DEFAULT)
		return say(
			h->s, "'%s' is the key, and not all callers that give it are known", name);
	if (b->kind == BIND_FOR)
		return say(h->s, "'%s' is the key, and what its loop goes over is not known", name);
	if (b->kind == BIND_IMPORT)
		return say(
			h->s, "'%s' is the key, and what is imported as that is not known", name);
	return say(h->s, "'%s' is the key, and its text is not known", name);
}

void words_key(struct here *h, struct node *key, uint32_t line)
{
	const struct node at = {.line = line};
	const char *name = shown(h->s, key);
	const char *why = "the key is computed";
	if (key->kind == E_NAME && name)
		why = why_variable(h, key, name);
	else if (name)
		why = say(h->s, "'.%s' is the key, and its text is not known", name);
	else if (key->kind == E_CONST || key->kind == E_TUPLE || key->kind == E_BYTES)
		why = "the key is no text";
	report_dynamic(h, &at, why, NULL);
}
