#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Installs what building and testing need from Debian; does nothing when all of it is there.
set -eu

PKGS="
bc binutils bison build-essential busybox-static bzip2 ca-certificates cpio dwarves ethtool flex
gcc ibverbs-utils iproute2 iputils-ping kmod libc6-dev libelf-dev libibverbs-dev librdmacm-dev
libssl-dev linux-libc-dev make nftables procps python3 python3-docutils qemu-system-x86 rdma-core
rdmacm-utils rsync sparse tcpdump tshark util-linux xz-utils zstd
"

missing=
for p in $PKGS; do
	st=$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) || st=
	[ "$st" = installed ] || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

if [ "${1:-}" = --check ]; then
	echo "missing packages:$missing" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	echo "These Debian packages are needed and not installed:$missing" >&2
	echo "Please run as root: $0" >&2
	exit 1
fi

echo "deps: installing$missing"
export DEBIAN_FRONTEND=noninteractive
APT="apt-get -q -y -o DPkg::Lock::Timeout=600"
# Package lists may be old or absent; a second try follows an update.
# shellcheck disable=SC2086
$APT install --no-install-recommends $missing </dev/null >/dev/null 2>&1 || {
	$APT update </dev/null >/dev/null
	$APT install --no-install-recommends $missing </dev/null >/dev/null
}
