#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# softdev.sh siw|rxe K [VARIANT]   print the path of the driver's module for kernel K (6.12, 6.1, 7.3,
#                                  debug, kcsan); build it unless it exists
#
# siw is the kernel's without the fault that ends its listeners (siw.sed). With VARIANT netns it is
# altered by siw-netns.sed, too, and serves the namespace of its interface, with late by
# siw-late.sed and can lose a wakeup, or place a WRITE late, with p2p by siw-p2p.sed and the end that
# accepts may send first. rxe is built with a VARIANT only, as the kernels have the unaltered one:
# rxe-late.sed makes it queue packets late, and the files of rxe-dma give it real DMA.
#
# Debian's kernels do not have siw. The source is taken from the linux-source package of the same
# version as the kernel, or from the tree of a kernel that is built here, and built out of tree.
# build/kernel/K/siw-src and rxe-src keep the source.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
build=$("$top/selftests/vm/build-dir.sh")
usage="usage: softdev.sh siw|rxe KERNEL [VARIANT]"
drv=${1:?$usage} K=${2:?$usage} name=$1${3:+-$3}
case "$drv" in
siw)	module=siw config=CONFIG_RDMA_SIW altered="siw_cm.c siw_qp_rx.c siw_qp_tx.c siw_main.c" ;;
rxe)	module=rdma_rxe config=CONFIG_RDMA_RXE altered="rxe_recv.c rxe_qp.c rxe_net.c" ;;
*)	echo "$usage" >&2; exit 2 ;;
esac
fetch=$top/selftests/vm/fetch.sh
kdir=$("$fetch" --kdir "$K")
base=$build/kernel/$K

src=$base/$drv-src
dir=$build/mod/$K/$name

# Set src, the folder of the source, and version.
built=
case "$K" in
debug|kcsan)	built=1 ;;
esac
if [ -n "$built" ]; then
	"$fetch" "$K"
	src=$kdir/drivers/infiniband/sw/$drv
	version=$("$fetch" --release "$K")
else
	# The version of the image's package, out of the file name NAME_VERSION_ARCH.deb
	version=$(basename "$("$fetch" --deb "$K")" | cut -d _ -f 2)
fi
package=linux-source-$K
# apt needs the package lists of the Debian release that the kernel comes from.
[ ! -e "$base/apt.conf" ] || export APT_CONFIG="$base/apt.conf"

mkdir -p "$dir" "$base"
exec 9>"$base/$drv.lock"
flock 9

download() {
	apt-get -q -o APT::Sandbox::User=root download "$package=$version" </dev/null >"$base/download.log" 2>&1
}

unpack() {
	echo "$name: fetching $package $version" >&2
	rm -rf "$src" "$base/$drv-deb"
	mkdir -p "$base/$drv-deb" "$src"
	cd "$base/$drv-deb"
	download || { apt-get -q update </dev/null >/dev/null 2>&1; download; } || {
		cat "$base/download.log" >&2
		echo "$name: cannot download $package=$version" >&2
		exit 1
	}
	dpkg-deb --fsys-tarfile ./*.deb | tar -xO --wildcards '*.tar.xz' | xz -dc -T2 |
		tar -x -C "$src" --strip-components=5 --wildcards "*/drivers/infiniband/sw/$drv"
	cd "$top"
	rm -rf "$base/$drv-deb"
	echo "$version" >"$src/.version"
}

[ -n "$built" ] || [ "$(cat "$src/.version" 2>/dev/null)" = "$version" ] || unpack
# The alterations are DRIVER.sed, and of a variant NAME.sed, or the folder NAME with a patch and further
# files.
own=$top/selftests/vm/$name all=$top/selftests/vm/$drv.sed
version="$version $(cat "$all" "$own.sed" "$own"/* 2>/dev/null | cksum)"

alter() {
	cd "$dir"
	[ ! -e "$all" ] || sed -i -f "$all" $altered
	if [ -d "$own" ]; then
		cp "$own"/*.[ch] .
		patch -s -p1 <"$own/$drv.patch"
	elif [ "$name" != "$drv" ]; then
		sed -i -f "$own.sed" $altered
	fi
}

if [ ! -e "$dir/$module.ko" ] || [ "$(cat "$dir/.version" 2>/dev/null)" != "$version" ]; then
	cp "$src"/*.[ch] "$src/Makefile" "$dir/"
	(alter)
	if ! nice "$top/selftests/vm/kmake.sh" "$K" M="$dir" "$config=m" modules \
		>"$dir/build.log" 2>&1; then
		grep -E 'error|Error' "$dir/build.log" | head -n 20 >&2
		echo "$name: does not build for $K, see $dir/build.log" >&2
		exit 1
	fi
	echo "$version" >"$dir/.version"
fi
echo "$dir/$module.ko"
