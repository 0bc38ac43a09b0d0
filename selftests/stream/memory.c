// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of rds-stream-hostile: memory of the end under test, and its keys */
#include "hostile.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* ---- what a key is not for */

/**
 * struct reach - a request for memory of the other end
 * @code: what is asked for
 * @bytes: length
 * @off: offset to the table
 * @key: added to the key
 */
struct reach {
	enum ibv_wr_opcode code;
	uint32_t bytes;
	int64_t off;
	uint32_t key;
};

/* Bytes of the table and of both first halves, under one key */
#define UNDER_KEY	(5 * 4096)

static void reach(const void *arg)
{
	const struct reach *c = arg;
	struct op op = { .code = c->code, .bytes = c->bytes };
	uint8_t *own;
	struct meet m;

	meet_begin(&m);
	meets(&m);
	own = m.r.mem + 1024;
	memset(own, 0x77, c->bytes);
	op.from = own;
	op.to = m.r.you.table.addr + (uint64_t)c->off;
	op.key = m.r.you.table.key + c->key;
	TRUE(rogue_do(&m.r, &op) > 0);
	for (uint32_t i = 0; i < c->bytes; i++)
		if (own[i] != 0x77)
			die("a READ has brought byte %u", i);
	broke(&m);
}

#define REACH(name_, ...)						\
	{ .name = "reach_" #name_, .with = reach,			\
	  .arg = &(const struct reach){ __VA_ARGS__ } }

/* ---- memory that is replaced by a larger one */

/* Both halves are published when all was read. */
static bool both_published(struct rogue *r)
{
	return UNTIL(r, r->half[0].bytes && r->half[1].bytes);
}

/* Fill all that is published, and have it read: the next is larger. */
static bool fill_and_read(struct meet *m)
{
	uint32_t n;

	while ((n = rogue_room(&m->r)))
		if (!rogue_put(&m->r, n))
			return false;
	return reads(m, m->r.pos - m->read);
}

/* Have halves grow until both have more than that. */
static bool grow(struct meet *m, uint32_t bytes)
{
	for (int i = 0; i < 60; i++) {
		if (!both_published(&m->r))
			return false;
		if (m->r.half[0].bytes > bytes && m->r.half[1].bytes > bytes)
			return true;
		if (!fill_and_read(m))
			return false;
	}
	return false;
}

/* Write with a key until it is refused; how often it was not */
static long writes_with(struct meet *m, const struct target *t)
{
	const struct op op = { .bytes = 8, .to = t->addr, .key = t->key };
	long times = 0, end = now_ms() + ROGUE_MS;

	while (now_ms() < end && !rogue_do(&m->r, &op))
		times++;
	TRUE(m->r.broken > 0);
	return times;
}

/* The key of a half that was replaced ends soon, in a worker. */
static void old_key(void)
{
	struct target old;
	struct meet m;

	meet_begin(&m);
	meets(&m);
	TRUE(grow(&m, m.r.you.first.bytes));
	old = m.r.half[m.r.fill];
	TRUE(old.key != m.r.you.first.key);
	TRUE(grow(&m, old.bytes));
	printf("# halves of %u and %u bytes; the old key was good %ld times\n",
	       m.r.half[0].bytes, m.r.half[1].bytes, writes_with(&m, &old));
	broke(&m);
}

/* That of a connection that is over has ended. */
static void closed_key(void)
{
	struct target old;
	struct meet m, n;

	meet_begin(&m);
	meets(&m);
	old = m.r.you.first;
	over(&m);
	meet_begin(&n);
	meets(&n);
	WANT(writes_with(&n, &old), 0);
	broke(&n);
}

/*
 * Streams of a device share a protection domain: who knows the key and the
 * address of another stream's memory can write there.
 */
static void others_key(void)
{
	struct op op = { .bytes = 8 };
	struct meet m, n;

	meet_begin(&m);
	meets(&m);
	meet_begin(&n);
	meets(&n);
	TRUE(m.r.you.first.key != n.r.you.first.key);
	TRUE(m.r.you.first.addr != n.r.you.first.addr);
	op.to = m.r.half[0].addr;
	op.key = m.r.half[0].key;
	WANT(rogue_do(&n.r, &op), 0);
	works(&m);
	works(&n);
	only(NULL);
	close(n.fd);
	close(n.l);
	over(&m);
}

/* However much comes, no half has more than half of SO_RCVBUF. */
static void no_more_than_rcvbuf(void)
{
	socklen_t len = sizeof(int);
	uint32_t largest = 0;
	struct meet m;
	int room = 0;

	meet_begin(&m);
	m.rcvbuf = 50000;
	meets(&m);
	WANT(getsockopt(m.fd, SOL_SOCKET, SO_RCVBUF, &room, &len), 0);
	for (int i = 0; i < 30; i++) {
		TRUE(fill_and_read(&m) && both_published(&m.r));
		for (int h = 0; h < 2; h++)
			if (m.r.half[h].bytes > largest)
				largest = m.r.half[h].bytes;
	}
	printf("# SO_RCVBUF %d, largest half %u\n", room, largest);
	TRUE(largest > m.r.you.first.bytes);
	TRUE(largest <= (uint32_t)room / 2);
	only(NULL);
	over(&m);
}

/* ---- MSG_PEEK */

static int overwrite(struct meet *m, const struct target *at, int byte)
{
	struct op op = { .from = m->r.mem + 1024, .to = at->addr,
			 .key = at->key, .bytes = at->bytes };

	memset(m->r.mem + 1024, byte, at->bytes);
	return rogue_do(&m->r, &op);
}

/* What MSG_PEEK has shown is read, whatever the peer writes there. */
static void peek(void)
{
	struct target at;
	char buf[10];
	struct meet m;

	meet_begin(&m);
	meets(&m);
	at = m.r.half[0];
	at.bytes = sizeof(buf);
	TRUE(rogue_put(&m.r, sizeof(buf)));
	WANT(recv(m.fd, buf, sizeof(buf), MSG_PEEK | MSG_WAITALL), sizeof(buf));
	WANT(memcmp(buf, m.r.out, sizeof(buf)), 0);
	WANT(overwrite(&m, &at, 0xbb), 0);
	WANT(recv(m.fd, buf, sizeof(buf), MSG_PEEK), sizeof(buf));
	WANT(memcmp(buf, m.r.out, sizeof(buf)), 0);
	TRUE(reads(&m, sizeof(buf)));
	works(&m);
	only(NULL);
	over(&m);
}

/* The same for a part of what has come; the rest may be one or the other. */
static void peek_part(void)
{
	char seen[100], buf[100];
	struct target at;
	struct meet m;

	meet_begin(&m);
	meets(&m);
	at = m.r.half[0];
	at.bytes = sizeof(buf);
	TRUE(rogue_put(&m.r, sizeof(buf)));
	WANT(recv(m.fd, seen, 10, MSG_PEEK | MSG_WAITALL), 10);
	WANT(overwrite(&m, &at, 0xbb), 0);
	WANT(recv(m.fd, buf, 50, MSG_PEEK | MSG_WAITALL), 50);
	WANT(memcmp(buf, seen, 10), 0);
	memcpy(seen, buf, 50);
	WANT(overwrite(&m, &at, 0xcc), 0);
	WANT(recv(m.fd, buf, 100, MSG_WAITALL), 100);
	WANT(memcmp(buf, seen, 50), 0);
	WANT(memcmp(seen, m.r.out, 10), 0);
	only(NULL);
	over(&m);
}

/* ---- memory of all streams */

#define LIMITS	"/proc/sys/net/rds/stream/mem"
/* The kernel counts what a processor has taken when it is 1 MiB or more. */
#define SLACK	(2UL << 20)
#define QUEUE	(16 << 20)
#define DEFAULT	"/proc/sys/net/core/wmem_default"

/* Send until there is no more; returns the number of bytes. */
static size_t send_all_of(int fd)
{
	static char bytes[65536];
	size_t sent = 0;
	ssize_t n;

	while ((n = send(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		sent += (size_t)n;
	WANT(n, -EAGAIN);
	return sent;
}

/*
 * Above the limit of all there is nothing to send with, whatever SO_SNDBUF
 * would allow.  Who waits for an edge is woken when there is.
 */
static void limit_of_all(void)
{
	struct epoll_event e = { .events = EPOLLOUT | EPOLLET };
	int ep = epoll_create1(EPOLL_CLOEXEC);
	char usual[80], room[24], large[24];
	size_t sent;
	struct meet m;
	FILE *f;

	f = fopen(LIMITS, "re");
	if (!f || !fgets(usual, sizeof(usual), f))
		die(LIMITS ": %m");
	fclose(f);
	/* Without SO_SNDBUF, as the kernel lowers only what no program set. */
	snprintf(room, sizeof(room), "%ld", file_number(DEFAULT));
	snprintf(large, sizeof(large), "%d", QUEUE);
	TRUE(file_write(DEFAULT, large));
	meet_begin(&m);
	meets(&m);
	TRUE(file_write(DEFAULT, room));
	WANT(epoll_ctl(ep, EPOLL_CTL_ADD, m.fd, &e), 0);
	WANT(epoll_wait(ep, &e, 1, 0), 1);
	TRUE(file_write(LIMITS, "0 0 0"));
	sent = send_all_of(m.fd);
	printf("# %zu bytes were sent\n", sent);
	TRUE(sent <= (size_t)sysconf(_SC_NPROCESSORS_ONLN) * SLACK);
	TRUE(file_write(LIMITS, usual));
	WANT(epoll_wait(ep, &e, 1, (int)ROGUE_MS), 1);
	TRUE(send_all_of(m.fd) > 0);
	close(ep);
	only(NULL);
	over(&m);
}

const struct test memory_tests[] = {
	REACH(read_table, .code = IBV_WR_RDMA_READ, .bytes = 32),
	REACH(read_half, .code = IBV_WR_RDMA_READ, .bytes = 64, .off = 4096),
	REACH(read_nothing_ours, .code = IBV_WR_RDMA_READ, .bytes = 64, .key = 0x100),
	REACH(add, .code = IBV_WR_ATOMIC_FETCH_AND_ADD, .bytes = 8),
	REACH(write_before, .bytes = 16, .off = -8),
	REACH(write_beyond, .bytes = 16, .off = UNDER_KEY - 8),
	REACH(write_far, .bytes = 16, .off = 1LL << 40),
	REACH(write_other_key, .bytes = 16, .key = 0x100),
	REACH(write_key_byte, .bytes = 16, .key = 1),
	{ .name = "old_key", .run = old_key },
	{ .name = "closed_key", .run = closed_key },
	{ .name = "others_key", .run = others_key },
	{ .name = "no_more_than_rcvbuf", .run = no_more_than_rcvbuf, .who = DIALS },
	{ .name = "peek", .run = peek },
	{ .name = "peek_part", .run = peek_part },
	{ .name = "limit_of_all", .run = limit_of_all },
	{ .name = NULL },
};
