#!/usr/bin/env bash
# One automated optimiser, as small as it can be: measures, asks why, has a change proposed, keeps it if the program still does
# the same and moves less data, else takes it back. docs/agents.md explains it.
#
#     loop.sh SOURCE.c PROPOSE [ARGUMENT OF THE PROGRAM]...
#
# PROPOSE is any program: it gets the source's path as argument and the answer of `dmdprof why --format json` on standard
# input, changes the source in place, and exits with 0; with another code when it has nothing more to propose.
set -euo pipefail

source=$1 propose=$2
shift 2
program=./${source%.c}
rounds=${ROUNDS:-10}

build() { dmdprof cc -O2 -g "$source" -o "$program" -lm 2>build.log; }

build
"$program" "$@" >expected
dmdprof check --save-baseline kept -- "$program" "$@" >/dev/null

for ((round = 1; round <= rounds; round++)); do
    dmdprof run --quiet --flows --objects "$program" "$@" >/dev/null
    dmdprof why --top 3 --format json >why.json
    cp "$source" before.c
    "$propose" "$source" <why.json || { echo "round $round: nothing more to propose"; break; }

    verdict=kept
    if ! build; then
        verdict="taken back: does not compile"
    elif ! "$program" "$@" >result || ! cmp -s expected result; then
        verdict="taken back: does something else"
    else
        code=0
        dmdprof check --baseline kept --format json -- "$program" "$@" >check.json || code=$?
        result=$(jq -r '.cases[0].result' check.json)
        # 0 is "no function and no total got worse"; only `better` is progress.
        if [ "$code" -ne 0 ] || [ "$result" != better ]; then
            verdict="taken back: $result (exit code $code)"
        else
            change=$(jq -r '.cases[0].findings[] | select(.function == null and .metric == "cost") | "\(.before) to \(.after)"' check.json)
            verdict="kept: ByteDMD $change"
            dmdprof check --baseline kept --accept -- "$program" "$@" >/dev/null
        fi
    fi
    echo "round $round: $verdict"
    case $verdict in kept*) ;; *) cp before.c "$source" && build ;; esac
done
