/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much memory the messages of one peer may hold at congested ports, at all
 * sockets together: recv_peer_max_bytes.  Without it one peer could take all
 * memory that net.rds.mem allows, from the other peers.
 *
 * The bound works as that of a socket, see sock/rcvq.c: the message that
 * exceeds it is queued, the transport waits for readers in a time of grace, and
 * after that messages for congested ports are dropped, until a quarter of the
 * bound is free.  Not so for ports that are not congested, and for a socket
 * that has little more than makes it congested: a peer that heeds the maps
 * overshoots a little, and sockets of others, which do not read, must not make
 * one lose messages that does.  Those count all the same, and so do those that
 * a socket queues in its own time of grace.
 */
#ifndef _RDS_SOCK_PEERBOUND_H
#define _RDS_SOCK_PEERBOUND_H

#include <linux/types.h>

#include "sock/rcvq.h"

struct rds_net;
struct rds_rx_peer;

/**
 * rds_peer_judge - may a message be queued at a congested port?
 * @peer: count of the peer that sent the message
 * @rn: namespace, for the settings
 * @truesize: bytes of memory of the message
 *
 * Context: rds_sock.rx_lock of the port's socket held.
 * Return: RDS_QUEUED, RDS_QUEUED_HOLD or RDS_QUEUED_FULL_PEER.
 */
enum rds_queued rds_peer_judge(struct rds_rx_peer *peer,
			       const struct rds_net *rn, u32 truesize);

/**
 * rds_peer_holds - must the peer go on to wait?
 * @peer: count of a peer whose transport was told RDS_QUEUED_HOLD
 * @rn: namespace, for the settings
 *
 * Context: any but hard interrupts.
 * Return: whether the peer has exceeded its bound, less than a quarter of it is
 * free, and the time of grace is not over.
 */
bool rds_peer_holds(struct rds_rx_peer *peer, const struct rds_net *rn);

#endif
