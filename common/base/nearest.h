/* "Did you mean": the word that somebody may have meant. */
#ifndef EVCTL_BASE_NEAREST_H
#define EVCTL_BASE_NEAREST_H

/* The word of `words` (NULL-terminated) nearest to `word`, or NULL if none is near. */
const char *nearest_word(const char *word, const char *const *words);

#endif
