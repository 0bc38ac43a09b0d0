# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The namespaces of the wire tests, and helpers of every test.

Namespace A holds the module under test. Namespace B is the test's: every network namespace has the
module's own listener on TCP port 16385, so B's interface sits in a VRF, where unbound listeners get
no connections and a socket bound to the VRF device may own port 16385. On a kernel without VRFs the
port is rewritten instead (RDS_WIRE_NAT=1 asks for this anywhere). Namespace C is a second,
well-behaved peer that uses the module.
"""
import collections
import ctypes
import errno
import fcntl
import os
import socket
import struct
import subprocess
import time

RDS_TCP_PORT = 16385
STACK = os.environ.get('RDS_STACK', 'intree')
OURS = STACK == 'ours'
LOAD = os.environ.get('RDS_LOAD', 'ci')
# Guests run emulated; with KASAN and lockdep they are several times slower still.
SLOW = float(os.environ.get('RDS_SLOW') or 1)
# Does the guest's clock count instructions? Only then does a duration say the same on every host.
ICOUNT = os.environ.get('RDS_CPUS') == 'icount'
# Is the kernel also one that users run? A debug kernel executes several times as many instructions.
JUDGED = bool(os.environ.get('RDS_JUDGED'))

A4, A6 = '10.0.0.100', 'fd00::100'
AC4, C4 = '10.2.0.100', '10.2.0.1'
VRF = 'vr'

libc = ctypes.CDLL(None, use_errno=True)


class Fail(Exception):
    """The thing under test did not do what it should."""


def check(cond, fmt, *args):
    if not cond:
        raise Fail(fmt % args if args else fmt)


def equal(got, want, what):
    check(got == want, '%s is %r, not %r', what, got, want)


def log(fmt, *args):
    print('# ' + (fmt % args if args else fmt), flush=True)


def bound(cond, fmt, *args):
    """A bound in time, for guest time without a factor: judged where JUDGED, printed elsewhere."""
    if JUDGED or cond:
        check(cond, fmt, *args)
    else:
        log(fmt, *args)


class Deadline:
    def __init__(self, seconds):
        self.end = time.monotonic() + seconds * SLOW

    def left(self):
        return max(0.0, self.end - time.monotonic())

    def over(self):
        return time.monotonic() >= self.end


def eventually(fn, what, seconds=3.0, step=0.005):
    """Poll fn until it returns a true value; return that value."""
    end = Deadline(seconds)
    while True:
        got = fn()
        if got:
            return got
        check(not end.over(), '%s did not happen within %.1f s', what, seconds)
        time.sleep(step)


# --- namespaces -----------------------------------------------------------------------------------

CLONE_NEWNET = 0x40000000


def libc_call(name, *args):
    got = getattr(libc, name)(*args)
    if got < 0:
        err = ctypes.get_errno()
        raise OSError(err, '%s: %s' % (name, os.strerror(err)))
    return got


class Netns:
    """A network namespace held by a descriptor; `with ns:` enters it (this thread only)."""

    def __init__(self, fd, name=None):
        self.fd, self.name, self.back = fd, name, []

    @classmethod
    def named(cls, name):
        return cls(os.open('/run/netns/' + name, os.O_RDONLY | os.O_CLOEXEC), name)

    @classmethod
    def fresh(cls):
        here = os.open('/proc/thread-self/ns/net', os.O_RDONLY | os.O_CLOEXEC)
        try:
            libc_call('unshare', CLONE_NEWNET)
            return cls(os.open('/proc/thread-self/ns/net', os.O_RDONLY | os.O_CLOEXEC))
        finally:
            libc_call('setns', here, CLONE_NEWNET)
            os.close(here)

    def __enter__(self):
        self.back.append(os.open('/proc/thread-self/ns/net', os.O_RDONLY | os.O_CLOEXEC))
        libc_call('setns', self.fd, CLONE_NEWNET)
        return self

    def __exit__(self, *exc):
        here = self.back.pop()
        libc_call('setns', here, CLONE_NEWNET)
        os.close(here)

    def close(self):
        os.close(self.fd)


def run(*cmd, stdin=None, must=True):
    p = subprocess.run(cmd, input=stdin, capture_output=True, text=True, check=False)
    if must and p.returncode:
        raise Fail('%s: %s' % (' '.join(cmd), p.stderr.strip()))
    return p.stdout


def ip_batch(lines, ns=None):
    run(*(['ip'] + (['-n', ns] if ns else []) + ['-b', '-']), stdin='\n'.join(lines) + '\n')


# The network of A has not enough of them.
SMALLER4 = ['9.255.0.%d' % i for i in range(1, 33)]
SMALL4 = ['10.0.0.%d' % i for i in range(1, 100)]
LARGE4 = ['10.0.0.%d' % i for i in range(101, 250)]
CROWD4 = ['10.0.1.%d' % i for i in range(1, 101)]
SMALL6 = ['fd00::%x' % i for i in range(1, 100)]
LARGE6 = ['fd00::1:%x' % i for i in range(1, 100)]
CROWD6 = ['fd00::%x' % i for i in list(range(0xb0, 0xe0)) + list(range(0x120, 0x152))]


class Net:
    """The namespaces of one run, and unused peer addresses: each case gets its own connection."""

    def __init__(self):
        run('modprobe', '-q', 'vrf', must=False)
        run('modprobe', '-q', 'veth', must=False)
        ip_batch(['netns add A', 'netns add B', 'netns add C',
                  'link add ab netns A type veth peer name ba netns B',
                  'link add ac netns A type veth peer name ca netns C'])
        self.a, self.b, self.c = (Netns.named(n) for n in 'ABC')
        ip_batch(['link set lo up', 'addr add %s/23 dev ab' % A4,
                  'addr add %s/64 dev ab nodad' % A6, 'addr add %s/24 dev ac' % AC4,
                  'link set ab up', 'link set ac up', 'route add 9.255.0.0/24 dev ab'], 'A')
        ip_batch(['link set lo up', 'addr add %s/24 dev ca' % C4, 'link set ca up'], 'C')
        self.vrf = self.make_vrf()
        self.port = RDS_TCP_PORT
        if not self.vrf:
            self.redirect()
        lines = ['link set lo up']
        lines += ['addr add %s/23 dev ba' % a for a in SMALL4 + LARGE4 + CROWD4]
        lines += ['addr add %s/24 dev ba' % a for a in SMALLER4]
        lines += ['link set ba up']
        lines += ['addr add %s/64 dev ba nodad' % a for a in SMALL6 + LARGE6 + CROWD6]
        ip_batch(lines, 'B')
        self.free = {('client', 4): collections.deque(SMALL4 + SMALLER4),
                     ('server', 4): collections.deque(LARGE4),
                     ('client', 6): collections.deque(SMALL6), ('server', 6): collections.deque(LARGE6)}
        # Finished connections stay open to the end: A would dial a closed one again for ever.
        self.kept = []
        # Peers that must not be dialled any more, and since when; the cases whose peers were
        self.quiet, self.quiet_since, self.disturbed = [], 0.0, set()

    def make_vrf(self):
        if os.environ.get('RDS_WIRE_NAT'):
            return False
        try:
            ip_batch(['link add %s type vrf table 10' % VRF, 'link set %s up' % VRF,
                      'link set ba master ' + VRF], 'B')
        except Fail as e:
            log('no VRF here, rewriting the port instead: %s', e)
            return False
        return True

    def redirect(self):
        self.port = RDS_TCP_PORT + 1
        with self.b:
            run('nft', '-f', '-', stdin="""table inet wire {
                chain in { type nat hook prerouting priority -100;
                    iifname "ba" tcp dport %d dnat to :%d
                }
            }\n""" % (RDS_TCP_PORT, self.port))
            # conntrack must translate all segments of the tests, however odd.
            with open('/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal', 'w', encoding='ascii') as f:
                f.write('1')

    def address(self, role, family=4):
        return self.free[role, family].popleft()

    def part(self):
        """End what would go on while the peers go.

        In-tree RDS's connections would keep A and C for ever. Ours would dial the peers that are gone
        already, hundreds at a time, which takes minutes on the debug kernel.
        """
        if OURS:
            with self.a:
                for name in ('max', 'min'):
                    with open('/proc/sys/net/rds/reconnect_%s_delay_ms' % name, 'w',
                              encoding='ascii') as f:
                        f.write('3600000')
            return
        run('ip', '-n', 'A', 'link', 'del', 'ac')
        for ns in (self.a, self.c):
            with ns:
                run('ss', '-KtH', '( sport = :%d or dport = :%d )' % (RDS_TCP_PORT, RDS_TCP_PORT))

    def in_b(self, *args):
        """A socket in B with which the module's own listener does not interfere."""
        with self.b:
            s = socket.socket(*args)
        if self.vrf:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, VRF.encode() + b'\0')
        return s

    def tcp(self, family=4):
        """A TCP socket of B on the link to A."""
        s = self.in_b(socket.AF_INET6 if family == 6 else socket.AF_INET, socket.SOCK_STREAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s


def nl_request(proto, kind, flags, body):
    """Send one netlink request from the current namespace, and return its errno."""
    req = struct.pack('=IHHII', 16 + len(body), kind, 0x1 | 0x4 | flags, 1, 0) + body
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, proto) as nl:
        nl.send(req)
        return -struct.unpack_from('=i', nl.recv(4096), 16)[0]


def sock_destroy(ns, family, local, peer):
    """Abort a TCP socket, by SOCK_DESTROY of sock_diag(7); it may have gone. Addresses are packed."""
    ends = struct.pack('>HH', local[1], peer[1]) + local[0].ljust(16, b'\0') + peer[0].ljust(16, b'\0')
    no_cookie = b'\xff' * 8
    req = struct.pack('=BBxxI', family, socket.IPPROTO_TCP, 0xffffffff) + ends + bytes(4) + no_cookie
    with ns:
        err = nl_request(4, 21, 0, req)                                # NETLINK_SOCK_DIAG, SOCK_DESTROY
    if err not in (0, errno.ENOENT):
        raise OSError(err, 'SOCK_DESTROY: ' + os.strerror(err))


def link_set(ns, name, up):
    """Bring an interface up or down, without a process."""
    with ns, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        req = name.encode().ljust(16, b'\0')
        flags = struct.unpack_from('=H', fcntl.ioctl(s, 0x8913, req + b'\0' * 16), 16)[0]
        flags = flags | 1 if up else flags & ~1
        fcntl.ioctl(s, 0x8914, req + struct.pack('=H14x', flags))      # SIOCSIFFLAGS: IFF_UP


def addr_change(ns, name, addr, prefix, add):
    """Give an interface an IPv4 address, or take it away, without a process."""
    raw = struct.pack('=HH', 8, 2) + socket.inet_aton(addr)            # IFA_LOCAL
    with ns:
        body = struct.pack('=BBBBi', socket.AF_INET, prefix, 0, 0, socket.if_nametoindex(name)) + raw
        err = nl_request(0, 20 if add else 21, 0x200 | 0x400 if add else 0, body)
    if err:
        raise OSError(err, '%s of %s: %s' % (addr, name, os.strerror(err)))


def veth_pair(ns_x, ns_y, name='veth0'):
    """Create a veth pair with one end in each namespace, by rtnetlink, without a process."""
    def attr(kind, body):
        a = struct.pack('=HH', len(body) + 4, kind) + body
        return a + b'\0' * (-len(a) % 4)

    ifi = struct.pack('=BxHiII', 0, 0, 0, 0, 0)
    nm = attr(3, name.encode() + b'\0')
    peer = attr(1, ifi + nm + attr(28, struct.pack('=i', ns_y.fd)))   # VETH_INFO_PEER, IFLA_NET_NS_FD
    link = attr(18, attr(1, b'veth\0') + attr(2, peer))               # IFLA_LINKINFO: KIND, DATA
    body = ifi + nm + attr(28, struct.pack('=i', ns_x.fd)) + link
    err = nl_request(0, 16, 0x200 | 0x400, body)                       # RTM_NEWLINK, exclusive
    if err:
        raise OSError(err, 'veth: ' + os.strerror(err))


def ifup(name, addr=None, prefix=24):
    """Bring an interface of the current namespace up, with one address, by ioctl."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        req = name.encode().ljust(16, b'\0')
        if addr and ':' not in addr:
            sin = struct.pack('=HH4s8x', socket.AF_INET, 0, socket.inet_aton(addr))
            fcntl.ioctl(s, 0x8916, req + sin)                          # SIOCSIFADDR
            mask = struct.pack('>I', (0xffffffff << (32 - prefix)) & 0xffffffff)
            fcntl.ioctl(s, 0x891c, req + struct.pack('=HH4s8x', socket.AF_INET, 0, mask))
        flags = struct.unpack_from('=H', fcntl.ioctl(s, 0x8913, req + b'\0' * 16), 16)[0]
        fcntl.ioctl(s, 0x8914, req + struct.pack('=H14x', flags | 1))  # SIOCSIFFLAGS: IFF_UP
