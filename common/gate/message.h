/*
 * What supervisor and gate say to each other on the control socket, each a frame (base/file.h) that
 * holds one message (base/field.h). The gate answers each of the supervisor's with one.
 */
#ifndef EVCTL_GATE_MESSAGE_H
#define EVCTL_GATE_MESSAGE_H

#include "gate/client.h"

/*
 * What the gate notes down in memory that it shares with the supervisor, who looks at it when the
 * gate has died: the report so far. Of this size, which is sealed.
 */
#define GATE_JOURNAL_MAX ((size_t)16 << 20)
struct gate_journal {
	_Atomic uint64_t state; /* bytes of items, times 2^32; and how many: they change together */
	struct gate_summary summary;
	char items[];
};
struct gate_event {
	struct net_event event;
};

#define GATE_MESSAGE_MAX ((size_t)32 << 20)

struct gate_opening {
	uint16_t *ports; /* one for each descriptor that comes along */
	size_t n;
};

struct gate_word {
	const char *text;
};

/* From the supervisor: these ports; this call; it is over. */
extern const struct fields gate_open_fields;   /* struct gate_opening */
extern const struct fields gate_policy_fields; /* struct gate_policy */
extern const struct fields gate_end_fields;    /* no struct */
/* From the gate, in this order; or that it could not. */
extern const struct fields gate_ready_fields;  /* struct gate_word: the CA */
extern const struct fields gate_ok_fields;     /* no struct */
extern const struct fields gate_report_fields; /* struct gate_report */
extern const struct fields gate_error_fields;  /* struct gate_word */
/* For the journal: an event's fields, behind tag and version, are an item of the report's. */
extern const struct fields gate_event_fields;	/* struct gate_event */
extern const struct fields gate_request_fields; /* a part: struct net_event */
#define GATE_EVENT_SKIP 2

#endif
