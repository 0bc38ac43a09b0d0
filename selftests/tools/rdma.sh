#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdma.sh rxe|siw [mixed]: the user programs over RDMA, between two guests with such a device each.
# Guest a is the passive side: it listens, receives and offers its memory. mixed: the guests have
# different stacks, and only features of both are tested.
set -u
. selftests/lib/lib.sh
. selftests/tools/common.sh
. selftests/rdma/rdma.sh

PATH=$RDS_BIN:$PATH
dev=$1 stacks=$RDS_STACK${2:+,mixed}
T=$(mktemp -d /tmp/tools.XXXXXX) || exit 1

a_waits() { [ "$RDS_GUEST" = a ]; }

# stress NAME PORT ARGS...: one end of a run, in the background
stress() {
	_s=$1 _port=$2
	shift 2
	if a_waits; then
		rds-stress -r "$RDS_SELF4" -p "$_port" >"$T/$_s" 2>&1 &
	else
		rds-stress -r "$RDS_SELF4" -s "$RDS_PEER4" -p "$_port" --connect-retries 60 -v \
			-T $((2 * ${RDS_SLOW:-1})) "$@" >"$T/$_s" 2>&1 &
	fi
	eval "${_s}_pid=$!"
}

# moved NAME IN OUT: the run succeeded, and the rates of RDMA in and out match IN and OUT
moved() {
	eval "_pid=\$${1}_pid"
	ended "tools.rdma_$1_ends" 0 "$_pid"
	says "tools.rdma_$1" "$T/$1" "^ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+ +$2 +$3 .*\(average\)$"
	if grep -q 'only that is checked' "$T/$1"; then
		not_ok "tools.rdma_$1_checks_all" "the other side filled one element only"
	fi
}

some='([1-9][0-9]*\.[0-9]+|0\.0?[1-9][0-9]?)' none='0\.00'


ping_cases() {
	a_waits && return
	plan 4
	wait_for 30 rds-ping -T rdma -c 1 -i 500ms "$RDS_PEER4" >/dev/null
	gives tools.rdma_ping 0 '^   3: [0-9]+ usec$' rds-ping -T rdma -c 3 -i 200ms "$RDS_PEER4"
	gives tools.rdma_ping_tcp 0 '^   3: [0-9]+ usec$' rds-ping -T tcp -c 3 -i 200ms "$RDS_PEER4"
	gives tools.rdma_ping_bad_transport 1 '^Bad transport ib$' rds-ping -T ib "$RDS_PEER4"
	gives tools.rdma_ping_chooses 0 '^   1: [0-9]+ usec$' rds-ping -c 1 -i 5 "$RDS_PEER4"
}

info_cases() {
	plan 6
	# An iWARP device shows its MAC address here, and not the peer's.
	if [ $dev = rxe ]; then
		_gid="::ffff:$RDS_SELF4 +::ffff:$RDS_PEER4" _known=remote_dev
	else
		_gid='[0-9a-f:]+ +[0-9a-f:]+' _known=local_dev
	fi
	gives tools.rdma_info_heading 0 \
		'^      LocalAddr      RemoteAddr  Tos  SL                         LocalDev                        RemoteDev$' \
		rds-info -I
	gives tools.rdma_info_row 0 "^ +$RDS_SELF4 +$RDS_PEER4    0   0 +$_gid$" rds-info -I
	gives tools.rdma_info_verbose 0 \
		"$_gid  send_wr=[1-9][0-9]*, recv_wr=[1-9][0-9]*, send_sge=[1-9][0-9]*, rdma_mr_max=[1-9][0-9]*, rdma_mr_size=[1-9][0-9]*, cache_allocs=[0-9]+$" \
		rds-info -Iv
	gives tools.rdma_info_all 0 "^ +(::ffff:)?$RDS_SELF4 +(::ffff:)?$RDS_PEER4 .* $_gid" rds-info -aI
	rds-info -I --json >"$T/json"
	json tools.rdma_info_json "$T/json" 'any(c["local_addr"] == "'"$RDS_SELF4"'" and
		c["remote_addr"] == "'"$RDS_PEER4"'" and c["'"$_known"'"] != "::" and c["send_wr"] > 0
		for c in d["ib_connections"])'
	if rds-info -n | grep -Eq "^ +$RDS_SELF4 +$RDS_PEER4 .* --C-$"; then
		ok tools.rdma_info_connected
	else
		not_ok tools.rdma_info_connected "$(rds-info -n | tr '\n' '/')"
	fi
}

cat_cases() {
	if a_waits; then plan 2; else plan 1; fi
	head -c 3000000 "$RDS_BIN/rds-stress" >"$T/sent"
	if a_waits; then
		rdscat -q -T rdma -l "$RDS_SELF4:4800" >"$T/got" 2>"$T/err" &
		_cat=$!
		wait_for 10 sh -c "rds-info -k | grep -q ' 4800 '"
		barrier cat
		ended tools.rdma_cat_receives 0 $_cat
		check tools.rdma_cat_same cmp "$T/sent" "$T/got"
		return
	fi
	barrier cat
	check tools.rdma_cat_sends rdscat -q -T rdma "$RDS_PEER4:4800" <"$T/sent"
}

# stress_plan: print the number of results of stress_cases: two of each run that moves data, fewer
# where the stack or the device refuses
stress_plan() {
	case "$stacks" in
	intree)	a_waits && echo $((3 * 2 + 1)) || echo $((3 * 2 + 2)) ;;
	*,mixed)	echo $((3 * 2)) ;;
	*)	if [ $dev = siw ] && ! a_waits; then echo $((5 * 2 + 2 * 1)); else echo $((7 * 2)); fi ;;
	esac
}

stress_cases() {
	plan "$(stress_plan)"
	stress both 5000 -d 2 -q 256 -a 256 -D 4096 -I 2 --show-params
	stress write 5010 -t 2 -d 2 -D 64k -M write --rdma-use-once 1 -o
	stress read 5020 -D 9000 -I 7 -M read --rdma-alignment 100 -o
	if [ "$stacks" = ours ]; then
		stress cached 5030 -d 4 -D 8k -I 3 --rdma-use-get-mr 1 --rdma-cache-mrs 1
		stress keys 5040 -D 1m --rdma-use-get-mr 1
		stress fadd 5050 -d 3 -M fadd -o
		stress cswp 5060 -d 3 -M cswp -o
	fi
	moved both "$some" "$some"
	# The passive side carries out the operations that the active side requests.
	if a_waits; then
		moved write "$none" "$some"
		moved read "$some" "$none"
	else
		moved write "$some" "$none"
		moved read "$none" "$some"
	fi
	case "$stacks" in
	intree)	stress_without_get_mr; return ;;
	*,mixed)	return ;;
	esac
	moved cached "$some" "$some"
	moved keys "$some" "$some"
	for _m in fadd cswp; do
		if [ $dev = siw ]; then no_atomics $_m; else atomics $_m; fi
	done
}

# Atomic operations access the active side's memory: a value of it is sent.
atomics() {
	if a_waits; then moved "$1" "$some" "$none"; else moved "$1" "$none" "$some"; fi
}

no_atomics() {
	eval "_pid=\$${1}_pid"
	ended "tools.rdma_no_$1" 1 "$_pid"
	! a_waits || says "tools.rdma_no_$1_text" "$T/$1" 'the RDMA device of this address has no atomic operations'
}

# Against a peer that knows only the documented bytes, and fills only the first element of a vector,
# like the classic program.
peer_cases() {
	if a_waits; then plan 3; else plan 5; fi
	_peer="python3 -B selftests/tools/rdmapeer.py"
	if a_waits; then
		$_peer passive "$RDS_SELF4" "$RDS_PEER4" 5100 >"$T/p1" 2>&1 &
		_p1=$!
		$_peer wrong "$RDS_SELF4" "$RDS_PEER4" 5110 >"$T/p2" 2>&1 &
		_p2=$!
		rds-stress -r "$RDS_SELF4" -p 5120 >"$T/p3" 2>&1 &
		_p3=$!
		ended tools.rdma_documented_passive 0 $_p1 "$T/p1"
		wait $_p2
		says tools.rdma_documented_wrong "$T/p2" '^wrote something wrong$'
		ended tools.rdma_documented_active_peer 0 $_p3 "$T/p3"
		return
	fi
	stress first 5100 -o -D 4k -I 3
	stress wrong 5110 -o -D 256 -M write
	$_peer active "$RDS_SELF4" "$RDS_PEER4" 5120 >"$T/p3" 2>&1
	_rc=$?
	check tools.rdma_documented_active test $_rc = 0
	ended tools.rdma_documented_passive_peer 0 "$first_pid"
	says tools.rdma_first_element "$T/first" 'the other side fills one element of a vector'
	ended tools.rdma_wrong_data 1 "$wrong_pid"
	says tools.rdma_wrong_data_text "$T/wrong" \
		'RDMA data written by the other side is wrong: element 0, offset 128: '
	sed 's/^/# active: /' "$T/p3"
}

# In-tree RDS registers no memory before a message, with today's devices.
stress_without_get_mr() {
	stress keys 5040 -D 4k --rdma-use-get-mr 1
	ended tools.rdma_no_get_mr 1 "$keys_pid"
	a_waits || says tools.rdma_no_get_mr_text "$T/keys" \
		'setsockopt\(RDS_GET_MR\) failed \(0 allocated\), errno: 95 '
}

counted() {
	plan 2
	for _c in send_rdma send_rdma_bytes; do
		says "tools.rdma_counts_$_c" "$T/counters" "^ +$_c +[1-9][0-9]*$"
	done
}

example_cases() {
	plan 2
	if a_waits; then
		rds-rdma server "$RDS_SELF4" >"$T/example" 2>&1 &
		_server=$!
		wait_for 10 grep -q '^waiting$' "$T/example"
		barrier example
		ended tools.rdma_example_server 0 $_server
		says tools.rdma_example_written "$T/example" '^the page says: hello, memory$'
		return
	fi
	barrier example
	gives tools.rdma_example_client 0 '^the page says: HELLO, MEMORY$' \
		rds-rdma client "$RDS_SELF4" "$RDS_PEER4"
	says tools.rdma_example_status "$T/out" '^status of operation 2: 0$'
}

refusal_cases() {
	plan 5
	gives tools.rdma_stress_too_much 1 '^an RDMA operation must transfer at most 1 MiB$' \
		rds-stress -s "$RDS_PEER4" -D 64k -I 17
	gives tools.rdma_stress_no_vector 1 '^an RDMA vector must have 1 to 512 elements$' \
		rds-stress -s "$RDS_PEER4" -D 64k -I 0
	gives tools.rdma_stress_atomic_size 1 '^an atomic operation has one element of 8 bytes' \
		rds-stress -s "$RDS_PEER4" -M cswp -D 16
	gives tools.rdma_stress_tcp 1 '^RDMA not supported from 10\.9\.' \
		rds-stress -r "$RDS_SELF4" -s "$RDS_PEER4" --transport tcp -D 4096
	gives tools.rdma_example_no_device 1 '^rds-rdma: bind .*Protocol not available$' \
		rds-rdma server 127.0.0.2
}

plan 1
rdma_up $dev tcp-first && ok tools.rdma_set_up || { not_ok tools.rdma_set_up "see above"; exit 1; }
barrier up
ping_cases
barrier pinged
info_cases
cat_cases
stress_cases
peer_cases
rds-info -c >"$T/counters"
counted
example_cases
refusal_cases
barrier end
# A guest of in-tree's keeps its modules, and the device that they use: see selftests/vm/guest.sh.
case "$RDS_STACK" in
intree*)	;;
*)	rmmod rds_rdma 2>"$T/rmmod"
	rdma_del $dev
	;;
esac
rm -rf "$T"
exit $LIB_FAILED
