/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a namespace has of connections over RDMA and of streams that TCP
 * carries, for /proc/net/rds_streams.
 *
 * Serials: who is listed has one, from 1, in the array of its kind.  A serial
 * is the place of a reader in the file, which is found in the same time however
 * many are listed.  An entry keeps its serial, and a reader only goes up: so
 * what stays is shown exactly once, and what comes or goes meanwhile once or
 * not.  They are given in turn, the oldest first.  After 2^32 - 1 they begin
 * anew with those that are free: then a new entry may be in front of older ones
 * and of a reader, who does not show it.
 *
 * Ownership: the arrays have no reference.  A connection or socket is listed by
 * one who has a reference to it, and is taken off before what a reader looks at
 * is freed.
 *
 * Locks: rds_ss_net.conns_lock (spin, bh).  An entry is taken off under it, so
 * that what a reader has found under it stays until it unlocks.  A reader has
 * it for one line at a time.  An entry is put on without it, as memory is made
 * for that.  xa_lock (bh) of the arrays, which guards them and the next
 * serials, is taken inside; a leaf.
 */
#ifndef _RDS_STREAM_LIST_H
#define _RDS_STREAM_LIST_H

#include <linux/types.h>

struct net;
struct rds_ss_conn;
struct rds_ss_sock;

/* The connection is listed from now on; false: no memory.  May sleep. */
bool rds_ss_list_conn(struct rds_ss_conn *conn);
void rds_ss_unlist_conn(struct rds_ss_conn *conn);

/*
 * TCP has, or begins, a connection for the socket, which is counted once.  It
 * is listed as far as there is room and memory.  May sleep; by several at once.
 * _unlist: none of them is under way any more.
 */
void rds_ss_list_tcp(struct rds_ss_sock *ss);
void rds_ss_unlist_tcp(struct rds_ss_sock *ss);

/* The file of a namespace begins and ends; 0 or a negative errno. */
int rds_ss_list_begin(struct net *net);
void rds_ss_list_end(struct net *net);

#endif
