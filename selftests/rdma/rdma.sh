# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# RDMA devices and rds_rdma in a guest. Source it after selftests/lib/lib.sh.
#
# In a line of two guests the device sits on rds0, the harness's network. In a line of one guest
# rdma_net makes rds0 with two addresses; what is sent from one to the other stays in the device.

# rdma_net: the addresses SELF4 PEER4 SELF6 PEER6 of the line
rdma_net() {
	if [ -z "${RDS_SELF4:-}" ]; then
		ip link add rds0 mtu 4200 type veth peer name rds1 mtu 4200 || return 1
		RDS_SELF4=192.168.60.1 RDS_PEER4=192.168.60.2
		RDS_SELF6=fd00:60::1 RDS_PEER6=fd00:60::2
		ip addr add $RDS_SELF4/24 dev rds0
		ip addr add $RDS_PEER4/24 dev rds0
		ip addr add $RDS_SELF6/64 dev rds0 nodad
		ip addr add $RDS_PEER6/64 dev rds0 nodad
		ip link set rds1 up
		ip link set rds0 up
		RDS_ONE=1
	else
		# Room for RoCE's largest packets, of 4096 bytes.
		ip link set rds0 mtu 4200 2>/dev/null
	fi
	# IPv6 forgets the addresses of an interface that goes down, unless told not to.
	echo 1 >/proc/sys/net/ipv6/conf/rds0/keep_addr_on_down
}

# rdma_modules rxe|siw: what a device of the kind and its tools need
rdma_modules() {
	for _d in ib_core ib_uverbs rdma_ucm; do
		modprobe $_d 2>/dev/null
	done
	case "$1" in
	rxe)	modprobe rdma_rxe ;;
	siw)
		[ ! -e /sys/module/siw ] || return 0
		modprobe -q siw && return 0
		modprobe libcrc32c 2>/dev/null
		modprobe iw_cm 2>/dev/null
		insmod "$RDS_TOP/build/mod/$RDS_KERNEL/siw/siw.ko"
		;;
	esac
}

# rdma_add rxe|siw: the device, which must be there at once
rdma_add() {
	rdma link add "${1}0" type "$1" netdev rds0 || return 1
	[ -d "/sys/class/infiniband/${1}0" ]
}

rdma_del() { rdma link del "${1}0"; }

# The transport takes addresses of a device as soon as it has set the device up, which it does by
# itself: there is nothing to subscribe to but the bind that works.
rdma_ready() {
	for _a in "$@"; do
		wait_for 20 "$RDS_BIN/rds-rdmat" bind "$_a" 2>/dev/null || return 1
	done
}

# rdma_stack tcp-first|rdma-first|rdma-only: rds_rdma of the stack under test, loaded in that order
# with rds_tcp. What the harness has loaded is taken away first where the order wants that.
rdma_stack() {
	case "$1" in
	tcp-first)
		load_stack "$RDS_STACK" rds rds_tcp rds_rdma
		return
		;;
	rdma-first)	_order="rds rds_rdma rds_tcp" ;;
	rdma-only)	_order="rds rds_rdma" ;;
	*)	return 1 ;;
	esac
	unload_stack 20 || return 1
	# shellcheck disable=SC2086
	load_stack "$RDS_STACK" $_order
}

# rdma_up rxe|siw ORDER: all of it; prints what stands in the way
rdma_up() {
	RDMA_DEV=$1
	rdma_net || { echo "# no network"; return 1; }
	rdma_modules "$1" || { echo "# no module for $1"; return 1; }
	rdma_add "$1" || { echo "# no device ${1}0"; return 1; }
	rdma_stack "$2" || { echo "# rds_rdma does not load ($2)"; return 1; }
	# 4 RDMA_READY=none: in-tree on siw is expected to refuse every address.
	[ "${RDMA_READY:-}" != none ] || return 0
	rdma_ready "$RDS_SELF4" "$RDS_SELF6" || {
		echo "# no address of ${1}0 can be bound"
		return 1
	}
}

# rdma_ours qp|mr|cq|pd|cm_id: those that rds_rdma made. Queue pairs are rdma_cm's by name, which makes
# them for it; the shared completion queues are the device's, which keeps them.
rdma_ours() {
	rdma resource show "$1" | grep '\[rds_rdma\]\|\[rdma_cm\]'
}
rdma_count() { rdma_ours "$1" | grep -c .; }

# What the network stack did not take of what rxe gave it to send, since the device was added. One packet
# of the CM among that, and no connection is made over the device any more.
rdma_not_taken() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/send_err; }

# Pages that are pinned now; programs that use the device from user space are none of a line's.
rdma_pins() {
	awk '/^nr_foll_pin_acquired/ { a = $2 } /^nr_foll_pin_released/ { r = $2 } END { print a - r }' /proc/vmstat
}

no_pins() { [ "$(rdma_pins)" = 0 ]; }

# Connections that are up; those over IPv4 are in both tables. One with itself has two queue pairs.
rdma_conns() {
	"$RDS_BIN/rds-info" -aI | awk '$1 ~ /[.:]/ && $3 ~ /^[0-9]+$/ && $1 !~ /^::ffff:/ { n++ } END { print n + 0 }'
}

# With all sockets closed: the registrar's pair (on RoCE one queue pair without an id), one protection
# domain and one queue of its own, one queue pair for each connection, with a queue; and of keys,
# once those that are kept are given back, no more than the one that connections may have for themselves.
# siw gives the number of a queue pair away again while ib_core still has it on its list, which then does
# not take the new one (EBUSY): there ids, one for each, are what counts.
rdma_idle() {
	_n=$(rdma_conns) _ends=1 _reg=2
	[ "$RDMA_DEV" != rxe ] || _reg=1
	[ -z "${RDS_ONE:-}" ] || _ends=2
	_cqs=$((1 + _ends * _n))
	"$RDS_BIN/rds-rdmat" flush "$RDS_SELF4" || return 1
	_ids=$(($(rdma_ours cm_id | grep -vc 'state LISTEN') + 2 - _reg)) _qps=$(rdma_count qp)
	[ "$(rdma_count pd)" = 1 ] && [ "$(rdma_count cq)" -le $_cqs ] && [ $_ids -ge $((_reg + _n)) ] &&
		[ $_ids -le $((_reg + _ends * _n)) ] && [ "$(rdma_count mr)" -le $((_ends * _n)) ] &&
		{ [ $_ids = "$_qps" ] || { [ "$RDMA_DEV" = siw ] && [ $_ids -gt "$_qps" ]; }; }
}

rdma_none() {
	for _o in qp mr cq pd cm_id; do
		[ "$(rdma_count $_o)" = 0 ] || return 1
	done
}

rdma_show() {
	for _o in qp mr cq pd cm_id; do
		rdma_ours $_o | sed "s/^/# left: $_o /"
	done
}

# What the name of a resource's owner is compared with must be there while there is something.
rdma_tells() {
	[ "$(rdma_count pd)" != 0 ] && [ "$(rdma_count qp)" != 0 ]
}

# rdma_left NAME [BARRIER]: nothing pinned; of ours, nothing on the device beyond what idle connections
# need, and nothing at all once rds_rdma is gone, which waits for the other guest at the barrier
rdma_left() {
	if wait_for 10 no_pins; then
		ok "$1.pins"
	elif [ "$RDS_STACK" = ours ]; then
		not_ok "$1.pins" "$(rdma_pins) pages are still pinned"
	else
		# in-tree 6.1 was seen to keep pages of sockets that are closed
		echo "# $1.pins: $(rdma_pins) pages are still pinned by in-tree"
	fi
	[ "$RDS_STACK" != ours ] || rdma_left_idle "$1"
	[ -z "${2:-}" ] || barrier "$2" 90
	[ "$RDS_STACK" != ours ] || rdma_left_gone "$1"
}

rdma_left_idle() {
	check "$1.objects" rdma_tells
	wait_for 20 rdma_idle && ok "$1.idle" && return
	not_ok "$1.idle" "$(rdma_conns) connections, $(rdma_count qp) qp $(rdma_count mr) mr $(rdma_count cq) cq" \
		"$(rdma_count pd) pd $(rdma_count cm_id) cm_id"
	rdma_show
}

rdma_left_gone() {
	unload_stack 20 && ok "$1.unload" || not_ok "$1.unload" "rds_rdma is in use"
	wait_for 10 rdma_none && ok "$1.none_left" || { not_ok "$1.none_left" "see below"; rdma_show; }
	no_pins && ok "$1.pins_unloaded" || not_ok "$1.pins_unloaded" "$(rdma_pins) pages are still pinned"
}
