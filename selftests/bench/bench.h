/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures one thing between two processes in two network namespaces.  Under an instruction-exact
 * guest clock, the times are instruction counts.
 */
#ifndef BENCH_H
#define BENCH_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define BENCH_PORT	4000
#define BENCH_MAX	32

/* What is measured */
struct bench {
	const char	*what;		/* "rate", "rtt", "ping", "write", "read" */
	bool		tcp;		/* framed TCP instead of RDS */
	bool		v6;
	size_t		size;
	unsigned int	count;		/* messages in all */
	unsigned int	sockets;	/* at each end */
	unsigned int	dests;		/* addresses of the receiver; one socket each */
};

/* Joins the two processes: a byte says "ready" or "go", a double is the result. */
struct bench_link {
	int	to_tx[2];
	int	to_rx[2];
};

void die(const char *what) __attribute__((noreturn));
double now(void);
void enter_netns(const char *name);
/* The measured time begins or ends, for profile.py */
void sampling(bool on);
void link_tell(int fd);
void link_wait(int fd);

/* Address number i of the sending (b false) or receiving side */
socklen_t bench_addr(const struct bench *b, bool receiver, unsigned int i, uint16_t port,
		     struct sockaddr_storage *ss);
int rds_open(const struct bench *b, bool receiver, unsigned int i);

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
