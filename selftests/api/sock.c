// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Thin wrappers around system calls: results are values or negative error
 * numbers.
 */
#include "api.h"

static long res(long v)
{
	return v < 0 ? -errno : v;
}

int sock_in(enum ns ns)
{
	int fd = ns_socket(ns, AF_RDS, SOCK_SEQPACKET, 0);

	need(fd >= 0);
	/* A lost message shows as ETIMEDOUT instead of a hang. */
	set_timeo(fd, SO_RCVTIMEO, 15000 * time_scale);
	return fd;
}

int sock(void)
{
	return sock_in(NS_A);
}

/* A socket in @ns bound to @host; port 0 stands for a free port on lane 0. */
int bound(enum ns ns, const char *host, int port)
{
	int fd = sock_in(ns);
	int tries = 0;
	long err;

	do {
		err = do_bind(fd, host, port ? port : lane0_port());
	} while (err == -EADDRINUSE && !port && ++tries < 1000);
	if (err)
		bail("bind %s:%d: %s", host, port, strerror(-err));
	return fd;
}

int port_of(int fd)
{
	union addr a = name_of(fd);

	return addr_port(&a);
}

long do_bind(int fd, const char *host, int port)
{
	union addr a = addr_of(host, port);

	return res(bind(fd, &a.sa, addr_len(&a)));
}

long do_connect(int fd, const char *host, int port)
{
	union addr a = addr_of(host, port);

	return res(connect(fd, &a.sa, addr_len(&a)));
}

long set_opt(int fd, int level, int opt, const void *v, socklen_t len)
{
	return res(setsockopt(fd, level, opt, v, len));
}

long set_int(int fd, int level, int opt, int v)
{
	return set_opt(fd, level, opt, &v, sizeof(v));
}

long get_int(int fd, int level, int opt)
{
	int v = 0;
	socklen_t len = sizeof(v);

	if (getsockopt(fd, level, opt, &v, &len))
		return -errno;
	return v;
}

/* Note the number of @fd's transport, or the error of getsockopt(). */
void transport_note(const char *label, int fd)
{
	int v = 0;
	socklen_t len = sizeof(v);

	if (getsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &v, &len))
		r(label, -errno);
	else
		note("%s=%d", label, v);
}

void ctl_add(struct ctl *c, int level, int type, const void *data, size_t len)
{
	struct cmsghdr *h = (struct cmsghdr *)(c->b + c->len);

	h->cmsg_level = level;
	h->cmsg_type = type;
	h->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(h), data, len);
	c->len += CMSG_SPACE(len);
}

long send_msg(int fd, const union addr *to, const void *buf, size_t len,
	      const struct ctl *c, int flags)
{
	struct iovec iov = { (void *)buf, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (to) {
		m.msg_name = (void *)to;
		m.msg_namelen = addr_len(to);
	}
	if (c) {
		m.msg_control = (void *)c->b;
		m.msg_controllen = c->len;
	}
	return res(sendmsg(fd, &m, flags));
}

/* Send a message of @len bytes of the pattern whose seed is @len. */
long send_to(int fd, const union addr *to, size_t len, int flags)
{
	static char buf[MAX_MSG + 4096];

	need(len <= sizeof(buf));
	fill(buf, len, len);
	return send_msg(fd, to, buf, len, NULL, flags);
}

struct rx rx_msg(int fd, void *buf, size_t len, size_t ctlroom, int flags)
{
	struct rx x = { 0 };
	struct iovec iov = { buf, len };
	struct msghdr m = { .msg_name = &x.from,
			    .msg_namelen = sizeof(x.from),
			    .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctlroom ? x.ctl : NULL,
			    .msg_controllen = ctlroom };

	need(ctlroom <= sizeof(x.ctl));
	x.ret = res(recvmsg(fd, &m, flags));
	if (x.ret >= 0) {
		x.fromlen = m.msg_namelen;
		x.flags = m.msg_flags;
		x.ctllen = m.msg_controllen;
	}
	return x;
}

static const struct cmsghdr *next_cmsg(const struct rx *x,
				       const struct cmsghdr *h)
{
	struct msghdr m = { .msg_control = (void *)x->ctl,
			    .msg_controllen = x->ctllen };

	return h ? CMSG_NXTHDR(&m, (struct cmsghdr *)h) : CMSG_FIRSTHDR(&m);
}

/*
 * Note "label=5/16+TRUNC:1.29(16)": return value, length of the name, flags,
 * control messages.
 */
void rx_note(const char *label, const struct rx *x)
{
	char text[512], buf[32];
	const struct cmsghdr *h;
	int n;

	if (x->ret < 0) {
		r(label, x->ret);
		return;
	}
	n = snprintf(text, sizeof(text), "%s=%s/%u%s%s", label,
		     val_name(x->ret, buf), x->fromlen,
		     x->flags & MSG_TRUNC ? "+TRUNC" : "",
		     x->flags & MSG_CTRUNC ? "+CTRUNC" : "");
	if (x->flags & ~(MSG_TRUNC | MSG_CTRUNC | MSG_CMSG_CLOEXEC))
		n += snprintf(text + n, sizeof(text) - n, "+0x%x", x->flags);
	for (h = next_cmsg(x, NULL); h; h = next_cmsg(x, h))
		n += snprintf(text + n, sizeof(text) - n, ":%d.%d(%zu)",
			      h->cmsg_level, h->cmsg_type,
			      h->cmsg_len - CMSG_LEN(0));
	note("%s", text);
}

const void *rx_cmsg(const struct rx *x, int level, int type, size_t *len)
{
	const struct cmsghdr *h;

	for (h = next_cmsg(x, NULL); h; h = next_cmsg(x, h)) {
		if (h->cmsg_level != level || h->cmsg_type != type)
			continue;
		if (len)
			*len = h->cmsg_len - CMSG_LEN(0);
		return CMSG_DATA(h);
	}
	return NULL;
}

/* The bits that poll() reports within @timeout_ms; 0 if there are none. */
int poll_bits(int fd, int events, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = events };

	need(poll(&p, 1, timeout_ms) >= 0);
	return p.revents;
}
