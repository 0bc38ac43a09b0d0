#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""quiet.py SECONDS COMMAND: runs a shell command and ends it if it is silent for too long.

The command has a session of its own; its output is passed on. The time since its last output is
limited, not the whole time, because a slow machine is no failure. The exit status is the command's,
128 plus the signal that ended it, or 124 if it was silent for SECONDS: its process group then gets
SIGTERM, and SIGKILL 5 s later.
"""

import os
import select
import signal
import subprocess
import sys

LATE = 124
KILL_AFTER_S = 5


def pass_on(fd):
    """Writes what can be read from @fd at once to standard output; returns false at the end."""
    data = os.read(fd, 65536)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest):]
    return bool(data)


def drain(fd):
    """Passes on what is left in a pipe that other processes may hold open."""
    os.set_blocking(fd, False)
    try:
        while pass_on(fd):
            pass
    except BlockingIOError:
        pass


def end(p):
    """Ends the process group of @p."""
    try:
        os.killpg(p.pid, signal.SIGTERM)
        p.wait(KILL_AFTER_S)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
    except ProcessLookupError:
        p.wait()


def watch(p, seconds):
    """Passes on what @p prints until it exits; returns false if it was silent for @seconds."""
    out, done = p.stdout.fileno(), os.pidfd_open(p.pid)
    poll = select.poll()
    poll.register(out, select.POLLIN)
    poll.register(done, select.POLLIN)
    while True:
        ready = dict(poll.poll(seconds * 1000))
        if out in ready and not pass_on(out):
            poll.unregister(out)
        if done in ready:
            return True
        if not ready:
            return False


def main():
    seconds, command = int(sys.argv[1]), sys.argv[2]
    with subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          start_new_session=True) as p:
        in_time = watch(p, seconds)
        if not in_time:
            end(p)
        drain(p.stdout.fileno())
        code = p.wait()
    if not in_time:
        return LATE
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
