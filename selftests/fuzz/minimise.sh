#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# minimise.sh NAME: replace the committed corpus by the smallest inputs of the corpus and of the
# last run's findings that reach the same edges as all of these inputs.
set -eu

name=$1
here=$(cd "$(dirname "$0")" && pwd)
: "${O:=$here/../../build/fuzz}"
small=$O/small/$name

rm -rf "$small" "$O/seeds/$name"
mkdir -p "$small" "$O/found/$name"
python3 "$here/corpus.py" unpack "$here/corpus/$name" "$O/seeds/$name"
"$O/f_$name" -merge=1 -use_counters=0 -max_len=4200 "$small" "$O/seeds/$name" "$O/found/$name" \
	>"$O/$name.merge.log" 2>&1 </dev/null
python3 "$here/corpus.py" pack "$small" "$here/corpus/$name"
