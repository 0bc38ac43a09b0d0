// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-calls NAME SEED PROGRAMS ADDRESS...
 * rds-calls NAME SEED PROGRAMS @NS ADDRESS... @NS ADDRESS...
 *
 * Processes, one of them without privileges, run PROGRAMS random programs
 * together: up to 16 calls each, of all kinds that a socket has, on a few
 * sockets, with arguments of which most are near to good ones.  The addresses
 * of this host are used beside others.  The seed repeats the choices of each
 * process, but not how the processes meet.  No call waits.
 *
 * With two network namespaces NS, two of the processes are in each.  They bind
 * to the addresses of their own one, and send to those of both.
 *
 * The kernel's log shows what went wrong.  Here each process has to receive
 * messages, some of them from the other namespace, and to end well, and an
 * exchange between two addresses, of both namespaces, has to work afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/errqueue.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdstest.h"

#define PROCESSES	4
#define SOCKETS		6
#define CALLS		16
#define AREA		(256 * 1024)
#define CONTROL		1024
#define ONE_OF(table)	((table)[roll(sizeof(table) / sizeof(*(table)))])

static uint64_t state;
static int fds[SOCKETS];
static char *area;		/* then one that is only read, and a gap */
static unsigned int nr_addrs, received, from_far;
static union addr addrs[16];

/* A network namespace, NULL for that of this program, and its @nr addresses */
static struct place {
	const char *ns;
	unsigned int first, nr;
} places[2], *home = places;
static unsigned int nr_places;

static const int options[] = {
	RDS_CANCEL_SENT_TO, RDS_GET_MR, RDS_FREE_MR, RDS_RECVERR,
	RDS_CONG_MONITOR, RDS_GET_MR_FOR_DEST, RDS_PEER_TIMEOUT,
	8 /* SO_RDS_TRANSPORT */, 10 /* SO_RDS_MSG_RXPATH_LATENCY */, 0, 4, -1,
};
static const int generic[] = {
	SO_SNDBUF, SO_RCVBUF, SO_ZEROCOPY, SO_ERROR, SO_TIMESTAMP,
	SO_TIMESTAMPNS, SO_TIMESTAMPING, SO_RCVLOWAT, SO_PEEK_OFF, SO_LINGER,
	SO_TYPE, SO_PROTOCOL, SO_DOMAIN, SO_ACCEPTCONN, SO_COOKIE, SO_MEMINFO,
	SO_INCOMING_CPU, SO_MARK, SO_BINDTODEVICE, SO_REUSEADDR,
};
static const unsigned long ioctls[] = {
	FIONREAD, TIOCOUTQ, FIONBIO, FIOASYNC, SIOCGSTAMP_OLD,
	0x89e0 /* SIOCPROTOPRIVATE: SIOCRDSSETTOS */, 0x89e1, 0x89e2, 0x8912,
};
static const long edges[] = {
	0, 1, 2, 3, 7, 8, 47, 48, 63, 64, 4095, 4096, 4097, 8192, 65535, 65536,
	AREA - 1, AREA, 1 << 20, (1 << 20) + 1, INT_MAX, -1, INT_MIN,
	1L << 32, LONG_MAX, LONG_MIN,
};

/* splitmix64, Steele et al.: Fast Splittable Pseudorandom Number Generators */
static uint64_t draw(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static unsigned int roll(unsigned int n)
{
	return draw() % n;
}

static bool seldom(void)
{
	return !roll(12);
}

/* A number that matters somewhere, or is small, or is any */
static long number(void)
{
	switch (roll(4)) {
	case 0:		return ONE_OF(edges);
	case 1:		return draw();
	default:	return roll(128);
	}
}

/* Memory of the program, mostly; at its end some bytes can be used. */
static void *memory(void)
{
	if (seldom())
		return (void *)(seldom() ? draw() : draw() % 4096);
	return area + (seldom() ? 2 * AREA - roll(64) : roll(AREA));
}

static socklen_t vary(union addr *a)
{
	/* The few ports of the other sockets, mostly */
	addr_set_port(a, seldom() ? roll(65536) : 4000 + roll(SOCKETS));
	if (seldom())
		((char *)a)[roll(sizeof(a->in6))] ^= 1 << roll(8);
	if (seldom())
		return roll(sizeof(*a) + 1);
	return addr_len(a);
}

static socklen_t address(union addr *a)
{
	*a = addrs[roll(nr_addrs)];
	return vary(a);
}

static socklen_t own_address(union addr *a)
{
	*a = addrs[home->first + roll(home->nr)];
	return vary(a);
}

/* Is this the address of a socket of the other namespace? */
static bool is_far(const union addr *a)
{
	union addr known;

	for (unsigned int i = 0; i < nr_addrs; i++) {
		known = addrs[i];
		addr_set_port(&known, addr_port(a));
		if (addr_eq(&known, a))
			return i - home->first >= home->nr;
	}
	return false;
}

/* Fill what a call reads: small numbers and addresses in a row */
static void scribble(void *to, size_t n)
{
	union addr a;

	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t v = roll(3) ? (uint64_t)number() :
				       (uint64_t)(uintptr_t)memory();

		memcpy((char *)to + i, &v, sizeof(v));
	}
	if (!roll(4) && n >= sizeof(a.in6)) {
		address(&a);
		memcpy(to, &a, sizeof(a.in6));
	}
}

/* ---- calls */

static int any(void)
{
	return fds[roll(SOCKETS)];
}

static void again(void)
{
	int *fd = &fds[roll(SOCKETS)];
	int type = seldom() ? (int)roll(8) : SOCK_SEQPACKET;
	union addr a;

	close(*fd);
	*fd = socket(AF_RDS, type | SOCK_NONBLOCK, seldom() ? roll(4) : 0);
	if (!seldom())
		bind(*fd, &a.sa, own_address(&a));
}

static size_t controls(char *buf)
{
	size_t used = 0, len;

	for (unsigned int n = roll(4); n; n--) {
		struct cmsghdr *c = (struct cmsghdr *)(buf + used);

		len = roll(4) ? ((size_t[]){ 4, 8, 16, 32, 40, 48, 64 })[roll(7)] :
				roll(200);
		if (used + CMSG_SPACE(len) > CONTROL)
			break;
		scribble(CMSG_DATA(c), CMSG_SPACE(len) - CMSG_LEN(0));
		c->cmsg_level = seldom() ? SOL_SOCKET : SOL_RDS;
		c->cmsg_type = seldom() ? (int)number() : (int)roll(14);
		c->cmsg_len = seldom() ? (size_t)number() : CMSG_LEN(len);
		used += CMSG_SPACE(len);
	}
	return used;
}

static void message(struct msghdr *m, struct iovec *iov)
{
	m->msg_iov = iov;
	m->msg_iovlen = roll(4);
	for (size_t i = 0; i < m->msg_iovlen; i++) {
		iov[i].iov_base = memory();
		iov[i].iov_len = seldom() ? (size_t)number() :
				 roll(8) ? roll(3000) : roll(AREA);
	}
}

static void send_one(void)
{
	char control[CONTROL];
	struct iovec iov[4];
	union addr to;
	struct msghdr m = { .msg_name = &to };

	message(&m, iov);
	m.msg_namelen = address(&to);
	if (seldom())
		m.msg_name = NULL;
	m.msg_control = control;
	m.msg_controllen = roll(3) ? 0 : controls(control);
	sendmsg(any(), &m, MSG_DONTWAIT | (seldom() ? (int)draw() : 0) |
			   (roll(6) ? 0 : MSG_ZEROCOPY));
}

static void receive(void)
{
	char control[CONTROL];
	struct iovec iov[4];
	union addr from = { 0 };
	struct msghdr m = { .msg_name = &from, .msg_namelen = sizeof(from) };

	message(&m, iov);
	m.msg_control = control;
	m.msg_controllen = roll(2) ? roll(CONTROL) : 0;
	if (seldom())
		m.msg_control = memory();
	if (recvmsg(any(), &m, MSG_DONTWAIT | (roll(4) ? 0 : MSG_PEEK) |
				   (seldom() ? (int)draw() : 0)) < 0)
		return;
	received++;
	from_far += m.msg_namelen && is_far(&from);
}

static void set_option(void)
{
	char value[256];
	socklen_t len = seldom() ? (socklen_t)number() :
			roll(2) ? 4 : 8 * (1 + roll(24));
	bool own = roll(3);

	scribble(value, sizeof(value));
	if (len > sizeof(value))
		setsockopt(any(), SOL_RDS, ONE_OF(options), memory(), len);
	else
		setsockopt(any(), own ? SOL_RDS : SOL_SOCKET,
			   own ? ONE_OF(options) : ONE_OF(generic), value, len);
}

/* End a connection, as an administrator may. */
static void reset(void)
{
	union addr a, b;
	int fd = any();

	if (roll(64))
		return;
	own_address(&a);
	address(&b);
	if (roll(2)) {
		struct rds_reset r = { 0, a.in.sin_addr.s_addr,
				       b.in.sin_addr.s_addr };

		setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &r, sizeof(r));
	} else {
		struct rds6_reset r = { 0, a.in6.sin6_addr, b.in6.sin6_addr };

		setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &r, sizeof(r));
	}
}

static void get_option(void)
{
	socklen_t len = seldom() ? (socklen_t)number() : roll(65536);
	int what = roll(2) ? RDS_INFO_FIRST + (int)roll(20) : ONE_OF(options);

	if (roll(4))
		getsockopt(any(), SOL_RDS, what, memory(), &len);
	else
		getsockopt(any(), SOL_SOCKET, ONE_OF(generic), memory(), &len);
}

static void control(void)
{
	/* What the kernel writes must not be the program's own. */
	ioctl(any(), seldom() ? (unsigned long)draw() : ONE_OF(ioctls),
	      memory());
	/* It may have made the socket one that waits. */
	for (unsigned int i = 0; i < SOCKETS; i++)
		fcntl(fds[i], F_SETFL, O_NONBLOCK);
}

static void name(void)
{
	socklen_t len = sizeof(union addr);
	union addr a;
	int fd = any();

	switch (roll(6)) {
	case 0:		bind(fd, &a.sa, own_address(&a)); break;
	case 1:		connect(fd, &a.sa, address(&a)); break;
	case 2:		a.sa.sa_family = AF_UNSPEC;
			connect(fd, &a.sa, sizeof(a)); break;
	case 3:		getsockname(fd, &a.sa, &len); break;
	case 4:		getpeername(fd, &a.sa, &len); break;
	default:	seldom() ? shutdown(fd, roll(4)) : listen(fd, roll(4));
	}
}

static void look(void)
{
	struct pollfd p[SOCKETS];

	for (unsigned int i = 0; i < SOCKETS; i++)
		p[i] = (struct pollfd){ fds[i], roll(65536), 0 };
	poll(p, SOCKETS, 0);
}

static void program(void)
{
	static void (*const kinds[])(void) = {
		again, send_one, send_one, send_one, send_one, receive, receive,
		receive, set_option, set_option, get_option, control, name,
		look, reset,
	};

	for (unsigned int n = 1 + roll(CALLS); n; n--)
		ONE_OF(kinds)();
}

static void enter(const struct place *p)
{
	if (p->ns)
		netns_enter(p->ns);
}

static int run(uint64_t seed, unsigned int programs, bool plain)
{
	area = mmap(NULL, 3 * AREA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (area == MAP_FAILED || mprotect(area, 2 * AREA, PROT_READ) ||
	    mprotect(area, AREA, PROT_READ | PROT_WRITE))
		die("memory: %m");
	enter(home);
	if (plain && drop_privileges())
		die("setuid: %m");
	state = seed;
	for (unsigned int i = 0; i < SOCKETS; i++)
		fds[i] = rds_open(SOCK_NONBLOCK);
	while (programs--)
		program();
	printf("# %u messages came, %u from elsewhere\n", received, from_far);
	return !received || (nr_places > 1 && !from_far);
}

static void exchange(const char *name)
{
	union addr from = addrs[0], to = addrs[1];
	int tx, rx;
	char b;

	if (nr_places > 1)
		to = addrs[places[1].first];
	addr_set_port(&to, 0);
	addr_set_port(&from, 0);
	enter(&places[0]);
	tx = rds_bound(&from, 0);
	if (nr_places > 1)
		enter(&places[1]);
	rx = rds_bound(&to, 0);
	to = name_of(rx);
	/* Not poll(), which reports each change of a congestion map, too. */
	set_timeo(rx, SO_RCVTIMEO, 10000 * slow_factor());
	ktap_ok(sendto(tx, "x", 1, 0, &to.sa, addr_len(&to)) == 1 &&
			recv(rx, &b, 1, 0) == 1,
		"%s.afterwards", name);
}

/* Take an argument: a namespace, or an address of the last one. */
static void take(const char *arg)
{
	if (*arg == '@' || !nr_places) {
		if (nr_places == sizeof(places) / sizeof(*places))
			die("more than two namespaces");
		places[nr_places].first = nr_addrs;
		places[nr_places++].ns = *arg == '@' ? arg + 1 : NULL;
	}
	if (*arg == '@')
		return;
	if (nr_addrs == sizeof(addrs) / sizeof(*addrs))
		die("too many addresses");
	addrs[nr_addrs++] = addr_of(arg, 4000);
	places[nr_places - 1].nr++;
}

int main(int argc, char **argv)
{
	unsigned int programs = argc > 5 ? atoi(argv[3]) / PROCESSES : 0;
	struct rlimit core = { 0, 0 };
	bool well = programs;
	int status;

	if (!programs)
		return 2;
	for (int i = 4; i < argc; i++)
		take(argv[i]);
	printf("# %s: seed %s, %u programs in each of %u processes\n", argv[1],
	       argv[2], programs, PROCESSES);
	ktap_plan(2);
	setrlimit(RLIMIT_CORE, &core);
	for (unsigned int i = 0; i < PROCESSES; i++) {
		home = &places[i % nr_places];
		if (!fork())
			exit(run(strtoull(argv[2], NULL, 0) * PROCESSES + i,
				 programs, !i));
	}
	for (unsigned int i = 0; i < PROCESSES; i++)
		well &= wait(&status) > 0 && !status;
	ktap_ok(well, "%s.ended", argv[1]);
	exchange(argv[1]);
	return ktap_exit();
}
