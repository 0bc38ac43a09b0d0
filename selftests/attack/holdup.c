// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-holdup LOCAL PEER: for how long does the kernel run nothing else while a
 * snapshot is made of what others have: 100,000 messages that wait for a
 * reader, or for PEER, which never answers, thousands of sockets, connections,
 * and TCP connections?  And while messages to PEER are dropped?  For a guest
 * whose clock counts instructions.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdstest.h"

#define MESSAGES	100000
#define WAITING		500000
#define SOCKETS		30000
#define PEERS		20000
/* The kernel may run nothing else for so long. */
#define LONGEST_NS	2000000
/* Others may hold up for longer: of so many snapshots the shortest time counts. */
#define TRIES		3

/* What rds-late writes */
struct status {
	uint64_t ticks;
	uint64_t longest_ns;
};

static volatile struct status *status;

static bool late_runs(void *arg __attribute__((unused)))
{
	return status->ticks > 10;
}

static pid_t late_begin(void)
{
	static const char file[] = "/tmp/late.status";
	const char *bin = getenv("RDS_BIN");
	int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char prog[256];
	pid_t pid;

	snprintf(prog, sizeof(prog), "%s/rds-late", bin ? bin : "build/bin");
	if (fd < 0 || ftruncate(fd, sizeof(*status)))
		die("%s: %m", file);
	status = mmap(NULL, sizeof(*status), PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, 0);
	if (status == MAP_FAILED)
		die("mmap: %m");
	pid = fork();
	if (!pid) {
		execl(prog, "rds-late", file, NULL);
		die("%s: %m", prog);
	}
	if (pid < 0 || !wait_until(late_runs, NULL, 10000 * slow_factor()))
		die("rds-late does not run");
	return pid;
}

static void late_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/*
 * What the kernel takes at once without a snapshot, if that is more than a
 * snapshot may: to dial 20,000 peers that do not answer keeps its table of
 * neighbours busy.
 */
static uint64_t usual_ns;

static void find_usual(void)
{
	uint64_t late = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		status->longest_ns = 0;
		usleep(30000);
		if (status->longest_ns < late)
			late = status->longest_ns;
	}
	printf("# without a snapshot at once %llu ns\n",
	       (unsigned long long)late);
	fflush(stdout);
	usual_ns = late * 5 / 4;
}

/*
 * A snapshot is whole, with at least @least records, and holds up nobody.  Its
 * time is printed.
 */
static void judge(const char *what, int opt, unsigned int least)
{
	uint64_t late = UINT64_MAX, ns = 0;
	int fd = rds_open(0);
	struct snap s = {};

	for (int i = 0; i < TRIES; i++) {
		snap_free(&s);
		status->longest_ns = 0;
		ns = now_ns();
		s = snap(fd, opt);
		ns = now_ns() - ns;
		if (status->longest_ns < late)
			late = status->longest_ns;
	}
	close(fd);
	ktap_ok(s.ret > 0 && s.n >= least &&
			(late <= LONGEST_NS || late <= usual_ns ||
			 !time_is_judged()),
		"attack.dump.%s # %u records of %u in %llu ns, at once %llu ns",
		what, s.n, least, (unsigned long long)ns,
		(unsigned long long)late);
	snap_free(&s);
}

static void send_to(int fd, const union addr *to)
{
	if (sendto(fd, "x", 1, MSG_DONTWAIT, &to->sa, addr_len(to)) != 1)
		die("sendto: %m");
}

static void received(void)
{
	const union addr any = addr_of("127.0.0.1", 0);
	int from = rds_bound(&any, 0), to = rds_bound(&any, 0);
	union addr at = name_of(to);

	rds_buffers(from, 16 << 20);
	rds_buffers(to, 16 << 20);
	for (int i = 0; i < MESSAGES; i++)
		send_to(from, &at);
	judge("recv", RDS_INFO_RECV_MESSAGES, MESSAGES);
	close(from);
	close(to);
}

static void sent(const union addr *self, const union addr *peer)
{
	int fd = rds_bound(self, 0);

	rds_buffers(fd, 32 * MESSAGES);
	for (int i = 0; i < MESSAGES; i++)
		send_to(fd, peer);
	judge("send", RDS_INFO_SEND_MESSAGES, MESSAGES);
	/* Those that have begun are none, but they are looked for. */
	judge("retrans", RDS_INFO_RETRANS_MESSAGES, 0);
	close(fd);
}

static bool has_news(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/*
 * A socket hears that its messages were dropped, as the peer cannot be reached,
 * and nobody waits although others have many for the peer.
 */
static void timeouts(const union addr *self, const union addr *peer)
{
	int other = rds_bound(self, 0), fd = rds_bound(self, 0), limit = 500;
	bool told;

	rds_buffers(other, 32 * WAITING);
	for (int i = 0; i < WAITING; i++)
		send_to(other, peer);
	if (setsockopt(fd, SOL_RDS, RDS_PEER_TIMEOUT, &limit, sizeof(limit)))
		die("RDS_PEER_TIMEOUT: %m");
	for (int i = 0; i < 10; i++)
		send_to(fd, peer);
	status->longest_ns = 0;
	told = wait_until(has_news, &fd, 10000 * slow_factor());
	ktap_ok(told && (status->longest_ns <= LONGEST_NS || !time_is_judged()),
		"attack.timeout # at once %llu ns beside %u messages of others",
		(unsigned long long)status->longest_ns, WAITING);
	close(fd);
	close(other);
}

static void sockets(void)
{
	const union addr any = addr_of("127.0.0.1", 0);
	static int fd[SOCKETS];

	for (int i = 0; i < SOCKETS; i++)
		fd[i] = rds_bound(&any, 0);
	judge("sockets", RDS_INFO_SOCKETS, SOCKETS);
	for (int i = 0; i < SOCKETS; i++)
		close(fd[i]);
}

/* Are all peers being dialled? */
static bool dialled(void *arg)
{
	struct snap s = snap(*(int *)arg, RDS_INFO_TCP_SOCKETS);
	bool all = s.n >= PEERS;

	snap_free(&s);
	return all;
}

static void peers(const union addr *self, const union addr *peer)
{
	uint32_t host = ntohl(peer->in.sin_addr.s_addr);
	int fd = rds_bound(self, 0);

	rds_buffers(fd, 32 * PEERS);
	for (int i = 0; i < PEERS; i++) {
		union addr to = addr_v4(host + i, addr_port(peer));

		send_to(fd, &to);
	}
	/* To begin to dial them all takes the kernel long. */
	wait_until(dialled, &fd, 20000 * slow_factor());
	find_usual();
	judge("conns", RDS_INFO_CONNECTIONS, PEERS);
	judge("tcp", RDS_INFO_TCP_SOCKETS, PEERS / 2);
	close(fd);
}

int main(int argc, char **argv)
{
	const struct rlimit files = { 2 * SOCKETS, 2 * SOCKETS };
	union addr self, peer;
	pid_t late;

	if (argc != 3)
		return 2;
	self = addr_of(argv[1], 0);
	peer = addr_of(argv[2], 4000);
	ktap_plan(7);
	if (setrlimit(RLIMIT_NOFILE, &files))
		die("setrlimit: %m");
	late = late_begin();
	received();
	sent(&self, &peer);
	timeouts(&self, &peer);
	sockets();
	peers(&self, &peer);
	late_end(late);
	return ktap_exit();
}
