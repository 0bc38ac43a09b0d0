/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mem.c: memory that the peer writes to.  account.c: what a socket is charged
 * for.  Both are under rds_ss_conn.lock where it is not said otherwise.
 */
#ifndef _RDS_STREAM_MEM_H
#define _RDS_STREAM_MEM_H

#include <linux/atomic.h>
#include <linux/math.h>
#include <linux/mm_types.h>
#include <linux/percpu.h>
#include <linux/workqueue.h>

#include "halves.h"

struct rds_dev_mr;
struct rds_ss_config;
struct rds_ss_conn;

/* Pages of the table, and of both first halves behind it */
#define RDS_SS_HALF_PAGES	DIV_ROUND_UP(RDS_SS_HALF_MIN, PAGE_SIZE)
#define RDS_SS_BASE_PAGES	(1 + 2 * RDS_SS_HALF_PAGES)
/* Halves, a spare, and halves whose key is being ended */
#define RDS_SS_MEMS		6
/* Most bytes of a half */
#define RDS_SS_HALF_MAX		0x80000

/**
 * enum rds_ss_mem_state - what memory for data is
 * @RDS_SS_MEM_NONE: not there
 * @RDS_SS_MEM_BASE: part of @base
 * @RDS_SS_MEM_USED: given to the engine
 * @RDS_SS_MEM_FREED: the engine has replaced it; its key is ended next
 */
enum rds_ss_mem_state {
	RDS_SS_MEM_NONE,
	RDS_SS_MEM_BASE,
	RDS_SS_MEM_USED,
	RDS_SS_MEM_FREED,
};

/**
 * struct rds_ss_pages - memory for data
 * @state: see enum rds_ss_mem_state
 * @page: the pages; those of the base in RDS_SS_MEM_BASE
 * @nr: number of pages
 * @mr: key, NULL once it is ended or if it is that of the base
 */
struct rds_ss_pages {
	enum rds_ss_mem_state	state;
	struct page		**page;
	unsigned int		nr;
	struct rds_dev_mr	*mr;
};

/*
 * Make the table and the first halves, and fill in what the engine is to know
 * of them.  Waits for the registrar; without the lock.  0 or a negative errno:
 * what was made is freed by rds_ss_mem_stop() and rds_ss_mem_free().
 */
int rds_ss_mem_create(struct rds_ss_conn *conn, struct rds_ss_config *conf);

/* Bytes of all memory of the connection */
u32 rds_ss_mem_bytes(const struct rds_ss_conn *conn);

/* The engine has replaced a half; its key is to be ended. */
void rds_ss_mem_ended(struct rds_ss_conn *conn, u32 id);

/* Ask whether the engine wants a larger half, and have it made. */
void rds_ss_mem_grow(struct rds_ss_conn *conn);
void rds_ss_mem_work(struct work_struct *work);

/* End all keys; the memory stays.  The connection is mute.  May sleep. */
void rds_ss_mem_stop(struct rds_ss_conn *conn);

/* Free the memory, when nobody else has the connection.  May sleep. */
void rds_ss_mem_free(struct rds_ss_conn *conn);

/*
 * Charge the socket for @bytes, beside @has bytes of the kind that it has:
 * false if a limit does not allow it.
 */
bool rds_ss_charge(struct rds_ss_conn *conn, u32 bytes, u32 has);
void rds_ss_uncharge(struct rds_ss_conn *conn, u32 bytes);

/* Fields of &proto */
extern long rds_ss_mem_limits[3];
extern atomic_long_t rds_ss_mem_pages;
DECLARE_PER_CPU(int, rds_ss_mem_pages_here);
extern int rds_ss_mem_small;
void rds_ss_account_init(void);

#endif
