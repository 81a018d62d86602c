/*
 * libFuzzer: bytes as what a front, taken over or not, asks the monitor's desk for. What must hold:
 * each is answered, by a page in which nothing that was asked is markup, and nobody is sent
 * elsewhere.
 */
#include "monitor/desk.h"

#include "base/file.h"
#include "state/state.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct state st;
static struct desk *desk;
static char dir[] = "/tmp/evctl-test-desk.XXXXXX";

static void must(int holds)
{
	if (!holds)
		abort();
}

static void clear_up(void)
{
	state_close(&st);
	file_remove_tree(AT_FDCWD, dir);
}

static void open_desk(void)
{
	struct err e = {0};
	struct state_place place = {0};
	must(mkdtemp(dir) != NULL);
	struct place_options o = {dir, NULL, -1, -1};
	must(state_place_find(&place, &o, &e) == 0);
	must(state_init(&st, &place, false, &e) == 0);
	state_close(&st);
	st = (struct state){0};
	must(state_open(&st, &place, STATE_WRITE, &e) == 0);
	must((desk = desk_new(&st, NULL, &e)) != NULL);
	state_place_free(&place);
	atexit(clear_up);
}

static void check_answer(const struct desk_answer *a)
{
	must(a->run_tool[0] || (a->paged.status >= 200 && a->paged.status < 600));
	if (a->paged.location)
		must(a->paged.location[0] == '/' && a->paged.location[1] != '/' &&
			!strpbrk(a->paged.location, "\r\n"));
	if (a->paged.type && strncmp(a->paged.type, "text/html", 9) == 0)
		must(!memmem(buf_str(&a->body), a->body.len, "<xss", 4));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct door_page page = {0};
	struct door_result result = {0};
	const struct buf b = {.data = (char *)data, .len = n};
	if (!desk)
		open_desk();
	if (field_read(&b, &door_page_fields, &page) == 0) {
		DESK_ANSWER_AUTO a = {0};
		desk_page(desk, &page, &a);
		check_answer(&a);
		field_free(&door_page_fields, &page);
	}
	if (field_read(&b, &door_result_fields, &result) == 0) {
		DESK_ANSWER_AUTO a = {0};
		desk_result(desk, &result, &a);
		check_answer(&a);
	}
	/* Most bytes are no message: their path and form are tried all the same. */
	char *text = strndup((const char *)data, n);
	const char *value = text && strchr(text, '\n') ? strchr(text, '\n') + 1 : "";
	struct door_param form = {"token", value};
	const struct door_page plain = {.post = n % 2,
		.path = text ? text : "",
		.origin = "http://localhost",
		.params = &form,
		.nparams = 1};
	DESK_ANSWER_AUTO a = {0};
	desk_page(desk, &plain, &a);
	check_answer(&a);
	free(text);
	return 0;
}
