# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# For guest.sh: what a line may change in a guest that the next line shares. state_save notes it
# before a line. state_restore puts back afterwards what it can, and reports the rest as failures.

STATE=/run/state

# Settings that the kernel changes itself
VOLATILE='/(tainted|ns_last_pid|perf_event_max_sample_rate|stat_refresh|random/[^:]*|dirty_[^:]*)(:|$)'

# note FOLDER: write the state to files there. Few processes: each costs on the debug kernel.
note() {
	mkdir -p "$1"
	for l in /sys/class/net/*; do
		echo "${l##*/}"
	done >"$1/links"
	ip -o addr >"$1/addresses"
	cat /proc/mounts >"$1/mounts"
	{
		ip rule
		ip -6 rule
		ip route show table all
		tc qdisc show
		[ ! -d /sys/module/nf_tables ] || nft list ruleset
	} >"$1/network"
	grep -rs '' /proc/sys/kernel /proc/sys/net /proc/sys/vm | grep -Ev "$VOLATILE" >"$1/settings"
} 2>/dev/null

state_save() {
	note $STATE/before
}

# lines_of before|after WHAT: lines that only this one of the two notes has
lines_of() {
	_other=after
	[ "$1" = before ] || _other=before
	awk 'NR == FNR { seen[$0]; next } !($0 in seen)' "$STATE/$_other/$2" "$STATE/$1/$2"
}

# Settings that now have another value; not those of a module that came or went
changed_settings() {
	lines_of before settings | while IFS= read -r _set; do
		[ ! -w "${_set%%:*}" ] || echo "$_set"
	done
}

put_back() {
	lines_of after mounts | awk '{ print $2 }' | sort -r | while read -r m; do
		umount "$m"
	done
	for l in $(lines_of after links); do
		ip link del "$l"
	done
	lines_of after addresses | while read -r _ dev _ address _; do
		ip addr del "$address" dev "$dev"
	done
	changed_settings | while IFS= read -r _set; do
		echo "${_set#*:}" >"${_set%%:*}"
	done
} 2>/dev/null

# Delete files at the places where tests make some, and switch tracepoints off.
put_away() {
	for f in /tmp/* /tmp/.[!.]* /dev/shm/*; do
		[ ! -e "$f" ] || rm -rf "$f"
	done
	[ ! -s /run/rdma-resets ] || rm -f /run/rdma-resets
	! read -r _event </sys/kernel/tracing/set_event || echo >/sys/kernel/tracing/set_event
} 2>/dev/null

same() {
	for s in links addresses mounts network settings; do
		cmp -s $STATE/before/$s $STATE/after/$s || return 1
	done
}

state_restore() {
	put_away
	umount /run/netns 2>/dev/null
	note $STATE/after
	! same || return 0
	put_back
	note $STATE/after
	for s in links addresses mounts network; do
		rest=$( (lines_of before $s; lines_of after $s) | head -n 3 | tr -s '\n\t ' ' ')
		[ -z "$rest" ] || say fail "the line has changed the guest's $s: $rest"
	done
	rest=$(changed_settings | sed 's/:.*//' | head -n 3 | tr '\n' ' ')
	[ -z "$rest" ] || say fail "the line has changed the guest's settings: $rest"
}
