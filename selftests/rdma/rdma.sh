# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# RDMA devices and rds_rdma in a guest. Source this file after selftests/lib/lib.sh.
#
# In a line of two guests the device is on rds0, the harness's network. In a line of one guest
# rdma_net creates rds0 with two addresses; messages from one address to the other stay in the
# device.

# rdma_net: set up rds0 with the line's addresses SELF4 PEER4 SELF6 PEER6
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
		# Room for RoCE's largest packets, which carry 4096 bytes.
		ip link set rds0 mtu 4200 2>/dev/null
	fi
	# An interface that goes down loses its IPv6 addresses unless keep_addr_on_down is set.
	echo 1 >/proc/sys/net/ipv6/conf/rds0/keep_addr_on_down
}

# With RDMA_ALTERED=rxe-late rxe is one that queues RDMA_LATE packets late (selftests/vm/rxe-late.sed),
# with rxe-bond one that serves a bond (selftests/vm/rxe-bond.sed), with rxe-dma one to which memory
# is mapped as to hardware (selftests/vm/rxe-dma). With siw-p2p siw lets the end that accepts send
# first (selftests/vm/siw-p2p.sed).
rdma_rxe_module() {
	[ -n "${RDMA_ALTERED:-}" ] || { modprobe rdma_rxe; return; }
	for _d in udp_tunnel ip6_udp_tunnel crc32_generic; do
		modprobe $_d || return 1
	done
	insmod "$RDS_TOP/build/mod/$RDS_KERNEL/$RDMA_ALTERED/rdma_rxe.ko" ${RDMA_LATE:+late="$RDMA_LATE"}
}

# rxe_param NAME: print a parameter of the altered rxe
rxe_param() { cat "/sys/module/rdma_rxe/parameters/$1"; }

# rdma_modules rxe|siw: load the modules for a device of this kind and for its tools
rdma_modules() {
	for _d in ib_core ib_uverbs rdma_ucm; do
		modprobe $_d 2>/dev/null
	done
	case "$1" in
	rxe)	rdma_rxe_module ;;
	siw)
		[ ! -e /sys/module/siw ] || return 0
		modprobe libcrc32c 2>/dev/null
		modprobe iw_cm 2>/dev/null
		insmod "$RDS_TOP/build/mod/$RDS_KERNEL/${RDMA_ALTERED:-siw}/siw.ko"
		;;
	esac
}

# rdma_netns_siw VARIANT: load the siw of that variant, and our stack, so that both serve namespaces
# other than the initial one
rdma_netns_siw() {
	for _d in ib_core ib_uverbs rdma_ucm libcrc32c iw_cm; do
		modprobe $_d 2>/dev/null
	done
	insmod "$RDS_TOP/build/mod/$RDS_KERNEL/$1/siw.ko" || return 1
	rdma_netns_stack
}

# rdma_netns_stack: load our stack, which uses soft devices in all namespaces
rdma_netns_stack() {
	load_stack "$RDS_STACK" rds rds_tcp rds_rdma || return 1
	echo 1 >/sys/module/rds_rdma/parameters/soft_netns
}

# rdma_add rxe|siw: add the device, which must exist when the command returns
rdma_add() {
	rdma link add "${1}0" type "$1" netdev rds0 || return 1
	[ -d "/sys/class/infiniband/${1}0" ]
}

rdma_del() { rdma link del "${1}0"; }

# The transport serves the addresses of a device asynchronously, once the device is set up. No event
# reports that: retry until bind() works.
rdma_ready() {
	for _a in "$@"; do
		wait_for 20 "$RDS_BIN/rds-rdmat" bind "$_a" 2>/dev/null || return 1
	done
}

# rdma_silent: the hosts in 10.77.0.0/16 are reached over rds0, and their TCP is silent. TCP gives up
# after 31 s.
rdma_silent() {
	ip neigh add 192.168.60.99 lladdr 02:00:00:00:00:99 dev rds0 nud permanent &&
		ip route add 10.77.0.0/16 via 192.168.60.99 dev rds0 &&
		echo 4 >/proc/sys/net/ipv4/tcp_syn_retries
}

# rdma_stack tcp-first|rdma-first|rdma-only: load rds_rdma of the stack under test, in that order
# with rds_tcp. If the order requires it, the modules that the harness loaded are unloaded first.
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

# rdma_up rxe|siw ORDER: set up network, device and stack; prints what failed
rdma_up() {
	RDMA_DEV=$1
	rdma_net || { echo "# no network"; return 1; }
	rdma_modules "$1" || { echo "# no module for $1"; return 1; }
	rdma_add "$1" || { echo "# no device ${1}0"; return 1; }
	rdma_stack "$2" || { echo "# rds_rdma does not load ($2)"; return 1; }
	# RDMA_READY=none: in-tree RDS on siw is expected to refuse every address.
	[ "${RDMA_READY:-}" != none ] || return 0
	rdma_ready "$RDS_SELF4" "$RDS_SELF6" || {
		echo "# no address of ${1}0 can be bound"
		return 1
	}
}

# rdma_ours qp|mr|cq|pd|cm_id: the objects of rds_rdma, or of our rds_dev and rds_stream. Their queue
# pairs are made by rdma_cm and have that name; the shared completion queues belong to the device,
# which keeps them.
rdma_ours() {
	rdma resource show "$1" | grep '\[rds_rdma\]\|\[rds_dev\]\|\[rds_stream\]\|\[rdma_cm\]'
}
rdma_count() { rdma_ours "$1" | grep -c .; }

# Number of packets that the network stack refused from rxe since the device was added. If one is a
# packet of the CM, no connection is set up over the device any more.
rdma_not_taken() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/send_err; }

# Number of pages pinned now; no program of a line uses the device from user space.
rdma_pins() {
	awk '/^nr_foll_pin_acquired/ { a = $2 } /^nr_foll_pin_released/ { r = $2 } END { print a - r }' /proc/vmstat
}

no_pins() { [ "$(rdma_pins)" = 0 ]; }

# Number of connections that are up; IPv4 connections are in both tables. A connection with the same
# host has two queue pairs.
rdma_conns() {
	"$RDS_BIN/rds-info" -aI | awk '$1 ~ /[.:]/ && $3 ~ /^[0-9]+$/ && $1 !~ /^::ffff:/ { n++ } END { print n + 0 }'
}

# With all sockets closed these objects remain: the registrar's pair (on RoCE one queue pair without
# an id), one protection domain and one completion queue of the registrar, one queue pair and one
# completion queue for each connection, and, after the flush of kept keys, at most one key for each
# connection. siw reuses the number of a queue pair while ib_core still has that number in its list
# and so does not list the new one (EBUSY): on siw the ids, one for each queue pair, are counted.
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

# rdma_ours selects by the name of the owner: it must find objects while there are some.
rdma_tells() {
	[ "$(rdma_count pd)" != 0 ] && [ "$(rdma_count qp)" != 0 ]
}

# rdma_left_plan: print the number of results of rdma_left
rdma_left_plan() {
	[ "$RDS_STACK" = ours ] && echo $((1 + 2 + RDMA_GONE_PLAN)) || echo 1
}

# rdma_left NAME [BARRIER]: no page is pinned; rds_rdma has only the objects that idle connections
# need, and none once it is unloaded, which waits for the other guest at BARRIER
rdma_left() {
	if wait_for 10 no_pins; then
		ok "$1.pins"
	elif [ "$RDS_STACK" = ours ]; then
		not_ok "$1.pins" "$(rdma_pins) pages are still pinned"
	else
		# In-tree 6.1 sometimes keeps pages of closed sockets pinned.
		ok "$1.pins # $(rdma_pins) pages are still pinned by in-tree"
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

# Results of rdma_left_gone
RDMA_GONE_PLAN=3

rdma_left_gone() {
	unload_stack 20 && ok "$1.unload" || not_ok "$1.unload" "rds_rdma is in use"
	wait_for 10 rdma_none && ok "$1.none_left" || { not_ok "$1.none_left" "see below"; rdma_show; }
	no_pins && ok "$1.pins_unloaded" || not_ok "$1.pins_unloaded" "$(rdma_pins) pages are still pinned"
}
