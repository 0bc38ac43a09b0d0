#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bugs.sh rxe|siw: RDMA bugs of other implementations of RDS: those of rds-rdmabugs (bugs.c), those
# that need a shell, and statements of the protocol description that the machine's state shows.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

dev=$1
ib=/proc/sys/net/rds/ib
names="max_recv_allocation max_recv_wr max_send_wr max_unsignaled_wr flow_control"

all_values() { for _n in $names; do printf '%s=%s ' "$_n" "$(cat $ib/$_n)"; done; }

# value NAME TEXT: setting NAME takes TEXT, and no other setting changes
value() {
	_old=$(cat "$ib/$1") _rest=$(all_values)
	echo "$2" >"$ib/$1" && [ "$(cat "$ib/$1")" = "$2" ] || return 1
	echo "$_old" >"$ib/$1"
	[ "$(all_values)" = "$_rest" ]
}

refused() { ! (echo "$2" >"$ib/$1") 2>/dev/null; }

settings() {
	for _n in $names; do
		[ -r "$ib/$_n" ] || return 1
	done
	[ "$(cat $ib/max_send_wr)" = 256 ] && [ "$(cat $ib/max_recv_wr)" = 1024 ] &&
		[ "$(cat $ib/max_unsignaled_wr)" = 16 ] && [ "$(cat $ib/flow_control)" = 0 ]
}

boundaries() {
	value max_send_wr 1 && value max_send_wr 4294967295 && value max_recv_wr 1 &&
		value max_recv_wr 4294967295 && value max_unsignaled_wr 1 && value max_unsignaled_wr 64 &&
		value flow_control 1 && value max_recv_allocation 0 && refused max_send_wr 0 &&
		refused max_send_wr 4294967296 && refused max_unsignaled_wr 0 &&
		refused max_unsignaled_wr 65 && refused max_recv_wr x
}

parameters() {
	_p=/sys/module/rds_rdma/parameters
	[ "$(cat $_p/rds_ib_mr_1m_pool_size)" = 4096 ] && [ "$(cat $_p/rds_ib_mr_8k_pool_size)" = 348160 ] &&
		[ "$(cat $_p/rds_ib_retry_count)" = 1 ]
}

# The 39 counters of in-tree RDS in its order: checks the first, the 20th and the last
counters() {
	_c=$(rds-info -c | awk '$1 ~ /^ib_/ { print $1 }')
	[ "$(echo "$_c" | wc -l)" = 39 ] && [ "$(echo "$_c" | head -n 1)" = ib_connect_raced ] &&
		[ "$(echo "$_c" | sed -n 20p)" = ib_ack_send_failure ] &&
		[ "$(echo "$_c" | tail -n 1)" = ib_atomic_fadd ]
}

# listens ADDR PORT: rdma_cm has a listener at this address and port
listens() { rdma resource show cm_id | grep "state LISTEN" | grep -Fq "src-addr $1:$2 "; }

namespace() {
	ip netns add bugs && ip -n bugs link add d0 type dummy || return 1
	ip -n bugs addr add "$RDS_SELF4/24" dev d0
	ip -n bugs link set d0 up
	! ip netns exec bugs "$RDS_BIN/rds-rdmat" bind "$RDS_SELF4" 2>/dev/null
	_rc=$?
	ip netns del bugs
	return $_rc
}

bindable() { "$RDS_BIN/rds-rdmat" bind "$RDS_SELF4" 2>/dev/null; }

# The device is removed and added while connections over it are set up.
device_loop() {
	_i=0 _rc=0
	while [ $_i -lt 8 ]; do
		"$RDS_BIN/rds-rdmabugs" flood "$RDS_SELF4" &
		_flood=$!
		wait_for 10 some_connection || _rc=1
		rdma_del "$dev" || _rc=1
		kill $_flood
		wait $_flood 2>/dev/null
		rdma_add "$dev" || _rc=1
		wait_for 20 bindable || _rc=1
		_i=$((_i + 1))
	done
	return $_rc
}

some_connection() { [ "$(rdma_count qp)" -gt 3 ]; }

# The module is unloaded and loaded while one process binds and another reads all counters. bind()
# asks the kernel to load the module, which must not be the distribution's: loading a second module
# of the same name at the same time fails with EBUSY.
load_race() {
	_i=0 _rc=0 _modprobe=$(cat /proc/sys/kernel/modprobe)
	echo /bin/true >/proc/sys/kernel/modprobe
	while :; do "$RDS_BIN/rds-rdmat" bind "$RDS_SELF4" 2>/dev/null; done &
	_binder=$!
	while :; do "$RDS_BIN/rds-info" -c >/dev/null 2>&1; done &
	_reader=$!
	while [ $_i -lt 16 ]; do
		wait_for 10 rmmod rds_rdma 2>/dev/null || _rc=1
		# Its devices stay in each other turn.
		[ $((_i % 2)) = 0 ] || rmmod rds_dev || _rc=1
		load_stack "$RDS_STACK" rds_rdma || _rc=1
		_i=$((_i + 1))
	done
	kill $_binder $_reader
	wait $_binder $_reader 2>/dev/null
	echo "$_modprobe" >/proc/sys/kernel/modprobe
	wait_for 20 bindable || _rc=1
	return $_rc
}

# A connection attempt over siw to an absent host repeats its SYN for 3 seconds, with one retry;
# setting the interface down must not wait for the attempt (link.c waits for a second at most).
# Prints milliseconds of the fastest of three runs, with an attempt or without.
asking() { grep -q ' 02 ' /proc/net/tcp; }	# a TCP connection in SYN_SENT
not_asking() { ! asking; }
down_ms() {
	_best=
	for _i in 1 2 3; do
		ip neigh replace "$2" lladdr 02:00:00:00:00:77 dev rds0
		if [ "$1" = asking ]; then
			"$RDS_BIN/rds-probe" ping 1 "$RDS_SELF4" "$2" 60000 >/dev/null 2>&1 &
			_asks=$!
			wait_for 10 asking || return 1
		fi
		_from=$(awk '{ print int($1 * 1000) }' /proc/uptime)
		ip link set rds0 down
		_ms=$(($(awk '{ print int($1 * 1000) }' /proc/uptime) - _from))
		ip link set rds0 up
		[ "$1" != asking ] || { kill $_asks; wait $_asks 2>/dev/null; wait_for 20 not_asking; }
		[ -n "$_best" ] && [ "$_best" -le $_ms ] || _best=$_ms
	done
	echo "$_best"
}

down_does_not_wait() {
	_nobody=${RDS_SELF4%.*}.77 _retries=$(cat /proc/sys/net/ipv4/tcp_syn_retries)
	echo 1 >/proc/sys/net/ipv4/tcp_syn_retries
	_without=$(down_ms idle "$_nobody") _with=$(down_ms asking "$_nobody")
	echo "$_retries" >/proc/sys/net/ipv4/tcp_syn_retries
	echo "# down after ${_without:-?} ms, with an attempt under way ${_with:-?} ms"
	wait_for 20 bindable
	[ -n "$_without" ] && [ -n "$_with" ] && [ "$_with" -lt $((_without + 2000)) ]
}

# planned: the results of this script; rds-rdmabugs plans its own
planned() {
	_ports=2 _down=0
	[ "$dev" = rxe ] || _down=1
	echo $((1 + 4 + _ports + _down + 4 + $(rdma_left_plan)))
}

PATH=$RDS_BIN:$PATH
plan "$(planned)"
rdma_up "$dev" tcp-first && ok bugs.up || { not_ok bugs.up "see above"; exit 1; }
check bugs.ib_settings settings
check bugs.cve_2015_2042 boundaries
check bugs.ib_parameters parameters
check bugs.ib_counters counters
if [ "$dev" = rxe ]; then
	check bugs.ib_port_v4 wait_for 10 listens "$RDS_SELF4" 18634
	check bugs.ib_port_v6 wait_for 10 listens "$RDS_SELF6" 16385
else
	check bugs.iwarp_port_v4 wait_for 10 listens "$RDS_SELF4" 18634
	check bugs.iwarp_port_v6 wait_for 10 listens "$RDS_SELF6" 18634
	check bugs.iwarp_down_while_asking down_does_not_wait
fi
check bugs.cve_2026_53077 namespace
timeout $((200 * ${RDS_SLOW:-1})) "$RDS_BIN/rds-rdmabugs" "$dev" "$RDS_SELF4" "$RDS_PEER4"
check bugs.program [ $? = 0 ]
check bugs.cve_2026_53355 device_loop
check bugs.bind_while_loading load_race
rdma_left bugs
exit $LIB_FAILED
