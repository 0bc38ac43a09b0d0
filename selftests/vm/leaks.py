#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""leaks.py KMEMLEAK SYMS WORD: reports what kmemleak found after the modules were unloaded.

KMEMLEAK is kmemleak's report. SYMS has the modules' symbols, saved from /proc/kallsyms before the
unload, as addresses of unloaded modules cannot be resolved otherwise. WORD marks messages to the
runner.
"""

import bisect
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import splats  # noqa: E402


def symbols(path):
    syms = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            addr, _, name, module = line.split()[:4]
            syms.append((int(addr, 16), name + " " + module))
    return sorted(syms)


def resolve(line, syms):
    m = re.search(r"\b(?:0x)?(ffffffff[0-9a-f]{8})\b", line)
    if not m or not syms:
        return line
    at = bisect.bisect(syms, (int(m.group(1), 16), "\xff")) - 1
    if at < 0 or int(m.group(1), 16) - syms[at][0] > 0x10000:
        return line
    return line + "  " + syms[at][1]


def main():
    syms = symbols(sys.argv[2])
    accepted = splats.Accepted(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                            "foreign-splats"))
    with open(sys.argv[1], encoding="utf-8", errors="replace") as f:
        blocks = re.split(r"(?m)^(?=unreferenced object)", f.read())
    for b in blocks:
        lines = [resolve(line, syms) for line in b.splitlines()]
        if not lines or not lines[0].startswith("unreferenced"):
            continue
        print("\n".join("# " + line for line in lines))
        if splats.is_ours(lines) or not accepted.covers(lines, False):
            where = next((line.strip() for line in lines if splats.OURS.search(line)), "")
            print("@%s fail kmemleak: %s %s" % (sys.argv[3], lines[0], where))


if __name__ == "__main__":
    main()
