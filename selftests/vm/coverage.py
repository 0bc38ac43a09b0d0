#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints how much of our modules has run in this guest, as lines "# coverage: ..." of the log.

    coverage.py FOLDER       of the modules NAME.ko in the folder that are loaded

/proc/rds_cov (cov/rds_cov.c) has the blocks that have run. In the file of a module each block has a
call. Code that runs only as a module is loaded or unloaded is left out: the first is freed, and the
second has not run yet.
"""

import collections
import os
import re
import subprocess
import sys

REACHED = re.compile(r"(\S+)\+0x[0-9a-f]+/0x[0-9a-f]+ \[(\w+)\]")
CALL = "__sanitizer_cov_trace_pc"
# Functions that did not run, in one line of the log
PER_LINE = 8


def readelf(what, path):
    return subprocess.run(["readelf", what, path], stdout=subprocess.PIPE, check=True,
                          text=True).stdout.splitlines()


def sections(path):
    """{number: name} of the sections of a file"""
    found = (re.match(r" *\[ *(\d+)\] (\.\S+)", ln) for ln in readelf("-SW", path))
    return {int(m[1]): m[2] for m in found if m}


def functions(path):
    """{section: [(address, size, name)]}"""
    names, found = sections(path), collections.defaultdict(list)
    for ln in readelf("-sW", path):
        w = ln.split()
        if len(w) == 8 and w[3] == "FUNC" and w[6].isdigit():
            found[names[int(w[6])]].append((int(w[1], 16), int(w[2], 0), w[7]))
    return found


def blocks(path):
    """Counter of the blocks of each function of a module's file"""
    all_functions, here, count = functions(path), [], collections.Counter()
    for ln in readelf("-rW", path):
        m = re.match(r"Relocation section '\.rela(\S+)'", ln)
        if m:
            usable = m[1].startswith(".text")
            here = all_functions[m[1]] if usable else []
        elif CALL in ln:
            at = int(ln.split()[0], 16)
            count.update(name for start, size, name in here if start <= at < start + size)
    return count


def reached():
    """{module: Counter of the blocks of each function that have run}"""
    found = collections.defaultdict(collections.Counter)
    with open("/proc/rds_cov", encoding="ascii") as f:
        for ln in set(f):
            m = REACHED.match(ln)
            if m:
                found[m[2]][m[1]] += 1
    return found


def report(module, every, ran):
    ran = collections.Counter({f: n for f, n in ran.items() if f in every})
    print("# coverage: %s: %d of %d blocks, %d of %d functions" % (
        module, sum(ran.values()), sum(every.values()), len(ran), len(every)))
    left = sorted(set(every) - set(ran))
    for n in range(0, len(left), PER_LINE):
        print("# not reached: " + " ".join(left[n:n + PER_LINE]))


def main():
    ran = reached()
    for name in sorted(os.listdir(sys.argv[1])):
        module = name[:-len(".ko")]
        if module != "rds_cov" and os.path.exists("/sys/module/" + module):
            report(module, blocks(os.path.join(sys.argv[1], name)), ran[module])


if __name__ == "__main__":
    main()
