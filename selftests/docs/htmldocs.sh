#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Builds Documentation/ as HTML in build/htmldocs; a warning is a failure. Without Sphinx the result
# is SKIP.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)

if ! command -v sphinx-build >/dev/null; then
	echo "ok docs.html # SKIP python3-sphinx is not installed"
	exit 0
fi
build=$("$top/selftests/vm/build-dir.sh") || exit 1
out=$build/htmldocs
log=$build/htmldocs.log
kdir=$("$top/selftests/vm/fetch.sh" --kdir 6.12) || {
	echo "not ok docs.html # no kernel-doc: the headers of 6.12 could not be had"
	exit 1
}
rm -rf "$out"
# -E -a: read all documents each time, so that a warning is repeated until its cause is gone.
if RDS_KERNEL_DOC=$kdir/scripts/kernel-doc sphinx-build -q -E -a -W --keep-going -b html \
	-d "$build/doctrees" "$top/Documentation" "$out" >"$log" 2>&1 && [ ! -s "$log" ]; then
	echo "ok docs.html, $(find "$out" -maxdepth 1 -name '*.html' | wc -l) pages, $out/index.html"
	exit 0
fi
sed 's/^/# /' "$log"
echo "not ok docs.html # $(grep -c -E 'WARNING|ERROR' "$log") warnings and errors"
exit 1
