// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-uring ADDR PORT CLIENTS BYTES: an echo server for TCP on io_uring, by its
 * system calls alone: each accept, receive and send is a request, and none is
 * waited for in a call. Clients are children, each of which sends BYTES and
 * gets them back.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "rdstest.h"

#define ENTRIES	64
#define CONNS	32
#define CHUNK	16384

/* What a completion is of: the operation above the number of a connection */
enum op { OP_ACCEPT, OP_RECV, OP_SEND };

struct conn {
	int fd;
	size_t have, sent;
	char buf[CHUNK];
};

static struct {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array;
	unsigned int *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
	unsigned int queued;
} ring;

static struct conn conns[CONNS];
static int listener, nr_conns;

static char *map(size_t len, off_t what)
{
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, ring.fd, what);

	if (p == MAP_FAILED)
		die("mmap of the ring: %m");
	return p;
}

static void ring_init(void)
{
	struct io_uring_params p = { 0 };
	char *sq, *cq;

	ring.fd = (int)syscall(__NR_io_uring_setup, ENTRIES, &p);
	if (ring.fd < 0)
		die("io_uring_setup: %m");
	sq = map(p.sq_off.array + p.sq_entries * sizeof(int),
		 IORING_OFF_SQ_RING);
	cq = map(p.cq_off.cqes + p.cq_entries * sizeof(*ring.cqes),
		 IORING_OFF_CQ_RING);
	ring.sqes = (void *)map(p.sq_entries * sizeof(*ring.sqes),
				IORING_OFF_SQES);
	ring.sq_tail = (void *)(sq + p.sq_off.tail);
	ring.sq_mask = (void *)(sq + p.sq_off.ring_mask);
	ring.sq_array = (void *)(sq + p.sq_off.array);
	ring.cq_head = (void *)(cq + p.cq_off.head);
	ring.cq_tail = (void *)(cq + p.cq_off.tail);
	ring.cq_mask = (void *)(cq + p.cq_off.ring_mask);
	ring.cqes = (void *)(cq + p.cq_off.cqes);
}

static void ask(enum op op, int nr, int fd, void *buf, size_t len)
{
	static const unsigned char codes[] = {
		[OP_ACCEPT] = IORING_OP_ACCEPT, [OP_RECV] = IORING_OP_RECV,
		[OP_SEND] = IORING_OP_SEND,
	};
	unsigned int tail = *ring.sq_tail, at = tail & *ring.sq_mask;
	struct io_uring_sqe *e = &ring.sqes[at];

	memset(e, 0, sizeof(*e));
	e->opcode = codes[op];
	e->fd = fd;
	e->addr = (uintptr_t)buf;
	e->len = (unsigned int)len;
	e->user_data = ((uint64_t)op << 32) | (unsigned int)nr;
	ring.sq_array[at] = at;
	__atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
	ring.queued++;
}

static void ask_recv(int nr)
{
	ask(OP_RECV, nr, conns[nr].fd, conns[nr].buf, CHUNK);
}

static void ask_send(int nr)
{
	struct conn *c = &conns[nr];

	ask(OP_SEND, nr, c->fd, c->buf + c->sent, c->have - c->sent);
}

/* Returns false when the connection has ended. */
static bool done(enum op op, int nr, int res)
{
	struct conn *c = &conns[nr];

	if (res < 0)
		die("operation %d: %s", op, strerror(-res));
	if (op == OP_ACCEPT) {
		c->fd = res;
		ask_recv(nr);
		if (++nr_conns < CONNS)
			ask(OP_ACCEPT, nr_conns, listener, NULL, 0);
		return true;
	}
	if (op == OP_RECV && !res)
		return false;
	c->have = op == OP_RECV ? (size_t)res : c->have;
	c->sent = op == OP_RECV ? 0 : c->sent + (size_t)res;
	if (c->sent < c->have)
		ask_send(nr);
	else
		ask_recv(nr);
	return true;
}

static void serve(int clients)
{
	unsigned int head;

	ask(OP_ACCEPT, 0, listener, NULL, 0);
	while (clients) {
		if (syscall(__NR_io_uring_enter, ring.fd, ring.queued, 1,
			    IORING_ENTER_GETEVENTS, NULL, 0) < 0 &&
		    errno != EINTR)
			die("io_uring_enter: %m");
		ring.queued = 0;
		head = *ring.cq_head;
		while (head != __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE)) {
			struct io_uring_cqe e = ring.cqes[head & *ring.cq_mask];

			__atomic_store_n(ring.cq_head, ++head,
					 __ATOMIC_RELEASE);
			clients -= !done((enum op)(e.user_data >> 32),
					 (int)(unsigned int)e.user_data, e.res);
		}
	}
}

static int client(const union addr *a, size_t bytes)
{
	static char out[CHUNK], in[CHUNK];
	int fd = socket(a->sa.sa_family, SOCK_STREAM, 0);
	size_t part;

	if (fd < 0 || connect(fd, &a->sa, addr_len(a)))
		die("connect: %m");
	for (unsigned int seed = (unsigned int)getpid(); bytes; bytes -= part) {
		part = bytes < CHUNK ? bytes : CHUNK;
		fill(out, part, seed++);
		if (send(fd, out, part, 0) != (ssize_t)part ||
		    recv(fd, in, part, MSG_WAITALL) != (ssize_t)part ||
		    memcmp(in, out, part))
			die("the echo is wrong");
	}
	return 0;
}

int main(int argc, char **argv)
{
	int clients, status, bad = 0;
	union addr a;

	if (argc != 5)
		return 2;
	a = addr_of(argv[1], (uint16_t)atoi(argv[2]));
	clients = atoi(argv[3]);
	listener = socket(a.sa.sa_family, SOCK_STREAM, 0);
	if (listener < 0 || bind(listener, &a.sa, addr_len(&a)) ||
	    listen(listener, CONNS))
		die("listen: %m");
	for (int i = 0; i < clients; i++)
		if (!fork())
			return client(&a, strtoul(argv[4], NULL, 0));
	ring_init();
	serve(clients);
	while (wait(&status) > 0)
		bad |= status;
	return bad != 0;
}
