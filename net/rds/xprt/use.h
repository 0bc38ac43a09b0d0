/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Use of transports by the sockets of a namespace.
 *
 * Objects of a transport may hold a namespace: ids of rdma_cm do.  Then the
 * namespace would not end with its last program.  A bound socket holds the
 * namespace as well, but ends with its program.  So a transport may ask to be
 * told (&rds_transport.net_use) when the first socket of a namespace binds over
 * the transport, and after the last such socket was closed.  The transport then
 * releases all objects that hold the namespace.  The initial namespace never
 * ends, so net_use is not called for it.
 *
 * A work item that holds the namespace and the module of the transport reports
 * the end of the use, some time after the last socket was closed.  Until then
 * messages of that socket are sent, and a program that begins after another one
 * ended finds the connections.  If there are sockets again when the work item
 * runs, it reports nothing.
 *
 * Lock: rds_use.lock guards the fields of struct rds_use, and is held during
 * net_use.
 */
#ifndef _RDS_XPRT_USE_H
#define _RDS_XPRT_USE_H

struct rds_net;
struct rds_transport;

/**
 * rds_use_get - count a socket that is about to be bound over a transport
 * @rn: namespace of the socket
 * @trans: transport; the socket holds its module
 *
 * Context: process, may sleep.
 * Return: 0, or the errno of &rds_transport.net_use, and the socket is not
 * counted.
 */
int rds_use_get(struct rds_net *rn, const struct rds_transport *trans);

/**
 * rds_use_put - undo rds_use_get(), as the socket is closed or could not be
 * bound
 * @rn: namespace of the socket, which still holds it
 * @trans: transport; the socket still holds its module
 *
 * Context: process, may sleep.
 */
void rds_use_put(struct rds_net *rn, const struct rds_transport *trans);

int rds_use_net_init(struct rds_net *rn);
void rds_use_net_exit(struct rds_net *rn);
int rds_use_init(void);
void rds_use_exit(void);

#endif
