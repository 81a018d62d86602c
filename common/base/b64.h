/* Base64, standard alphabet. */
#ifndef EVCTL_BASE_B64_H
#define EVCTL_BASE_B64_H

#include "base/buf.h"

#include <stddef.h>
#include <sys/types.h>

int b64_value(char c);					   /* of a digit; -1 for none */
void b64_encode(const void *p, size_t n, struct buf *out); /* padded */
/* Decodes, padded or not, into out, which has 3 * n / 4 bytes. The length, -1 if it is not base64.
 */
ssize_t b64_decode(const char *p, size_t n, void *out);

#endif
