/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Notes, by which a socket reports remote memory operations that are over.
 *
 * Ownership: a note is allocated with the request, so that the end of an
 * operation needs no memory.  The operation owns the note until rds_note_end(),
 * which frees it or gives it to the socket, whose reader frees it.  While the
 * operation is under way the note is also on rds_sock.notes_due, from which the
 * socket removes it when it closes.  That list and rds_note.owner change under
 * rds_sock.rx_lock.  rds_note_end() reads the owner within an RCU read section,
 * and again under that lock.
 */
#ifndef _RDS_SOCK_NOTE_H
#define _RDS_SOCK_NOTE_H

#include <linux/list.h>
#include <linux/types.h>

struct rds_sock;

/**
 * struct rds_note - report of one remote memory operation
 * @list: entry in rds_sock.notes_due, then in rds_sock.notes
 * @owner: socket of the operation; NULL once the operation is over or the
 *	socket is closed
 * @token: token that the program gave the operation
 * @status: RDS_RDMA_*, valid in rds_sock.notes
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
