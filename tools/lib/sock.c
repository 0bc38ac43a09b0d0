// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RDS sockets: open, configure, wait for acknowledgements. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <linux/rds.h>

#include "rdstool.h"

static int proc_number(const char *path, int fallback)
{
	FILE *f = fopen(path, "re");
	int value;

	if (!f)
		return fallback;
	if (fscanf(f, "%d", &value) != 1)
		value = fallback;
	fclose(f);
	return value;
}

int rt_family(void)
{
	static int family;

	if (!family)
		family = proc_number("/proc/sys/net/rds/pf_rds", 21);
	return family;
}

int rt_level(void)
{
	static int level;

	if (!level)
		level = proc_number("/proc/sys/net/rds/sol_rds", SOL_RDS);
	return level;
}

int rt_socket(void)
{
	return socket(rt_family(), SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

int rt_set_transport(int fd, int transport)
{
	if (transport == RDS_TRANS_NONE)
		return 0;
	return setsockopt(fd, rt_level(), SO_RDS_TRANSPORT, &transport,
			  sizeof(transport));
}

int rt_parse_transport(const char *text, int *out)
{
	if (!strcmp(text, "rdma"))
		*out = RDS_TRANS_IB;
	else if (!strcmp(text, "tcp"))
		*out = RDS_TRANS_TCP;
	else
		return -1;
	return 0;
}

int rt_source_for(const union rt_addr *dst, union rt_addr *src)
{
	socklen_t len = sizeof(*src);
	union rt_addr to = *dst;
	int fd, rc, saved;

	fd = socket(dst->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	/* connect() of a UDP socket sends nothing, it looks up the route. */
	rt_set_port(&to, 1);
	rc = connect(fd, &to.sa, rt_addrlen(&to));
	if (!rc)
		rc = getsockname(fd, &src->sa, &len);
	saved = errno;
	close(fd);
	if (!rc)
		rt_set_port(src, 0);
	errno = saved;
	return rc;
}

static unsigned int effective(int fd, int option)
{
	socklen_t len = sizeof(int);
	int value = 0;

	/* The kernel reports twice the size set, and RDS uses half of that. */
	if (getsockopt(fd, SOL_SOCKET, option, &value, &len) || value < 0)
		return 0;
	return value / 2;
}

void rt_buffers(int fd, unsigned int want, unsigned int *snd, unsigned int *rcv)
{
	int value = want;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &value, sizeof(value)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &value, sizeof(value));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &value, sizeof(value)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, sizeof(value));
	*snd = effective(fd, SO_SNDBUF);
	*rcv = effective(fd, SO_RCVBUF);
}

uint64_t rt_cong_update(struct msghdr *msg)
{
	struct cmsghdr *c;
	uint64_t mask = 0;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c))
		if (c->cmsg_level == rt_level() &&
		    c->cmsg_type == RDS_CMSG_CONG_UPDATE &&
		    c->cmsg_len >= CMSG_LEN(sizeof(mask)))
			memcpy(&mask, CMSG_DATA(c), sizeof(mask));
	return mask;
}

/*
 * Whether table @id of queued messages has a message from @self. In-tree RDS
 * leaves the addresses of a message zero until the message is sent.
 */
static bool queued(int fd, int id, const union rt_addr *self,
		   struct rt_info *info)
{
	bool v6 = self->sa.sa_family == AF_INET6;
	size_t i;

	if (rt_info_get(fd, id, info))
		return false;
	for (i = 0; i < rt_info_count(info); i++) {
		struct rds6_info_message m6;
		struct rds_info_message m;

		if (v6) {
			rt_info_record(info, i, &m6, sizeof(m6));
			if (m6.lport == self->in6.sin6_port &&
			    (!memcmp(&m6.laddr, &self->in6.sin6_addr, 16) ||
			     !memcmp(&m6.laddr, &in6addr_any, 16)))
				return true;
		} else {
			rt_info_record(info, i, &m, sizeof(m));
			if (m.lport == self->in.sin_port &&
			    (m.laddr == self->in.sin_addr.s_addr || !m.laddr))
				return true;
		}
	}
	return false;
}

bool rt_drain(int fd, const union rt_addr *self, unsigned int timeout_ms)
{
	bool v6 = self->sa.sa_family == AF_INET6;
	uint64_t end = rt_now_us() + timeout_ms * 1000ULL;
	struct rt_info info = { 0 };
	bool busy;

	/*
	 * RDS has no call that waits for acknowledgements, and close() cancels
	 * queued messages.
	 */
	for (;;) {
		busy = queued(fd,
			      v6 ? RDS6_INFO_SEND_MESSAGES :
				   RDS_INFO_SEND_MESSAGES,
			      self, &info) ||
		       queued(fd,
			      v6 ? RDS6_INFO_RETRANS_MESSAGES :
				   RDS_INFO_RETRANS_MESSAGES,
			      self, &info);
		if (!busy || rt_now_us() >= end)
			break;
		poll(NULL, 0, 5);
	}
	rt_info_free(&info);
	return !busy;
}

uint64_t rt_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}
