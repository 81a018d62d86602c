#include "manifest/schema_value.h"

#include <float.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* int64 and double both fit a mantissa of 64 bits or more: x87's and AArch64's long double. */
_Static_assert(LDBL_MANT_DIG >= 64, "long double must hold every 64-bit integer");

#define SAME_MAX_DEPTH 2100 /* jansson's reader stops at 2048 */

long double value_number(const json_t *v)
{
	return json_is_integer(v) ? (long double)json_integer_value(v)
				  : (long double)json_real_value(v);
}

static int spend(long *steps, size_t n)
{
	*steps -= (long)n;
	if (*steps >= 0)
		return 0;
	*steps = 0;
	return -1;
}

static int same(const json_t *a, const json_t *b, int depth, long *steps);

static int same_objects(const json_t *a, const json_t *b, int depth, long *steps)
{
	if (json_object_size(a) != json_object_size(b))
		return 0;
	for (void *it = json_object_iter((json_t *)a); it;
		it = json_object_iter_next((json_t *)a, it)) {
		size_t n = json_object_iter_key_len(it);
		if (spend(steps, n / 32) < 0)
			return -1;
		const json_t *other = json_object_getn(b, json_object_iter_key(it), n);
		int rc = other ? same(json_object_iter_value(it), other, depth + 1, steps) : 0;
		if (rc != 1)
			return rc;
	}
	return 1;
}

static int same_arrays(const json_t *a, const json_t *b, int depth, long *steps)
{
	if (json_array_size(a) != json_array_size(b))
		return 0;
	for (size_t i = 0; i < json_array_size(a); i++) {
		int rc = same(json_array_get(a, i), json_array_get(b, i), depth + 1, steps);
		if (rc != 1)
			return rc;
	}
	return 1;
}

static int same(const json_t *a, const json_t *b, int depth, long *steps)
{
	if (spend(steps, 1) < 0)
		return -1;
	if (depth > SAME_MAX_DEPTH) {
		*steps = 0;
		return -1;
	}
	if (json_is_number(a) && json_is_number(b))
		return value_number(a) == value_number(b);
	if (json_typeof(a) != json_typeof(b))
		return 0;
	if (json_is_object(a))
		return same_objects(a, b, depth, steps);
	if (json_is_array(a))
		return same_arrays(a, b, depth, steps);
	if (!json_is_string(a))
		return 1;
	size_t n = json_string_length(a);
	if (n != json_string_length(b))
		return 0;
	if (spend(steps, n / 32) < 0)
		return -1;
	return memcmp(json_string_value(a), json_string_value(b), n) == 0;
}

int value_same(const json_t *a, const json_t *b, long *steps)
{
	return same(a, b, 0, steps);
}

static uint64_t mix(uint64_t h, const void *p, size_t n)
{
	for (const unsigned char *s = p, *end = s + n; s < end; s++)
		h = (h ^ *s) * 0x100000001b3u;
	return h ^ h >> 29;
}

static int hash(const json_t *v, int depth, uint64_t *out, long *steps);

/* Members are summed, so that their order doesn't matter. */
static int hash_object(const json_t *v, int depth, uint64_t *out, long *steps)
{
	uint64_t sum = json_object_size(v), one;
	for (void *it = json_object_iter((json_t *)v); it;
		it = json_object_iter_next((json_t *)v, it)) {
		size_t n = json_object_iter_key_len(it);
		if (spend(steps, n / 32) < 0 ||
			hash(json_object_iter_value(it), depth + 1, &one, steps) < 0)
			return -1;
		sum += mix(one, json_object_iter_key(it), n);
	}
	*out = sum * 3 + 1;
	return 0;
}

static int hash_array(const json_t *v, int depth, uint64_t *out, long *steps)
{
	uint64_t h = 0xcbf29ce484222325u, one;
	for (size_t i = 0; i < json_array_size(v); i++) {
		if (hash(json_array_get(v, i), depth + 1, &one, steps) < 0)
			return -1;
		h = mix(h, &one, sizeof one);
	}
	*out = h;
	return 0;
}

/* The same values have the same hash; collisions only cost steps. */
static int hash(const json_t *v, int depth, uint64_t *out, long *steps)
{
	if (depth > SAME_MAX_DEPTH)
		*steps = 0;
	if (spend(steps, 1) < 0 || depth > SAME_MAX_DEPTH)
		return -1;
	if (json_is_object(v))
		return hash_object(v, depth, out, steps);
	if (json_is_array(v))
		return hash_array(v, depth, out, steps);
	uint64_t h = (uint64_t)json_typeof(v) + 0x9e3779b97f4a7c15u;
	if (json_is_number(v)) {
		double d = (double)value_number(v) + 0.0; /* -0 is 0 */
		h = mix(17, &d, sizeof d);
	} else if (json_is_string(v)) {
		if (spend(steps, json_string_length(v) / 32) < 0)
			return -1;
		h = mix(h, json_string_value(v), json_string_length(v));
	}
	*out = h;
	return 0;
}

struct hashed {
	uint64_t h;
	size_t i;
};

static int by_hash(const void *a, const void *b)
{
	const struct hashed *x = a, *y = b;
	if (x->h != y->h)
		return x->h < y->h ? -1 : 1;
	return (x->i > y->i) - (x->i < y->i);
}

/* Compares all within each run of one hash. */
static int find_in_runs(const json_t *array, const struct hashed *v, size_t n, size_t *first,
	size_t *second, long *steps)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n && v[k].h == v[i].h; k++) {
			int rc = value_same(json_array_get(array, v[i].i),
				json_array_get(array, v[k].i), steps);
			if (rc == 0)
				continue;
			*first = v[i].i;
			*second = v[k].i;
			return rc;
		}
	return 0;
}

int value_find_twins(const json_t *array, size_t *first, size_t *second, long *steps)
{
	size_t n = json_array_size(array);
	if (n < 2)
		return 0;
	struct hashed *v = calloc(n, sizeof *v);
	int rc = v ? 0 : -1;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		v[i].i = i;
		rc = hash(json_array_get(array, i), 0, &v[i].h, steps);
	}
	if (rc == 0) {
		qsort(v, n, sizeof *v, by_hash);
		rc = find_in_runs(array, v, n, first, second, steps);
	}
	free(v);
	return rc;
}
