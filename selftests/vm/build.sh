#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# build.sh K        build our modules for kernel K (6.12, 6.1, 7.3, debug, kcsan, cov) in build/mod/K,
#                   and copy them to build/mod/K/ko, those of test groups to build/mod/K/testko. For
#                   cov they call rds_cov.ko in each block of code, see cov/rds_cov.c
# build.sh --tools  build all user programs in build/bin
#
# A compiler or modpost warning about one of our files fails the build.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
build=$("$top/selftests/vm/build-dir.sh")
kmake=$top/selftests/vm/kmake.sh
jobs=${RDS_JOBS:-2}
what=${1:?usage: build.sh KERNEL|--tools}
mkdir -p "$build/mod" "$build/bin"

if [ "$what" = --tools ]; then
	exec 9>"$build/bin.lock"
	flock 9
	rc=0
	# -k: report every program that does not compile, not only the first
	if [ -f "$top/tools/Makefile" ]; then
		make -k -s -j"$jobs" -C "$top/tools" O="$build/bin" || rc=1
	fi
	make -k -s -j"$jobs" -C "$top/selftests" O="$build/bin" || rc=1
	exit $rc
fi

[ -d "$top/net/rds" ] || { echo "build: no net/rds in $top" >&2; exit 1; }
dir=$build/mod/$what
log=$dir/build.log
mkdir -p "$dir/ko"
exec 9>"$dir/lock"
flock 9
# Delete files that were removed from the sources, but keep the products of earlier builds.
for d in net include; do
	rsync -a --delete --exclude='*.o' --exclude='*.ko' --exclude='*.mod' --exclude='*.mod.c' \
		--exclude='.*.cmd' --exclude='*.order' --exclude='*.a' "$top/$d/" "$dir/$d/"
done
cp -p "$top/Kbuild" "$dir/Kbuild"
# Arguments of make
set --
if [ "$what" = cov ]; then
	rsync -a "$top/selftests/vm/cov/" "$dir/cov/"
	"$kmake" cov M="$dir/cov" modules >"$log.cov" 2>&1 || {
		echo "build: rds_cov failed, see $log.cov" >&2
		exit 1
	}
	cp "$dir/cov/rds_cov.ko" "$dir/ko/"
	set -- CFLAGS_MODULE=-fsanitize-coverage=trace-pc KBUILD_EXTRA_SYMBOLS="$dir/cov/Module.symvers"
fi
# Variables on the stack begin as a pattern, and not as zeros: so what a user is shown unwritten is seen.
[ "$what" != debug ] || set -- KCFLAGS=-ftrivial-auto-var-init=pattern
if ! "$kmake" "$what" -j"$jobs" M="$dir" "$@" modules >"$log" 2>&1; then
	grep -E 'error|Error|undefined|warning' "$log" | head -n 40 >&2
	echo "build: modules for $what failed, see $log" >&2
	exit 1
fi
if grep -E '(^|[ /])(net/rds|include)/.*(warning|WARNING):|^WARNING: modpost:.*rds' "$log" >&2; then
	echo "build: warnings in modules for $what, see $log" >&2
	rm -f "$dir"/net/rds/.*.cmd
	exit 1
fi
find "$dir/net" -name '*.ko' | while read -r ko; do
	cmp -s "$ko" "$dir/ko/${ko##*/}" || { cp "$ko" "$dir/ko/.new" && mv "$dir/ko/.new" "$dir/ko/${ko##*/}"; }
done

# Modules of test groups are built like any out-of-tree module: of ours they get Module.symvers
# only.
mkdir -p "$dir/testko"
for kbuild in "$top"/selftests/*/Kbuild; do
	[ -f "$kbuild" ] || continue
	group=$(basename "$(dirname "$kbuild")")
	mkdir -p "$dir/selftests/$group"
	rsync -a --include='*.[ch]' --include=Kbuild --exclude='*' "${kbuild%/Kbuild}/" "$dir/selftests/$group/"
	if ! "$kmake" "$what" -j"$jobs" M="$dir/selftests/$group" \
		KBUILD_EXTRA_SYMBOLS="$dir/Module.symvers" modules >"$log.$group" 2>&1 ||
		grep -q "warning:\|WARNING: modpost" "$log.$group"; then
		grep -E 'error|Error|undefined|warning|WARNING' "$log.$group" | head -n 40 >&2
		echo "build: test modules of $group for $what failed, see $log.$group" >&2
		rm -f "$dir/selftests/$group"/*.ko
		exit 1
	fi
	cp "$dir/selftests/$group"/*.ko "$dir/testko/"
done
