/* Is what the door needs there? Asked where a buyer is registered. */
#ifndef EVCTL_DOCTOR_DOOR_H
#define EVCTL_DOCTOR_DOOR_H

#include "state/state.h"

/* Appends rows as health_state() does. */
int health_door(struct state *st, json_t *rows, struct err *e);

#endif
