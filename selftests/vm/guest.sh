#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Process 1 of a guest once the host's tree is mounted: for each line it loads the stack, runs the
# command and checks for anything left behind; then it powers off. Messages to the runner start with
# @ and the word $RDS_NONCE.

export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LANG=C.UTF-8 TERM=vt100
set -a
. /run/rds/env
set +a

say() { echo "@$RDS_NONCE $*"; }

finish() {
	say end
	poweroff_now
}

poweroff_now() {
	sync
	echo o >/proc/sysrq-trigger
	# A work item switches the machine off; process 1 must not exit before.
	while :; do sleep 10; done
}

fatal() {
	say fail "$*"
	finish
}

mount_rest() {
	mkdir -p /dev/pts /dev/shm
	mount -t devpts -o mode=620,ptmxmode=666 pts /dev/pts
	mount -t tmpfs -o mode=1777 shm /dev/shm
	ln -sfn /proc/self/fd /dev/fd
	ln -sfn /proc/self/fd/0 /dev/stdin
	ln -sfn /proc/self/fd/1 /dev/stdout
	ln -sfn /proc/self/fd/2 /dev/stderr
	mount -t debugfs debug /sys/kernel/debug 2>/dev/null
	mount -t tracefs trace /sys/kernel/tracing 2>/dev/null
	mkdir -p /run/netns /run/lock
	# Each guest has an empty /var/log: the host's logs must not be seen in a guest.
	mount -t tmpfs log /var/log
}

# Find the runner's port by its name in sysfs: a guest runs no udev that would make a link. The port
# can be opened only once, so it is opened for the runner's answers as well.
open_port() {
	for p in /sys/class/virtio-ports/*; do
		[ "$(cat "$p/name" 2>/dev/null)" = verdict ] && exec 1<>"/dev/${p##*/}" 2>&1
	done
}

tune() {
	dmesg -n 8
	echo 1 >/proc/sys/kernel/sysrq
	echo 1 >/proc/sys/kernel/panic_on_oops
	# Lock statistics slow a guest down: tests that need them switch them on.
	[ ! -e /proc/sys/kernel/lock_stat ] || echo 0 >/proc/sys/kernel/lock_stat
	for f in unknown_nmi_panic:1 hung_task_timeout_secs:"$RDS_HUNG_S"; do
		[ -e "/proc/sys/kernel/${f%:*}" ] && echo "${f#*:}" >"/proc/sys/kernel/${f%:*}"
	done
	for f in default all; do
		[ -d "/proc/sys/net/ipv6/conf/$f" ] || continue
		echo 0 >"/proc/sys/net/ipv6/conf/$f/accept_dad"
		echo 0 >"/proc/sys/net/ipv6/conf/$f/router_solicitations"
	done
	ip link set lo up
	hostname "rds-$RDS_GUEST" 2>/dev/null || echo "rds-$RDS_GUEST" >/proc/sys/kernel/hostname
}

# nic MAC NAME ADDR...: give the interface with address MAC the name and the IP addresses
nic() {
	mac=$1 name=$2
	shift 2
	for d in /sys/class/net/*; do
		[ "$(cat "$d/address" 2>/dev/null)" = "$mac" ] || continue
		ip link set "${d##*/}" down
		ip link set "${d##*/}" name "$name"
		for a in "$@"; do
			ip addr add "$a" dev "$name" $(case $a in *:*) echo nodad ;; esac)
		done
		ip link set "$name" up
		return
	done
	fatal "no interface with address $mac"
}

network() {
	[ -n "${RDS_SELF4:-}" ] || return 0
	modprobe -q virtio_net
	modprobe -q e1000 || :
	nic "$RDS_MAC0" rds0 "$RDS_SELF4/24" "$RDS_SELF6/64"
	nic "$RDS_MAC1" ctl0 "$RDS_CTLSELF/24"
}

slab_objects() {
	echo 1 >"/sys/kernel/slab/$1/shrink" 2>/dev/null
	n=$(cat "/sys/kernel/slab/$1/objects" 2>/dev/null) || n=0
	echo "${n%% *}"
}

seconds() {
	read -r now _ </proc/uptime
	echo "${now%.*}"
}

# until_true SECONDS CMD...: wait until CMD succeeds. It polls, because there is no event to wait
# for in any of the uses below.
until_true() {
	end=$(($(seconds) + $1))
	shift
	while ! "$@"; do
		[ "$(seconds)" -lt $end ] || return 1
		sleep 0.1
	done
}

# Since 6.12 the kernel frees the namespaces that it dismantled last only while it dismantles the
# next one. So make and end one more, which then stays; every namespace beyond it is left behind.
ns_deferred() { grep -q ' defer_free_list$' /proc/kallsyms; }
ns_left() { echo $(($(slab_objects net_namespace) - ns_stays)); }
ns_gone() {
	[ "$(ns_left)" -gt 0 ] || return 0
	ns_polls=$((ns_polls + 1))
	[ $((ns_polls % 20)) != 0 ] || unshare -n true
	return 1
}
# Closed sockets whose peer does not answer the FIN, because its host has gone, keep their namespace
# for the time that TCP gives orphans: about 100 s with the defaults (Documentation/lifetime.rst).
orphans() { sed -n 's/^TCP:.* orphan \([0-9]*\).*/\1/p' /proc/net/sockstat; }
check_namespaces() {
	ns_polls=0 ns_stays=0
	[ "$(ns_left)" -gt 0 ] || return 0
	unshare -n true
	ns_deferred && ns_stays=1
	! until_true "$1" ns_gone || return 0
	tcp_ends=$(orphans)
	[ "$tcp_ends" -gt 0 ] && until_true 150 ns_gone ||
		say fail "$(ns_left) network namespaces left behind"
	echo "# network namespaces stayed for $tcp_ends sockets that TCP had to end"
}
caches_gone() { ! ls -d /sys/kernel/slab/rds_* >/dev/null 2>&1; }
rds_modules() { awk '$1 ~ /^rds/ || $4 ~ /(^|,)rds(_|,)/ { print $1 }' /proc/modules; }

# Unload the modules that are not in use. A work item may drop the last reference to another module
# a moment later, so the caller repeats this.
unload_round() {
	for m in $(rds_modules); do
		rmmod "$m" 2>/dev/null
	done
	[ -z "$(rds_modules)" ]
}

# In-tree modules are not unloaded: what they leave behind says nothing about ours, and unloading
# them can crash the guest. Two guests that run in-tree 7.3.4 and `sh selftests/rdma/run.sh rxe
# rdma-first ping`, without our modules, warn at rmmod of objects in use in rds_ib_incoming,
# rds_ib_frag and rds_connection, and rdma_cm then calls a handler whose code has been freed.
peer_keeps_modules() {
	case "$RDS_STACK" in intree*) true ;; *) false ;; esac
}

check_left() {
	# Anything left after the limit is a final failure in CI, so the limit allows for a stalled
	# machine. A clean guest does not wait.
	limit=$((30 * RDS_SLOW))
	kill -9 -1 2>/dev/null
	! peer_keeps_modules || return 0
	for n in /run/netns/*; do
		[ -e "$n" ] && ip netns del "${n##*/}"
	done
	check_namespaces $limit
	# kmemleak's report has addresses, which cannot be resolved after the unload: keep the
	# symbols.
	grep '\[rds' /proc/kallsyms >>/run/rds/syms
	until_true $limit unload_round ||
		say fail "modules cannot be unloaded: $(awk '$1 ~ /^rds/ { print $1 "=" $3 }' /proc/modules | tr '\n' ' ')"
	[ -n "$(rds_modules)" ] || until_true 5 caches_gone ||
		say fail "caches left after unload: $(echo /sys/kernel/slab/rds_*)"
	[ -n "$(rds_modules)" ] || [ ! -e /proc/sys/net/rds ] || say fail "/proc/sys/net/rds left after unload"
	# 16385 is 4001 in hex; 0A and 01 are LISTEN and ESTABLISHED
	if awk '($2 ~ /:4001$/ || $3 ~ /:4001$/) && ($4 == "0A" || $4 == "01")' /proc/net/tcp /proc/net/tcp6 |
		grep -q .; then
		say fail "TCP sockets on port 16385 left after unload"
	fi
}

check_leaks() {
	k=/sys/kernel/debug/kmemleak
	[ -n "$RDS_LEAKS" ] && [ -e $k ] || return 0
	# kmemleak does not report a block younger than five seconds, and a single scan can miss a
	# pointer that moves meanwhile.
	sleep 6
	echo scan >$k
	echo scan >$k
	cat $k >/run/rds/leaks
	[ -s /run/rds/leaks ] && python3 "$RDS_TOP/selftests/vm/leaks.py" /run/rds/leaks /run/rds/syms "$RDS_NONCE"
}

check_taint() {
	# 32 bad page, 128 oops, 512 warning, 16384 soft lockup
	tainted=$(cat /proc/sys/kernel/tainted)
	say taint $((tainted & ~tainted_before & 17056))
	tainted_before=$tainted
}

check_lockdep() {
	grep -q '^ *debug_locks: *0' /proc/lockdep_stats 2>/dev/null && say fail "lockdep switched itself off"
}

run_command() {
	cd "$RDS_TOP" || fatal "no $RDS_TOP"
	say start
	if [ "$RDS_CPUS" = icount ]; then
		# Nothing of ours may run beside what is measured.
		setsid timeout -k 5 "$RDS_TIMEOUT" sh -c "$RDS_COMMAND" </dev/null
	else
		selftests/vm/quiet.py "$RDS_TIMEOUT" "$RDS_COMMAND"
	fi
	rc=$?
	cd /
	if [ $rc = 124 ] || [ $rc = 137 ]; then
		echo w >/proc/sysrq-trigger
		say timeout
	fi
	say exit $rc
}

# On the kernel cov: how much of our modules has run
coverage() { [ ! -e /proc/rds_cov ] || "$RDS_TOP/selftests/vm/coverage.py" "$RDS_MODDIR"; }

# mark WORDS: begin a part of the results and of the kernel's log, which have a port each. Level 0 is
# printed whatever level the line before has set.
mark() {
	echo "<0>@$RDS_NONCE $*" >/dev/kmsg
	say "$*"
}

# Several lines share this guest: each must leave it as it was.
shared() { [ "$RDS_LINES" -gt 1 ]; }

run_line() {
	set -a
	. "/run/rds/line.$1"
	set +a
	mark line "$1"
	! shared || state_save
	if [ -n "$RDS_MODULES" ]; then
		load_stack "$RDS_STACK" || fatal "the modules did not load"
	fi
	run_command
	coverage
	check_left
	! shared || state_restore
	check_taint
	check_lockdep
	say done
}

# go_on N: is there a line N, and does the runner want it here?
go_on() {
	[ "$1" -le "$RDS_LINES" ] || return 1
	say next
	read -r answer <&1 && [ "$answer" = go ]
}

mount_rest
open_port
say booted "$(cut -d ' ' -f 1 /proc/uptime)"
tune
network
tainted_before=$(cat /proc/sys/kernel/tainted)
. "$RDS_TOP/selftests/lib/stack.sh"
. "$RDS_TOP/selftests/vm/state.sh"
if [ -n "${RDS_SHELL:-}" ]; then
	[ -z "$RDS_MODULES" ] || load_stack "$RDS_STACK" || fatal "the modules did not load"
	cd "$RDS_TOP" || :
	setsid -c /bin/bash -i </dev/ttyS0 >/dev/ttyS0 2>&1
	poweroff_now
fi
run_line 1
line_no=2
while go_on $line_no; do
	run_line $line_no
	line_no=$((line_no + 1))
done
mark close
check_leaks
check_taint
finish
