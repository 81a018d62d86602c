/*
 * The cage of a process that parses hostile bytes: whoever takes it over finds no privileges, no
 * programs to run, no files but those named here, and sockets only where it is one that dials.
 */
#ifndef EVCTL_NET_CAGE_H
#define EVCTL_NET_CAGE_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/resource.h>

struct cage {
	const char *name;	     /* for messages: "the gate" */
	const char *const *readable; /* directories and files, NULL at the end; NULL: none */
	bool dials;		     /* opens TCP and UDP sockets, looks names up, reads files */
	rlim_t files;		     /* descriptors */
	rlim_t memory; /* bytes of address space: stacks of threads are reserved, not used */
};

/* What look-ups and certificate checks read, and where the C library finds its modules. */
extern const char *const cage_name_service[];

/* Before any thread. What the kernel lacks (Landlock, say) is left out; what fails is an error. */
int cage_enter(const struct cage *c, struct err *e);

#endif
