/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lanes and carriers: how the messages of a path that is down go over another
 * one, to a peer that takes that (wire.rst, "Failover").
 *
 * A transmit queue is both a lane, which is the messages of some flows with
 * their numbers, and the gate of a path.  The gate of another path may carry a
 * lane: it takes the messages of the lane's `queue`, some at a time, names the
 * lane in each header, and puts them on the lane's `inflight`.  All lists but
 * `sending` are the lane's own at any time, so it stays one queue for all other
 * contexts: a message is numbered, cancelled and acknowledged there.
 *
 *	lane:	queue		      inflight --> acknowledged, freed
 *		  |		      ^   (lane and gate are locked)
 *	gate:	  +--> sending -------+
 *
 * Each time that a lane gets a carrier, or goes back to its own gate, it starts
 * at the first message that is not acknowledged, and nothing of it is on the
 * list `sending` of its last gate.  It goes back from a carrier that is alive
 * only when all that the carrier took is acknowledged.  So what any connection
 * brings of a lane begins at or below the number that the peer expects, and has
 * no gap but cancelled numbers, and the peer may drop all numbers that it has.
 *
 * Locks: a link of two queues is made and undone under rds_lanes.lock and the
 * locks of both, and read under any of these.  rds_txq.lock of a gate is taken
 * outside that of a lane that it carries.
 */
#ifndef _RDS_SEND_CARRY_H
#define _RDS_SEND_CARRY_H

#include <linux/types.h>

struct rds_txq;

/**
 * rds_carry_begin - let a gate carry a lane
 * @lane: lane
 * @gate: gate of another path
 *
 * Context: any but hard interrupts, rds_lanes.lock held.
 * Return: false, with nothing changed, if the lane has a gate or is not ready
 * for another one, or if the peer takes no other lane over @gate now.
 */
bool rds_carry_begin(struct rds_txq *lane, struct rds_txq *gate);

/**
 * rds_carry_forsake - take all lanes from a gate that is closed
 * @gate: gate, after rds_txq_close()
 *
 * The own lane of the gate is taken as well if the peer takes it over another
 * path.  Each lane is ready for another gate then.
 *
 * Context: any but hard interrupts, rds_lanes.lock held.
 * Return: whether the peer takes any lane over any path.
 */
bool rds_carry_forsake(struct rds_txq *gate);

/* Is there another gate that carries the lane? */
bool rds_carry_is_away(struct rds_txq *lane);

/**
 * rds_carry_return - let a lane go back to its own gate, if that is ready
 * @lane: lane
 *
 * Context: any but hard interrupts, rds_lanes.lock held.
 * Return: whether the lane has gone back; rds_txq_run() has to be called then.
 * If the carrier has messages of it, `at_fence` is called later.
 */
bool rds_carry_return(struct rds_txq *lane);

/*
 * The map of the own address has changed, and goes over the path that has the
 * first lane.  Returns whether rds_txq_run() has to be called for @first.
 */
bool rds_carry_map_due(struct rds_txq *first);

/* May this queue be given up for another distribution of the flows? */
bool rds_carry_is_free(const struct rds_txq *txq);

#endif
