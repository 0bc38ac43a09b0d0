// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Past bugs that no other table covers; cases that test a CVE have its number
 * in their name.
 */
#include "api.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* Run @fn(@i) in a new process, in a new network namespace. */
static void in_new_ns(void (*fn)(int i), int i)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (unshare(CLONE_NEWNET))
			_exit(3);
		fn(i);
		_exit(0);
	}
	need(waitpid(pid, &status, 0) == pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		bail("process of round %d ended with %x", i, status);
}

static void lo_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo",
			     .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (ioctl(fd, SIOCSIFFLAGS, &ifr))
		_exit(5);
	close(fd);
}

/*
 * Connect to the listener and leave: a half-open TCP request must not outlive
 * its namespace.
 */
static void knock(int i)
{
	union addr a = addr_of("127.0.0.1", 16385);
	int fd;

	if (i % 2)
		lo_up();
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (connect(fd, &a.sa, sizeof(a.in)) && errno != EINPROGRESS &&
	    errno != ENETUNREACH)
		_exit(4);
}

static void listener_exit(const struct api_case *c)
{
	int i;

	(void)c;
	for (i = 0; i < 8; i++)
		in_new_ns(knock, i);
	note("ok");
}

/* The namespace is removed while a path is being dialled. */
static void dial_hole(int i)
{
	union addr to;
	int fd;

	lo_up();
	/* Odd rounds: the peer does not answer; even rounds: no route. */
	if (system("printf '%s\\n' 'link add d0 type dummy' 'addr add 10.78.0.1/24 dev d0' "
		   "'link set d0 up' | ip -batch -"))
		_exit(6);
	fd = socket(AF_RDS, SOCK_SEQPACKET, 0);
	if (fd < 0 || do_bind(fd, "10.78.0.1", lane0_port()))
		_exit(7);
	to = addr_of(i & 1 ? "10.78.0.9" : "10.99.0.9", 4000);
	if (send_to(fd, &to, 10, MSG_DONTWAIT) != 10)
		_exit(8);
}

static void dial_exit(const struct api_case *c)
{
	int i;

	(void)c;
	for (i = 0; i < 4; i++)
		in_new_ns(dial_hole, i);
	note("ok");
}

/* Open the file in a new namespace, pass it to the parent over @conn, exit. */
static void hand_over(int conn, const char *path)
{
	struct iovec iov = { "x", 1 };
	struct ctl k = { 0 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = k.b };
	int fd;

	if (unshare(CLONE_NEWNET))
		_exit(3);
	fd = open(path, O_RDWR);
	if (fd < 0)
		_exit(4);
	ctl_add(&k, SOL_SOCKET, SCM_RIGHTS, &fd, sizeof(fd));
	m.msg_controllen = k.len;
	_exit(sendmsg(conn, &m, 0) != 1);
}

/* A sysctl file stays open, and is written, after the end of its namespace. */
static void sysctl_exit(const struct api_case *c)
{
	int pair[2], i, k, status;
	char b[4];

	(void)c;
	need(!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	for (i = 0; i < 6; i++) {
		const int *fd;
		struct rx x;
		pid_t pid = fork();

		if (!pid)
			hand_over(pair[1],
				  "/proc/sys/net/rds/tcp/rds_tcp_sndbuf");
		need(waitpid(pid, &status, 0) == pid);
		if (status)
			bail("process ended with %x", status);
		x = rx_msg(pair[0], b, sizeof(b), 64, 0);
		fd = rx_cmsg(&x, SOL_SOCKET, SCM_RIGHTS, NULL);
		need(fd);
		for (k = 0; k < 50; k++)
			if (pwrite(*fd, "10000", 5, 0) < 0 && errno != ENOENT &&
			    errno != EINVAL && errno != ENODEV)
				bail("write: %d", errno);
		close(*fd);
	}
	note("ok");
}

/* A link comes and goes while sockets bind its link-local address. */
static void scoped_bind(const struct api_case *c)
{
	pid_t pid = fork();
	int status;

	(void)c;
	if (!pid)
		_exit(!!system("for i in 1 2 3 4 5 6; do printf '%s\\n' "
			       "'link add v9 type veth peer name v8' "
			       "'addr add fe80::9/64 dev v9 nodad' 'link set v9 up' 'link del v9'; "
			       "done | ip -batch -"));
	while (!waitpid(pid, &status, WNOHANG)) {
		int fd = sock();
		long ret = do_bind(fd, "fe80::9%v9", 4001);

		/* EINVAL: addr_of() makes the name of an absent v9 scope 0. */
		if (ret && ret != -EADDRNOTAVAIL && ret != -EINVAL)
			bail("bind: %ld", ret);
		close(fd);
	}
	r("links", status);
}

/* Payload inside a huge page, across borders of small pages, arrives intact. */
static void huge_pages(const struct api_case *c)
{
	struct link l = link_open(c->num);
	size_t two = 2 << 20;
	char *map = mmap(NULL, 2 * two, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *p = (char *)(((uintptr_t)map + two - 1) & ~(two - 1));
	static char b[100000];
	uint32_t cookie = 1;
	int i;

	need(map != MAP_FAILED);
	madvise(p, two, MADV_HUGEPAGE);
	fill(p, two, 9);
	need(!set_int(l.tx, SOL_SOCKET, SO_ZEROCOPY, 1));
	for (i = 0; i < 12; i++) {
		struct ctl k = { 0 };
		size_t off = i * 130000 + i * 17, len = 3000 + i * 5000;
		long n;

		ctl_add(&k, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie,
			sizeof(cookie));
		n = send_msg(l.tx, &l.to, p + off, len, user_mode ? NULL : &k,
			     user_mode ? 0 : MSG_ZEROCOPY);
		if (n != (long)len)
			bail("send %d: %s", i, strerrorname_np(-n));
		need(recv(l.rx, b, sizeof(b), 0) == (long)len);
		if (memcmp(b, p + off, len))
			bail("message %d differs", i);
	}
	note("ok");
}

/* 1500 rounds of failing sends leave the socket usable. */
static void error_storm(const struct api_case *c)
{
	struct link l = link_open(c->num);
	union addr bad = addr_of("0.0.0.0", 1);
	void *hole = page_hole(1);
	char b[8];
	int i;

	for (i = 0; i < 1500; i++) {
		need(send_msg(l.tx, &l.to, hole, 2, NULL, MSG_DONTWAIT) ==
		     -EFAULT);
		need(send_msg(l.tx, &bad, "x", 1, NULL, MSG_DONTWAIT) ==
		     -EINVAL);
		need(send_msg(l.tx, &l.to, "x", 1, NULL, MSG_MORE) ==
		     -EOPNOTSUPP);
	}
	need(send_to(l.tx, &l.to, 8, 0) == 8);
	r("recv", recv(l.rx, b, 8, 0));
}

/* 300 pings to port 0, which RDS answers without a socket. */
static void ping_storm(const struct api_case *c)
{
	struct link l = link_open(c->num);
	union addr to = l.to;
	char b[4];
	int i, n = 0;

	to.in.sin_port = 0;
	/* Batches of 30: a stack may bound the pongs that it queues. */
	while (n < 300) {
		for (i = 0; i < 30; i++)
			need(send_to(l.tx, &to, i & 7, MSG_DONTWAIT) ==
			     (i & 7));
		for (i = 0; i < 30; i++, n++) {
			struct rx x = rx_msg(l.tx, b, 4, 0, 0);

			if (x.ret || addr_port(&x.from))
				bail("pong %d: %ld", n, x.ret);
		}
	}
	r("pongs", n);
}

/* 200 sockets are in the socket dump while they are open, and not after. */
static void many_sockets(const struct api_case *c)
{
	struct snap s;
	unsigned int before;
	int fd[200], i;

	(void)c;
	s = snap(sock(), RDS6_INFO_SOCKETS);
	before = s.n;
	for (i = 0; i < 200; i++)
		fd[i] = bound(NS_A, i & 1 ? A4 : A6, 0);
	s = snap(fd[0], RDS6_INFO_SOCKETS);
	r("more", s.n - before);
	for (i = 1; i < 200; i++)
		close(fd[i]);
	s = snap(fd[0], RDS6_INFO_SOCKETS);
	r("left", s.n - before);
}

/* TCP connections to the listener that are not RDS harm no working link. */
static void stray_tcp(const struct api_case *c)
{
	struct link l = link_open(c->num);
	union addr a = addr_of(A4, 16385);
	char b[16];
	int i;

	for (i = 0; i < 10; i++) {
		int fd = ns_socket(NS_A, AF_INET, SOCK_STREAM, 0);

		r(NULL, connect(fd, &a.sa, sizeof(a.in)) ? -errno : 0);
		close(fd);
	}
	need(send_to(l.tx, &l.to, 8, 0) == 8);
	r("recv", recv(l.rx, b, 16, 0));
}

const struct api_case regress_cases[] = {
	{ "regress.listener_exit.CVE-2024-26865", listener_exit, "ok", .flags = C_ROOT },
	{ "regress.dial_exit.CVE-2019-11815", dial_exit, "ok", .flags = C_ROOT },
	{ "regress.sysctl_exit.CVE-2026-68290.CVE-2025-21635", sysctl_exit, "ok", .flags = C_ROOT },
	{ "regress.scoped_bind.CVE-2026-74563", scoped_bind, "links=0", .flags = C_ROOT },
	{ "regress.huge_pages.tcp4", huge_pages, "ok", .num = TCP4 },
	{ "regress.huge_pages.self4", huge_pages, "ok", .num = SELF4 },
	{ "regress.error_storm.tcp4", error_storm, "recv=8", .num = TCP4 },
	{ "regress.error_storm.lo6", error_storm, "recv=8", .num = LO6 },
	{ "regress.ping_storm.tcp4", ping_storm, "pongs=300", .num = TCP4 },
	{ "regress.ping_storm.lo6", ping_storm, "pongs=300", .num = LO6 },
	{ "regress.many_sockets", many_sockets, "more=200 left=1" },
	{ "regress.stray_tcp.tcp4", stray_tcp, "0 0 0 0 0 0 0 0 0 0 recv=8", .num = TCP4 },
	{ }
};
