/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a socket is told about its remote memory operations.
 *
 * A record is made with the request, so that the end of an operation needs no memory.  It belongs
 * to the operation until rds_note_end(), then to the socket, whose reader frees it, or to nobody.
 * While the operation is under way the socket knows it in rds_sock.notes_due, to leave it when it
 * closes; that list and rds_note.owner change under rds_sock.rx_lock.  rds_note_end() reads the
 * owner within an RCU read section and looks again under that lock.
 */
#ifndef _RDS_ENDPOINT_NOTE_H
#define _RDS_ENDPOINT_NOTE_H

#include <linux/list.h>
#include <linux/types.h>

struct rds_sock;

/**
 * struct rds_note - how a remote memory operation ended
 * @list: in rds_sock.notes_due, then in rds_sock.notes
 * @owner: its socket; NULL once told or closed
 * @token: the program's
 * @status: RDS_RDMA_*
 */
struct rds_note {
	struct list_head	list;
	struct rds_sock		*owner;
	u64			token;
	s32			status;
};

struct rds_note *rds_note_alloc(u64 token);
void rds_note_add(struct rds_sock *rs, struct rds_note *note);
void rds_note_end(struct rds_note *note, int status, bool tell);
struct rds_note *rds_sock_note_take(struct rds_sock *rs);
void rds_sock_note_return(struct rds_sock *rs, struct rds_note *note);
void rds_sock_note_purge(struct rds_sock *rs);

#endif
