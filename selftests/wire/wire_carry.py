# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Failover between this module and a peer that takes messages of any lane over any path (wire.rst)."""
import struct

from lab import check, equal, eventually
from wire_ack import OURS_ONLY, frame, left
from wire_paths import MANY, Path, dialled, further, greeting
from wirelib import Closed, F_ACK, F_RETRANS, case, drops, gen, npaths

ACK, PATHS, LANES = 0x100, 0x400, 0x800
MAP_BYTES = 8192


def offer(g, index, caps=ACK | PATHS | LANES):
    return npaths(1) + gen(g) + struct.pack('>BI', 7, caps | index << 16)


def lane(index):
    """The extensions of a message that a foreign path carries."""
    return bytes((10, index))


def named(m):
    """The lane that the header of a message names."""
    return m.ext[1] if m.ext[0] == 10 else None


class Host:
    """A peer with eight paths that A dials."""

    def __init__(self, c, caps=ACK | PATHS | LANES, g=70):
        self.g, self.caps, self.p = g, caps, dialled(c)
        self.paths = {0: Path(self.p, self.p.conn)}
        self.answer(0)
        self.settle(0)
        self.r = c.rds(sndbuf=1 << 20)
        self.flows, self.last = {i: [] for i in range(8)}, [0] * 8
        self.every_flow()
        self.paths.update(further(self.p, 7))
        # All at once: on a slow host A gives a path up that nobody answers.
        for i in range(1, 8):
            self.answer(i)
        for i in range(1, 8):
            greeting(frame(self.paths[i], 'the handshake'), i)
        self.take(MANY)
        eventually(self.shows_lanes, 'own paths of all lanes')

    def shows_lanes(self):
        """Does each lane have its path?  Then a flow shows its lane."""
        for i in range(8):
            self.flows[i].clear()
        self.every_flow()
        return self.take(MANY)

    def every_flow(self):
        for port in range(4000, 4000 + MANY):
            self.r.send(b'x', self.p.addr, port)

    def take(self, n):
        """Take n messages over all paths, and acknowledge them: a lane that is about to go back to its
        path waits for that. Returns whether each came over the path of its lane."""
        own = True
        while n > 0:
            for i in range(8):
                got = self.settle(i)[0]
                n -= len(got)
                for m in got:
                    own = own and named(m) is None
                    at = i if named(m) is None else named(m)
                    self.last[at] = max(self.last[at], m.seq)
                    self.flows[at].append(m.dport)
            for i in range(8):
                self.ack_lanes(i, dict(enumerate(self.last)))
        for i in range(8):
            equal(self.settle(i)[0], [], 'further messages over path %d' % i)
        equal(n, 0, 'messages to come')
        return own

    def answer(self, i, have=0):
        """What A's greeting asks for."""
        self.paths[i].send(0, 1, ext=offer(self.g, i, self.caps), ack=have)

    def settle(self, i):
        """A has applied all that was sent over path i, and what it sends before the answer is returned."""
        q, got = self.paths[i], []
        q.send(1, 0, ext=offer(self.g, i, self.caps))
        while True:
            m = frame(q, 'the answer')
            if (m.sport, m.dport) == (0, 1):
                return got, m.ack
            if m.seq:
                got.append(m)

    def send(self, i, data, n=0):
        """A sends a message of lane i."""
        self.r.send(data, self.p.addr, self.flows[i][n])

    def lose(self, i):
        """Path i ends; A dials it again, and waits for an answer."""
        self.paths[i].conn.reset()
        self.paths[i] = further(self.p, 1)[i]
        greeting(frame(self.paths[i], 'the handshake'), i)

    def ack_lanes(self, over, acks):
        words = [acks.get(i, 0) for i in range(8)]
        self.paths[over].send(0, 0, struct.pack('>8Q', *words))


def carried(m, i, data, seq, flags=0):
    equal((named(m), m.data, m.seq, m.flags & ~F_ACK, m.ack), (i, data, seq, flags, 0),
          'a message of lane %d' % i)


def next_seq(h, i):
    """Number of the next message of lane i."""
    return h.last[i] + 1


@case('wire.carry', stacks=OURS_ONLY)
def carry(c):
    """A path is lost with a message that is not acknowledged: the next path carries it and those that
    follow, with their numbers, and the lane in each header. The lane goes back once the peer has
    answered over its own path, and has acknowledged what the other one carried."""
    h = Host(c)
    n = next_seq(h, 3)
    h.send(3, b'first')
    m = frame(h.paths[3], 'a message')
    equal((m.seq, m.data, named(m)), (n, b'first', None), 'over the own path')
    h.lose(3)
    m = frame(h.paths[4], 'what path 3 had')
    carried(m, 3, b'first', n, F_RETRANS)
    h.send(3, b'second', 1)
    h.send(4, b'own')
    got = [frame(h.paths[4], 'messages of two lanes') for _ in range(2)]
    got.sort(key=lambda m: named(m) is None)
    carried(got[0], 3, b'second', n + 1)
    equal(got[0].flags, F_ACK, 'flags of the last message that was carried')
    equal((named(got[1]), got[1].data), (None, b'own'), 'a message of the own lane')
    last = waits(h, n + 1)
    h.ack_lanes(4, {3: last - 1})
    m = frame(h.paths[3], 'what waited for the acknowledgement')
    equal((m.seq, m.data, named(m), m.flags), (last, b'more', None, 0), 'a message over its own path')
    h.ack_lanes(4, {3: last, 4: next_seq(h, 4)})
    left(c, h.p, 0, 'at the end')


def waits(h, last):
    """Path 3 is answered, and its lane waits for the acknowledgement of what path 4 carries. Returns the
    number of the message that waits; `last` is that of the last one so far."""
    h.answer(3)
    while True:
        h.send(3, b'more')
        last += 1
        # A transmitter that answers over path 4 takes what it carries as well, behind the first answer.
        got = h.settle(4)[0] + h.settle(4)[0]
        equal(h.settle(3)[0] + h.settle(3)[0], [], 'messages over path 3 before the acknowledgement')
        if not got:
            return last
        carried(got[0], 3, b'more', last)


@case('wire.carry_back', stacks=OURS_ONLY)
def carry_back(c):
    """A lane waits to go back when the path that carries it is lost: all of it goes over its own path,
    without another message."""
    h = Host(c)
    n = next_seq(h, 3)
    h.lose(3)
    h.send(3, b'first')
    carried(frame(h.paths[4], 'a message'), 3, b'first', n)
    last = waits(h, n)
    h.paths[4].conn.reset()
    for seq in range(n, last + 1):
        m = frame(h.paths[3], 'message %d' % seq)
        equal((m.seq, m.data, named(m), m.flags & ~F_ACK),
              (seq, b'more' if seq > n else b'first', None, F_RETRANS if seq < last else 0),
              'a message over its own path')
    further(h.p, 1)


def goes_back(h, over, last):
    """Path 3 has been answered; its lane goes back when A gets to that, and all that path `over` has
    carried is acknowledged."""
    while True:
        h.send(3, b'back')
        last += 1
        got = h.settle(over)[0] + h.settle(over)[0]
        if not got:
            break
        carried(got[0], 3, b'back', last)
        h.ack_lanes(over, {3: last})
    m = frame(h.paths[3], 'the next message')
    equal((m.seq, m.data, named(m), m.flags), (last, b'back', None, 0), 'over the own path')


@case('wire.carry_on', stacks=OURS_ONLY)
def carry_on(c):
    """The path that carries a lane is lost, too: the next one begins with what is not acknowledged."""
    h = Host(c)
    n = next_seq(h, 3)
    for i in range(4):
        h.send(3, b'%d' % i)
    for i in range(4):
        equal(frame(h.paths[3], 'message %d' % i).seq, n + i, 'its number')
    h.lose(3)
    for i in range(4):
        carried(frame(h.paths[4], 'message %d' % i), 3, b'%d' % i, n + i, F_RETRANS)
    h.ack_lanes(4, {3: n + 1})
    h.settle(4)
    h.lose(4)
    for i in (2, 3):
        carried(frame(h.paths[5], 'message %d' % i), 3, b'%d' % i, n + i, F_RETRANS)
    h.send(4, b'of lane 4')
    carried(frame(h.paths[5], 'a message of the other lane'), 4, b'of lane 4', next_seq(h, 4))
    h.answer(3, n + 3)
    equal(h.settle(3)[0], [], 'messages over path 3')
    goes_back(h, 5, n + 3)


@case('wire.carry_old', stacks=OURS_ONLY)
def carry_old(c):
    """A peer that does not take lanes: messages wait for their own path, and no header names a lane."""
    h = Host(c, ACK | PATHS)
    n = next_seq(h, 3)
    h.send(3, b'first')
    equal(frame(h.paths[3], 'a message').seq, n, 'its number')
    h.lose(3)
    h.send(3, b'second')
    for i in (0, 1, 2, 4, 5, 6, 7):
        equal(h.settle(i)[0], [], 'messages over path %d' % i)
    h.answer(3, n - 1)
    for i, data in enumerate((b'first', b'second')):
        m = frame(h.paths[3], 'message %d' % i)
        equal((m.seq, m.data, named(m)), (n + i, data, None), 'message %d' % i)


def lanes_ack(q, what):
    """The numbers in the next acknowledgement of all lanes."""
    while True:
        m = frame(q, what)
        if (m.seq, m.sport, m.dport, m.len) == (0, 0, 0, 64):
            return struct.unpack('>8Q', m.data)


@case('wire.carry_in', stacks=OURS_ONLY)
def carry_in(c):
    """Messages of a lane come over three paths: each is delivered once, in order, and acknowledged
    over the path on which it came; a repeat is acknowledged as well."""
    h = Host(c)
    q, r = h.paths, c.rds()
    q[3].send(4000, r.port, b'1', seq=1)
    r.expect(b'1')
    q[5].send(4000, r.port, b'1', seq=1, flags=F_RETRANS, ext=lane(3))
    q[5].send(4000, r.port, b'2', seq=2, flags=F_ACK, ext=lane(3))
    r.expect(b'2')
    equal(lanes_ack(q[5], 'the acknowledgement')[3], 2, 'number of lane 3')
    q[6].send(4000, r.port, b'2', seq=2, flags=F_RETRANS | F_ACK, ext=lane(3))
    equal(lanes_ack(q[6], 'the acknowledgement of a repeat')[3], 2, 'number of lane 3')
    q[6].send(4000, r.port, b'3', seq=3, ext=lane(3))
    r.expect(b'3')
    q[3].send(4000, r.port, b'2', seq=2, flags=F_RETRANS)
    q[3].send(4000, r.port, b'3', seq=3, flags=F_RETRANS)
    q[3].send(4000, r.port, b'4', seq=4)
    r.expect(b'4')
    # The own lane of the paths has its own numbers.
    q[5].send(4000, r.port, b'five', seq=1)
    r.expect(b'five')
    r.empty()


@case('wire.carry_ping', stacks=OURS_ONLY)
def carry_ping(c):
    """A ping that another path carries is answered there; a handshake there is not looked at."""
    h = Host(c)
    q = h.paths
    q[5].send(1, 0, seq=1, ext=lane(3))
    q[5].send(77, 0, seq=2, ext=lane(3))
    m = frame(q[5], 'the pong')
    while not m.seq:
        m = frame(q[5], 'the pong')
    equal((m.sport, m.dport, named(m)), (0, 77, None), 'the pong')
    equal(h.settle(3)[1], 2, 'number that A has of lane 3')


def wait_end(q):
    """A ends the connection."""
    try:
        while frame(q, 'the end'):
            pass
    except Closed:
        pass


@case('wire.carry_bad_lane', stacks=OURS_ONLY)
def carry_bad_lane(c):
    """A lane that there is not ends the connection."""
    h = Host(c)
    r = c.rds()
    was = drops(c.net.a).get('bad_frame', 0)
    h.paths[5].conn.write(h.p.frame(4000, r.port, b'x', seq=1, ext=lane(8)) +
                          h.p.frame(4000, r.port, b'y', seq=1))
    wait_end(h.paths[5])
    equal(drops(c.net.a).get('bad_frame', 0) - was, 1, 'bad frames')
    r.empty()


@case('wire.carry_bad_ack', stacks=OURS_ONLY)
def carry_bad_ack(c):
    """An acknowledgement of what was never sent, of lanes that A has not, of another length."""
    h = Host(c)
    n = next_seq(h, 3)
    was = drops(c.net.a).get('bad_ack', 0)
    h.ack_lanes(4, {i: 1 << 63 for i in range(8)})
    h.paths[4].send(0, 0, struct.pack('>7Q', *[1] * 7))
    h.settle(4)
    equal(drops(c.net.a).get('bad_ack', 0) - was, 8, 'bad acknowledgements')
    h.send(3, b'x')
    equal(frame(h.paths[3], 'a message').seq, n, 'its number')


@case('wire.carry_silent', stacks=OURS_ONLY)
def carry_silent(c):
    """A handshake of an old form with number 0 is a message like any other: A answers it."""
    p = dialled(c)
    p.send(1, 0, ext=npaths(1), seq=0)
    m = frame(p, 'the answer')
    equal((m.sport, m.dport), (0, 1), 'the answer')
    p.send(0, 1, ext=npaths(1), seq=0)
    r = c.rds()
    p.send(4000, r.port, b'alive', seq=1)
    r.expect(b'alive')


@case('wire.carry_restart', stacks=OURS_ONLY)
def carry_restart(c):
    """The peer restarts. Its new incarnation has to greet over path 0 first, and uses a lane first over
    a path that carries it: the numbers of the lane begin anew. What a connection of the earlier
    incarnation still brings ends that."""
    h = Host(c)
    q, r = h.paths, c.rds()
    for i in (3, 5):
        q[i].send(4000, r.port, b'old', seq=9)
        r.expect(b'old')
    h.g = 71
    was = drops(c.net.a).get('peer_replaced', 0)
    h.lose(6)
    h.answer(6)
    wait_end(q[6])
    equal(drops(c.net.a).get('peer_replaced', 0) - was, 1, 'incarnations that greet over path 6 first')
    h.lose(0)
    h.answer(0)
    h.settle(0)
    q[0].send(4000, r.port, b'new', seq=1, flags=F_ACK, ext=lane(3))
    r.expect(b'new')
    acks = lanes_ack(q[0], 'the acknowledgement')
    equal((acks[3], acks[5]), (1, 0), 'numbers of a lane of this incarnation, and of the last one')
    q[3].send(4000, r.port, b'older', seq=10)
    wait_end(q[3])
    equal(drops(c.net.a).get('peer_replaced', 0) - was, 2, 'connections of an earlier incarnation')
    r.empty()


@case('wire.carry_map', stacks=OURS_ONLY)
def carry_map(c):
    """The first path is lost: the path that carries its lane carries the map of A, too, at once and
    when it changes; and the first path does so again once the lane is back."""
    h = Host(c)
    q = h.paths
    h.paths[0].conn.reset()
    q[0] = further(h.p, 1)[0]
    m = wait_map(q[1])
    check(not any(m.data), 'a bit of the map is set')
    r = c.rds(rcvbuf=4096)
    seq = 0
    while not any(m.data):
        seq += 1
        q[1].send(4000, r.port, bytes(3000), seq=seq)
        if seq > 2:
            m = wait_map(q[1])
    h.answer(0, next_seq(h, 0) - 1)
    m = wait_map(q[0])
    check(any(m.data), 'no bit of the map is set')


def place(h):
    """The path over which the one message comes that A sends, and the message."""
    got = [(i, m) for i in range(8) for m in h.settle(i)[0]]
    equal(len(got), 1, 'messages')
    h.last[got[0][0]] = got[0][1].seq
    return got[0]


@case('wire.flowlet', stacks=OURS_ONLY)
def flowlet(c):
    """Small messages go around a lane that has a large one, but only when all messages of the flow are
    acknowledged, and come back once the large one is some time ago."""
    h = Host(c)
    r = c.rds(sndbuf=1 << 20)

    def send(data):
        r.send(data, h.p.addr, 5000)
        lane, m = place(h)
        equal((m.data, named(m)), (data, None), 'a message')
        return lane

    def large(lane):
        h.send(lane, bytes(40000))
        got = h.settle(lane)[0]
        equal([len(m.data) for m in got], [40000], 'the large message on its lane')
        h.last[lane] = got[0].seq

    usual = send(b'first')
    large(usual)
    equal(send(b'second'), usual, 'lane of a flow that is not acknowledged')
    h.ack_lanes(usual, dict(enumerate(h.last)))
    h.settle(usual)
    large(usual)                            # on a slow host the first one is some time ago
    other = send(b'third')
    equal(other, (usual + 1) % 8, 'lane of a flow that is acknowledged')
    large(other)
    equal(send(b'fourth'), other, 'lane of a flow that is not acknowledged')

    def back():
        h.ack_lanes(other, dict(enumerate(h.last)))
        h.settle(other)
        return send(b'more') == usual

    eventually(back, 'the usual lane', 5)


@case('wire.carry_knock', stacks=OURS_ONLY)
def carry_knock(c):
    """The peer knocks while another path has the first lane: the first path asks with a handshake, and
    not with a map, which an older one over the other path could follow."""
    h = Host(c)
    q = h.paths
    q[0].conn.reset()
    q[0] = further(h.p, 1)[0]
    wait_map(q[1])
    greeting(frame(q[0], 'the handshake'), 0)
    h.p.dial(40000).close()                 # a port of the first path
    m = q[0].conn.read()
    check(m, 'nothing came')
    greeting(m, 0)


def wait_map(q, seconds=3.0):
    while True:
        m = q.conn.read(seconds)
        check(m, 'no map came')
        if m.is_map:
            equal(len(m.data), MAP_BYTES, 'bytes of the map')
            return m
