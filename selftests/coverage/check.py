#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Fails for a row of the protocol description without a case that shows it.

The file rows names them. A case exists if its name stands in the sources of the tests as a
string, where it is run from: in a table, a decorator, a call that reports. The names of ABI
cases come from the user header.
"""
import glob
import os
import re
import sys

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
HERE = os.path.join(TOP, "selftests/coverage")
# What needs the RDMA transport may lack a case, and nothing else may.
RDMA = "(rdma)"
RDMA_ROWS = {"1.2.2", "1.2.3", "1.9.10", "1.9.14", "2.5.5", "5.8.2", "5.13.6", "6.8.2", "7.2.1",
             "7.4.2"}
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
        if cases == [RDMA]:
            if row not in RDMA_ROWS:
                print("# row %s (%s) has no case" % (row, label))
                bad += 1
            continue
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


def main():
    names, table = Names(), list(rows())
    refused = not names.has("bind.no_such_case") and not names.has("no.such")
    print("%s coverage.unknown_case_is_noticed" % ("ok" if refused else "not ok"))
    bad = check_rows(names, table)
    print("%s coverage.rows, %d rows" % ("not ok" if bad else "ok", len(table)))
    return 1 if bad or not refused else 0


if __name__ == "__main__":
    sys.exit(main())
