/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rds_twin.ko: a second user of RDMA devices beside rds_rdma (twin.c), and its
 * connections (twinconn.c).
 */
#ifndef RDS_SELFTEST_TWIN_H
#define RDS_SELFTEST_TWIN_H

#include <linux/workqueue.h>

#include <net/rds/dev_user.h>

extern struct rds_dev_user twin;
extern struct workqueue_struct *twin_wq;
extern atomic_t twin_in_handler;	/* requests that are being handled */

/* Implements &rds_dev_service.request: accept, and answer one number */
int twin_request(struct rds_dev_service *svc, struct rds_dev_domain *dom,
		 struct rdma_cm_id *cm_id, const struct rdma_conn_param *param);

/*
 * Dial, exchange a number and end.  With @rkey a WRITE of it to @addr goes
 * ahead: -EACCES if that ends the connection.  May sleep.
 */
int twin_talk(const struct in6_addr *laddr, const struct in6_addr *peer,
	      u16 port, u32 rkey, u64 addr);

/* End all connections that were accepted, and wait for all ends. */
void twin_conns_end(void);

#endif
