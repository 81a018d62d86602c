#!/bin/sh
# The chunks of a batch, by GNU parallel: parallel.sh "COMMAND" CHUNKS [OPTION...]
# COMMAND and CHUNKS are what `evctl-batch start E --engine none ... -o json` prints as command and chunks; options are
# parallel's own: -j 4, or --sshloginfile NODES.
command=$1
chunks=$2
shift 2
seq 0 $((chunks - 1)) | parallel --halt never "$@" "$command {}"
