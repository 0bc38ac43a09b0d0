#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the result strings of the socket API suite on two stacks.

    compare.py INTREE OURS [--differences FILE]

Both files hold lines "# result NAME VALUE" among other lines (guest logs will do). A case whose
result differs, or that one of the two stacks did not run, fails unless
Documentation/differences.rst names its id. An id named there fails if the results are equal: it
would hide a later change. An id of the file expected-differences fails if
Documentation/differences.rst does not name it.
"""

import argparse
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
DIFFERENCES = os.path.join(TOP, "Documentation", "differences.rst")
RESULT = re.compile(r"# result (\S+) ?(.*)$")


def results(path):
    found = {}
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            m = RESULT.search(line.rstrip("\n"))
            if m:
                found[m.group(1)] = m.group(2)
    return found


def named(path):
    """All words of the document that look like the id of a case."""
    with open(path, encoding="utf-8") as f:
        return set(re.findall(r"\b[a-z_0-9]+(?:\.[A-Za-z_0-9-]+)+", f.read()))


def expected_ids():
    ids = set()
    with open(os.path.join(HERE, "expected-differences"), encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                ids.add(line.split("|")[0].strip())
    return ids


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("intree")
    ap.add_argument("ours")
    ap.add_argument("--differences", default=DIFFERENCES)
    args = ap.parse_args()
    intree, ours = results(args.intree), results(args.ours)
    allowed = named(args.differences) if os.path.exists(args.differences) else set()
    number = failed = 0
    names = sorted(set(intree) | set(ours))
    undocumented = sorted(expected_ids() - allowed)
    print("1..%d" % (len(names) + len(undocumented)), flush=True)
    for name in names:
        number += 1
        a, b = intree.get(name), ours.get(name)
        why = None
        if a is None or b is None:
            why = "not run on " + ("in-tree" if a is None else "ours")
        elif a != b:
            why = "differs"
        if why and name not in allowed:
            failed += 1
            print("# in-tree: %s\n# ours:    %s" % (a, b))
            print("not ok %d same.%s # %s" % (number, name, why))
        elif not why and name in allowed:
            failed += 1
            print("not ok %d same.%s # named in differences.rst, but equal" % (number, name))
        else:
            print("ok %d same.%s%s" % (number, name, " (as documented)" if why else ""))
    for name in undocumented:
        number, failed = number + 1, failed + 1
        print("not ok %d documented.%s # missing in differences.rst" % (number, name))
    if not number:
        print("not ok 1 compare # no results in either file")
    return 1 if failed or not number else 0


if __name__ == "__main__":
    sys.exit(main())
