#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# unload.sh GUEST: guest GUEST loads the modules, uses them, and unloads them within 50 ms after the
# last socket is closed, repeatedly, while the other guest sends, connects and resets connections.
set -u
. selftests/lib/lib.sh

if [ "${RDS_LOAD:-ci}" = full ]; then
	rounds=50
elif [ "$RDS_KERNEL" = debug ]; then
	rounds=3
else
	rounds=8
fi
limit=$((600 * ${RDS_SLOW:-1}))

resets() {
	while [ -e /tmp/unload-running ]; do
		ss -K "( sport = 16385 or dport = 16385 )" >/dev/null 2>&1
		sleep 0.2
	done
}

other_end() {
	plan 1
	modprobe -q tcp_diag || :
	: >/tmp/unload-running
	mkfifo /tmp/unload-stop
	resets &
	reset_pid=$!
	"$RDS_BIN/rds-pester" peer "$RDS_SELF4" "$RDS_PEER4" </tmp/unload-stop &
	pid=$!
	exec 3>/tmp/unload-stop
	barrier started
	# In-tree loses messages on resets: stop them before the other guest checks still_talks.
	barrier unloaded "$limit"
	rm /tmp/unload-running
	wait $reset_pid
	barrier quiet
	barrier finished
	exec 3>&-
	check unload.peer_was_served wait $pid
}

round() {
	"$RDS_BIN/rds-pester" burst "$RDS_SELF4" "$RDS_PEER4" && ! grep -q '^rds' /proc/modules
}

unloading_end() {
	plan $((2 * rounds + 1))
	barrier started
	i=0
	while [ $i -lt $rounds ]; do
		i=$((i + 1))
		check unload.round_$i round
		check unload.reload_$i load_stack "$RDS_STACK"
	done
	# The list of results names eight rounds. Tell which of them this run leaves out.
	while [ $i -lt 8 ]; do
		i=$((i + 1))
		echo "# elsewhere unload.round_$i"
		echo "# elsewhere unload.reload_$i"
	done
	barrier unloaded
	barrier quiet
	check unload.still_talks "$RDS_BIN/rds-probe" ping 3 "$RDS_SELF4" "$RDS_PEER4" 10000
	barrier finished
}

if [ "$RDS_GUEST" = "$1" ]; then unloading_end; else other_end; fi
exit $LIB_FAILED
