# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the modules hold, for scripts that compare it with what they held before. Source this file
# after selftests/lib/lib.sh.

# held: print the number of objects of each cache
held() {
	for _c in /sys/kernel/slab/rds_*; do
		echo 1 >"$_c/shrink"
		read -r _n _ <"$_c/objects"
		[ "$_n" = 0 ] || echo "${_c##*/} $_n"
	done
}

holds() { [ "$(held)" = "$1" ]; }

# held_as NAME TEXT: the modules hold what held printed before
held_as() {
	if wait_for 30 holds "$2"; then
		ok "$1"
	else
		not_ok "$1" "before: $2, after: $(held)"
	fi
}
