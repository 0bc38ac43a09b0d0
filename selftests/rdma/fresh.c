// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Twenty connections that did not exist before: each type of service has its
 * own connection.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "rt.h"

#define PORT	4900
#define MANY	20

/*
 * Send a first message over a connection that does not exist yet; return the
 * milliseconds until the agent has received it, or -1.
 */
static long first(struct rt *r, unsigned int tos)
{
	struct areq q = { .op = ASK_RECV, .a = { 30000ull * r->slow } };
	struct rt_addr to = agent_at(r);
	uint64_t id = 7000 + tos, began;
	rds_tos_t value = (rds_tos_t)tos;
	int fd = rt_open(&r->self, 0);
	struct aresp a;
	long ms = -1;

	if (fd < 0)
		return -1;
	began = now_ns();
	if (!ioctl(fd, SIOCRDSSETTOS, &value) &&
	    sendto(fd, &id, 8, 0, (struct sockaddr *)&to.ss, to.len) == 8 &&
	    !ask(r, &q, &a) && a.v[2] == id)
		ms = (long)((now_ns() - began) / 1000000);
	close(fd);
	return ms;
}

int plan_fresh(const struct rt *r)
{
	(void)r;
	return 3;
}

void test_fresh(struct rt *r)
{
	/*
	 * Each end uses its own types of service, so that both ends may drive
	 * in turn.
	 */
	bool low = memcmp(&r->self.ss, &r->peer.ss, sizeof(r->self.ss)) < 0;
	long failed = counter("rdma_conn_failed"), most = 0, sum = 0, ms;
	unsigned int up = 0;

	if (!start(r, PORT))
		return;
	for (unsigned int i = 0; i < MANY; i++) {
		ms = first(r, (low ? 1 : 101) + i);
		if (ms < 0)
			continue;
		up++;
		sum += ms;
		most = ms > most ? ms : most;
	}
	failed = counter("rdma_conn_failed") - failed;
	printf("# fresh: %u of %u up, %.2f attempts per success, %ld ms on average, %ld at most\n",
	       up, MANY, up ? (double)(up + failed) / up : 0.0,
	       up ? sum / up : 0, most);
	rt_ok(up == MANY, "rdma.fresh.all_up # %u of %u", up, MANY);
	rt_ok(failed * 10 <= MANY, "rdma.fresh.few_retried # %ld", failed);
}
