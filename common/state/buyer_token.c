#include "state/buyer_token.h"

#include "base/file.h"
#include "state/buyer.h"
#include "state/db.h"
#include "state/expert.h"

#include <string.h>
#include <zlib.h>

#define RAW 32
#define DIGITS 43
#define CHECK 6
#define PREFIX "evb_"
#define USE_MS 60000 /* between two notes that it is used */

static const char base62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* A number of big-endian bytes, which is used up, as so many digits. */
static void to_base62(unsigned char *bytes, size_t n, char *out, size_t digits)
{
	for (size_t i = digits; i-- > 0;) {
		unsigned rest = 0;
		for (size_t k = 0; k < n; k++) {
			unsigned v = rest << 8 | bytes[k];
			bytes[k] = (unsigned char)(v / 62);
			rest = v % 62;
		}
		out[i] = base62[rest];
	}
}

static void check_of(const char digits[DIGITS], char out[CHECK])
{
	unsigned long crc = crc32(0, (const unsigned char *)digits, DIGITS);
	unsigned char bytes[4] = {(unsigned char)(crc >> 24), (unsigned char)(crc >> 16),
		(unsigned char)(crc >> 8), (unsigned char)crc};
	to_base62(bytes, sizeof bytes, out, CHECK);
}

static void make_text(char out[TOKEN_TEXT_SIZE])
{
	unsigned char raw[RAW];
	size_t n = sizeof PREFIX - 1;
	seal_random(raw, sizeof raw);
	memcpy(out, PREFIX, n);
	to_base62(raw, sizeof raw, out + n, DIGITS);
	check_of(out + n, out + n + DIGITS);
	out[TOKEN_TEXT_SIZE - 1] = '\0';
}

bool token_is(const char *text)
{
	char check[CHECK];
	size_t n = sizeof PREFIX - 1;
	if (strlen(text) != TOKEN_TEXT_SIZE - 1 || strncmp(text, PREFIX, n) != 0 ||
		strspn(text + n, base62) != DIGITS + CHECK)
		return false;
	check_of(text + n, check);
	return memcmp(check, text + n + DIGITS, CHECK) == 0;
}

static void hash_of(const char *text, unsigned char out[SEAL_HASH_BYTES])
{
	seal_hash(out, "evctl token", 11, text, strlen(text));
}

/* ---- changes ------------------------------------------------------------------------------- */

static int limit_to(struct state *st, const char *id, const char *expert, struct err *e)
{
	EXPERT_AUTO x = {0};
	if (expert_find(st, expert, &x, e) < 0)
		return -1;
	return db_exec(st->db, e,
		"INSERT INTO token_experts (token, expert) VALUES (?, ?) ON CONFLICT DO NOTHING",
		"si", id, x.id);
}

static int put_token(struct state *st, const char *buyer, const struct token_spec *spec,
	const char *text, const char *id, struct err *e)
{
	unsigned char hash[SEAL_HASH_BYTES];
	hash_of(text, hash);
	int r = buyer_check(st, buyer, e);
	if (r == 0)
		r = db_exec(st->db, e,
			"INSERT INTO tokens (id, buyer, hash, label, only, limited, created, "
			"expires) VALUES (?, ?, ?, ?, ?, ?, ?, nullif(?, 0))",
			"ssbssiii", id, buyer, (const void *)hash, sizeof hash, spec->label,
			spec->only, (int64_t)(spec->nexperts > 0), clock_real_ms(), spec->expires);
	for (size_t i = 0; i < spec->nexperts && r == 0; i++)
		r = limit_to(st, id, spec->experts[i], e);
	return r;
}

int token_add(struct state *st, const char *buyer, const struct token_spec *spec,
	char out[TOKEN_TEXT_SIZE], char id[TOKEN_ID_SIZE], struct err *e)
{
	if (strlen(spec->label) > 100) {
		err_set(e, ERR_USAGE, "a label is of at most 100 bytes");
		return err_hint(e, "evctl-buyer token %s --label SHORTER", buyer);
	}
	if (state_begin(st, e) < 0)
		return -1;
	make_text(out);
	seal_random_id(id, 't');
	int r = put_token(st, buyer, spec, out, id, e);
	r = state_finish(st, r, "buyer token", buyer, json_pack("{s:s}", "token", id), e);
	if (r < 0)
		explicit_bzero(out, TOKEN_TEXT_SIZE);
	return r;
}

static int withdraw_one(struct state *st, const char *id, struct err *e)
{
	if (db_exec(st->db, e, "UPDATE tokens SET withdrawn = coalesce(withdrawn, ?) WHERE id = ?",
		    "is", clock_real_ms(), id) < 0)
		return -1;
	if (db_changes(st->db) == 0)
		return name_not_found(
			st, "token", id, "SELECT id FROM tokens", e, "evctl-buyer tokens");
	return 0;
}

int token_withdraw(struct state *st, char *const *ids, size_t n, struct err *e)
{
	int r = 0;
	JSON_AUTO names = json_array();
	if (state_begin(st, e) < 0)
		return -1;
	for (size_t i = 0; i < n && r == 0; i++) {
		json_array_append_new(names, json_string(ids[i]));
		r = withdraw_one(st, ids[i], e);
	}
	return state_finish(st, r, "buyer withdraw", n == 1 ? ids[0] : "tokens",
		json_pack("{s:O}", "tokens", names), e);
}

json_t *token_list(struct state *st, const char *buyer, struct err *e)
{
	if (buyer && buyer_check(st, buyer, e) < 0)
		return NULL;
	return db_rows(st->db, e,
		"SELECT t.id AS token, t.buyer, t.label, t.only, "
		"CASE WHEN t.limited THEN (SELECT json_group_array(x.name) FROM token_experts te "
		"JOIN experts x ON x.id = te.expert WHERE te.token = t.id) END AS \"experts:json\", "
		"t.created AS \"created:time\", t.expires AS \"expires:time\", "
		"t.used AS \"last_used:time\", t.withdrawn AS \"withdrawn:time\" FROM tokens t "
		"WHERE ?1 IS NULL OR t.buyer = ?1 ORDER BY t.buyer, t.created, t.id",
		"s", buyer);
}

/* ---- what the door asks --------------------------------------------------------------------- */

/*
 * Looked up by its hash: what an index compares in whatever time says nothing of a token that
 * nobody has.
 */
int token_find(struct state *st, const char *text, struct token_seen *out, struct err *e)
{
	unsigned char hash[SEAL_HASH_BYTES];
	*out = (struct token_seen){0};
	if (!token_is(text))
		return 0;
	hash_of(text, hash);
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT t.id, t.buyer, t.only FROM tokens t JOIN buyers b ON b.name = t.buyer "
		"WHERE t.hash = ? AND t.withdrawn IS NULL AND (t.expires IS NULL OR t.expires > ?) "
		"AND b.removed IS NULL",
		"bi", (const void *)hash, sizeof hash, clock_real_ms());
	int r = query_step(q, e);
	if (r <= 0)
		return r;
	memccpy(out->id, col_text(q, 0), 0, sizeof out->id - 1);
	memccpy(out->buyer, col_text(q, 1), 0, sizeof out->buyer - 1);
	memccpy(out->only, col_text(q, 2), 0, sizeof out->only - 1);
	return 1;
}

int token_lives(struct state *st, const char *id, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT 1 FROM tokens t JOIN buyers b ON b.name = t.buyer WHERE t.id = ? "
		"AND t.withdrawn IS NULL AND (t.expires IS NULL OR t.expires > ?) AND b.removed IS "
		"NULL",
		"si", id, clock_real_ms());
	return query_step(q, e);
}

int token_covers(struct state *st, const char *id, const char *expert, struct err *e)
{
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT 1 FROM tokens t WHERE t.id = ?1 AND (NOT t.limited OR EXISTS (SELECT 1 FROM "
		"token_experts te JOIN experts x ON x.id = te.expert WHERE te.token = t.id "
		"AND x.name = ?2))",
		"ss", id, expert);
	return query_step(q, e);
}

int token_note_use(struct state *st, const char *id, struct err *e)
{
	int64_t now = clock_real_ms();
	QUERY_AUTO q = db_query(st->db, e,
		"SELECT 1 FROM tokens WHERE id = ? AND (used IS NULL OR used < ?)", "si", id,
		now - USE_MS);
	int r = query_step(q, e);
	if (r <= 0)
		return r;
	query_free(&q);
	db_durable(st->db, false);
	r = db_exec(st->db, e, "UPDATE tokens SET used = ? WHERE id = ?", "is", now, id);
	db_durable(st->db, true);
	return r;
}
