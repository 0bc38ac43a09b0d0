// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A second user of RDMA devices beside rds_rdma, for tests.  A connection has
 * one frame each way: the end that dials sends a number, the other end answers
 * with its complement, and both end.
 *
 * The parameter run takes a command, and its errno is the result:
 *
 *   listen PORT, any PORT   a service at all addresses, which tries again; or
 *                           one that must be opened everywhere at once
 *   close PORT              the service ends
 *   talk LOCAL PEER PORT    dial, and exchange a frame
 *   write LOCAL PEER PORT RKEY ADDR   the same, with a WRITE of eight bytes to
 *                           a key ahead of the frame: EACCES if it is refused
 *   key LOCAL, unkey        a key of a page, which the parameter key shows
 *   clean                   EEXIST if the page of the key was written to
 *   users N                 as many users are possible, with N that are there
 *   queue LOCAL             the end of a use waits for what it has told last
 *   limits LOCAL TAKEN      limits on services, and a port that is taken
 *   churn LOCAL PEER PORT   a service comes and goes while it is dialled
 */
#include <linux/delay.h>
#include <linux/highmem.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include <net/rds/dev_key.h>

#include "twin.h"

#define SERVICES	4
#define CHURNS		24

struct rds_dev_user twin = {
	.name	    = "rds_twin",
	.small_keys = 8,
	.large_keys = 1,
};

struct workqueue_struct *twin_wq;
static DEFINE_MUTEX(twin_mutex);	/* one command at a time, but talk */
static struct rds_dev_service services[SERVICES];
static struct rds_dev_mr *twin_key;
static struct page *twin_page;

/* ---- services */

static struct rds_dev_service *service_of(u16 port)
{
	unsigned int i;

	for (i = 0; i < SERVICES; i++)
		if (services[i].port == port)
			return &services[i];
	return NULL;
}

static int service_open(u16 port, bool retry, const struct in6_addr *addr)
{
	struct rds_dev_service *svc = service_of(0);
	int err;

	if (!svc)
		return -ENOBUFS;
	*svc = (struct rds_dev_service) {
		.user	 = &twin,
		.net	 = retry ? NULL : &init_net,
		.addr	 = *addr,
		.port	 = port,
		.backlog = 8,
		.retry	 = retry,
		.request = twin_request,
	};
	err = rds_dev_service_add(svc);
	if (err)
		svc->port = 0;
	return err;
}

static int service_close(u16 port)
{
	struct rds_dev_service *svc = service_of(port);

	if (!svc)
		return -ENOENT;
	rds_dev_service_del(svc);
	svc->port = 0;
	return 0;
}

static int want(const char *what, int err, int wanted)
{
	if (err == wanted)
		return 0;
	pr_err("rds_twin: %s: %d, not %d\n", what, err, wanted);
	return -EBADE;
}

/* Who dials all the time, whether somebody listens or not */
struct noise {
	struct work_struct	work;
	const struct in6_addr	*local;
	const struct in6_addr	*peer;
	u16			port;
	bool			stop;
};

static void noise_work(struct work_struct *work)
{
	struct noise *n = container_of(work, struct noise, work);

	while (!READ_ONCE(n->stop))
		twin_talk(n->local, n->peer, n->port, 0, 0);
}

/* A service at one address serves that and no other, until it is closed. */
static int run_churn(const struct in6_addr *local, const struct in6_addr *peer,
		     u16 port)
{
	struct noise noise = { .local = peer, .peer = peer, .port = port };
	int err = 0, i;

	INIT_WORK_ONSTACK(&noise.work, noise_work);
	queue_work(twin_wq, &noise.work);
	for (i = 0; i < CHURNS && !err; i++) {
		err = want("open", service_open(port, i & 1, peer), 0) ?:
		      want("talk", twin_talk(local, peer, port, 0, 0), 0) ?:
		      want("other", twin_talk(peer, local, port, 0, 0),
			   -ECONNREFUSED) ?:
		      want("close", service_close(port), 0) ?:
		      want("handlers", atomic_read(&twin_in_handler), 0) ?:
		      want("closed", twin_talk(local, peer, port, 0, 0),
			   -ECONNREFUSED);
	}
	WRITE_ONCE(noise.stop, true);
	flush_work(&noise.work);
	destroy_work_on_stack(&noise.work);
	return err;
}

/* Services at an address that nobody has, until there are too many */
static int run_many(void)
{
	struct rds_dev_service *many;
	int n = 0, err = 0;

	many = kvcalloc(RDS_DEV_SERVICES_MAX + 1, sizeof(*many), GFP_KERNEL);
	if (!many)
		return -ENOMEM;
	while (n <= RDS_DEV_SERVICES_MAX && !err) {
		many[n].user = &twin;
		many[n].net = &init_net;
		many[n].addr.s6_addr[0] = 0xfd;
		many[n].port = 1;
		many[n].request = twin_request;
		err = rds_dev_service_add(&many[n]);
		n += !err;
	}
	err = want("many", err, -ENOSPC) ?:
	      want("how many", n, RDS_DEV_SERVICES_MAX);
	while (n--)
		rds_dev_service_del(&many[n]);
	kvfree(many);
	return err;
}

static int run_limits(const struct in6_addr *local, u16 taken)
{
	struct rds_dev_service none = { .user = &twin };

	return want("no port", rds_dev_service_add(&none), -EINVAL) ?:
	       want("taken", service_open(taken, false, &in6addr_any),
		    -EADDRINUSE) ?:
	       want("taken at one", service_open(taken, false, local),
		    -EADDRINUSE) ?:
	       want("nothing there", service_close(taken), -ENOENT) ?:
	       run_many();
}

/* ---- keys */

/* Make a key, or take a sink, whose key nobody makes. */
static int key_make(const struct rds_dev_user *user,
		    const struct in6_addr *local, struct page *page, bool sink,
		    struct rds_dev_mr **mr)
{
	struct bio_vec bv = { .bv_page = page, .bv_len = PAGE_SIZE };
	struct rds_dev_domain *dom;
	int err;

	dom = rds_dev_by_addr(user, &init_net, local, 0);
	if (!dom)
		return -ENODEV;
	if (sink)
		err = rds_dev_sink_take(dom, &bv, 1, PAGE_SIZE, mr);
	else
		err = rds_dev_mr_reg(dom, &bv, 1, PAGE_SIZE,
				     IB_ACCESS_LOCAL_WRITE |
				     IB_ACCESS_REMOTE_WRITE,
				     DMA_BIDIRECTIONAL, false, mr);
	rds_dev_domain_put(dom);
	return err;
}

static int run_key(const struct in6_addr *local)
{
	if (twin_key)
		return -EEXIST;
	clear_highpage(twin_page);
	return key_make(&twin, local, twin_page, false, &twin_key);
}

static int run_unkey(void)
{
	if (twin_key)
		rds_dev_mr_dereg(twin_key);
	twin_key = NULL;
	return 0;
}

static int run_clean(void)
{
	return memchr_inv(page_address(twin_page), 0, PAGE_SIZE) ? -EEXIST : 0;
}

static int twin_key_get(char *buf, const struct kernel_param *kp)
{
	if (!twin_key)
		return -ENOENT;
	return sysfs_emit(buf, "%u %llu\n", rds_dev_mr_rkey(twin_key),
			  rds_dev_mr_iova(twin_key));
}

static const struct kernel_param_ops twin_key_ops = { .get = twin_key_get };
module_param_cb(key, &twin_key_ops, NULL, 0400);
MODULE_PARM_DESC(key, "rkey and address of the key");

/* ---- users */

static struct rds_dev_user more[RDS_DEV_USERS];

static void more_end(struct rds_dev_user *user)
{
	rds_dev_use_stop(user);
	rds_dev_use_end(user);
}

static char more_name[RDS_DEV_USERS][16];

static int run_users(unsigned int there)
{
	struct rds_dev_abi abi = RDS_DEV_ABI;
	unsigned int *size = (unsigned int *)&abi, i, n = 0;
	int err = want("again", rds_dev_use(&twin), -EBUSY);

	for (i = 0; i < sizeof(abi) / sizeof(*size) && !err; i++) {
		size[i]++;
		err = want("other abi", __rds_dev_use(&more[0], &abi),
			   -EPROTONOSUPPORT);
		size[i]--;
	}
	if (err)
		return err;
	while (n < RDS_DEV_USERS && !err) {
		snprintf(more_name[n], sizeof(more_name[n]), "rds_more%u", n);
		more[n] = (struct rds_dev_user) { .name = more_name[n] };
		err = rds_dev_use(&more[n]);
		n += !err;
	}
	err = want("users", err, -EUSERS) ?:
	      want("how many", n + there, RDS_DEV_USERS);
	while (n--)
		more_end(&more[n]);
	return err;
}

static DECLARE_COMPLETION(in_done);
static bool done_over;

/* Told when the sink is back: the domain may end now, and the use not. */
static void slow_done(void *arg)
{
	complete(&in_done);
	msleep(300);
	WRITE_ONCE(done_over, true);
}

static int run_queue(const struct in6_addr *local)
{
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	struct rds_dev_mr *mr;
	int err;

	if (!page)
		return -ENOMEM;
	more[0] = (struct rds_dev_user) { .name = "rds_more",
					  .small_keys = 1 };
	done_over = false;
	err = rds_dev_use(&more[0]);
	if (err)
		goto out;
	err = want("sink", key_make(&more[0], local, page, true, &mr), 0);
	if (!err) {
		reinit_completion(&in_done);
		rds_dev_sink_put_later(mr, true, slow_done, NULL);
		wait_for_completion(&in_done);
	}
	more_end(&more[0]);
	err = err ?: want("use ended ahead", READ_ONCE(done_over), 1);
out:
	__free_page(page);
	return err;
}

/* ---- commands */

static bool addr_parse(const char *text, struct in6_addr *addr)
{
	__be32 v4;

	if (in6_pton(text, -1, addr->s6_addr, -1, NULL))
		return true;
	if (!in4_pton(text, -1, (u8 *)&v4, -1, NULL))
		return false;
	ipv6_addr_set_v4mapped(v4, addr);
	return true;
}

static int run_one(const char *word, int n, const char *a, const char *b,
		   u64 x, u64 y, u64 z)
{
	struct in6_addr local, peer;

	if (n > 1 && !addr_parse(a, &local))
		return -EINVAL;
	if (n > 2 && !addr_parse(b, &peer))
		return -EINVAL;
	if (!strcmp(word, "churn") && n == 4)
		return run_churn(&local, &peer, x);
	if (!strcmp(word, "key") && n == 2)
		return run_key(&local);
	if (!strcmp(word, "queue") && n == 2)
		return run_queue(&local);
	if (!strcmp(word, "unkey"))
		return run_unkey();
	if (!strcmp(word, "clean"))
		return run_clean();
	return -EINVAL;
}

static int result;
module_param(result, int, 0444);
MODULE_PARM_DESC(result, "what the last command returned");

static int run_text(const char *val)
{
	char word[16] = "", a[48] = "", b[48] = "";
	struct in6_addr local, peer;
	u64 x = 0, y = 0, z = 0;
	int n, err;

	n = sscanf(val, "%15s %47s %47s %llu %llu %llu", word, a, b, &x, &y, &z);
	if (!strcmp(word, "talk") || !strcmp(word, "write")) {
		if (n < 4 || !addr_parse(a, &local) || !addr_parse(b, &peer))
			return -EINVAL;
		return twin_talk(&local, &peer, x, y, z);
	}
	mutex_lock(&twin_mutex);
	if (!strcmp(word, "listen") && !kstrtou64(a, 0, &x))
		err = service_open(x, true, &in6addr_any);
	else if (!strcmp(word, "any") && !kstrtou64(a, 0, &x))
		err = service_open(x, false, &in6addr_any);
	else if (!strcmp(word, "close") && !kstrtou64(a, 0, &x))
		err = service_close(x);
	else if (!strcmp(word, "users") && !kstrtou64(a, 0, &x))
		err = run_users(x);
	else if (!strcmp(word, "limits") && addr_parse(a, &local) &&
		 !kstrtou64(b, 0, &x))
		err = run_limits(&local, x);
	else
		err = run_one(word, n, a, b, x, y, z);
	mutex_unlock(&twin_mutex);
	return err;
}

static int run_set(const char *val, const struct kernel_param *kp)
{
	result = run_text(val);
	return result;
}

static const struct kernel_param_ops run_ops = { .set = run_set };
module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "a command");

static int __init rds_twin_init(void)
{
	int err = -ENOMEM;

	twin_page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	twin_wq = alloc_workqueue("rds_twin", WQ_UNBOUND, 0);
	if (twin_page && twin_wq)
		err = rds_dev_use(&twin);
	if (!err)
		return 0;
	if (twin_wq)
		destroy_workqueue(twin_wq);
	if (twin_page)
		__free_page(twin_page);
	return err;
}
module_init(rds_twin_init);

static void __exit rds_twin_exit(void)
{
	unsigned int i;

	for (i = 0; i < SERVICES; i++)
		if (services[i].port)
			rds_dev_service_del(&services[i]);
	rds_dev_use_stop(&twin);
	twin_conns_end();
	run_unkey();
	rds_dev_use_end(&twin);
	destroy_workqueue(twin_wq);
	__free_page(twin_page);
}
module_exit(rds_twin_exit);

MODULE_DESCRIPTION("A second user of RDMA devices, for tests");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_IMPORT_NS(RDS_DEV_NS);
