#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# basic.sh rxe|siw: rds-stream-basic in one guest: on TCP; on streams of AF_RDS over one address of
# the device (own) and over two (two); and on those of IPPROTO_RDS_STREAM over two (inet). RDS_ARGS
# are names of cases, by default all. What is unlike TCP has to have its row in differences.rst.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh
. selftests/stream/stream.sh

dev=$1
# shellcheck disable=SC2086
set -- ${RDS_ARGS:-}

log=/run/basic.log
rm -f /run/basic.failed
: >$log

# basic KIND LABEL SERVER CLIENT CASE...
basic() {
	{ "$RDS_BIN/rds-stream-basic" "$@" || echo failed >/run/basic.failed; } | tee -a $log
}

plan $((3 + STREAM_LEFT_PLAN))
stream_device "$dev" && ok stream.device || { not_ok stream.device "see above"; exit 1; }
stream_module && ok stream.module || { not_ok stream.module "see above"; exit 1; }
# The same host in IPv4, for sockets of AF_INET6
export STREAM_V4="$RDS_SELF4"
for fam in 4 6; do
	eval "me=\$RDS_SELF$fam you=\$RDS_PEER$fam"
	basic tcp "tcp_v$fam" "$me" "$you" "$@"
	basic rds "own_v$fam" "$me" "$me" "$@"
	basic rds "two_v$fam" "$me" "$you" "$@"
	basic inet "inet_v$fam" "$me" "$you" "$@"
done
[ ! -e /run/basic.failed ] || LIB_FAILED=1
if [ $# = 0 ]; then
	check stream.rows python3 selftests/stream/rows.py $log
else
	skip stream.rows "not all cases"
fi
stream_left
exit $LIB_FAILED
