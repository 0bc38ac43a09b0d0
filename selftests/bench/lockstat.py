#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Judges lock statistics: lockstat.py WHAT MESSAGES FILE [PATHS]

Every lock that net/rds initialises must have a row in SCOPE, so that a new lock cannot slip
through, and every row a lock. A lock that peers share may be taken at most once per hundred
messages; with more than one path to each peer, this holds for a lock that paths share as well.
"""

import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT = 0.01

# The kind of object that has one lock each, by the name of the lock's class in /proc/lock_stat
SCOPE = {
    "&txq->lock": "path", "rds_txq_xmit": "path", "&txq->idle": "path",
    "&cp->lock": "path", "&cp->ctl": "path",
    "&conn->rx_lanes[i].lock": "lane", "&session->lock": "connection", "&lanes->lock": "connection",
    "&addrs->lock": "connection", "&rn->addrs->lock": "namespace",
    "&rn->reports_lock": "namespace", "&reach->lock": "connection", "&peer->lock": "connection",
    "&conn->idle.lock": "connection", "&guests->lock": "namespace",
    "&rs->lock": "socket", "&rs->rx_lock": "socket", "&rs->rx_wait": "socket",
    "&rs->snd_wait": "socket", "&rs->cong_lock": "socket", "&rs->mon_lock": "socket",
    "&rs->mr_lock": "socket", "&p->lock": "socket", "&rs->sent_lock": "socket",
    # A local address has one map for all peers.
    "&map->lock": "address", "&map->wait": "address",
    # The tables of connections, of bound sockets and of maps have the same lock name.
    "&table->lock": "namespace", "&table->wait": "namespace",
    "&tn->lock": "namespace", "&tn->listen_lock": "namespace",
    "&rn->uses[i].lock": "namespace",
    "&rn->info_lock": "namespace",
    "info_sem": "machine", "registry_mutex": "machine", "mr_table_lock": "machine",
    # Locks of rds_rdma and rds_dev
    "&conn->tx_lock": "RDMA connection", "&id->lock": "RDMA connection",
    "&conn->ops_idle": "RDMA connection",
    "&dev->lock": "device", "&dev->idle": "device", "&admit->lock": "device",
    "&reg->lock": "device", "&reg->wait": "device",
    "addrs_lock": "machine", "rds_dev_scan_lock": "machine", "queue_lock": "machine",
    "devs_lock": "machine", "users_lock": "machine", "domains_idle": "machine",
    "devs_spin": "machine", "tell_lock": "machine", "link_lock": "machine",
    "self_lock": "machine",
    # Streams, which are not measured here; messages do not take those that are shared.
    "&ss->account": "socket", "&ss->told_lock": "socket", "&ss->tx_mutex": "socket",
    "&ss->rx_mutex": "socket",
    "&conn->lock": "stream", "&conn->dial_lock": "stream", "&l->lock": "listener", "&sn->use_lock": "namespace",
    "&sn->conns_lock": "namespace", "&hosts->lock": "namespace", "hold_lock": "machine", "stream_lock": "machine",
}
SHARED = ("address", "namespace", "device", "machine")

INIT = re.compile(
    r"\b(?:raw_spin_lock_init|spin_lock_init|rwlock_init|mutex_init|init_rwsem|sema_init|"
    r"init_waitqueue_head|DEFINE_MUTEX|DEFINE_SPINLOCK|DEFINE_RWLOCK|DECLARE_RWSEM|"
    r"DECLARE_WAIT_QUEUE_HEAD)\(([^,()]+)\)|\blockdep_init_map\([^,]+, \"([^\"]+)\"")


def initialised():
    """Names of all locks in the sources."""
    names = set()
    for folder, _, files in os.walk(os.path.join(TOP, "net", "rds")):
        for f in files:
            if f.endswith((".c", ".h")):
                with open(os.path.join(folder, f), encoding="utf-8") as src:
                    names |= {a or b for a, b in INIT.findall(src.read())}
    return names


def acquisitions(path):
    """{name: number of acquisitions}; sums classes of one name, and readers and writers."""
    taken = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            m = re.match(r"\s*(\S.*?)(?:-[WR])?:((?:\s+[\d.]+){12})\s*$", line)
            if m:
                name = re.sub(r"[#/]\d+", "", m.group(1))
                taken[name] = taken.get(name, 0) + int(m.group(2).split()[7])
    return taken


def main():
    what, messages, taken = sys.argv[1], int(sys.argv[2]), acquisitions(sys.argv[3])
    shared = SHARED + (("connection",) if int((sys.argv[4:] or [1])[0]) > 1 else ())
    ours, bad = initialised(), []
    bad += ["%s is not in the table" % n for n in sorted(ours - set(SCOPE))]
    bad += ["%s is in the table and nowhere else" % n for n in sorted(set(SCOPE) - ours)]
    print("# %s: %d messages" % (what, messages))
    print("# %-18s %-14s %10s %12s" % ("lock", "one for each", "taken", "per message"))
    for name in sorted(SCOPE, key=lambda n: (-taken.get(n, 0), n)):
        n = taken.get(name, 0)
        if n:
            print("# %-18s %-14s %10d %12.4f" % (name, SCOPE[name], n, n / messages))
        if SCOPE[name] in shared and n > messages * LIMIT:
            bad.append("%s taken %.3f times per message" % (name, n / messages))
    # Each message is queued under its path's lock: with fewer acquisitions nothing was measured.
    if taken.get("&txq->lock", 0) < messages:
        bad.append("&txq->lock taken less than once per message")
    if bad:
        print("not ok lockstat.%s # %s" % (what, "; ".join(bad)))
        return 1
    print("ok lockstat.%s" % what)
    return 0


if __name__ == "__main__":
    sys.exit(main())
