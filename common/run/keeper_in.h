/*
 * Between who starts a keeper (start.c) and the keeper (keeper.c): one message on descriptor
 * KEEPER_CONTROL, with the code's and the sessions directory's descriptors.
 */
#ifndef EVCTL_RUN_KEEPER_IN_H
#define EVCTL_RUN_KEEPER_IN_H

#include "run/room.h"
#include "run/wire.h"

#define KEEPER_CONTROL 3

struct keeper_spec {
	char id[17];
	int64_t idle_s;
	struct room_spec room; /* without code; strings point into text */
	char *text;
	struct expert_host *hosts; /* name and port only: what the sandbox needs to know */
	const char **preload;
};

void keeper_spec_put(struct wire_out *w, const void *spec);
/* Fills a zeroed spec. */
int keeper_spec_read(struct keeper_spec *k, const char *p, size_t n, struct err *e);
void keeper_spec_free(struct keeper_spec *k);

#endif
