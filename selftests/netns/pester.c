// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-pester peer SELF PEER     send, receive, and open raw connections that
 *                               are cut off, until standard input ends
 * rds-pester burst SELF PEER    exchange messages with such a peer, close the
 *                               last socket, and unload the modules at a random
 *                               moment within 50 ms
 * rds-pester busy SELF MODULE=busy|gone...
 *                               try to unload while a socket is bound to SELF
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include "nslib.h"

#define PORT		7000
#define RDS_HDR		48
#define CUTTERS		4
#define UNLOAD_MS	15000

static char block[65536];

static unsigned int roll(unsigned int n)
{
	unsigned int v;

	if (getrandom(&v, sizeof(v), 0) != sizeof(v))
		die("getrandom: %m");
	return v % n;
}

/* A raw connection that sends part of a congestion map, then FIN or RST */
struct cutter {
	int fd;
	long until;
};

static void cutter_start(struct cutter *c, const char *self, const char *peer)
{
	union addr from = addr_of(self, 0), to = addr_of(peer, RDS_TCP_PORT);
	struct linger hard = { .l_onoff = 1 };

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		die("socket: %m");
	if (roll(2))
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	c->until = now_ms() + 2 + roll(40);
	if (bind(c->fd, &from.sa, addr_len(&from)))
		die("bind: %m");
	if (connect(c->fd, &to.sa, addr_len(&to)) && errno != EINPROGRESS)
		c->until = 0;
}

static void cutter_step(struct cutter *c, const char *self, const char *peer)
{
	unsigned char map[RDS_HDR + 100] = { [18] = 0x20, [24] = 1 };

	if (now_ms() < c->until)
		return;
	if (c->until)
		send(c->fd, map, 1 + roll(sizeof(map)),
		     MSG_NOSIGNAL | MSG_DONTWAIT);
	close(c->fd);
	cutter_start(c, self, peer);
}

static int cancel(int fd, const char *peer)
{
	union addr to = addr_of(peer, PORT);

	return setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &to.in,
			  sizeof(to.in));
}

static int pester(const char *self, const char *peer)
{
	int fd = rds_socket(NULL, self, PORT), i, ret;
	struct pollfd p[2] = { { .fd = fd, .events = POLLIN },
			       { .fd = 0, .events = POLLIN } };
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
			ret = rds_send(fd, peer, i ? PORT : 0, block,
				       i ? 1 + roll(20000) : 0);
			sent += !ret;
			full += ret == -EAGAIN || ret == -ENOBUFS;
		}
		if (ret == -EAGAIN && !roll(100))
			cancel(fd, peer);
		for (i = 0; i < CUTTERS; i++)
			cutter_step(&c[i], self, peer);
	}
	printf("# peer: sent %lu, received %lu, refused for want of room %lu\n",
	       sent, got, full);
	return !sent || !got;
}

/* Remove a module as rmmod does; returns 0 or errno. */
static int unload(const char *module)
{
	return syscall(SYS_delete_module, module, O_NONBLOCK) ? errno : 0;
}

static int unload_both(void)
{
	static const char * const module[] = { "rds_tcp", "rds" };
	long start = now_ms();
	unsigned int i, busy = 0;
	int err;

	for (i = 0; i < 2; i++) {
		while ((err = unload(module[i]))) {
			if ((err != EAGAIN && err != EBUSY) ||
			    now_ms() > start + UNLOAD_MS) {
				errno = err;
				die("%s cannot be unloaded: %m", module[i]);
			}
			busy++;
			usleep(1000);
		}
	}
	printf("# unloaded after %ld ms, refused %u times\n",
	       now_ms() - start, busy);
	return 0;
}

static int burst(const char *self, const char *peer)
{
	int fd = rds_socket(NULL, self, PORT), got = 0;
	long end = now_ms() + 30000;

	while (got < 5 && now_ms() < end) {
		rds_send(fd, peer, PORT, block, 1 + roll(20000));
		rds_send(fd, peer, 0, block, 0);
		readable(fd, 10);
		while (recv(fd, block, sizeof(block), MSG_DONTWAIT) > 0)
			got++;
	}
	if (got < 5)
		die("the peer does not talk");
	close(fd);
	usleep(roll(50000));
	return unload_both();
}

/*
 * Check one expectation, "MODULE=busy" or "MODULE=gone", while a socket is
 * bound; if busy is expected, delete_module() and rmmod must both fail.
 */
static bool as_expected(const char *self, const char *want)
{
	char module[32], cmd[64];
	bool stays;
	int err;

	stays = strstr(want, "=busy");
	snprintf(module, sizeof(module), "%.*s", (int)strcspn(want, "="), want);
	snprintf(cmd, sizeof(cmd), "rmmod %s 2>&1", module);
	err = unload(module);
	printf("# a socket bound to %s: removing %s: %s\n", self, module,
	       strerrorname_np(err));
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
