#include "monitor/foreign.h"

#include "base/file.h"
#include "monitor/admission.h"
#include "monitor/process.h"
#include "net/hostname.h"
#include "state/seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_MAX 1024
#define FRESH_MS 60000
#define AT_ONCE 4
#define A_SECOND 20
#define ANSWER_MS 1000
#define SILENT_MS 1000 /* until a server that gave no answer is asked again */

/* What was said of one token for one expert. */
struct known {
	unsigned char hash[SEAL_HASH_BYTES];
	struct foreign_seen seen;
	enum issuer_word word;
	int64_t at;	 /* CLOCK_MONOTONIC ms of the answer; 0: a free place */
	uint64_t number; /* of the question that is out; 0: none */
};

struct foreign {
	const struct foreign_spec *spec;
	struct child child;
	int sock;
	struct known v[KNOWN_MAX];
	uint64_t last;
	int out;	/* questions */
	int64_t second; /* CLOCK_MONOTONIC s, in which so many were asked */
	int asked;
};

/* ---- the process ------------------------------------------------------------------------------
 */

static int say(struct foreign *f, const struct fields *of, const void *what)
{
	BUF_AUTO b = {.limit = ISSUER_MESSAGE_MAX, .secret = true};
	struct err quiet = {0};
	if (f->sock < 0 || field_write(&b, of, what, &quiet) < 0)
		return -1;
	return frame_send(f->sock, b.data, b.len, NULL, 0, &quiet);
}

static int start(struct foreign *f, struct err *e)
{
	int r = process_helper("evctl-introspect", NULL, 0, &f->child, &f->sock, e);
	if (r == 0)
		say(f, &issuer_rules_fields, &f->spec->rules);
	return r;
}

struct foreign *foreign_new(const struct foreign_spec *spec, struct err *e)
{
	struct foreign *f = calloc(1, sizeof *f);
	if (!f) {
		err_set(e, ERR_FAIL, "out of memory");
		return NULL;
	}
	f->spec = spec;
	f->child = CHILD_NONE;
	f->sock = -1;
	if (start(f, e) < 0)
		foreign_free(&f);
	return f;
}

void foreign_free(struct foreign **f)
{
	if (!*f)
		return;
	child_kill(&(*f)->child);
	fd_close(&(*f)->sock);
	free(*f);
	*f = NULL;
}

int foreign_fd(const struct foreign *f)
{
	return f ? f->sock : -1;
}

/* ---- what is known ----------------------------------------------------------------------------
 */

static void hash_of(const char *token, const char *expert, unsigned char out[SEAL_HASH_BYTES])
{
	seal_hash(
		out, expert ? expert : "", (expert ? strlen(expert) : 0) + 1, token, strlen(token));
}

/* The one of that hash, or the place that is free or oldest, made its own; none out is given up. */
static struct known *place_of(struct foreign *f, const unsigned char hash[SEAL_HASH_BYTES])
{
	struct known *best = NULL;
	for (size_t i = 0; i < KNOWN_MAX; i++) {
		struct known *k = &f->v[i];
		if ((k->at || k->number) && memcmp(k->hash, hash, SEAL_HASH_BYTES) == 0)
			return k;
		if (!k->number && (!best || k->at < best->at))
			best = k;
	}
	if (best) {
		*best = (struct known){0};
		memcpy(best->hash, hash, SEAL_HASH_BYTES);
	}
	return best;
}

/* By the token alone: sessions of one token are one's, whatever expert it was asked about for. */
static void make_id(const char *token, char id[17])
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char hash[SEAL_HASH_BYTES];
	seal_hash(hash, "evctl foreign", 13, token, strlen(token));
	id[0] = ADMISSION_FOREIGN;
	for (size_t i = 1; i < 16; i++)
		id[i] = digits[hash[i] & 31];
	id[16] = '\0';
}

static bool may_ask(struct foreign *f)
{
	int64_t now = clock_mono_ms() / 1000;
	if (now != f->second) {
		f->second = now;
		f->asked = 0;
	}
	return f->out < AT_ONCE && f->asked < A_SECOND;
}

static enum foreign_word ask(
	struct foreign *f, struct known *k, const char *token, const char *expert)
{
	BUF_AUTO resource = {0};
	if (!may_ask(f))
		return FOREIGN_BUSY;
	buf_addf(&resource, "%s/mcp/%s", f->spec->origin, expert ? expert : "");
	const struct issuer_ask q = {.id = ++f->last,
		.token = token,
		.origin = f->spec->origin,
		.resource = expert ? buf_str(&resource) : NULL};
	make_id(token, k->seen.id);
	if (say(f, &issuer_ask_fields, &q) < 0)
		return FOREIGN_BUSY;
	k->number = q.id;
	f->out++;
	f->asked++;
	return FOREIGN_ASKED;
}

enum foreign_word foreign_look(struct foreign *f, const char *token, const char *expert,
	struct foreign_seen *out, uint64_t *number)
{
	unsigned char hash[SEAL_HASH_BYTES];
	hash_of(token, expert, hash);
	struct known *k = place_of(f, hash);
	if (!k)
		return FOREIGN_BUSY;
	*number = k->number;
	if (k->number)
		return FOREIGN_ASKED;
	bool fresh = k->at && clock_mono_ms() - k->at < FRESH_MS && k->word != ISSUER_SILENT;
	if (fresh && k->word == ISSUER_YES && k->seen.until > clock_real_ms()) {
		*out = k->seen;
		return FOREIGN_YES;
	}
	if (fresh)
		return FOREIGN_NO;
	if (k->at && k->word == ISSUER_SILENT && clock_mono_ms() - k->at < SILENT_MS)
		return FOREIGN_BUSY;
	enum foreign_word word = ask(f, k, token, expert);
	*number = k->number;
	return word;
}

static void give_up_all(struct foreign *f)
{
	for (size_t i = 0; i < KNOWN_MAX; i++)
		if (f->v[i].number)
			f->v[i] = (struct known){0};
	f->out = 0;
}

uint64_t foreign_take(struct foreign *f)
{
	BUF_AUTO b = {.limit = ISSUER_MESSAGE_MAX};
	struct issuer_told told = {0};
	struct err quiet = {0};
	if (frame_recv(f->sock, &b, NULL, NULL, clock_mono_ms() + ANSWER_MS, &quiet) != 1 ||
		field_read(&b, &issuer_told_fields, &told) < 0) {
		fd_close(&f->sock);
		child_kill(&f->child);
		give_up_all(f);
		start(f, &quiet);
		return 0;
	}
	for (size_t i = 0; i < KNOWN_MAX; i++) {
		struct known *k = &f->v[i];
		if (k->number != told.id)
			continue;
		k->number = 0;
		k->at = clock_mono_ms();
		k->word = told.word == ISSUER_YES  ? ISSUER_YES
			  : told.word == ISSUER_NO ? ISSUER_NO
						   : ISSUER_SILENT;
		memcpy(k->seen.subject, told.subject, sizeof told.subject);
		k->seen.until = told.until;
		f->out--;
		return told.id;
	}
	return 0;
}

bool foreign_lives(const struct foreign *f, const char *id)
{
	for (size_t i = 0; f && i < KNOWN_MAX; i++)
		if (f->v[i].at && strcmp(f->v[i].seen.id, id) == 0 && f->v[i].word == ISSUER_YES &&
			f->v[i].seen.until > clock_real_ms())
			return true;
	return false;
}

/* ---- the endpoint -----------------------------------------------------------------------------
 */

int foreign_parse_url(const char *url, struct issuer_rules *r, struct err *e)
{
	char name[HOST_MAX];
	const char *why = "it begins with neither https:// nor http://";
	bool tls = strncmp(url, "https://", 8) == 0;
	const char *host = url + (tls ? 8 : 7);
	size_t n = tls || strncmp(url, "http://", 7) == 0 ? strcspn(host, "/:?#") : 0;
	long port = tls ? 443 : 80;
	char *end = (char *)host + n;
	if (n && *end == ':')
		port = strtol(end + 1, &end, 10);
	bool fine = n && (*end == '/' || !*end) && port > 0 && port < 65536 &&
		    !strpbrk(end, "# \t") && host_normalise(host, n, name, &why) == 0;
	if (fine && !tls && strcmp(name, "localhost") != 0) {
		fine = false;
		why = "only localhost is spoken to without TLS";
	}
	if (!fine) {
		err_set(e, ERR_USAGE, "'%.200s' is no introspection endpoint: %s", url, why);
		return err_hint(e, "--introspect https://NAME[:PORT]/PATH");
	}
	r->host = strdup(name);
	r->target = strdup(*end ? end : "/");
	r->port = (uint16_t)port;
	r->tls = tls;
	return r->host && r->target ? 0 : err_set(e, ERR_FAIL, "out of memory");
}
