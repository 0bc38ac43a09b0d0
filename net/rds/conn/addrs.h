/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Further addresses of two hosts, over which paths other than path 0 connect.
 *
 * The administrator says which addresses of this host belong together: a set,
 * whose first address is the one by which peers know this host.  A connection
 * keeps the set of its local address as long as it exists (`own`), as its peer
 * relies on what it was told.  A host with a set tells its further addresses to
 * a peer that has one, too, together with a token, over each connection of path
 * 0.  The end that dials is the first to tell, so the other one knows its
 * addresses when it dials them.  What the peer has told (`peer`) is forgotten
 * when the peer restarts.  The addresses of the two hosts make pairs, and the
 * index of a path says which pair it uses.
 *
 * A peer may name an address that is another host's.  A connection from there
 * begins with the token that only the peer was told.  A connection to there is
 * of no use before that host has answered a handshake with the generation
 * number of the peer, see rds_conn_learn(); it gets nothing else before.
 *
 * Only the end that dials a path connects between further addresses; a knock
 * is for the first ones.  So this end makes one path for each pair and keeps it
 * up: the peer could not call for it.
 *
 * Lifetime: a set is part of its connection; that of the peer is freed after a
 * grace period.
 *
 * Locks: rds_conn_addrs.lock guards `peer` and `awaited`; innermost.
 * rds_addrs_table.lock (mutex) guards the sets of a namespace; innermost of the
 * locks that may sleep.
 */
#ifndef _RDS_CONN_ADDRS_H
#define _RDS_CONN_ADDRS_H

#include <linux/in6.h>
#include <linux/types.h>

#include <net/rds/wire.h>

struct rds_conn;
struct rds_cpath;
struct rds_handshake;
struct rds_message;
struct rds_net;
struct rds_path;
struct rds_path_addr;
struct rds_wire_join;

/* Bytes of text for the sets of a namespace, with the end of the string */
#define RDS_ADDRS_TEXT	8192

/**
 * rds_addrs_set - set the addresses of this host that belong together
 * @rn: namespace
 * @text: sets with a blank between them; the addresses of a set have a comma
 *	between them, and are of one family
 *
 * Connections that exist keep their sets.
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL: the text is none, or an address cannot be one of a path,
 * or an address is there twice; -ENOMEM.
 */
int rds_addrs_set(struct rds_net *rn, char *text);

/*
 * Write the sets as rds_addrs_set() reads them, to RDS_ADDRS_TEXT bytes.  May
 * sleep.
 */
void rds_addrs_show(struct rds_net *rn, char *text);

bool rds_addrs_net_init(struct rds_net *rn);
void rds_addrs_net_exit(struct rds_net *rn);

/*
 * Of a connection that begins: find the set of its local address.  May sleep;
 * false without memory.
 */
bool rds_addrs_begin(struct rds_conn *conn);

/* Of a connection that nobody uses any more */
void rds_addrs_end(struct rds_conn *conn);

/* A handshake came over the path.  Any context. */
void rds_addrs_heard(struct rds_cpath *cp, const struct rds_handshake *hs);

/* The peer has restarted.  Any context. */
void rds_addrs_forget(struct rds_conn *conn);

/* Receive side, see struct rds_probe_vtable */
void rds_addrs_told(struct rds_path *path, const void *payload, u32 len);

/* Number of pairs of addresses, 1 without further ones */
unsigned int rds_addrs_pairs(const struct rds_conn *conn);

/* Does this end keep the path up, as the peer cannot call for it? */
bool rds_addrs_keep(const struct rds_cpath *cp);

/*
 * May a connection with these addresses join, whose first frame is @join?
 * Process context.
 */
bool rds_addrs_admit(const struct rds_conn *conn,
		     const struct rds_path_addr *route,
		     const struct rds_wire_join *join);

/*
 * Messages of the kernel's own: the addresses of this host, and the first frame
 * between further addresses.  May sleep; NULL without memory.
 */
struct rds_message *rds_addrs_make(struct rds_conn *conn);
struct rds_message *rds_addrs_make_join(struct rds_conn *conn);

/* Shared by the files about addresses only */

/**
 * struct rds_addr_set - further addresses of a host
 * @rcu: for kfree_rcu()
 * @token: what a connection to them has to begin with
 * @nr: number of @addr
 * @addr: the addresses
 */
struct rds_addr_set {
	struct rcu_head	rcu;
	__be64		token;
	unsigned int	nr;
	struct in6_addr	addr[RDS_MAX_FURTHER];
};

/* Can the address be one of a path of a connection of the family of @like? */
bool rds_addr_is_usable(const struct in6_addr *addr,
			const struct in6_addr *like);

/*
 * Copy the further addresses of the set that begins with @first.  Returns 0,
 * -ENOENT or -ENOMEM.  May sleep.
 */
int rds_addrs_copy(struct rds_net *rn, const struct in6_addr *first,
		   struct rds_addr_set **set);

#endif
