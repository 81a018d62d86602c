#include "door/issuer_message.h"

#define URL_MAX 1024

const struct fields issuer_rules_fields = FIELDS('I', 1, FIELD_TEXT(struct issuer_rules, host, 256),
	FIELD_TEXT(struct issuer_rules, target, URL_MAX), FIELD_NUMBER(struct issuer_rules, port),
	FIELD_FLAG(struct issuer_rules, tls), FIELD_TEXT(struct issuer_rules, authorization, 16384),
	FIELD_TEXT(struct issuer_rules, issuer, URL_MAX),
	FIELD_TEXT(struct issuer_rules, claim, 128));
const struct fields issuer_ask_fields = FIELDS('Q', 1, FIELD_NUMBER(struct issuer_ask, id),
	FIELD_TEXT(struct issuer_ask, token, 16384), FIELD_TEXT(struct issuer_ask, origin, URL_MAX),
	FIELD_TEXT_OR_NULL(struct issuer_ask, resource, URL_MAX));
const struct fields issuer_told_fields =
	FIELDS('q', 1, FIELD_NUMBER(struct issuer_told, id), FIELD_NUMBER(struct issuer_told, word),
		FIELD_CHARS(struct issuer_told, subject), FIELD_NUMBER(struct issuer_told, until));
