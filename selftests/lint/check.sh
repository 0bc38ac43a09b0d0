#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# make check: all checks that boot no guest. They need no root; they need the network once, for the
# kernel's headers and checkpatch.pl.
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=$("$top/selftests/vm/build-dir.sh") || exit 1
out=$build/check.out
export PYTHONDONTWRITEBYTECODE=1
: >"$out"

# step NAME COMMAND...: run COMMAND, which prints ok and not ok lines. If it fails without a not ok
# line, or prints no result, add a not ok line.
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
# Each fuzzer runs for two seconds here; make fuzz runs them for longer.
step fuzz make -s -C "$top/selftests/fuzz" FUZZ_SECONDS="${FUZZ_SECONDS:-2}"
step model python3 "$top/selftests/model/run.py"
step rsocket python3 "$top/selftests/stream/preload.py"
step abi python3 "$top/selftests/abi/abi.py"
step lint.rules_notice python3 "$here/t_layers.py"
step lint.emulator_fault python3 "$here/t_splats.py"
step lint.verdicts python3 "$here/t_verdicts.py"
step lint.batch python3 "$here/t_batch.py"
step lint.ci_plan python3 "$here/t_plan.py"
step layers python3 "$here/layers.py"
step lint.locks python3 "$here/locks.py"
step lint.scripts python3 "$here/scripts.py"
step coverage python3 "$top/selftests/coverage/check.py"
step lint.mutants_fit sh -c "cd '$top/selftests/mutants' && ./run.py --fit >&2 && ./testrun.py --fit >&2 && echo ok lint.mutants_fit"
step docs sh "$top/selftests/docs/readme.sh"
step docs.citations python3 "$top/selftests/docs/cite.py"
step docs.html sh "$top/selftests/docs/htmldocs.sh"
step lint.checkpatch sh "$here/checkpatch.sh"
step lint.kernel sh "$here/kernel.sh"

passed=$(grep -c '^ok' "$out")
failed=$(grep -c '^not ok' "$out")
skipped=$(grep -cE '^ok.*# SKIP' "$out")
passed=$((passed - skipped))
[ "$failed" -eq 0 ] || grep '^not ok' "$out" | sed 's/^/# failed: /'
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
