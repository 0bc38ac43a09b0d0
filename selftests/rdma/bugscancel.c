// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The tests of rds-rdmabugs for operations whose messages are cancelled. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bugs.h"

#define CANCELS	300	/* operations, some of which are cancelled */
#define CANCEL_LEN 16384
#define AMID	20	/* WRITEs that are cancelled while they are under way */
#define AMID_MOST 400	/* ... if all of the first were over by then */
#define PIECES	1024	/* pieces of a WRITE: more than a connection has room for */
#define BIG	(1 << 20)	/* bytes of each, the most that are allowed */

/*
 * Messages with operations are cancelled, before and after they are posted.
 */
void cancelled(void)
{
	uint64_t key = far_key(RW), first = next_token;
	struct rds_iovec v = { (uintptr_t)here, CANCEL_LEN };
	unsigned int not_once = 0, posted = 0, by[5] = { 0 };
	struct sockaddr_in to;
	long before = pins();
	int rc = 0;

	if (r.self.ss.ss_family != AF_INET)
		return;
	memcpy(&to, &there.ss, sizeof(to));
	for (int i = 0; i < CANCELS; i++) {
		rc = post(key, &v, 1, CANCEL_LEN, i & 1 ? RW : 0, next_token);
		if (rc)
			break;
		next_token++;
		posted++;
		if (i % 7 == 0)
			setsockopt(r.fd, SOL_RDS, RDS_CANCEL_SENT_TO, &to,
				   sizeof(to));
		if (i % 20 == 0)
			drain(r.fd);
	}
	for (uint64_t t = first; t < next_token; t++) {
		wait_token(&r, r.fd, t, 20000);
		not_once += r.told[t] != 1;
		if (r.status[t] >= 0 && r.status[t] < 5)
			by[r.status[t]]++;
	}
	printf("# cancelled: %u good, %u canceled, %u dropped\n",
	       by[RDS_RDMA_SUCCESS], by[RDS_RDMA_CANCELED],
	       by[RDS_RDMA_DROPPED]);
	rt_ok(posted == CANCELS && !not_once && pins_back(before),
	      "bugs.cancel_races_transmit # %d; %u posted, %u not told once, %ld pages",
	      rc, posted, not_once, pins() - before);
	drain(peer_fd);
	free_key(peer_fd, key, 0);
	rt_ok(works(), "bugs.cancel_races_transmit_works");
}

/* A WRITE of BIG bytes with the value @mark, and the thread that cancels it */
static struct amid {
	uint8_t from[BIG] __attribute__((aligned(4096)));
	uint8_t to[BIG] __attribute__((aligned(4096)));
	atomic_int mark;	/* 0: the message has been cancelled */
	atomic_bool end;
	unsigned int hits;	/* cancels before the last byte was written */
} amid;

static uint8_t amid_byte(size_t i)
{
	return __atomic_load_n(&amid.to[i], __ATOMIC_ACQUIRE);
}

/*
 * Cancel each message as soon as the first byte of its WRITE is in the peer's
 * memory. The caller may still be in sendmsg(), where the device may do all its
 * work.
 */
static void *amid_cancels(void *arg)
{
	struct sockaddr_in to;

	memcpy(&to, &there.ss, sizeof(to));
	while (!atomic_load(&amid.end)) {
		int mark = atomic_load(&amid.mark);

		if (!mark || amid_byte(0) != mark) {
			sched_yield();
			continue;
		}
		setsockopt(r.fd, SOL_RDS, RDS_CANCEL_SENT_TO, &to, sizeof(to));
		amid.hits += amid_byte(BIG - 1) != mark;
		atomic_store(&amid.mark, 0);
	}
	return arg;
}

/*
 * The local memory of a WRITE.  Every other WRITE has pieces of which none goes
 * on where the one before ends, so that they need more work requests than a
 * connection has room for: the last ones are posted when the message may be
 * cancelled already.
 */
static unsigned int amid_vector(struct rds_iovec *v, uint8_t mark)
{
	unsigned int n = mark % 2 ? 1 : PIECES, i;

	for (i = 0; i < n; i++)
		v[i] = (struct rds_iovec){
			(uintptr_t)amid.from + (n > 1 ? i ^ 3 : 0) * BIG / n,
			BIG / n
		};
	return n;
}

/* One WRITE; true if it was carried out, whole, and told once. */
static bool amid_write(uint64_t key, uint8_t mark)
{
	static struct rds_iovec v[PIECES];
	uint64_t token = next_token++;
	int rc;

	memset(amid.from, mark, BIG);
	memset(amid.to, 0, BIG);
	atomic_store(&amid.mark, mark);
	rc = post(key, v, amid_vector(v, mark), BIG, RW, token);
	rc = rc ? rc : wait_token(&r, r.fd, token, 20000);
	drain(r.fd);
	if (rc || r.told[token] != 1)
		printf("# WRITE %u: status %d, told %u times\n", mark, rc,
		       r.told[token]);
	while (!rc && atomic_load(&amid.mark))
		sched_yield();
	return !rc && r.told[token] == 1 &&
	       !memcmp(amid.from, amid.to, BIG);
}

/*
 * Cancelling the message does not disturb an operation that the device carries
 * out: it ends, and says so.
 */
void cancelled_amid(void)
{
	uint64_t key = 0;
	long before = pins();
	unsigned int good = 0, n;
	pthread_t t;
	bool back;
	int rc;

	rc = take_key(peer_fd, &there, HOW_GET_MR, amid.to, BIG, RW, &key);
	if (rc || pthread_create(&t, NULL, amid_cancels, NULL))
		die("no thread, or no key: %s", strerror(-rc));
	for (n = 0; good == n && (n < AMID || (!amid.hits && n < AMID_MOST));
	     n++) {
		good += amid_write(key, (uint8_t)(1 + n % 255));
		drain(peer_fd);
	}
	atomic_store(&amid.end, true);
	pthread_join(t, NULL);
	free_key(peer_fd, key, 0);
	back = pins_back(before);
	rt_ok(good == n && back,
	      "bugs.cancel_amid_transmit # %u of %u whole and told once, %ld pages",
	      good, n, pins() - before);
	rt_ok(amid.hits > 0, "bugs.cancel_amid_transmit_hits # %u of %u",
	      amid.hits, n);
}
