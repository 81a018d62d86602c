/*
 * The session's certificate authority: ECDSA P-256, made at start, in memory only, and gone with
 * the process. One leaf for each name, made when first asked for. Only includer of gnutls's x509
 * writing side. Safe for many threads.
 */
#ifndef EVCTL_GATE_CA_H
#define EVCTL_GATE_CA_H

#include "net/http_conn.h"

struct ca;

struct ca *ca_new(struct err *e);
/* The certificate that the sandbox trusts; owned by ca. */
const char *ca_pem(const struct ca *ca);
/*
 * The leaf for a canonical name (an http_leaf_fn of a struct ca); owned by ca and valid until
 * ca_forget(). NULL when it can't be made, or when this call has asked for too many names.
 */
struct http_leaf *ca_leaf(void *ca, const char *name);
/* Between calls, when nobody uses a leaf: forgets them if they are many. */
void ca_forget(struct ca *ca);

#endif
