#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests splats.py: it blames the emulator for a guest's death only where the console proves that,
and it accepts a family of listed splats only in guests where the module cannot be ours."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vm"))
import splats  # noqa: E402

OOPS = "[   46.07] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI"
RIP = "[   46.08] RIP: 0010:inet_ehashfn+0x33/0x110"
GONE = "[   46.09] Code: 24 08 31 c0 0f <1f> 44 00 00 41"
THERE = "[   46.09] Code: 24 08 31 c0 cc <1f> 44 00 00 41"

FAULT = OOPS.replace("int3", "double fault")
PROTECTED = OOPS.replace("int3", "general protection fault, probably for non-canonical address 0x17634c38")
FLAGS = "[   46.10] RSP: 0018:ff8bad3f400f3c40 EFLAGS: 0e920202"

# lines of a console, did the emulator cause the death
CASES = [
    ([OOPS, "Workqueue: x", RIP, GONE], True),
    ([OOPS, RIP, THERE], False),
    ([OOPS, RIP], False),
    ([OOPS, GONE], False),
    ([OOPS, RIP.replace("inet_ehashfn", "rds_sendmsg"), GONE], False),
    ([OOPS, RIP.replace("/0x110", "/0x110 [rds_rdma]"), GONE], False),
    ([OOPS.replace("int3", "invalid opcode"), RIP, GONE], False),
    ([FAULT, RIP, THERE, FLAGS], True),
    ([FAULT, RIP, THERE, FLAGS.replace("0e92", "0001")], False),
    ([FAULT, RIP, GONE], False),
    ([PROTECTED, RIP, THERE, FLAGS], True),
    ([PROTECTED, RIP, THERE, FLAGS.replace("0e92", "0001")], False),
    ([PROTECTED, RIP.replace("/0x110", "/0x110 [rds_rdma]"), THERE, FLAGS], False),
    ([FAULT, RIP.replace("inet_ehashfn", "rds_sendmsg"), GONE, FLAGS], False),
    ([OOPS, RIP, THERE, FLAGS], False),
    ([FAULT.replace("[#1]", "[#2]"), RIP, THERE, FLAGS], False),
    ([OOPS, RIP, THERE, FAULT, RIP, FLAGS], False),
    ([], False),
]

# The console when in-tree rds_rdma is unloaded with messages in its caches
RULE, CUT = "[  9.0] " + "=" * 77, "[  9.0] ------------[ cut here ]------------"
END = "[  9.0] ---[ end trace 0000000000000000 ]---"
FAMILY = [
    CUT, "[  9.0] WARNING: net/rds/ib_recv.c:1103 at rds_ib_recv_exit+0x2b/0x30 [rds_rdma], CPU#1: rmmod/345", END,
    RULE, "[  9.0] BUG rds_ib_incoming (Tainted: G  W ): Objects remaining on __kmem_cache_shutdown()",
    "[  9.0] " + "-" * 77,
    CUT, "[  9.0] WARNING: mm/slub.c:1268 at __slab_err+0x19/0x20, CPU#0: rmmod/345", END,
    CUT, "[  9.0] kmem_cache_destroy rds_ib_incoming: Slab cache still has objects when called from x", END,
]
FEW = r"WARNING: .*rds_ib_recv_exit|Objects remaining|at __slab_err\+|still has objects"

# entry of foreign-splats, console, stack, (failures, notes)
JUDGED = [
    ("intree: " + FEW, FAMILY, "intree", (0, 4)),
    ("intree: " + FEW, FAMILY, "intree-7.3", (0, 4)),
    ("intree: " + FEW, FAMILY, "ours", (4, 0)),
    ("intree: " + FEW, FAMILY, "none", (4, 0)),
    ("intree: WARNING: .*rds_ib_recv_exit", FAMILY, "intree", (3, 1)),
    # A listed splat that names none of our functions is accepted in any guest, unless its entry
    # begins with "intree: ".
    (r"at __slab_err\+", FAMILY[6:9], "ours", (0, 1)),
    (r"intree: at __slab_err\+", FAMILY[6:9], "ours", (1, 0)),
    ("", FAMILY, "intree", (4, 0)),
]

def race(*functions):
    """A report of KCSAN: each function is followed by its caller, and by that one's."""
    lines = [RULE, "[  9.0] BUG: KCSAN: data-race in a / b"]
    for f in functions:
        lines += ["[  9.0] write to 0xff3e2208053a9440 of 8 bytes by task 315 on cpu 1:",
                  "[  9.0]  %s+0x29/0x30" % f, "[  9.0]  vfs_write+0x1/0x2", "[  9.0]  rds_x+0x1/0x2 [rds]"]
    return lines + ["[  9.0] Reported by Kernel Concurrency Sanitizer on:", RULE]


JUDGED += [
    ("", race("tcp_poll", "rds_poll"), "ours", (1, 0)),
    ("", race("tcp_poll", "tcp_ack"), "ours", (0, 1)),
    ("", race("rds_poll", "rds_poll"), "intree", (0, 1)),
]

# A block of a warning, and what is said of where it was
WARNED = [
    CUT, "[  9.0] WARNING: CPU: 0 PID: 315 at rxe_pool.c:212 __rxe_cleanup+0x109/0x140 [rdma_rxe]",
    "[  9.0] CPU: 0 UID: 0 PID: 315 Comm: kworker/u8:3 Tainted: G           OE  6.12", "[  9.0] Call Trace:",
    "[  9.0]  <TASK>", "[  9.0]  ? __warn.cold+0x93/0xf6", "[  9.0]  rxe_destroy_qp+0x2a/0x60 [rdma_rxe]",
    "[  9.0][  T315]  ib_destroy_qp_user+0x91/0x1c0 [ib_core]", END,
]
WHERE = "kworker/u8:3 < rxe_destroy_qp < ib_destroy_qp_user"
OOPSED = [OOPS, RIP, "[   46.09] Comm: swapper/0"]


def accepted(regex):
    with tempfile.NamedTemporaryFile("w", suffix=".splats") as f:
        f.write("%s | rmmod rds_rdma\n" % regex if regex else "")
        f.flush()
        return splats.Accepted(f.name)


def judged(regex, console, stack):
    failures, notes = splats.judge(console, accepted(regex), stack)
    return len(failures), len(notes)


def main():
    wrong = [i for i, (*how, want) in enumerate(JUDGED) if judged(*how) != want]
    for i in wrong:
        print("# %s: %s" % (JUDGED[i], judged(*JUDGED[i][:3])))
    print("%s lint.foreign_splats, %d cases" % ("not ok" if wrong else "ok", len(JUDGED)))
    bad = [i for i, (lines, want) in enumerate(CASES) if (splats.emulator_fault(lines) is not None) != want]
    for i in bad:
        print("# case %d" % i)
    print("%s lint.emulator_fault, %d cases" % ("not ok" if bad else "ok", len(CASES)))
    lost = splats.where(WARNED) != WHERE or splats.where(OOPSED) != "swapper/0 < inet_ehashfn+0x33/0x110" or \
        splats.where([OOPS]) != "" or \
        splats.registers([OOPS, RIP, GONE]) != [RIP.partition("] ")[2], GONE.partition("] ")[2]]
    print("%s lint.splats_where" % ("not ok" if lost else "ok"))
    return 1 if bad or wrong or lost else 0


if __name__ == "__main__":
    sys.exit(main())
