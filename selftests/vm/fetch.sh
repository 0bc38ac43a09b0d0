#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# fetch.sh K            download and unpack Debian's kernel K (6.12, 6.1, 7.3) with headers, once
# fetch.sh --headers K  download and unpack its headers and kbuild only
# fetch.sh --kdir K     like --headers; then print the headers' folder, which kmake.sh gives to make
# fetch.sh --release K  print the release string; downloads the headers if none was fetched before
# fetch.sh --deb K      download and unpack all; then print the path of the image package
#
# All files go to build/kernel/K; no package is installed on this machine. trixie.sh fetches kernels
# 7.*, debug-kernel.sh makes the kernels debug and kcsan. The kernel cov is 6.12.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
build=$("$top/selftests/vm/build-dir.sh")
mode=all
case "${1:-}" in
--*) mode=${1#--}; shift ;;
esac
K=${1:?usage: fetch.sh [--headers|--kdir|--release|--deb] KERNEL}

case "$K" in
debug|kcsan)	exec "$top/selftests/vm/debug-kernel.sh" "$K" "--$mode" ;;
cov)	exec "$0" "--$mode" 6.12 ;;
7.*)	exec "$top/selftests/vm/trixie.sh" "$K" "--$mode" ;;
6.1)	meta_image=linux-image-amd64 meta_headers=linux-headers-amd64 ;;
[0-9]*)	meta_image=linux-image-$K-amd64 meta_headers=linux-headers-$K-amd64 ;;
*)	echo "fetch: unknown kernel '$K' (6.12, 6.1, 7.3, debug, kcsan or cov)" >&2; exit 2 ;;
esac

# The real path: relocate() writes it into the headers.
base=$(readlink -m "$build/kernel/$K")
root=$base/root
mkdir -p "$base/deb"

# dep PACKAGE REGEX: print the first dependency of PACKAGE whose name matches REGEX
dep() {
	apt-cache depends "$1" 2>/dev/null |
		sed -n "s/^[ |]*Depends: \($2\)\$/\1/p" | head -n 1
}

resolve() {
	image=$(dep $meta_image 'linux-image-[0-9].*')
	headers=$(dep $meta_headers 'linux-headers-[0-9].*')
	[ -n "$image" ] && [ -n "$headers" ] || return 1
	common=$(dep "$headers" 'linux-headers-.*-common')
	kbuild=$(dep "$headers" 'linux-kbuild-.*')
	[ -n "$common" ] && [ -n "$kbuild" ]
}

# The package lists of a fresh machine are empty, or name versions that the archive no longer has.
refresh() {
	[ "$(id -u)" = 0 ] || return 0
	apt-get -q -o DPkg::Lock::Timeout=600 update </dev/null >/dev/null
}

download() {
	(cd "$base/deb" && apt-get -q -o APT::Sandbox::User=root download "$@" \
		</dev/null >"$base/download.log" 2>&1)
}

# get PACKAGE...: download and unpack the packages
get() {
	download "$@" || { refresh; resolve; download "$@"; } || {
		cat "$base/download.log" >&2
		echo "fetch: cannot download $*" >&2
		exit 1
	}
	for p in "$@"; do
		for deb in "$base/deb/${p}_"*.deb; do
			dpkg-deb -x "$deb" "$root"
		done
	done
}

# The packages refer to each other by absolute paths: put $root in front of those.
relocate() {
	hdr=$root/usr/src/$headers
	sed -i "s,/usr/src/linux-headers,$root/usr/src/linux-headers,g; s,/usr/lib/linux-kbuild,$root/usr/lib/linux-kbuild,g" \
		"$hdr/Makefile"
	for d in "$root/usr/src/$headers" "$root/usr/src/$common"; do
		for l in "$d"/*; do
			[ -L "$l" ] || continue
			t=$(readlink "$l")
			case "$t" in
			/usr/*) ln -sfn "$root$t" "$l" ;;
			esac
		done
	done
	echo "$hdr" >"$base/kdir"
	echo "${headers#linux-headers-}" >"$base/release"
}

fetch_headers() {
	[ "$(cat "$base/headers.stamp" 2>/dev/null)" = "$base" ] && return
	resolve || { refresh; resolve; } || { echo "fetch: no package for kernel $K in apt's lists" >&2; exit 1; }
	echo "fetch: $headers" >&2
	get "$headers" "$common" "$kbuild"
	relocate
	echo "$base" >"$base/headers.stamp"
}

fetch_image() {
	[ -e "$base/image.stamp" ] && return
	image=linux-image-$(cat "$base/release")
	resolve || true
	image=linux-image-$(cat "$base/release")
	echo "fetch: $image" >&2
	get "$image"
	ls "$base/deb/${image}_"*.deb >"$base/image.deb"
	[ -e "$root/boot/vmlinuz-$(cat "$base/release")" ]
	# modinfo, modprobe and the guests expect the usual index files.
	depmod -b "$root" "$(cat "$base/release")"
	: >"$base/image.stamp"
}

exec 9>"$base/lock"
flock 9
case "$mode" in
headers|kdir)	fetch_headers ;;
all|deb)	fetch_headers; fetch_image ;;
release)	[ -e "$base/release" ] || fetch_headers ;;
*)	echo "fetch: unknown option --$mode" >&2; exit 2 ;;
esac
case "$mode" in
kdir)		cat "$base/kdir" ;;
release)	cat "$base/release" ;;
deb)		cat "$base/image.deb" ;;
esac
