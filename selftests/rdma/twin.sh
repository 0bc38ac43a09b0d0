#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# twin.sh rxe|siw: two users of one device, rds_rdma and rds_twin.ko. Each has its listeners, its
# connections and its keys; neither reaches the memory of the other, attempts of one do not wait for
# those of the other, and either ends while the other goes on. In a line of two guests the twins of
# both talk to each other.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

dev=$1
slow=${RDS_SLOW:-1}
twin=/sys/module/rds_twin/parameters
twinko=$RDS_TOP/build/mod/$RDS_KERNEL/testko/rds_twin.ko
port=7780
ctl=7000

twin() { (echo "$*" >"$twin/run"); }
load_twin() { insmod "$twinko"; }
fails() { ! "$@" 2>/dev/null; }
# twin_says ERRNO COMMAND...: what the command returns
twin_says() {
	_errno=$1
	shift
	fails twin "$@" && [ "$(cat "$twin/result")" = "-$_errno" ] || { echo "# $*: $(cat "$twin/result")"; return 1; }
}

# Of our stack only rds_dev is loaded, and it can go again: it waits for no user.
dev_alone() {
	unload_stack 20 && load_stack "$RDS_STACK" rds_dev && [ -e /sys/module/rds_dev ] &&
		[ "$(rdma_count pd)" = 0 ] && rmmod rds_dev
}

# The device has a domain for each user that needs one.
domains() { [ "$(rdma_count pd)" = "$1" ]; }

talks() {
	for _l in "$RDS_SELF4 $RDS_PEER4" "$RDS_PEER4 $RDS_SELF4" "$RDS_SELF4 $RDS_SELF4" \
		"$RDS_SELF6 $RDS_PEER6" "$RDS_SELF6 $RDS_SELF6"; do
		twin talk "$_l" $port || { echo "# no talk $_l"; return 1; }
	done
}

# Nobody listens there.
quiet() { twin_says 111 talk "$RDS_SELF4" "$RDS_PEER4" "$1"; }

traffic() {
	ctl=$((ctl + 1))
	for _side in "agent $RDS_PEER4 $RDS_SELF4" "msg $RDS_SELF4 $RDS_PEER4"; do
		# shellcheck disable=SC2086
		set -- $_side
		timeout $((100 * slow)) "$RDS_BIN/rds-rdmat" "$1" -c "127.0.0.1,$ctl" -d "$dev" -s ours,ours \
			-n 200 "$2" "$3" >/tmp/traffic."$1" 2>&1 &
	done
	wait $!
	_rc=$?
	wait
	[ $_rc = 0 ] && ! grep '^not ok' /tmp/traffic.*
}

# A peer of the twin that knows a key of RDS cannot use it, while RDS can.
key_of_rds() {
	rm -f /tmp/twin.in /tmp/twin.key
	mkfifo /tmp/twin.in
	timeout $((60 * slow)) "$RDS_BIN/rds-twinkey" hold "$RDS_SELF4" "$RDS_PEER4" \
		</tmp/twin.in >/tmp/twin.key &
	_holder=$!
	exec 7>/tmp/twin.in
	wait_for 20 test -s /tmp/twin.key || return 1
	# shellcheck disable=SC2046
	twin_says 13 write "$RDS_SELF4" "$RDS_PEER4" $port $(cat /tmp/twin.key)
	_rc=$?
	echo done >&7
	exec 7>&-
	wait $_holder && [ $_rc = 0 ]
}

# The other way round: the twin's key works for the twin alone.
key_of_twin() {
	twin key "$RDS_PEER4" || return 1
	# shellcheck disable=SC2046
	timeout $((60 * slow)) "$RDS_BIN/rds-twinkey" use "$RDS_SELF4" "$RDS_PEER4" $(cat "$twin/key") &&
		twin clean && wait_for 20 twin write "$RDS_SELF4" "$RDS_PEER4" $port $(cat "$twin/key") && fails twin clean
	_rc=$?
	twin unkey
	return $_rc
}

# first_message ADDRESS: RDS answers a message at an own address to which it has no connection yet
first_message() { "$RDS_BIN/rds-probe" ping 1 "$RDS_SELF4" "$1" $((10000 * slow)); }
ask() { echo "$*" >"$twin/ask"; }

# beside COMMAND...: the command succeeds beside attempts of the twin, some of which still wait when it
# ends. At its end siw waits for TCP: for 7 s, or $_syn more retries.
beside() {
	_retries=$(cat /proc/sys/net/ipv4/tcp_syn_retries)
	echo $((2 + ${_syn:-0})) >/proc/sys/net/ipv4/tcp_syn_retries
	"$@"
	_rc=$?
	read -r _waits _late <"$twin/ask"
	echo "# $_waits attempts of the twin wait, $_late are late"
	ask 0
	echo "$_retries" >/proc/sys/net/ipv4/tcp_syn_retries
	[ $_rc = 0 ] && [ "$_waits" -gt 0 ]
}

# crowd SHARE: more attempts at a silent peer than the 64 with places and 256 slow ones
crowd() { ask "$RDS_SELF4" 10.77.0.1 400 "$1"; }
# wait_at_most N: all attempts but N have a place, or have given theirs back
wait_at_most() { wait_for $((20 * slow)) at_most "$1"; }
at_most() { read -r _waits _late <"$twin/ask" && [ "$_waits" -le "$1" ]; }
talk_share() { twin talk "$RDS_SELF4" "$RDS_PEER4" $port; }

# A connection of RDS comes up beside attempts of the twin.
apart() {
	ip addr add 192.168.60.71/24 dev rds0 && ip addr add 192.168.60.72/24 dev rds0 &&
		rdma_silent && rdma_ready 192.168.60.71 192.168.60.72 && first_message 192.168.60.71 &&
		beside rds_apart
}
rds_apart() { crowd 0 && first_message 192.168.60.72; }

# So does one of the twin that is of another share. A share has three quarters of the places and of the
# slow attempts.
shares() { beside share_apart && [ "$_waits" = 160 ]; }
share_apart() { crowd 1 && wait_at_most 160 && talk_share; }

# One that is the first of its share does when others have all there is, too.
shares_first() { beside share_first; }
share_first() { crowd 0 && wait_at_most 80 && talk_share; }

# One that is the second of its share, which has the first place in vain, gets the place of a slow one:
# before all slow ones are under way, and 80 are left.
shares_turns() { beside share_turn && [ "$_waits" -gt 80 ]; }
share_turn() { crowd 0 && ask "$RDS_SELF4" 10.77.0.1 1 2 && talk_share; }

# A share has three quarters of the 512 late ids, with what is under way, and leaves the others to dial.
# At first 240 are under way and become late, then 144, and 48 fail, which keep their places here.
shares_late() {
	_syn=2 beside share_late && [ "$_late" -le 384 ] && { [ "$dev" = rxe ] || [ "$_late" -gt 240 ]; }
}
share_late() {
	crowd 1 && wait_at_most 160 && ask late && crowd 1 && wait_at_most 208 && ask late &&
		crowd 1 && wait_at_most 352 && talk_share
}

# The twin comes and goes while RDS has traffic.
rds_goes_on() {
	traffic &
	_traffic=$!
	for _i in 1 2 3 4 5 6; do
		load_twin && twin listen $port && twin talk "$RDS_SELF4" "$RDS_PEER4" $port &&
			rmmod rds_twin || { wait; return 1; }
	done
	wait $_traffic
}

# RDS goes, and comes again, while the twin talks.
twin_goes_on() {
	twin talk "$RDS_SELF4" "$RDS_PEER4" $port && wait_for 10 rmmod rds_rdma && wait_for 10 domains 1 &&
		talks && twin key "$RDS_PEER4" && twin unkey &&
		load_stack "$RDS_STACK" rds_rdma && talks &&
		rdma_ready "$RDS_SELF4" "$RDS_SELF6" && traffic
}

# The device goes under both, and each finds the new one.
device_goes() {
	rdma_del "$dev" && twin_says 19 talk "$RDS_SELF4" "$RDS_PEER4" $port && rdma_add "$dev" &&
		rdma_ready "$RDS_SELF4" && wait_for 20 twin talk "$RDS_SELF4" "$RDS_PEER4" $port && traffic
}

one_guest() {
	check twin.dev_alone dev_alone
	load_stack "$RDS_STACK" rds rds_tcp rds_rdma && rdma_ready "$RDS_SELF4" "$RDS_PEER4" "$RDS_SELF6" "$RDS_PEER6"
	check twin.load load_twin
	check twin.domain_of_rds domains 1
	check twin.refused quiet $port
	check twin.listen twin listen $port
	check twin.domains domains 2
	check twin.talks talks
	check twin.limits twin limits "$RDS_SELF4" 18634
	check twin.churn twin churn "$RDS_SELF4" "$RDS_PEER4" 7781
	check twin.users twin users 2
	check twin.queue twin queue "$RDS_SELF4"
	check twin.key_of_rds key_of_rds
	check twin.key_of_twin key_of_twin
	check twin.traffic traffic
	check twin.apart apart
	check twin.shares shares
	for _case in $_shares; do check twin.$_case $_case; done
	check twin.twin_goes_on twin_goes_on
	check twin.device_goes device_goes
	check twin.close twin close $port
	check twin.closed quiet $port
	check twin.gone rmmod rds_twin
	check twin.domain_left domains 1
	check twin.rds_goes_on rds_goes_on
}

two_guests() {
	check twin.load load_twin
	check twin.listen twin any $port
	barrier listen 90
	check twin.peer_v4 twin talk "$RDS_SELF4" "$RDS_PEER4" $port
	check twin.peer_v6 twin talk "$RDS_SELF6" "$RDS_PEER6" $port
	barrier talked 90
	check twin.gone rmmod rds_twin
	barrier unloaded 90
	check twin.peer_gone fails twin_again
}

twin_again() {
	load_twin && twin talk "$RDS_SELF4" "$RDS_PEER4" $port
	_rc=$?
	rmmod rds_twin
	return $_rc
}

# On that kernel attempts end before all are there.
_shares="shares_first shares_turns shares_late"
if [ "$RDS_KERNEL" = debug ]; then
	for _case in $_shares; do echo "# elsewhere twin.$_case"; done
	_shares=
fi
# shellcheck disable=SC2086
_sum=$((23 + $(set -- $_shares && echo $#)))
[ -z "${RDS_SELF4:-}" ] || _sum=6
plan $((1 + _sum + $(rdma_left_plan)))
rdma_up "$dev" tcp-first && ok twin.up || { not_ok twin.up "see above"; exit 1; }
if [ -n "${RDS_ONE:-}" ]; then
	one_guest
	rdma_left twin
else
	two_guests
	rdma_left twin left
fi
exit $LIB_FAILED
