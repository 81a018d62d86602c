#include "base/call_key.h"

#define VALUE_MAX 65536

const struct fields call_key_fields = FIELDS_PART(FIELD_TEXT(struct call_key, name, 64),
	FIELD_BYTES(struct call_key, value, len, VALUE_MAX),
	FIELD_TEXT_OR_NULL(struct call_key, standin, VALUE_MAX),
	FIELD_FLAG(struct call_key, guard));

struct call_key call_key_for_code(const struct call_key *k)
{
	return (struct call_key){
		k->name, k->standin ? k->standin : k->value, k->len, NULL, k->guard};
}
