# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One guest: its initramfs, its QEMU command and its output."""

import math
import os
import secrets
import shlex
import socket
import subprocess
import time

import tsc
import vmconf
from vmconf import BUILD, TOP

# Without KVM a guest under load boots in about 4 s; on a busy machine it takes longer.
BOOT_S = 90
# After its command a guest unloads the modules, waits for namespaces to end and scans for leaks.
CHECKS_S = 150
KERNEL_ARGS = ("console=ttyS0 loglevel=5 panic=-1 oops=panic mitigations=off slab_nomerge "
               "random.trust_cpu=on no_timer_check tsc=nowatchdog "
               "rcupdate.rcu_cpu_stall_timeout=300 watchdog_thresh=60 net.ifnames=0 maxcpus=1")
MAC = "52:54:00:%02x:00:%02x"


def accel_args(accel, cpus):
    if cpus == "icount":
        return ["-cpu", "max,-erms,-fsrm", "-accel", "tcg,thread=single",
                "-icount", "shift=0,sleep=off", "-smp", "1"]
    if accel == "kvm":
        return ["-cpu", "host", "-accel", "kvm", "-smp", cpus]
    return ["-cpu", "max,-erms,-fsrm", "-accel", "tcg,thread=multi", "-smp", cpus]


def host_scale():
    """Factor on time limits, from the load of the machine."""
    return min(2.5, max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)) - 0.5))


def base_archive(kernel):
    """Path of the cached part of the initramfs, rebuilt when one of its sources is newer."""
    path = os.path.join(BUILD, "vm", "base-%s.cpio" % kernel.name)
    sources = [os.path.join(vmconf.VM, f) for f in ("init", "vmconf.py")]
    sources += ["/bin/busybox", kernel.vmlinuz]
    with vmconf.Lock("base.lock"):
        newest = max(os.stat(s).st_mtime for s in sources)
        if not os.path.exists(path) or os.stat(path).st_mtime < newest:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path + ".new", "wb") as f:
                f.write(vmconf.cpio(vmconf.base_files(kernel)))
            os.rename(path + ".new", path)
    return path


def shell_text(env):
    return "".join("%s=%s\n" % (k, shlex.quote(v)) for k, v in sorted(env.items())).encode()


def listen(path):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen(1)
    return s


class Channel:
    """One of a guest's two ports: splits its output into lines."""

    def __init__(self, path):
        self.server, self.conn = listen(path), None
        self.rest = b""

    def fileno(self):
        return (self.conn or self.server).fileno()

    def readable(self):
        """Reads once; returns the new lines, or None at end of file."""
        if not self.conn:
            self.conn = self.server.accept()[0]
            self.server.close()
            return []
        data = self.conn.recv(65536)
        if not data:
            return self.add(b"\n") if self.rest else None
        return self.add(data)

    def add(self, data):
        *whole, self.rest = (self.rest + data).split(b"\n")
        return [w.decode("utf-8", "replace").rstrip("\r") for w in whole]

    def tell(self, word):
        """Answers the guest. The guest may be gone, which its exit shows."""
        try:
            self.conn.sendall(word.encode() + b"\n")
        except OSError:
            pass

    def close(self):
        for s in (self.conn, self.server):
            if s:
                s.close()


class Part:
    """What a guest says and what its kernel prints during one line. verdicts.py judges it; only the
    guest's methods write it, and watch() in run.py."""

    def __init__(self, guest, line, logname):
        self.name, self.stack, self.slow, self.line = guest.name, guest.stack, guest.slow, line
        self.logname, self.log = logname, None
        self.head = guest.head
        self.console, self.results, self.failures = [], [], []
        self.began = self.started = self.ended = self.exit = self.taint = None
        self.timed_out = self.cut = False
        # The kernel's lines from this one on are not judged.
        self.judged = self.qemu_err = None
        self.echoed = 0

    def begin(self):
        self.began = self.began or time.monotonic()

    def write(self, text):
        """Adds to the line's log. A line that does not begin leaves the log of its last run."""
        if not self.log:
            self.log = open(self.logname, "w", buffering=1, encoding="utf-8")
            self.log.write(self.head)
        self.log.write(text + "\n")

    def spoiled(self):
        """Did the checks find the guest in another state than before the line?"""
        return bool(self.failures or self.timed_out or self.taint)

    def took(self):
        return (self.ended or time.monotonic()) - self.began if self.began else 0.0

    def waited(self, guest):
        """Seconds from the guest's start to the line's begin."""
        return (self.began or time.monotonic()) - guest.born

    def close(self):
        if self.log:
            self.log.close()


class Guest:
    """A guest that runs its lines one after the other. A guest with several lines, a batch, has one
    more part than lines: the last one, closing, has what no single line answers for."""

    def __init__(self, name, kernel, stack, lines, opts, scratch, log):
        """@log: the path of the log of a line, by the name of the line"""
        line = lines[0]
        self.name, self.kernel, self.stack, self.line, self.opts = name, kernel, stack, line, opts
        self.dir = os.path.join(scratch, name)
        os.mkdir(self.dir)
        self.nonce = secrets.token_hex(6)
        self.proc, self.head = None, ""
        # kmemleak doubles the time of a guest.
        self.leaks = opts.leaks is None or line.selected(opts.leaks)
        # At most 6 (or the kernel's factor): with larger limits one line that hangs takes an hour.
        self.slow = min(max(6, kernel.slow), kernel.slow * (opts.timeout_scale or host_scale()))
        # With icount, guest time runs ahead whenever the guest waits for the host.
        self.guest_slow = 1000 if line.cpus == "icount" else math.ceil(self.slow)
        self.parts = [Part(self, ln, log(ln.name)) for ln in lines]
        self.closing = self.parts[0]
        if len(lines) > 1:
            self.closing = Part(self, line, log("batch-" + line.name))
        # The parts to which the results and the kernel's lines that arrive now belong. The two
        # ports are not in step: each has marks of its own.
        self.part = self.kernel_part = self.parts[0]

    # ---- initramfs and QEMU command

    def modules(self):
        """{set: {module: bytes}} of the modules that this guest needs; a set is ours or intree."""
        sets = {}
        if self.stack in ("ours", "none"):
            sets["ours"] = self.kernel.ours()
        if self.stack.startswith("intree") or self.stack == "none":
            sets["intree"] = self.kernel.intree()
        return sets

    def env(self, sets):
        e = {
            "RDS_TOP": vmconf.GUEST_TOP, "RDS_BIN": vmconf.GUEST_TOP + "/build/bin",
            "RDS_HOST_TOP": TOP, "RDS_HOST_BUILD": BUILD,
            "RDS_STACK": "intree" if self.stack.startswith("intree") else self.stack,
            "RDS_GUEST": self.name, "RDS_LOAD": self.load(), "RDS_KERNEL": self.kernel.name,
            "RDS_KROOT": self.kernel.root, "RDS_NONCE": self.nonce,
            "RDS_LINES": str(len(self.parts)), "RDS_SLOW": str(self.guest_slow),
            "RDS_HUNG_S": str(45 * self.guest_slow if self.guest_slow < 1000 else 0),
            "RDS_LEAKS": "1" if self.leaks else "",
            "RDS_EXPECT_ALL": os.environ.get("RDS_EXPECT_ALL", ""),
            "RDS_CPUS": self.line.cpus, "RDS_ARGS": os.environ.get("RDS_ARGS", ""),
            # A debug kernel executes several times as many instructions.
            "RDS_JUDGED": "1" if self.line.cpus == "icount" and self.kernel.slow == 1 else "",
        }
        for s, mods in sets.items():
            # rds_rdma and rds_stream are loaded only by lines that ask for them, see
            # selftests/rdma/rdma.sh and selftests/stream/stream.sh.
            for var, names in (("", ("rds", "rds_tcp")),
                               ("_rdma", ("rds_dev", "rds_rdma", "rds_stream"))):
                e["RDS_MODS_" + s + var] = " ".join("%s:%s" % (m, vmconf.identity(mods[m]))
                                                    for m in names if m in mods)
        e["RDS_MODULES"] = "" if self.stack == "none" else "1"
        e["RDS_MODDIR"] = "/run/rds/mod/" + ("intree" if e["RDS_STACK"] == "intree" else "ours")
        if self.line.guests == 2:
            e.update(self.addresses())
        if self.line.shell:
            e["RDS_SHELL"] = "1"
        return e

    def line_env(self, line):
        """The part of the environment that differs from line to line."""
        return {"RDS_LINE": line.name, "RDS_COMMAND": line.command, "RDS_TRY": str(line.attempt),
                "RDS_TIMEOUT": str(line.timeout * self.guest_slow)}

    def addresses(self):
        me, peer = (1, 2) if self.name == "a" else (2, 1)
        return {
            "RDS_SELF4": "10.9.0.%d" % me, "RDS_PEER4": "10.9.0.%d" % peer,
            "RDS_SELF6": "fd00:9::%d" % me, "RDS_PEER6": "fd00:9::%d" % peer,
            "RDS_CTLSELF": "192.168.77.%d" % me, "RDS_CTLPEER": "192.168.77.%d" % peer,
            "RDS_MAC0": MAC % (9, me), "RDS_MAC1": MAC % (77, me),
        }

    def initrd(self):
        sets = self.modules()
        files = [("job/env", 0o100644, shell_text(self.env(sets)))]
        files += [("job/line.%d" % n, 0o100644, shell_text(self.line_env(p.line)))
                  for n, p in enumerate(self.parts, 1)]
        for s, mods in sets.items():
            files += [("job/mod/%s/%s.ko" % (s, m), 0o100644, d) for m, d in mods.items()]
        path = os.path.join(self.dir, "initrd")
        with open(path, "wb") as out:
            with open(base_archive(self.kernel), "rb") as f:
                out.write(f.read())
            out.write(vmconf.cpio(files))
        return path

    def load(self):
        """A kernel with checkers takes about ten times as long: there ci becomes light."""
        slow = self.kernel.slow > 1 and self.opts.load == "ci"
        return "light" if slow else self.opts.load

    def memory(self):
        return 2048 if self.kernel.slow > 1 else 1280

    def command(self, links):
        # --pdeathsig: a guest ends when its runner is killed.
        argv = ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-nodefaults",
                "-no-user-config", "-display", "none", "-no-reboot", "-machine", "q35",
                "-m", str(self.memory())] + self.dma_devices()
        argv += accel_args(self.opts.accel, self.line.cpus)
        args = KERNEL_ARGS + (" nowatchdog" if self.line.cpus == "icount" else "")
        if self.opts.accel == "tcg" and self.line.cpus != "icount" and tsc.khz():
            args += " tsc_early_khz=%d" % tsc.khz()
        if not self.leaks:
            args += " kmemleak=off"
        args += " " + self.line.kernel_args
        argv += ["-kernel", self.kernel.vmlinuz, "-initrd", self.initrd(), "-append", args]
        argv += ["-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap",
                 "-device", "virtio-9p-pci,fsdev=host,mount_tag=host",
                 "-device", "virtio-serial-pci"]
        if self.line.shell:
            argv += ["-chardev", "stdio,id=con,signal=off,mux=on", "-serial", "chardev:con",
                     "-mon", "chardev=con"]
        else:
            argv += ["-chardev", "socket,id=con,path=" + self.path("con"),
                     "-serial", "chardev:con",
                     "-chardev", "socket,id=ver,path=" + self.path("ver"),
                     "-device", "virtserialport,chardev=ver,name=verdict",
                     "-qmp", "unix:%s,server=on,wait=off" % self.path("qmp")]
        for n, link in enumerate(links):
            mac = MAC % ((9, 77)[n], 1 if self.name == "a" else 2)
            role = "on" if self.name == "a" else "off"
            argv += ["-netdev", "stream,id=n%d,server=%s,addr.type=unix,addr.path=%s"
                     % (n, role, link),
                     "-device", "%s,netdev=n%d,mac=%s,romfile=" % (self.nic(n), n, mac)]
        return argv

    def dma_devices(self):
        """The PCI device to which rxe-dma maps memory, behind an IOMMU if the kernel is to use one.
        The virtio devices stay outside of the IOMMU."""
        argv = []
        if "intel_iommu=on" in self.line.kernel_args:
            argv += ["-device", "intel-iommu,intremap=off"]
        if "rxe-dma" in self.line.command:
            argv += ["-device", "edu"]
        return argv

    def nic(self, n):
        """The model of interface n. Under rxe the packets' pages must not come from a page pool, as
        those of virtio_net do on 7.3: Documentation/rdma.rst has the fault."""
        under_rxe = n == 0 and ("rdma" in self.line.name or "rxe" in self.line.name)
        return "e1000" if under_rxe and self.kernel.name.startswith("7.") else "virtio-net-pci"

    def path(self, what):
        return os.path.join(self.dir, what)

    # ---- the running guest

    def start(self, links):
        self.console, self.verdict = Channel(self.path("con")), Channel(self.path("ver"))
        argv = self.command(links)
        head = "# %s\n" % " ".join(shlex.quote(a) for a in argv)
        for p in self.parts + [self.closing]:
            p.head = head if p is self.parts[0] else (
                "# in one guest with %s, which booted for it: see %s\n" % (
                    self.line.name, os.path.relpath(self.parts[0].logname, TOP)))
        self.part.write("# begins")
        with open(self.path("qemu.err"), "w", encoding="utf-8") as err:
            self.proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=err, stderr=err)
        self.born, self.last = time.monotonic(), math.inf
        self.allow(BOOT_S * self.slow)

    def take(self, channel):
        """Reads from one port; returns false when the port is closed."""
        new = channel.readable()
        for line in new or ():
            if channel is self.verdict:
                self.verdict_line(line)
            else:
                self.console_line(line)
        return new is not None

    def marked(self, word, rest):
        """The part that begins with a mark of the guest, or None for other words."""
        if word == "line":
            return self.parts[int(rest) - 1]
        return self.closing if word == "close" else None

    def console_line(self, line):
        # The kernel puts a time in front.
        _, mark, text = line.partition("@%s " % self.nonce)
        word, _, rest = text.partition(" ")
        part = self.marked(word, rest) if mark else None
        if part:
            part.begin()
            self.kernel_part = part
        self.kernel_part.write(line)
        self.kernel_part.console.append(line)

    def verdict_line(self, line):
        mark = "@%s " % self.nonce
        word, _, rest = line[len(mark):].partition(" ") if line.startswith(mark) else ("", "", "")
        part = self.marked(word, rest)
        if part:
            part.begin()
            self.part = part
            self.allow((CHECKS_S if word == "close" else BOOT_S) * self.slow)
        self.part.write("    | " + line)
        if word:
            self.heard(word, rest)
        else:
            self.part.results.append(line)
            self.goes_ahead()

    def goes_ahead(self):
        """The command under way printed something: its time limit begins anew, as in quiet.py."""
        part = self.part
        if part.started is not None and part.exit is None:
            self.allow((part.line.timeout + 20) * self.slow)

    def heard(self, word, rest):
        """Notes one message of guest.sh about the part under way."""
        part = self.part
        if word == "start":
            part.started = time.monotonic()
            self.allow((part.line.timeout + 20) * self.slow)
        elif word == "exit":
            part.exit = int(rest)
            self.allow(CHECKS_S * self.slow)
        elif word == "fail":
            part.failures.append(rest)
        elif word == "timeout":
            part.timed_out = True
        elif word == "taint":
            part.taint = (part.taint or 0) | int(rest)
        elif word == "done" and part is not self.closing:
            part.ended = time.monotonic()
        elif word == "next":
            self.allow(20 * self.slow)
            self.verdict.tell("go" if self.goes_on() else "end")
        elif word == "end":
            part.ended = time.monotonic()
            self.allow(20 * self.slow)

    def goes_on(self):
        """May the next line of a batch begin here?  Not in a guest that a line has changed."""
        return not self.part.spoiled() and time.time() <= self.opts.until

    def allow(self, seconds):
        """Sets the deadline of the next stage. orphan() bounds all deadlines of a guest whose peer
        ended."""
        self.deadline = min(time.monotonic() + seconds, self.last)

    def orphan(self, seconds):
        self.last = min(self.last, time.monotonic() + seconds)
        self.deadline = min(self.deadline, self.last)

    def expired(self):
        return time.monotonic() > self.deadline

    def backtrace(self):
        """Makes a guest that hangs show where: an NMI makes it panic with a trace. The panic is
        logged but not judged."""
        self.kernel_part.judged = len(self.kernel_part.console)
        try:
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(3)
            s.connect(self.path("qmp"))
            s.recv(4096)
            for cmd in ("qmp_capabilities", "inject-nmi"):
                s.sendall(b'{"execute": "%s"}\n' % cmd.encode())
                s.recv(4096)
            s.close()
        except OSError:
            pass

    def stop(self):
        if self.proc and self.proc.poll() is None:
            self.proc.kill()
        if self.proc:
            self.proc.wait()
            with open(self.path("qemu.err"), encoding="utf-8") as f:
                err = f.read().strip()
            if err:
                self.part.write("# qemu: %s" % err)
                self.part.qemu_err = err
            for c in (self.console, self.verdict, *self.parts, self.closing):
                c.close()
