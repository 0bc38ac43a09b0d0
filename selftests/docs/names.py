#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints identifiers in README.md and Documentation/ that begin with rds_ or RDS_ and are in no
source.

The beginning of an existing identifier counts as one: RDS_CMSG_RDMA_*.
"""

import glob
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE = (".c", ".h", ".py", ".sh", ".mk", "Kbuild")
# Names that only other implementations have; the documents say that they are not supported
FOREIGN = {"RDS_CONN_RESET", "RDS_BARRIER", "RDS_INFO_FLOWS"}
NAME = re.compile(r"\b(?:rds|RDS)_\w+")


def known():
    names = set()
    for part in ("net", "include", "tools", "selftests"):
        for root, _, files in os.walk(os.path.join(TOP, part)):
            for name in files:
                if not name.endswith(CODE):
                    continue
                with open(os.path.join(root, name), encoding="utf-8", errors="replace") as f:
                    names.update(re.findall(r"\w+", f.read()))
    return names


def main():
    os.chdir(TOP)
    names = known()
    lost = []
    for doc in ["README.md"] + sorted(glob.glob("Documentation/*.rst")):
        with open(doc, encoding="utf-8") as f:
            for name in sorted(set(NAME.findall(f.read())) - names - FOREIGN):
                if not any(n.startswith(name) for n in names):
                    lost.append("%s: %s" % (doc, name))
    print("; ".join(lost), end="")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
