#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# kmake.sh K ARGUMENT...   run make with kernel K's headers; the arguments (M= and so on) go to make
#
# The programs of kernel 7.*'s headers do not run on Debian 12: there make runs in a tree of Debian
# 13, which has no folder of this machine but build/, /dev, /proc and /tmp.
set -eu

vm=$(cd "$(dirname "$0")" && pwd)
K=${1:?usage: kmake.sh KERNEL ARGUMENT...}
shift
# Without a module make would configure the headers anew, and break them.
case " $*" in *" M="*) ;; *) echo "kmake.sh: no M= in: $*" >&2; exit 2 ;; esac
kdir=$("$vm/fetch.sh" --kdir "$K")
# No BTF for modules: the headers packages lack the vmlinux with type information that it needs.
case "$K" in
7.*)	exec "$vm/trixie.sh" "$K" --run make -C "/usr/src/${kdir##*/}" CONFIG_DEBUG_INFO_BTF_MODULES= "$@" ;;
*)	exec make -C "$kdir" CONFIG_DEBUG_INFO_BTF_MODULES= "$@" ;;
esac
