#!/bin/sh
# What evctl-verify says of each expert of the corpus, against what happens when it is run: the agreement as a table.
/usr/bin/python3 "$(dirname "$0")/../corpus/corpus.t" --table | sed '/^ok /d; /^1\.\./d'
