/*
 * Decoders of whole texts to UTF-8, as Python's. out has room for four times n bytes and 16 more,
 * and gets *len. 0, or -1 if the text is not in the encoding.
 */
#ifndef EVCTL_SCAN_CODEC_H
#define EVCTL_SCAN_CODEC_H

#include <stddef.h>

typedef int codec_fn(const void *arg, const char *s, size_t n, char *out, size_t *len);

codec_fn codec_double; /* arg: struct scan_double */
codec_fn codec_iconv;  /* arg: iconv's name, for encodings with states */
codec_fn codec_hz, codec_idna, codec_utf7;

#endif
