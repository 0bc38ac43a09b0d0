/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Credits of a stream: arithmetic only.  A credit is one message of data.  An
 * end announces a limit, which is the number of messages that it has taken plus
 * the length of its receive queue, in 16 bits; the other end sends while its
 * own number of messages is below.  Numbers wrap, so only differences count.
 *
 * Two kinds of messages have no credit: those that announce credit or memory,
 * and those that end the stream.  At most RDS_SS_CONTROLS of them are posted
 * and not completed.  On InfiniBand and RoCE a message that finds no receive is
 * repeated.  On iWARP it ends the connection, hence two reserves: this end
 * posts RDS_SS_RX_EXTRA receives more than it announces, and leaves
 * RDS_SS_TX_SLACK of the credits of a peer that does not.
 *
 * Why these suffice: on iWARP a message is completed when TCP has it, so the
 * receiver may have more than RDS_SS_CONTROLS before it.  But it can have
 * caused no more than 7: 2 halves that it has filled, 3 limits, as it sends at
 * most @rq messages and each limit answers half of them (a third of them if @rq
 * is 3), shut and bye.
 *
 * Fields: @rq, @peer_rq and @slack are constant once the stream is
 * open.  The receive side writes @taken, @used and @limit, the send side @told,
 * @used and @sent; both hold the lock of the connection.
 */
#ifndef _RDS_STREAM_FLOW_H
#define _RDS_STREAM_FLOW_H

#include "wire.h"

/* Messages without credit that this end has under way */
#define RDS_SS_CONTROLS		4
/* Receives posted beyond those announced */
#define RDS_SS_RX_EXTRA		16
/* Used receives that are worth a call of the device */
#define RDS_SS_RX_BATCH		8
/* Credits of librdmacm that are left for messages without credit, on iWARP */
#define RDS_SS_TX_SLACK		8

/**
 * struct rds_ss_flow - credits of one connection
 * @rq: messages of data that the peer may have sent beyond @told
 * @taken: messages with credit that have come
 * @told: value of @taken in the last announcement
 * @used: receives that are used up and not posted again
 * @sent: messages with credit that this end has sent
 * @limit: the peer takes messages while @sent is below
 * @peer_rq: messages that the peer takes at once
 * @slack: credits that this end leaves
 */
struct rds_ss_flow {
	u16	rq;
	u16	taken;
	u16	told;
	u16	used;
	u16	sent;
	u16	limit;
	u16	peer_rq;
	u16	slack;
};

void rds_ss_flow_init(struct rds_ss_flow *f, u16 rq);

/*
 * The peer takes @credits messages.  @careful: it posts no receives beyond
 * them, and a message without a receive ends the connection.
 */
void rds_ss_flow_open(struct rds_ss_flow *f, u16 credits, bool careful);

/* A receive was used up. */
void rds_ss_flow_used(struct rds_ss_flow *f);

/* A message with credit came: false if the peer had none left. */
bool rds_ss_flow_take(struct rds_ss_flow *f);

/* The peer announces a limit: false if no honest peer could have. */
bool rds_ss_flow_raise(struct rds_ss_flow *f, u16 limit);

/* Whether enough receives are used up to be posted again. */
static inline bool rds_ss_flow_wants_refill(const struct rds_ss_flow *f)
{
	return f->used >= RDS_SS_RX_BATCH;
}

/* Receives to be posted, before anything else; they count as posted. */
u16 rds_ss_flow_refill(struct rds_ss_flow *f);

/* Whether the peer may be about to wait for an announcement. */
static inline bool rds_ss_flow_due(const struct rds_ss_flow *f)
{
	u16 news = f->taken - f->told;

	return news && news >= f->rq / 2;
}

/* The limit for an announcement, which counts as made. */
u16 rds_ss_flow_tell(struct rds_ss_flow *f);

/* Whether a message of data may be sent. */
static inline bool rds_ss_flow_may_send(const struct rds_ss_flow *f)
{
	return (u16)(f->limit - f->sent) > f->slack;
}

static inline void rds_ss_flow_send(struct rds_ss_flow *f)
{
	f->sent++;
}

/* Receives that have to be posted before the peer can send. */
static inline u16 rds_ss_flow_receives(const struct rds_ss_flow *f)
{
	return f->rq + RDS_SS_RX_EXTRA;
}

#endif
