/*
 * The limits that people are told of (evctl-contract(7)), each once, in the unit that its name ends
 * in. The cell and the manual pages get their numbers from this file when they are built: so each
 * is a name and a plain number. Sizes are decimal, MB and KB; those of memory GIB, MIB, KIB.
 */
#ifndef EVCTL_BASE_LIMITS_H
#define EVCTL_BASE_LIMITS_H

#include <stddef.h>

/* Of a call. */
#define LIMIT_CALL_S 25 /* most, and what it is where a tool says nothing; so is memory */
#define LIMIT_MEMORY_GIB 1
#define LIMIT_PROCESSES 64
#define LIMIT_OPEN_FILES 256 /* of a process */
#define LIMIT_INPUT_MB 10
#define LIMIT_RESULT_MB 1
#define LIMIT_LOG_MB 1
#define LIMIT_SCRATCH_MB 64 /* with /tmp and /dev/shm */
#define LIMIT_OUTPUT_MB 5   /* a file */
#define LIMIT_OUTPUTS_MB 10 /* all of them */
#define LIMIT_OUTPUTS 20
#define LIMIT_KEYS 1000

/* Of the gate, in a call. */
#define LIMIT_REQUEST_MB 10 /* a body */
#define LIMIT_ANSWER_MB 50  /* a body, decoded */
#define LIMIT_REQUESTS 64   /* at once */
#define LIMIT_HOSTS 1000
#define LIMIT_EVENTS 10000 /* the rest is counted by shape */
#define LIMIT_SHAPES 1000  /* and what is of none of these, together */

/* Of a call to a connection. */
#define LIMIT_API_S 20
#define LIMIT_API_REQUEST_KB 256
#define LIMIT_API_ANSWER_MB 1
#define LIMIT_API_SAVE_MB 5

/* Of what is kept. */
#define LIMIT_VALUE_KIB 64 /* of a credential */
#define LIMIT_CA_MIB 1
#define LIMIT_EXPERT_FILES 5000
#define LIMIT_EXPERT_MB 100

/* Of a batch. */
#define LIMIT_JOBS 1000 /* sandboxes at once */

/* Of a session. */
#define LIMIT_IDLE_S 900 /* where nothing else is said */
#define LIMIT_LIFE_S 43200
#define LIMIT_QUEUE_S 10 /* behind others' calls, or for the state's lock */

/* Of the door. */
#define LIMIT_DOOR_CONNECTIONS_EACH 100 /* from one address */

#define KB(n) ((size_t)(n)*1000)
#define MB(n) ((size_t)(n)*1000000)
#define KIB(n) ((size_t)(n) << 10)
#define MIB(n) ((size_t)(n) << 20)
#define GIB(n) ((size_t)(n) << 30)
#define MS(seconds) ((seconds)*1000)
/* The number, for a message. */
#define LIMIT_TEXT(limit) LIMIT_TEXT_(limit)
#define LIMIT_TEXT_(number) #number

#endif
