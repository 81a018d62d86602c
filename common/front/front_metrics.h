/*
 * Figures of the door for Prometheus: of experts and statuses, never of buyers.
 */
#ifndef EVCTL_FRONT_FRONT_METRICS_H
#define EVCTL_FRONT_FRONT_METRICS_H

#include "front/visit.h"

struct front_metrics;
struct front_metrics *front_metrics_new(void);
/* One request is answered. */
void front_metrics_note(struct front_metrics *m, const struct visit *v);
/* Begins to answer GET /metrics on connections to that listener, plain, from threads of its own. */
int front_metrics_serve(struct front_metrics *m, struct front *f, int listener, struct err *e);

#endif
