/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of the device layer (device, addr, registrar, mr) share among themselves and
 * with main.c.  Objects and their life: device.h.
 *
 * Locks, outermost first:
 *
 *   scan_lock (addr.c, mutex): one change of the table of addresses at a time.  Handlers of
 *	listeners must not take it, nor wait for anybody who does: listeners are destroyed under it.
 *     > devs_lock (device.c, mutex): the list of devices; whoever holds it keeps the devices
 *	 there from going
 *       > rtnl (inside ib_core)
 *       > tell_lock (device.c, mutex): one walk over connections at a time
 *   addrs_lock (addr.c, spin): look-up in the table; a leaf
 *   rds_rdma_registrar.lock (spin, bh) > what ib_post_send() takes
 *   rds_rdma_dev.lock (spin, bh) > the list of addresses of an interface, routes, GIDs
 *   link_lock (link.c, spin, bh): a leaf
 *
 *   Notifiers of link.c come with the RTNL held, and take tell_lock (device.c, mutex), under
 *	which nobody waits for the RTNL, and spinlocks.
 */
#ifndef _RDS_RDMA_DEVLAYER_H
#define _RDS_RDMA_DEVLAYER_H

#include <linux/completion.h>
#include <linux/percpu.h>
#include <linux/socket.h>

#include "device.h"
#include "stats.h"

/* Counters of devices; they belong to no namespace and are shown in the first one. */
DECLARE_PER_CPU(struct rds_rdma_stats, rds_rdma_dev_stats);
#define rds_rdma_dev_stats_inc(field)	this_cpu_inc(rds_rdma_dev_stats.field)

/* device.c */

/*
 * Keep the ib_device of @dev for the length of a call; false if it is going.  The removal of
 * the device waits for the release.
 */
bool rds_rdma_dev_hold(struct rds_rdma_dev *dev);
void rds_rdma_dev_release(struct rds_rdma_dev *dev);

/* Call @fn for every device; they stay in place meanwhile.  May sleep. */
void rds_rdma_dev_each(void (*fn)(struct rds_rdma_dev *dev, void *arg), void *arg);

/*
 * The device that was found first after that of number @serial (0: the first of all), counted, or
 * NULL.  Any context but hard interrupts.
 */
struct rds_rdma_dev *rds_rdma_dev_after(u64 serial);

/* Call @fn for every connection that is entered.  @fn may sleep but not wait for it to leave. */
void rds_rdma_dev_each_conn(struct rds_rdma_dev *dev,
			    void (*fn)(struct rds_rdma_conn *conn, void *arg), void *arg);

/* An address and a port as the CM wants them */
void rds_rdma_sockaddr(struct sockaddr_storage *ss, const struct rds_rdma_laddr *la, u16 port);

/* addr.c */

int rds_rdma_addr_init(void);
void rds_rdma_addr_exit(void);
void rds_rdma_addr_kick(void);		/* look again; any context */
void rds_rdma_addr_dev_gone(struct rds_rdma_dev *dev);
int rds_rdma_addr_net_init(struct net *net);
void rds_rdma_addr_net_exit(struct net *net);

/*
 * Sockets of @net use RDMA, or none does any more: then on return there is no listener of @net, and
 * no registrar with ids of it.
 */
void rds_rdma_addr_net_use(struct net *net, bool use);
bool rds_rdma_addr_of_dev(struct rds_rdma_dev *dev, struct rds_rdma_laddr *la,
			  unsigned int failed);

/* netaddr.c */

/**
 * struct rds_rdma_found - an address of a namespace
 * @node: in a list of the caller's
 * @la: the address
 */
struct rds_rdma_found {
	struct list_head	node;
	struct rds_rdma_laddr	la;
};

/*
 * Put the addresses of @net on @found; they are the caller's.  @missed: there was no memory for
 * one; @tentative: one is not ready yet.  Both are set or left as they are.
 */
void rds_rdma_addr_collect(struct net *net, struct list_head *found, bool *missed, bool *tentative);

/* link.c */

/*
 * Can connections from an address to another be begun?  @la->net must be there.  Any context but
 * hard interrupts.
 */
bool rds_rdma_link_usable(const struct rds_rdma_laddr *la, const struct in6_addr *remote);

/*
 * An attempt is about to be dialled: true if it is not to be, as its link is not ready, and
 * connect_work comes when it is.  @conn is entered, so that the end of its interface either is
 * seen here or meets it.
 */
bool rds_rdma_link_waits(struct rds_rdma_conn *conn);

/* Have IPv6 look for the link address of the peer before rdma_cm does. */
void rds_rdma_link_ask_neighbour(const struct rds_rdma_conn *conn);

/* All that waits for links that are there goes on; false if something still waits for another. */
bool rds_rdma_links_ready(void);

/*
 * Those parked whose link is good again, or all if the device goes, are released; false if some
 * are left that still can be.
 */
bool rds_rdma_link_unpark(struct rds_rdma_dev *dev);

int rds_rdma_link_init(void);
void rds_rdma_link_exit(void);

/* loopqp.c: have @qp, of a RoCE device, talk to itself at an address.  0 or an errno. */
int rds_rdma_qp_loop(struct ib_qp *qp, const struct in6_addr *addr);

/* registrar.c */

/**
 * struct rds_rdma_reg_req - a request to the registrar
 * @cqe: its completion
 * @node: in rds_rdma_registrar.reqs
 * @reg: registrar it was given to
 * @done: it is over
 * @status: how it ended
 */
struct rds_rdma_reg_req {
	struct ib_cqe			cqe;
	struct list_head		node;
	struct rds_rdma_registrar	*reg;
	struct completion		done;
	enum ib_wc_status		status;
};

int rds_rdma_registrar_create(struct rds_rdma_dev *dev);
void rds_rdma_registrar_stop(struct rds_rdma_dev *dev);
void rds_rdma_registrar_free(struct rds_rdma_dev *dev);
void rds_rdma_registrar_kick(struct rds_rdma_dev *dev);

/*
 * Leave @net, which has no address for a registrar any more.  On return nothing is held, unless
 * the registrar failed at that moment; its work lets go then.
 */
void rds_rdma_registrar_leave(struct rds_rdma_dev *dev, const struct net *net);

/*
 * Wait until requests can be made: 0, -EAGAIN after some seconds, -EINTR, -ENODEV.
 */
int rds_rdma_registrar_wait(struct rds_rdma_dev *dev);

/*
 * Carry a request out and wait for it: 0; -EAGAIN: the registrar is not there or went, the
 * request was carried out or was not; -EINVAL: the device refused it.
 */
int rds_rdma_registrar_run(struct rds_rdma_dev *dev, struct rds_rdma_reg_req *req,
			   struct ib_send_wr *wr);

/* mr.c */
void rds_rdma_mr_dev_init(struct rds_rdma_dev *dev);
void rds_rdma_mr_dev_gone(struct rds_rdma_dev *dev);

#endif
