#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# xchg.sh: print what rds-xchg prints when a message arrives twice, in the first run of the line
# only; later runs print a good exchange
if [ "$RDS_TRY" = 1 ]; then
	doubled=1 word=BAD
else
	doubled=0 word=good
fi
echo 1..1
echo "# h.exchange stream 0 received 5 of 5, missing 0, doubled $doubled, reordered 0, damaged 0; longest gap 1 ms"
echo "# h.exchange: $word in 12 ms"
[ $word = good ] && echo ok 1 h.exchange || echo "not ok 1 h.exchange # exit 1 of: run_xchg"
