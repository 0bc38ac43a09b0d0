/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A peer of streams in user space, on libibverbs and librdmacm: it posts what a
 * case asks for, right or wrong (Documentation/stream.rst, "On the wire"). One
 * thread; it looks at what has come when it waits. For InfiniBand and RoCE.
 */
#ifndef SELFTESTS_STREAM_ROGUE_H
#define SELFTESTS_STREAM_ROGUE_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "rdstest.h"

#define ROGUE_MS	(10000L * slow_factor())

/* Operations of messages, and codes of controls */
#define OP_DATA		0U
#define OP_DIRECT	2U
#define OP_CREDIT	4U
#define OP_IOMAP	6U
#define OP_CONTROL	7U
#define BYE		0U
#define KEEPALIVE	1U
#define SHUT		2U
#define WORD(op, value)	((op) << 29 | ((value) & 0x1fffffffU))

/* An entry of a table, and a part of the connect data */
struct target {
	uint64_t addr;
	uint32_t key, bytes;
} __attribute__((packed));

#define ENTRY		((uint32_t)sizeof(struct target))

/* Connect data; in network order on the wire */
struct hello {
	uint8_t version, flags;
	uint16_t credits;
	uint8_t magic, features, reserved, iomap;
	struct target table, first;
} __attribute__((packed));

#define FLAG_NET	0x01
#define FLAG_IOMAP	0x02
#define FLAG_OURS	0x04
#define MAGIC		0x5a

/**
 * struct change - what is wrong with connect data
 * @at: offset of a field
 * @bytes: its length
 * @add: add @value to it; otherwise the field becomes @value
 * @value: see @add
 * @sent: bytes of connect data that are sent; 0: all
 */
struct change {
	size_t at, bytes;
	bool add;
	uint64_t value;
	int sent;
};

#define NOTHING_SENT	-1

/* The peer's memory: table, two halves for data, bytes to be sent */
#define IN_HALF		32768U
#define OUT_BYTES	(1024U * 1024)
/* Bytes of a stream count up modulo this, which divides no size of memory */
#define COUNT		251U

/**
 * struct rogue - the peer
 * @from: address
 * @changes: what is wrong with its connect data, @nr_changes of them
 * @odd: asks for no repetitions, and for more READs than there are
 * @receives: receives that are posted; set before it connects
 * @me: own connect data, in host order, after the changes
 * @you: those of the end under test, in host order
 * @mem: memory
 * @out: bytes to be sent, which count up
 * @half: memory that the end under test has published, .bytes is 0: none
 * @fill: half that is filled
 * @at: bytes that are in it
 * @turn: entry of the own table that is written next
 * @entries: number of entries that came
 * @pos: position in the stream that is sent
 * @sent: messages of data that were sent
 * @limit: the end under test takes messages while @sent is below
 * @messages: messages of data that came
 * @in_bytes: and their bytes
 * @credits: messages of credit that came
 * @last_control: the last control that came, or -1
 * @posted: work requests that were posted
 * @done: those that are completed
 * @broken: status of the first work request that failed, or 0
 * @event: last event of the connection, or -1
 * @gone: the connection is over
 */
struct rogue {
	union addr from;
	const struct change *changes;
	int nr_changes;
	bool odd;
	unsigned int receives;
	struct hello me, you;
	uint8_t *mem, *out;
	struct target half[2];
	unsigned int fill;
	uint32_t at;
	unsigned int turn, entries;
	uint64_t pos;
	uint16_t sent, limit;
	unsigned int messages, credits;
	uint64_t in_bytes;
	long last_control;
	unsigned int posted, done;
	int broken;
	int event;
	bool gone;

	struct rdma_event_channel *ec;
	struct rdma_cm_id *listener, *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
};

/** rogue_begin() - set a peer up that does everything right so far */
void rogue_begin(struct rogue *r, const union addr *from);

/**
 * rogue_dial() - ask for a connection
 * @r: peer
 * @to: address of a listener
 *
 * Return: false if it could not be asked for.
 */
bool rogue_dial(struct rogue *r, const union addr *to);

/**
 * rogue_dial_half() - ask for a connection, and never say that the answer came
 *
 * Return: false if there was no answer, or another one.
 */
bool rogue_dial_half(struct rogue *r, const union addr *to);

/** rogue_listen() - listen; *@at is set to the address */
void rogue_listen(struct rogue *r, union addr *at);

/** rogue_request() - wait for a request; false if none comes */
bool rogue_request(struct rogue *r);

/** rogue_accept() - accept the request */
bool rogue_accept(struct rogue *r);

/** rogue_answered() - wait until the attempt is over; was it successful? */
bool rogue_answered(struct rogue *r);

/** rogue_drop() - forget the connection, without a word */
void rogue_drop(struct rogue *r);

/** rogue_look() - take what has come; true if something had */
bool rogue_look(struct rogue *r);

/** rogue_rest() - take what has come, or wait for a moment */
void rogue_rest(struct rogue *r);

/** UNTIL() - wait until a condition holds; does it? */
#define UNTIL(r, cond) ({						\
	long end_ = now_ms() + ROGUE_MS;				\
	bool held_;							\
									\
	while (!(held_ = (cond)) && now_ms() < end_)			\
		rogue_rest(r);						\
	held_;								\
})

/**
 * struct op - a work request
 * @code: what it is; IBV_WR_RDMA_WRITE is 0
 * @from: own memory, or NULL: the bytes that count up
 * @bytes: length
 * @to: address at the other end
 * @key: and its key, or the key to be invalidated
 * @word: message
 */
struct op {
	enum ibv_wr_opcode code;
	const void *from;
	uint32_t bytes;
	uint64_t to;
	uint32_t key, word;
};

/** rogue_post() - post one; false if the device refuses */
bool rogue_post(struct rogue *r, const struct op *op);

/**
 * rogue_do() - post one and wait for it
 *
 * Return: 0; the status of the first that failed; -1: it is not completed.
 */
int rogue_do(struct rogue *r, const struct op *op);

/**
 * rogue_burst() - post one over and over
 * @times: how often
 *
 * Return: how many were completed without an error.
 */
unsigned int rogue_burst(struct rogue *r, const struct op *op,
			 unsigned int times);

/** rogue_say() - send a message without payload, as rogue_do() */
int rogue_say(struct rogue *r, uint32_t word);

/** rogue_entry() - write to a place in the other end's table, and announce it */
int rogue_entry(struct rogue *r, unsigned int slot, const struct target *t);

/** rogue_publish() - publish memory as one should: @slot of the own two halves */
int rogue_publish(struct rogue *r, unsigned int slot);

/** rogue_room() - bytes that the next message of data may have */
uint32_t rogue_room(struct rogue *r);

/** rogue_put() - send that many bytes as one should; false: there is no room */
bool rogue_put(struct rogue *r, uint32_t bytes);

#endif
