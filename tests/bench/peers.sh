#!/bin/sh
# The peers of `make bench` in an environment of their own, that may be thrown away: peers.sh DIR
# One that cannot be installed is left out: the benchmark prints it as missing.
set -eu
cd "$(dirname "$0")"
python3 -m venv "$1"
"$1/bin/pip" install -q --disable-pip-version-check -r requirements.txt && exit 0
while read -r package; do
    "$1/bin/pip" install -q --disable-pip-version-check "$package" || echo "peers.sh: $package cannot be installed"
done <requirements.txt
