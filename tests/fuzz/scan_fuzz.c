/*
 * The scanner on hostile Python: decoding, lexing, parsing, scopes and reads. The first byte says
 * where to cut the input into two files of one directory, so that imports between them are tried.
 */
#include "scan/scan.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct err e = {0};
	struct scan *s = scan_new(NULL);
	size_t cut = n ? 1 + (n - 1) * data[0] / 256 : 0;
	size_t count;
	if (!s)
		return 0;
	if (n && scan_add_file(s, "a.py", data + 1, cut - 1, &e) == 0 &&
		scan_add_file(s, "b.py", data + cut, n - cut, &e) == 0 &&
		scan_resolve(s, &e) == 0) {
		scan_reads(s, &count);
		scan_imports(s, &count);
	}
	scan_free(s);
	return 0;
}
