# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""RoCEv2: reassembled SENDs, private data of the CM, opcodes."""
import collections
import struct

NAMES = {0: "send_first", 1: "send_middle", 2: "send_last", 4: "send_only", 6: "write_first",
         7: "write_middle", 8: "write_last", 10: "write_only", 12: "read_request",
         13: "read_response_first", 14: "read_response_middle", 15: "read_response_last",
         16: "read_response_only", 17: "acknowledge", 22: "send_last_inv", 23: "send_only_inv",
         100: "ud_send_only"}
WANTED = ("send_only", "write_only", "write_first", "write_last", "read_request", "read_response_only",
          "read_response_first")
TSHARK = ("infiniband.bth.opcode", NAMES, [])
PORT = 4791
RETH, AETH, IETH, DETH, ICRC = 16, 4, 4, 8, 4
EXTRA = {6: RETH, 10: RETH, 12: RETH, 13: AETH, 15: AETH, 16: AETH, 17: AETH, 22: IETH, 23: IETH}
STARTS, ENDS = (0, 4, 23), (2, 4, 22, 23)
CM_CLASS, CM_REQ, CM_REP = 7, 0x10, 0x13
# Bytes: the MAD header; private data of a request at 140, with an IP header of 36; of a reply at 36
MAD, REQ_PRIVATE, REQ_IP, REP_PRIVATE = 24, 140, 36, 36

Send = collections.namedtuple("Send", "key data solicited inv")


class Seen:
    def __init__(self):
        self.opcodes, self.sends, self.requests, self.replies = collections.Counter(), [], [], []
        self.wrote = self.read = 0


class Stream:
    """Packets to one queue pair, each sequence number once; retransmissions are left out."""

    def __init__(self):
        self.next, self.parts = None, None

    def fresh(self, psn):
        if self.next is not None and (psn - self.next) & 0xffffff >= 1 << 23:
            return False
        self.next = (psn + 1) & 0xffffff
        return True


def cm(seen, p, mad, requests):
    """Private data of requests, and of replies, which get the addresses of their request."""
    if mad[1] != CM_CLASS:
        return
    attr, = struct.unpack("!H", mad[16:18])
    body = mad[MAD:]
    comm = body[:4]
    if attr == CM_REQ:
        private = body[REQ_PRIVATE:]
        seen.requests.append((p.family, p.src, p.dst, private[REQ_IP:]))
        requests[comm] = p
    elif attr == CM_REP:
        r = requests.get(body[4:8])
        if r:
            seen.replies.append((r.family, r.dst, r.src, body[REP_PRIVATE:]))


def decode(packets):
    seen, streams, requests = Seen(), collections.defaultdict(Stream), {}
    for p in packets:
        if p.proto != "udp" or p.dport != PORT:
            continue
        op, flags, _pkey, qp, psn = struct.unpack("!BBHII", p.data[:12])
        name = NAMES.get(op, "%#x" % op)
        seen.opcodes[name] += 1
        pad, qp, psn = flags >> 4 & 3, qp & 0xffffff, psn & 0xffffff
        body = p.data[12:len(p.data) - ICRC - pad]
        if op == 100:
            cm(seen, p, body[DETH:], requests)
            continue
        response = op in (13, 14, 15, 16, 17)
        key = (p.src, p.dst, qp, response)
        pay = body[EXTRA.get(op, 0):]
        if response:
            # Responses of several packets share the request's numbers; duplicates do no harm here.
            seen.read += len(pay) if op != 17 else 0
            continue
        s = streams[key]
        if not s.fresh(psn):
            continue
        if op in (6, 7, 8, 10):
            seen.wrote += len(pay)
        elif op in (0, 1, 2, 4, 22, 23):
            send(seen, s, key, op, pay, flags)
    return seen


def send(seen, s, key, op, pay, flags):
    if op in STARTS:
        s.parts = b""
    if s.parts is None:
        return
    s.parts += pay
    if op in ENDS:
        seen.sends.append(Send(key, s.parts, bool(flags & 0x80), op in (22, 23)))
        s.parts = None
