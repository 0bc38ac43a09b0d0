#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# stream.sh [profile]
# Inside the guest: every row of rows.stream with one binary, librdmacm's rstream, in one boot: over
# librdmacm, over the kernel's streams by librds_rsocket.so, over TCP by its own -T s, and over SMC-R
# by rds-smcsocket.so. Stacks take turns, so what changes in the boot changes for all of them. Runs of
# ours have to end; of the others those count that do. Words in RDS_ARGS select rows by name, a number
# there is the number of runs (5). With profile, also as a word in RDS_ARGS, each row runs once, and the
# samples of bench_sampler are printed (see profile.py).
#
# Calls block (-T b): without that rstream asks again and again whether something has come, and on
# one processor the end that asks keeps the other one from answering until its time is over.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh
. selftests/stream/stream.sh

table=selftests/bench/rows.stream
out=/tmp/bench
repeat=5
select=
profile=
for w in ${1:-} ${RDS_ARGS:-}; do
	case "$w" in
	profile)	profile=1 repeat=1 ;;
	[0-9]*)	repeat=$w ;;
	*)	select="$select $w" ;;
	esac
done
mkdir -p $out

# The stacks, in the order of the columns. tcp has the same addresses as the others and so goes
# through lo, tcpveth from one namespace to another through veth with the packets of RoCE. smc has a
# device of rxe on lo, whose hardware address is zeros: between two addresses of a host SMC-R goes
# through lo, and without RoCE v1, which rxe does not have, a server takes zeros for the client's. Where
# SMC-R does not come up there are no figures of it, and nothing fails.
stacks="theirs ours tcp tcpveth"
[ -n "$profile" ] || stacks="$stacks smc"
smc_addr=192.168.61.2
port=7001

setup() {
	RDS_STACK=ours
	stream_device rxe || return 1
	ns_pair A B || return 1
	for _n in A B; do
		ip -n $_n link set veth0 mtu 4200 || return 1
	done
	stream_module || return 1
	case "$stacks" in
	*smc*)	setup_smc || { echo "# without SMC-R"; stacks="theirs ours tcp tcpveth"; } ;;
	esac
}

setup_smc() {
	modprobe smc || { echo "# no module smc"; return 1; }
	ip addr add 192.168.61.1/24 dev lo && ip addr add $smc_addr/24 dev lo &&
		rdma link add rxelo type rxe netdev lo || return 1
	# Queues like those of rstream, and not the 64 KiB of SMC
	[ ! -e /proc/sys/net/smc/wmem ] || sysctl -qw net.smc.wmem=131072 net.smc.rmem=131072
	wait_for 20 python3 selftests/bench/smcpnet.py lo rxelo
}

# The packets that SMC-R's device has sent
smc_sent() { cat /sys/class/infiniband/rxelo/ports/1/hw_counters/sent_pkts; }

rows() {
	sed 's/[ \t]*|[ \t]*/|/g; /^#/d' $table | while IFS= read -r r; do
		case "${select:- all} " in
		*" all "*|*" ${r%%|*} "*) echo "$r" ;;
		esac
	done
}

# in_stack STACK HOST COMMAND...: become a command of that stack; HOST is A or B, for those with two
# namespaces
in_stack() {
	_s=$1 _h=$2
	shift 2
	case "$_s" in
	ours)	LD_PRELOAD=$RDS_BIN/librds_rsocket.so exec "$@" ;;
	tcpveth)	exec ip netns exec "$_h" "$@" ;;
	smc)	LD_PRELOAD=$RDS_BIN/rds-smcsocket.so exec "$@" ;;
	*)	exec "$@" ;;
	esac
}

# address STACK: of the server
address() {
	case "$1" in
	tcpveth)	echo 10.0.0.2 ;;
	smc)	echo $smc_addr ;;
	*)	echo "$RDS_PEER4" ;;
	esac
}

# options STACK: of rstream
options() {
	case "$1" in
	tcp*|smc)	echo "-T s -T b" ;;
	*)	echo "-T b" ;;
	esac
}

listens() {
	case "$1" in
	tcp|smc)	ss -Hltn "sport = :$2" | grep -q . ;;
	tcpveth)	ip netns exec B ss -Hltn "sport = :$2" | grep -q . ;;
	*)	all_listen "$2" ;;
	esac
}

# transfer STACK OPTIONS...: set us, the microseconds of a transfer, or 0 if the run did not end
transfer() {
	_stack=$1
	shift
	port=$((port + 1))
	[ "$_stack" != smc ] || _sent=$(smc_sent)
	# shellcheck disable=SC2046
	set -- "$@" $(options "$_stack") -p $port
	(in_stack "$_stack" B timeout 600 rstream "$@" -b "$(address "$_stack")") >$out/server 2>&1 &
	_pid=$!
	wait_for 20 listens "$_stack" $port || cat $out/server >&2
	[ -z "$profile" ] || echo 1 >/proc/bench_sampler
	# An id is shown as listening a moment before a connection to it can be had.
	for _try in 1 2 3; do
		(in_stack "$_stack" A timeout 600 rstream "$@" -s "$(address "$_stack")") >$out/client 2>&1
		_rc=$?
		grep -q "Connection refused" $out/client || break
	done
	[ -z "$profile" ] || echo 0 >/proc/bench_sampler
	[ $_rc = 0 ] || kill $_pid 2>/dev/null
	wait $_pid
	[ $_rc = 0 ] && grep -q "^custom" $out/client || sed "s/^/# $_stack: /" $out/server $out/client >&2
	# It goes on over TCP if SMC-R does not come up.
	if [ "$_stack" = smc ] && [ "$(smc_sent)" -le $((_sent + 10)) ]; then
		echo "# smc: not by RDMA" >&2
		_rc=1
	fi
	us=$(awk -v rc=$_rc '/^custom/ { v = $NF } END { print (rc ? 0 : v + 0) }' $out/client)
}

# run STACK WHAT OPTIONS...: print one value, but not in a subshell, as each run has its own port
run() {
	_stack=$1 _what=$2
	shift 2
	case "$_what" in
	time)	transfer "$_stack" "$@"; echo "$us" ;;
	rate)	transfer "$_stack" "$@"; awk -v u="$us" 'BEGIN { printf "%.1f\n", (u > 0) ? 1e6 / u : 0 }' ;;
	idle)	# More than two connections of librdmacm in a process that accepts them hang.
		[ "$_stack" != theirs ] || set -- 1
		timeout 600 "$RDS_BIN/rds-held" "$_stack" "$1" "$(address "$_stack")" || echo 0
		# What these connections had must not be freed while the next ones are measured.
		[ "$_stack" != ours ] || wait_for 30 streams_gone ;;
	esac
}

# transfers OPTIONS...: number of transfers, both ways
transfers() {
	echo "$@" | awk '{ for (i = 1; i < NF; i++) v[$i] = $(i + 1); print 2 * v["-C"] * v["-I"] }'
}

# The counters of the device and of streams, as lines "name value"
counted() {
	grep -H . /sys/class/infiniband/*/ports/1/hw_counters/* | sed 's/.*\///; s/:/ /'
	cat /proc/net/rds_stream_stats
}

# samples STACK ROW COUNT: the samples of a row's run, and the counters that changed
samples() {
	counted >$out/after
	awk -v p="# counted | $1 | $2" 'NR == FNR { was[$1] = $2; next }
		$2 != was[$1] && $1 != "lifespan" { print p, "|", $1, "|", $2 - was[$1] }' \
		$out/before $out/after
	sort /proc/bench_sampler | uniq -c | sort -rn | while read -r n owner func; do
		echo "# profile | $1 | $2 | $3 | $n | $owner | $func"
	done
}

# measure NAME WHAT OPTIONS...: the runs of a row, in $out/NAME.STACK
measure() {
	_name=$1
	shift
	rm -f $out/"$_name".*
	for _i in $(seq $repeat); do
		for _st in $stacks; do
			case "$_st $1 $profile" in
			tcpveth\ idle*|smc\ idle*|*" idle 1"|tcpveth\ *1)	continue ;;
			esac
			[ -z "$profile" ] || counted >$out/before
			run "$_st" "$@" >>$out/"$_name.$_st" </dev/null
			[ -z "$profile" ] || samples "$_st" "$_name" "$(shift; transfers "$@")"
		done
	done
}

# of NAME STACK: median, least and greatest value of the runs that ended; 0 if none did, or not all
# of ours; - if there was no run
of() {
	[ -e "$out/$1.$2" ] || { echo "- - -"; return; }
	sort -g "$out/$1.$2" | awk -v s="$2" '$1 > 0 { v[++n] = $1 } $1 <= 0 { bad = 1 }
		END { if (!n || (bad && s == "ours")) print "0 0 0"
			else print v[int((n + 1) / 2)], v[1], v[n] }'
}

# verdict NAME FLOOR FLOORTCP: print a row of the table and its result
verdict() {
	# shellcheck disable=SC2046
	set -- "$1" "$2" "$3" $(of "$1" theirs) $(of "$1" ours) $(of "$1" tcp) $(of "$1" tcpveth) $(of "$1" smc)
	echo "$*" | awk '
	function good(floor, r) {
		if (floor == "-") return 1
		return substr(floor, 1, 1) == "+" ? r >= substr(floor, 2) + 0 : r <= substr(floor, 2) + 0
	}
	function rel(a, b) { return b > 0 ? sprintf("%.2f", a / b) : "-" }
	{
		t = $4; o = $7; ok = o > 0
		for (i = 4; i <= 13; i += 3) if ($i != "-" && $i <= 0) ok = 0
		if (substr($2, 1, 1) == "=") ok = ok && o <= substr($2, 2) + 0
		else ok = ok && t > 0 && good($2, o / t)
		if ($10 != "-") ok = ok && good($3, o / $10)
		printf "# spread | %s | %s to %s | %s to %s | %s to %s | %s to %s | %s to %s |\n", \
			$1, $5, $6, $8, $9, $11, $12, $14, $15, $17, $18
		printf "# table | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", $1, t, o, \
			rel(o, t), $2, $10, substr($2, 1, 1) == "=" ? "-" : rel(o, $10), $3, $13, $16, \
			rel(o, $16)
		printf "%s - stream.%s # %s, floor %s\n", ok ? "ok" : "not ok", $1, rel(o, t), $2
	}'
}

if [ -n "$profile" ]; then plan 2; else plan $(($(rows | wc -l) + 1)); fi
setup && ok stream.setup || { not_ok stream.setup "see above"; exit 1; }
[ -z "$profile" ] || insmod "$RDS_TOP/build/mod/$RDS_KERNEL/testko/bench_sampler.ko" || exit 1
# The first connection allocates what all have in common.
for s in $stacks; do
	transfer "$s" -S 64 -C 100 -I 1
done
rows | while IFS='|' read -r name what opts _; do
	# shellcheck disable=SC2086
	measure "$name" "$what" $opts
done
# Rates are not judged while the sampler runs.
if [ -n "$profile" ]; then
	ok profile
	exit 0
fi
echo "# spread | row | librdmacm | ours | TCP by lo | TCP by veth | SMC-R |"
echo "# table | row | librdmacm | ours | ratio | floor | TCP by lo | to it | floor | TCP by veth | SMC-R | to it |"
rows | while IFS='|' read -r name _ _ floor tcp; do
	verdict "$name" "$floor" "$tcp"
done
