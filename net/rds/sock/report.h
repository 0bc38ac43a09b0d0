/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reports, by which a socket with RDS_PEER_TIMEOUT hears of a peer: messages
 * were dropped because the peer could not be reached, or the peer has
 * restarted.
 *
 * Ownership: a socket has one report for each connection over which it has
 * called for a send since the option was set, so that neither event needs
 * memory.  The report is charged to the memory cgroup of the sender, and counts
 * in rds_sock.nr_reports, which has a limit.  It goes with the first of: the
 * socket closes, the option is switched off, the connection is freed.  In the
 * last case a report with news stays until a reader has taken the news.
 *
 * Locks: rds_net.reports_lock (bottom halves off) guards the three lists that a
 * report is on, and all fields but @dropped and @sent.  It is taken inside the
 * locks of a receiver, also rds_rx_lane.lock; only wake-ups happen inside.
 * Finding a report is RCU.  The socket lock is held from reading news to taking
 * them off the list.
 */
#ifndef _RDS_SOCK_REPORT_H
#define _RDS_SOCK_REPORT_H

#include <linux/atomic.h>
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable.h>

#include <net/rds/walk.h>

struct rds_conn;
struct rds_net;
struct rds_sock;

/* Reports of one socket; a send to a further peer is refused. */
#define RDS_MAX_REPORTS		4096

/* Socket and connection; constant, but @conn is not used after its end */
struct rds_report_key {
	struct rds_sock		*rs;
	const struct rds_conn	*conn;
};

/**
 * struct rds_report - what a socket is told of a peer
 * @node: entry in the table of all reports, while the connection exists
 * @key: socket and connection
 * @list: the connection's list
 * @of_conn: entry in @list; empty once the connection is gone
 * @of_sock: entry in rds_sock.reports
 * @due: entry in rds_sock.reports_due, or empty
 * @faddr: address of the peer
 * @scope: interface index if @faddr is link-local, else 0
 * @dropped: messages that were dropped since the last report
 * @restarted: the peer has restarted since the last report
 * @sent: a message may wait that the last look for those whose time is over did
 *	not see; written without the lock
 * @rcu: for kfree_rcu()
 */
struct rds_report {
	struct rhash_head	node;
	struct rds_report_key	key;
	struct rds_walk_list	*list;
	struct list_head	of_conn;
	struct list_head	of_sock;
	struct list_head	due;
	struct in6_addr		faddr;
	int			scope;
	atomic_t		dropped;
	bool			restarted;
	bool			sent;
	struct rcu_head		rcu;
};

/**
 * struct rds_report_news - what one report said, for a reader
 * @faddr: address of the peer
 * @scope: interface index if @faddr is link-local, else 0
 * @dropped: number of messages that were dropped; 0: the peer has restarted
 */
struct rds_report_news {
	struct in6_addr	faddr;
	int		scope;
	unsigned int	dropped;
};

/**
 * rds_report_find - get the report of a socket and a connection
 * @rs: socket
 * @conn: connection
 *
 * Context: any but hard interrupts, RCU read section.
 * Return: the report, valid within the section, or NULL.
 */
struct rds_report *rds_report_find(struct rds_sock *rs,
				   const struct rds_conn *conn);

/**
 * rds_report_make - have a socket told of a peer
 * @rs: socket, not closed
 * @conn: connection, counted
 * @list: reports of the connection
 * @faddr: address of the peer
 * @scope: interface index if @faddr is link-local, else 0
 *
 * Context: process, may sleep.
 * Return: 0, also if there was a report, or the option is off; -ENOMEM; -ENOSPC
 * with RDS_MAX_REPORTS.
 */
int rds_report_make(struct rds_sock *rs, const struct rds_conn *conn,
		    struct rds_walk_list *list, const struct in6_addr *faddr,
		    int scope);

/**
 * rds_reports_restarted - tell sockets that the peer of a connection has
 * restarted
 * @rn: namespace
 * @list: reports of the connection
 * @walk: set up if false is returned, and the reports that are left are for
 *	rds_reports_restarted_rest(); else unchanged
 * @busy: is @walk in use, for another restart?  That is over then.
 *
 * Context: any but hard interrupts.
 * Return: whether all that have a report now are told.
 */
bool rds_reports_restarted(struct rds_net *rn, struct rds_walk_list *list,
			   struct rds_walk *walk, bool *busy);

/* Tell some that are left.  Returns whether more are.  Process context. */
bool rds_reports_restarted_rest(struct rds_net *rn, struct rds_walk_list *list,
				struct rds_walk *walk, bool *busy);

/* Begin to look for sockets whose time is over.  Process context. */
void rds_reports_begin(struct rds_net *rn, struct rds_walk_list *list,
		       struct rds_walk *walk);

/**
 * rds_reports_next - find a socket with rds_report.sent whose time for an
 * unreachable peer is over
 * @rn: namespace
 * @list: reports of the connection
 * @walk: of rds_reports_begin(); it ends if NULL is returned
 * @elapsed: how long the peer could not be reached, in ms
 * @wait: made less if the time of a socket is over sooner, in ms; 0: none yet
 *
 * Context: process, may sleep.
 * Return: the socket, with a reference; or NULL.
 */
struct rds_sock *rds_reports_next(struct rds_net *rn,
				  struct rds_walk_list *list,
				  struct rds_walk *walk, s64 elapsed,
				  unsigned int *wait);

/* Call @fn under the lock for each report whose connection exists. */
void rds_sock_reports_each(struct rds_sock *rs,
			   void (*fn)(struct rds_report *rep, void *arg),
			   void *arg);

/* Tell the socket of what was dropped.  Process context. */
void rds_sock_reports_dropped(struct rds_sock *rs);

/* The connection is being freed.  Process context; may sleep. */
void rds_reports_end(struct rds_net *rn, struct rds_walk_list *list);

/* Free all reports of a socket that closes or switches the option off. */
void rds_sock_reports_purge(struct rds_sock *rs);

/*
 * Read the oldest news, which stay until rds_sock_report_done(); false if there
 * are none.  The socket lock is held, so that one reader is told.
 */
bool rds_sock_report_peek(struct rds_sock *rs, struct rds_report_news *news);
void rds_sock_report_done(struct rds_sock *rs,
			  const struct rds_report_news *news);

int rds_report_init(void);
void rds_report_exit(void);

#endif
