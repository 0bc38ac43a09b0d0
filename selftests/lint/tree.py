# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The files of the project, and a simple parser of C, sufficient for rules about the form of
files."""
import fnmatch
import os
import re

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PARTS = ("net", "include", "tools", "selftests", "Documentation", ".ci")
SINGLE = ("Kbuild", "Makefile")


class File:
    def __init__(self, path, text=None):
        self.path = path
        if text is None:
            with open(os.path.join(TOP, path), "rb") as f:
                text = f.read().decode("utf-8", "replace")
        self.text = text
        self.lines = self.text.splitlines()
        self.name = os.path.basename(path)
        self.ext = os.path.splitext(path)[1]
        self._code = None

    @property
    def is_c(self):
        return self.ext in (".c", ".h")

    @property
    def shebang(self):
        return self.lines[0] if self.lines and self.lines[0].startswith("#!") else ""

    @property
    def is_python(self):
        return self.ext == ".py" or "python" in self.shebang

    @property
    def is_shell(self):
        return self.ext == ".sh" or bool(re.search(r"\b(ba|da)?sh\b", self.shebang))

    @property
    def code(self):
        """Lines of a C file, with its comments replaced by blanks."""
        if self._code is None:
            self._code = blank_comments(self.text).splitlines()
        return self._code


def blank_comments(text):
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''

    def blank(m):
        s = m.group(0)
        return s if s[0] in "\"'" else re.sub(r"[^\n]", " ", s)

    return re.sub(pattern, blank, text, flags=re.S)


def products():
    """Patterns of build products between the sources: those of .gitignore that do not begin with
    /."""
    with open(os.path.join(TOP, ".gitignore"), encoding="utf-8") as f:
        return [s.rstrip("/") for s in f.read().split("\n") if s and not s.startswith(("#", "/"))]


PRODUCTS = products() + ["*.pyc", "*.swp", "*~", "*.orig", "*.rej"]


def is_product(name):
    return any(fnmatch.fnmatchcase(name, p) for p in PRODUCTS)


def files():
    """Every file of the project, sorted, without build products."""
    found = [p for p in SINGLE if os.path.exists(os.path.join(TOP, p))]
    for part in PARTS:
        for root, dirs, names in os.walk(os.path.join(TOP, part)):
            dirs[:] = [d for d in dirs if not is_product(d)]
            found += [os.path.relpath(os.path.join(root, n), TOP) for n in names if not is_product(n)]
    return [File(p) for p in sorted(found)]


def functions(file):
    """(name, first line, last line) of the function bodies in a C file in kernel style."""
    code, start, name = file.code, None, None
    for i, line in enumerate(code, 1):
        if line == "{" and start is None:
            head, j = "", i - 2
            while j >= 0 and code[j].strip() and not re.match(r"[;}#]|.*;$", code[j]):
                head = code[j] + " " + head
                j -= 1
            m = re.search(r"(\w+)\s*\(", head)
            if m and "=" not in head.split("(")[0]:
                start, name = i, m.group(1)
        elif line.startswith("}") and start is not None:
            yield name, start, i
            start = None
