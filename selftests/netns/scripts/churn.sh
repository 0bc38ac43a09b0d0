#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# churn.sh: namespaces are created, connected and removed in random states, up to 100 at a time, while
# the exchange between two others (bystanders) must go on undisturbed; then the modules must unload.
# RDS_ARGS is the seed of the states, and the number of namespaces.
set -u
. selftests/lib/lib.sh

n=30
[ "${RDS_LOAD:-ci}" != full ] || n=2000
set -- ${RDS_ARGS:-}
seed=${1:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
n=${2:-$n} count=$((n * 50))

# make_namespaces NUMBER
make_namespaces() {
	i=0
	{
		echo "netns add HUB"
		while [ $i -lt "$1" ]; do
			echo "netns add C$i"
			echo "link add v$i netns HUB type veth peer name e0 netns C$i"
			i=$((i + 1))
		done
	} | ip -batch -
}

bystander() {
	ip netns exec "$1" "$RDS_BIN/rds-xchg" "$2" /tmp/churn-ctl --port 4400 --count $count \
		--max-len 65536 --same-clock --timeout $((900 * ${RDS_SLOW:-1})) --label "bystander@$1" "$3" "$4"
}

# churn NUMBER: make so many namespaces, and remove them
churn() {
	[ ! -e /run/netns/HUB ] || ip netns del HUB
	make_namespaces "$1" || { not_ok churn.setup "no namespaces"; return; }
	"$RDS_BIN/rds-churn" "$1" $((30 * ${RDS_SLOW:-1})) "$seed" || LIB_FAILED=1
}

modules_go() {
	for ns in HUB KA KB; do
		ip netns del $ns || return 1
	done
	unload_stack 15
}

# The results of this script; rds-churn plans its own.
plan 7
echo "# seed $seed, $n namespaces"
ns_pair KA KB || { not_ok churn.setup "no namespaces"; exit 1; }
# A bound socket holds references to its transport and to the core, as in-tree; rds_tcp holds one to
# rds while it is loaded.
check churn.busy_tcp ip netns exec KA "$RDS_BIN/rds-pester" busy 10.0.0.1 rds_tcp=busy rds=busy
check churn.busy_loopback "$RDS_BIN/rds-pester" busy 127.0.0.1 rds_tcp=gone rds=busy
check churn.tcp_returns load_stack "$RDS_STACK"
bystander KA --ctl-listen 10.0.0.1 10.0.0.2 &
one=$!
bystander KB --ctl-connect 10.0.0.2 10.0.0.1 &
two=$!
rounds=$(((n + 99) / 100))
while [ $rounds -gt 0 ]; do
	some=$((n / rounds))
	churn $some
	n=$((n - some)) rounds=$((rounds - 1)) seed=$((seed + 1))
done
check churn.bystander_a wait $one
check churn.bystander_b wait $two
check churn.modules_go modules_go
check churn.modules_return load_stack "$RDS_STACK"
exit $LIB_FAILED
