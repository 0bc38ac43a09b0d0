#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# debug-kernel.sh [debug|kcsan] [--all|--headers]   build the kernel, unless it was built before
# debug-kernel.sh [debug|kcsan] --kdir      do so and print the folder of its source, for kmake.sh
# debug-kernel.sh [debug|kcsan] --release   do so and print its release string
#
# Builds Debian's 6.12 with the checkers of debug.config, or those of kcsan.config instead, and with
# the change of dma-debug.sed, once, in a cache folder that outlives the working tree: $RDS_CACHE, or
# rds-selftests in the user's cache. build/kernel/debug/root, or kcsan/root, links to its result. The
# build runs RDS_JOBS (default 2) processes at low priority.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
build=$("$top/selftests/vm/build-dir.sh")
cache=${RDS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rds-selftests}
K=debug
case "${1:-}" in
debug|kcsan)	K=$1; shift ;;
esac
base=$build/kernel/$K
mode=${1:---all}
jobs=${RDS_JOBS:-2}

mkdir -p "$base" "$cache"
PATH=$PATH:/usr/sbin:/sbin

# options: the lines of the configuration. Only they count: a changed comment causes no rebuild of ten
# minutes.
options() {
	cd "$top/selftests/vm"
	if [ "$K" = debug ]; then
		grep -E '^(# )?CONFIG_' debug.config
		return
	fi
	own=$(grep -E '^(# )?CONFIG_' "$K.config")
	names=$(echo "$own" | sed -E 's/^(# )?(CONFIG_[A-Z0-9_]+).*/\2/' | paste -sd '|')
	grep -E '^(# )?CONFIG_' debug.config | grep -vE "^(# )?($names)(_|=| )"
	echo "$own"
}
config=$base/options
options >"$config"
patch=$top/selftests/vm/dma-debug.sed
hash=$(cat "$config" "$patch" | sha256sum | cut -c 1-12)
version=$(apt-cache policy linux-source-6.12 2>/dev/null | sed -n 's/^ *Candidate: //p')
if [ -z "$version" ] || [ "$version" = "(none)" ]; then
	# apt's lists do not name the package: use a kernel that was built before.
	version=$(ls -d "$cache"/*-"$hash" 2>/dev/null | head -n 1)
	version=${version##*/}
	version=${version%-$hash}
	[ -n "$version" ] || { echo "debug-kernel: linux-source-6.12 is not in apt's lists" >&2; exit 1; }
fi
dir=$cache/$(echo "$version" | tr -c 'A-Za-z0-9.+\n' _)-$hash
src=$dir/src

unpack() {
	echo "debug-kernel: fetching linux-source-6.12 $version" >&2
	rm -rf "$dir/deb" "$src"
	mkdir -p "$dir/deb" "$src"
	(cd "$dir/deb" && apt-get -q -o APT::Sandbox::User=root download linux-source-6.12 </dev/null >/dev/null)
	dpkg-deb --fsys-tarfile "$dir"/deb/*.deb | tar -xO --wildcards '*.tar.xz' | xz -dc -T2 |
		tar -x -C "$src" --strip-components=1 --exclude='*/Documentation/*/*' \
			--exclude='*/drivers/gpu/drm/amd/include' --exclude='*/arch/arm*/boot'
	rm -rf "$dir/deb"
	sed -i -f "$patch" "$src/kernel/dma/debug.c"
	[ "$(grep -c 'false &&' "$src/kernel/dma/debug.c")" = 2 ] || {
		echo "debug-kernel: dma-debug.sed does not fit the source" >&2
		exit 1
	}
}

configure() {
	make -C "$src" KCONFIG_ALLCONFIG="$config" allnoconfig >"$dir/config.log" 2>&1 || {
		tail -n 20 "$dir/config.log" >&2
		exit 1
	}
	bad=$(while read -r want; do
		case "$want" in
		"# "*)	name=${want#\# } name=${name%% *}
			grep -q "^$name=" "$src/.config" && echo "$want" ;;
		*)	grep -qxF "$want" "$src/.config" || echo "$want" ;;
		esac
	done <"$config") || :
	[ -z "$bad" ] || { echo "debug-kernel: these did not survive:" >&2; echo "$bad" >&2; exit 1; }
}

compile() {
	echo "debug-kernel: building (about 10 minutes on 2 cores), log in $dir/build.log" >&2
	nice -n 10 make -C "$src" -j"$jobs" KBUILD_BUILD_TIMESTAMP=@0 bzImage modules >"$dir/build.log" 2>&1 || {
		grep -E 'error|Error' "$dir/build.log" | head >&2
		echo "debug-kernel: failed, see $dir/build.log" >&2
		exit 1
	}
	release=$(make -s -C "$src" kernelrelease)
	rm -rf "$dir/root"
	mkdir -p "$dir/root/boot"
	make -s -C "$src" INSTALL_MOD_PATH="$dir/root" INSTALL_MOD_STRIP=1 modules_install >>"$dir/build.log" 2>&1
	rm -f "$dir/root/lib/modules/$release/build" "$dir/root/lib/modules/$release/source"
	cp "$src/arch/x86/boot/bzImage" "$dir/root/boot/vmlinuz-$release"
	cp "$src/.config" "$dir/root/boot/config-$release"
	cp "$src/System.map" "$dir/root/boot/System.map-$release"
	# Object files take most of the space, and nothing is linked from them again.
	find "$src" -name '*.o' ! -path "$src/tools/*" ! -path "$src/scripts/*" -delete
	echo "$release" >"$dir/release"
}

if [ ! -e "$dir/done" ]; then
	exec 9>"$cache/lock"
	flock 9
	if [ ! -e "$dir/done" ]; then
		[ -e "$dir/unpacked" ] || { unpack; : >"$dir/unpacked"; }
		configure
		compile
		: >"$dir/done"
	fi
	exec 9>&-
fi
ln -sfn "$dir/root" "$base/root"
cp "$dir/release" "$base/release"
echo "$src" >"$base/kdir"
case "$mode" in
--all|--headers)	;;
--kdir)		echo "$src" ;;
--release)	cat "$dir/release" ;;
*)		echo "debug-kernel: unknown option $mode" >&2; exit 2 ;;
esac
