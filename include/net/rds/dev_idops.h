/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a connection id (dev_id.h) asks of its user, and why it ends. */
#ifndef _NET_RDS_DEV_IDOPS_H
#define _NET_RDS_DEV_IDOPS_H

#include <linux/types.h>

struct rdma_conn_param;
struct rds_dev_id;

/* Room for the private data of a request or answer; the CM takes less */
#define RDS_DEV_ID_PRIVATE	128

/**
 * enum rds_dev_why - why an id ended, as far as this layer knows
 * @RDS_DEV_WHY_DEVICE: the device is being removed, or has failed
 * @RDS_DEV_WHY_ADDR: the local address goes, or leads to another device
 * @RDS_DEV_WHY_LINK: the interface or port goes down
 * @RDS_DEV_WHY_DIAL: it did not come up, or not in time
 * @RDS_DEV_WHY_REFUSED: iWARP: nobody listens at the TCP port
 * @RDS_DEV_WHY_REJECTED: the peer refused
 * @RDS_DEV_WHY_ANSWER: the user did not like the answer
 * @RDS_DEV_WHY_CLOSED: the peer has closed the connection
 * @RDS_DEV_WHY_TIMEOUT: the peer is out of reach
 * @RDS_DEV_WHY_QP: the queue pair reported an error
 * @RDS_DEV_NR_WHYS: number of reasons
 */
enum rds_dev_why {
	RDS_DEV_WHY_DEVICE,
	RDS_DEV_WHY_ADDR,
	RDS_DEV_WHY_LINK,
	RDS_DEV_WHY_DIAL,
	RDS_DEV_WHY_REFUSED,
	RDS_DEV_WHY_REJECTED,
	RDS_DEV_WHY_ANSWER,
	RDS_DEV_WHY_CLOSED,
	RDS_DEV_WHY_TIMEOUT,
	RDS_DEV_WHY_QP,
	RDS_DEV_NR_WHYS
};

/**
 * struct rds_dev_id_ops - what an id asks of its user
 * @prepare: make rings and, with rds_dev_id_create_qp(), the queue pair, and
 *	post receives, before the peer can send.  0 or a negative errno; may
 *	sleep.  The user undoes what was done in .qp_gone, or after
 *	rds_dev_id_stop()
 * @param: fill in a request or an answer, with up to RDS_DEV_ID_PRIVATE bytes
 *	of private data in @buf.  This layer fills in the limits of READs
 * @answer: the peer has accepted with @param; false ends the id.  Handler of
 *	rdma_cm
 * @up: messages can be sent; false: the user is about to close the id.  Once,
 *	under the lock, any context but hard interrupts
 * @lost: the id ends, which no call of the user's has asked for.  Once, under
 *	the lock, any context but hard interrupts; @was_up: after .up
 * @qp_gone: no completion runs or will run; more than once, may sleep
 * @gone: nothing knows the id any more; the user frees it.  May sleep
 */
struct rds_dev_id_ops {
	int (*prepare)(struct rds_dev_id *id);
	void (*param)(struct rds_dev_id *id, struct rdma_conn_param *param,
		      u8 *buf);
	bool (*answer)(struct rds_dev_id *id,
		       const struct rdma_conn_param *param);
	bool (*up)(struct rds_dev_id *id);
	void (*lost)(struct rds_dev_id *id, enum rds_dev_why why,
		     bool was_up);
	void (*qp_gone)(struct rds_dev_id *id);
	void (*gone)(struct rds_dev_id *id);
};

#endif
