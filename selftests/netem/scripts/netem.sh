#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# netem.sh: a checked exchange between two namespaces over a bad link: loss, duplication,
# reordering and corruption each alone at 5 %, then all of them at 1 %.
set -u
. selftests/lib/lib.sh

if [ "${RDS_LOAD:-ci}" = full ]; then
	count=1000 limit=240
else
	count=150 limit=60
fi
limit=$((limit * ${RDS_SLOW:-1}))
port=4200

# Queues hold single frames and checksums are made in software, so that each packet has its own
# luck and a flipped bit is seen. Resolved neighbours: ARP carries no checksum.
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

# seen NAME WORD: the qdisc of A or B counted at least one such packet
dropped() {
	for n in A B; do
		tc -n $n -s qdisc show dev veth0
	done | awk '{ for (i = 1; i < NF; i++) if ($i == "(dropped") s += $(i + 1) } END { print s + 0 }'
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
	if [ $ra = 0 ] && [ $rb = 0 ]; then
		ok "$name"
	else
		not_ok "$name" "exit status $ra at A, $rb at B"
	fi
}

# A link that loses nothing would pass all of the above.
link_is_bad() {
	tc -n A qdisc replace dev veth0 root netem "$@"
	got=$(ip netns exec A ping -q -i 0.002 -c 400 -W 1 10.0.0.2 | sed -n 's/.* \([0-9]*\) received.*/\1/p')
	tc -n A qdisc del dev veth0 root
	echo "# netem $*: $got of 400 pings answered"
	[ "$got" -gt 300 ] && [ "$got" -lt 400 ]
}

# Built in, or a module that tc has the kernel load; the first cases see whether it is there.
ns_pair A B && link_setup || { not_ok netem.setup "no link"; exit 1; }
check netem.link_loses link_is_bad loss 5%
check netem.link_corrupts link_is_bad corrupt 5%
exchange netem.loss 10.0.0.1 10.0.0.2 loss 5%
exchange netem.duplicate 10.0.0.1 10.0.0.2 duplicate 5%
exchange netem.reorder 10.0.0.1 10.0.0.2 delay 2ms reorder 95%
exchange netem.corrupt 10.0.0.1 10.0.0.2 corrupt 5%
exchange netem.all 10.0.0.1 10.0.0.2 delay 1ms reorder 99% loss 1% duplicate 1% corrupt 1%
exchange netem.all6 fd00::1 fd00::2 delay 1ms reorder 99% loss 1% duplicate 1% corrupt 1%
exit $LIB_FAILED
