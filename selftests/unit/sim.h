/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Simulator of a stream: two ends and the devices between them, in one thread.
 * Each end is the engine with a small user around it (sim_ours.c), or a model of
 * librdmacm (sim_rsocket.c).  sim_link.c is the devices: memory with keys, work
 * requests, receives and completions.  t_streamsim.c schedules all of it at
 * random and says what must hold.
 *
 * The model of librdmacm was written from what Documentation/stream.rst says of
 * the wire, and not with the code of the engine.
 */
#ifndef _RDS_UNIT_SIM_H
#define _RDS_UNIT_SIM_H

#include "proto/plat.h"
#include "stream/decide.h"
#include "unit.h"

#define SIM_TX_BYTES	(256 * 1024)	/* bytes that a program may have queued */
#define SIM_OPS		2048		/* work requests under way */
#define SIM_RX		4096		/* messages that were not looked at */
#define SIM_REGIONS	64
#define SIM_IOMAP	4

enum sim_kind { SIM_OURS, SIM_RSOCKET };

/* Memory with a key */
struct sim_region {
	u8	*mem;
	u64	addr;
	u32	key;
	u32	bytes;
	bool	live;
};

/* A work request of a send queue */
struct sim_op {
	bool	message;	/* uses up a receive */
	bool	signalled;
	bool	last;		/* of a decision: its completion is reported as @slot */
	bool	control;
	u16	slot;
	u8	word[RDS_SS_MSG_BYTES];
	u64	addr;
	u32	key;
	u32	bytes;
	u64	from;		/* position in the stream of data; else @entry is sent */
	bool	data;
	u8	entry[RDS_SS_IOMAP_BYTES];
	u8	words;		/* of an entry that have come, a bit each */
	u8	*copy;		/* what TCP below iWARP has taken */
};

struct sim_msg {
	u8	word[RDS_SS_MSG_BYTES];
	u32	payload;
	bool	control;
};

/* What the peer may fill, in order */
struct sim_published {
	u64	addr;
	u32	bytes;
};

struct sim_end {
	struct sim		*sim;
	unsigned int		nr;
	enum sim_kind		kind;
	struct sim_end		*peer;
	bool			active;
	bool			open;
	bool			big_endian;
	struct rds_ss_hello	hello;

	/* devices */
	struct sim_region	regions[SIM_REGIONS];
	struct sim_op		ops[SIM_OPS];
	u32			head, sent, done, told;	/* posted, taken by TCP, delivered, completed */
	struct sim_msg		rx[SIM_RX];
	u32			rx_head, rx_tail;
	u32			receives;
	struct sim_published	published[4];
	u32			pub_head, pub_tail, pub_off;
	u32			announced;	/* messages of data that the peer may have sent */
	u32			credited;	/* that it has sent */
	u32			arrived;	/* that were delivered here */
	u32			said, heard_of;	/* messages without credit: sent, and taken by the peer */

	/* the program's bytes, by position in the stream */
	u8			tx[SIM_TX_BYTES];
	u64			tx_put, tx_post, tx_free;
	u64			rx_pos;		/* bytes read */
	bool			saw_end;
	bool			shut;		/* sends no more */

	/* sim_ours.c */
	struct rds_ss_engine	e;
	struct rds_ss_early	*early;
	u64			*table;
	struct rds_ss_span	reading;
	bool			tune_cork;
	u32			want;
	u32			next_region;

	/* sim_rsocket.c */
	u8			*ring;
	u64			*targets;
	u32			half, rq, sq;
	u32			in_off, in_bytes, free_off, unpublished;
	u32			lens[4096];
	u32			len_head, len_tail, len_read;
	u16			sseq, slimit, rseq, rdue;
	u32			target;
	u32			sq_used, ctrl_used;
	u32			xfer;
	bool			heard;
	bool			said_end;	/* sends no more data */
	bool			said_bye;
};

struct sim {
	u64		rng;
	bool		iwarp;
	bool		small;	/* programs write a few bytes at a time */
	struct sim_end	end[2];
	u64		step;
	bool		failed;
	char		what[256];
	/* figures */
	u64		messages, bytes, controls, rnr, grown, early, settled, wraps;
	u32		least_slack;
};

extern u8 sim_pattern[];

u32 sim_random(struct sim *s, u32 below);
void sim_fail(struct sim *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sim_fill(u8 *to, unsigned int dir, u64 pos, u32 bytes);
bool sim_same(const u8 *p, unsigned int dir, u64 pos, u32 bytes);

/* sim_link.c */
void sim_link_init(struct sim_end *e);
void sim_link_free(struct sim_end *e);
struct sim_region *sim_region_add(struct sim_end *e, u32 bytes);
void sim_region_kill(struct sim_end *e, struct sim_region *r);
struct sim_op *sim_post(struct sim_end *e);
void sim_publish(struct sim_end *e, const struct rds_ss_segment *seg);
void sim_credit(struct sim_end *e);
void sim_announce(struct sim_end *e, u16 limit);
void sim_freed(struct sim_end *e, u64 bytes);
u32 sim_write(struct sim_end *e, u32 bytes);
bool sim_step_send(struct sim_end *e);
bool sim_step_deliver(struct sim_end *e);
struct sim_op *sim_completed(struct sim_end *e);
bool sim_received(struct sim_end *e, struct sim_msg *m);

/* Both kinds of ends: each returns whether something happened. */
struct sim_end_ops {
	void (*init)(struct sim_end *e);
	void (*free)(struct sim_end *e);
	void (*up)(struct sim_end *e);
	bool (*write)(struct sim_end *e, u32 bytes);
	bool (*read)(struct sim_end *e, u32 bytes);
	bool (*receive)(struct sim_end *e);
	bool (*complete)(struct sim_end *e);
	bool (*other)(struct sim_end *e, bool calm);
	void (*shut)(struct sim_end *e);
	void (*close)(struct sim_end *e);
	void (*deafen)(struct sim_end *e);	/* NULL for librdmacm */
	void (*check)(struct sim_end *e);
};

extern const struct sim_end_ops sim_ours_ops, sim_rsocket_ops;

static inline const struct sim_end_ops *sim_ops(const struct sim_end *e)
{
	return e->kind == SIM_OURS ? &sim_ours_ops : &sim_rsocket_ops;
}

#endif
