#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# build-dir.sh   create build/ unless it exists, and print its real path
#
# kbuild and make accept no path with a blank or a colon in it. The build/ of a checkout below such
# a path is a link to a folder in the cache.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd -P)
cache=${RDS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rds-selftests}

plain() {
	case "$1" in
	*[!A-Za-z0-9_./+@~,=-]*)	return 1 ;;
	esac
}

link() {
	# A folder build/ that has files in it is kept: rmdir fails, and so does this script.
	[ ! -e "$top/build" ] || rmdir "$top/build"
	# Of two processes that get here at the same time one makes the link.
	ln -s "$1" "$top/build" 2>/dev/null || [ -L "$top/build" ]
}

plain "$top" || [ -L "$top/build" ] ||
	link "$cache/build-$(printf %s "$top" | sha256sum | cut -c 1-12)"
dir=$(readlink -m "$top/build")
plain "$dir" || {
	echo "build-dir: no path without blanks to build in: set RDS_CACHE to one" >&2
	exit 1
}
mkdir -p "$dir"
echo "$dir"
