#include "front/front_tls.h"

#include <gnutls/abstract.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX 16

/* One certificate with its chain. Kept for good: a handshake may be in the middle of it, and a door
 * gets few of them. */
struct chain {
	gnutls_pcert_st certs[CHAIN_MAX];
	struct http_leaf leaf;
	int algorithm; /* gnutls_pk_algorithm_t of its key */
	unsigned bits;
	struct front_link *link;
	struct chain *older;
};

struct front_tls {
	struct http_tls shared;
	struct front_link *link;
	pthread_mutex_t lock;
	struct chain *newest;
};

/* For all names: the door has one certificate. */
static struct http_leaf *leaf_of(void *arg, const char *name)
{
	struct front_tls *t = arg;
	(void)name;
	pthread_mutex_lock(&t->lock);
	struct chain *c = t->newest;
	pthread_mutex_unlock(&t->lock);
	return c ? &c->leaf : NULL;
}

struct front_tls *front_tls_new(struct front_link *link, struct err *e)
{
	struct front_tls *t = calloc(1, sizeof *t);
	if (!t || http_tls_init(&t->shared, leaf_of, t, e) < 0) {
		free(t);
		err_set(e, ERR_FAIL, "cannot set up TLS");
		return NULL;
	}
	t->link = link;
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

const struct http_tls *front_tls_shared(const struct front_tls *t)
{
	return &t->shared;
}

/* ---- a key that is elsewhere -------------------------------------------------------------------
 */

static int sign(const struct chain *c, gnutls_sign_algorithm_t algorithm, bool hashed,
	const gnutls_datum_t *data, gnutls_datum_t *signature)
{
	const struct door_sign ask = {.id = front_link_number(c->link),
		.algorithm = algorithm,
		.hashed = hashed,
		.data = (const char *)data->data,
		.n = data->size};
	struct door_signed got = {0};
	LINK_ANSWER_AUTO a = {0};
	if (front_link_ask(
		    c->link, ask.id, &door_sign_fields, &ask, &door_signed_fields, &got, &a) < 0 ||
		!got.n)
		return GNUTLS_E_PK_SIGN_FAILED;
	signature->data = gnutls_malloc(got.n);
	if (!signature->data)
		return GNUTLS_E_MEMORY_ERROR;
	memcpy(signature->data, got.data, got.n);
	signature->size = (unsigned)got.n;
	return 0;
}

/* Which of the two is asked depends on the kind of key. */
static int sign_data(gnutls_privkey_t key, gnutls_sign_algorithm_t algorithm, void *arg,
	unsigned flags, const gnutls_datum_t *data, gnutls_datum_t *signature)
{
	(void)key, (void)flags;
	return sign(arg, algorithm, false, data, signature);
}

static int sign_hash(gnutls_privkey_t key, gnutls_sign_algorithm_t algorithm, void *arg,
	unsigned flags, const gnutls_datum_t *hash, gnutls_datum_t *signature)
{
	(void)key, (void)flags;
	return sign(arg, algorithm, true, hash, signature);
}

static int tell(gnutls_privkey_t key, unsigned flags, void *arg)
{
	const struct chain *c = arg;
	(void)key;
	if (flags & GNUTLS_PRIVKEY_INFO_PK_ALGO)
		return c->algorithm;
	if (flags & GNUTLS_PRIVKEY_INFO_PK_ALGO_BITS)
		return (int)c->bits;
	if (flags & GNUTLS_PRIVKEY_INFO_HAVE_SIGN_ALGO)
		return (int)gnutls_sign_supports_pk_algorithm(
			GNUTLS_FLAGS_TO_SIGN_ALGO(flags), (gnutls_pk_algorithm_t)c->algorithm);
	return -1;
}

static int import(struct chain *c, const struct door_chain *d)
{
	if (!d->n || d->n > CHAIN_MAX)
		return -1;
	for (size_t i = 0; i < d->n; i++) {
		const gnutls_datum_t der = {
			(unsigned char *)d->certs[i].p, (unsigned)d->certs[i].n};
		if (gnutls_pcert_import_x509_raw(&c->certs[i], &der, GNUTLS_X509_FMT_DER, 0) < 0)
			return -1;
	}
	c->leaf = (struct http_leaf){.certs = c->certs, .ncerts = (unsigned)d->n};
	c->algorithm = gnutls_pubkey_get_pk_algorithm(c->certs[0].pubkey, &c->bits);
	if (c->algorithm < 0 || gnutls_privkey_init(&c->leaf.key) < 0)
		return -1;
	return gnutls_privkey_import_ext4(
		c->leaf.key, c, sign_data, sign_hash, NULL, NULL, tell, 0);
}

int front_tls_take(struct front_tls *t, const struct buf *message, struct err *e)
{
	struct door_chain d = {0};
	struct chain *c = calloc(1, sizeof *c);
	if (!c || field_read(message, &door_chain_fields, &d) < 0) {
		free(c);
		return err_set(e, ERR_FAIL, "no certificate");
	}
	c->link = t->link;
	int rc = import(c, &d);
	field_free(&door_chain_fields, &d);
	if (rc < 0) {
		free(c);
		return err_set(e, ERR_FAIL, "the certificate cannot be used");
	}
	pthread_mutex_lock(&t->lock);
	c->older = t->newest;
	t->newest = c;
	pthread_mutex_unlock(&t->lock);
	return 0;
}
