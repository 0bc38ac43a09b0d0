// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Finds an RDS TCP connection that has unacknowledged data and destroys it with
 * the requests that `ss -K` sends. Starting that program would take longer than
 * the data stays unacknowledged.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "xchg.h"

#define STATE_ESTAB	1
#define MAX_FOUND	32

struct found {
	struct inet_diag_sockid id;
	uint8_t family;
	bool unacked;
};

static bool same_addr(uint8_t family, const __be32 *raw, const uint8_t want[16])
{
	uint8_t a[16] = { 0 };

	if (family == AF_INET) {
		memset(a + 10, 0xff, 2);
		memcpy(a + 12, raw, 4);
	} else {
		memcpy(a, raw, 16);
	}
	return !memcmp(a, want, 16);
}

static bool ours(const struct opts *o, const struct inet_diag_msg *m)
{
	uint8_t self[16], peer[16];

	addr_mapped(&o->self, self);
	addr_mapped(&o->peer, peer);
	return (ntohs(m->id.idiag_sport) == RDS_TCP_PORT ||
		ntohs(m->id.idiag_dport) == RDS_TCP_PORT) &&
	       same_addr(m->idiag_family, m->id.idiag_src, self) &&
	       same_addr(m->idiag_family, m->id.idiag_dst, peer);
}

static int send_req(int fd, uint16_t type, uint16_t flags,
		    const struct inet_diag_req_v2 *req)
{
	struct {
		struct nlmsghdr nlh;
		struct inet_diag_req_v2 req;
	} m = { .nlh = { .nlmsg_len = sizeof(m), .nlmsg_type = type,
			 .nlmsg_flags = NLM_F_REQUEST | flags }, .req = *req };

	return send(fd, &m, sizeof(m), 0) == (ssize_t)sizeof(m) ? 0 : -1;
}

/* Collect the connections in one part of a dump; true if more parts follow. */
static bool take_part(const struct opts *o, char *buf, ssize_t len,
		      struct found *f, unsigned int *n)
{
	struct nlmsghdr *h = (struct nlmsghdr *)buf;

	for (; NLMSG_OK(h, (size_t)len); h = NLMSG_NEXT(h, len)) {
		struct inet_diag_msg *m = NLMSG_DATA(h);

		if (h->nlmsg_type == NLMSG_DONE)
			return false;
		if (h->nlmsg_type == NLMSG_ERROR)
			die("sock_diag: %s",
			    strerror(-((struct nlmsgerr *)NLMSG_DATA(h))
					      ->error));
		if (!ours(o, m) || *n == MAX_FOUND)
			continue;
		f[*n].id = m->id;
		f[*n].family = m->idiag_family;
		f[*n].unacked = m->idiag_wqueue;
		++*n;
	}
	return true;
}

static void dump(const struct opts *o, int fd, uint8_t family, struct found *f,
		 unsigned int *n)
{
	struct inet_diag_req_v2 req = { .sdiag_family = family,
					.sdiag_protocol = IPPROTO_TCP,
					.idiag_states = 1u << STATE_ESTAB };
	static char buf[65536];
	ssize_t len;

	if (send_req(fd, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &req))
		die("sock_diag: %s", strerror(errno));
	do {
		len = recv(fd, buf, sizeof(buf), 0);
		if (len < 0)
			die("sock_diag: %s", strerror(errno));
	} while (take_part(o, buf, len, f, n));
}

static int destroy(int fd, const struct found *f)
{
	struct inet_diag_req_v2 req = { .sdiag_family = f->family,
					.sdiag_protocol = IPPROTO_TCP,
					.idiag_states = 1u << STATE_ESTAB,
					.id = f->id };
	struct {
		struct nlmsghdr nlh;
		struct nlmsgerr err;
	} ack;

	if (send_req(fd, SOCK_DESTROY, NLM_F_ACK, &req) ||
	    recv(fd, &ack, sizeof(ack), 0) < 0)
		die("SOCK_DESTROY: %s", strerror(errno));
	if (ack.nlh.nlmsg_type != NLMSG_ERROR)
		die("SOCK_DESTROY: unexpected answer %u", ack.nlh.nlmsg_type);
	if (ack.err.error == -ENOENT)
		return 0;
	if (ack.err.error)
		die("SOCK_DESTROY: %s", strerror(-ack.err.error));
	return 1;
}

static int find_all(const struct opts *o, struct found f[MAX_FOUND],
		    unsigned int *n)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd < 0)
		die("netlink: %s", strerror(errno));
	*n = 0;
	/* IPv4 connections accepted by the dual-stack listener are AF_INET6. */
	dump(o, fd, AF_INET, f, n);
	dump(o, fd, AF_INET6, f, n);
	return fd;
}

int diag_reset_one(const struct opts *o, uint64_t *rng)
{
	struct found f[MAX_FOUND];
	unsigned int n, i, k = 0;
	int fd = find_all(o, f, &n), ret = 0;

	for (i = 0; i < n; i++)
		if (f[i].unacked)
			f[k++] = f[i];
	if (k)
		ret = destroy(fd, &f[rng_next(rng) % k]);
	close(fd);
	return ret;
}

void diag_reset_all(const struct opts *o)
{
	struct found f[MAX_FOUND];
	unsigned int n;
	int fd = find_all(o, f, &n);

	while (n--)
		destroy(fd, &f[n]);
	close(fd);
}
