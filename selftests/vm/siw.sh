#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# siw.sh K [netns]   print the path of siw.ko for kernel K (6.12, 6.1, debug), built when it is not there yet
#
# With "netns", of a siw that serves the namespace of its interface; it is siw otherwise.
#
# Debian's kernels do not have siw. It is taken unmodified from the linux-source package of the same
# version as the kernel and built out of tree; the debug kernel builds it with everything else.
# build/kernel/K/siw-src keeps the sources beside the kernel they belong to.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
K=${1:?usage: siw.sh KERNEL [netns]}
name=siw${2:+-$2}
fetch=$top/selftests/vm/fetch.sh
kdir=$("$fetch" --kdir "$K")
base=$top/build/kernel/$K

src=$base/siw-src
dir=$top/build/mod/$K/$name

# Where the sources are, and of which version; the debug kernel was built from all of its own.
if [ "$K" = debug ]; then
	"$fetch" debug
	if [ "$name" = siw ]; then
		ls "$base/root/lib/modules/$("$fetch" --release debug)"/kernel/drivers/infiniband/sw/siw/siw.ko*
		exit
	fi
	src=$kdir/drivers/infiniband/sw/siw
	version=$("$fetch" --release debug)
else
	# The version of the package the image came out of: NAME_VERSION_ARCH.deb
	version=$(basename "$("$fetch" --deb "$K")" | cut -d _ -f 2)
fi
package=linux-source-$K

mkdir -p "$dir" "$base"
exec 9>"$base/siw.lock"
flock 9

download() {
	apt-get -q -o APT::Sandbox::User=root download "$package=$version" </dev/null >"$base/download.log" 2>&1
}

unpack() {
	echo "siw: fetching $package $version" >&2
	rm -rf "$src" "$base/siw-deb"
	mkdir -p "$base/siw-deb" "$src"
	cd "$base/siw-deb"
	download || { apt-get -q update </dev/null >/dev/null 2>&1; download; } || {
		cat "$base/download.log" >&2
		echo "siw: cannot download $package=$version" >&2
		exit 1
	}
	dpkg-deb --fsys-tarfile ./*.deb | tar -xO --wildcards '*.tar.xz' | xz -dc -T2 |
		tar -x -C "$src" --strip-components=5 --wildcards '*/drivers/infiniband/sw/siw'
	cd "$top"
	rm -rf "$base/siw-deb"
	echo "$version" >"$src/.version"
}

[ "$K" = debug ] || [ "$(cat "$src/.version" 2>/dev/null)" = "$version" ] || unpack
[ "$name" = siw ] || version="$version $(cksum <"$top/selftests/vm/$name.sed")"
if [ ! -e "$dir/siw.ko" ] || [ "$(cat "$dir/.version" 2>/dev/null)" != "$version" ]; then
	cp "$src"/*.[ch] "$src/Makefile" "$dir/"
	[ "$name" = siw ] || sed -i -f "$top/selftests/vm/$name.sed" "$dir/siw_cm.c"
	if ! nice make -C "$kdir" M="$dir" CONFIG_RDMA_SIW=m CONFIG_DEBUG_INFO_BTF_MODULES= modules \
		>"$dir/build.log" 2>&1; then
		grep -E 'error|Error' "$dir/build.log" | head -n 20 >&2
		echo "siw: does not build for $K, see $dir/build.log" >&2
		exit 1
	fi
	echo "$version" >"$dir/.version"
fi
echo "$dir/siw.ko"
