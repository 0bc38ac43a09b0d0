# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How Sphinx builds these documents; selftests/docs/htmldocs.sh (make htmldocs) calls it.

The directive kernel-doc puts the kernel-doc comments of one file into a document:

    .. kernel-doc:: include/net/rds/tx.h

The kernel's script of that name reads them. Debian's linux-kbuild package has it, which
selftests/vm/fetch.sh unpacks for the build of the modules anyway; RDS_KERNEL_DOC says where.
"""

import os
import re
import subprocess
import tempfile

import sphinx
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.util import logging
from sphinx.util.docutils import switch_source_input
from sphinx.util.nodes import nested_parse_with_titles

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOG = logging.getLogger(__name__)

project = "RDS"
author = "the authors of RDS"
project_copyright = author
master_doc = "index"
html_theme = "alabaster"
html_copy_source = False
html_show_sphinx = False
# The grey column is as wide as the titles need; literal blocks have 100 characters.
html_theme_options = {"page_width": "1160px", "sidebar_width": "230px"}
highlight_language = "none"
today_fmt = ""

# The comment of a table of functions says of each in which context it is called. Such a line is
# indented by a tab and belongs to its member, where kernel-doc would begin a section.
IN_MEMBER = re.compile(r"^( \*\t+)(Context|Returns?):", re.M)
LINENO = re.compile(r"\.\. LINENO (\d+)$")


def run_kernel_doc(path):
    """What the script makes of a file, and what it complains about."""
    with open(path, encoding="utf-8") as f:
        text = IN_MEMBER.sub(r"\1*\2*:", f.read())
    with tempfile.TemporaryDirectory() as tmp:
        copy = os.path.join(tmp, os.path.basename(path))
        with open(copy, "w", encoding="utf-8") as f:
            f.write(text)
        r = subprocess.run(
            [os.environ["RDS_KERNEL_DOC"], "-rst", "-enable-lineno",
             "-sphinx-version", sphinx.__version__, copy],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    said = r.stderr.replace(copy, os.path.relpath(path, TOP)).splitlines()
    if r.returncode and not said:
        said = ["kernel-doc failed"]
    return r.stdout, said


class KernelDoc(Directive):
    required_arguments = 1
    has_content = False

    def run(self):
        path = os.path.join(TOP, self.arguments[0])
        self.state.document.settings.env.note_dependency(path)
        out, said = run_kernel_doc(path)
        for line in said:
            LOG.warning(line)
        if not out.strip():
            LOG.warning("%s: no kernel-doc comment", self.arguments[0])
        lines, number = StringList(), 0
        for line in out.expandtabs().splitlines():
            m = LINENO.match(line)
            if m:
                number = int(m.group(1)) - 1
                continue
            lines.append(line, path, number)
            number += 1
        node = nodes.section()
        with switch_source_input(self.state, lines):
            nested_parse_with_titles(self.state, lines, node)
        return node.children


def setup(app):
    app.add_directive("kernel-doc", KernelDoc)
    return {"parallel_read_safe": True}
