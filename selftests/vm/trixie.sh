#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# trixie.sh K --all|--headers|--kdir|--release|--deb
#                                like fetch.sh, for a kernel K of trixie-backports
# trixie.sh K --run COMMAND...   run COMMAND with the tree below as root folder; build/ has the path
#                                that it has outside
#
# Debian 12 has no kernel after 6.12, and the programs that build modules for later ones need a
# newer C library. So a tree of Debian 13 is unpacked in a cache that outlives the working tree:
# $RDS_CACHE, or rds-selftests in the user's cache. The tree has the kernel, its headers, gcc, make
# and what they need. build/kernel/K/root links to it. apt keeps separate package lists for the
# tree; this machine's lists are not changed, and nothing is installed. RDS_MIRROR is the address
# that packages come from. Remove the folder trixie-K to get the newest K.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
build=$("$top/selftests/vm/build-dir.sh")
K=${1:?usage: trixie.sh KERNEL --MODE}
mode=${2:?usage: trixie.sh KERNEL --MODE}
shift 2
dir=${RDS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rds-selftests}/trixie-$K
tree=$dir/tree
base=$build/kernel/$K
PATH=$PATH:/usr/sbin:/sbin

# The packages of the programs that kbuild's rules call; the headers depend on the compiler
TOOLS="base-files binutils coreutils dash diffutils findutils grep make mawk sed"

apt_conf() {
	mkdir -p "$dir/apt/lists/partial" "$dir/apt/archives/partial"
	: >"$dir/apt/status"
	for suite in trixie trixie-backports; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
			"${RDS_MIRROR:-http://deb.debian.org/debian} $suite main"
	done >"$dir/apt/sources"
	printf '%s\n' "Package: linux-*" "Pin: release n=trixie-backports" "Pin-Priority: 990" \
		>"$dir/apt/preferences"
	cat >"$dir/apt/conf" <<-EOF
	Dir::State "$dir/apt";
	Dir::State::status "$dir/apt/status";
	Dir::Cache "$dir/apt";
	Dir::Etc::SourceList "$dir/apt/sources";
	Dir::Etc::SourceParts "/dev/null";
	Dir::Etc::Preferences "$dir/apt/preferences";
	Dir::Etc::PreferencesParts "/dev/null";
	APT::Sandbox::User "root";
	APT::Install-Recommends "false";
	Acquire::Languages "none";
	EOF
}

# apt COMMAND...: run apt-get with the lists of the tree; show its output only if it fails
apt() {
	apt-get -q -y "$@" </dev/null >"$dir/apt.log" 2>&1 || { cat "$dir/apt.log" >&2; exit 1; }
}

# Print the release string (uname -r) of the newest kernel K in the lists
newest() {
	apt-cache pkgnames "linux-binary-$K." | sort -V |
		sed -nE 's/^linux-binary-([0-9.]+\+deb13-amd64)$/\1/p' | tail -n 1
}

unpack() {
	rm -rf "$tree"
	mkdir -p "$tree"
	# base-files comes first: it makes /bin and /lib links to folders of /usr, which the other
	# packages fill.
	for deb in "$dir"/apt/archives/base-files_*.deb "$dir"/apt/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$tree" --no-same-owner --keep-directory-symlink
	done
	# This link is in no package: Debian's installation makes it.
	ln -s mawk "$tree/usr/bin/awk"
	ln -s "../lib/modules/$release/vmlinuz" "$tree/boot/vmlinuz-$release"
	depmod -b "$tree" "$release"
}

fill() {
	apt_conf
	export APT_CONFIG="$dir/apt/conf"
	apt update
	release=$(newest)
	[ -n "$release" ] || { echo "trixie: no kernel $K in trixie-backports" >&2; exit 1; }
	echo "trixie: unpacking Debian 13 with linux $release in $tree" >&2
	# shellcheck disable=SC2086
	apt install --download-only $TOOLS "linux-binary-$release" "linux-modules-$release" \
		"linux-headers-$release"
	unpack
	# softdev.sh reads the kernel's version in the name of this package.
	mv "$dir/apt/archives/linux-binary-$release"_*.deb "$dir/"
	rm -f "$dir"/apt/archives/*.deb
	echo "$release" >"$dir/release"
	: >"$dir/done"
}

# Run a command with the tree as root folder, in a mount namespace, which ends with its last
# process.
run_inside() {
	mkdir -p "$tree$build"
	[ "$(id -u)" = 0 ] && map= || map=-r
	# shellcheck disable=SC2016,SC2086
	exec unshare -m $map sh -euc '
		tree=$1 build=$2
		shift 2
		for d in /dev /proc /tmp "$build"; do mount --rbind "$d" "$tree$d"; done
		exec env -u MAKEFLAGS -u MAKELEVEL chroot "$tree" "$@"' trixie "$tree" "$build" "$@"
}

mkdir -p "$base" "$dir"
if [ ! -e "$dir/done" ]; then
	exec 9>"$dir/lock"
	flock 9
	[ -e "$dir/done" ] || fill
	exec 9>&-
fi
release=$(cat "$dir/release")
ln -sfn "$tree" "$base/root"
ln -sfn "$dir/apt/conf" "$base/apt.conf"
case "$mode" in
--all|--headers)	;;
--kdir)		echo "$tree/usr/src/linux-headers-$release" ;;
--release)	echo "$release" ;;
--deb)		ls "$dir/linux-binary-$release"_*.deb ;;
--run)		run_inside "$@" ;;
*)		echo "trixie: unknown option $mode" >&2; exit 2 ;;
esac
