/*
 * The scanner on hostile Python: decoding, lexing, parsing, scopes and reads, and signatures. The
 * first byte says where to cut the input into two files of one directory, so that imports between
 * them are tried.
 */
#include "scan/scan.h"
#include "scan/signature.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Of one that is not resolved, as for the schema of an entry. */
static void try_signature(const uint8_t *data, size_t n, size_t cut)
{
	struct err e = {0};
	struct scan *s = scan_new(NULL);
	struct scan_function f;
	enum scan_entry found;
	if (s && n && scan_add_file(s, "a.py", data + 1, cut - 1, &e) == 0 &&
		scan_add_file(s, "b.py", data + cut, n - cut, &e) == 0)
		scan_entry_function(s, NULL, "a.py", "f", &found, &f, &e);
	scan_free(s);
}

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
	try_signature(data, n, cut);
	return 0;
}
