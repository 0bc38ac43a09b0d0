#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# interop.sh STACK_A STACK_B [PATHS USED [old|lossy]]: runs in both guests; ping, exchange,
# congestion and forced resets over IPv4 and IPv6. With PATHS ours has so many paths, several flows use them, and there are
# USED connections. After a reset a message from ours to in-tree may be missing only if in-tree's TCP
# had acknowledged it; one from in-tree to ours only if our TCP had not, because in-tree sometimes
# does not retransmit such a message. rds-xchg watches the acknowledgements on the wire.
# old: ours has PATHS with a peer that does not show which path a connection is, too. There are no
# resets then, as in-tree mixes up the paths after some of them, and no congestion, as in-tree sends
# its maps over any path and an older one can arrive last: lossy does them all the same.
set -u
. selftests/lib/lib.sh

if [ "$RDS_GUEST" = a ]; then peer_stack=$2; else peer_stack=$1; fi
if [ "${RDS_LOAD:-ci}" = full ]; then
	count=20000 slow_count=6000 slow_rounds=12 resets=50 reset_count=2000 limit=600
elif [ "$RDS_KERNEL" = debug ]; then
	count=500 slow_count=500 slow_rounds=2 resets=6 reset_count=100 limit=100
else
	count=1500 slow_count=1200 slow_rounds=4 resets=10 reset_count=200 limit=100
fi
limit=$((limit * ${RDS_SLOW:-1}))

lossy='' watch='' tolerate=''
case "$peer_stack" in
intree*) lossy="--tx-lossy --sniff rds0" watch="--abandon --sniff rds0" ;;
esac
# In-tree may fail to wake a congested sender; ours must not. The end that runs ours judges messages
# that in-tree does not retransmit.
case "$RDS_STACK" in
intree*) tolerate=--tolerate-lost-wakeup lossy=--tx-lossy ;;
esac

if [ "$RDS_GUEST" = a ]; then
	ctl="--ctl-listen $RDS_CTLSELF"
else
	ctl="--ctl-connect $RDS_CTLPEER"
fi

# run_xchg NAME PORT OPTIONS...
run_xchg() {
	name=$1 port=$2
	shift 2
	timeout $((limit + 20)) "$RDS_BIN/rds-xchg" $ctl,"$port" --port "$port" --label "$name" \
		--timeout "$limit" --stuck "$((30 * ${RDS_SLOW:-1}))" $tolerate "$@" "$self" "$peer"
}

# With several paths so many flows go over them.
paths=${3:-1} used=${4:-1} streams=''
if [ "$paths" != 1 ]; then
	streams='--streams 16' count=$((count / 8)) reset_count=$((reset_count / 4))
	case "$RDS_STACK" in
	ours*)
		echo "$paths" >/proc/sys/net/rds/paths
		[ "${5:-}" = '' ] || echo "$paths" >/proc/sys/net/rds/paths_old
		;;
	esac
fi

# In-tree as receiver sometimes leaves a port's bit set in the map it sends. When rds-xchg sees that
# on the wire (exit status 3), the run is repeated on another port, and the number of abandoned runs
# is printed.
congestion() {
	tries=0
	while :; do
		run_xchg "interop.v$fam.congestion" $((base + 10 + tries)) --count $slow_count \
			--seed $((fam * 1000 + 2)) --flat --max-len 8192 \
			--slow-reader $slow_rounds $watch
		rc=$?
		tries=$((tries + 1))
		[ $rc = 3 ] && [ $tries -lt 8 ] || break
	done
	echo "# interop.v$fam.congestion: given up $((tries - 1)) times because of in-tree's map"
	return $rc
}

# paths_used PEER: are there as many connections to the peer as there should be?
paths_used() {
	[ "$paths" = 1 ] && return
	[ "$fam" = 4 ] || set -- "[$1]"
	set -- "$(ss -Htn state established "dst $1 and ( dport = 16385 or sport = 16385 )" | wc -l)"
	if [ "$1" = "$used" ]; then
		ok "interop.v$fam.paths"
	else
		not_ok "interop.v$fam.paths" "$1 connections, not $used"
	fi
}

# Four results for each family, five with several paths, three with old
results=4
[ "$paths" = 1 ] || results=5
[ "${5:-}" != old ] || results=3
plan $((2 * results))
modprobe -q tcp_diag || :
barrier up 90
for fam in 4 6; do
	if [ $fam = 4 ]; then
		self=$RDS_SELF4 peer=$RDS_PEER4 base=4000
	else
		self=$RDS_SELF6 peer=$RDS_PEER6 base=4100
	fi
	# The smaller address sends first over IPv4, the larger one over IPv6, so that connections
	# are dialled both ways.
	[ "$fam$RDS_GUEST" = 4a ] || [ "$fam$RDS_GUEST" = 6b ] || barrier first$fam
	check "interop.v$fam.ping" "$RDS_BIN/rds-probe" ping 20 "$self" "$peer" 10000
	[ "$fam$RDS_GUEST" = 4b ] || [ "$fam$RDS_GUEST" = 6a ] || barrier first$fam
	# Buffers so large that only the congestion test congests a port
	big="--sndbuf 2097152 --rcvbuf 67108864"
	check "interop.v$fam.exchange" run_xchg "interop.v$fam.exchange" $((base + 30)) \
		--count $count --seed $((fam * 1000 + 1)) $streams $big
	paths_used "$peer"
	[ "${5:-}" != old ] || continue
	check "interop.v$fam.congestion" congestion
	check "interop.v$fam.resets" run_xchg "interop.v$fam.resets" $((base + 60)) $big \
		--count $reset_count --seed $((fam * 1000 + 3)) --max-bytes 4000000000 \
		--resets $resets $streams $lossy
done
exit $LIB_FAILED
