// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An honest stream beside the peer: two processes send to each other in turn. */
#include "hostile.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define BYTES	20000

/* What the processes share: rounds that were right, and a wish to end */
struct shared {
	atomic_ulong rounds;
	atomic_bool stop;
};

static struct shared *shared;
static pid_t pids[2];

static void send_all(int fd, const char *p)
{
	ssize_t n;

	for (size_t done = 0; done < BYTES; done += (size_t)n) {
		n = send(fd, p + done, BYTES - done, MSG_NOSIGNAL);
		if (n <= 0)
			die("honest: send: %m");
	}
}

/* False: the end, at the end of a round */
static bool recv_all(int fd, char *p)
{
	ssize_t n;

	for (size_t done = 0; done < BYTES; done += (size_t)n) {
		n = recv(fd, p + done, BYTES - done, 0);
		if (!n && !done)
			return false;
		if (n <= 0)
			die("honest: recv of byte %zu: %m", done);
	}
	return true;
}

static void ask(int fd)
{
	static char buf[BYTES];

	while (!atomic_load(&shared->stop)) {
		unsigned long round = atomic_load(&shared->rounds);

		fill(buf, BYTES, (unsigned int)round);
		send_all(fd, buf);
		memset(buf, 0, sizeof(buf));
		if (!recv_all(fd, buf) ||
		    !filled(buf, BYTES, (unsigned int)round))
			die("honest: round %lu is wrong", round);
		atomic_fetch_add(&shared->rounds, 1);
		/* The processors are for the peer. */
		poll(NULL, 0, 20);
	}
	close(fd);
	_exit(0);
}

static void answer(int l)
{
	static char buf[BYTES];
	int fd = accept(l, NULL, NULL);

	if (fd < 0)
		die("honest: accept: %m");
	while (recv_all(fd, buf))
		send_all(fd, buf);
	close(fd);
	_exit(0);
}

void honest_begin(const union addr *a)
{
	int l = socket(AF_RDS, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
	union addr at;

	if (l < 0 || bind(l, &a->sa, addr_len(a)) || listen(l, 1))
		die("honest: listen: %m");
	at = name_of(l);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("honest: mmap: %m");
	pids[0] = fork();
	if (!pids[0])
		answer(l);
	close(l);
	pids[1] = fork();
	if (pids[1])
		return;
	fd = socket(AF_RDS, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, &at.sa, addr_len(&at)))
		die("honest: connect: %m");
	ask(fd);
}

unsigned long honest_rounds(void)
{
	return atomic_load(&shared->rounds);
}

static bool has_come_to(void *arg)
{
	return honest_rounds() >= *(unsigned long *)arg;
}

bool honest_goes_on(void)
{
	unsigned long to = honest_rounds() + 2;

	if (wait_until(has_come_to, &to, ROGUE_MS))
		return true;
	printf("# the honest stream does not come to round %lu\n", to);
	return false;
}

bool honest_end(void)
{
	bool good = true;
	int status;

	atomic_store(&shared->stop, true);
	for (int i = 0; i < 2; i++)
		good &= waitpid(pids[i], &status, 0) == pids[i] && !status;
	printf("# honest: %lu rounds of %d bytes there and back\n",
	       honest_rounds(), BYTES);
	return good;
}
