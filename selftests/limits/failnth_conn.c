// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The part of rds-failnth-rdma for connections.  Kworkers set them up, at both
 * ends: the n-th allocation of each of them fails, while the first message to a
 * new connection goes.
 *
 * Two things are left out, as the kernel does not survive them.  rxe's kworkers
 * send the packets of all its queue pairs.  When there is no memory for a
 * packet the queue pair is in error; if it is the CM's own, nobody connects
 * over this device any more.  And when the rdma_cm has no memory for a request
 * it takes a mutex of the same class twice, which ends the work of lockdep.
 * Requests are handled by kworkers of a processor, all else that sets up a
 * connection is not bound to one.
 */
#include "failnth_rdma.h"

#include <errno.h>
#include <sys/ioctl.h>

#define LEN		5000
#define MOST_TOS	255	/* a value of TOS has a connection of its own */

static uint8_t text[LEN];
/* The address of senders, and the socket that receives, at @to */
static union addr from, to;
static int in;

/* Receive message @seq, and no other one. */
static bool comes(unsigned int seq)
{
	ssize_t n = recv(in, text, LEN, 0);

	if (n != LEN || !filled(text, LEN, seq)) {
		nth_wrong("wanted message %u, got %zd bytes", seq, n);
		return false;
	}
	nothing_at(in, "a new connection");
	return true;
}

/* Send message @tos over a connection that is used for the first time. */
static bool first_of(unsigned int tos, unsigned int n)
{
	rds_tos_t value = tos;
	int fd = open_at(&from);
	bool good;

	if (ioctl(fd, SIOCRDSSETTOS, &value))
		die("TOS: %m");
	fill(text, LEN, tos);
	nth_kworkers(NTH_UNBOUND, n);
	good = sendto(fd, text, LEN, 0, &to.sa, addr_len(&to)) == LEN;
	if (!good)
		nth_wrong("send %u: %m", n);
	good = good && comes(tos);
	close(fd);
	return good;
}

void rdma_conns(void)
{
	unsigned int n, none = 0;

	from = name_of(tx);
	to = name_of(rx);
	addr_set_port(&from, 0);
	addr_set_port(&to, 0);
	in = open_at(&to);
	to = name_of(in);

	nth_small_only();
	for (n = 1; n < MOST_TOS && none < 3; n++) {
		if (!first_of(n, n))
			break;
		/* Kworkers do other things, too, of which some fail later. */
		none = nth_kworkers(NTH_UNBOUND, 0) ? 0 : none + 1;
		if (!none)
			nth_point();
	}
	nth_kworkers(NTH_UNBOUND, 0);
	printf("# kworkers, new connections: points 1 to %u\n", n - 1 - none);
	nth_result("rdma_connect", 1);
}
