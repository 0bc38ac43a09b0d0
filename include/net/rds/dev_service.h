/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Services: what a user of devices listens for.
 *
 * A service has a listener at each local address that it serves and that leads
 * to a device.  Addresses come and go, and the listeners with them.  They are
 * not the wildcard listener of rdma_cm, which fails as a whole if one device
 * has no place for it.
 *
 * Ownership: a service belongs to its user, from rds_dev_service_add() to
 * rds_dev_service_del(); the fields that are said to be rds_dev's are guarded
 * by rds_dev_scan_lock.
 */
#ifndef _NET_RDS_DEV_SERVICE_H
#define _NET_RDS_DEV_SERVICE_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/types.h>

struct net;
struct rdma_cm_id;
struct rdma_conn_param;
struct rds_dev_domain;
struct rds_dev_props;
struct rds_dev_service;
struct rds_dev_user;

/* Most services of a user in a namespace, and in all of them */
#define RDS_DEV_SERVICES_MAX	1024
#define RDS_DEV_SERVICES_ALL	8
/* Most listeners of all services that a user has in one namespace alone */
#define RDS_DEV_LISTENERS_MAX	16384

/**
 * struct rds_dev_service - a service
 * @user: who has the service
 * @net: namespace, which exists until the service is deleted; NULL: all that
 *	the user has in use (rds_dev_net_use())
 * @addr: local address; :: is any, ::ffff:0.0.0.0 any of IPv4
 * @scope: interface of a link-local @addr, or 0
 * @v6only: if @addr is ::, no address of IPv4 is served
 * @port: port, if @port_on is NULL
 * @port_on: the port at the addresses of one family that lead to such a device;
 *	0: none
 * @no_iwarp: no address is served that leads to a device of iWARP, where a
 *	listener occupies a port of TCP
 * @backlog: requests that rdma_cm keeps
 * @retry: a listener that cannot be opened is tried again, and the log says so
 *	once.  Else rds_dev_service_add() fails, and a listener of an address
 *	that comes later is missing, as the log says
 * @request: a peer asks for a connection over @dom, which is
 *	@user's.  Handler of rdma_cm: short, and calls nothing that takes
 *	rds_dev_scan_lock.  0 if rds_dev_id_take() has taken @cm_id; a negative
 *	errno has rdma_cm refuse and destroy it
 * @node: entry in a list of services; this and the rest is rds_dev's
 * @listeners: struct rds_dev_listener, by svc_node
 * @mark: number of the last walk that met the service
 */
struct rds_dev_service {
	const struct rds_dev_user	*user;
	struct net			*net;
	struct in6_addr			addr;
	u32				scope;
	bool				v6only;
	u16				port;
	u16 (*port_on)(const struct rds_dev_props *props, bool v6);
	bool				no_iwarp;
	int				backlog;
	bool				retry;
	int (*request)(struct rds_dev_service *svc, struct rds_dev_domain *dom,
		       struct rdma_cm_id *cm_id,
		       const struct rdma_conn_param *param);

	struct list_head		node;
	struct list_head		listeners;
	unsigned int			mark;
};

/**
 * rds_dev_service_add - begin to listen
 * @svc: service, valid until rds_dev_service_del()
 *
 * Context: process, may sleep, and waits for the destruction of listeners: no
 * CM handler may call this.
 * Return: 0: requests may come, and addresses that come are listened at;
 * -EINVAL: no port or no @request; -ENOSPC: a limit of the
 * user is reached; -ENOMEM.  Without @retry also what rdma_cm says of the first
 * address that has no place, -EADDRINUSE as a rule.  After an error there is no
 * service.
 */
int rds_dev_service_add(struct rds_dev_service *svc);

/*
 * Listen no more: on return @request does not run and will not be called.  Ids
 * that it has taken stay.  May sleep; not from CM handlers, nor with a lock
 * that @request takes.
 */
void rds_dev_service_del(struct rds_dev_service *svc);

#endif
