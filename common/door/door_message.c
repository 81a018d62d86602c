#include "door/door_message.h"

#define CHAIN_MAX 16
#define DER_MAX 65536
#define SIGN_MAX 16384
#define URL_MAX 1024
#define VALUE_MAX MB(LIMIT_INPUT_MB)

static const struct fields der = FIELDS_PART(FIELD_BYTES(struct door_der, p, n, DER_MAX));
static const struct fields param = FIELDS_PART(
	FIELD_TEXT(struct door_param, name, 1024), FIELD_TEXT(struct door_param, value, VALUE_MAX));

const struct fields door_rules_fields = FIELDS('K', 1,
	FIELD_TEXT_OR_NULL(struct door_rules, public_url, URL_MAX),
	FIELD_TEXT_OR_NULL(struct door_rules, issuer, URL_MAX), FIELD_FLAG(struct door_rules, tls),
	FIELD_FLAG(struct door_rules, behind),
	FIELD_LIST(struct door_rules, trusted, ntrusted, DOOR_ADDRESSES_MAX, &field_texts),
	FIELD_NUMBER(struct door_rules, connections),
	FIELD_NUMBER(struct door_rules, connections_each),
	FIELD_NUMBER(struct door_rules, sessions), FIELD_NUMBER(struct door_rules, sessions_each),
	FIELD_NUMBER(struct door_rules, idle_ms));
const struct fields door_chain_fields =
	FIELDS('C', 1, FIELD_LIST(struct door_chain, certs, n, CHAIN_MAX, &der));
const struct fields door_drain_fields = FIELDS_NONE('D', 1);

const struct fields door_admit_fields = FIELDS('A', 1, FIELD_NUMBER(struct door_admit, id),
	FIELD_TEXT(struct door_admit, token, DOOR_TOKEN_MAX),
	FIELD_TEXT(struct door_admit, expert, DOOR_NAME_MAX));
const struct fields door_admitted_fields = FIELDS('a', 1, FIELD_NUMBER(struct door_admitted, id),
	FIELD_NUMBER(struct door_admitted, status), FIELD_CHARS(struct door_admitted, buyer),
	FIELD_CHARS(struct door_admitted, token), FIELD_NUMBER(struct door_admitted, version));

const struct fields door_start_fields = FIELDS('S', 1, FIELD_NUMBER(struct door_start, id),
	FIELD_TEXT(struct door_start, token, DOOR_TOKEN_MAX),
	FIELD_TEXT(struct door_start, expert, DOOR_NAME_MAX),
	FIELD_TEXT_OR_NULL(struct door_start, tool, DOOR_NAME_MAX));
const struct fields door_started_fields = FIELDS('s', 1, FIELD_NUMBER(struct door_started, id),
	FIELD_NUMBER(struct door_started, status), FIELD_NUMBER(struct door_started, process),
	FIELD_NUMBER(struct door_started, version));
const struct fields door_end_fields = FIELDS('E', 1, FIELD_NUMBER(struct door_end, process));
const struct fields door_ended_fields = FIELDS('e', 1, FIELD_NUMBER(struct door_end, process));

const struct fields door_page_fields = FIELDS('P', 1, FIELD_NUMBER(struct door_page, id),
	FIELD_FLAG(struct door_page, post), FIELD_FLAG(struct door_page, secure),
	FIELD_TEXT(struct door_page, path, DOOR_PATH_MAX),
	FIELD_TEXT_OR_NULL(struct door_page, cookie, 128),
	FIELD_TEXT(struct door_page, origin, URL_MAX),
	FIELD_LIST(struct door_page, params, nparams, DOOR_PARAMS_MAX, &param));
const struct fields door_paged_fields = FIELDS('p', 1, FIELD_NUMBER(struct door_paged, id),
	FIELD_NUMBER(struct door_paged, status), FIELD_TEXT_OR_NULL(struct door_paged, type, 256),
	FIELD_TEXT_OR_NULL(struct door_paged, location, DOOR_PATH_MAX),
	FIELD_TEXT_OR_NULL(struct door_paged, cookie, 512),
	FIELD_TEXT_OR_NULL(struct door_paged, disposition, 4096),
	FIELD_BYTES(struct door_paged, body, nbody, DOOR_BODY_MAX),
	FIELD_FLAG(struct door_paged, bytes), FIELD_FLAG(struct door_paged, fetched),
	FIELD_NUMBER(struct door_paged, process));
const struct fields door_fetched_fields = FIELDS('F', 1,
	FIELD_TEXT(struct door_fetched, cookie, 128), FIELD_TEXT(struct door_fetched, run, 64),
	FIELD_TEXT(struct door_fetched, name, 1024));
const struct fields door_result_fields = FIELDS('R', 1, FIELD_NUMBER(struct door_result, id),
	FIELD_TEXT(struct door_result, cookie, 128),
	FIELD_TEXT(struct door_result, expert, DOOR_NAME_MAX),
	FIELD_TEXT(struct door_result, tool, DOOR_NAME_MAX),
	FIELD_BYTES(struct door_result, json, njson, MB(LIMIT_INPUT_MB)));

const struct fields door_sign_fields = FIELDS('G', 1, FIELD_NUMBER(struct door_sign, id),
	FIELD_NUMBER(struct door_sign, algorithm), FIELD_FLAG(struct door_sign, hashed),
	FIELD_BYTES(struct door_sign, data, n, SIGN_MAX));
const struct fields door_signed_fields = FIELDS('g', 1, FIELD_NUMBER(struct door_signed, id),
	FIELD_BYTES(struct door_signed, data, n, SIGN_MAX));
