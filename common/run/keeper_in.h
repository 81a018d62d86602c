/*
 * Between who starts a keeper (start.c) and the keeper (keeper.c): one message on descriptor
 * KEEPER_CONTROL, with the code's and the sessions directory's descriptors.
 */
#ifndef EVCTL_RUN_KEEPER_IN_H
#define EVCTL_RUN_KEEPER_IN_H

#include "run/room.h"

#define KEEPER_CONTROL 3

struct keeper_spec {
	char id[17];
	int64_t idle_s;
	struct room_spec room; /* without code; of hosts only name and port: what a sandbox wants */
};

#endif
