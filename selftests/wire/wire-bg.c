// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A hash-checked exchange between two namespaces that goes on while another
 * peer misbehaves.
 *
 * wire-bg STATUS NS_A ADDR_A NS_C ADDR_C
 *
 * A message of up to 8 KiB is sent in each direction, both are received and
 * checked, and after a short pause the next pair follows. STATUS is a file that
 * the supervisor maps as well: the number of pairs so far and the slowest
 * message in microseconds (which the supervisor may reset to 0). SIGTERM ends
 * the run.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rdstest.h"

#define MAX_BODY	8192
#define PAUSE_MS	4
/*
 * Far above the delay that any hostile case may cause: the exchange has
 * stopped.
 */
#define GIVE_UP_MS	20000

struct status {
	uint64_t pairs;
	uint64_t slowest_us;
};

struct msg {
	uint64_t index;
	uint64_t hash;
	uint32_t len;
	uint32_t from;
	unsigned char body[MAX_BODY];
};

#define MSG_HEAD	offsetof(struct msg, body)

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static uint64_t fnv(const unsigned char *p, size_t n, uint64_t h)
{
	while (n--)
		h = (h ^ *p++) * 0x100000001b3ULL;
	return h;
}

static uint64_t msg_hash(const struct msg *m)
{
	return fnv(m->body, m->len,
		   0xcbf29ce484222325ULL ^ m->index * 2 ^ m->from);
}

/* An RDS socket in a namespace, which is entered; @self is set to its name. */
static int open_in(const char *ns, const char *host, union addr *self)
{
	int s;

	netns_enter(ns);
	*self = addr_of(host, 0);
	s = rds_bound(self, SOCK_NONBLOCK);
	*self = name_of(s);
	return s;
}

static void send_one(int s, const union addr *to, uint64_t index, uint32_t from)
{
	static struct msg m;
	uint64_t x = (index + 1) * 0x9e3779b97f4a7c15ULL + from;
	uint32_t i;

	m.index = index;
	m.from = from;
	m.len = (x >> 33) % (MAX_BODY + 1);
	for (i = 0; i < m.len; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		m.body[i] = x >> 56;
	}
	m.hash = msg_hash(&m);
	if (sendto(s, &m, MSG_HEAD + m.len, 0, &to->sa, addr_len(to)) < 0)
		die("sendto: %m");
}

/* Receive one message on @s and check it; false if there is none yet. */
static bool take_one(int s, uint64_t index, uint32_t from)
{
	static struct msg m;
	ssize_t n = recv(s, &m, sizeof(m), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n < 0)
		die("recv: %m");
	if ((size_t)n < MSG_HEAD || (size_t)n != MSG_HEAD + m.len ||
	    m.index != index || m.from != from || m.hash != msg_hash(&m)) {
		printf("# wire-bg: wrong message: %zd bytes, index %" PRIu64
		       " for %" PRIu64 "\n",
		       n, m.index, index);
		exit(1);
	}
	return true;
}

static void await_pair(const int s[2], uint64_t index, uint64_t t0,
		       struct status *st)
{
	uint64_t took;
	bool got[2] = { false, false };

	while (!got[0] || !got[1]) {
		struct pollfd p[2] = {
			{ .fd = got[0] ? -1 : s[0], .events = POLLIN },
			{ .fd = got[1] ? -1 : s[1], .events = POLLIN },
		};
		int i;

		poll(p, 2, 100);
		took = (now_ns() - t0) / 1000;
		for (i = 0; i < 2; i++) {
			if (got[i] || !take_one(s[i], index, !i))
				continue;
			got[i] = true;
			if (took > st->slowest_us)
				st->slowest_us = took;
		}
		if (took > GIVE_UP_MS * 1000ULL) {
			printf("# wire-bg: pair %" PRIu64
			       " not there after %d ms (%d, %d)\n",
			       index, GIVE_UP_MS, got[0], got[1]);
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_term };
	union addr at[2];
	struct status *st;
	uint64_t i;
	int s[2], fd;

	if (argc != 6) {
		fprintf(stderr,
			"usage: wire-bg STATUS NS_A ADDR_A NS_C ADDR_C\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGTERM, &sa, NULL);
	fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*st)))
		die("%s: %m", argv[1]);
	st = mmap(NULL, sizeof(*st), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (st == MAP_FAILED)
		die("mmap: %m");
	s[0] = open_in(argv[2], argv[3], &at[0]);
	s[1] = open_in(argv[4], argv[5], &at[1]);
	for (i = 0; !stop; i++) {
		uint64_t t0 = now_ns();

		send_one(s[0], &at[1], i, 0);
		send_one(s[1], &at[0], i, 1);
		await_pair(s, i, t0, st);
		st->pairs = i + 1;
		poll(NULL, 0, PAUSE_MS);
	}
	return 0;
}
