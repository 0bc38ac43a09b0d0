#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Checks that the examples in README.md and rds-stream(7) are the files that the tests build and run,
# that the files and identifiers that the documents name exist, that the diffs of first-change.rst fit
# the present files, and that lines have at most 100 columns.
set -u
cd "$(dirname "$0")/../.." || exit 1
rc=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# result NAME WHY: print a result; an empty WHY means success
result() {
	if [ -z "$2" ]; then
		echo "ok docs.$1"
	else
		echo "not ok docs.$1 # $2"
		rc=1
	fi
}

sed -n '/^```c$/,/^```$/p' README.md | sed '/^```/d' >"$tmp/hello.c"
why=
cmp -s "$tmp/hello.c" tools/examples/hello.c || why="README.md and tools/examples/hello.c differ"
result readme_example "$why"

# The example must be run by a case of selftests/tools.
why=
grep -q 'tools\.hello .*rds-hello' selftests/tools/info.sh || why="no case runs rds-hello"
result readme_example_runs "$why"

# So must that of rds-stream(7), which is the file without its first line.
sed -n '/^\.EX$/,/^\.EE$/p' tools/man/rds-stream.7 | sed '/^\.E[XE]$/d; s/\\e/\\/g; s/^\\&//' >"$tmp/man.c"
tail -n +2 tools/examples/stream.c >"$tmp/stream.c"
why=
[ -s "$tmp/man.c" ] && cmp -s "$tmp/man.c" "$tmp/stream.c" ||
	why="rds-stream(7) and tools/examples/stream.c differ"
grep -q 'tools\.stream_example .*rds-stream' selftests/tools/stream.sh || why="$why; no case runs rds-stream"
result man_example "$why"

why=
for doc in Documentation/*.rst; do
	[ "$doc" = Documentation/index.rst ] || grep -qF "]($doc)" README.md || why="$why $doc"
done
result readme_documents "${why:+README.md does not name$why}"

why=$(python3 selftests/docs/links.py) || why=${why:-exit status $?}
result links "$why"

why=$(python3 selftests/docs/names.py) || why=${why:-exit status $?}
result names "$why"

why=$(python3 selftests/docs/lines.py) || why=${why:-exit status $?}
result lines_fit "$why"

why=$(python3 selftests/docs/diffs.py) || why=${why:-exit status $?}
result diffs_fit "$why"

exit $rc
