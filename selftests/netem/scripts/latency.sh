#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# latency.sh: a checked exchange over a good link, where no message may wait for a timer. The guest
# counts instructions as time, so that the bound means the same on any machine. On a debug kernel only
# the exchange is checked.
set -u
. selftests/lib/lib.sh

# Most milliseconds from sendmsg(2) to recvmsg(2), which includes the wait for earlier messages.
# 2 ms are usual; the shortest TCP timer on the way, of the delayed acknowledgement, takes 40 ms.
most_ms=20
port=4300

end_of() {
	ip netns exec "$1" "$RDS_BIN/rds-xchg" "$2" "/tmp/latency-$port" --same-clock \
		${RDS_JUDGED:+--latency-max $most_ms} --count 300 --flat --max-len 16384 --seed $port --port $port \
		--timeout 120 --stuck 30 --label "$3@$1" "$4" "$5"
}

# exchange NAME ADDR_A ADDR_B
exchange() {
	port=$((port + 1))
	end_of A --ctl-listen "$1" "$2" "$3" &
	pid=$!
	end_of B --ctl-connect "$1" "$3" "$2"
	rb=$?
	wait $pid
	ra=$?
	if [ $ra = 0 ] && [ $rb = 0 ]; then
		ok "$1"
	else
		not_ok "$1" "exit status $ra at A, $rb at B"
	fi
}

plan 2
ns_pair A B || { not_ok latency.setup "no link"; exit 1; }
# Bring up the connections: the first message waits for neighbour discovery and the TCP handshake.
for peer in 10.0.0.2 fd00::2; do
	wait_for 30 ip netns exec A "$RDS_BIN/rds-ping" -c 1 $peer >/dev/null ||
		not_ok latency.warm_up "no ping to $peer"
done
exchange latency.v4 10.0.0.1 10.0.0.2
exchange latency.v6 fd00::1 fd00::2
exit $LIB_FAILED
