#include "run/runner_in.h"

#include <stdlib.h>

#define GATE_SLACK_MS 500 /* the code's own deadline is to end it, not the gate's */

static struct gate_row row_of(const struct bound_host *h, const struct call_keys *keys)
{
	const struct call_key *k =
		h->credential_name ? call_keys_find(keys, h->credential_name) : NULL;
	return (struct gate_row){.host = h->host, .key = k ? k->name : NULL};
}

int policy_make(struct room_call *c, const struct going *g, struct err *e)
{
	struct gate_row *rows = calloc(g->nhosts + 1, sizeof *rows);
	if (!rows)
		return err_set(e, ERR_FAIL, "out of memory");
	for (size_t i = 0; i < g->nhosts; i++)
		rows[i] = row_of(&g->hosts[i], &g->keys);
	c->policy = (struct gate_policy){.id = g->out->id,
		.deadline_ms = g->timeout_ms + GATE_SLACK_MS,
		.rows = rows,
		.nrows = g->nhosts,
		.keys = g->keys};
	c->call = (struct sandbox_call){.entry_file = g->tool->entry_file,
		.entry_func = g->tool->entry_func,
		.inputs = g->input,
		.ninputs = g->ninput,
		.timeout_ms = g->timeout_ms,
		.memory = g->tool->memory,
		.fresh = g->rq->fresh,
		.cancel_fd = g->rq->cancel_fd};
	return 0;
}

void policy_free(struct room_call *c)
{
	free((struct gate_row *)c->policy.rows);
	*c = (struct room_call){0};
}
