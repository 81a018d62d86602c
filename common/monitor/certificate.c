#include "monitor/certificate.h"

#include "base/file.h"

#include <gnutls/abstract.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX 16
#define PEM_MAX KIB(256)

struct certificate {
	gnutls_x509_crt_t crt[CHAIN_MAX];
	gnutls_datum_t der[CHAIN_MAX];
	struct door_der parts[CHAIN_MAX];
	struct door_chain chain;
	gnutls_privkey_t key;
	int pk; /* gnutls_pk_algorithm_t */
};

void certificate_free(struct certificate **at)
{
	struct certificate *c = *at;
	*at = NULL;
	if (!c)
		return;
	for (size_t i = 0; i < c->chain.n; i++) {
		gnutls_free(c->der[i].data);
		gnutls_x509_crt_deinit(c->crt[i]);
	}
	if (c->key)
		gnutls_privkey_deinit(c->key);
	free(c);
}

static int take_chain(struct certificate *c, const struct buf *pem)
{
	const gnutls_datum_t text = {(unsigned char *)pem->data, (unsigned)pem->len};
	unsigned n = CHAIN_MAX;
	if (gnutls_x509_crt_list_import(c->crt, &n, &text, GNUTLS_X509_FMT_PEM,
		    GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED) < 0)
		return -1;
	c->chain = (struct door_chain){c->parts, n};
	for (size_t i = 0; i < n; i++) {
		if (gnutls_x509_crt_export2(c->crt[i], GNUTLS_X509_FMT_DER, &c->der[i]) < 0)
			return -1;
		c->parts[i] = (struct door_der){(const char *)c->der[i].data, c->der[i].size};
	}
	return n ? 0 : -1;
}

static int take_key(struct certificate *c, const struct buf *pem)
{
	const gnutls_datum_t text = {(unsigned char *)pem->data, (unsigned)pem->len};
	if (gnutls_privkey_init(&c->key) < 0 ||
		gnutls_privkey_import_x509_raw(c->key, &text, GNUTLS_X509_FMT_PEM, NULL, 0) < 0)
		return -1;
	c->pk = gnutls_privkey_get_pk_algorithm(c->key, NULL);
	return c->pk < 0 ? -1 : 0;
}

static bool fit(const struct certificate *c)
{
	unsigned char a[64], b[64];
	size_t na = sizeof a, nb = sizeof b;
	gnutls_pubkey_t pub;
	if (gnutls_pubkey_init(&pub) < 0)
		return false;
	bool same = gnutls_pubkey_import_privkey(pub, c->key, 0, 0) == 0 &&
		    gnutls_pubkey_get_key_id(pub, 0, a, &na) == 0 &&
		    gnutls_x509_crt_get_key_id(c->crt[0], 0, b, &nb) == 0 && na == nb &&
		    memcmp(a, b, na) == 0;
	gnutls_pubkey_deinit(pub);
	return same;
}

struct certificate *certificate_load(const char *cert, const char *key, struct err *e)
{
	BUF_AUTO chain = {.limit = PEM_MAX};
	BUF_AUTO secret = {.limit = PEM_MAX, .secret = true};
	if (file_read(cert, &chain, e) < 0 || file_read(key, &secret, e) < 0)
		return NULL;
	struct certificate *c = calloc(1, sizeof *c);
	if (!c)
		err_set(e, ERR_FAIL, "out of memory");
	else if (take_chain(c, &chain) < 0)
		err_set(e, ERR_USAGE, "'%s' holds no certificate in PEM", cert);
	else if (take_key(c, &secret) < 0)
		err_set(e, ERR_USAGE, "'%s' holds no key in PEM without a password", key);
	else if (!fit(c))
		err_set(e, ERR_USAGE, "the key in '%s' is not of the certificate in '%s'", key,
			cert);
	else
		return c;
	err_hint(e, "--cert CHAIN.pem --key KEY.pem, as an ACME client writes them");
	certificate_free(&c);
	return NULL;
}

const struct door_chain *certificate_chain(const struct certificate *c)
{
	return &c->chain;
}

int certificate_sign(const struct certificate *c, int64_t algorithm, bool hashed, const void *p,
	size_t n, struct buf *out)
{
	const gnutls_datum_t data = {(unsigned char *)p, (unsigned)n};
	gnutls_datum_t signature = {0};
	gnutls_sign_algorithm_t sign = (gnutls_sign_algorithm_t)algorithm;
	int rc = -1;
	if (gnutls_sign_supports_pk_algorithm(sign, (gnutls_pk_algorithm_t)c->pk))
		rc = hashed ? gnutls_privkey_sign_hash2(c->key, sign, 0, &data, &signature)
			    : gnutls_privkey_sign_data2(c->key, sign, 0, &data, &signature);
	if (rc < 0)
		return -1;
	buf_add(out, signature.data, signature.size);
	gnutls_free(signature.data);
	return buf_failed(out) ? -1 : 0;
}
