/* Everything that is not MCP or a plain call: pages, which the monitor makes. */
#ifndef EVCTL_FRONT_FRONT_PAGE_H
#define EVCTL_FRONT_FRONT_PAGE_H

#include "front/visit.h"

/* path: decoded. */
void front_page(struct visit *v, const char *path);

#endif
