#!/usr/bin/env bash
# One root and what happens in it: root.sh WORK SUITE root|user MIRROR; run.sh starts it in fresh namespaces.
#
# The root is a copy of WORK/base-SUITE, which the first call makes. Of this machine's settings it gets those without
# which it could not reach the mirror and the package index of Python: resolver, proxies, certificates.
set -eu

work=$1 suite=$2 user=$3 mirror=$4
here=$(cd "$(dirname "$0")" && pwd)
base=$work/base-$suite root=$work/root

in_root() {
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb "${carried[@]}" \
        chroot "$root" "$@"
}

# The certificates get a place that no package of the root writes to.
carried=()
for name in http_proxy https_proxy no_proxy PIP_INDEX_URL PIP_DEFAULT_TIMEOUT; do
    [ -z "${!name-}" ] || carried+=("$name=${!name}")
done
[ -z "${PIP_CERT-}" ] || carried+=(PIP_CERT=/etc/carried.pem)

make_base() {
    debootstrap --variant=minbase "$suite" "$base.part" "$mirror"
    cp -L /etc/resolv.conf /etc/hosts "$base.part/etc/"
    apt-config dump | grep -Ei '^Acquire::(https?::proxy|check-)' >"$base.part/etc/apt/apt.conf.d/99host" || true
    [ -z "${PIP_CERT-}" ] || install -m 644 "$PIP_CERT" "$base.part/etc/carried.pem"
    mv "$base.part" "$base"
}

# An ordinary user of a machine that has sudo; the lists go again, since README begins by fetching them.
make_user() {
    in_root sh -ec 'apt-get update -q; apt-get install -y -q --no-install-recommends sudo
                    rm -rf /var/lib/apt/lists; useradd -m user; echo "user ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/user'
}

[ -d "$base" ] || make_base
rm -rf --one-file-system "$root"
cp -a "$base" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/dev/shm"

home=/root
[ "$user" = root ] || { make_user; home=/home/user; }
git clone -q --no-hardlinks "$here/../.." "$root$home/embtool"
cp "$here/readme.sh" "$root/readme.sh"
[ "$user" = root ] || in_root chown -R user: "$home/embtool"

in_root runuser -u "$user" -- env HOME="$home" bash /readme.sh "$home/embtool" "$suite, $user" 3>>"$work/results"
