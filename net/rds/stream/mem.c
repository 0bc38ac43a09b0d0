// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory that the peer writes to: the table of targets and the first two halves
 * under one key, and larger halves with a key of their own.
 *
 * Who may touch it: the peer, from the moment when it has the key until the key
 * is ended, also while the program reads; so what is read is copied once.  The
 * pages stay until the connection is freed, or, of halves that were replaced,
 * until their key is ended: no reader is in such a half (halves.h).
 *
 * The table and the halves are mapped both ways and need no syncs: only memory
 * of coherent devices is registered, and none that would be copied
 * (rds_dev_mr_reg()).
 */
#include <linux/bvec.h>
#include <linux/dma-map-ops.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include <net/rds/dev_key.h>

#include "conn.h"
#include "net.h"

#define MEM_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE)

static bool coherent(const struct ib_device *ib)
{
	return ib_uses_virt_dma((struct ib_device *)ib) ||
	       dev_is_dma_coherent(ib->dma_device);
}

static void pages_free(struct page **page, unsigned int nr)
{
	while (nr--) {
		if (page[nr])
			__free_page(page[nr]);
		/* The array may stay. */
		page[nr] = NULL;
	}
}

/* Zeroed, as a peer can announce bytes that it has not written. */
static bool pages_get(struct page **page, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		page[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!page[i]) {
			pages_free(page, i);
			return false;
		}
	}
	return true;
}

static int pages_key(struct rds_ss_conn *conn, struct page **page,
		     unsigned int nr, struct rds_dev_mr **mr)
{
	struct bio_vec *bv = kvmalloc_array(nr, sizeof(*bv), GFP_KERNEL);
	unsigned int i;
	int err;

	if (!bv)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		bvec_set_page(&bv[i], page[i], PAGE_SIZE, 0);
	err = rds_dev_mr_reg(conn->id.dom, bv, nr, nr * PAGE_SIZE, MEM_ACCESS,
			     DMA_BIDIRECTIONAL, false, mr);
	kvfree(bv);
	return err;
}

static void base_half(struct rds_ss_conn *conn, unsigned int i,
		      struct rds_ss_config *conf)
{
	unsigned int nr = RDS_SS_HALF_PAGES, first = 1 + i * nr;
	struct rds_ss_pages *m = &conn->mems[i];

	m->state = RDS_SS_MEM_BASE;
	m->page = &conn->base[first];
	m->nr = nr;
	conf->half[i].id = i;
	conf->half[i].seg.addr = conf->table_seg.addr + first * PAGE_SIZE;
	conf->half[i].seg.key = conf->table_seg.key;
	conf->half[i].seg.bytes = RDS_SS_HALF_MIN;
}

int rds_ss_mem_create(struct rds_ss_conn *conn, struct rds_ss_config *conf)
{
	int err;

	if (!coherent(conn->id.dev->ib))
		return -EOPNOTSUPP;
	if (!pages_get(conn->base, RDS_SS_BASE_PAGES))
		return -ENOMEM;
	err = pages_key(conn, conn->base, RDS_SS_BASE_PAGES, &conn->base_mr);
	if (err)
		return err;
	conf->table = page_address(conn->base[0]);
	conf->table_seg.addr = rds_dev_mr_iova(conn->base_mr);
	conf->table_seg.key = rds_dev_mr_rkey(conn->base_mr);
	base_half(conn, 0, conf);
	base_half(conn, 1, conf);
	return 0;
}

u32 rds_ss_mem_bytes(const struct rds_ss_conn *conn)
{
	unsigned int i;
	u32 nr = 0;

	lockdep_assert_held(&conn->lock);
	if (conn->base[0])
		nr += RDS_SS_BASE_PAGES;
	for (i = 0; i < RDS_SS_MEMS; i++)
		if (conn->mems[i].state > RDS_SS_MEM_BASE)
			nr += conn->mems[i].nr;
	return nr * PAGE_SIZE;
}

void rds_ss_mem_ended(struct rds_ss_conn *conn, u32 id)
{
	lockdep_assert_held(&conn->lock);
	if (id >= RDS_SS_MEMS || conn->mems[id].state != RDS_SS_MEM_USED)
		return;
	conn->mems[id].state = RDS_SS_MEM_FREED;
	queue_work(rds_ss_wq, &conn->mem_work);
}

void rds_ss_mem_grow(struct rds_ss_conn *conn)
{
	u32 bytes;

	lockdep_assert_held(&conn->lock);
	if (conn->grow || conn->mute)
		return;
	bytes = rds_ss_grow(&conn->e);
	if (!bytes)
		return;
	conn->grow = bytes;
	queue_work(rds_ss_wq, &conn->mem_work);
}

/* Memory that nothing uses any more */
static void mem_release(struct rds_ss_pages *m)
{
	if (m->mr)
		rds_dev_mr_dereg(m->mr);
	pages_free(m->page, m->nr);
	kvfree(m->page);
}

/* Take memory that was replaced off the connection; false if there is none. */
static bool mem_take_freed(struct rds_ss_conn *conn, struct rds_ss_pages *out)
{
	unsigned int i;

	lockdep_assert_held(&conn->lock);
	for (i = 0; i < RDS_SS_MEMS; i++) {
		if (conn->mems[i].state != RDS_SS_MEM_FREED)
			continue;
		*out = conn->mems[i];
		memset(&conn->mems[i], 0, sizeof(conn->mems[i]));
		return true;
	}
	return false;
}

static void mem_reap(struct rds_ss_conn *conn)
{
	struct rds_ss_pages m;

	spin_lock_bh(&conn->lock);
	while (mem_take_freed(conn, &m)) {
		spin_unlock_bh(&conn->lock);
		mem_release(&m);
		spin_lock_bh(&conn->lock);
		rds_ss_uncharge(conn, m.nr * PAGE_SIZE);
	}
	spin_unlock_bh(&conn->lock);
}

/* A place for a spare, which is the caller's until it is given, or -1 */
static int mem_place(struct rds_ss_conn *conn, u32 bytes)
{
	int i;

	lockdep_assert_held(&conn->lock);
	for (i = 0; i < RDS_SS_MEMS; i++)
		if (conn->mems[i].state == RDS_SS_MEM_NONE)
			break;
	if (i == RDS_SS_MEMS || conn->mute ||
	    !rds_ss_charge(conn, bytes, conn->charged))
		return -1;
	return i;
}

static bool mem_make(struct rds_ss_conn *conn, u32 bytes,
		     struct rds_ss_pages *m)
{
	m->nr = DIV_ROUND_UP(bytes, PAGE_SIZE);
	m->page = kvcalloc(m->nr, sizeof(*m->page), GFP_KERNEL_ACCOUNT);
	if (!m->page)
		return false;
	if (!pages_get(m->page, m->nr)) {
		kvfree(m->page);
		return false;
	}
	if (!pages_key(conn, m->page, m->nr, &m->mr)) {
		m->state = RDS_SS_MEM_USED;
		return true;
	}
	m->mr = NULL;
	mem_release(m);
	return false;
}

/* Hand a spare over; false: the engine does not want it any more. */
static bool mem_give(struct rds_ss_conn *conn, int place, u32 bytes,
		     const struct rds_ss_pages *m)
{
	const struct rds_ss_mem spare = {
		.seg.addr = rds_dev_mr_iova(m->mr),
		.seg.key = rds_dev_mr_rkey(m->mr),
		.seg.bytes = bytes,
		.id = place,
	};

	lockdep_assert_held(&conn->lock);
	if (conn->mute || !rds_ss_halves_spare(&conn->e.halves, &spare))
		return false;
	conn->mems[place] = *m;
	rds_ss_count(conn->sn, RDS_SS_STAT_stream_grown, 1);
	return true;
}

/*
 * Only this work fills free places, so a place stays free while the memory is
 * made.
 */
static void mem_spare(struct rds_ss_conn *conn)
{
	struct rds_ss_pages m = { };
	bool given = false;
	int place = -1;
	u32 bytes;

	spin_lock_bh(&conn->lock);
	bytes = conn->grow;
	if (bytes)
		place = mem_place(conn, bytes);
	spin_unlock_bh(&conn->lock);
	if (!bytes)
		return;
	if (place >= 0 && !mem_make(conn, bytes, &m))
		m.nr = 0;
	spin_lock_bh(&conn->lock);
	conn->grow = 0;
	if (m.nr)
		given = mem_give(conn, place, bytes, &m);
	else
		rds_ss_halves_spare(&conn->e.halves, NULL);
	if (place >= 0 && !given)
		rds_ss_uncharge(conn, bytes);
	spin_unlock_bh(&conn->lock);
	if (m.nr && !given)
		mem_release(&m);
}

void rds_ss_mem_work(struct work_struct *work)
{
	struct rds_ss_conn *conn = container_of(work, struct rds_ss_conn,
						mem_work);

	mem_reap(conn);
	mem_spare(conn);
}

void rds_ss_mem_stop(struct rds_ss_conn *conn)
{
	unsigned int i;

	cancel_work_sync(&conn->mem_work);
	for (i = 0; i < RDS_SS_MEMS; i++) {
		if (conn->mems[i].mr)
			rds_dev_mr_dereg(conn->mems[i].mr);
		conn->mems[i].mr = NULL;
	}
	if (conn->base_mr)
		rds_dev_mr_dereg(conn->base_mr);
	conn->base_mr = NULL;
}

void rds_ss_mem_free(struct rds_ss_conn *conn)
{
	unsigned int i;

	for (i = 0; i < RDS_SS_MEMS; i++)
		if (conn->mems[i].state > RDS_SS_MEM_BASE)
			mem_release(&conn->mems[i]);
	if (conn->base[0])
		pages_free(conn->base, RDS_SS_BASE_PAGES);
}
