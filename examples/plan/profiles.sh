#!/bin/sh
# Measures the profiles that the scenarios in this directory plan with, into the directory itself. Takes a minute.
#
#     sh examples/plan/profiles.sh            DMDPROF=path/to/dmdprof if it is not on the PATH
set -eu
cd "$(dirname "$0")"
dmdprof=${DMDPROF:-dmdprof}

"$dmdprof" run -q --objects -o stencil.data stencil.c
"$dmdprof" run -q -o batch.data batch.c
"$dmdprof" run -q -o prefill-64.data lm.c prefill 64
for length in 64 128 256; do
    "$dmdprof" run -q -o "step-$length.data" lm.c step "$length"
done
