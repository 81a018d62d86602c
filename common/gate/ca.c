#include "gate/ca.h"

#include "net/hostname.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEAVES_MAX 4096 /* names in one call */
#define LEAVES_KEPT 256 /* from one call to the next */
#define SLOTS 1024
#define DAYS 90

struct leaf_entry {
	gnutls_pcert_st cert;
	struct http_leaf leaf; /* of the one above */
	struct leaf_entry *next;
	char name[HOST_MAX];
};

struct ca {
	gnutls_x509_privkey_t key, leaf_key;
	gnutls_privkey_t leaf_priv;
	gnutls_x509_crt_t cert;
	gnutls_datum_t pem;
	pthread_mutex_t lock;
	struct leaf_entry *slot[SLOTS];
	size_t n;
};

static int set_common(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key)
{
	unsigned char serial[16], id[20];
	size_t id_len = sizeof id;
	time_t now = time(NULL);
	if (gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial) < 0)
		return -1;
	serial[0] = (serial[0] & 0x7f) | 0x40; /* positive, and of full length */
	/* An hour back: clocks inside and outside are one, but rounding is not. */
	if (gnutls_x509_crt_set_version(crt, 3) < 0 ||
		gnutls_x509_crt_set_serial(crt, serial, sizeof serial) < 0 ||
		gnutls_x509_crt_set_activation_time(crt, now - 3600) < 0 ||
		gnutls_x509_crt_set_expiration_time(crt, now + (time_t)DAYS * 86400) < 0 ||
		gnutls_x509_crt_set_key(crt, key) < 0 ||
		gnutls_x509_crt_get_key_id(crt, 0, id, &id_len) < 0 ||
		gnutls_x509_crt_set_subject_key_id(crt, id, id_len) < 0)
		return -1;
	return 0;
}

static int make_root(struct ca *ca)
{
	static const char name[] = "evctl session CA";
	if (gnutls_x509_crt_init(&ca->cert) < 0 || set_common(ca->cert, ca->key) < 0)
		return -1;
	if (gnutls_x509_crt_set_dn_by_oid(
		    ca->cert, GNUTLS_OID_X520_COMMON_NAME, 0, name, sizeof name - 1) < 0 ||
		gnutls_x509_crt_set_basic_constraints(ca->cert, 1, 0) < 0 ||
		gnutls_x509_crt_set_key_usage(ca->cert, GNUTLS_KEY_KEY_CERT_SIGN) < 0 ||
		gnutls_x509_crt_sign2(ca->cert, ca->cert, ca->key, GNUTLS_DIG_SHA256, 0) < 0)
		return -1;
	return gnutls_x509_crt_export2(ca->cert, GNUTLS_X509_FMT_PEM, &ca->pem);
}

static int make_key(gnutls_x509_privkey_t *key)
{
	if (gnutls_x509_privkey_init(key) < 0)
		return -1;
	return gnutls_x509_privkey_generate(
		*key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
}

static void drop_leaves(struct ca *ca)
{
	for (size_t i = 0; i < SLOTS; i++) {
		while (ca->slot[i]) {
			struct leaf_entry *gone = ca->slot[i];
			ca->slot[i] = gone->next;
			gnutls_pcert_deinit(&gone->cert);
			free(gone);
		}
	}
	ca->n = 0;
}

static void ca_free(struct ca **cap)
{
	struct ca *ca = *cap;
	if (!ca)
		return;
	drop_leaves(ca);
	if (ca->leaf_priv)
		gnutls_privkey_deinit(ca->leaf_priv);
	if (ca->leaf_key)
		gnutls_x509_privkey_deinit(ca->leaf_key);
	if (ca->key)
		gnutls_x509_privkey_deinit(ca->key);
	if (ca->cert)
		gnutls_x509_crt_deinit(ca->cert);
	gnutls_free(ca->pem.data);
	pthread_mutex_destroy(&ca->lock);
	free(ca);
	*cap = NULL;
}

struct ca *ca_new(struct err *e)
{
	struct ca *ca = calloc(1, sizeof *ca);
	if (!ca) {
		err_set(e, ERR_FAIL, "out of memory");
		return NULL;
	}
	pthread_mutex_init(&ca->lock, NULL);
	if (make_key(&ca->key) < 0 || make_key(&ca->leaf_key) < 0 || make_root(ca) < 0 ||
		gnutls_privkey_init(&ca->leaf_priv) < 0 ||
		gnutls_privkey_import_x509(ca->leaf_priv, ca->leaf_key, 0) < 0) {
		err_set(e, ERR_SANDBOX, "cannot make the session's certificate authority");
		ca_free(&ca);
	}
	return ca;
}

const char *ca_pem(const struct ca *ca)
{
	return (const char *)ca->pem.data;
}

void ca_forget(struct ca *ca)
{
	if (ca->n > LEAVES_KEPT)
		drop_leaves(ca);
}

/* With a trailing dot too, since clients compare what they were given. */
static int set_names(gnutls_x509_crt_t crt, const char *name)
{
	char dotted[HOST_MAX + 1];
	int n = snprintf(dotted, sizeof dotted, "%s.", name);
	if (gnutls_x509_crt_set_subject_alt_name(
		    crt, GNUTLS_SAN_DNSNAME, name, (unsigned)n - 1, GNUTLS_FSAN_SET) < 0)
		return -1;
	return gnutls_x509_crt_set_subject_alt_name(
		crt, GNUTLS_SAN_DNSNAME, dotted, (unsigned)n, GNUTLS_FSAN_APPEND);
}

static int sign_leaf(struct ca *ca, gnutls_x509_crt_t crt, const char *name)
{
	unsigned char id[20];
	size_t id_len = sizeof id, n = strlen(name);
	if (set_common(crt, ca->leaf_key) < 0)
		return -1;
	/* A common name has 64 bytes at most, and nobody who checks names looks at it any more. */
	if (gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0,
		    n <= 64 ? name : "evctl", n <= 64 ? n : 5) < 0)
		return -1;
	if (set_names(crt, name) < 0 || gnutls_x509_crt_set_basic_constraints(crt, 0, -1) < 0 ||
		gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE) < 0 ||
		gnutls_x509_crt_set_key_purpose_oid(crt, GNUTLS_KP_TLS_WWW_SERVER, 0) < 0 ||
		gnutls_x509_crt_get_subject_key_id(ca->cert, id, &id_len, NULL) < 0 ||
		gnutls_x509_crt_set_authority_key_id(crt, id, id_len) < 0)
		return -1;
	return gnutls_x509_crt_sign2(crt, ca->cert, ca->key, GNUTLS_DIG_SHA256, 0);
}

static int make_leaf(struct ca *ca, struct leaf_entry *en)
{
	gnutls_x509_crt_t crt;
	if (gnutls_x509_crt_init(&crt) < 0)
		return -1;
	int rc = sign_leaf(ca, crt, en->name);
	if (rc >= 0)
		rc = gnutls_pcert_import_x509(&en->cert, crt, 0);
	gnutls_x509_crt_deinit(crt);
	en->leaf = (struct http_leaf){&en->cert, 1, ca->leaf_priv};
	return rc;
}

static size_t slot_of(const char *name)
{
	size_t h = 5381;
	for (; *name; name++)
		h = h * 33 ^ (unsigned char)*name;
	return h % SLOTS;
}

static struct leaf_entry *find_or_make(struct ca *ca, const char *name)
{
	struct leaf_entry **slot = &ca->slot[slot_of(name)];
	for (struct leaf_entry *en = *slot; en; en = en->next)
		if (strcmp(en->name, name) == 0)
			return en;
	struct leaf_entry *en =
		ca->n < LEAVES_MAX && strlen(name) < HOST_MAX ? calloc(1, sizeof *en) : NULL;
	if (!en)
		return NULL;
	memcpy(en->name, name, strlen(name) + 1);
	if (make_leaf(ca, en) < 0) {
		free(en);
		return NULL;
	}
	en->next = *slot;
	*slot = en;
	ca->n++;
	return en;
}

struct http_leaf *ca_leaf(void *arg, const char *name)
{
	struct ca *ca = arg;
	if (!*name)
		return NULL; /* which host it is for is known by its name alone */
	pthread_mutex_lock(&ca->lock);
	struct leaf_entry *en = find_or_make(ca, name);
	pthread_mutex_unlock(&ca->lock);
	return en ? &en->leaf : NULL;
}
