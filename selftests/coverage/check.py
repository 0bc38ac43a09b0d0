#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fails for a row of the protocol description without a case that shows it.

The file rows names them, and the file bugs names those that would notice known bugs. A case exists if its name stands in the sources of the tests as a
string, where it is run from: in a table, a decorator, a call that reports. The names of ABI
cases come from the user header.
"""
import glob
import os
import re
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
HERE = os.path.join(TOP, "selftests/coverage")
# Bugs for which there is a reason instead of a case, at most.
EXCUSES = 10
# Sections as they are numbered; each must have rows.
SECTIONS = (["1.%d" % i for i in range(1, 11)] + ["2.%d" % i for i in range(1, 9)]
            + ["3.%d" % i for i in range(1, 11)] + ["5.%d" % i for i in range(1, 17)]
            + ["6.%d" % i for i in range(1, 9)] + ["7.%d" % i for i in range(1, 5)])


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def sources():
    for path in glob.glob(os.path.join(TOP, "selftests/**/*"), recursive=True):
        if path.startswith((HERE, os.path.join(TOP, "selftests/lint"))):
            continue
        if path.endswith((".c", ".h", ".py", ".sh")):
            yield path


class Names:
    """All names under which the sources report a result."""

    def __init__(self):
        self.whole, self.patterns = set(), []
        for path in sources():
            self.add(read(path), path.endswith(".sh"))
        for path in glob.glob(os.path.join(TOP, "selftests/*/cases")):
            for line in read(path).splitlines():
                if "|" in line and not line.startswith("#"):
                    self.whole.add(line.split("|")[0].strip())
        header = read(os.path.join(TOP, "include/uapi/linux/rds.h"))
        self.whole.add("abi.constants")
        for kind in re.findall(r"^(?:struct|enum) (\w+) \{|^typedef \w+ (\w+);", header, re.M):
            self.whole.add("abi." + (kind[0] or kind[1]))

    def add(self, text, shell):
        # A macro that glues: "cmsg." n ".tcp4" with "row7_args" given elsewhere in the file
        groups = set(re.findall(r'"([a-z0-9_]+\.)"?\s*\w+\s*"\.', text))
        groups |= set(re.findall(r'"([a-z0-9_]+\.)" n\b', text))
        found = re.findall(r"[\"']([\w.${}%-]+)(?=[\"' ])", text)
        if shell:
            code = re.sub(r"^\s*#.*", "", text, flags=re.M)
            found += re.findall(r"(?<=[\s\"])([a-z][\w$-]*\.[\w.${}-]+)", code)
        for name in found:
            for group in groups:
                self.whole.add(group + name)
            if re.match(r"[a-z][\w-]*\.", name) and re.search(r"[$%]", name):
                pattern = re.sub(r"\\\$\\\{\w+\\\}|\\\$\w+|%\w", r"[\\w-]+", re.escape(name))
                self.patterns.append(re.compile(pattern))
            self.whole.add(name)

    def has(self, case):
        if case in self.whole:
            return True
        if any(n.startswith(case + ".") for n in self.whole):
            return True
        return any(p.fullmatch(case) for p in self.patterns)


def rows(table):
    for n, line in enumerate(read(os.path.join(HERE, table)).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [f.strip() for f in line.split("|")]
        if len(fields) != 3 or not all(fields):
            raise SystemExit("not ok coverage.%s # line %d is not id | in short | cases" % (table, n))
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
    for section in SECTIONS:
        ids = sorted(int(r.rsplit(".", 1)[1]) for r in seen if r.rsplit(".", 1)[0] == section)
        if not ids or ids != list(range(1, len(ids) + 1)):
            print("# section %s: rows are missing" % section)
            bad += 1
    return bad


def check_bugs(names, table):
    bad, excuses, seen = 0, 0, set()
    for bug, label, cases in table:
        if bug in seen:
            print("# bug %s comes twice" % bug)
            bad += 1
        seen.add(bug)
        if cases[0] == "-":
            excuses += 1
            missing = [] if len(cases) > 3 else ["a reason"]
        else:
            missing = [c for c in cases if not names.has(c)]
        for what in missing:
            print("# bug %s (%s): there is no %s" % (bug, label, what))
            bad += 1
    if excuses > EXCUSES:
        print("# %d bugs have a reason instead of a case" % excuses)
        bad += 1
    return bad


def main():
    names, table, bugs = Names(), list(rows("rows")), list(rows("bugs"))
    refused = not names.has("bind.no_such_case") and not names.has("no.such")
    print("%s coverage.unknown_case_is_noticed" % ("ok" if refused else "not ok"))
    bad = check_rows(names, table)
    print("%s coverage.rows, %d rows" % ("not ok" if bad else "ok", len(table)))
    bad_bugs = check_bugs(names, bugs)
    print("%s coverage.bugs, %d rows" % ("not ok" if bad_bugs else "ok", len(bugs)))
    return 1 if bad or bad_bugs or not refused else 0


if __name__ == "__main__":
    sys.exit(main())
