#!/usr/bin/env bash
# Proves README.md's two commands on a fresh machine: run.sh [--mirror URL] [--as root|user] [SUITE...]
#
# For each Debian suite (bookworm unless others are named) debootstrap makes a root with the base system and nothing
# else; the project's HEAD is cloned into it and the commands run there: as root, and in a second such root as an
# ordinary user with sudo. What is not committed takes no part.
#
# Needs root, debootstrap and a mirror: the one of this machine's apt, or --mirror. Mounts and processes live in
# namespaces of their own, so nothing is left of them, nor of the roots, when it ends or is interrupted. Takes up to
# 4 GB in ${TMPDIR:-/tmp}. Ends with a line for each command and user, then `N passed, N failed`.
set -u -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
mirror="" users="root user" suites=""

die() {
    echo "run.sh: $*" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    --mirror) mirror=${2-}; [ "$mirror" ] || die "--mirror: expected a URL"; shift ;;
    --as) users=${2-}; [[ $users =~ ^(root|user)$ ]] || die "--as: expected root or user"; shift ;;
    -*) die "unknown option $1: expected --mirror URL or --as root|user" ;;
    *) suites="$suites $1" ;;
    esac
    shift
done
suites=${suites:-bookworm}

[ "$(id -u)" = 0 ] || die "only root can make a root"
for tool in debootstrap unshare git; do
    command -v "$tool" >/dev/null || die "$tool is not installed"
done
# shellcheck disable=SC2016
[ "$mirror" ] || mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sed -n 1p)
[ "$mirror" ] || die "apt names no mirror: say --mirror URL"

work=$(mktemp -d "${TMPDIR:-/tmp}/embtool-bare.XXXXXX")
child=

# Killing unshare ends all that runs in its namespaces, and with the last of it go the mounts. That takes a moment,
# in which files may still appear.
clean() {
    [ -z "$child" ] || kill -KILL "$child" 2>/dev/null
    for _ in $(seq 50); do
        rm -rf --one-file-system "$work" 2>/dev/null && return
        sleep 0.2
    done
    echo "run.sh: could not remove $work" >&2
}
trap clean EXIT
trap 'exit 130' INT TERM HUP

: >"$work/results"
for suite in $suites; do
    for user in $users; do
        unshare --mount --pid --fork --kill-child --propagation private \
            bash "$here/root.sh" "$work" "$suite" "$user" "$mirror" </dev/null &
        child=$!
        wait "$child" || echo "FAIL $suite, $user: exit $? before the commands were done" >>"$work/results"
        child=
    done
    rm -rf --one-file-system "$work/base-$suite"
done

cat "$work/results"
passed=$(grep -c '^ok ' "$work/results") failed=$(grep -c '^FAIL ' "$work/results")
echo "$passed passed, $failed failed"
[ "$passed" -gt 0 ] && [ "$failed" = 0 ]
