# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""inguest.py JOBS: loads the modules of each job, runs its command and prints the results of its
cases.

It prints a line "# verdict {...}" for each job. When a job leaves the guest in another state than
before (modules that cannot be unloaded, pinned pages, a splat), it switches the guest off, because
later jobs would prove nothing.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

SLOW = int(os.environ.get("RDS_SLOW") or 1)
SPLAT = re.compile(r"WARNING: |BUG: |BUG \w|Oops|kmem_cache_destroy|possible circular|refcount_t")
LOADED = "/run/rds/mod/ours"
NETNS = "/run/netns"
UNLOAD_S = 30           # limit for the removal of the modules


def shell(text, **env):
    """Runs a shell command that can use the functions of selftests/lib/stack.sh."""
    return subprocess.run(["sh", "-c", ". selftests/lib/stack.sh; " + text], check=False,
                          env=dict(os.environ, **env), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def put(name, **fields):
    print("# verdict " + json.dumps(dict(fields, name=name)), flush=True)


def load(job):
    shutil.rmtree(LOADED, ignore_errors=True)
    shutil.copytree(job["dir"], LOADED)
    return shell("load_stack ours", RDS_MODS_ours=job["mods"])


def unload():
    if os.path.isdir(NETNS):
        for n in os.listdir(NETNS):
            subprocess.run(["ip", "netns", "del", n], check=False, stdin=subprocess.DEVNULL)
    # A removal that hangs in the kernel cannot be killed: do not wait for it.
    p = subprocess.Popen(["sh", "-c", ". selftests/lib/stack.sh; unload_stack 15"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    try:
        return p.wait(UNLOAD_S * SLOW) == 0
    except subprocess.TimeoutExpired:
        return False


def failed(job):
    """Has the case of a patch failed, so that the rest of its line shows nothing?"""
    with open("/tmp/job.out", encoding="utf-8", errors="replace") as f:
        return job.get("patch") and job["mode"] != "log" and any(
            re.match(r"not ok (\d+ )?%s(\s|$)" % re.escape(c), text)
            for text in f for c in job["cases"])


def command(job):
    """Runs the job's command in a process group; returns its lines, and whether it ended in
    time."""
    env = dict(os.environ, RDS_STACK="ours", RDS_MODS_ours=job["mods"])
    with open("/tmp/job.out", "w+", encoding="utf-8", errors="replace") as out:
        p = subprocess.Popen(["sh", "-c", job["command"]], env=env, stdin=subprocess.DEVNULL,
                             stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        end, ended = time.monotonic() + job["timeout"] * SLOW, False
        while not ended and time.monotonic() < end:
            try:
                p.wait(1)
                ended = True
            except subprocess.TimeoutExpired:
                ended = failed(job)
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if not ended:
            try:
                p.wait(5 * SLOW)
            except subprocess.TimeoutExpired:
                pass
        out.seek(0)
        return out.read().splitlines(), ended


def results(job, lines, ended):
    found = {}
    for text in lines:
        m = re.match(r"(not ok|ok) (?:\d+ )?(\S+)(.*)", text)
        if m and m.group(2) in job["cases"]:
            word = "fail" if m.group(1) == "not ok" else "skip" if "# SKIP" in m.group(3) else "pass"
            found[m.group(2)] = (word, "not ok" if word == "fail" else word)
    for c in job["cases"]:
        if c not in found and not ended:
            found[c] = ("late", "no end in time")
    return found


def pinned():
    """Number of pinned pages. Lines on remote memory expect 0 at their end, so none may be left."""
    with open("/proc/sys/vm/stat_refresh", encoding="ascii") as f:
        f.read()
    with open("/proc/vmstat", encoding="ascii") as f:
        v = dict(text.split() for text in f)
    return int(v.get("nr_foll_pin_acquired", 0)) - int(v.get("nr_foll_pin_released", 0))


class Log:
    """The kernel's messages from the creation of this object on."""

    def __init__(self):
        self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)

    def splat(self):
        while True:
            try:
                text = os.read(self.fd, 8192).decode("utf-8", "replace")
            except BlockingIOError:
                return None
            except BrokenPipeError:
                continue
            m = SPLAT.search(text)
            if m:
                return text.partition(";")[2].split("\n")[0].strip()


def run(job):
    """Runs a job; returns whether the guest is in the same state as before."""
    log = Log()
    loaded = load(job)
    if loaded.returncode:
        put(job["name"], all="silent", why="does not load: " + loaded.stdout.strip()[-200:])
        return unload()
    lines, ended = command(job)
    found = results(job, lines, ended)
    why = " / ".join(lines[-3:])[-300:]
    if job["mode"] != "log":
        put(job["name"], results=found, why=why)
        return unload() and not pinned()
    # Mode "log": the kernel reports the fault only when the modules are unloaded.
    clean, splat = unload(), log.splat()
    if splat or not clean:
        put(job["name"], all="log", why="the kernel: " + splat if splat else "cannot be unloaded")
        return False
    put(job["name"], results=found, why=why)
    return True


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        jobs = json.load(f)
    print("1..%d" % len(jobs), flush=True)
    for n, job in enumerate(jobs, 1):
        print("# begin " + job["name"], flush=True)
        start = time.monotonic()
        clean = run(job)
        print("# %s took %.1f s" % (job["name"], time.monotonic() - start))
        print("ok %d %s" % (n, job["name"]), flush=True)
        if not clean:
            # Switch off by sysrq: a regular end of this guest could hang.
            with open("/proc/sysrq-trigger", "w", encoding="ascii") as f:
                f.write("o")
            signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
