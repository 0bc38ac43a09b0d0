#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# siw.sh K [netns|late]   print the path of siw.ko for kernel K (6.12, 6.1, 7.3, debug); build it
#                         unless it exists
#
# With "netns" siw is altered by siw-netns.sed and serves the namespace of its interface, with "late"
# by siw-late.sed and can lose a wakeup. Without, it is the kernel's siw.
#
# Debian's kernels do not have siw. Its source is taken from the linux-source package of the same
# version as the kernel and built out of tree; the debug kernel's build includes it.
# build/kernel/K/siw-src keeps the source.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
build=$("$top/selftests/vm/build-dir.sh")
K=${1:?usage: siw.sh KERNEL [netns|late]}
name=siw${2:+-$2}
fetch=$top/selftests/vm/fetch.sh
kdir=$("$fetch" --kdir "$K")
base=$build/kernel/$K

src=$base/siw-src
dir=$build/mod/$K/$name

# Set src, the folder of the source, and version. The debug kernel's tree has the source of siw.
if [ "$K" = debug ]; then
	"$fetch" debug
	if [ "$name" = siw ]; then
		ls "$base/root/lib/modules/$("$fetch" --release debug)"/kernel/drivers/infiniband/sw/siw/siw.ko*
		exit
	fi
	src=$kdir/drivers/infiniband/sw/siw
	version=$("$fetch" --release debug)
else
	# The version of the image's package, out of the file name NAME_VERSION_ARCH.deb
	version=$(basename "$("$fetch" --deb "$K")" | cut -d _ -f 2)
fi
package=linux-source-$K
# apt needs the package lists of the Debian release that the kernel comes from.
[ ! -e "$base/apt.conf" ] || export APT_CONFIG="$base/apt.conf"

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
	if ! nice "$top/selftests/vm/kmake.sh" "$K" M="$dir" CONFIG_RDMA_SIW=m modules \
		>"$dir/build.log" 2>&1; then
		grep -E 'error|Error' "$dir/build.log" | head -n 20 >&2
		echo "siw: does not build for $K, see $dir/build.log" >&2
		exit 1
	fi
	echo "$version" >"$dir/.version"
fi
echo "$dir/siw.ko"
