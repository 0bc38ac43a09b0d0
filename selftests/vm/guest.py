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


def listen(path):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen(1)
    return s


class Channel:
    """One of a guest's two ports: splits its output into lines and writes them to the log."""

    def __init__(self, path, log, prefix):
        self.server, self.conn = listen(path), None
        self.log, self.prefix = log, prefix
        self.part, self.lines = b"", []

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
            if self.part:
                return self.add(b"\n")
            return None
        return self.add(data)

    def add(self, data):
        *whole, self.part = (self.part + data).split(b"\n")
        new = [w.decode("utf-8", "replace").rstrip("\r") for w in whole]
        for n in new:
            self.log.write(self.prefix + n + "\n")
        self.lines += new
        return new

    def close(self):
        for s in (self.conn, self.server):
            if s:
                s.close()


class Guest:
    def __init__(self, name, kernel, stack, line, opts, scratch, log):
        self.name, self.kernel, self.stack, self.line, self.opts = name, kernel, stack, line, opts
        self.dir = os.path.join(scratch, name)
        os.mkdir(self.dir)
        self.logname = log
        self.nonce = secrets.token_hex(6)
        self.proc, self.failures, self.results, self.plan = None, [], [], None
        self.started = self.ended = self.exit = self.taint = None
        self.timed_out = self.booted = self.cut = False
        self.judged = None
        # kmemleak doubles the time of a guest.
        self.leaks = opts.leaks is None or line.selected(opts.leaks)
        # At most 6 (or the kernel's factor): with larger limits one line that hangs takes an hour.
        self.slow = min(max(6, kernel.slow), kernel.slow * (opts.timeout_scale or host_scale()))
        # With icount, guest time runs ahead whenever the guest waits for the host.
        self.guest_slow = 1000 if line.cpus == "icount" else math.ceil(self.slow)

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
            "RDS_GUEST": self.name, "RDS_LOAD": self.opts.load, "RDS_KERNEL": self.kernel.name,
            "RDS_KROOT": self.kernel.root, "RDS_NONCE": self.nonce,
            "RDS_COMMAND": self.line.command, "RDS_SLOW": str(self.guest_slow),
            "RDS_TIMEOUT": str(self.line.timeout * self.guest_slow),
            "RDS_HUNG_S": str(45 * self.guest_slow if self.guest_slow < 1000 else 0),
            "RDS_LEAKS": "1" if self.leaks else "",
            "RDS_EXPECT_ALL": os.environ.get("RDS_EXPECT_ALL", ""),
            "RDS_TRY": str(self.line.attempt),
            "RDS_CPUS": self.line.cpus, "RDS_ARGS": os.environ.get("RDS_ARGS", ""),
        }
        for s, mods in sets.items():
            # rds_rdma is loaded only by lines that ask for it, see selftests/rdma/rdma.sh.
            for var, names in (("", ("rds", "rds_tcp")), ("_rdma", ("rds_rdma",))):
                e["RDS_MODS_" + s + var] = " ".join("%s:%s" % (m, vmconf.identity(mods[m]))
                                                    for m in names if m in mods)
        e["RDS_MODULES"] = "" if self.stack == "none" else "1"
        e["RDS_MODDIR"] = "/run/rds/mod/" + ("intree" if e["RDS_STACK"] == "intree" else "ours")
        if self.line.guests == 2:
            e.update(self.addresses())
        if self.line.shell:
            e["RDS_SHELL"] = "1"
        return e

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
        env = "".join("%s=%s\n" % (k, shlex.quote(v)) for k, v in sorted(self.env(sets).items()))
        files = [("job/env", 0o100644, env.encode())]
        for s, mods in sets.items():
            files += [("job/mod/%s/%s.ko" % (s, m), 0o100644, d) for m, d in mods.items()]
        path = os.path.join(self.dir, "initrd")
        with open(path, "wb") as out:
            with open(base_archive(self.kernel), "rb") as f:
                out.write(f.read())
            out.write(vmconf.cpio(files))
        return path

    def memory(self):
        return 2048 if self.kernel.name == "debug" else 1280

    def command(self, links):
        # --pdeathsig: a guest ends when its runner is killed.
        argv = ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-nodefaults",
                "-no-user-config", "-display", "none", "-no-reboot", "-machine", "q35",
                "-m", str(self.memory())]
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
                     "-device", "virtio-net-pci,netdev=n%d,mac=%s,romfile=" % (n, mac)]
        return argv

    def path(self, what):
        return os.path.join(self.dir, what)

    # ---- the running guest

    def start(self, links):
        self.log = open(self.logname, "w", buffering=1, encoding="utf-8")
        self.console = Channel(self.path("con"), self.log, "")
        self.verdict = Channel(self.path("ver"), self.log, "    | ")
        argv = self.command(links)
        self.log.write("# %s\n" % " ".join(shlex.quote(a) for a in argv))
        with open(self.path("qemu.err"), "w", encoding="utf-8") as err:
            self.proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=err, stderr=err)
        self.last = math.inf
        self.allow(BOOT_S * self.slow)

    def take(self, channel):
        """Reads from one port; returns false when the port is closed."""
        new = channel.readable()
        if channel is self.verdict:
            for line in new or ():
                self.verdict_line(line)
        return new is not None

    def verdict_line(self, line):
        mark = "@%s " % self.nonce
        if not line.startswith(mark):
            self.results.append(line)
            return
        word, _, rest = line[len(mark):].partition(" ")
        now = time.monotonic()
        if word == "booted":
            self.booted = True
        elif word == "start":
            self.started = now
            self.allow((self.line.timeout + 20) * self.slow)
        elif word == "exit":
            self.exit = int(rest)
            self.allow(CHECKS_S * self.slow)
        elif word == "fail":
            self.failures.append(rest)
        elif word == "timeout":
            self.timed_out = True
        elif word == "taint":
            self.taint = int(rest)
        elif word == "end":
            self.ended = now
            self.allow(20 * self.slow)

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
        self.judged = len(self.console.lines)
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
                self.log.write("# qemu: %s\n" % err)
                self.qemu_err = err
            for c in (self.console, self.verdict):
                c.close()
            self.log.close()
