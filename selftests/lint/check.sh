#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# make check: everything that can be said without booting anything. No root; the network is
# needed once, for the kernel's headers and checkpatch.pl.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
out=$top/build/check.out
export PYTHONDONTWRITEBYTECODE=1
mkdir -p "$top/build"
: >"$out"

# step NAME COMMAND...: prints ok and not ok lines; one that fails or says nothing is a failure
step() {
	name=$1
	shift
	"$@" </dev/null >"$out.step" 2>&1
	status=$?
	if [ $status -ne 0 ] && ! grep -q '^not ok' "$out.step"; then
		echo "not ok $name # exit status $status" >>"$out.step"
	elif ! grep -qE '^(not )?ok' "$out.step"; then
		echo "not ok $name # no result" >>"$out.step"
	fi
	cat "$out.step"
	cat "$out.step" >>"$out"
	rm -f "$out.step"
}

step unit make -s -C "$top/selftests/unit"
step fuzz make -s -C "$top/selftests/fuzz"
step abi python3 "$top/selftests/abi/abi.py"
step lint.rules_notice python3 "$here/t_layers.py"
step lint.stale_int3 python3 "$here/t_splats.py"
step layers python3 "$here/layers.py"
step lint.scripts python3 "$here/scripts.py"
step coverage python3 "$top/selftests/coverage/check.py"
step lint.mutants_fit sh -c "python3 '$top/selftests/mutants/run.py' --fit >&2 && echo ok lint.mutants_fit"
step docs sh "$top/selftests/docs/readme.sh"
step lint.checkpatch sh "$here/checkpatch.sh"
step lint.kernel sh "$here/kernel.sh"

passed=$(grep -c '^ok' "$out")
failed=$(grep -c '^not ok' "$out")
skipped=$(grep -cE '^ok.*# SKIP' "$out")
passed=$((passed - skipped))
[ "$failed" -eq 0 ] || grep '^not ok' "$out" | sed 's/^/# failed: /'
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
