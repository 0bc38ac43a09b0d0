#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# late.sh siw-late: the accepting end of a connection is not told of the peer's first frames
# (selftests/vm/siw-late.sed). A message still arrives: the accepting end gives up, and the path
# connects again. The peer is another address of the host, or the address itself; then both ends of
# the connection belong to one path.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

slow=${RDS_SLOW:-1}
late=/sys/module/siw/parameters/late

setup() {
	for _m in ib_core ib_uverbs rdma_ucm libcrc32c iw_cm; do
		modprobe $_m 2>/dev/null
	done
	insmod "$RDS_TOP/build/mod/$RDS_KERNEL/$1/siw.ko" && rdma_up siw tcp-first
}

# Number of attempts to connect that failed so far, at either end
failed() { "$RDS_BIN/rds-info" -c | awk '$1 == "rdma_conn_failed" { n = $2 } END { print n + 0 }'; }

# arrives PEER: the first message to PEER, over a connection that is accepted late, is answered, and
# the attempt that was accepted late has failed
arrives() {
	_before=$(failed)
	echo 1 >$late
	"$RDS_BIN/rds-probe" ping 1 "$_me" "$1" $((40000 * slow)) || return 1
	_left=$(cat $late) _more=$(($(failed) - _before))
	echo "# $_left late accepts left, $_more attempts failed, to $1"
	[ "$_left" = 0 ] && [ $_more -ge 1 ]
}

plan $((1 + 4 + $(rdma_left_plan)))
setup "$1" && ok late.up || { not_ok late.up "see above"; exit 1; }
for fam in 4 6; do
	eval "_me=\$RDS_SELF$fam _you=\$RDS_PEER$fam"
	check "late.other_address_v$fam" arrives "$_you"
	check "late.own_address_v$fam" arrives "$_me"
done
rdma_left late
exit $LIB_FAILED
