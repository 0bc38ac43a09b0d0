// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Operations that the device of the peer must refuse, and what this end is told
 * of them. A refusal always ends the connection, at both ends.
 */
#include <errno.h>
#include <time.h>

#include "rt.h"

#define FIRST	62000	/* token of the first such operation */
#define TRIES	20

struct lost {
	long here, there;	/* conn_reset */
};

static struct lost lost_so_far(struct rt *r)
{
	return (struct lost){ counter_of(r, "conn_reset", false),
			      counter_of(r, "conn_reset", true) };
}

/*
 * Did both ends lose the connection? The loss may be counted after the
 * notification.
 */
static bool lost_since(struct rt *r, const struct lost *before)
{
	uint64_t end = now_ns() + 10000000000ull * r->slow;
	struct timespec pause = { .tv_nsec = 5000000 };
	struct lost now = lost_so_far(r);

	while ((now.here <= before->here || now.there <= before->there) &&
	       now_ns() < end) {
		nanosleep(&pause, NULL);
		now = lost_so_far(r);
	}
	return now.here > before->here && now.there > before->there;
}

/*
 * Carry out @post, which the peer's device must refuse; return its status or a
 * negative errno. A status without the loss of the connection at both ends is
 * -EPROTO.
 *
 * Over RoCE the peer's end of the connection fails as well, and this end may
 * hear of that before it hears of the refusal: then the operation has ended
 * with DROPPED, and it is carried out again until the refusal comes first. An
 * operation that is not refused succeeds in one of the tries.
 */
int refusal(struct rt *r, refused_fn *post, const void *arg)
{
	static uint64_t token = FIRST;
	unsigned int tries = 0;
	struct lost before;
	int status;

	do {
		before = lost_so_far(r);
		status = post(r, arg, token++);
		if (status <= 0)
			return status;
		if (!lost_since(r, &before))
			return -EPROTO;
	} while (r->ours && !r->siw && status == RDS_RDMA_DROPPED &&
		 ++tries < TRIES);
	if (tries)
		printf("# refused after the end of the connection came first %u times\n",
		       tries);
	return status;
}

/*
 * Is this what a refusal gives? An iWARP device does not report the peer's
 * TERMINATE as a completion: it flushes the operation, or, if its connection
 * has ended by the time it sends, completes it with an error of its own.
 * In-tree RDS may report the loss of the connection only.
 */
bool is_refusal(const struct rt *r, int status)
{
	if (r->siw)
		return status == RDS_RDMA_DROPPED ||
		       status == RDS_RDMA_OTHER_ERROR;
	return status == RDS_RDMA_REMOTE_ERROR ||
	       (!r->ours && status == RDS_RDMA_DROPPED);
}
