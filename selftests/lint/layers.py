#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Checks the rules of Documentation/architecture.rst: allowed includes, and the form of files."""
import os
import re
import sys

import circles
import tree

# Folder of net/rds -> folders and single headers that it may include. A folder may always include
# its own headers. Includes go down only: no folder may include one that may include it.
BASE = ["netns.h", "access.h", "peers.h"]
LOW = BASE + ["proto"]
MAY = {
    "proto": [],
    "msg": LOW,
    "cong": LOW,
    "sock/state": LOW + ["msg", "cong"],
    "memop": LOW + ["msg", "sock/state"],
    "send": LOW + ["msg", "cong", "sock/state", "memop"],
    "recv": LOW + ["msg", "cong", "sock/state", "memop"],
    "xprt": BASE,
    "conn": LOW + ["msg", "cong", "sock/state", "memop", "send", "recv", "xprt"],
    # getsockopt() passes RDS_INFO_* on to ctl/info.h
    "sock": LOW + ["msg", "cong", "sock/state", "memop", "send", "conn", "xprt", "ctl/info.h"],
    "ctl": LOW + ["msg", "cong", "sock/state", "memop", "send", "conn", "xprt"],
    "netns": ["netns.h"],
    "access": ["netns.h"],
    "peers": ["netns.h"],
    "main": LOW + ["cong", "sock/state", "msg", "memop", "conn", "sock", "ctl", "xprt",
                    "transport/loop"],
    # for the names of the states
    "trace": ["conn/fsm.h"],
}
# A folder with two layers, which differ by file name: the state of a socket is below the system
# calls.
SPLIT = {"sock": ("sock/state", ("state", "table", "rcvq", "rxmem", "peerbound", "notify", "note",
                                  "report", "zrecord", "flow"))}
# The engine of streams, net/rds/stream: file -> headers there that it may include besides its own.
# Only plat.h includes others, as the engine is kernel-free. Files that are not here are above it, and
# may include all of these and the headers of devices.
ENGINE = {
    "plat": [],
    "wire": ["plat"],
    "life": ["plat"],
    "flow": ["wire"],
    "target": ["wire"],
    "halves": ["wire"],
    "engine": ["flow", "halves", "life", "target", "wire"],
    "decide": ["engine"],
}
# Headers that the kernel-free files may include in angle brackets
PURE_ANGLED = ("net/rds/wire.h", "net/rds/stream.h")

MAX_LINES = {".c": 640, ".h": 300, ".py": 800, ".sh": 400}
# The user ABI is frozen; transport.h consists mostly of kernel-doc.
MAX_LINES_OF = {"include/uapi/linux/rds.h": 420, "include/net/rds/transport.h": 420}
MAX_COMPAT = 350
MAX_FUNCTION = 100
MAX_COLUMNS = 80
MARKS = r"\b(TODO|FIXME|XXX)\b|not implemented|\bfor now\b"
LICENCE = "GPL-2.0-only OR BSD-2-Clause"
UAPI_LICENCE = "((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause)"
TOP_LEVEL = {"Kbuild", "Makefile", "net", "include", "Documentation", "tools", "selftests",
             "LICENSE", "README.md", "build"}
# Names of transports in code; RDS_TRANS_NONE, _COUNT and _SLOTS name none.
TRANSPORT_NAME = (r"\bRDS_TRANS_(?!NONE\b|COUNT\b|SLOTS\b)\w+|\brds_(tcp|ib|rdma)_(?!info|notify|args|cookie)\w+"
                  r'|"(tcp|infiniband|loopback)"')


def folder_of(path):
    """Key of MAY for a file of net/rds: its folder or layer; its name if it is in no folder."""
    folder, _, name = path[len("net/rds/"):].partition("/")
    if not name:
        return folder.rsplit(".", 1)[0]
    lower, names = SPLIT.get(folder, (None, ()))
    return lower if name.rsplit(".", 1)[0] in names else folder


def includes(f):
    for n, line in enumerate(f.code, 1):
        m = re.match(r'\s*#\s*include(?:_next)?\s+([<"])([^">]+)', line)
        if m:
            yield n, m.group(1) == "<", m.group(2)


# What has no include path to the core: transports; the devices of RDMA and the streams over them,
# which name nothing of RDS
STREAM = "net/rds/stream/"
APART = ("net/rds/transport/", "net/rds/dev/", STREAM)
DEVICES = ("net/rds/transport/rdma/", "net/rds/dev/", STREAM)
OF_DEVICES = r"net/rds/dev(_\w+)?\.h"
# What streams know of the family, and of nothing else of RDS
OF_FAMILY = r"net/rds/family\.h"


def core(files):
    return [f for f in files if f.is_c and f.path.startswith("net/rds/") and not f.path.startswith(APART)]


def check_core_includes(files):
    for f in core(files):
        me = folder_of(f.path)
        if me not in MAY:
            yield f.path, 1, "folder %s is not in the table of layers" % me
            continue
        for n, angled, name in includes(f):
            if angled:
                if me == "proto" and f.name != "plat.h" and name not in PURE_ANGLED:
                    yield f.path, n, "kernel-free code includes <%s>" % name
                continue
            there = name.rsplit("/", 1)[0] if "/" in name else name
            if there in SPLIT:
                there = folder_of("net/rds/" + name)
            if there not in MAY[me] and name not in MAY[me] and there != me and there != me + ".h":
                yield f.path, n, "%s may not include %s" % (me, name)


def check_circles(files):
    """Loopback is part of rds.ko, so its folder counts as one of the core here."""
    mine = core(files) + [f for f in files if f.is_c and f.path.startswith("net/rds/transport/loop/")]
    for group, found in circles.circles(mine, folder_of):
        for (one, other), uses in sorted(found.items()):
            path, line, what = uses[0]
            yield path, line, "%s -> %s in a circle of %s: %s%s" % (
                one, other, ", ".join(group), what, " (and %d more)" % (len(uses) - 1) if uses[1:] else "")


def check_transport_includes(files):
    for f in files:
        if not f.is_c or not f.path.startswith(APART):
            continue
        rdma = f.path.startswith(DEVICES)
        for n, angled, name in includes(f):
            inside = name.startswith(f.path[len("net/rds/"):].rsplit("/", 1)[0] + "/")
            if not angled and "/" in name and not inside:
                yield f.path, n, "a transport includes %s, but may see <net/rds/*> only" % name
            if name.startswith("rdma/") and not rdma:
                yield f.path, n, "rdma/ outside the RDMA transport"
            may = OF_DEVICES + ("|" + OF_FAMILY if f.path.startswith(STREAM) else "")
            if f.path.startswith(("net/rds/dev/", STREAM)) and name.startswith("net/rds/") and \
                    not re.fullmatch(may, name):
                yield f.path, n, "devices or streams include <%s>, but name nothing of RDS" % name


def check_stream_includes(files):
    for f in files:
        me = f.name.rsplit(".", 1)[0]
        if not f.is_c or not f.path.startswith(STREAM) or me not in ENGINE:
            continue
        for n, angled, name in includes(f):
            if angled and me != "plat":
                yield f.path, n, "the engine of streams is kernel-free, but includes <%s>" % name
            elif not angled and name[:-2] != me and name[:-2] not in ENGINE[me]:
                yield f.path, n, "%s of streams may not include %s" % (me, name)


def check_public_includes(files):
    for f in files:
        if not f.path.startswith("include/net/rds/"):
            continue
        for n, angled, name in includes(f):
            if not angled and name != "proto/plat.h":
                yield f.path, n, 'a public header includes "%s"' % name
            if re.fullmatch("include/" + OF_DEVICES, f.path) and name.startswith("net/rds/") and \
                    not re.fullmatch(OF_DEVICES, name):
                yield f.path, n, "the devices include <%s>, but name nothing of RDS" % name
    for f in core(files):
        for n, _, name in includes(f):
            if name.startswith("rdma/"):
                yield f.path, n, "rdma/ outside the RDMA transport"


def check_versions(files):
    for f in files:
        if not f.is_c or f.path.startswith("include/compat/"):
            continue
        for n, line in enumerate(f.code, 1):
            if re.search(r"LINUX_VERSION_CODE|KERNEL_VERSION\(|linux/version\.h", line):
                yield f.path, n, "version test outside include/compat"
    total = sum(len(f.lines) for f in files if f.path.startswith("include/compat/"))
    if total > MAX_COMPAT:
        yield "include/compat", 1, "%d lines, at most %d" % (total, MAX_COMPAT)


def check_identity(files):
    for f in core(files):
        if f.path.startswith("net/rds/xprt/registry."):
            continue
        for n, line in enumerate(f.code, 1):
            m = re.search(TRANSPORT_NAME, line)
            if m:
                yield f.path, n, "the core names a transport: %s" % m.group(0)


def check_crashes(files):
    for f in files:
        if f.is_c and f.path.startswith(("net/", "include/")):
            for n, line in enumerate(f.code, 1):
                if re.search(r"\b(BUG|BUG_ON|panic)\s*\(", line):
                    yield f.path, n, "crashes the machine"


def check_functions(files):
    for f in files:
        if f.is_c:
            for name, first, last in tree.functions(f):
                if last - first + 1 > MAX_FUNCTION:
                    yield f.path, first, "%s() has %d lines" % (name, last - first + 1)


def fits(line):
    """Whether a line is in the columns, or may exceed them: it has a string that would exceed them
    in any case, or it is one entry of a table: all of a designated initialiser in braces, or a
    #define that goes on below."""
    if len(line.expandtabs(8)) <= MAX_COLUMNS or re.search(r"SPDX-License-Identifier:", line):
        return True
    strings = list(re.finditer(r'"(?:\\.|[^"\\])*"[,;)]*', line))
    if strings and len(line[:strings[-1].end()].expandtabs(8)) > MAX_COLUMNS:
        return True
    return bool(re.match(r"\s*\{.*\.\w+\s*=.*\},?$", line) or re.match(r"#\s*define\b.*\\$", line))


def check_columns(files):
    for f in files:
        if f.is_c and f.path.startswith(("net/", "include/")):
            for n, line in enumerate(f.lines, 1):
                if not fits(line):
                    yield f.path, n, "%d columns, at most %d" % (
                        len(line.expandtabs(8)), MAX_COLUMNS)


def check_sizes(files):
    for f in files:
        limit = MAX_LINES_OF.get(f.path, MAX_LINES.get(f.ext))
        if limit and len(f.lines) > limit:
            yield f.path, 1, "%d lines, at most %d" % (len(f.lines), limit)


def check_spdx(files):
    for f in files:
        if f.ext in (".patch", ".json") or not f.lines:
            continue
        want = UAPI_LICENCE if f.path.startswith("include/uapi/") else LICENCE
        first = f.lines[1 if f.shebang and len(f.lines) > 1 else 0]
        if not re.search(r"SPDX-License-Identifier: " + re.escape(want) + r"(\s*\*/)?$", first):
            yield f.path, 1, "no SPDX line with %s" % want


def check_marks(files):
    for f in files:
        # The rules and their tests name the marks.
        if f.path.startswith("selftests/lint/"):
            continue
        for n, line in enumerate(f.lines, 1):
            m = re.search(MARKS, line)
            if m and (f.is_c or f.is_python or f.is_shell):
                yield f.path, n, "mark of unfinished work: %s" % m.group(0)


def check_top_level(_):
    for name in os.listdir(tree.TOP):
        if not name.startswith(".") and name not in TOP_LEVEL and not tree.is_product(name):
            yield name, 1, "does not belong in the top folder"


RULES = [
    ("core_includes_go_down", check_core_includes),
    ("no_circle_crosses_folders", check_circles),
    ("transports_see_public_headers_only", check_transport_includes),
    ("stream_includes_go_down", check_stream_includes),
    ("public_headers_stand_alone", check_public_includes),
    ("version_tests_in_compat_only", check_versions),
    ("core_names_no_transport", check_identity),
    ("nothing_crashes_on_purpose", check_crashes),
    ("functions_fit", check_functions),
    ("lines_fit", check_columns),
    ("files_fit", check_sizes),
    ("spdx", check_spdx),
    ("no_unfinished_marks", check_marks),
    ("top_folder", check_top_level),
]


def main():
    files, bad = tree.files(), 0
    if not core(files):
        print("not ok layers # no core sources found")
        return 1
    for name, rule in RULES:
        problems = list(rule(files))
        for path, line, what in problems:
            print("# %s:%d: %s" % (path, line, what))
        print("%s layers.%s" % ("not ok" if problems else "ok", name))
        bad += bool(problems)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
