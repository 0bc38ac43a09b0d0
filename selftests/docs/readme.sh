#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The example in README.md is the file that the tests build and run, files that the documents name
# exist, and the documents can be parsed.
set -u
cd "$(dirname "$0")/../.." || exit 1
rc=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# result NAME WHY: WHY is empty when all is well
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

# What runs it is a case of selftests/tools.
why=
grep -q 'tools\.hello .*rds-hello' selftests/tools/info.sh || why="no case runs rds-hello"
result readme_example_runs "$why"

why=$(python3 selftests/docs/links.py)
result links "$why"

# Debian's package serves Debian's interpreter, which need not be the first one in PATH.
py=
for p in python3 /usr/bin/python3; do
	[ -n "$py" ] || ! "$p" -c 'import docutils' 2>/dev/null || py=$p
done
if [ -n "$py" ]; then
	why=$("$py" selftests/docs/rst.py 2>&1)
	result rst "$why"
else
	echo "ok docs.rst # SKIP python3-docutils is not installed"
fi
exit $rc
