/*
 * evctl-task: works on chunks of a batch. Started by the driver of a local batch, with a socket to
 * it as descriptor 3, or by an engine on a node (evctl-batch(1)); people have no use for it.
 */
#include "batch/task.h"

#include <stdio.h>
#include <string.h>

static int usage(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("evctl-task " EVCTL_VERSION);
		return 0;
	}
	FILE *to = argc == 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr;
	fputs("evctl-task: works on chunks of a batch.\n"
	      "It is started by evctl-batch, with a socket as descriptor 3.\n",
		to);
	return to == stdout ? 0 : ERR_USAGE;
}

int main(int argc, char **argv)
{
	struct err e = {0};
	if (argc != 3 || strcmp(argv[1], TASK_DRIVER_WORD) != 0)
		return usage(argc, argv);
	const struct task_order order = {.spool = argv[2], .driver = TASK_DRIVER_FD};
	return task_work(&order, &e) == 0 ? 0 : (int)e.code;
}
