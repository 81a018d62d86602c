#define PCRE2_CODE_UNIT_WIDTH 8
#include "manifest/pattern.h"

#include <pcre2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct compiled_pattern {
	pcre2_code *code;
	pcre2_match_context *context;
	pcre2_match_data *data;
};

void pattern_free(struct compiled_pattern *p)
{
	if (!p)
		return;
	pcre2_match_data_free(p->data);
	pcre2_match_context_free(p->context);
	pcre2_code_free(p->code);
	free(p);
}

/* AUTO_CALLOUT makes PCRE2 call us before each item: see count(). */
#define OPTIONS                                                                            \
	(PCRE2_UTF | PCRE2_AUTO_CALLOUT | PCRE2_DOLLAR_ENDONLY | PCRE2_ALLOW_EMPTY_CLASS | \
		PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C)

static pcre2_code *compile(const char *s, size_t n, char *why, size_t whysize)
{
	pcre2_compile_context *cc = pcre2_compile_context_create(NULL);
	if (!cc) {
		snprintf(why, whysize, "out of memory");
		return NULL;
	}
	int code;
	size_t at;
	pcre2_set_max_pattern_length(cc, PATTERN_MAX_BYTES);
	pcre2_set_parens_nest_limit(cc, 100);
	pcre2_set_newline(cc, PCRE2_NEWLINE_ANYCRLF);
	pcre2_set_compile_extra_options(cc, PCRE2_EXTRA_ALT_BSUX);
	pcre2_code *re = pcre2_compile((PCRE2_SPTR)s, n, OPTIONS, &code, &at, cc);
	pcre2_compile_context_free(cc);
	if (re)
		return re;
	PCRE2_UCHAR text[128] = "not a pattern";
	pcre2_get_error_message(code, text, sizeof text);
	snprintf(why, whysize, "%s, at byte %zu", (char *)text, at);
	return NULL;
}

struct compiled_pattern *pattern_new(const char *s, size_t n, char *why, size_t whysize)
{
	pcre2_code *re = compile(s, n, why, whysize);
	if (!re)
		return NULL;
	struct compiled_pattern *p = calloc(1, sizeof *p);
	if (p) {
		p->code = re;
		p->context = pcre2_match_context_create(NULL);
		p->data = pcre2_match_data_create(1, NULL);
	}
	if (!p || !p->context || !p->data) {
		snprintf(why, whysize, "out of memory");
		p ? pattern_free(p) : pcre2_code_free(re);
		return NULL;
	}
	pcre2_set_heap_limit(p->context, 20000); /* KiB */
	pcre2_set_depth_limit(p->context, 100000);
	return p;
}

struct count {
	long steps;
	size_t last; /* where the item before began */
	unsigned calls;
	int64_t until; /* CPU time, ms */
};

static int64_t cpu_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/*
 * PCRE2's own match limit starts afresh at each starting position and doesn't see how far a repeat
 * of one character runs, so `x*y` on a million x's is 10^12 steps that it never counts. We count.
 */
static int count_item(pcre2_callout_block *block, void *data)
{
	struct count *c = data;
	size_t pos = block->current_position;
	c->steps -= 1 + (long)((pos > c->last ? pos - c->last : c->last - pos) / 16);
	c->last = pos;
	if (c->steps < 0)
		return PCRE2_ERROR_MATCHLIMIT;
	if (++c->calls % 256 == 0 && cpu_ms() > c->until)
		return PCRE2_ERROR_MATCHLIMIT;
	return 0;
}

int pattern_match(const struct compiled_pattern *p, const char *s, size_t n, long *steps)
{
	struct count c = {.steps = *steps - 1 - (long)(n / 64)};
	if (c.steps < 0) {
		*steps = 0;
		return -1;
	}
	c.until = cpu_ms() + PATTERN_MAX_MS;
	pcre2_set_callout(p->context, count_item, &c);
	int rc = pcre2_match(p->code, (PCRE2_SPTR)s, n, 0, 0, p->data, p->context);
	pcre2_set_callout(p->context, NULL, NULL);
	*steps = c.steps;
	if (rc >= 0)
		return 1;
	if (rc == PCRE2_ERROR_NOMATCH)
		return 0;
	*steps = 0;
	return -1;
}
