#include "manifest/applyfile.h"

#include "base/file.h"
#include "manifest/doc.h"
#include "manifest/manifest.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define WORD_MAX 300
#define PATH_MAX_BYTES 4000
#define LIST_MAX 10000

static void grants_free(struct apply_connection *c)
{
	for (size_t i = 0; c->grants && i < c->ngrants; i++) {
		free(c->grants[i].expert);
		free(c->grants[i].payer);
	}
	free(c->grants);
}

static void free_host(struct apply_host *h)
{
	free(h->host);
	free(h->bind);
	route_free(&h->route);
	free(h->ca_file);
}

static void connection_free(struct apply_connection *c)
{
	free(c->name);
	strv_free(&c->hosts);
	free(c->env);
	free(c->auth);
	route_free(&c->route);
	free(c->ca_file);
	grants_free(c);
}

void applyfile_free(struct applyfile *a)
{
	for (size_t i = 0; a->hosts && i < a->nhosts; i++)
		free_host(&a->hosts[i]);
	for (size_t i = 0; a->credentials && i < a->ncredentials; i++) {
		free(a->credentials[i].name);
		free(a->credentials[i].payer);
	}
	for (size_t i = 0; a->experts && i < a->nexperts; i++) {
		free(a->experts[i].name);
		free(a->experts[i].dir);
		strv_free(&a->experts[i].hosts);
	}
	for (size_t i = 0; a->connections && i < a->nconnections; i++)
		connection_free(&a->connections[i]);
	free(a->hosts);
	free(a->credentials);
	free(a->experts);
	free(a->connections);
	*a = (struct applyfile){0};
}

/* --- fields --- */

/* What may be left out, what may not, and what may also be null, which is as if it was not there.
 */
enum { OPTIONAL = 0, REQUIRED = 1, CLEARABLE = 2 };

/* The value of a field, NULL if it isn't there; an error at the entry if it must be. */
static const struct doc *field(const struct doc_source *s, const struct doc *map, const char *owner,
	const char *name, int required)
{
	const struct doc *d = doc_get(map, name, NULL);
	if (!d && required == REQUIRED)
		doc_fail(s->what, map, s->e, "%s lacks '%s'", owner, name);
	return d && required == CLEARABLE && doc_is_null(d) ? NULL : d;
}

static int bad(const struct doc_source *s, const struct doc *at, const char *name, const char *rule)
{
	return doc_fail(s->what, at, s->e, "%s must be %s", name, rule);
}

static int read_text(const struct doc_source *s, const struct doc *map, const char *owner,
	const char *name, int required, char **out)
{
	const struct doc *d = field(s, map, owner, name, required);
	if (!d)
		return required == REQUIRED ? -1 : 0;
	if (doc_text(s->what, d, name, PATH_MAX_BYTES, false, out, s->e) < 0)
		return -1;
	return **out ? 0 : doc_fail(s->what, d, s->e, "%s is empty", name);
}

/* Certificates: a file's path, or (as an export writes them) the PEM text itself. */
static int read_ca(const struct doc_source *s, const struct doc *map, const char *owner,
	char **file, char **pem)
{
	const struct doc *d = doc_get(map, "ca", NULL);
	if (read_text(s, map, owner, "ca_file", CLEARABLE, file) < 0)
		return -1;
	if (d && doc_get(map, "ca_file", NULL))
		return doc_fail(s->what, d, s->e, "give 'ca' or 'ca_file', not both");
	return d && !doc_is_null(d)
		       ? doc_text(s->what, d, "ca", APPLYFILE_MAX_BYTES, true, pem, s->e)
		       : 0;
}

/* A word that a rule has to like. */
static int read_word(const struct doc_source *s, const struct doc *map, const char *owner,
	const char *name, int required, bool (*ok)(const char *), const char *rule, char **out)
{
	if (read_text(s, map, owner, name, required, out) < 0)
		return -1;
	if (*out && !ok(*out))
		return bad(s, doc_get(map, name, NULL), name, rule);
	return 0;
}

static int read_flag(const struct doc_source *s, const struct doc *map, const char *name, bool *out)
{
	const struct doc *d = doc_get(map, name, NULL);
	return d && !doc_is_null(d) ? doc_bool(s->what, d, name, out, s->e) : 0;
}

/* The bits of the fields that a map names. */
static unsigned said_in(const struct doc *map)
{
	static const struct {
		const char *name;
		unsigned bit;
	} fields[] = {{"bind", APPLY_BIND}, {"plain", APPLY_PLAIN},
		{"allow_private", APPLY_ALLOW_PRIVATE}, {"connect_to", APPLY_CONNECT_TO},
		{"ca_file", APPLY_CA}, {"ca", APPLY_CA}, {"payer", APPLY_PAYER}};
	unsigned said = 0;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (doc_get(map, fields[i].name, NULL))
			said |= fields[i].bit;
	return said;
}

static int read_answer(
	const struct doc_source *s, const struct doc *map, const char *name, enum apply_answer *out)
{
	bool yes = false;
	*out = APPLY_UNSAID;
	if (!doc_get(map, name, NULL))
		return 0;
	if (read_flag(s, map, name, &yes) < 0)
		return -1;
	*out = yes ? APPLY_YES : APPLY_NO;
	return 0;
}

/* An answer, or the word for: whenever the draft differs from what is published. */
static int read_published(const struct doc_source *s, const struct doc *map, enum apply_answer *out)
{
	const struct doc *d = doc_get(map, "published", NULL);
	struct err none = {0};
	struct doc_source quiet = {s->what, &none};
	if (d && d->kind == DOC_SCALAR && strcmp(d->text, "latest") == 0) {
		*out = APPLY_LATEST;
		return 0;
	}
	return read_answer(&quiet, map, "published", out) < 0
		       ? bad(s, d, "published", "true, false or latest")
		       : 0;
}

static bool is_plain_word(const char *s)
{
	return *s && strlen(s) <= WORD_MAX && !strchr(s, ' ');
}

/* Credentials, and the environment's variables that connections show. */
static bool is_credential(const char *s)
{
	static const char set[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	size_t n = strspn(s, set);
	return n > 0 && n <= 64 && s[n] == '\0' && (s[0] < '0' || s[0] > '9');
}

static bool is_stored_or_buyer(const char *s)
{
	return strcmp(s, "stored") == 0 || strcmp(s, "buyer") == 0;
}

static bool is_builder_or_buyer(const char *s)
{
	return strcmp(s, "builder") == 0 || strcmp(s, "buyer") == 0;
}

/* "bearer", or "header:" and a token of RFC 9110. */
static bool is_auth(const char *s)
{
	static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789!#$%&'*+-.^_`|~";
	if (strcmp(s, "bearer") == 0)
		return true;
	if (strncmp(s, "header:", 7) != 0)
		return false;
	size_t n = strspn(s + 7, token);
	return n > 0 && n <= 128 && s[7 + n] == '\0';
}

static const char *const credential_rule =
	"letters, digits and '_', the first no digit, at most 64";
static const char *const name_rule =
	"lower-case letters, digits, '.', '_' and '-', the first a letter or digit, at most 64";

/* --- entries --- */

static int read_route(const struct doc_source *s, const struct doc *d, const char *owner,
	struct route *r, char **ca_file)
{
	char *to = NULL, *pem = NULL;
	int rc = read_flag(s, d, "allow_private", &r->allow_private);
	if (rc == 0)
		rc = read_word(
			s, d, owner, "connect_to", CLEARABLE, is_plain_word, "ADDR:PORT", &to);
	if (rc == 0)
		rc = read_ca(s, d, owner, ca_file, &pem);
	r->connect_to = to;
	r->ca = pem;
	return rc;
}

static int read_host(const struct doc_source *s, const struct doc *d, void *entry)
{
	static const char *const fields[] = {
		"host", "bind", "allow_private", "plain", "connect_to", "ca_file", "ca", NULL};
	struct apply_host *h = entry;
	h->said = said_in(d);
	h->line = d->line;
	h->col = d->col;
	if (doc_check_fields(s->what, d, "the host", fields, s->e) < 0 ||
		read_word(s, d, "the host", "host", REQUIRED, is_plain_word, "a host name",
			&h->host) < 0 ||
		read_word(s, d, "the host", "bind", CLEARABLE, is_credential, credential_rule,
			&h->bind) < 0 ||
		read_flag(s, d, "plain", &h->plain) < 0)
		return -1;
	return read_route(s, d, "the host", &h->route, &h->ca_file);
}

/* People will try; the file is for version control, so the value must not get that far. */
static int refuse_values(const struct doc_source *s, const struct doc *d)
{
	static const char *const words[] = {
		"value", "secret", "key", "token", "password", "from_file", NULL};
	for (size_t i = 0; words[i]; i++) {
		const struct doc *key = NULL;
		if (!doc_get(d, words[i], &key))
			continue;
		doc_fail(s->what, key, s->e, "'%s' is not allowed: values are never in this file",
			words[i]);
		return err_hint(s->e, "evctl cred add NAME --from-file F");
	}
	return 0;
}

static int read_credential(const struct doc_source *s, const struct doc *d, void *entry)
{
	static const char *const fields[] = {"name", "payer", "sealed", NULL};
	struct apply_credential *c = entry;
	c->said = said_in(d);
	c->line = d->line;
	c->col = d->col;
	if (refuse_values(s, d) < 0 ||
		doc_check_fields(s->what, d, "the credential", fields, s->e) < 0 ||
		read_word(s, d, "the credential", "name", REQUIRED, is_credential, credential_rule,
			&c->name) < 0 ||
		read_word(s, d, "the credential", "payer", CLEARABLE, is_stored_or_buyer,
			"stored or buyer", &c->payer) < 0)
		return -1;
	return read_answer(s, d, "sealed", &c->sealed);
}

static int read_expert(const struct doc_source *s, const struct doc *d, void *entry)
{
	static const char *const fields[] = {"name", "dir", "hosts", "published", NULL};
	struct apply_expert *x = entry;
	x->line = d->line;
	x->col = d->col;
	if (doc_check_fields(s->what, d, "the expert", fields, s->e) < 0 ||
		read_word(s, d, "the expert", "name", REQUIRED, manifest_name_ok, name_rule,
			&x->name) < 0 ||
		read_text(s, d, "the expert", "dir", OPTIONAL, &x->dir) < 0 ||
		read_published(s, d, &x->published) < 0)
		return -1;
	const struct doc *hosts = doc_get(d, "hosts", NULL);
	x->has_hosts = hosts != NULL;
	return hosts && !doc_is_null(hosts)
		       ? doc_words(s->what, hosts, "hosts", WORD_MAX, false, &x->hosts, s->e)
		       : 0;
}

static int read_grant(const struct doc_source *s, const struct doc *d, void *entry)
{
	static const char *const fields[] = {"expert", "payer", NULL};
	struct apply_grant *g = entry;
	g->line = d->line;
	g->col = d->col;
	if (doc_check_fields(s->what, d, "the grant", fields, s->e) < 0 ||
		read_word(s, d, "the grant", "expert", REQUIRED, manifest_name_ok, name_rule,
			&g->expert) < 0)
		return -1;
	return read_word(s, d, "the grant", "payer", OPTIONAL, is_builder_or_buyer,
		"builder or buyer", &g->payer);
}

/* A list of entries of one kind. The first member of an entry is its name, which must differ. */
struct section {
	const char *name;
	size_t size;
	int (*read)(const struct doc_source *, const struct doc *, void *entry);
	const char *key; /* the field that is the name */
};

struct named {
	const char *name;
	size_t at;
};

static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int c = strcmp(x->name, y->name);
	return c ? c : (x->at > y->at) - (x->at < y->at);
}

/* Names the first entry whose name an earlier one has. */
static int check_names(const struct doc_source *s, const struct section *sec,
	const struct doc *list, const char *entries)
{
	char shown[TEXT_SHOWN_MAX];
	size_t again = SIZE_MAX, first = 0;
	struct named *v = calloc(list->n + 1, sizeof *v);
	if (!v)
		return doc_no_memory(s);
	for (size_t i = 0; i < list->n; i++)
		v[i] = (struct named){*(char *const *)(entries + i * sec->size), i};
	qsort(v, list->n, sizeof *v, by_name);
	for (size_t i = 1; i < list->n; i++)
		if (strcmp(v[i - 1].name, v[i].name) == 0 && v[i].at < again) {
			again = v[i].at;
			first = v[i - 1].at;
		}
	if (again != SIZE_MAX)
		doc_fail(s->what, doc_get(list->v[again], sec->key, NULL), s->e,
			"%s names '%s' twice (first at line %d)", sec->name,
			text_shown(*(char *const *)(entries + again * sec->size), shown),
			list->v[first]->line);
	free(v);
	return again == SIZE_MAX ? 0 : -1;
}

/* *n counts entries that may be half read, so that they are freed whatever happens. */
static int read_section(const struct doc_source *s, const struct section *sec,
	const struct doc *map, bool *has, void **entries, size_t *n)
{
	const struct doc *list = doc_get(map, sec->name, NULL);
	*has = list != NULL;
	if (!list)
		return 0;
	if (list->kind != DOC_LIST)
		return doc_fail(s->what, list, s->e, "%s must be a list, got %s", sec->name,
			doc_kind_word(list));
	if (list->n > LIST_MAX)
		return doc_fail(
			s->what, list, s->e, "%s is too long: at most %d", sec->name, LIST_MAX);
	*entries = calloc(list->n + 1, sec->size);
	if (!*entries)
		return doc_no_memory(s);
	for (size_t i = 0; i < list->n; i++) {
		*n = i + 1;
		if (sec->read(s, list->v[i], (char *)*entries + i * sec->size) < 0)
			return -1;
	}
	return check_names(s, sec, list, *entries);
}

static int read_grants(const struct doc_source *s, const struct doc *d, struct apply_connection *c)
{
	static const struct section grants = {
		"grants", sizeof(struct apply_grant), read_grant, "expert"};
	const struct doc *list = doc_get(d, "grants", NULL);
	void *entries = NULL;
	c->has_grants = list != NULL;
	if (list && doc_is_null(list))
		return 0;
	int rc = read_section(s, &grants, d, &c->has_grants, &entries, &c->ngrants);
	c->grants = entries;
	return rc;
}

static int read_connection(const struct doc_source *s, const struct doc *d, void *entry)
{
	static const char *const fields[] = {"name", "hosts", "env", "auth", "allow_private",
		"connect_to", "ca_file", "ca", "grants", NULL};
	static const char owner[] = "the connection";
	struct apply_connection *c = entry;
	c->said = said_in(d);
	c->line = d->line;
	c->col = d->col;
	if (refuse_values(s, d) < 0 || doc_check_fields(s->what, d, owner, fields, s->e) < 0 ||
		read_word(s, d, owner, "name", REQUIRED, manifest_name_ok, name_rule, &c->name) < 0)
		return -1;
	const struct doc *hosts = doc_get(d, "hosts", NULL);
	if (hosts && doc_words(s->what, hosts, "hosts", WORD_MAX, false, &c->hosts, s->e) < 0)
		return -1;
	if (hosts && c->hosts.n == 0)
		return bad(s, hosts, "hosts", "a list of one or more hosts");
	if (read_word(s, d, owner, "env", OPTIONAL, is_credential, credential_rule, &c->env) < 0 ||
		read_word(s, d, owner, "auth", OPTIONAL, is_auth, "bearer or header:NAME",
			&c->auth) < 0 ||
		read_route(s, d, owner, &c->route, &c->ca_file) < 0)
		return -1;
	return read_grants(s, d, c);
}

static int read_file(const struct doc_source *s, const struct doc *d, struct applyfile *a)
{
	static const char *const fields[] = {
		"hosts", "credentials", "experts", "connections", NULL};
	static const struct section sections[] = {
		{"hosts", sizeof(struct apply_host), read_host, "host"},
		{"credentials", sizeof(struct apply_credential), read_credential, "name"},
		{"experts", sizeof(struct apply_expert), read_expert, "name"},
		{"connections", sizeof(struct apply_connection), read_connection, "name"},
	};
	void *entries[4] = {NULL};
	bool *has[] = {&a->has_hosts, &a->has_credentials, &a->has_experts, &a->has_connections};
	size_t *n[] = {&a->nhosts, &a->ncredentials, &a->nexperts, &a->nconnections};
	int rc = doc_check_fields(s->what, d, "the file", fields, s->e);
	for (size_t i = 0; rc == 0 && i < 4; i++)
		rc = read_section(s, &sections[i], d, has[i], &entries[i], n[i]);
	a->hosts = entries[0];
	a->credentials = entries[1];
	a->experts = entries[2];
	a->connections = entries[3];
	return rc;
}

int applyfile_parse(struct applyfile *a, const char *path_for_messages, const void *bytes, size_t n,
	struct err *e)
{
	struct doc_source s = {path_for_messages, e};
	DOC_AUTO d = doc_parse(path_for_messages, bytes, n, APPLYFILE_MAX_BYTES, e);
	if (d && read_file(&s, d, a) == 0)
		return 0;
	if (!e->hint[0])
		err_hint(e, "evctl help apply");
	applyfile_free(a);
	return -1;
}
