#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# run.sh NAME: run one fuzzer, for $FUZZ_SECONDS seconds or, if set, for $FUZZ_RUNS inputs. The
# fuzzer starts with the committed corpus and a new seed, or with seed $FUZZ_SEED: the same seed
# makes the same inputs. Inputs that reach new code are kept in build/fuzz/found/NAME.
set -u

name=$1
here=$(cd "$(dirname "$0")" && pwd)
: "${O:=$here/../../build/fuzz}"
O=$(cd "$O" && pwd) || exit 1
seed=${FUZZ_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
log=$O/$name.log
crash=$O/crash-$name-
export ASAN_OPTIONS=quarantine_size_mb=16
limit=-max_total_time=${FUZZ_SECONDS:-60}
[ -z "${FUZZ_RUNS:-}" ] || limit=-runs=$FUZZ_RUNS

rm -rf "$O/seeds/$name" "$O/found/$name" "$crash"*
mkdir -p "$O/found/$name"
python3 "$here/corpus.py" unpack "$here/corpus/$name" "$O/seeds/$name" || {
	echo "not ok fuzz.$name # no corpus"
	exit 1
}
# A run must depend on the seed only. The order of files in a folder and addresses in memory differ
# from run to run: so the files are listed in order, and addresses are fixed if the host permits it.
cd "$O" || exit 1
printf '%s\n' "seeds/$name"/* | paste -s -d, | tr -d '\n' >"seeds/$name.list"
fixed="setarch -R"
$fixed true 2>/dev/null || fixed=
if $fixed "./f_$name" -seed="$seed" "$limit" -max_len=4200 -timeout=20 -rss_limit_mb=1024 \
	-artifact_prefix="$crash" -print_final_stats=1 -seed_inputs="@seeds/$name.list" \
	"$O/found/$name" >"$log" 2>&1 </dev/null; then
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	cov=$(sed -n 's/.*DONE  *cov: \([0-9]*\) .*/\1/p' "$log")
	echo "ok fuzz.$name, seed $seed, $runs inputs, coverage $cov"
	exit 0
fi
# Progress lines of libFuzzer begin with #.
grep -v -e '^#' -e '^INFO' "$log" | head -n 40 | sed 's/^/# /'
for f in "$crash"*; do
	[ -e "$f" ] && echo "# again: $O/f_$name $f"
done
echo "# again: make fuzz FUZZERS=$name FUZZ_SEED=$seed FUZZ_SECONDS=${FUZZ_SECONDS:-60}"
echo "not ok fuzz.$name # seed $seed, see $log"
exit 1
