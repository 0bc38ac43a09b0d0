#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Instructions per operation over rdma_rxe, by the code that caused them: in-tree's RDS and ours.

    profile.py [--kernel K] [--functions N] [--no-run] [--stream] [ROW...]

Runs the case bench-profile (rows of rows.rdma; some of them by default) and reads its log; with
--stream bench-stream-profile (rows of rows.stream), for streams over librdmacm, ours and TCP. The
guest's clock counts instructions, one in a nanosecond, and bench_sampler (sampler.c) takes a sample
every PERIOD instructions. The device's share is rdma_rxe with ib_core and veth, and the kernel
functions called from there; the share of RDS is that of its modules. The rest is system calls,
scheduling, the programs and idling.
"""

import argparse
import collections
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
ROWS = ["rate-64", "rate-1k", "rate-64k", "rate-1m", "write-64k", "read-64k", "rtt-64"]
STREAM_ROWS = ["lat-64", "bw-64", "bw-1k", "bw-64k", "bw-1m"]
STACKS = ("intree", "ours")
STREAM_STACKS = ("theirs", "ours", "tcp", "tcpveth")
# Rows where the share of RDS must be at most half of in-tree's; Documentation/performance.rst says
# why not in the other rows
HALF = ("rate-64k", "rate-1m")
NOISE = 0.02
DEVICE = ("rdma_rxe", "ib_core", "ib_uverbs", "rdma_ucm", "veth", "udp_tunnel", "ip6_udp_tunnel", "rdma_cm",
          "crc32_pclmul", "crc32_generic")
RDS = ("rds", "rds_dev", "rds_rdma", "rds_tcp", "rds_stream")
SHARES = ("rds", "device", "kernel", "program", "idle")


def period():
    with open(os.path.join(HERE, "sampler.c"), encoding="utf-8") as f:
        return int(re.search(r"#define PERIOD\s+(\d+)", f.read()).group(1))


def share(owner):
    if owner in RDS:
        return "rds"
    if owner in DEVICE:
        return "device"
    return owner if owner in SHARES else "kernel"


def read(log):
    """{(row, stack): {(owner, function): instructions per operation}}"""
    found = collections.defaultdict(dict)
    unit = period()
    with open(log, encoding="utf-8") as f:
        for line in f:
            if "# profile | " not in line:
                continue
            field = [w.strip() for w in line.split("|")]
            stack, row, count, n, owner, func = field[-6:]
            if int(count):
                found[row, stack][owner, func] = int(n) * unit / int(count)
    return found


def report(found, functions, stacks):
    """Prints the tables; false if the share of RDS in a row of HALF is more than half of in-tree's.

    A run that spends more than half of its time idle counts as hung. Runs of in-tree may hang, runs
    of ours must not. Streams are only printed."""
    good = True
    print("| row | stack | %s | all |" % " | ".join(SHARES))
    print("|---|---|%s" % ("---|" * (len(SHARES) + 1)))
    for row in dict.fromkeys(r for r, _ in found):
        rds, hung = {}, []
        for stack in stacks:
            total = collections.Counter()
            for (owner, _), n in found[row, stack].items():
                total[share(owner)] += n
            rds[stack] = total["rds"]
            hung += [stack] if total["idle"] > sum(total.values()) / 2 else []
            print("| %s | %s | %s | %d |" % (row, stack, " | ".join(
                "%d" % total[s] for s in SHARES), sum(total.values())))
        if stacks != STACKS:
            continue
        if hung:
            print("# %s: %s did not come to an end" % (row, " and ".join(hung)))
            good &= hung == ["intree"]
            continue
        ratio = rds["ours"] / rds["intree"] if rds["intree"] else 0
        good &= row not in HALF or 0 < ratio <= 0.5 + NOISE
        print("# %s: the share of RDS is %.2f of in-tree's" % (row, ratio))
    for (row, stack), by in found.items() if functions else ():
        print("\n%s %s: instructions an operation" % (row, stack))
        top = sorted(by.items(), key=lambda kv: -kv[1])[:functions]
        for (owner, func), n in top:
            print("%9d  %-10s %s" % (n, owner, func))
    return good


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--kernel", default=os.environ.get("KERNEL", "6.12"))
    p.add_argument("--functions", type=int, default=0)
    p.add_argument("--no-run", action="store_true", help="the log is there already")
    p.add_argument("--stream", action="store_true", help="rows of streams")
    p.add_argument("rows", nargs="*")
    a = p.parse_args()
    line, rows, stacks = (("bench-stream-profile", STREAM_ROWS, STREAM_STACKS) if a.stream else
                          ("bench-profile", ROWS, STACKS))
    if not a.no_run:
        env = dict(os.environ, RDS_ARGS=" ".join(a.rows or rows))
        subprocess.run([sys.executable, os.path.join(TOP, "selftests/vm/run.py"), "--kernel",
                        a.kernel, "--cases-file", os.path.join(HERE, "bench.cases"), "--cases",
                        "=" + line], env=env, check=False)
    found = read(os.path.join(TOP, "build/logs", a.kernel, line + "-a.log"))
    if not found:
        sys.exit("no samples in the log")
    return 0 if report(found, a.functions, stacks) else 1


if __name__ == "__main__":
    sys.exit(main())
