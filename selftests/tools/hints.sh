#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The hints of the user programs when modules are missing or an address is not of this host: the
# classic line stays the first on standard error, the hint is the second. The modules of the stack
# are unloaded first and then loaded one after the other.
. selftests/lib/lib.sh
. selftests/tools/common.sh

PATH=$RDS_BIN:$PATH
T=$(mktemp -d /tmp/tools.XXXXXX) || exit 1
own=10.9.0.1 foreign=10.9.0.99

# advises NAME STATUS FIRST SECOND CMD...: exit status and first two lines on standard error
advises() {
	_name=$1 _want=$2 _first=$3 _second=$4
	shift 4
	timeout $((20 * ${RDS_SLOW:-1})) "$@" >"$T/out" 2>"$T/err" </dev/null
	_rc=$?
	if [ $_rc -ne "$_want" ]; then
		not_ok "$_name" "exit $_rc instead of $_want: $(head -c 300 "$T/err" | tr '\n' '/')"
	else
		advice "$_name" "$T/err" "$_first" "$_second"
	fi
}

# advice NAME FILE FIRST SECOND: the first two lines of FILE match FIRST and SECOND
advice() {
	if sed -n 1p "$2" | grep -Eq -- "$3" && sed -n 2p "$2" | grep -Eq -- "$4"; then
		ok "$1"
	else
		not_ok "$1" "no '$3' and '$4' but: $(head -c 300 "$2" | tr '\n' '/')"
	fi
}

no_bind='^bind\(\) failed, errno: 99 \(Cannot assign requested address\)$'
no_table='^rds-info: Unable get statistics: Protocol not available'
none='^hint: the RDS modules are not loaded: modprobe rds_tcp, or modprobe rds_rdma for '
no_transport='^hint: neither rds_tcp nor rds_rdma is loaded: modprobe rds_tcp, or modprobe rds_rdma if '
no_tcp='^hint: rds_tcp is not loaded: modprobe rds_tcp$'
no_rdma='^hint: rds_rdma is not loaded: modprobe rds_rdma$'
not_ours="^hint: $foreign is no address of this host"

without_modules() {
	plan 4
	_no='Address family not supported by protocol'
	advises hints.none_ping 1 "^unable to create RDS socket, errno: 97 \($_no\)$" "$none" \
		rds-ping -c 1 $own
	advises hints.none_info 1 "^rds-info: Unable to create socket: $_no$" "$none" rds-info
	advises hints.none_stress 1 "^socket\(21, 5, 0\) failed, errno: 97 \($_no\)$" "$none" \
		rds-stress -r $own
	advises hints.none_rdscat 1 "^rdscat: cannot create an RDS socket: $_no$" "$none" \
		rdscat -l $own:4000
}

# Both sides bind only after they have agreed over TCP: then the tasks and both sides fail.
stress_tasks_without_transport() {
	plan 3
	rds-stress -r $own -p 5000 >"$T/passive.out" 2>"$T/passive" &
	_passive=$!
	advises hints.core_stress 1 "$no_bind" "$no_transport" \
		rds-stress -r 10.9.0.2 -s $own -p 5000 --connect-retries 20
	ended hints.core_stress_passive 1 $_passive
	advice hints.core_stress_passive_text "$T/passive" "$no_bind" "$no_transport"
}

with_core_only() {
	plan 12
	advises hints.core_ping 1 "$no_bind" "$no_transport" rds-ping -c 1 $own
	advises hints.core_ping_v6 1 "$no_bind" "$no_transport" rds-ping -c 1 fd09::1
	advises hints.core_foreign 1 "$no_bind" "$not_ours" rds-ping -c 1 -I $foreign $own
	advises hints.core_choose_tcp 1 '^unable to choose the transport, errno: 92 ' "$no_tcp" \
		rds-ping -c 1 -T tcp $own
	advises hints.core_choose_rdma 1 '^rdscat: cannot use that transport: Protocol not available$' \
		"$no_rdma" rdscat -T rdma -l $own:4000
	advises hints.core_rdscat 1 "^rdscat: cannot bind to $own:4000: Cannot assign requested address$" \
		"$no_transport" rdscat -l $own:4000
	stress_tasks_without_transport
	advises hints.core_stress_rdma 1 "$no_bind" "$no_transport" \
		rds-stress -r $own -s $own -p 5000 -D 4096
	advises hints.core_info_T 1 "$no_table \(TCP Connections\)$" "$no_tcp" rds-info -T
	advises hints.core_info_I 1 "$no_table \(RDS IB Connections\)$" "$no_rdma" rds-info -I
	advises hints.core_info_aT 1 "$no_table \(TCP Connections\)$" "$no_tcp" rds-info -aT
	gives hints.core_info_others_shown 1 '^RDS Sockets:$' rds-info -Tk
	rds-info --json -Tk >"$T/json" 2>/dev/null
	_rc=$?
	json hints.core_info_json "$T/json" \
		"$_rc == 1 and d['sockets'] == [] and set(d['errors']) == {'tcp_connections'}"
}

# Without an explicit option, missing tables of a module that is not loaded are no failure.
not_asked() {
	plan 4
	for _options in '' -a -v --json; do
		if rds-info $_options >/dev/null 2>"$T/err" && grep -Eq "$no_table" "$T/err" &&
		   ! grep -q '^hint' "$T/err"; then
			ok "hints.info_not_asked$_options"
		else
			not_ok "hints.info_not_asked$_options" "$(tr '\n' '/' <"$T/err")"
		fi
	done
}

with_tcp() {
	plan 12
	advises hints.tcp_ping_foreign 1 "$no_bind" "$not_ours" rds-ping -c 1 -I $foreign $own
	advises hints.tcp_ping_foreign_v6 1 "$no_bind" '^hint: fd09::99 is no address of this host, .*, or still tentative: ' \
		rds-ping -c 1 -I fd09::99 fd09::1
	advises hints.tcp_ping_chosen_foreign 1 '^bind\(\) failed, errno: 92 ' "$not_ours" \
		rds-ping -c 1 -T tcp -I $foreign $own
	advises hints.tcp_stress_foreign 1 "^bind\($foreign:4000\) failed, errno: 99 " "$not_ours" \
		rds-stress -r $foreign
	advises hints.tcp_stress_rdma_foreign 1 "$no_bind" "$not_ours" \
		rds-stress -r $foreign -s $own -D 4096
	advises hints.tcp_rdscat_foreign 1 "^rdscat: cannot bind to $foreign:4000: " "$not_ours" \
		rdscat -l $foreign:4000
	advises hints.tcp_rdscat_any 1 '^rdscat: cannot bind to 0\.0\.0\.0:4000: Invalid argument$' \
		'^hint: RDS has no wildcard address' rdscat -l 0.0.0.0:4000
	advises hints.tcp_ping_any 1 '^bind\(\) failed, errno: 22 ' '^hint: RDS has no wildcard address' \
		rds-ping -c 1 -I :: fd09::1
	advises hints.tcp_namespace 1 '^unable to choose the transport, errno: 91 ' \
		'^hint: rds_rdma is not loaded, or does not serve this network namespace$' \
		unshare -n sh -c 'ip link set lo up && rds-ping -c 1 -T rdma 127.0.0.1'
	gives hints.tcp_info_T 0 '^TCP Connections:$' rds-info -T
	gives hints.tcp_ping 0 '^   1: [0-9]+ usec$' rds-ping -c 1 -i 5 $own
	check hints.tcp_ping_silent test ! -s "$T/err"
}

with_rdma_only() {
	plan 4
	advises hints.rdma_ping 1 "$no_bind" \
		"^hint: rds_rdma has no device with $own, and rds_tcp is not loaded: modprobe rds_tcp$" \
		rds-ping -c 1 $own
	advises hints.rdma_chosen 1 '^bind\(\) failed, errno: 92 ' "^hint: rds_rdma has no device with $own\$" \
		rds-ping -c 1 -T rdma $own
	gives hints.rdma_info_I 0 '^RDS IB Connections:$' rds-info -I
	advises hints.rdma_info_T 1 "$no_table \(TCP Connections\)$" "$no_tcp" rds-info -IT
}

# reload MODULE...: unload the stack and load exactly these modules
reload() {
	unload_stack && { [ $# -eq 0 ] || load_stack "$RDS_STACK" "$@"; } ||
		not_ok "hints.reload_$*" "$(grep '^rds' /proc/modules | tr '\n' '/')"
}

for _a in $own/32 10.9.0.2/32 fd09::1/128; do
	ip addr add $_a dev lo
done
# The choice of a transport makes the kernel load its module, which here may be of another stack.
modprobe=$(cat /proc/sys/kernel/modprobe)
echo /bin/false >/proc/sys/kernel/modprobe
reload
without_modules
reload rds
with_core_only
not_asked
reload rds rds_tcp
with_tcp
reload rds rds_rdma
with_rdma_only
echo "$modprobe" >/proc/sys/kernel/modprobe
rm -rf "$T"
exit $LIB_FAILED
