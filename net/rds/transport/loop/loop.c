// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Loopback: messages between sockets of one host, handed over in memory.
 *
 * Loopback uses only the public transport interface, and so is the smallest
 * complete example of a transport.  A path is up as soon as it is requested and
 * is lost only for want of memory.  A message is delivered, and so
 * acknowledged, in the context that transmits it; sender and receiver share its
 * pages.
 */
#include <linux/bvec.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/module.h>

#include "transport/loop/loop.h"
#include <net/rds/transport.h>

/*
 * The sender, in whose context messages are mostly delivered, is charged for
 * what the receiver has.
 */
#define LOOP_GFP	(GFP_ATOMIC | __GFP_ACCOUNT)

/*
 * Messages, and bytes, that are delivered at once, before bottom halves run: a
 * batch may have all that other senders have queued.
 */
#define LOOP_TURN_MSGS	64
#define LOOP_TURN_BYTES	(256 * 1024)

/*
 * Loopback is chosen by rds_transport_for_addr(), not by an address that it
 * has.
 */
static bool loop_addr_local(struct net *net, const struct in6_addr *addr,
			    u32 scope)
{
	return false;
}

static int loop_path_connect(struct rds_path *path)
{
	rds_path_up(path);
	return 0;
}

/* No peer opens connections to this transport. */
static void loop_path_attach(struct rds_path *path, void *handle)
{
	rds_path_lost(path, RDS_DROP_SELF_CONNECT);
}

static void loop_path_close(struct rds_path *path, bool graceful)
{
}

static void loop_refuse(struct net *net, void *handle)
{
}

/* Copy the payload into the receiver's buffer. */
static void loop_copy(const struct rds_tx_msg *m, u8 *to)
{
	unsigned int skip = sizeof(*m->hdr), i;

	for (i = 0; i < m->nr_bv; i++, skip = 0) {
		const struct bio_vec *bv = &m->bv[i];

		memcpy(to, page_address(bv->bv_page) + bv->bv_offset + skip,
		       bv->bv_len - skip);
		to += bv->bv_len - skip;
	}
}

/*
 * A page for the receiver: a reference to the message's, or a copy of one lent
 * by a process.
 */
static struct page *loop_page(const struct rds_tx_msg *m,
			      const struct bio_vec *bv)
{
	struct page *page = bv->bv_page;

	if (!m->lent) {
		get_page(page);
		return page;
	}
	page = alloc_page(LOOP_GFP | __GFP_NOWARN);
	if (page)
		memcpy_page(page, bv->bv_offset, bv->bv_page, bv->bv_offset,
			    bv->bv_len);
	return page;
}

/* Let the receiver refer to the payload. */
static bool loop_share(const struct rds_tx_msg *m, struct rds_incoming *inc)
{
	unsigned int skip = sizeof(*m->hdr), i;

	for (i = 0; i < m->nr_bv; i++, skip = 0) {
		const struct bio_vec *bv = &m->bv[i];
		u32 len = bv->bv_len - skip;
		struct page *page;

		if (!len)
			continue;
		page = loop_page(m, bv);
		if (!page)
			return false;
		if (!rds_rx_add_page(inc, page, bv->bv_offset + skip, len,
				     m->lent ? PAGE_SIZE : len)) {
			put_page(page);
			return false;
		}
	}
	return true;
}

static bool loop_deliver(struct rds_rx_batch *rx, const struct rds_tx_msg *m)
{
	u32 len = m->bytes - sizeof(*m->hdr);
	struct rds_incoming *inc;
	u8 *buf;

	inc = rds_rx_alloc(rx->path, len, false, LOOP_GFP);
	if (!inc)
		return false;
	buf = rds_rx_buffer(inc);
	if (buf) {
		loop_copy(m, buf);
	} else if (!loop_share(m, inc)) {
		rds_rx_free(inc);
		return false;
	}
	rds_rx_deliver(rx, inc, m->hdr);
	return true;
}

/* Deliver some messages.  False without memory. */
static bool loop_turn(struct rds_path *path, struct rds_tx_batch *batch)
{
	const u64 end = batch->pos + LOOP_TURN_BYTES;
	unsigned int left = LOOP_TURN_MSGS;
	struct rds_rx_batch rx;
	bool delivered = true;

	local_bh_disable();
	rds_rx_begin(&rx, path);
	while (batch->cur && left-- && batch->pos < end) {
		delivered = loop_deliver(&rx, batch->cur);
		if (!delivered)
			break;
		rds_tx_advance(batch, batch->cur->bytes);
	}
	rds_rx_end(&rx);
	local_bh_enable();
	return delivered;
}

static enum rds_tx_result loop_xmit(struct rds_path *path,
				    struct rds_tx_batch *batch)
{
	enum rds_tx_result res = RDS_TX_DONE;

	/*
	 * The core connects a lost path again after a delay and retransmits.
	 */
	if (!loop_turn(path, batch)) {
		rds_path_lost(path, RDS_DROP_NO_MEMORY);
		res = RDS_TX_FAILED;
	}
	rds_path_acked(path, batch->pos);
	return res;
}

static const struct rds_transport loop_transport = {
	.owner		= THIS_MODULE,
	.name		= "loopback",
	.type		= RDS_TRANS_LOOP,
	.caps		= RDS_CAP_NETNS | RDS_CAP_LOCAL_ONLY,
	.addr_local	= loop_addr_local,
	.path_connect	= loop_path_connect,
	.path_attach	= loop_path_attach,
	.path_close	= loop_path_close,
	.refuse		= loop_refuse,
	.xmit		= loop_xmit,
};

int __init rds_loop_init(void)
{
	return rds_transport_register(&loop_transport);
}

void rds_loop_exit(void)
{
	rds_transport_unregister(&loop_transport);
}
