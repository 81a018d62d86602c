/*
 * evctl-task: works on chunks of a batch. Started by the driver of a local batch, with a socket to
 * it as descriptor 3, or by an engine on a node (evctl-batch(1)); people have no use for it.
 */
#include "batch/task.h"
#include "base/file.h"
#include "base/help.h"
#include "state/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(int argc, char **argv)
{
	return help_helper(argc, argv, "evctl-task",
		"evctl-task: works on chunks of a batch.\n"
		"It is started by evctl-batch, with a socket as descriptor 3, or on a node:\n"
		"  evctl-task SPOOL/BATCH [INDEX | +OFFSET]\n");
}

static int read_number(const char *text, int64_t *n)
{
	char *end;
	long long v = strtoll(text, &end, 10);
	if (end == text || *end || v < 0)
		return -1;
	*n = v;
	return 0;
}

/* What engines say which of an array's tasks this is; each counts from `first`. */
static const struct {
	const char *name;
	int first;
} variables[] = {{"SLURM_ARRAY_TASK_ID", 0}, {"JOB_COMPLETION_INDEX", 0}, {"PBS_ARRAY_INDEX", 0},
	{"SGE_TASK_ID", 1}, {"NOMAD_ALLOC_INDEX", 0}, {"AWS_BATCH_JOB_ARRAY_INDEX", 0}};

static int engine_index(int64_t *index, struct err *e)
{
	for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
		const char *text = getenv(variables[i].name);
		if (!text || read_number(text, index) < 0)
			continue;
		*index -= variables[i].first;
		return 0;
	}
	err_set(e, ERR_USAGE, "no argument, and no variable of an engine, says which chunk");
	return err_hint(e, "evctl-task SPOOL/BATCH INDEX");
}

static int find_index(const char *given, int64_t *index, struct err *e)
{
	int64_t offset = 0;
	if (given && given[0] != '+' && read_number(given, index) == 0)
		return 0;
	if (given && (given[0] != '+' || read_number(given + 1, &offset) < 0))
		return err_set(e, ERR_USAGE, "'%s' is no chunk", given);
	if (engine_index(index, e) < 0)
		return -1;
	*index += offset;
	return 0;
}

static int work(int argc, char **argv, struct err *e)
{
	SECRET_AUTO key = {0};
	struct task_order order = {.spool = argv[1], .node = &key, .driver = -1};
	if (seal_process(e) < 0 || find_index(argc == 3 ? argv[2] : NULL, &order.index, e) < 0)
		return -1;
	STR_AUTO file = node_key_path(NULL, e);
	if (!file || node_key_load(file, &key, e) < 0)
		return -1;
	order.node_file = file;
	return task_work(&order, e);
}

int main(int argc, char **argv)
{
	struct err e = {0};
	if (argc == 3 && strcmp(argv[1], TASK_DRIVER_WORD) == 0) {
		const struct task_order order = {.spool = argv[2], .driver = TASK_DRIVER_FD};
		return task_work(&order, &e) == 0 ? 0 : ERR_EXIT_CODE(e.code);
	}
	if (argc < 2 || argc > 3 || argv[1][0] == '-')
		return usage(argc, argv);
	if (work(argc, argv, &e) == 0)
		return 0;
	fprintf(stderr, "evctl-task: error: %s\n", e.msg);
	if (e.hint[0])
		fprintf(stderr, "evctl-task: hint: %s\n", e.hint);
	return ERR_EXIT_CODE(e.code);
}
