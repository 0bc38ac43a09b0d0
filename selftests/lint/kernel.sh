#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Checks that need the kernel's headers: our modules compile without a warning at W=1, sparse
# reports nothing with endian checks, every header compiles alone, no function is recursive, and
# kernel-doc reads every comment of its form. Guests do not run the modules built here.
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
build=$("$top/selftests/vm/build-dir.sh") || exit 1
K=${RDS_CHECK_KERNEL:-6.12}
dir=$build/check
log=$dir/build.log
mkdir -p "$dir"

# fail NAME WHY
fail() {
	echo "not ok $1 # $2"
	rc=1
}

rc=0
if ! kdir=$("$top/selftests/vm/fetch.sh" --kdir "$K"); then
	fail lint.kernel "no headers of $K"
	exit 1
fi
if ! command -v sparse >/dev/null; then
	fail lint.sparse "sparse is not installed, see selftests/vm/deps.sh"
	exit 1
fi

for d in net include; do
	rsync -rt --delete --exclude='*.o' --exclude='*.ko' --exclude='*.mod' --exclude='*.mod.c' \
		--exclude='.*.cmd' --exclude='*.order' --exclude='*.a' "$top/$d/" "$dir/$d/"
done
cp -p "$top/Kbuild" "$dir/Kbuild"
built=ok
export RDS_SPARSE_LOG="$dir/sparse.log"
: >"$RDS_SPARSE_LOG"
# The path of the checkout may have a blank in it, which CHECK cannot have: copy the script.
cp -p "$top/selftests/lint/sparse.sh" "$dir/"
make -j2 -C "$kdir" M="$dir" CONFIG_DEBUG_INFO_BTF_MODULES= W=1 C=1 CF=-D__CHECK_ENDIAN__ \
	CHECK="sh $dir/sparse.sh" modules >"$log" 2>&1 || built=no

# Only findings in our files count, not those in the kernel's headers. After a finding all objects
# are deleted below, so that the next build reports it again.
ours="^(\./)?(.*/)?(net/rds|include/(net/rds|compat|trace|uapi))/[^:]*:[0-9]+:[0-9]+:"
foreign=$build/kernel/
findings() {
	grep -E "$ours (fatal )?(warning|error):" "$1" | grep -vF "$foreign" | sort -u |
		sed "s,^[^:]*$dir/,,"
}
findings "$log" >"$dir/gcc"
findings "$RDS_SPARSE_LOG" >"$dir/sparse"
grep -E 'modpost:.*(WARNING|ERROR)|(WARNING|ERROR): modpost' "$log" >>"$dir/gcc"
checked=$(find "$dir/net" -name '*.c' ! -name '*.mod.c' | wc -l)
if [ $built = ok ]; then
	find "$dir/net" -name '*.c' ! -name '*.mod.c' | while read -r c; do
		[ -f "${c%.c}.o" ] || echo "${c#"$dir"/}:1: error: no Kbuild file names it"
	done >>"$dir/gcc"
fi

for tool in gcc sparse; do
	sed 's/^/# /' "$dir/$tool"
	if [ -s "$dir/$tool" ]; then
		fail lint.$tool "$(wc -l <"$dir/$tool") findings"
	elif [ $built = no ]; then
		[ $tool = gcc ] && tail -n 15 "$log" | sed 's/^/# /'
		fail lint.$tool "the build failed"
	else
		echo "ok lint.$tool, $checked files"
	fi
done

if [ -s "$dir/gcc" ] || [ -s "$dir/sparse" ] || [ $built = no ]; then
	find "$dir/net" -name '*.o' -exec rm -f {} +
fi

if [ $built = ok ]; then
	python3 "$top/selftests/lint/headers.py" "$dir" "$kdir" || rc=1
	python3 "$top/selftests/lint/recursion.py" $(find "$dir/net" -name '*.ko') || rc=1
fi

cd "$top" || exit 1
files=$(find net include -name '*.[ch]' ! -name '*.mod.c')
# The comment of an ops table describes all its functions, with a section Context for each.
doc=$("$kdir/scripts/kernel-doc" -none $files 2>&1 | grep -E 'warning|error' |
	grep -v "duplicate section name 'Context'")
if [ -n "$doc" ]; then
	echo "$doc" | sed 's/^/# /'
	fail lint.kernel_doc "$(echo "$doc" | wc -l) findings"
else
	echo "ok lint.kernel_doc, $(grep -lE '^/\*\*$' $files | wc -l) files with comments for it"
fi
exit $rc
