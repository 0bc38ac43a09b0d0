// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Notifications of remote memory operations, see endpoint/note.h */
#include <linux/slab.h>

#include "endpoint/endpoint.h"
#include "endpoint/note.h"

/**
 * rds_note_alloc - prepare to tell a socket how an operation ended
 * @token: the program's
 *
 * Context: process.
 * Return: the record or NULL.
 */
struct rds_note *rds_note_alloc(u64 token)
{
	struct rds_note *note = kzalloc_obj(*note, GFP_KERNEL_ACCOUNT);

	if (note)
		note->token = token;
	return note;
}

/**
 * rds_note_add - an operation is about to be queued
 * @rs: its socket, not closed
 * @note: its record
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
 * rds_note_end - an operation is over
 * @note: its record, not its any more
 * @status: how it ended
 * @tell: whether the socket hears of it
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
		/* not if it closed just now */
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
 * rds_sock_note_take - take the oldest notification
 * @rs: socket
 *
 * Return: the notification, the caller's to kfree(), or NULL.
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
 * rds_sock_note_return - the reader's memory could not be written
 * @rs: socket
 * @note: as rds_sock_note_take() returned it
 */
void rds_sock_note_return(struct rds_sock *rs, struct rds_note *note)
{
	spin_lock_bh(&rs->rx_lock);
	list_add(&note->list, &rs->notes);
	spin_unlock_bh(&rs->rx_lock);
}

/**
 * rds_sock_note_purge - what is under way has no socket any more, what is over no reader
 * @rs: killed
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
