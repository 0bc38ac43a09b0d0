# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Load and unload a stack inside a guest. RDS_MODS_ours and RDS_MODS_intree have a word
# "name:srcversion:build-id" for each module, in load order; RDS_MODS_ours_rdma and
# RDS_MODS_intree_rdma have those for rds_rdma, and for ours those of rds_stream, and of rds_dev, which
# both need. The runner makes the words from the files that it puts into /run/rds/mod/<stack>/; "-"
# stands for a value that a file does not have.

# stack_files ours|intree: print the words of all modules of the stack
stack_files() {
	case "$1" in
	ours)	echo "${RDS_MODS_ours:-} ${RDS_MODS_ours_rdma:-}" ;;
	intree*)	echo "${RDS_MODS_intree:-} ${RDS_MODS_intree_rdma:-}" ;;
	esac
}

# loaded_identity MODULE: print srcversion:build-id of the module that is loaded
loaded_identity() {
	_src=$(cat "/sys/module/$1/srcversion" 2>/dev/null) || _src=-
	_id=$(od -An -v -tx1 -j16 "/sys/module/$1/notes/.note.gnu.build-id" 2>/dev/null | tr -d ' \n')
	echo "${_src:--}:${_id:--}"
}

# load_module ours|intree WORD: load one module, unless it is loaded already, and fail if the
# loaded module is not from the file that WORD describes
load_module() {
	case "$1" in
	intree*)	_dir=/run/rds/mod/intree ;;
	*)	_dir=/run/rds/mod/$1 ;;
	esac
	_m=${2%%:*}
	for _d in $(modinfo -F depends "$_dir/$_m.ko" | tr , ' '); do
		case "$_d" in
		# what modules for the kernel cov need, see selftests/vm/cov
		rds_cov)	[ -e /sys/module/rds_cov ] || insmod "$_dir/rds_cov.ko" || return 1 ;;
		rds|rds_*) ;;
		*) modprobe "$_d" || return 1 ;;
		esac
	done
	[ -e "/sys/module/$_m" ] || insmod "$_dir/$_m.ko" || return 1
	_have=$(loaded_identity "$_m")
	if [ "$_have" != "${2#*:}" ]; then
		echo "@${RDS_NONCE:-} fail loaded $_m has srcversion:build-id $_have, its file ${2#*:}"
		return 1
	fi
}

# load_stack ours|intree [MODULE...]: load rds and rds_tcp, or only the modules named, in that order
load_stack() {
	_stack=$1 _all=$(stack_files "$1")
	shift
	[ -n "${_all# }" ] || { echo "# no modules of stack $_stack here"; return 1; }
	if [ $# = 0 ]; then
		for _w in $_all; do
			case "$_w" in
			rds_rdma:*|rds_dev:*|rds_stream:*) ;;
			*) load_module "$_stack" "$_w" || return 1 ;;
			esac
		done
		return 0
	fi
	for _want in "$@"; do
		_found=
		for _w in $_all; do
			case "$_want:$_w" in
			rds_rdma:rds_dev:*|rds_stream:rds_dev:*) load_module "$_stack" "$_w" || return 1 ;;
			"$_want:$_want:"*) _found=$_w ;;
			esac
		done
		[ -n "$_found" ] || { echo "# no $_want in stack $_stack"; return 1; }
		load_module "$_stack" "$_found" || return 1
	done
}

# unload_stack [SECONDS]: unload all rds modules; fail if one is still loaded after SECONDS (10) *
# RDS_SLOW
unload_stack() {
	_until=$(($(date +%s) + ${1:-10} * ${RDS_SLOW:-1}))
	while :; do
		for _m in $(awk '$1 ~ /^rds/ || $4 ~ /(^|,)rds(_|,)/ { print $1 }' /proc/modules); do
			rmmod "$_m" 2>/dev/null
		done
		grep -q '^rds' /proc/modules || return 0
		[ "$(date +%s)" -lt $_until ] || return 1
		sleep 0.05
	done
}
