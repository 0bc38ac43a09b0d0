/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lists whose length users or peers choose, and that are walked in turns.
 *
 * A walk visits what was on the list when it began and still is, in the order
 * of the list, and visits nothing twice.  Between two entries the lock of the
 * list may be released, for as long as it takes: an entry that is removed
 * meanwhile moves the walks that stand at it.  So removing takes a time that
 * depends on the number of walks, which processes make one after the other.
 *
 * Locks: the caller's lock of the list is held for each of these functions.
 * After rds_walk_next() and the release of the lock the caller needs a
 * reference to what it got.
 */
#ifndef _NET_RDS_WALK_H
#define _NET_RDS_WALK_H

#include <linux/list.h>

/**
 * struct rds_walk_list - a list that can be walked in turns
 * @entries: the entries; others may look at them under the lock
 * @walks: walks that are under way
 */
struct rds_walk_list {
	struct list_head	entries;
	struct list_head	walks;
};

/**
 * struct rds_walk - a walk, on the stack of the context that makes it
 * @node: entry in rds_walk_list.walks
 * @next: entry that is visited next; the head of the list at the end
 * @last: entry that is visited last
 */
struct rds_walk {
	struct list_head	node;
	struct list_head	*next;
	struct list_head	*last;
};

static inline void rds_walk_list_init(struct rds_walk_list *list)
{
	INIT_LIST_HEAD(&list->entries);
	INIT_LIST_HEAD(&list->walks);
}

static inline void rds_walk_add(struct rds_walk_list *list,
				struct list_head *entry)
{
	list_add_tail(entry, &list->entries);
}

/* The entry that a walk visits after this one */
static inline struct list_head *rds_walk_after(struct rds_walk_list *list,
					       const struct rds_walk *walk,
					       struct list_head *entry)
{
	return entry == walk->last ? &list->entries : entry->next;
}

/* Take an entry off the list.  Nothing happens if the entry is in no list. */
static inline void rds_walk_del(struct rds_walk_list *list,
				struct list_head *entry)
{
	struct rds_walk *walk;

	list_for_each_entry(walk, &list->walks, node) {
		if (walk->next == entry)
			walk->next = rds_walk_after(list, walk, entry);
		if (walk->last == entry)
			walk->last = entry->prev;
	}
	list_del_init(entry);
}

static inline void rds_walk_begin(struct rds_walk *walk,
				  struct rds_walk_list *list)
{
	walk->next = list->entries.next;
	walk->last = list->entries.prev;
	list_add(&walk->node, &list->walks);
}

/* The entry that is visited now, or NULL at the end */
static inline struct list_head *rds_walk_next(struct rds_walk *walk,
					      struct rds_walk_list *list)
{
	struct list_head *entry = walk->next;

	if (entry == &list->entries)
		return NULL;
	walk->next = rds_walk_after(list, walk, entry);
	return entry;
}

static inline void rds_walk_end(struct rds_walk *walk)
{
	list_del(&walk->node);
}

#endif
