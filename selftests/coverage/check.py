#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fails for an item of the protocol description without a case that tests it, and for a case of the
socket API that only one stack runs and that is no documented difference.

The file rows names the cases of each item, Documentation/known-bugs.rst those that would notice each
known bug. A case exists if it is the name of a case line or of a result that a case line printed.
The file printed, which collect.py makes, has these results.
"""
import glob
import os
import re
import sys

for folder in "docs", "api":
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder))
import cite  # pylint: disable=wrong-import-position
import collect  # pylint: disable=wrong-import-position
import compare  # pylint: disable=wrong-import-position
import knownbugs  # pylint: disable=wrong-import-position

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
HERE = os.path.join(TOP, "selftests/coverage")
BUGS = os.path.join(TOP, "Documentation", "known-bugs.rst")
# Chapters of protocol.rst whose items must have rows
CHAPTERS = "1234567"


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


class Names:
    """The results that case lines print, and the lines themselves."""

    def __init__(self):
        lists, lines = collect.read_list(), collect.lines_of_cases()
        self.printed = set(lines).union(*lists.values())
        self.lists, self.missing = lists, [n for n in lines if n not in lists]

    def has(self, case):
        return case in self.printed or any(n.startswith(case + ".") for n in self.printed)

    def collected(self):
        """Reports whether every line has at least two results: the result of a line must not depend
        on a single one."""
        few = [n for n in sorted(self.lists) if len(self.lists[n]) < 2]
        if few:
            print("not ok coverage.collected # one result or none: " + " ".join(few))
        elif self.missing:
            print("not ok coverage.collected # run these lines, then collect.py: %s" % " ".join(self.missing))
        else:
            print("ok coverage.collected, %d lines" % len(self.lists))
        return bool(few or self.missing)


def differences_noticed():
    """Does collect.py notice a name too few and one too many, and no others?"""
    names = collect.Names()
    names.good, names.failed = {"a.good", "a.new"}, {"a.failed", "a.setup"}
    names.skipped = {"a.skip"}
    told = collect.differences("line", names, {"a.good", "a.failed", "a.skip", "a.lost"})
    return [text.split()[-1] for text in told] == ["a.lost", "list"] and "a.new" in told[1]


def rows():
    for n, line in enumerate(read(os.path.join(HERE, "rows")).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [f.strip() for f in line.split("|")]
        if len(fields) != 3 or not all(fields):
            raise SystemExit("not ok coverage.rows # line %d is not id | in short | cases" % n)
        yield fields[0], fields[1], fields[2].split()


def check_rows(names, table):
    bad, seen = 0, set()
    for row, label, cases in table:
        if row in seen:
            print("# row %s comes twice" % row)
            bad += 1
        seen.add(row)
        for case in cases:
            if not names.has(case):
                print("# row %s (%s): there is no case %s" % (row, label, case))
                bad += 1
    wanted = {number for number, first in cite.items(read(cite.DOC))
              if number[0] in CHAPTERS and cite.MOVED not in first}
    for row in sorted(wanted - seen):
        print("# protocol.rst %s has no row" % row)
    for row in sorted(seen - wanted):
        print("# row %s is no item of protocol.rst" % row)
    return bad + len(wanted ^ seen)


def check_bugs(lists):
    print("%s coverage.bad_bug_is_noticed" % ("ok" if knownbugs.noticed() else "not ok"))
    wrong, nr = knownbugs.faults(read(BUGS), lists)
    for text in wrong:
        print("# known-bugs.rst: " + text)
    print("%s coverage.bugs, %d rows" % ("not ok" if wrong or not nr else "ok", nr))
    return bool(wrong) or not nr or not knownbugs.noticed()


STRING = r'"(?:[^"\\\n]|\\.)*"'


def one_stack_only(source):
    """Cases of the socket API that run on one stack only."""
    entries = re.findall(r'\{ "([a-z]\S+)",((?:[^{}"]|%s)*)\}' % STRING, source)
    return {name for name, rest in entries if re.search(r"\bC_(?:OURS|INTREE)\b", re.sub(STRING, "", rest))}


def check_differences():
    """api-compare fails for a case that one stack only runs and that is no documented difference."""
    example = '{ "a.ours", f, "x{C_INTREE", .flags = C_OURS | C_ROOT,\n .num = 1 }, { "a.both", f, "C_OURS" },'
    noticed = one_stack_only(example) == {"a.ours"}
    print("%s coverage.one_stack_is_noticed" % ("ok" if noticed else "not ok"))
    sources = glob.glob(os.path.join(TOP, "selftests/api/*.c"))
    lost = set().union(*(one_stack_only(read(f)) for f in sources)) - compare.named(compare.DIFFERENCES)
    for case in sorted(lost):
        print("# %s runs on one stack only, and is not in differences.rst" % case)
    print("%s coverage.differences" % ("not ok" if lost else "ok"))
    return not noticed or bool(lost)


def main():
    names, table = Names(), list(rows())
    refused = not any(map(names.has, ("bind.no_such_case", "no.such", "bugs.zzz")))
    print("%s coverage.unknown_case_is_noticed" % ("ok" if refused else "not ok"))
    compared = differences_noticed()
    print("%s coverage.difference_is_noticed" % ("ok" if compared else "not ok"))
    bad = check_rows(names, table)
    print("%s coverage.rows, %d rows" % ("not ok" if bad else "ok", len(table)))
    bad_bugs = check_bugs(names.lists)
    few = names.collected()
    undocumented = check_differences()
    return 1 if bad or bad_bugs or few or undocumented or not refused or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
