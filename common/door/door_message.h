/*
 * What the door's front and its monitor say to each other, each a frame (base/file.h) that holds
 * one message (base/field.h). The front asks, with a number of its own, which the answer repeats;
 * answers come in any order. What the front says may come from somebody who has taken it over.
 */
#ifndef EVCTL_DOOR_DOOR_MESSAGE_H
#define EVCTL_DOOR_DOOR_MESSAGE_H

#include "base/field.h"
#include "base/limits.h"

#define DOOR_MESSAGE_MAX MB(16)
#define DOOR_BODY_MAX (DOOR_MESSAGE_MAX - 65536) /* of a page */
#define DOOR_NAME_MAX 64
#define DOOR_TOKEN_MAX 16384
#define DOOR_PATH_MAX 8192
#define DOOR_PARAMS_MAX 1000
#define DOOR_ADDRESSES_MAX 256

/* At its start the front is told what to hold to. */
struct door_rules {
	const char *public_url; /* "https://HOST[:PORT]", or NULL: loopback names only */
	const char *issuer;	/* of other tokens than ours; NULL: there are none */
	bool tls;		/* speaks TLS itself */
	bool behind;		/* behind a proxy: the client is who the proxy says */
	const char **trusted;	/* addresses of proxies, the only ones that may connect */
	size_t ntrusted;
	int64_t connections, connections_each; /* at once; from one address */
	int64_t sessions, sessions_each;       /* at once; of one buyer */
	int64_t idle_ms;		       /* of a session */
};
/* The certificate and what leads up from it, DER each. Its key stays where it is. */
struct door_chain {
	struct door_der *certs;
	size_t n;
};
struct door_der {
	const char *p;
	size_t n;
};

/* May who shows this token use this expert? */
struct door_admit {
	uint64_t id;
	const char *token, *expert;
};
/* status: 200, or what to answer: 401, 403, 404, 503. */
struct door_admitted {
	uint64_t id;
	int status;
	char buyer[DOOR_NAME_MAX + 1];
	char token[DOOR_NAME_MAX + 1]; /* its id */
	int version;		       /* the expert's that is published now */
};

/* A new evctl-mcp, or with a tool one call by evctl-run. Two descriptors come with the answer. */
struct door_start {
	uint64_t id;
	const char *token, *expert;
	const char *tool; /* or NULL */
};
struct door_started {
	uint64_t id;
	int status;	  /* 200, 401, 403, 404, 503 */
	uint64_t process; /* its number */
	int version;
};
/* The front has no more use for it; or: it is over, or is to be used no more. */
struct door_end {
	uint64_t process;
};

/* A page, or what a form on one says. */
struct door_param {
	const char *name, *value;
};
struct door_page {
	uint64_t id;
	bool post, secure; /* the browser has a connection that nobody listens to */
	const char *path, *cookie, *origin;
	struct door_param *params; /* of the query, or the form */
	size_t nparams;
};
struct door_paged {
	uint64_t id;
	int status;
	const char *type, *location, *cookie, *disposition; /* NULL: without */
	const char *body;
	size_t nbody;
	bool bytes;	  /* made by a run: shown under the strictest policy */
	bool fetched;	  /* say so by door_fetched when all has been sent */
	uint64_t process; /* a run that the form started, its descriptors with this; 0: none */
};
struct door_fetched {
	const char *cookie, *run, *name;
};
/* The run's end, as evctl-run -o json tells it, to be made a page: answered by a door_paged. */
struct door_result {
	uint64_t id;
	const char *cookie, *expert, *tool, *json;
	size_t njson;
};

/* A handshake to be signed, by the certificate's key. */
struct door_sign {
	uint64_t id;
	int64_t algorithm; /* gnutls_sign_algorithm_t */
	bool hashed;	   /* data is a hash of it already */
	const char *data;
	size_t n;
};
struct door_signed {
	uint64_t id;
	const char *data; /* NULL: refused */
	size_t n;
};

/* From the front. */
extern const struct fields door_admit_fields, door_start_fields, door_end_fields, door_page_fields,
	door_fetched_fields, door_result_fields, door_sign_fields;
/* From the monitor. */
extern const struct fields door_rules_fields, door_chain_fields, door_admitted_fields,
	door_started_fields, door_ended_fields, door_paged_fields, door_signed_fields;
extern const struct fields door_drain_fields; /* no struct: no new calls */

#endif
