/*
 * The file of `evctl apply -f`: hosts, credentials (by name, never values), experts, connections
 * and grants. Pure: bytes in, structs out; as strict as expert.yaml, same errors
 * "PATH:LINE:COL: cause".
 *
 *	hosts:       [{host, bind?, allow_private?, plain?, connect_to?, ca_file?, ca?}]
 *	credentials: [{name, payer?: stored|buyer, sealed?}]
 *	experts:     [{name, dir?, hosts?: [...], published?: true|false|latest}]
 *	connections: [{name, hosts?: [...], env?, auth?: bearer|header:NAME, allow_private?,
 *	               connect_to?, ca_file?, ca?, grants?: [{expert, payer?: builder|buyer}]}]
 *
 * A field that is left out is to be left alone, so each struct knows which were said; null says
 * the default.
 *
 * Names are checked and differ within their list. Not checked here: whether what is referred to
 * exists, the grammar of hosts and addresses (net/hostname.h), files; line and col, both from 1,
 * are for messages about those. Paths are as written: relative to the file, which is the caller's
 * to join.
 */
#ifndef EVCTL_MANIFEST_APPLYFILE_H
#define EVCTL_MANIFEST_APPLYFILE_H

#include "base/err.h"
#include "base/strv.h"
#include "net/host.h"

#include <stdbool.h>
#include <stddef.h>

#define APPLYFILE_MAX_BYTES ((size_t)1000000)

enum apply_answer { APPLY_UNSAID = -1, APPLY_NO = 0, APPLY_YES = 1, APPLY_LATEST = 2 };

/* Which of its fields an entry names, null or not. */
enum apply_said {
	APPLY_BIND = 1,
	APPLY_PLAIN = 2,
	APPLY_ALLOW_PRIVATE = 4,
	APPLY_CONNECT_TO = 8,
	APPLY_CA = 16, /* ca or ca_file */
	APPLY_PAYER = 32,
};

struct apply_host {
	char *host;
	unsigned said;
	char *bind; /* credential, or NULL: egress only */
	bool plain;
	struct route route;
	char *ca_file; /* instead of route.ca, or NULL */
	int line, col;
};

struct apply_credential {
	char *name;
	unsigned said;
	char *payer; /* "stored", "buyer", or NULL: "stored" where it is said */
	enum apply_answer sealed;
	int line, col;
};

struct apply_expert {
	char *name;
	char *dir; /* NULL: must exist already */
	bool has_hosts;
	struct strv hosts; /* the whole set where has_hosts, even when empty */
	enum apply_answer published;
	int line, col;
};

struct apply_grant {
	char *expert;
	char *payer; /* "builder", "buyer", or NULL: not said */
	int line, col;
};

struct apply_connection {
	char *name;
	unsigned said;
	struct strv hosts; /* none: not said */
	char *env;	   /* or NULL: not said */
	char *auth;	   /* "bearer", "header:NAME", or NULL: not said */
	struct route route;
	char *ca_file; /* instead of route.ca, or NULL */
	bool has_grants;
	struct apply_grant *grants;
	size_t ngrants;
	int line, col;
};

struct applyfile {
	bool has_hosts, has_credentials, has_experts, has_connections; /* the section is there */
	struct apply_host *hosts;
	size_t nhosts;
	struct apply_credential *credentials;
	size_t ncredentials;
	struct apply_expert *experts;
	size_t nexperts;
	struct apply_connection *connections;
	size_t nconnections;
};

#define APPLYFILE_AUTO __attribute__((cleanup(applyfile_free))) struct applyfile

/* Fills a zeroed applyfile; on -1 it is empty again. */
int applyfile_parse(struct applyfile *a, const char *path_for_messages, const void *bytes, size_t n,
	struct err *e);
void applyfile_free(struct applyfile *a);

#endif
