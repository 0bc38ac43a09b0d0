# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Finds names of results in the sources of the tests.

A name in a source does not prove that the result is ever printed. check.py uses these names only
while the list of collect.py lacks the results of some line.
"""
import glob
import os
import re

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
HERE = os.path.join(TOP, "selftests/coverage")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def sources():
    for path in glob.glob(os.path.join(TOP, "selftests/**/*"), recursive=True):
        if path.startswith((HERE, os.path.join(TOP, "selftests/lint"))):
            continue
        if path.endswith((".c", ".h", ".py", ".sh")):
            yield path


class Sources:
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
        # Names that a C macro joins: "cmsg." n ".tcp4", with "row7_args" elsewhere in the file
        groups = set(re.findall(r'"([a-z0-9_]+\.)"?\s*\w+\s*"\.', text))
        groups |= set(re.findall(r'"([a-z0-9_]+\.)" n\b', text))
        found = re.findall(r"[\"']([\w.${}%-]+)(?=[\"' ])", text)
        # Names in front of which a Python function puts a group: "%s %d rdma.capture.%s%s"
        for group in set(re.findall(r'"%s %d ([a-z]\w*(?:\.\w+)*\.)%s', text)):
            found += [group + n for n in found if re.match(r"%?\w+$|%s_\w+%d$", n) and n != "%s"]
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
