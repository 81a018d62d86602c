#include "base/call_key.h"

#include "base/limits.h"

const struct fields call_key_fields = FIELDS_PART(FIELD_TEXT(struct call_key, name, 64),
	FIELD_BYTES(struct call_key, value, len, KIB(LIMIT_VALUE_KIB)),
	FIELD_TEXT_OR_NULL(struct call_key, standin, KIB(LIMIT_VALUE_KIB)),
	FIELD_FLAG(struct call_key, guard));

struct call_key call_key_for_code(const struct call_key *k)
{
	return (struct call_key){
		k->name, k->standin ? k->standin : k->value, k->len, NULL, k->guard};
}
