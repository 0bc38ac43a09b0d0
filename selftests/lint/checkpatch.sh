#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# checkpatch.pl, out of Debian's linux-source-6.12, over our C files. Only the script and the
# two word lists it reads are taken from the package. A file that was found clean is not looked
# at again until it changes.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
dir=$top/build/checkpatch
clean=$dir/clean
script=scripts/checkpatch.pl
wanted="$script scripts/spelling.txt scripts/const_structs.checkpatch"
cache=${RDS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rds-selftests}

# What does not apply anywhere: this is no patch, and there is no MAINTAINERS file; the one version
# test is where it has to be; typedefs of the user ABI are given; a list of names given as a macro
# takes a macro, which cannot be in parentheses.
ignore=FILE_PATH_CHANGES,LINUX_VERSION_CODE,CONSTANT_COMPARISON,NEW_TYPEDEFS,SPDX_LICENSE_TAG
ignore=$ignore,COMPLEX_MACRO,MACRO_ARG_REUSE,MACRO_ARG_UNUSED,TRAILING_SEMICOLON
# Locks and barriers are described in the kernel-doc of the structure and in locking.rst.
ignore=$ignore,UNCOMMENTED_DEFINITION
# Kernel-free files cannot export what transports use of them; main.c does.
ignore=$ignore,EXPORT_SYMBOL
# The name of a member, as an argument, cannot stand in parentheses.
ignore=$ignore,MACRO_ARG_PRECEDENCE
# A trace event looks like nothing else, everywhere.
ignore_trace=$ignore,PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE
# plat.h and the shadow headers define what the kernel's names are made of.
ignore_shim=$ignore,PREFER_KERNEL_TYPES,PREFER_DEFINED_ATTRIBUTE_MACRO,CAMELCASE,UNNECESSARY_CASTS
# Programs are not the kernel: its helpers, headers and rules for messages are not theirs.
ignore_user=$ignore,PREFER_DEFINED_ATTRIBUTE_MACRO,ARRAY_SIZE,CONST_STRUCT,AVOID_EXTERNS
ignore_user=$ignore_user,SSCANF_TO_KSTRTO,NAKED_SSCANF,CONSIDER_KSTRTO,STRCPY,STRNCPY,STRLCPY
ignore_user=$ignore_user,EMBEDDED_FUNCTION_NAME,SPLIT_STRING,PREFER_FALLTHROUGH,VOLATILE,ENOSYS
# They have positive error numbers.
ignore_user=$ignore_user,USE_NEGATIVE_ERRNO
ignore_user=$ignore_user,MEMORY_BARRIER,WAITQUEUE_ACTIVE,YIELD,STRING_FRAGMENTS
# A switch over options is a table, one line each.
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
# Spelled as the rest of the text is, which is British.
sed -i '/^acknowledgement||/d' "$dir/scripts/spelling.txt"
[ -f "$dir/$script" ] || { echo "not ok lint.checkpatch # could not fetch checkpatch.pl"; exit 1; }
mkdir -p "$dir/include"
touch "$clean"

# check IGNORED FILE...: prints what is wrong, remembers the files that are clean
check() {
	ignored=$1
	strict=$2
	shift 2
	for f in "$@"; do
		sum=$(sha256sum "$f" "$0" | sha256sum | cut -d' ' -f1)
		grep -q "^$sum\$" "$clean" && continue
		# from $dir: it leaves a cache of names where it is called
		if out=$(cd "$dir" && perl "$script" --no-tree --root="$dir" $strict --terse --show-types --no-summary \
			--max-line-length=100 --ignore "$ignored" -f "$top/$f" 2>&1) &&
				[ -z "$out" ]; then
			echo "$sum" >>"$clean"
		else
			echo "$out" | sed "s,^$top/,,; s/^/# /"
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
