#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compiles every header by itself.

headers.py BUILT KDIR: our modules were built in the tree BUILT with the kernel headers KDIR. The
command that compiled main.o there is run again with each header of the kernel code instead of
main.c. Headers of programs are compiled with the include path of their Makefile.
"""
import concurrent.futures
import os
import re
import shlex
import subprocess
import sys

import tree

USER = ["gcc", "-std=gnu11", "-fsyntax-only", "-D_GNU_SOURCE"]
SHADOW = "include/compat/"
OURS = ("net/", "include/net/", "include/trace/", "include/uapi/")
# Headers of modules that only tests build
TESTS = ("selftests/vm/rxe-dma/", "selftests/rdma/twin.h")


def kernel_command(built):
    """(directory, words) that compiled net/rds/main.o, without input, output and dependencies."""
    with open(os.path.join(built, "net/rds/.main.o.cmd")) as f:
        line = re.sub(r"^(saved)?cmd_\S+ := ", "", f.readline())
    words = shlex.split(line.split(" ; ")[0])
    keep, skip = [], False
    for w in words:
        if skip:
            skip = False
        elif w == "-o":
            skip = True
        elif not w.startswith("-Wp,-MMD") and w != "-c" and not w.endswith("/main.c"):
            keep.append(w)
    return keep + ["-fsyntax-only"]


def command(header, built, kernel):
    if header.startswith(TESTS):
        return kernel, os.path.join(tree.TOP, header)
    if header.startswith(OURS):
        # The copy of the header in BUILT: the command's include paths lead there.
        return kernel, os.path.join(built, header)
    here = os.path.dirname(header)
    paths = [here, "selftests/lib", "tools/lib", "include/uapi", "net/rds", "include"]
    return USER + ["-I" + os.path.join(tree.TOP, p) for p in paths], os.path.join(tree.TOP, header)


def compile_alone(header, built, kernel, kdir):
    cmd, path = command(header, built, kernel)
    probe = '#include "%s"\n' % path
    r = subprocess.run(cmd + ["-x", "c", "-"], input=probe, text=True, cwd=kdir,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return header, r.returncode, r.stdout


def main():
    built, kdir = os.path.abspath(sys.argv[1]), sys.argv[2]
    kernel = kernel_command(built)
    headers = [f.path for f in tree.files() if f.ext == ".h" and not f.path.startswith(SHADOW)]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(compile_alone, h, built, kernel, kdir) for h in headers]
        for job in jobs:
            header, rc, out = job.result()
            if rc:
                bad += 1
                print("# %s does not compile alone\n# %s" % (header, "\n# ".join(out.splitlines()[:6])))
    ok = headers and not bad
    print("%s lint.headers_compile_alone, %d headers" % ("ok" if ok else "not ok", len(headers)))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
