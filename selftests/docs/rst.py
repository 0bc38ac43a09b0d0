#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints what docutils has to say about Documentation/*.rst: nothing, if all is well."""

import glob
import io
import os
import sys

from docutils.core import publish_doctree

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    said = io.StringIO()
    paths = sorted(glob.glob(os.path.join(TOP, "Documentation", "*.rst")))
    for path in paths:
        with open(path, encoding="utf-8") as f:
            publish_doctree(f.read(), source_path=os.path.relpath(path, TOP), settings_overrides={
                "warning_stream": said, "report_level": 2, "halt_level": 5})
    text = said.getvalue() if paths else "no documents"
    print("; ".join(text.split("\n")).strip("; "), end="")
    return 1 if text else 0


if __name__ == "__main__":
    sys.exit(main())
