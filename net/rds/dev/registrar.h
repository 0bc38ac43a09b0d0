/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The registrar of a domain, which makes and ends its keys (registrar.c). */
#ifndef _RDS_DEV_REGISTRAR_H
#define _RDS_DEV_REGISTRAR_H

#include <linux/completion.h>
#include <rdma/ib_verbs.h>

struct net;
struct rds_dev_domain;
struct rds_dev_registrar;

/* Most requests under way, and completions of its queue beside theirs */
#define RDS_DEV_REG_DEPTH	64U
#define RDS_DEV_REG_CQE	8U

/**
 * struct rds_dev_reg_req - a request to the registrar
 * @cqe: completion of the work request
 * @node: entry in rds_dev_registrar.reqs
 * @reg: registrar that has the request
 * @done: completed when the request is over
 * @status: how the request ended, valid after @done
 */
struct rds_dev_reg_req {
	struct ib_cqe			cqe;
	struct list_head		node;
	struct rds_dev_registrar	*reg;
	struct completion		done;
	enum ib_wc_status		status;
};

int rds_dev_registrar_create(struct rds_dev_domain *dom);
void rds_dev_registrar_stop(struct rds_dev_domain *dom);
void rds_dev_registrar_free(struct rds_dev_domain *dom);
void rds_dev_registrar_kick(struct rds_dev_domain *dom);

/*
 * Move the registrar away from @net, whose addresses it may not use any more.
 * On return it has no id of @net, unless it failed at that moment; its work
 * destroys the ids then.
 */
void rds_dev_registrar_leave(struct rds_dev_domain *dom, const struct net *net);

/*
 * Wait until the registrar takes requests: 0, -EAGAIN after REG_WAIT_TIME,
 * -EINTR or -ENODEV.
 */
int rds_dev_registrar_wait(struct rds_dev_domain *dom);

/*
 * Carry out a request and wait for its end.  0; -EAGAIN: the registrar is not
 * up or failed, and the request may have been carried out or not; -EINVAL: the
 * request ended with an error, and the registrar with it; -EOPNOTSUPP, -ENOMEM:
 * the device did not take the request, and nothing has happened.
 */
int rds_dev_registrar_run(struct rds_dev_domain *dom,
			  struct rds_dev_reg_req *req, struct ib_send_wr *wr);

#endif
