#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Unprivileged processes of this host make the kernel hold memory (rds-hoard): who is charged, and
# when is it given back? In-tree is measured, for comparison, and not judged.
. selftests/lib/lib.sh

group=/run/cgroup/attack
out=/run/hoard.out
hoard=''

charges() { awk -v k="$1" '$1 == k { print $2 }' $group/memory.stat; }

# in_group CMD...: run CMD within the cgroup
in_group() { sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - $group "$@"; }

# begin NUMBER SIZE: start an attack within the cgroup; returns when it holds what it can
begin() {
	mkfifo /run/hoard.in
	in_group "$RDS_BIN/rds-hoard" messages "$@" </run/hoard.in >$out 2>&1 &
	hoard=$!
	exec 9>/run/hoard.in
	wait_for 60 grep -q ^holds $out
}

# end: end the attack; its sockets are closed on return
end() {
	exec 9>&-
	wait $hoard
	rm -f /run/hoard.in
}

# judge NAME CMD...: a result for ours
judge() {
	[ "$RDS_STACK" != ours ] || check "$@"
}

connect_to() { in_group "$RDS_BIN/rds-hoard" connections "$1" $group >$out 2>&1; }

# Loopback to many addresses: each connection is charged to who sends, and all are gone 15 s after
# the socket.
connections() {
	_number=20000
	check attack.connections.made connect_to $_number
	sed 's/^/# connections: /' $out
	[ "$RDS_STACK" = ours ] || return 0
	read -r _ _more _slab _charged <<-EOF
		$(grep ^more $out)
	EOF
	# Else there is nothing to charge, and nothing to give back.
	check attack.connections.held test "$_more" -ge $((_number * 9 / 10))
	check attack.connections.charged test "$_charged" -ge $((_slab / 10 * 9))
	check attack.connections.gone test "$(sed -n 's/^gone //p' $out)" -le 15000
}

# messages NAME NUMBER SIZE EACH: a socket of a loopback address that never reads. The messages, of
# EACH bytes of memory, hold twice the receive buffer, which is 8 MiB, and at most one message more; the
# sender's cgroup pays for them; and all is well when the reader returns.
messages() {
	_kernel=$(charges kernel)
	begin "$2" "$3" || LIB_FAILED=1
	_got=$(sed -n 's/^holds //p' $out)
	_held=$((_got * $4)) _charged=$(($(charges kernel) - _kernel))
	echo "# messages.$1: $_got of $2 of $3 bytes, $_held bytes held, $_charged charged"
	judge "attack.messages.$1.bounded" test $_held -le $(((16 << 20) + $4)) -a $_held -ge $((15 << 20))
	judge "attack.messages.$1.charged" test $_charged -ge $((_held / 10 * 9))
	if [ "$RDS_STACK" = ours ]; then
		echo >&9
		check "attack.messages.$1.again" wait_for 30 grep -q "^again 1" $out
	fi
	end
}

results=1
[ "$RDS_STACK" != ours ] || results=10
plan $results
# The guest may have run this before.
mkdir -p /run/cgroup
mountpoint -q /run/cgroup || mount -t cgroup2 none /run/cgroup
echo +memory >/run/cgroup/cgroup.subtree_control && mkdir -p $group || { echo "# no cgroup"; exit 1; }
sysctl -q -w net.core.rmem_max=$((4 << 20))
connections
messages large 8000 8000 8320
messages small 200000 1 320
if [ "$RDS_STACK" = ours ]; then
	[ -d /sys/class/net/d0 ] || ip link add d0 type dummy
	ip addr replace 10.66.0.1/24 dev d0 && ip addr replace 10.66.0.2/24 dev d0 && ip link set d0 up
	"$RDS_BIN/rds-idlewake" 10.66.0.1 10.66.0.2 || LIB_FAILED=1
fi
exit $LIB_FAILED
