/*
 * What the monitor and evctl-introspect say to each other, each a frame with one message. That
 * process speaks to the authorization server, and to nobody else; it alone has the client's secret.
 */
#ifndef EVCTL_DOOR_ISSUER_MESSAGE_H
#define EVCTL_DOOR_ISSUER_MESSAGE_H

#include "base/field.h"

#include <netinet/in.h>

#define ISSUER_MESSAGE_MAX ((size_t)65536)
#define ISSUER_SUBJECT_MAX 255

struct issuer_rules {
	const char *host, *target; /* of the introspection endpoint */
	uint16_t port;
	bool tls;
	const char *authorization; /* a header's value, with the secret */
	const char *issuer, *claim;
};

struct issuer_ask {
	uint64_t id;
	const char *token;
	const char *origin,
		*resource; /* one of them must be the audience; resource NULL: the origin */
};

enum issuer_word { ISSUER_SILENT, ISSUER_NO, ISSUER_YES };
struct issuer_told {
	uint64_t id;
	int word;
	char subject[ISSUER_SUBJECT_MAX + 1];
	int64_t until; /* ms */
};

extern const struct fields issuer_rules_fields, issuer_ask_fields; /* from the monitor */
extern const struct fields issuer_told_fields;			   /* from evctl-introspect */

#endif
