// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Looks at all messages of a queue; send/visit.h has the rules.
 *
 * The position is the message that was visited last, rds_txq.visited, which
 * stays the last one wherever it moves: the numbers rise from list to list.  If
 * it is taken off its list, the one in front of it takes its place.
 */
#include <linux/sched.h>

#include "send/internal.h"
#include "send/visit.h"

/* Messages that are looked at under one lock */
#define VISIT_AT_ONCE	128

/* The lists of a lane, in the order of numbers; the third may be a gate's. */
#define VISIT_SENDING	2
#define VISIT_LISTS	4

struct visit_lists {
	struct list_head *of[VISIT_LISTS];
};

static struct visit_lists visit_lists(struct rds_txq *gate,
				      struct rds_txq *lane)
{
	return (struct visit_lists){ { &lane->kept, &lane->inflight,
				       &gate->sending, &lane->queue } };
}

/* Which of the lists is it?  VISIT_LISTS: none */
static unsigned int visit_index(const struct visit_lists *lists,
				const struct list_head *list)
{
	unsigned int i;

	for (i = 0; i < VISIT_LISTS && lists->of[i] != list; i++)
		;
	return i;
}

static void visit_mark(struct rds_txq *lane, struct rds_message *m)
{
	lockdep_assert_held(&lane->lock);
	if (lane->visited)
		lane->visited->flags &= ~RDS_MSG_VISITED;
	lane->visited = m;
	if (m)
		m->flags |= RDS_MSG_VISITED;
}

/*
 * The message of the lane in front of this one, NULL if there is none or it
 * cannot be found out.  Messages that are retired together stay on their list
 * until all of them are, and there is nothing of the lane in front of them.  A
 * gate that carries the lane may not be locked.
 */
static struct rds_message *visit_before(struct rds_txq *lane,
					struct rds_message *m)
{
	struct rds_txq *gate = READ_ONCE(lane->carrier) ?: lane;
	struct visit_lists lists = visit_lists(gate, lane);
	struct list_head *node = m->tx.list.prev;
	unsigned int i;

	for (;;) {
		i = visit_index(&lists, node);
		if (i == VISIT_LISTS) {
			m = rds_txq_msg(node);
			if (!(m->flags & RDS_MSG_ONCE))
				return m->own.lane == lane ? m : NULL;
			node = node->prev;
			continue;
		}
		if (!i || (i - 1 == VISIT_SENDING && gate != lane))
			return NULL;
		node = lists.of[i - 1]->prev;
	}
}

void rds_visit_forget(struct rds_message *m)
{
	struct rds_txq *lane = m->own.lane;

	lockdep_assert_held(&lane->lock);
	visit_mark(lane, visit_before(lane, m));
}

void rds_visit_lose(struct rds_txq *lane)
{
	visit_mark(lane, NULL);
}

/**
 * struct visit - a look at the messages of a lane
 * @lane: lane
 * @started: are they messages that a transport has begun to send?
 * @fn: called for each
 * @arg: for @fn
 * @seq: number up to which all were visited
 * @end: number of the first that was queued after the begin
 */
struct visit {
	struct rds_txq	*lane;
	bool		started;
	void (*fn)(const struct rds_message *m, void *arg);
	void		*arg;
	u64		seq;
	u64		end;
};

/* Where a turn stands: behind @node, on list @i */
struct visit_pos {
	struct visit_lists	lists;
	unsigned int		i;
	struct list_head	*node;
};

static struct visit_pos visit_resume(struct rds_txq *gate, struct rds_txq *lane)
{
	struct visit_pos pos = { visit_lists(gate, lane) };
	struct rds_message *m = lane->visited;

	if (m) {
		pos.i = visit_index(&pos.lists,
				    rds_carry_list_of(gate, lane, m));
		pos.node = &m->tx.list;
	} else {
		pos.node = pos.lists.of[0];
	}
	return pos;
}

/* The next numbered message, NULL at the end */
static struct rds_message *visit_next(struct rds_txq *gate,
				      struct rds_txq *lane,
				      struct visit_pos *pos)
{
	struct rds_message *m;

	for (;;) {
		pos->node = pos->node->next;
		if (pos->node == pos->lists.of[pos->i]) {
			if (++pos->i == VISIT_LISTS)
				return NULL;
			/* It may have messages of another lane. */
			if (pos->i == VISIT_SENDING &&
			    (gate->from ?: gate) != lane)
				pos->i++;
			pos->node = pos->lists.of[pos->i];
			continue;
		}
		m = rds_txq_msg(pos->node);
		if (!(m->flags & RDS_MSG_ONCE))
			return m;
	}
}

static void visit_message(struct visit *v, const struct rds_txq *gate,
			  const struct rds_message *m)
{
	bool begun = m->flags & RDS_MSG_STARTED || rds_txq_is_partial(gate, m);

	/* Without a position a look begins anew. */
	if (m->seq <= v->seq)
		return;
	v->seq = m->seq;
	if (begun == v->started)
		v->fn(m, v->arg);
}

/* Look at some messages.  Returns whether there are more. */
static bool visit_some(struct visit *v)
{
	struct rds_txq *lane = v->lane, *gate = rds_carry_lock(lane);
	struct visit_pos pos = visit_resume(gate, lane);
	struct rds_message *m, *last = lane->visited;
	unsigned int left = VISIT_AT_ONCE;

	if (!v->end)
		v->end = lane->next_seq;
	while ((m = visit_next(gate, lane, &pos)) && m->seq < v->end &&
	       left--) {
		visit_message(v, gate, m);
		last = m;
	}
	if (m && m->seq >= v->end)
		m = NULL;
	visit_mark(lane, m ? last : NULL);
	rds_carry_unlock(gate, lane);
	return m;
}

void rds_txq_visit(struct rds_txq *txq, bool started,
		   void (*fn)(const struct rds_message *m, void *arg),
		   void *arg)
{
	struct visit v = {
		.lane = txq, .started = started, .fn = fn, .arg = arg,
	};

	while (visit_some(&v))
		cond_resched();
}
