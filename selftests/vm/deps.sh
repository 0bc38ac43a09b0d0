#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Installs the Debian packages that building and testing need, unless all are installed.
# --check only names the missing ones, and fails if there are any.
set -eu

PKGS="
bc binutils bison build-essential busybox-static bzip2 ca-certificates clang-14 cpio curl diod
dwarves ethtool flex gcc ibverbs-utils iperf3 iproute2 iputils-ping kmod libc6-dev libclang-rt-14-dev
libelf-dev libibverbs-dev librdmacm-dev libssl-dev linux-libc-dev make netcat-openbsd
netcat-traditional nftables nginx-light procps
python3 python3-docutils python3-sphinx qemu-system-x86 rdma-core rdmacm-utils redis-server rsync
socat sparse spin tcpdump tshark util-linux xz-utils zstd
"
# Programs that tests start in guests. As services they have no business on this machine.
SERVICES="diod iperf3 nginx redis-server"
POLICY=/usr/sbin/policy-rc.d

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

# A package's scripts start no service as long as this file says so.
if [ ! -e $POLICY ]; then
	trap 'rm -f $POLICY' EXIT
	printf '#!/bin/sh\nexit 101\n' >$POLICY
	chmod 755 $POLICY
fi

echo "deps: installing$missing"
export DEBIAN_FRONTEND=noninteractive
APT="apt-get -q -y -o DPkg::Lock::Timeout=600"
# Package lists may be old or absent: update them and try again after a failure.
# shellcheck disable=SC2086
$APT install --no-install-recommends $missing </dev/null >/dev/null 2>&1 || {
	$APT update </dev/null >/dev/null
	$APT install --no-install-recommends $missing </dev/null >/dev/null
}
# Nor at the next boot, unless they were there before.
for s in $SERVICES; do
	case "$missing " in
	*" $s "*|*" $s-light "*) systemctl -q disable "$s" 2>/dev/null || : ;;
	esac
done
