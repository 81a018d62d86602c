/* "Did you mean": other words for the same thing, which other tools have. */
#ifndef EVCTL_BASE_SYNONYM_H
#define EVCTL_BASE_SYNONYM_H

#include <stdbool.h>

/* Of `words` (NULL-terminated; verbs or nouns, options) the one that means what `word` does, or
 * NULL. */
const char *synonym_word(const char *word, const char *const *words);
const char *synonym_option(const char *word, const char *const *words);
/*
 * The command of another program that a verb is for ("evctl-bind clear HOST"), or NULL; surely:
 * what it means there is never what a word like it means in `program`.
 */
const char *synonym_command(const char *program, const char *verb, bool surely);

#endif
