// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-pester peer SELF PEER     answer, send, connect, cut off: until standard input ends
 * rds-pester burst SELF PEER    talk with such a peer, close the last socket, and unload the
 *                               modules at a random moment within 50 ms
 * rds-pester busy SELF MODULE=busy|gone...   try to unload while a socket is bound to SELF
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/rds.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nslib.h"

#define PORT		7000
#define RDS_TCP_PORT	16385
#define RDS_HDR		48
#define CUTTERS		4
#define UNLOAD_MS	15000

static char block[65536];

static unsigned int roll(unsigned int n)
{
	unsigned int v;

	if (getrandom(&v, sizeof(v), 0) != sizeof(v))
		bail("getrandom");
	return v % n;
}

/* A raw connection that sends part of a congestion map and ends by FIN or RST. */
struct cutter {
	int fd;
	uint64_t until;
};

static void cutter_start(struct cutter *c, const char *self, const char *peer)
{
	struct sockaddr_in from = v4(self, 0), to = v4(peer, RDS_TCP_PORT);
	struct linger hard = { .l_onoff = 1 };

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		bail("socket");
	if (roll(2))
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	c->until = now_ms() + 2 + roll(40);
	if (bind(c->fd, (void *)&from, sizeof(from)))
		bail("bind");
	if (connect(c->fd, (void *)&to, sizeof(to)) && errno != EINPROGRESS)
		c->until = 0;
}

static void cutter_step(struct cutter *c, const char *self, const char *peer)
{
	unsigned char map[RDS_HDR + 100] = { [18] = 0x20, [24] = 1 };

	if (now_ms() < c->until)
		return;
	if (c->until)
		send(c->fd, map, 1 + roll(sizeof(map)), MSG_NOSIGNAL | MSG_DONTWAIT);
	close(c->fd);
	cutter_start(c, self, peer);
}

static int cancel(int fd, const char *peer)
{
	struct sockaddr_in to = v4(peer, PORT);

	return setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &to, sizeof(to));
}

static int pester(const char *self, const char *peer)
{
	int fd = rds_socket(NULL, self, PORT), i, ret;
	struct pollfd p[2] = { { .fd = fd, .events = POLLIN }, { .fd = 0, .events = POLLIN } };
	struct cutter c[CUTTERS];
	unsigned long sent = 0, got = 0, full = 0;

	for (i = 0; i < CUTTERS; i++)
		cutter_start(&c[i], self, peer);
	for (;;) {
		poll(p, 2, 2);
		if (p[1].revents)
			break;
		while (recv(fd, block, sizeof(block), MSG_DONTWAIT) >= 0)
			got++;
		for (i = 0; i < 4; i++) {
			ret = rds_send(fd, peer, i ? PORT : 0, block, i ? 1 + roll(20000) : 0);
			sent += !ret;
			full += ret == -EAGAIN || ret == -ENOBUFS;
		}
		if (ret == -EAGAIN && !roll(100))
			cancel(fd, peer);
		for (i = 0; i < CUTTERS; i++)
			cutter_step(&c[i], self, peer);
	}
	printf("# peer: sent %lu, received %lu, refused for want of room %lu\n", sent, got, full);
	return !sent || !got;
}

/* Errno of removing a module as rmmod does it; 0 when it is gone. */
static int unload(const char *module)
{
	return syscall(SYS_delete_module, module, O_NONBLOCK) ? errno : 0;
}

static int unload_both(void)
{
	static const char * const module[] = { "rds_tcp", "rds" };
	uint64_t start = now_ms();
	unsigned int i, busy = 0;
	int err;

	for (i = 0; i < 2; i++) {
		while ((err = unload(module[i]))) {
			if ((err != EAGAIN && err != EBUSY) || now_ms() > start + UNLOAD_MS) {
				errno = err;
				bail("%s cannot be unloaded", module[i]);
			}
			busy++;
			usleep(1000);
		}
	}
	printf("# unloaded after %llu ms, refused %u times\n",
	       (unsigned long long)(now_ms() - start), busy);
	return 0;
}

static int burst(const char *self, const char *peer)
{
	int fd = rds_socket(NULL, self, PORT), got = 0;
	uint64_t end = now_ms() + 30000;

	while (got < 5 && now_ms() < end) {
		rds_send(fd, peer, PORT, block, 1 + roll(20000));
		rds_send(fd, peer, 0, block, 0);
		readable(fd, 10);
		while (recv(fd, block, sizeof(block), MSG_DONTWAIT) > 0)
			got++;
	}
	if (got < 5)
		bail("the peer does not talk");
	close(fd);
	usleep(roll(50000));
	return unload_both();
}

/* One expectation, "module=busy" or "module=gone", while a socket is bound. */
static bool as_expected(const char *self, const char *want)
{
	char module[32], cmd[64];
	bool stays;
	int err;

	stays = strstr(want, "=busy");
	snprintf(module, sizeof(module), "%.*s", (int)strcspn(want, "="), want);
	snprintf(cmd, sizeof(cmd), "rmmod %s 2>&1", module);
	err = unload(module);
	printf("# a socket bound to %s: removing %s: %s\n", self, module, strerrorname_np(err));
	if (!stays)
		return !err;
	return (err == EAGAIN || err == EBUSY) && system(cmd);
}

static int busy(const char *self, char **want, int n)
{
	int fd = rds_socket(NULL, self, PORT), i;
	bool ok = n > 0;

	for (i = 0; i < n; i++)
		ok &= as_expected(self, want[i]);
	close(fd);
	return !ok;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "peer"))
		return pester(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "burst"))
		return burst(argv[2], argv[3]);
	if (argc > 3 && !strcmp(argv[1], "busy"))
		return busy(argv[2], argv + 3, argc - 3);
	fprintf(stderr, "usage: rds-pester peer SELF PEER | burst SELF PEER |\n"
		"       rds-pester busy SELF MODULE=busy|gone...\n");
	return 2;
}
