#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints the paths of files that README.md and Documentation/ mention and that do not exist."""

import glob
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATH = re.compile(r"(?<![\w/.{~-])((?:net/rds|include|Documentation|tools|selftests|\.ci)/[\w./*-]*[\w*])")


def main():
    os.chdir(TOP)
    missing = []
    for doc in ["README.md"] + sorted(glob.glob("Documentation/*")):
        with open(doc, encoding="utf-8") as f:
            for path in sorted(set(PATH.findall(f.read()))):
                if not glob.glob(path) and not glob.glob(path + ".*"):
                    missing.append("%s: %s" % (doc, path))
    print("; ".join(missing), end="")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
