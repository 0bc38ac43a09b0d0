#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the harness: provokes each kind of failure and checks the reason for which the run fails.

Environment: KERNEL as for selftests/vm/run.py; CASES selects lines by the beginning of their names;
HARNESS_ONLY=K, on kernel K, leaves out the lines that also run on other kernels; RDS_SHARD=N
selects the sixth N modulo 6 of the expectations, and those in EVERY_TIME; after RDS_UNTIL no line
begins, and the lines left have failed.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.realpath(os.path.join(HERE, "..", ".."))
VM = os.path.join(TOP, "selftests", "vm")
sys.path.insert(0, VM)
import vmconf  # noqa: E402  pylint: disable=wrong-import-position

SIXTHS = 6
# Lines that run in every shard: a failure that comes once, one that comes again, one that is final,
# splats that are accepted in a guest of in-tree modules only, and a splat in a batch
EVERY_TIME = ("h-once", "h-twice", "h-splat-once", "h-intree-cache", "hb-notok+hb-warn+hb-fine")


def build(kernel):
    """Builds our modules, and those of the folder mod in build/mod/KERNEL-harness."""
    subprocess.run([os.path.join(VM, "fetch.sh"), kernel], check=True)
    out = os.path.join(vmconf.BUILD, "mod", kernel + "-harness")
    os.makedirs(out, exist_ok=True)
    for f in os.listdir(os.path.join(HERE, "mod")):
        shutil.copy2(os.path.join(HERE, "mod", f), out)
    # h-identity needs our modules: it loads in-tree ones and must notice that they are not ours.
    subprocess.run([os.path.join(VM, "build.sh"), kernel], check=False, stdin=subprocess.DEVNULL)
    with open(os.path.join(out, "build.log"), "w", encoding="utf-8") as log:
        subprocess.run([os.path.join(VM, "kmake.sh"), kernel, "-j2", "M=" + out, "modules"],
                       check=True, stdout=log, stderr=log)


def expectations(kernel):
    with open(os.path.join(HERE, "lines"), encoding="utf-8") as f:
        runs = {ln.split("|")[0].strip(): ln.split("|")[5].strip() for ln in f
                if ln.startswith(("h-", "hb-"))}
    words = os.environ.get("CASES", "").split()
    only_debug = os.environ.get("HARNESS_ONLY") == kernel
    shard = os.environ.get("RDS_SHARD")
    with open(os.path.join(HERE, "expect"), encoding="utf-8") as f:
        for n, ln in enumerate(f):
            if not ln.startswith(("h-", "hb-")):
                continue
            name, want, how, regexes = (p.strip() for p in ln.split("|", 3))
            if shard and n % SIXTHS != int(shard) % SIXTHS and name not in EVERY_TIME:
                continue
            kernels = {runs[n] for n in name.split("+")}
            if not kernels <= {"all", kernel} or (only_debug and kernel not in kernels):
                continue
            if not words or any(name.startswith(w) for w in words):
                yield name, want, how.split(), [r.strip() for r in regexes.split(" && ")]


def provoke(kernel, name, how):
    if time.time() > float(os.environ.get("RDS_UNTIL") or "inf"):
        return None, "not begun in time", 0
    env = dict(os.environ, KERNEL=kernel, CASES="", RDS_EXPECT_ALL="0")
    # RDS_PARALLEL is the number of runs that this script starts at the same time. Each run has one
    # line, or one batch, and must not wait for the slots of another.
    env.update(RDS_PARALLEL="1", RDS_UNTIL="", RDS_LEAKS="", RDS_BATCH="")
    # CI's variables for repeated runs and time limits must not change what a line does here.
    env.update(RDS_RETRY="", RDS_FLAKY="", RDS_END="", RDS_STOP="")
    env.update(h.split("=", 1) for h in how if re.match(r"[A-Z_]+=", h))
    # "=" selects by the whole name: some names are the beginning of others.
    words = " ".join("=" + n for n in name.split("+"))
    argv = [os.path.join(VM, "run.py"), "--kernel", kernel, "--no-build", "--cases", words,
            "--cases-file", os.path.join(HERE, "lines")]
    if "ELSEWHERE=1" in how:
        argv = [os.path.join(HERE, "elsewhere.sh"), kernel, name]
    began = time.monotonic()
    argv += [h for h in how if not re.match(r"[A-Z_]+=", h)]
    p = subprocess.run(argv, cwd=TOP, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, check=False)
    return p.returncode, p.stdout, time.monotonic() - began


def main():
    kernel = os.environ.get("KERNEL") or "6.12"
    build(kernel)
    passed = failed = 0
    with ThreadPoolExecutor(int(os.environ.get("RDS_PARALLEL") or 1)) as pool:
        jobs = [(e, pool.submit(provoke, kernel, e[0], e[2])) for e in expectations(kernel)]
        for (name, want, how, regexes), job in jobs:
            status, out, took = job.result()
            why = ["no /%s/" % r for r in regexes if not re.search(r, out, re.M)]
            if status != (0 if want == "pass" else 1):
                why.append("exit status %s" % status)
            label = " ".join(["harness.%s" % name] + how)
            print("%s %d %s%s (%.1f s)" % ("not ok" if why else "ok", passed + failed + 1, label,
                                           " # " + ", ".join(why) if why else "", took))
            if why:
                print("".join("#   %s\n" % ln for ln in out.splitlines()), end="")
            sys.stdout.flush()
            passed, failed = passed + (not why), failed + bool(why)
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
