#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The harness's own test: provokes each kind of failure for real and sees the run fail for the right
reason. KERNEL as for the runner; CASES selects by beginning of a line's name."""

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


def build(kernel):
    """The hurting modules, in a folder of their own beside ours."""
    subprocess.run([os.path.join(VM, "fetch.sh"), kernel], check=True)
    kdir = subprocess.run([os.path.join(VM, "fetch.sh"), "--kdir", kernel], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()
    out = os.path.join(TOP, "build", "mod", kernel + "-harness")
    os.makedirs(out, exist_ok=True)
    for f in os.listdir(os.path.join(HERE, "mod")):
        shutil.copy2(os.path.join(HERE, "mod", f), out)
    # Ours are wanted by the line that finds a foreign module in their place.
    subprocess.run([os.path.join(VM, "build.sh"), kernel], check=False, stdin=subprocess.DEVNULL)
    with open(os.path.join(out, "build.log"), "w", encoding="utf-8") as log:
        subprocess.run(["make", "-j2", "-C", kdir, "M=" + out, "CONFIG_DEBUG_INFO_BTF_MODULES=",
                        "modules"], check=True, stdout=log, stderr=log)


def expectations(kernel):
    with open(os.path.join(HERE, "lines"), encoding="utf-8") as f:
        runs = {ln.split("|")[0].strip(): ln.split("|")[5].strip() for ln in f
                if ln.startswith("h-")}
    words = os.environ.get("CASES", "").split()
    only_debug = os.environ.get("HARNESS_ONLY") == kernel
    with open(os.path.join(HERE, "expect"), encoding="utf-8") as f:
        for ln in f:
            if not ln.startswith("h-"):
                continue
            name, want, how, regexes = (p.strip() for p in ln.split("|", 3))
            if runs[name] not in ("all", kernel) or (only_debug and runs[name] != kernel):
                continue
            if not words or any(name.startswith(w) for w in words):
                yield name, want, how.split(), [r.strip() for r in regexes.split(" && ")]


def provoke(kernel, name, how):
    env = dict(os.environ, KERNEL=kernel, CASES="", RDS_EXPECT_ALL="0")
    # A runner here must not wait for the slots of one it runs beside.
    env.update(RDS_PARALLEL="1", RDS_UNTIL="", RDS_LEAKS="")
    env.update(h.split("=", 1) for h in how if re.match(r"[A-Z_]+=", h))
    argv = [os.path.join(VM, "run.py"), "--kernel", kernel, "--no-build", "--cases", name,
            "--cases-file", os.path.join(HERE, "lines")]
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
                why.append("exit status %d" % status)
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
