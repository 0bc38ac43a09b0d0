// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-churn COUNT SECONDS [SEED]: namespaces C0..C<COUNT-1> each share a link
 * (e0 in C<n>, v<n> in HUB) with namespace HUB. A process in each C<n> brings
 * it into a state: the first namespaces into one state each, the others into a
 * random one. Then the namespace is removed while HUB goes on sending to it.
 * All namespaces must be gone within SECONDS after the last removal.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "nslib.h"

#define PORT		6000
#define AT_ONCE		6
#define MAX_NS		1000

enum state { IDLE, BOUND, CONNECTING, TRAFFIC, RAW, UNREAD, SELF, STATES };

static const char * const names[STATES] = {
	"idle", "bound", "connecting", "traffic", "half-header", "unread", "self",
};

static char block[65536];

/*
 * The address of an end of link @n: HUB's is the smaller one on even links, so
 * that either end dials on some links.
 */
static void host_of(char *out, int n, bool hub)
{
	sprintf(out, "10.%d.%d.%d", 64 + n / 250, n % 250,
		(n % 2 == 0) == hub ? 1 : 2);
}

static void set_if(int s, const char *ifname, unsigned long req,
		   const char *addr)
{
	struct ifreq ifr = { 0 };
	union addr a = addr_of(addr, 0);

	strcpy(ifr.ifr_name, ifname);
	memcpy(&ifr.ifr_addr, &a.in, sizeof(a.in));
	if (ioctl(s, req, &ifr))
		die("configuring %s: %m", ifname);
}

static void if_up(int s, const char *ifname)
{
	struct ifreq ifr = { .ifr_flags = IFF_UP | IFF_RUNNING };

	strcpy(ifr.ifr_name, ifname);
	if (ioctl(s, SIOCSIFFLAGS, &ifr))
		die("raising %s: %m", ifname);
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

/* Send to every namespace, answer messages; never read every sixth socket. */
static void hub_round(struct pollfd *p, int n)
{
	char to[32], buf[4096];
	int i;

	poll(p, n, 2);
	for (i = 0; i < n; i++) {
		host_of(to, i, false);
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

	netns_enter("HUB");
	for (i = 0; i < n; i++) {
		host_of(addr, i, true);
		sprintf(ifname, "v%d", i);
		configure(ifname, addr);
		p[i] = (struct pollfd){ .fd = rds_socket(NULL, addr, PORT),
					.events = i % 6 == 5 ? 0 : POLLIN };
	}
	if (write(ready, "h", 1) != 1)
		die("pipe: %m");
	for (;;)
		hub_round(p, n);
}

/* A TCP connection on which only ten bytes of a header are sent. */
static void raw(const char *self, const char *peer)
{
	union addr from = addr_of(self, 0), to = addr_of(peer, RDS_TCP_PORT);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(s, &from.sa, addr_len(&from)) ||
	    connect(s, &to.sa, addr_len(&to)))
		return;
	if (send(s, block, 10, MSG_NOSIGNAL) < 0)
		return;
}

static void traffic(int fd, const char *peer, int ready)
{
	long start = now_ms();
	bool told = false;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		while (!rds_send(fd, peer, PORT, block,
				 1 + rand() % sizeof(block)))
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
	netns_enter(ns);
	host_of(self, n, false);
	host_of(peer, n, true);
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
		die("removing %s: %m", path);
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
		die("pipe: %m");
	k->n = n;
	k->st = n < STATES ? (enum state)n : (enum state)(rand() % STATES);
	k->pid = fork();
	if (k->pid < 0)
		die("fork: %m");
	if (!k->pid) {
		srand(n);
		child(n, k->st, p[1]);
	}
	close(p[1]);
	k->ready = p[0];
}

/*
 * End the process and remove its namespace, in random order; true if the state
 * had been reached.
 */
static bool end_kid(struct kid *k, int *reached)
{
	char c = 0;
	bool ok = readable(k->ready, 20000 * slow_factor()) &&
		  read(k->ready, &c, 1) == 1;
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

static bool no_links(void *left)
{
	return !(*(int *)left = links_left());
}

/*
 * Wait until HUB has no links: when a namespace is freed, its end of the link
 * is removed, and with it HUB's.
 */
static bool all_gone(int seconds)
{
	long start = now_ms();
	bool gone;
	int left;

	netns_enter("HUB");
	gone = wait_until(no_links, &left, 1000L * seconds);
	printf("# %d of the links left after %ld ms\n", left, now_ms() - start);
	return gone;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 0, i, p[2], reached[STATES] = { 0 };
	struct kid kids[AT_ONCE];
	bool ok = true;
	pid_t h;

	if (n < STATES || n > MAX_NS)
		die("usage: rds-churn COUNT SECONDS [SEED]");
	ktap_plan(3);
	srand(argc > 3 ? atoi(argv[3]) : 1);
	if (pipe2(p, O_CLOEXEC))
		die("pipe: %m");
	h = fork();
	if (!h)
		hub(n, p[1]);
	close(p[1]);
	if (!readable(p[0], 60000))
		die("the hub does not start");
	for (i = 0; i < n + AT_ONCE; i++) {
		if (i >= AT_ONCE && i - AT_ONCE < n)
			ok &= end_kid(&kids[i % AT_ONCE], reached);
		if (i < n)
			start_kid(&kids[i % AT_ONCE], i);
	}
	ktap_ok(ok, "churn.every_state_reached");
	for (i = 0; i < STATES; i++)
		printf("# %d namespaces removed in state %s\n", reached[i],
		       names[i]);
	ktap_ok(waitpid(h, NULL, WNOHANG) == 0, "churn.hub_lives");
	ktap_ok(all_gone(atoi(argv[2])), "churn.namespaces_gone");
	kill(h, SIGKILL);
	waitpid(h, NULL, 0);
	return ktap_exit();
}
