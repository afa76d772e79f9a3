#!/usr/bin/env bash
# Runs the commands of README.md's section "Run it", inside the fresh root: readme.sh CLONE LABEL 3>>RESULTS
#
# They are taken from the page itself. Each is one line on descriptor 3: `ok` or `FAIL`, the label, how long it took,
# and the last line that it printed, which is the answer of a query or the tally of all tests.
set -u -o pipefail

cd "$1" || exit 1
mapfile -t commands < <(awk '/^## / { here = $0 == "## Run it" }
                             /^```/ { on = here && $0 == "```sh"; next }
                             on' README.md)
[ ${#commands[@]} = 2 ] || { echo "README.md: expected two commands in 'Run it', found ${#commands[@]}"; exit 1; }

log=$(mktemp)
for command in "${commands[@]}"; do
    echo "$ $command"
    began=$SECONDS
    verdict=ok
    sh -c "$command" 2>&1 | tee "$log" || verdict=FAIL
    echo "$verdict $2: ${command##*&& }: $((SECONDS - began)) s: $(grep -v '^make: ' "$log" | tail -n 1)" >&3
done
exit 0
