#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# stall.sh rxe|siw: guest b floods guest a from eight addresses, while rds_rdma in guest a gets no
# pages for two seconds (rds_stall.ko).
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

dev=$1

addresses() {
	for _i in 101 102 103 104 105 106 107 108; do
		ip addr add "${RDS_SELF4%.*}.$_i/24" dev rds0 && rdma_ready "${RDS_SELF4%.*}.$_i" || return 1
	done
}

drive() {
	timeout $((200 * ${RDS_SLOW:-1})) "$RDS_BIN/rds-rdmat" "$1" -c "$2,7000" -d "$dev" -s ours,ours -n 100 \
		"$RDS_SELF4" "$RDS_PEER4"
}

# The results of this script; rds-rdmat plans its own.
plan $((3 + $(rdma_left_plan)))
rdma_up "$dev" tcp-first && ok rdma.up || { not_ok rdma.up "see above"; exit 1; }
if [ "$RDS_GUEST" = a ]; then
	check rdma.stall.probe insmod "$RDS_TOP/build/mod/$RDS_KERNEL/testko/rds_stall.ko"
else
	check rdma.stall.addresses addresses
fi
barrier up 90
if [ "$RDS_GUEST" = a ]; then
	check rdma.stall.driver drive stall "$RDS_CTLPEER"
	rmmod rds_stall
else
	check rdma.stall.agent drive agent "$RDS_CTLSELF"
fi
barrier down 90
rdma_left rdma left
exit $LIB_FAILED
