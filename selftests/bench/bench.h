/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rds-bench measures rates or times between two processes in two network
 * namespaces.  With an instruction-exact guest clock, times are instruction
 * counts.
 */
#ifndef BENCH_H
#define BENCH_H

#include "rdstest.h"

/* RDS or TCP port of the first socket; BENCH_PORT in the environment, or 4000 */
extern uint16_t bench_port;
#define BENCH_MAX	32

/* A measurement: the arguments of rds-bench */
struct bench {
	/* "rate", "rtt", "ping", "write", "read" */
	const char	*what;
	bool		tcp;		/* framed TCP instead of RDS */
	bool		v6;
	size_t		size;
	unsigned int	count;		/* messages in all */
	unsigned int	sockets;	/* at each end */
	unsigned int	dests;		/* receiver's addresses and sockets */
};

/*
 * Pipes between the two processes: a byte is "ready" or "go"; to measure rates
 * the sender writes its start time, in ns, as a u64
 */
struct bench_link {
	int	to_tx[2];
	int	to_rx[2];
};

void bench_netns(const char *name);
/* Start or stop bench_sampler around the measured time, for profile.py. */
void sampling(bool on);
void link_tell(int fd);
void link_wait(int fd);

/* Address number @i of the sending or (@receiver) the receiving side */
union addr bench_addr(const struct bench *b, bool receiver, unsigned int i,
		      uint16_t port);
int bench_open(const struct bench *b, bool receiver, unsigned int i);

void rds_rate_tx(const struct bench *b, const struct bench_link *l);
void rds_rate_rx(const struct bench *b, const struct bench_link *l);
void tcp_rate_tx(const struct bench *b, const struct bench_link *l);
void tcp_rate_rx(const struct bench *b, const struct bench_link *l);
void rtt_tx(const struct bench *b, const struct bench_link *l);
void rtt_rx(const struct bench *b, const struct bench_link *l);
void ping_tx(const struct bench *b, const struct bench_link *l);
void memop_tx(const struct bench *b, const struct bench_link *l);
void memop_rx(const struct bench *b, const struct bench_link *l);

#endif
