/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The bytes of a stream that wait to be sent, or that the device may still
 * read: a list of chunks, each in one piece of memory that is mapped for the
 * device.
 *
 *	list: [ completed | under way | waits ] [ waits | room ]
 *	        @head       ^post                        ^fill
 *
 * Writers are one at a time (rds_ss_sock.tx_mutex).  A writer copies into the
 * room behind rds_ss_chunk.fill without the lock, and has a reference to the
 * page meanwhile; then it raises @fill under the lock, if @dead is not set.  A
 * chunk is done with when all of it is completed, but for one at the end that a
 * writer uses, or that is a single page.  Large ones are spares then, charged
 * but no part of sk_wmem_queued, until all bytes are completed: a writer that
 * is ahead of the device uses the same memory again and again.
 *
 * On iWARP memory is used once.  A completion says that TCP has the bytes, and
 * siw gives it the pages: TCP may still send from them.
 *
 * Lock: rds_ss_conn.lock guards everything here.
 */
#ifndef _RDS_STREAM_TX_H
#define _RDS_STREAM_TX_H

#include <linux/list.h>
#include <linux/types.h>

struct ib_sge;
struct page;
struct rds_ss_conn;

/* A large chunk, for a writer that has many bytes or is ahead of the device */
#define RDS_SS_CHUNK_ORDER	3
#define RDS_SS_CHUNK_BYTES	(PAGE_SIZE << RDS_SS_CHUNK_ORDER)

/**
 * struct rds_ss_chunk - piece of memory
 * @node: entry in rds_ss_tx.chunks
 * @page: first page
 * @dma: address for the device
 * @begin: offset of its first byte in @page
 * @size: length
 * @fill: bytes that were written
 * @order: order of @page; -1: the page is somebody else's, and counted
 */
struct rds_ss_chunk {
	struct list_head	node;
	struct page		*page;
	u64			dma;
	u32			begin;
	u32			size;
	u32			fill;
	int			order;
};

/**
 * struct rds_ss_tx - bytes to be sent
 * @chunks: the chunks, in order
 * @spares: large chunks that are not in use
 * @once: memory is used once
 * @post: chunk with the first byte that waits, or NULL
 * @post_off: its offset there
 * @head: offset of the first byte that is not completed, in the first chunk
 * @bytes: bytes that are not completed
 * @writer: a writer may be copying into the last chunk
 * @dead: no chunk can be had any more
 */
struct rds_ss_tx {
	struct list_head	chunks;
	struct list_head	spares;
	bool			once;
	struct rds_ss_chunk	*post;
	u32			post_off;
	u32			head;
	u32			bytes;
	bool			writer;
	bool			dead;
};

void rds_ss_tx_init(struct rds_ss_tx *tx);

/* Bytes from the front of what waits that @max_sge elements can carry */
u32 rds_ss_tx_most(const struct rds_ss_tx *tx, unsigned int max_sge);

/* Take the next @bytes; number of elements that are filled in, but for keys. */
unsigned int rds_ss_tx_take(struct rds_ss_tx *tx, u32 bytes,
			    struct ib_sge *sge);

/* The oldest @bytes are completed. */
void rds_ss_tx_done(struct rds_ss_conn *conn, u32 bytes);

/* The last chunk, if it has room. */
struct rds_ss_chunk *rds_ss_tx_room(struct rds_ss_tx *tx);

/*
 * Append a chunk for a writer that has @want bytes.  Takes the lock; may sleep.
 * 0, or an error of rds_ss_tx_enter(); -ENOBUFS.
 */
int rds_ss_tx_more(struct rds_ss_conn *conn, size_t want);

/* A chunk of somebody's page, with a reference; NULL: no memory. */
struct rds_ss_chunk *rds_ss_tx_page(struct page *page, u32 off, u32 bytes);

/*
 * Append a chunk.  0; -EAGAIN: the socket has its share; -ENOMEM: a limit does
 * not allow it; -EPIPE: the connection ends; -ENOBUFS.
 */
int rds_ss_tx_enter(struct rds_ss_conn *conn, struct rds_ss_chunk *c);

/* Free a chunk that was not appended. */
void rds_ss_tx_release(struct rds_ss_chunk *c);

/* @bytes behind @chunk->fill were written, and count. */
void rds_ss_tx_commit(struct rds_ss_conn *conn, struct rds_ss_chunk *chunk,
		      u32 bytes);

/* Free everything.  No completion comes any more. */
void rds_ss_tx_end(struct rds_ss_conn *conn);

#endif
