#!/bin/sh
#$ -S /bin/sh
#$ -cwd
#$ -j y
# The chunks of a batch, by Grid Engine: qsub -t 1-CHUNKS gridengine.sh "COMMAND"
# COMMAND and CHUNKS are what `evctl-batch start E --engine none ... -o json` prints as command and chunks. The engine's
# SGE_TASK_ID, from 1, says which chunk a task is.
exec $1
