#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Checks the syntax of every script: sh -n or bash -n by its first line, and Python's compile()."""
import os
import subprocess
import sys

import tree


def shell_error(f):
    shell = "bash" if "bash" in f.shebang else "sh"
    r = subprocess.run([shell, "-n", os.path.join(tree.TOP, f.path)], text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return r.stdout.strip() if r.returncode else None


def python_error(f):
    try:
        compile(f.text, f.path, "exec")
    except SyntaxError as e:
        return "line %s: %s" % (e.lineno, e.msg)
    return None


def main():
    files, bad = tree.files(), 0
    for kind, mine, error in (("shell", [f for f in files if f.is_shell], shell_error),
                              ("python", [f for f in files if f.is_python], python_error)):
        wrong = [(f.path, e) for f in mine for e in [error(f)] if e]
        for path, e in wrong:
            print("# %s: %s" % (path, e))
        ok = mine and not wrong
        print("%s lint.%s_syntax, %d files" % ("ok" if ok else "not ok", kind, len(mine)))
        bad += not ok
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
