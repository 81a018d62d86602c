#include "manifest/ignore.h"

#include "base/text.h"

#include <string.h>

/* A pattern as a row of states; one more than there are elements is the end. */
struct element {
	enum { ONE, ANY_ONE, CLASS, STAR, DEEP, REST } kind;
	uint32_t c;		  /* ONE */
	const char *from, *until; /* CLASS: what is between the brackets */
};

struct glob {
	struct element v[IGNORE_MAX_PATTERN + 2];
	size_t n;
	bool anchored, dirs_only;
};

/* The ']' of a class that starts after '[' at s, or NULL. A first ']' is a member. */
static const char *class_end(const char *s, const char *end)
{
	s += s < end && (*s == '!' || *s == '^');
	s += s < end && *s == ']';
	for (; s < end; s++) {
		if (*s == ']')
			return s;
		s += *s == '\\' && s + 1 < end;
	}
	return NULL;
}

static uint32_t class_char(const char **s, const char *end)
{
	*s += **s == '\\' && *s + 1 < end;
	return text_next(s, end);
}

static bool class_has(const struct element *el, uint32_t c)
{
	const char *s = el->from, *end = el->until;
	bool negated = s < end && (*s == '!' || *s == '^'), found = false;
	s += negated;
	while (s < end) {
		uint32_t lo = class_char(&s, end), hi = lo;
		if (end - s >= 2 && *s == '-') {
			s++;
			hi = class_char(&s, end);
		}
		found |= c >= lo && c <= hi;
	}
	return found != negated;
}

static void put(struct glob *g, struct element el)
{
	if (g->n <= IGNORE_MAX_PATTERN)
		g->v[g->n++] = el;
}

/* "**" counts only as a whole part of the path; elsewhere it is "*". Moves *s past it. */
static void put_stars(struct glob *g, const char *start, const char **s, const char *end)
{
	const char *p = *s;
	bool whole = p == start || p[-1] == '/';
	while (p < end && *p == '*')
		p++;
	bool two = p - *s == 2 && whole;
	*s = p;
	if (two && p < end && *p == '/') {
		(*s)++;
		put(g, (struct element){.kind = DEEP});
	} else if (two && p == end) {
		put(g, (struct element){.kind = REST});
	} else {
		put(g, (struct element){.kind = STAR});
	}
}

static void compile(struct glob *g, const char *pattern)
{
	const char *end = pattern + strlen(pattern), *s = pattern;
	g->n = 0;
	g->dirs_only = false;
	if (end > s && end[-1] == '/') {
		g->dirs_only = true;
		end--;
	}
	g->anchored = memchr(s, '/', (size_t)(end - s)) != NULL;
	s += s < end && *s == '/';
	const char *start = s;
	if (!g->anchored)
		put(g, (struct element){.kind = DEEP});
	while (s < end) {
		const char *close = *s == '[' ? class_end(s + 1, end) : NULL;
		if (*s == '*') {
			put_stars(g, start, &s, end);
		} else if (*s == '?') {
			put(g, (struct element){.kind = ANY_ONE});
			s++;
		} else if (close) {
			put(g, (struct element){.kind = CLASS, .from = s + 1, .until = close});
			s = close + 1;
		} else {
			s += *s == '\\' && s + 1 < end;
			put(g, (struct element){.kind = ONE, .c = text_next(&s, end)});
		}
	}
}

/* Enters state i, and those that need nothing more to be entered from it. */
static void enter(const struct glob *g, bool *on, size_t i)
{
	for (on[i] = true; i < g->n; on[++i] = true)
		if (g->v[i].kind != STAR && g->v[i].kind != DEEP)
			return;
}

static bool takes(const struct element *el, uint32_t c)
{
	switch (el->kind) {
	case ONE:
		return c == el->c;
	case CLASS:
		return c != '/' && class_has(el, c);
	case ANY_ONE:
	case STAR:
		return c != '/';
	default:
		return true;
	}
}

static void advance(const struct glob *g, const bool *on, bool *next, uint32_t c)
{
	for (size_t i = 0; i < g->n; i++) {
		if (!on[i] || !takes(&g->v[i], c))
			continue;
		switch (g->v[i].kind) {
		case STAR:
			enter(g, next, i);
			break;
		case DEEP: /* stays until a slash has been taken, and then may leave */
			next[i] = true;
			if (c == '/')
				enter(g, next, i + 1);
			break;
		case REST:
			next[i] = true;
			next[g->n] = true;
			break;
		default:
			enter(g, next, i + 1);
		}
	}
}

bool ignore_pattern_matches(const char *pattern, const char *path, bool is_dir)
{
	struct glob g;
	bool a[IGNORE_MAX_PATTERN + 3] = {0}, b[IGNORE_MAX_PATTERN + 3];
	bool *on = a, *next = b;
	if (strlen(pattern) > IGNORE_MAX_PATTERN)
		return false;
	compile(&g, pattern);
	if (g.dirs_only && !is_dir)
		return false;
	enter(&g, on, 0);
	for (const char *p = path, *end = path + strlen(path); p < end;) {
		memset(next, 0, sizeof a);
		advance(&g, on, next, text_next(&p, end));
		bool *swap = on;
		on = next;
		next = swap;
	}
	return on[g.n];
}

bool ignore_matches(const struct strv *patterns, const char *path, bool is_dir)
{
	/* The last that matches decides. */
	for (size_t i = patterns->n; i-- > 0;) {
		const char *p = patterns->v[i];
		bool back = *p == '!';
		if (ignore_pattern_matches(p + back, path, is_dir))
			return !back;
	}
	return false;
}

const char *ignore_pattern_fault(const char *pattern)
{
	const char *p = pattern + (*pattern == '!');
	if (p[strspn(p, "/")] == '\0')
		return "names nothing";
	if (strlen(p) > IGNORE_MAX_PATTERN)
		return "is too long: at most 256 bytes";
	if (strncmp(p, "./", 2) == 0)
		return "starts with './', leave that out";
	if (strcmp(p, "..") == 0 || strncmp(p, "../", 3) == 0 || strstr(p, "/../"))
		return "leaves the directory";
	return NULL;
}

static bool in(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);
	return n > m && strcmp(s + n - m, end) == 0;
}

bool ignore_builtin(const char *name, bool is_dir)
{
	/* .git is a file in worktrees and submodules. */
	static const char *const both[] = {
		".git", ".hg", ".svn", ".bzr", ".jj", ".pijul", "_darcs", ".DS_Store", NULL};
	static const char *const dirs[] = {"CVS", "__pycache__", ".mypy_cache", ".pytest_cache",
		".ruff_cache", ".pytype", ".hypothesis", ".ipynb_checkpoints", ".tox", ".nox",
		".cache", ".eggs", ".venv", "venv", "node_modules", NULL};
	if (in(name, both))
		return true;
	if (is_dir)
		return in(name, dirs);
	return ends_with(name, ".pyc") || ends_with(name, ".pyo");
}
