#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# flaps.sh: the IPv6 address that a connection uses goes and comes again, many times. No CM id, queue
# pair or entry of the GID table is left of the connections before, and the device works afterwards.
# Guest b's kernel answers. RDS_ARGS is the number of times.
. selftests/lib/lib.sh
. selftests/rdma/rdma.sh

slow=${RDS_SLOW:-1}
case "${RDS_LOAD:-ci}" in
full)	flaps=1000 ;;
light)	flaps=20 ;;
*)	flaps=100 ;;
esac
flaps=${RDS_ARGS:-$flaps}

ping6() { "$RDS_BIN/rds-probe" ping 1 "$RDS_SELF6" "$RDS_PEER6" $((20000 * slow)) >/dev/null; }
ping4() { "$RDS_BIN/rds-probe" ping 1 "$RDS_SELF4" "$RDS_PEER4" $((20000 * slow)) >/dev/null; }

# Entries of the GID table up to the last that is in use. Those between that were freed are used
# again first, so a table that loses entries grows.
gids() {
	grep -ls '[1-9a-f]' /sys/class/infiniband/rxe0/ports/1/gids/* | sed 's,.*/,,' | sort -n | tail -n 1
}

ids() { rdma_ours cm_id | grep -vc 'state LISTEN'; }

flap() {
	ip -6 addr del "$RDS_SELF6/64" dev rds0 && ip -6 addr add "$RDS_SELF6/64" dev rds0 nodad || return 1
	# Over TCP there would be no id.
	wait_for 20 ping6 && [ "$(ids)" -ge 1 ]
}

all_flaps() {
	_n=0
	while [ $_n -lt "$flaps" ]; do
		flap || { echo "# flap $_n"; return 1; }
		_n=$((_n + 1))
		[ $((_n % 20)) != 0 ] || echo "# $_n flaps: $(ids) ids, $(rdma_count qp) queue pairs, last GID $(gids)"
	done
}

# few: what is there now was there before; an end that is being destroyed may add one of each
few() { [ "$(ids)" -le $((ids + 1)) ] && [ "$(rdma_count qp)" -le $((qps + 1)) ]; }
same_gids() { [ "$(gids)" -le $((gids + 1)) ]; }

guest_a() {
	plan $((1 + 6))
	rdma_up rxe tcp-first || { not_ok flaps.setup "see above"; return; }
	ok flaps.setup
	barrier flaps-up 120
	check flaps.before ping6
	ids=$(ids) qps=$(rdma_count qp) gids=$(gids)
	echo "# before: $ids ids, $qps queue pairs, last GID $gids"
	check flaps.all all_flaps
	check flaps.objects wait_for 20 few
	check flaps.gids wait_for 20 same_gids
	check flaps.afterwards_v4 ping4
	check flaps.afterwards_v6 ping6
	barrier flaps-end 120
}

guest_b() {
	plan 1
	rdma_up rxe tcp-first || { not_ok flaps.setup_b "see above"; return; }
	ok flaps.setup_b
	barrier flaps-up 120
	barrier flaps-end $((20 + 10 * flaps))
}

if [ "$RDS_GUEST" = a ]; then guest_a; else guest_b; fi
exit $LIB_FAILED
