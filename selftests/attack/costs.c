// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-costs LOCAL PEER: what do the calls of one socket cost beside what others
 * have waiting? PEER never answers, so that messages to it wait. For a guest
 * whose clock counts instructions.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rdstest.h"

#define FEW	10
#define MANY	100000
#define SOCKETS	30000
#define CALLS	20

static union addr self, peer;

/* Let another socket have so many messages to the peer. */
static void wait_there(int fd, unsigned int nr)
{
	while (nr--) {
		if (sendto(fd, "x", 1, MSG_DONTWAIT, &peer.sa,
			   addr_len(&peer)) != 1)
			die("sendto: %m, %u to go", nr);
	}
}

static void cancel(int fd)
{
	if (setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &peer.in,
		       sizeof(peer.in)))
		die("RDS_CANCEL_SENT_TO: %m");
}

/* Nanoseconds of a call of a socket that has so many messages there, on average */
static long cancel_ns(unsigned int own)
{
	int fd = rds_bound(&self, 0);
	long ns = 0;

	for (int i = 0; i < CALLS; i++) {
		wait_there(fd, own);
		ns -= now_ns();
		cancel(fd);
		ns += now_ns();
	}
	close(fd);
	return ns / CALLS;
}

/* The same for sockets that had a message there, and have so many */
static long close_ns(unsigned int own)
{
	long ns = 0;

	for (int i = 0; i < CALLS; i++) {
		int fd = rds_bound(&self, 0);

		wait_there(fd, 1);
		cancel(fd);
		wait_there(fd, own);
		ns -= now_ns();
		close(fd);
		ns += now_ns();
	}
	return ns / CALLS;
}

/*
 * Bind sockets whose addresses and ports a fixed hash of both, the exclusive or
 * of the address and of the port shifted by 7, would put where the victim is.
 */
static void collide(const union addr *victim, unsigned int nr)
{
	const uint32_t host = ntohl(victim->in.sin_addr.s_addr);
	unsigned int bits;

	for (bits = 2; nr && bits < 0x10000; bits += 2) {
		uint32_t low = bits << 7;
		union addr a = addr_v4(host ^ (low >> 8 & 0xff) << 16 ^
					       (low >> 16 & 0xff) << 8,
				       0);

		a.in.sin_port = victim->in.sin_port ^ bits;
		if (addr_port(&a) < 2)
			continue;
		rds_bound(&a, 0);
		nr--;
	}
	if (nr)
		die("%u more sockets wanted", nr);
}

/* Nanoseconds of a message to the victim and of its way to the program */
static long message_ns(int from, int to, const union addr *victim)
{
	char text[64] = "", got[64];
	long ns = now_ns();

	for (int i = 0; i < 10 * CALLS; i++) {
		if (sendto(from, text, sizeof(text), 0, &victim->sa,
			   addr_len(victim)) != sizeof(text) ||
		    recv(to, got, sizeof(got), 0) != sizeof(got))
			die("message: %m");
	}
	return (now_ns() - ns) / (10 * CALLS);
}

/* At most 1.3 times as much, and a microsecond for what varies. */
static void judge(const char *what, const char *beside, long few, long many)
{
	ktap_ok(many <= few * 13 / 10 + 1000,
		"attack.cost.%s # %ld ns, and %ld beside %s", what, few, many,
		beside);
}

/* What the calls cost of a socket without messages, and of one with some */
struct costs {
	long cancel, close, cancel_own, close_own;
};

static struct costs costs_of(void)
{
	return (struct costs){ cancel_ns(0), close_ns(0), cancel_ns(FEW),
			       close_ns(FEW) };
}

static void messages_of_others(void)
{
	static const char beside[] = "100000 messages of another socket";
	int other = rds_bound(&self, 0);
	struct costs few, many;

	rds_buffers(other, 32 * MANY);
	wait_there(other, FEW);
	costs_of();
	few = costs_of();
	wait_there(other, MANY - FEW);
	many = costs_of();
	judge("cancel", beside, few.cancel, many.cancel);
	judge("close", beside, few.close, many.close);
	judge("cancel_own", beside, few.cancel_own, many.cancel_own);
	judge("close_own", beside, few.close_own, many.close_own);
}

static void colliding_sockets(void)
{
	const union addr victim = addr_of("127.0.0.1", 4000),
			 any = addr_of("127.0.0.1", 0);
	struct rlimit files = { 2 * SOCKETS, 2 * SOCKETS };
	int to = rds_bound(&victim, 0), from = rds_bound(&any, 0);
	long few, many;

	if (setrlimit(RLIMIT_NOFILE, &files))
		die("setrlimit: %m");
	message_ns(from, to, &victim);
	few = message_ns(from, to, &victim);
	collide(&victim, SOCKETS);
	many = message_ns(from, to, &victim);
	judge("collide", "30000 sockets that were to collide", few, many);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	self = addr_of(argv[1], 0);
	peer = addr_of(argv[2], 4000);
	ktap_plan(5);
	messages_of_others();
	colliding_sockets();
	return ktap_exit();
}
