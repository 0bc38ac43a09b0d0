#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""smcpnet.py INTERFACE DEVICE: have SMC-R use an RDMA device for what goes through an interface.

Both get the same physical-network id, and the host an id of users' choice, without which version 2
of SMC-R is not offered. By generic netlink (<linux/smc.h>), as Debian has no smc-tools.
"""

import socket
import struct
import sys

NETLINK_GENERIC = 16
NLM_F_REQUEST, NLM_F_ACK, NLMSG_ERROR = 1, 4, 2
GENL_ID_CTRL, CTRL_CMD_GETFAMILY = 16, 3
CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 1, 2

PNET_ADD, PNET_NAME, PNET_ETH, PNET_IB, PNET_IBPORT = 2, 1, 2, 3, 4
ADD_UEID, EID_ENTRY, EID_LEN = 10, 1, 32


def attr(kind, value):
    size = 4 + len(value)
    return struct.pack('=HH', size, kind) + value + b'\0' * (-size % 4)


def text(kind, value):
    return attr(kind, value.encode() + b'\0')


def attributes(data):
    while data:
        size, kind = struct.unpack_from('=HH', data)
        yield kind, data[4:size]
        data = data[(size + 3) & ~3:]


class Netlink:
    """A socket of generic netlink"""

    def __init__(self):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
        self.sock.bind((0, 0))

    def ask(self, family, cmd, payload):
        """Send a request; return the payload of the answer, if any, and raise what it says of errors."""
        body = struct.pack('=BBH', cmd, 1, 0) + payload
        self.sock.send(struct.pack('=IHHII', 16 + len(body), family, NLM_F_REQUEST | NLM_F_ACK, 1, 0) + body)
        found = b''
        while True:
            data = self.sock.recv(65536)
            while data:
                size, kind = struct.unpack_from('=IH', data)
                if kind != NLMSG_ERROR:
                    found = data[20:size]
                else:
                    err = -struct.unpack_from('=i', data, 16)[0]
                    if err:
                        raise OSError(err, 'netlink: command %d' % cmd)
                    return found
                data = data[(size + 3) & ~3:]

    def family(self, name):
        got = self.ask(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, text(CTRL_ATTR_FAMILY_NAME, name))
        return struct.unpack('=H', dict(attributes(got))[CTRL_ATTR_FAMILY_ID])[0]


def main():
    interface, device = sys.argv[1:]
    link = Netlink()
    pnet = link.family('SMC_PNETID')
    link.ask(pnet, PNET_ADD, text(PNET_NAME, 'RDS') + text(PNET_ETH, interface))
    link.ask(pnet, PNET_ADD, text(PNET_NAME, 'RDS') + text(PNET_IB, device) + attr(PNET_IBPORT, b'\1'))
    link.ask(link.family('SMC_GEN_NETLINK'), ADD_UEID, text(EID_ENTRY, 'RDS'.ljust(EID_LEN)))


if __name__ == '__main__':
    main()
