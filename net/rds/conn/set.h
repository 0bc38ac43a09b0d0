/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The connections of a namespace, by address, and all of them.
 *
 * A set has a reference to each connection in it, which rds_conn_set_add()
 * takes and the caller of rds_conn_set_del() gets.  The hash table grows with
 * the number of connections; its seed is the table's own, so that neither users
 * nor peers can choose addresses that collide.
 *
 * Locks: lookups are RCU, and connections are freed after a grace period.
 * Adding, removing and walking is under a lock of the caller's,
 * rds_conn_table.lock.
 */
#ifndef _RDS_CONN_SET_H
#define _RDS_CONN_SET_H

#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>

#include <net/rds/walk.h>

struct rds_conn;
struct rds_path_addr;
struct rds_transport;

/**
 * struct rds_conn_set - connections
 * @by_addr: by transport and addresses, RCU
 * @all: in the order of their making
 */
struct rds_conn_set {
	struct rhashtable	by_addr;
	struct rds_walk_list	all;
};

/* Returns 0 or -ENOMEM.  Process context. */
int rds_conn_set_init(struct rds_conn_set *set);

/* Nothing is in the set.  Process context. */
void rds_conn_set_exit(struct rds_conn_set *set);

/*
 * The connection with these addresses that is not dead, with a reference, or
 * NULL.  Any context but hard interrupts.
 */
struct rds_conn *rds_conn_set_find(struct rds_conn_set *set,
				   const struct rds_transport *trans,
				   const struct rds_path_addr *addr);

/*
 * Add a connection, of which there is no other with these addresses.  Returns 0
 * or -ENOMEM.  Any context but hard interrupts.
 */
int rds_conn_set_add(struct rds_conn_set *set, struct rds_conn *conn);

/*
 * Call @fn for each that is in the set now, if it still is there then, with a
 * reference and without the @lock of the caller's.  Process context; may sleep.
 */
void rds_conn_set_visit(struct rds_conn_set *set, spinlock_t *lock,
			void (*fn)(struct rds_conn *conn, void *arg),
			void *arg);

/* Remove it.  Any context but hard interrupts. */
void rds_conn_set_del(struct rds_conn_set *set, struct rds_conn *conn);

#endif
