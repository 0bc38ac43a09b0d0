/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The device layer (device, addr, netaddr, link, registrar, loopqp, mr): what
 * its files share with each other, with main.c, and with connections.  device.h
 * describes the objects and their life.
 *
 * Locks, outermost first:
 *
 *   scan_lock (addr.c, mutex): one change of the table of addresses at a time.
 *   Listeners are
 *	destroyed under it, so their handlers must not take it nor wait for a
 *	holder of it.
 *     > devs_lock (device.c, mutex): the list of devices; no device leaves the
 *     list while it is
 *	 held
 *       > rtnl (inside ib_core)
 *       > tell_lock (device.c, mutex): one walk over connections at a time
 *   addrs_lock (addr.c, spin): look-up in the table of addresses; a leaf
 *   rds_rdma_registrar.lock (spin, bh) > the locks of ib_post_send()
 *   rds_rdma_dev.lock (spin, bh) > link_lock, address lists of interfaces,
 *   routes, GIDs link_lock (link.c, spin, bh): a leaf
 *
 *   Notifiers of link.c run under the RTNL.  They take tell_lock, under which
 *   the RTNL is never
 *	waited for, and spinlocks.
 */
#ifndef _RDS_RDMA_DEVLAYER_H
#define _RDS_RDMA_DEVLAYER_H

#include <linux/completion.h>
#include <linux/percpu.h>
#include <linux/socket.h>

#include "device.h"
#include "stats.h"

/*
 * Counters of devices, which belong to no namespace; the first namespace shows
 * them.
 */
DECLARE_PER_CPU(struct rds_rdma_stats, rds_rdma_dev_stats);
#define rds_rdma_dev_stats_inc(field)	this_cpu_inc(rds_rdma_dev_stats.field)

/* device.c */

/*
 * Keep rds_rdma_dev.ib valid until rds_rdma_dev_release(), for which the
 * removal of the device waits.  False if the device is being removed.
 */
bool rds_rdma_dev_hold(struct rds_rdma_dev *dev);
void rds_rdma_dev_release(struct rds_rdma_dev *dev);

/*
 * Call @fn for every device; none of them leaves the list meanwhile.  May
 * sleep.
 */
void rds_rdma_dev_each(void (*fn)(struct rds_rdma_dev *dev, void *arg),
		       void *arg);

/*
 * The first device with a number above @serial (0: the first of all), counted,
 * or NULL.  Any context but hard interrupts.
 */
struct rds_rdma_dev *rds_rdma_dev_after(u64 serial);

/*
 * Call @fn for every connection that is not closing.  @fn may sleep, but not
 * wait for its leave.
 */
void rds_rdma_dev_each_conn(struct rds_rdma_dev *dev,
			    void (*fn)(struct rds_rdma_conn *conn, void *arg),
			    void *arg);

/* Write an address and a port in the form of the CM. */
void rds_rdma_sockaddr(struct sockaddr_storage *ss,
		       const struct rds_rdma_laddr *la, u16 port);

/* addr.c */

int rds_rdma_addr_init(void);
void rds_rdma_addr_exit(void);
/* queue a scan of all addresses; any context */
void rds_rdma_addr_kick(void);
void rds_rdma_addr_dev_gone(struct rds_rdma_dev *dev);
int rds_rdma_addr_net_init(struct net *net);
void rds_rdma_addr_net_exit(struct net *net);

/*
 * Note that sockets of @net use RDMA, or that none does any more.  In the
 * second case, on return no listener of @net exists, and no registrar has an id
 * of @net.
 */
void rds_rdma_addr_net_use(struct net *net, bool use);
bool rds_rdma_addr_of_dev(struct rds_rdma_dev *dev, struct rds_rdma_laddr *la,
			  unsigned int failed);

/* netaddr.c */

/**
 * struct rds_rdma_found - an address of a namespace
 * @node: entry in a list of the caller
 * @la: the address
 */
struct rds_rdma_found {
	struct list_head	node;
	struct rds_rdma_laddr	la;
};

/*
 * Add the addresses of @net to @found; the caller frees them.  Sets @missed if
 * there was no memory for one, and @tentative if one is not usable yet; clears
 * neither.
 */
void rds_rdma_addr_collect(struct net *net, struct list_head *found,
			   bool *missed, bool *tentative);

/* link.c */

/*
 * Whether a connection from @la to @remote can be begun.  @la->net is valid
 * during the call.  Any context but hard interrupts.
 */
bool rds_rdma_link_usable(const struct rds_rdma_laddr *la,
			  const struct in6_addr *remote);

/*
 * Whether an attempt must wait before it is dialled, as its link is not usable.
 * If true, connect_work is queued when the link is usable.  @conn is entered,
 * so the end of its interface is either seen here or fails @conn.
 */
bool rds_rdma_link_waits(struct rds_rdma_conn *conn);

/* Have IPv6 resolve the link-layer address of the peer before rdma_cm does. */
void rds_rdma_link_ask_neighbour(const struct rds_rdma_conn *conn);

/*
 * Continue all attempts and ends whose link is usable; false if some wait for
 * another link.
 */
bool rds_rdma_links_ready(void);

/*
 * Release shelved ids whose link is usable, or all if the device is being
 * removed.  False if ids are left that can be released later.
 */
bool rds_rdma_link_unshelve(struct rds_rdma_dev *dev);

int rds_rdma_link_init(void);
void rds_rdma_link_exit(void);

/*
 * loopqp.c: connect @qp, of a RoCE device, to itself at an address.  0 or a
 * negative errno.
 */
int rds_rdma_qp_loop(struct ib_qp *qp, const struct in6_addr *addr);

/* registrar.c */

/**
 * struct rds_rdma_reg_req - a request to the registrar
 * @cqe: completion of the work request
 * @node: entry in rds_rdma_registrar.reqs
 * @reg: registrar that has the request
 * @done: completed when the request is over
 * @status: how the request ended, valid after @done
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
 * Move the registrar away from @net, whose addresses it may not use any more.
 * On return it has no id of @net, unless it failed at that moment; its work
 * destroys the ids then.
 */
void rds_rdma_registrar_leave(struct rds_rdma_dev *dev, const struct net *net);

/*
 * Wait until the registrar takes requests: 0, -EAGAIN after REG_WAIT_TIME,
 * -EINTR or -ENODEV.
 */
int rds_rdma_registrar_wait(struct rds_rdma_dev *dev);

/*
 * Carry out a request and wait for its end.  0; -EAGAIN: the registrar is not
 * up or failed, and the request may have been carried out or not; -EINVAL: the
 * device refused the request.
 */
int rds_rdma_registrar_run(struct rds_rdma_dev *dev,
			   struct rds_rdma_reg_req *req, struct ib_send_wr *wr);

/* mr.c */
void rds_rdma_mr_dev_init(struct rds_rdma_dev *dev);
void rds_rdma_mr_dev_gone(struct rds_rdma_dev *dev);

#endif
