#include "base/nearest.h"

#include <stdbool.h>
#include <string.h>

/* Levenshtein distance with adjacent swaps, for short words. */
static size_t distance(const char *a, const char *b)
{
	enum { MAX = 48 };
	size_t la = strlen(a), lb = strlen(b);
	if (la >= MAX || lb >= MAX)
		return MAX;
	size_t d[MAX][MAX];
	for (size_t i = 0; i <= la; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= lb; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		for (size_t j = 1; j <= lb; j++) {
			size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[la][lb];
}

const char *nearest_word(const char *word, const char *const *words)
{
	const char *best = NULL;
	size_t len = strlen(word), least = len < 4 ? 1 : 2;
	for (; *words; words++) {
		size_t d = distance(word, *words);
		size_t n = strlen(*words);
		if (strncmp(word, *words, len < n ? len : n) == 0 && len >= 3 && n >= 4)
			d = 1; /* an abbreviation, or the word for it */
		if (d <= least && (!best || d < distance(word, best)))
			best = *words;
	}
	return best;
}
