#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# elsewhere.sh K LINE   run a line of the harness's test in a copy of the checkout
#
# The copy's path is below /tmp, over which a guest mounts a file system, and has a blank in it.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
K=${1:?usage: elsewhere.sh KERNEL LINE}
line=${2:?usage: elsewhere.sh KERNEL LINE}
dir=$(mktemp -d /tmp/rds-harness.XXXXXX)
build=
trap 'rm -rf "$dir" ${build:+"$build"}' EXIT
trap 'exit 1' HUP INT TERM

mkdir "$dir/a b"
rsync -a --exclude=/build --exclude=/.git --exclude='*.o' --exclude='*.ko' "$top/" "$dir/a b/"
cd "$dir/a b"
build=$(selftests/vm/build-dir.sh)
# Share the downloaded kernels with the original.
ln -s "$("$top/selftests/vm/build-dir.sh")/kernel" "$build/kernel"
selftests/vm/build.sh --tools
out=$build/mod/$K-harness
mkdir -p "$out"
cp selftests/harness/mod/* "$out/"
selftests/vm/kmake.sh "$K" M="$out" modules >"$out/build.log" 2>&1 || { cat "$out/build.log"; exit 1; }
selftests/vm/run.py --kernel "$K" --no-build --cases "=$line" --cases-file selftests/harness/lines
