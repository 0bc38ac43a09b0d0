// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Bytes that wait to be sent, and their memory; tx.h has the rules. */
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <rdma/ib_verbs.h>

#include "conn.h"

void rds_ss_tx_init(struct rds_ss_tx *tx)
{
	memset(tx, 0, sizeof(*tx));
	INIT_LIST_HEAD(&tx->chunks);
	INIT_LIST_HEAD(&tx->spares);
}

static struct rds_ss_chunk *chunk_next(const struct rds_ss_tx *tx,
				       struct rds_ss_chunk *c)
{
	return list_is_last(&c->node, &tx->chunks) ? NULL :
						     list_next_entry(c, node);
}

u32 rds_ss_tx_most(const struct rds_ss_tx *tx, unsigned int max_sge)
{
	struct rds_ss_chunk *c = tx->post;
	u32 off = tx->post_off, most = 0;

	while (c && max_sge) {
		if (c->fill > off)
			max_sge--;
		most += c->fill - off;
		off = 0;
		c = chunk_next(tx, c);
	}
	return most;
}

unsigned int rds_ss_tx_take(struct rds_ss_tx *tx, u32 bytes, struct ib_sge *sge)
{
	unsigned int n = 0;
	u32 part;

	while (bytes && tx->post) {
		part = min(bytes, tx->post->fill - tx->post_off);
		if (part) {
			sge[n].addr = tx->post->dma + tx->post_off;
			sge[n++].length = part;
		}
		bytes -= part;
		tx->post_off += part;
		if (!bytes || list_is_last(&tx->post->node, &tx->chunks))
			break;
		tx->post = list_next_entry(tx->post, node);
		tx->post_off = 0;
	}
	return n;
}

/* Pages of somebody else are charged there as well as here. */
static u32 chunk_bytes(const struct rds_ss_chunk *c)
{
	return c->order < 0 ? PAGE_SIZE : PAGE_SIZE << c->order;
}

void rds_ss_tx_release(struct rds_ss_chunk *c)
{
	if (c->order < 0)
		put_page(c->page);
	else
		__free_pages(c->page, c->order);
	kfree(c);
}

static void chunk_free(struct rds_ss_conn *conn, struct rds_ss_chunk *c)
{
	lockdep_assert_held(&conn->lock);
	list_del(&c->node);
	ib_dma_unmap_page(conn->id.dev->ib, c->dma, c->size, DMA_TO_DEVICE);
	rds_ss_uncharge(conn, chunk_bytes(c));
	rds_ss_tx_release(c);
}

/* The chunk is no part of the stream any more: it is a spare, or freed. */
static void chunk_done(struct rds_ss_conn *conn, struct rds_ss_chunk *c)
{
	struct sock *sk = conn->sk;

	lockdep_assert_held(&conn->lock);
	WRITE_ONCE(sk->sk_wmem_queued, sk->sk_wmem_queued - chunk_bytes(c));
	if (c->order > 0 && !conn->tx.once)
		list_move(&c->node, &conn->tx.spares);
	else
		chunk_free(conn, c);
}

static void spares_free(struct rds_ss_conn *conn)
{
	struct rds_ss_chunk *c, *tmp;

	list_for_each_entry_safe(c, tmp, &conn->tx.spares, node)
		chunk_free(conn, c);
}

/* Whether nobody but a future writer needs the chunk. */
static bool chunk_idle(const struct rds_ss_tx *tx, const struct rds_ss_chunk *c)
{
	return tx->head == c->fill &&
	       (tx->post != c || tx->post_off == c->fill);
}

/*
 * Whether an idle chunk stays: a page is worth the next message, and a writer
 * may be copying into the last one.
 */
static bool chunk_stays(const struct rds_ss_tx *tx,
			const struct rds_ss_chunk *c)
{
	return list_is_last(&c->node, &tx->chunks) && c->order >= 0 &&
	       (tx->writer || (!c->order && !tx->once));
}

void rds_ss_tx_done(struct rds_ss_conn *conn, u32 bytes)
{
	struct rds_ss_tx *tx = &conn->tx;
	struct rds_ss_chunk *c, *tmp;
	u32 part;

	lockdep_assert_held(&conn->lock);
	tx->bytes -= min(bytes, tx->bytes);
	list_for_each_entry_safe(c, tmp, &tx->chunks, node) {
		part = min(bytes, c->fill - tx->head);
		bytes -= part;
		tx->head += part;
		if (!chunk_idle(tx, c) || chunk_stays(tx, c))
			break;
		if (tx->post == c) {
			tx->post = chunk_next(tx, c);
			tx->post_off = 0;
		}
		tx->head = 0;
		chunk_done(conn, c);
	}
	if (!tx->bytes)
		spares_free(conn);
}

struct rds_ss_chunk *rds_ss_tx_room(struct rds_ss_tx *tx)
{
	struct rds_ss_chunk *c;

	if (list_empty(&tx->chunks))
		return NULL;
	c = list_last_entry(&tx->chunks, struct rds_ss_chunk, node);
	if (c->order < 0)
		return NULL;
	/* Nothing of it is under way: begin anew. */
	if (list_is_first(&c->node, &tx->chunks) && chunk_idle(tx, c) &&
	    !tx->once) {
		c->fill = 0;
		tx->head = 0;
		tx->post = c;
		tx->post_off = 0;
	}
	return c->fill < c->size ? c : NULL;
}

static bool share_left(const struct sock *sk)
{
	return sk->sk_wmem_queued < READ_ONCE(sk->sk_sndbuf);
}

static void chunk_append(struct rds_ss_conn *conn, struct rds_ss_chunk *c)
{
	struct rds_ss_tx *tx = &conn->tx;
	struct sock *sk = conn->sk;

	WRITE_ONCE(sk->sk_wmem_queued, sk->sk_wmem_queued + chunk_bytes(c));
	list_add_tail(&c->node, &tx->chunks);
	if (!tx->post) {
		tx->post = c;
		tx->post_off = 0;
	}
}

/* Whether the socket may have another chunk: 0, or a negative errno. */
static int may_enter(const struct rds_ss_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (conn->tx.dead)
		return -EPIPE;
	/* A chunk that nothing was copied to may be the whole share. */
	return share_left(conn->sk) || !conn->tx.bytes ? 0 : -EAGAIN;
}

int rds_ss_tx_enter(struct rds_ss_conn *conn, struct rds_ss_chunk *c)
{
	int err = may_enter(conn);
	struct ib_device *ib;

	if (err)
		return err;
	if (!rds_ss_charge(conn, chunk_bytes(c), conn->sk->sk_wmem_queued))
		return -ENOMEM;
	/* It stays as long as messages may enter. */
	ib = conn->id.dev->ib;
	c->dma = ib_dma_map_page(ib, c->page, c->begin, c->size,
				 DMA_TO_DEVICE);
	if (ib_dma_mapping_error(ib, c->dma)) {
		rds_ss_uncharge(conn, chunk_bytes(c));
		return -ENOBUFS;
	}
	chunk_append(conn, c);
	return 0;
}

static struct rds_ss_chunk *chunk_alloc(bool large)
{
	struct rds_ss_chunk *c = kzalloc_obj(*c, GFP_KERNEL_ACCOUNT);
	/* The cgroup is charged by rds_ss_charge(). */
	gfp_t gfp = GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY;

	if (!c)
		return NULL;
	if (large) {
		c->order = RDS_SS_CHUNK_ORDER;
		c->page = alloc_pages(gfp | __GFP_COMP, c->order);
	}
	if (!c->page) {
		c->order = 0;
		c->page = alloc_page(GFP_KERNEL);
	}
	if (!c->page) {
		kfree(c);
		return NULL;
	}
	c->size = PAGE_SIZE << c->order;
	return c;
}

static int chunk_add(struct rds_ss_conn *conn, struct rds_ss_chunk *c)
{
	int err;

	spin_lock_bh(&conn->lock);
	err = rds_ss_tx_enter(conn, c);
	spin_unlock_bh(&conn->lock);
	if (err)
		rds_ss_tx_release(c);
	return err;
}

/* Append a spare: 0, or a negative errno; 1: there is none. */
static int spare_take(struct rds_ss_conn *conn)
{
	struct rds_ss_chunk *c;
	int err = may_enter(conn);

	if (err)
		return err;
	c = list_first_entry_or_null(&conn->tx.spares, struct rds_ss_chunk,
				     node);
	if (!c)
		return 1;
	list_del(&c->node);
	c->fill = 0;
	chunk_append(conn, c);
	return 0;
}

/*
 * A writer of small pieces that is more than a page ahead of the device gets a
 * large chunk, too: few elements carry many bytes then.
 */
static bool is_ahead(const struct rds_ss_conn *conn)
{
	const struct sock *sk = conn->sk;

	lockdep_assert_held(&conn->lock);
	return conn->tx.bytes > PAGE_SIZE &&
	       sk->sk_wmem_queued + RDS_SS_CHUNK_BYTES <=
		       READ_ONCE(sk->sk_sndbuf);
}

int rds_ss_tx_more(struct rds_ss_conn *conn, size_t want)
{
	struct rds_ss_chunk *c;
	bool large;
	int err;

	spin_lock_bh(&conn->lock);
	err = spare_take(conn);
	large = want > PAGE_SIZE || is_ahead(conn);
	spin_unlock_bh(&conn->lock);
	if (err <= 0)
		return err;
	c = chunk_alloc(large);
	return c ? chunk_add(conn, c) : -ENOBUFS;
}

struct rds_ss_chunk *rds_ss_tx_page(struct page *page, u32 off, u32 bytes)
{
	struct rds_ss_chunk *c = kzalloc_obj(*c, GFP_KERNEL_ACCOUNT);

	if (!c)
		return NULL;
	get_page(page);
	c->page = page;
	c->begin = off;
	c->size = bytes;
	c->order = -1;
	return c;
}

void rds_ss_tx_commit(struct rds_ss_conn *conn, struct rds_ss_chunk *chunk,
		      u32 bytes)
{
	lockdep_assert_held(&conn->lock);
	ib_dma_sync_single_for_device(conn->id.dev->ib,
				      chunk->dma + chunk->fill, bytes,
				      DMA_TO_DEVICE);
	chunk->fill += bytes;
	conn->tx.bytes += bytes;
}

void rds_ss_tx_end(struct rds_ss_conn *conn)
{
	struct rds_ss_chunk *c, *tmp;

	lockdep_assert_held(&conn->lock);
	conn->tx.dead = true;
	conn->tx.post = NULL;
	conn->tx.bytes = 0;
	list_for_each_entry_safe(c, tmp, &conn->tx.chunks, node)
		chunk_done(conn, c);
	spares_free(conn);
}
