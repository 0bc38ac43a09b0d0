// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-churn COUNT SECONDS [SEED]: namespaces C0..C<COUNT-1> each share a link (e0 here, v<n>
 * there) with namespace HUB. A process in each brings it into some state, then the namespace goes
 * away while the hub goes on talking to it. All must be gone within SECONDS after the last.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ktap.h"
#include "nslib.h"

#define PORT		6000
#define RDS_TCP_PORT	16385
#define AT_ONCE		6
#define MAX_NS		1000

enum state { IDLE, BOUND, CONNECTING, TRAFFIC, RAW, UNREAD, SELF, STATES };

static const char * const names[STATES] = {
	"idle", "bound", "connecting", "traffic", "half-header", "unread", "self",
};

static char block[65536];

/* The hub has the smaller address on even links, so both ends get to dial. */
static void addr_of(char *out, int n, bool hub)
{
	sprintf(out, "10.%d.%d.%d", 64 + n / 250, n % 250, (n % 2 == 0) == hub ? 1 : 2);
}

static void set_if(int s, const char *ifname, unsigned long req, const char *addr)
{
	struct ifreq ifr = { 0 };
	struct sockaddr_in a = v4(addr, 0);

	strcpy(ifr.ifr_name, ifname);
	memcpy(&ifr.ifr_addr, &a, sizeof(a));
	if (ioctl(s, req, &ifr))
		bail("configuring %s", ifname);
}

static void if_up(int s, const char *ifname)
{
	struct ifreq ifr = { .ifr_flags = IFF_UP | IFF_RUNNING };

	strcpy(ifr.ifr_name, ifname);
	if (ioctl(s, SIOCSIFFLAGS, &ifr))
		bail("raising %s", ifname);
}

static void configure(const char *ifname, const char *addr)
{
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if_up(s, "lo");
	set_if(s, ifname, SIOCSIFADDR, addr);
	set_if(s, ifname, SIOCSIFNETMASK, "255.255.255.0");
	if_up(s, ifname);
	close(s);
}

/* Sends to every namespace and answers what comes; every sixth socket is never read. */
static void hub_round(struct pollfd *p, int n)
{
	char to[32], buf[4096];
	int i;

	poll(p, n, 2);
	for (i = 0; i < n; i++) {
		addr_of(to, i, false);
		rds_send(p[i].fd, to, PORT, block, 512);
		if (i % 6 == 5)
			continue;
		while (recv(p[i].fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
			rds_send(p[i].fd, to, PORT, block, 256);
	}
}

static void hub(int n, int ready)
{
	static struct pollfd p[MAX_NS];
	char addr[32], ifname[16];
	int i;

	ns_enter("HUB");
	for (i = 0; i < n; i++) {
		addr_of(addr, i, true);
		sprintf(ifname, "v%d", i);
		configure(ifname, addr);
		p[i] = (struct pollfd){ .fd = rds_socket(NULL, addr, PORT),
					.events = i % 6 == 5 ? 0 : POLLIN };
	}
	if (write(ready, "h", 1) != 1)
		bail("pipe");
	for (;;)
		hub_round(p, n);
}

/* A connection that gets no further than ten bytes of a header. */
static void raw(const char *self, const char *peer)
{
	struct sockaddr_in from = v4(self, 0), to = v4(peer, RDS_TCP_PORT);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(s, (void *)&from, sizeof(from)) || connect(s, (void *)&to, sizeof(to)))
		return;
	if (send(s, block, 10, MSG_NOSIGNAL) < 0)
		return;
}

static void traffic(int fd, const char *peer, int ready)
{
	uint64_t start = now_ms();
	bool told = false;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		while (!rds_send(fd, peer, PORT, block, 1 + rand() % sizeof(block)))
			;
		poll(&p, 1, 1);
		while (recv(fd, block, sizeof(block), MSG_DONTWAIT) > 0)
			told = true;
		if (ready >= 0 && (told || now_ms() > start + 5000)) {
			if (write(ready, told ? "t" : "-", 1) != 1)
				_exit(1);
			ready = -1;
		}
	}
}

static void child(int n, enum state st, int ready)
{
	char self[32], peer[32], ns[16], hole[48];
	int fd = -1;

	sprintf(ns, "C%d", n);
	ns_enter(ns);
	addr_of(self, n, false);
	addr_of(peer, n, true);
	configure("e0", self);
	if (st != IDLE && st != RAW)
		fd = rds_socket(NULL, self, PORT);
	if (st == CONNECTING) {
		sprintf(hole, "10.%d.%d.77", 64 + n / 250, n % 250);
		rds_send(fd, hole, PORT, block, 1000);
	} else if (st == RAW) {
		raw(self, peer);
	} else if (st == SELF) {
		rds_send(fd, self, PORT, block, 5000);
	} else if (st == UNREAD) {
		rds_send(fd, peer, PORT, block, 100);
		readable(fd, 5000);
	} else if (st == TRAFFIC) {
		traffic(fd, peer, ready);
	}
	if (write(ready, "r", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void remove_ns(int n)
{
	char path[64];

	sprintf(path, "/run/netns/C%d", n);
	if (umount2(path, MNT_DETACH) || unlink(path))
		bail("removing %s", path);
}

struct kid {
	pid_t pid;
	int n, ready;
	enum state st;
};

static void start_kid(struct kid *k, int n)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC))
		bail("pipe");
	k->n = n;
	k->st = n < STATES ? (enum state)n : (enum state)(rand() % STATES);
	k->pid = fork();
	if (k->pid < 0)
		bail("fork");
	if (!k->pid) {
		srand(n);
		child(n, k->st, p[1]);
	}
	close(p[1]);
	k->ready = p[0];
}

/* Guest seconds stretch with the machine's load. */
static int slow(void)
{
	const char *s = getenv("RDS_SLOW");

	return s && atoi(s) > 1 ? atoi(s) : 1;
}

/* True when the state was reached. */
static bool end_kid(struct kid *k, int *reached)
{
	char c = 0;
	bool ok = readable(k->ready, 20000 * slow()) && read(k->ready, &c, 1) == 1;
	bool name_first = rand() % 2;

	usleep(rand() % 30000);
	if (name_first)
		remove_ns(k->n);
	kill(k->pid, SIGKILL);
	if (!name_first)
		remove_ns(k->n);
	waitpid(k->pid, NULL, 0);
	close(k->ready);
	reached[k->st]++;
	if (!ok)
		printf("# C%d did not get to state %s\n", k->n, names[k->st]);
	return ok;
}

static int links_left(void)
{
	struct if_nameindex *l = if_nameindex(), *i;
	int n = 0;

	for (i = l; i && i->if_name; i++)
		n += i->if_name[0] == 'v';
	if_freenameindex(l);
	return n;
}

/* A namespace's end of a link goes with it, and with that the other end. */
static bool all_gone(int seconds)
{
	uint64_t start = now_ms(), end = start + seconds * 1000ull;
	int left;

	ns_enter("HUB");
	while ((left = links_left()) && now_ms() < end)
		usleep(20000);
	printf("# %d of the links left after %llu ms\n", left,
	       (unsigned long long)(now_ms() - start));
	return !left;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 0, i, p[2], reached[STATES] = { 0 };
	struct kid kids[AT_ONCE];
	bool ok = true;
	pid_t h;

	if (n < STATES || n > MAX_NS)
		bail("usage: rds-churn COUNT SECONDS [SEED]");
	srand(argc > 3 ? atoi(argv[3]) : 1);
	if (pipe2(p, O_CLOEXEC))
		bail("pipe");
	h = fork();
	if (!h)
		hub(n, p[1]);
	close(p[1]);
	if (!readable(p[0], 60000))
		bail("the hub does not start");
	for (i = 0; i < n + AT_ONCE; i++) {
		if (i >= AT_ONCE && i - AT_ONCE < n)
			ok &= end_kid(&kids[i % AT_ONCE], reached);
		if (i < n)
			start_kid(&kids[i % AT_ONCE], i);
	}
	ktap_ok(ok, "churn.every_state_reached");
	for (i = 0; i < STATES; i++)
		printf("# %d namespaces removed in state %s\n", reached[i], names[i]);
	ktap_ok(waitpid(h, NULL, WNOHANG) == 0, "churn.hub_lives");
	ktap_ok(all_gone(atoi(argv[2])), "churn.namespaces_gone");
	kill(h, SIGKILL);
	waitpid(h, NULL, 0);
	return ktap_exit();
}
