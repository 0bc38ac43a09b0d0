#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# demo.sh [stream]: boot two guests that are joined by a network, send a file from one to the other
# over RDS, and show the output of both; stream: by nginx and curl, over RDMA. Root is needed only to
# install missing packages.
set -eu
cd "$(dirname "$0")/../.."
what=${1:-demo}

start=$(date +%s)
if [ -t 1 ]; then
	bold=$(printf '\033[1m') a=$(printf '\033[36m') b=$(printf '\033[33m') off=$(printf '\033[0m')
	good=$(printf '\033[32m') bad=$(printf '\033[31m')
else
	bold='' a='' b='' off='' good='' bad=''
fi

step() { echo "$bold== $*$off"; }

# Convert the runner's output for a reader: the host's name in front, results as words,
# plans left out.
pretty() {
	sed -u -n -e '/^  [ab]| 1\.\.[0-9]*$/d' \
		-e "s/^  \([ab]\)| not ok [0-9]* \(.*\)/  host \1 | ${bad}FAILED \2$off/" \
		-e "s/^  \([ab]\)| ok [0-9]* \([^ ]*\).*/  host \1 | ${good}ok$off \2/" \
		-e "s/^  \([ab]\)| \\(.*\\)/  host \1 | \2/" \
		-e "s/^  host a |/  ${a}host a |$off/" \
		-e "s/^  host b |/  ${b}host b |$off/" \
		-e '/^  /p' -e '/^not ok/p' -e '/passed,.*skipped$/p' -e '/^run: /p' -e '/^build: /p'
}

step "what is needed from Debian"
selftests/vm/deps.sh
step "a kernel for the guests (downloaded once, nothing is installed here)"
selftests/vm/fetch.sh 6.12
step "building the modules and the tools"
selftests/vm/build.sh 6.12
selftests/vm/build.sh --tools
step "two guests boot: host a is 10.9.0.1, host b is 10.9.0.2"
status=$(mktemp)
trap 'rm -f "$status"' EXIT
{
	rc=0
	python3 selftests/vm/run.py --kernel 6.12 --cases "" --verbose \
		--cases-file "selftests/demo/cases.$what" || rc=$?
	echo $rc >"$status"
} 2>&1 | pretty
rc=$(cat "$status")
if [ "$rc" = 0 ]; then
	step "all of it worked, in $(($(date +%s) - start)) s"
else
	step "the demonstration FAILED after $(($(date +%s) - start)) s; logs are in build/logs/6.12/"
fi
exit "$rc"
