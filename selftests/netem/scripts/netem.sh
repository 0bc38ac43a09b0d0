#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# netem.sh: a checked exchange between two namespaces over a bad link: loss, duplication,
# reordering and corruption each alone at 5 %, then all of them at 1 %. TCP repairs all that the
# link does, so no connection may end: messages that are sent again over the next one would hide a
# fault.
set -u
. selftests/lib/lib.sh

if [ "${RDS_LOAD:-ci}" = full ]; then
	count=1000 limit=240
else
	count=150 limit=60
fi
limit=$((limit * ${RDS_SLOW:-1}))
port=4200

# Without offloads queues hold single frames and checksums are computed in software, so that netem
# treats each packet by itself and a flipped bit is noticed. Neighbours are permanent, because ARP
# carries no checksum.
link_setup() {
	for n in A B; do
		ip netns exec $n ethtool -K veth0 tx off tso off gso off gro off sg off >/dev/null
	done
	mac_a=$(ip netns exec A cat /sys/class/net/veth0/address)
	mac_b=$(ip netns exec B cat /sys/class/net/veth0/address)
	for a in 10.0.0.2 fd00::2; do
		ip -n A neigh replace $a lladdr "$mac_b" dev veth0 nud permanent
	done
	for a in 10.0.0.1 fd00::1; do
		ip -n B neigh replace $a lladdr "$mac_a" dev veth0 nud permanent
	done
}

# TCP's send buffer at A is smaller than two messages, so that it often takes a part of one.
small_buffer() {
	ip netns exec A sh -c 'echo 65536 >/proc/sys/net/rds/tcp/rds_tcp_sndbuf'
}

# dropped: packets that netem dropped at A and B
dropped() {
	for n in A B; do
		tc -n $n -s qdisc show dev veth0
	done | awk '{ for (i = 1; i < NF; i++) if ($i == "(dropped") s += $(i + 1) } END { print s + 0 }'
}

# conns_ended: connections of RDS that ended, at A and B
conns_ended() {
	for n in A B; do
		ip netns exec $n "$RDS_BIN/rds-info" -c
	done | awk '$1 == "conn_reset" { s += $2; n++ } END { if (n == 2) print s }'
}

# tcp_counts: the TCP counters, as lines "group:name value", each the sum of A and B
tcp_counts() {
	for n in A B; do
		ip netns exec $n cat /proc/net/snmp /proc/net/netstat
	done | awk '{ if ($1 == was) for (i = 2; i <= NF; i++) v[$1 name[i]] += $i
		else { was = $1; split($0, name, " "); next } was = "" }
		END { for (n in v) print n, v[n] }'
}

# least NAME: the least number of events that TCP must count per thousand segments received: a tenth
# of netem's rate, because TCP does not count acknowledgements that are duplicated or overtaken. At
# 1 % one event in the whole exchange is enough.
least() {
	case "$1" in
	*.all*)	echo 0 ;;
	*)	echo 5 ;;
	esac
}

# shown NAME: TCP counted, during the exchange, what netem was told to do. The receiver answers a
# duplicate with a D-SACK; segments that overtake another wait in the out-of-order queue.
shown() {
	case "$1" in
	netem.loss)		_want=Tcp:RetransSegs ;;
	netem.duplicate)	_want=TcpExt:TCPDSACKOldSent ;;
	netem.reorder)		_want=TcpExt:TCPOFOQueue ;;
	netem.corrupt)		_want=Tcp:InCsumErrors ;;
	netem.all*)		_want="Tcp:RetransSegs Tcp:InCsumErrors TcpExt:TCPDSACKOldSent
		TcpExt:TCPOFOQueue" ;;
	esac
	tcp_counts >/tmp/netem.after
	awk -v want="$_want" -v least="$(least "$1")" -v label="$1" '
		NR == FNR { was[$1] = $2; next } { got[$1] = $2 - was[$1] }
		END {
			n = split(want, w, " ")
			for (i = 1; i <= n; i++) {
				printf "# %s: %s %d in %d segments\n", label, w[i], got[w[i]], got["Tcp:InSegs"]
				bad += got[w[i]] * 1000 < got["Tcp:InSegs"] * least || !got[w[i]]
			}
			exit bad > 0
		}' /tmp/netem.before /tmp/netem.after
}

end_of() {
	ip netns exec "$1" "$RDS_BIN/rds-xchg" "$2" "/tmp/netem-$port" --same-clock \
		--count $count --flat --max-len 65536 --seed $port --port $port --timeout $limit \
		--stuck $limit --label "$3@$1" "$4" "$5"
}

# exchange NAME ADDR_A ADDR_B NETEM...
exchange() {
	name=$1 a=$2 b=$3
	shift 3
	port=$((port + 1))
	for n in A B; do
		if ! tc -n $n qdisc replace dev veth0 root netem limit 10000 "$@"; then
			not_ok "$name" "netem $*"
			return
		fi
	done
	tcp_counts >/tmp/netem.before
	ended=$(conns_ended)
	end_of A --ctl-listen "$name" "$a" "$b" &
	pid=$!
	end_of B --ctl-connect "$name" "$b" "$a"
	rb=$?
	wait $pid
	ra=$?
	echo "# $name: $(dropped) packets dropped by netem"
	for n in A B; do
		tc -n $n qdisc del dev veth0 root
	done
	if [ $ra = 0 ] && [ $rb = 0 ] && [ "$ended" -eq "$(conns_ended)" ]; then
		ok "$name"
	else
		not_ok "$name" "exit status $ra at A, $rb at B; connections ended: $ended, then $(conns_ended)"
	fi
	check "$name.shown" shown "$name"
}

# link_is_bad NETEM...: the link loses some pings; without losses every exchange would pass.
link_is_bad() {
	tc -n A qdisc replace dev veth0 root netem "$@"
	got=$(ip netns exec A ping -q -i 0.002 -c 400 -W 1 10.0.0.2 | sed -n 's/.* \([0-9]*\) received.*/\1/p')
	tc -n A qdisc del dev veth0 root
	echo "# netem $*: $got of 400 pings answered"
	[ "$got" -gt 300 ] && [ "$got" -lt 400 ]
}

# Two links that are bad, and six exchanges of two results each
plan $((2 + 6 * 2))
# netem is built in, or a module that the kernel loads for tc; the first two checks fail without it.
ns_pair A B && link_setup && small_buffer || { not_ok netem.setup "no link"; exit 1; }
check netem.link_loses link_is_bad loss 5%
check netem.link_corrupts link_is_bad corrupt 5%
# The smaller address dials; the larger one would first knock.
for peer in 10.0.0.2 fd00::2; do
	wait_for 30 ip netns exec A "$RDS_BIN/rds-ping" -c 1 $peer >/dev/null ||
		not_ok netem.warm_up "no ping to $peer"
done
exchange netem.loss 10.0.0.1 10.0.0.2 loss 5%
exchange netem.duplicate 10.0.0.1 10.0.0.2 duplicate 5%
exchange netem.reorder 10.0.0.1 10.0.0.2 delay 2ms reorder 95%
exchange netem.corrupt 10.0.0.1 10.0.0.2 corrupt 5%
exchange netem.all 10.0.0.1 10.0.0.2 delay 1ms reorder 99% loss 1% duplicate 1% corrupt 1%
exchange netem.all6 fd00::1 fd00::2 delay 1ms reorder 99% loss 1% duplicate 1% corrupt 1%
exit $LIB_FAILED
