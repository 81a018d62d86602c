#include "run/runner_in.h"

#include <stdlib.h>
#include <string.h>

#define GATE_SLACK_MS 500 /* the code's own deadline is to end it, not the gate's */

static void add_key(struct call_plan *p, size_t i, const struct call_key *k)
{
	bool sealed = k->standin.n != 0;
	p->keys[i] = (struct sandbox_key){.name = k->name,
		.value = sealed ? k->standin.data : k->value.data,
		.len = k->value.n};
	p->gate_keys[i] = (struct gate_key){.name = k->name,
		.value = k->value.data,
		.len = k->value.n,
		.sealed = sealed,
		.standin = sealed ? k->standin.data : NULL,
		.guard = k->guard};
}

static struct gate_row row_of(const struct expert_host *h, const struct call_keys *keys)
{
	const struct call_key *k =
		h->credential_name ? call_keys_find(keys, h->credential_name) : NULL;
	return (struct gate_row){.host = h->name,
		.port = (uint16_t)h->port,
		.is_default = h->port == 443,
		.plain = h->plain,
		.allow_private = h->allow_private,
		.connect_to = h->connect_to,
		.ca = h->ca,
		.key = k ? k->name : NULL};
}

void call_plan_free(struct call_plan *p)
{
	free(p->rows);
	free(p->gate_keys);
	free(p->keys);
	*p = (struct call_plan){0};
}

int call_plan_make(struct call_plan *p, const struct going *g, struct err *e)
{
	size_t n = g->keys.n;
	*p = (struct call_plan){.rows = calloc(g->nhosts + 1, sizeof *p->rows),
		.gate_keys = calloc(n + 1, sizeof *p->gate_keys),
		.keys = calloc(n + 1, sizeof *p->keys)};
	if (!p->rows || !p->gate_keys || !p->keys) {
		call_plan_free(p);
		return err_set(e, ERR_FAIL, "out of memory");
	}
	for (size_t i = 0; i < n; i++)
		add_key(p, i, &g->keys.v[i]);
	for (size_t i = 0; i < g->nhosts; i++)
		p->rows[i] = row_of(&g->hosts[i], &g->keys);
	p->call.policy = (struct gate_policy){.id = g->out->id,
		.deadline_ms = g->timeout_ms + GATE_SLACK_MS,
		.rows = p->rows,
		.nrows = g->nhosts,
		.keys = p->gate_keys,
		.nkeys = n};
	p->call.call = (struct sandbox_call){.entry_file = g->tool->entry_file,
		.entry_func = g->tool->entry_func,
		.inputs = g->input,
		.ninputs = g->ninput,
		.keys = p->keys,
		.nkeys = n,
		.timeout_ms = g->timeout_ms,
		.memory = g->tool->memory,
		.cancel_fd = g->rq->cancel_fd};
	return 0;
}
