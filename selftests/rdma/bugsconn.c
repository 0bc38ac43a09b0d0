// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The tests of rds-rdmabugs for connections. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "bugs.h"

static int tos_socket(const struct rt_addr *a, uint16_t port, unsigned int tos)
{
	rds_tos_t value = (rds_tos_t)tos;
	int fd = rt_open(a, port);

	if (fd >= 0)
		ioctl(fd, SIOCRDSSETTOS, &value);
	return fd;
}

/* A key travels with the very first message to a peer. */
void first_map(void)
{
	struct rt_addr to = r.peer;
	int fd = tos_socket(&r.self, 0, 60), in = rt_open(&r.peer, PORT + 5),
	    rc;
	uint64_t cookie = 0, came = 0;
	char text[16];

	rt_addr_port(&to, PORT + 5);
	rc = take_key(fd, &to, HOW_MAP, here, LEN, RW, &cookie);
	if (!rc)
		next_msg(in, text, sizeof(text), &came);
	rt_ok(!rc && cookie && came == cookie, "bugs.cve_2026_31425 # %d", rc);
	close(fd);
	close(in);
}

/* Both ends send at once, over connections that do not exist yet. */
void crossed(void)
{
	struct rt_addr a = r.self, b = r.peer;
	unsigned int came = 0;
	char text[16];

	rt_addr_port(&a, PORT + 6);
	rt_addr_port(&b, PORT + 6);
	for (unsigned int tos = 70; tos < 80; tos++) {
		int fa = tos_socket(&r.self, PORT + 6, tos),
		    fb = tos_socket(&r.peer, PORT + 6, tos);

		sendto(fa, "ab", 2, 0, (struct sockaddr *)&b.ss, b.len);
		sendto(fb, "ba", 2, 0, (struct sockaddr *)&a.ss, a.len);
		came += next_msg(fa, text, sizeof(text), NULL) == 2;
		came += next_msg(fb, text, sizeof(text), NULL) == 2;
		close(fa);
		close(fb);
	}
	rt_ok(came == 20, "bugs.duelling_connects # %u of 20 messages", came);
}

int ping(const struct rt_addr *from, const struct rt_addr *to)
{
	struct rt_addr port0 = *to;
	int fd = rt_open(from, 0), n;
	char text[16];

	rt_addr_port(&port0, 0);
	n = sendto(fd, "", 0, 0, (struct sockaddr *)&port0.ss, port0.len) ?
		    -errno :
		    0;
	if (!n)
		n = next_msg(fd, text, sizeof(text), NULL);
	close(fd);
	return n;
}

/*
 * A congested port of the own address: sends fail with ENOBUFS and no message
 * is lost.
 */
void own_map(void)
{
	int in = rt_open(&r.self, PORT + 7), out = rt_open(&r.self, 0),
	    small = 4096, n = 0, err;
	struct rt_addr to = r.self;
	unsigned int sent = 0, got = 0;
	static char text[2048];

	rt_addr_port(&to, PORT + 7);
	setsockopt(in, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	/* EAGAIN is the limit of the send buffer, which is not under test. */
	while (sent < 20000) {
		if (sendto(out, text, sizeof(text), MSG_DONTWAIT,
			   (struct sockaddr *)&to.ss, to.len) == sizeof(text))
			sent++;
		else if (errno != EAGAIN)
			break;
	}
	err = errno;
	while (got < sent && n >= 0) {
		n = next_msg(in, text, sizeof(text), NULL);
		got += n == sizeof(text);
	}
	rt_ok(err == ENOBUFS && got == sent,
	      "bugs.cve_2011_1023 # %u sent, %u received, %s", sent, got,
	      strerror(err));
	close(in);
	close(out);
}

void bind_elsewhere(void)
{
	struct rt_addr lo;
	int fd;

	rt_addr_parse(&lo, "127.0.0.1");
	fd = rt_open(&lo, 0);
	rt_ok(fd == -ENOPROTOOPT, "bugs.%s # %d",
	      r.siw ? "cve_2014_2678" : "cve_2013_7339", fd);
	if (fd >= 0)
		close(fd);
}

/*
 * Does the dump of connections show @addr, or does it write past its records?
 */
static bool dump_shows(int fd, uint32_t addr)
{
	static struct rds_info_rdma_connection rec[64], before[64];
	socklen_t len = sizeof(rec);
	bool shown = false;

	memset(rec, 0xa5, sizeof(rec));
	memcpy(before, rec, sizeof(rec));
	if (getsockopt(fd, SOL_RDS, RDS_INFO_IB_CONNECTIONS, rec, &len) < 0 ||
	    len > sizeof(rec))
		return true;
	for (size_t i = 0; i < len / sizeof(rec[0]); i++)
		shown |= rec[i].dst_addr == addr;
	return shown || memcmp((char *)rec + len, (char *)before + len,
			       sizeof(rec) - len);
}

/*
 * A peer address without a host: no dump shows a connection to it, and other
 * connections go on working.
 */
void nobody(void)
{
	struct rt_addr to = r.peer;
	struct sockaddr_in *sin = (struct sockaddr_in *)&to.ss;
	int fd = rt_open(&r.self, 0), rc;
	long failed = counter("rdma_conn_failed");
	uint64_t end = now_ns() + 40000000000ull * r.slow;
	struct timespec pause = { .tv_nsec = 5000000 };
	unsigned int shown = 0;

	if (to.ss.ss_family != AF_INET)
		return;
	((uint8_t *)&sin->sin_addr)[3] = 99;
	rc = sendto(fd, "x", 1, 0, (struct sockaddr *)&to.ss, to.len) == 1 ?
		     0 :
		     errno;
	while (counter("rdma_conn_failed") <= failed && now_ns() < end) {
		shown += dump_shows(fd, sin->sin_addr.s_addr);
		nanosleep(&pause, NULL);
	}
	rt_ok(!rc && !shown, "bugs.cve_2026_52995 # %d, shown %u times", rc,
	      shown);
	rt_ok(counter("rdma_conn_failed") > failed && works(),
	      "bugs.route_error # %ld attempts",
	      counter("rdma_conn_failed") - failed);
	close(fd);
}

int flood(const char *addr)
{
	struct rt_addr a;

	if (!rt_addr_parse(&a, addr))
		return 2;
	for (unsigned int tos = 0;; tos = (tos + 1) & 0xff) {
		int fd = tos_socket(&a, 0, tos);
		struct rt_addr to = a;

		rt_addr_port(&to, 6099);
		if (fd < 0)
			continue;
		sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&to.ss,
		       to.len);
		close(fd);
	}
}
