/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which transports the sockets of a namespace use.
 *
 * What a transport has of a namespace may keep that from going: ids of rdma_cm hold it.  A bound
 * socket holds it as well, but ends with the last program.  So a transport may ask to be told
 * (&rds_transport.net_use) when the first socket of a namespace binds over it, and when the last
 * one has gone, and lets go of everything then.  The first namespace never goes, and nobody is
 * told anything of it.
 *
 * The end is told some time later, from a work item that holds the namespace and the transport's
 * module: what the last socket sent is on its way until then, and a program that begins where
 * another ended finds its connections.  If there are sockets again by then, nothing is told.
 *
 * Lock: rds_use.lock guards the rest of it, and is held while the transport is told.
 */
#ifndef _RDS_CONN_USE_H
#define _RDS_CONN_USE_H

struct rds_net;
struct rds_transport;

/**
 * rds_use_get - a socket is about to be bound over a transport
 * @rn: its namespace
 * @trans: transport, held by the socket
 *
 * Context: process, may sleep.
 * Return: 0 or an errno of the transport.
 */
int rds_use_get(struct rds_net *rn, const struct rds_transport *trans);

/**
 * rds_use_put - it is not bound any more, or never was
 * @rn: its namespace, which it still holds
 * @trans: transport, still held
 *
 * Context: process, may sleep.
 */
void rds_use_put(struct rds_net *rn, const struct rds_transport *trans);

int rds_use_net_init(struct rds_net *rn);
void rds_use_net_exit(struct rds_net *rn);
int rds_use_init(void);
void rds_use_exit(void);

#endif
