#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""splats.py takes a guest's death for the emulator's only where the console proves it."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vm"))
import splats  # noqa: E402

OOPS = "[   46.07] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI"
RIP = "[   46.08] RIP: 0010:inet_ehashfn+0x33/0x110"
GONE = "[   46.09] Code: 24 08 31 c0 0f <1f> 44 00 00 41"
THERE = "[   46.09] Code: 24 08 31 c0 cc <1f> 44 00 00 41"

# lines of a console, is it the emulator's
CASES = [
    ([OOPS, "Workqueue: x", RIP, GONE], True),
    ([OOPS, RIP, THERE], False),
    ([OOPS, RIP], False),
    ([OOPS, GONE], False),
    ([OOPS, RIP.replace("inet_ehashfn", "rds_sendmsg"), GONE], False),
    ([OOPS, RIP.replace("/0x110", "/0x110 [rds_rdma]"), GONE], False),
    ([OOPS.replace("int3", "invalid opcode"), RIP, GONE], False),
    ([], False),
]


def main():
    bad = [i for i, (lines, want) in enumerate(CASES) if splats.stale_int3(lines) != want]
    for i in bad:
        print("# case %d" % i)
    print("%s lint.stale_int3, %d cases" % ("not ok" if bad else "ok", len(CASES)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
