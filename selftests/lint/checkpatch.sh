#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Runs checkpatch.pl of Debian's linux-source-6.12 on our C files. Of the package only the script
# and its two word lists are used. A file without findings is skipped until it or this script
# changes.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
dir=$top/build/checkpatch
clean=$dir/clean
script=scripts/checkpatch.pl
wanted="$script scripts/spelling.txt scripts/const_structs.checkpatch"
cache=${RDS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rds-selftests}

# Types ignored in all files: files are checked, not patches, and there is no MAINTAINERS file;
# version tests are allowed in include/compat; the user ABI has typedefs; a list of names as a macro
# takes a macro as argument, which cannot be in parentheses.
ignore=FILE_PATH_CHANGES,LINUX_VERSION_CODE,CONSTANT_COMPARISON,NEW_TYPEDEFS,SPDX_LICENSE_TAG
ignore=$ignore,COMPLEX_MACRO,MACRO_ARG_REUSE,MACRO_ARG_UNUSED,TRAILING_SEMICOLON
# Locks and barriers are documented in the kernel-doc of their structure and in locking.rst.
ignore=$ignore,UNCOMMENTED_DEFINITION
# Kernel-free files cannot export the functions that transports call; main.c does.
ignore=$ignore,EXPORT_SYMBOL
# A macro argument that is the name of a member cannot be in parentheses.
ignore=$ignore,MACRO_ARG_PRECEDENCE
# Trace events have a layout of their own in all of the kernel.
ignore_trace=$ignore,PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE
# plat.h and the shadow headers define names of the kernel, without the kernel's helpers.
ignore_shim=$ignore,PREFER_KERNEL_TYPES,PREFER_DEFINED_ATTRIBUTE_MACRO,CAMELCASE,UNNECESSARY_CASTS
# Programs cannot use the kernel's helpers and headers; its rules for messages do not apply to them.
ignore_user=$ignore,PREFER_DEFINED_ATTRIBUTE_MACRO,ARRAY_SIZE,CONST_STRUCT,AVOID_EXTERNS
ignore_user=$ignore_user,SSCANF_TO_KSTRTO,NAKED_SSCANF,CONSIDER_KSTRTO,STRCPY,STRNCPY,STRLCPY
ignore_user=$ignore_user,EMBEDDED_FUNCTION_NAME,SPLIT_STRING,PREFER_FALLTHROUGH,VOLATILE,ENOSYS
# Programs use positive error numbers.
ignore_user=$ignore_user,USE_NEGATIVE_ERRNO
ignore_user=$ignore_user,MEMORY_BARRIER,WAITQUEUE_ACTIVE,YIELD,STRING_FRAGMENTS
# A switch over options has one line per case, like a table.
ignore_user=$ignore_user,TRAILING_STATEMENTS

extract() {
	(cd "$dir" && xz -dc -T2 | tar -x --strip-components=1 --occurrence=1 --wildcards \
		$(for f in $wanted; do echo "*/$f"; done)) 2>/dev/null || true
}

fetch() {
	mkdir -p "$dir"
	for src in "$cache"/*/src; do
		[ -f "$src/$script" ] || continue
		mkdir -p "$dir/scripts"
		(cd "$src" && cp $wanted "$dir/scripts/")
		return
	done
	echo "# fetching linux-source-6.12 for checkpatch.pl"
	(cd "$dir" && apt-get -q -o APT::Sandbox::User=root download linux-source-6.12 \
		</dev/null >/dev/null)
	dpkg-deb --fsys-tarfile "$dir"/linux-source-*.deb |
		tar -xO --wildcards '*.tar.xz' | extract
	rm -f "$dir"/linux-source-*.deb
}

[ -f "$dir/$script" ] || fetch
# The project uses British spelling.
sed -i '/^acknowledgement||/d' "$dir/scripts/spelling.txt"
[ -f "$dir/$script" ] || { echo "not ok lint.checkpatch # could not fetch checkpatch.pl"; exit 1; }
# checkpatch.pl passes file names to a shell; the path of the checkout may have blanks in it.
mkdir -p "$dir/include" "$dir/at"
ln -sfn "$top" "$dir/at/top"
touch "$clean"

# check IGNORED STRICT FILE...: print findings, and remember the files that have none. IGNORED has
# types of findings, STRICT is --strict or empty.
check() {
	ignored=$1
	strict=$2
	shift 2
	for f in "$@"; do
		sum=$(sha256sum "$f" "$0" | sha256sum | cut -d' ' -f1)
		grep -q "^$sum\$" "$clean" && continue
		# Run checkpatch.pl in $dir: it writes a cache of names into the current folder.
		if out=$(cd "$dir" && perl "$script" --no-tree --root="$dir" $strict --terse --show-types --no-summary \
			--max-line-length=100 --ignore "$ignored" -f "at/top/$f" 2>&1) &&
				[ -z "$out" ]; then
			echo "$sum" >>"$clean"
		else
			echo "$out" | sed "s,^at/top/,,; s/^/# /"
			bad=$((bad + 1))
		fi
	done
}

cd "$top"
bad=0
shims=$(find include/compat net/rds/proto/plat.h -name '*.h' | sort)
trace=$(find include/trace -name '*.h' | sort)
kernel=$(find net include -name '*.[ch]' ! -path 'include/compat/*' ! -path 'include/trace/*' \
	! -name plat.h ! -name '*.mod.c' | sort)
user=$(find tools selftests -name '*.[ch]' | sort)
check "$ignore_shim" --strict $shims
check "$ignore_trace" --strict $trace
check "$ignore" --strict $kernel
check "$ignore_user" "" $user
n=$(echo $shims $trace $kernel $user | wc -w)
if [ "$bad" -gt 0 ] || [ "$n" -eq 0 ]; then
	echo "not ok lint.checkpatch, $bad of $n files"
	exit 1
fi
echo "ok lint.checkpatch, $n files"
