// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Notifications of remote memory operations; sock/note.h has the rules. */
#include <linux/slab.h>

#include "sock/note.h"
#include "sock/state.h"

/**
 * rds_note_alloc - allocate the note of an operation
 * @token: token that the program gave the operation
 *
 * Context: process.
 * Return: the note, or NULL without memory.
 */
struct rds_note *rds_note_alloc(u64 token)
{
	struct rds_note *note = kzalloc_obj(*note, GFP_KERNEL_ACCOUNT);

	if (note)
		note->token = token;
	return note;
}

/**
 * rds_note_add - enter the note of an operation that is about to be queued
 * @rs: socket of the operation, not closed
 * @note: note of the operation
 *
 * Context: process.
 */
void rds_note_add(struct rds_sock *rs, struct rds_note *note)
{
	spin_lock_bh(&rs->rx_lock);
	note->owner = rs;
	list_add_tail(&note->list, &rs->notes_due);
	spin_unlock_bh(&rs->rx_lock);
}

/**
 * rds_note_end - give the note of a finished operation to the socket, or free
 * it
 * @note: note of the operation, which must not use the note any more
 * @status: status of the operation, RDS_RDMA_*
 * @tell: whether the operation is reported to the socket, if that is not closed
 *
 * Context: any but hard interrupts.
 */
void rds_note_end(struct rds_note *note, int status, bool tell)
{
	struct rds_sock *rs;
	bool told = false;

	rcu_read_lock();
	rs = READ_ONCE(note->owner);
	if (rs) {
		spin_lock_bh(&rs->rx_lock);
		/*
		 * A socket that has closed since the read of owner has cleared
		 * it.
		 */
		if (note->owner) {
			WRITE_ONCE(note->owner, NULL);
			list_del(&note->list);
			told = tell && !rs->dead;
		}
		if (told) {
			note->status = status;
			list_add_tail(&note->list, &rs->notes);
		}
		spin_unlock_bh(&rs->rx_lock);
		if (told)
			rds_sock_wake_all(rs);
	}
	rcu_read_unlock();
	if (!told)
		kfree(note);
}

/**
 * rds_sock_note_take - take the oldest note of an operation that is over
 * @rs: socket
 *
 * Return: the note, which the caller frees with kfree(), or NULL.
 */
struct rds_note *rds_sock_note_take(struct rds_sock *rs)
{
	struct rds_note *note;

	spin_lock_bh(&rs->rx_lock);
	note = list_first_entry_or_null(&rs->notes, struct rds_note, list);
	if (note)
		list_del(&note->list);
	spin_unlock_bh(&rs->rx_lock);
	return note;
}

/**
 * rds_sock_note_return - put a note back that could not be copied to the reader
 * @rs: socket
 * @note: note that rds_sock_note_take() returned
 */
void rds_sock_note_return(struct rds_sock *rs, struct rds_note *note)
{
	spin_lock_bh(&rs->rx_lock);
	list_add(&note->list, &rs->notes);
	spin_unlock_bh(&rs->rx_lock);
}

/**
 * rds_sock_note_purge - detach the notes of operations under way, and free
 * those of finished ones
 * @rs: socket after rds_sock_kill()
 */
void rds_sock_note_purge(struct rds_sock *rs)
{
	struct rds_note *note, *tmp;
	LIST_HEAD(all);

	spin_lock_bh(&rs->rx_lock);
	list_for_each_entry_safe(note, tmp, &rs->notes_due, list) {
		list_del_init(&note->list);
		WRITE_ONCE(note->owner, NULL);
	}
	list_splice_init(&rs->notes, &all);
	spin_unlock_bh(&rs->rx_lock);
	list_for_each_entry_safe(note, tmp, &all, list)
		kfree(note);
}
