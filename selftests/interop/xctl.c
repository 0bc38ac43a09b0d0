// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The control channel: lines of text over TCP or a unix socket. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "xchg.h"

static socklen_t ctl_addr(const char *spec, struct sockaddr_storage *ss)
{
	struct sockaddr_un *un = (struct sockaddr_un *)ss;
	union addr a;
	char host[64];
	int port;

	memset(ss, 0, sizeof(*ss));
	if (spec[0] == '/') {
		if (strlen(spec) >= sizeof(un->sun_path))
			die("control path too long");
		un->sun_family = AF_UNIX;
		strcpy(un->sun_path, spec);
		return sizeof(*un);
	}
	if (sscanf(spec, "%63[^,],%d", host, &port) != 2 ||
	    !addr_parse(&a, host, port))
		die("bad control address %s", spec);
	*ss = a.ss;
	return addr_len(&a);
}

static int ctl_accept(const char *spec, struct sockaddr_storage *ss,
		      socklen_t len, unsigned int timeout)
{
	struct timeval tv = { .tv_sec = timeout };
	int one = 1, fd, c;

	fd = socket(ss->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		die("control socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	if (spec[0] == '/')
		unlink(spec);
	if (bind(fd, (void *)ss, len) || listen(fd, 1))
		die("control listen on %s: %s", spec, strerror(errno));
	c = accept(fd, NULL, NULL);
	if (c < 0)
		die("control: the other end did not come: %s", strerror(errno));
	close(fd);
	if (spec[0] == '/')
		unlink(spec);
	return c;
}

static int ctl_dial(const char *spec, struct sockaddr_storage *ss,
		    socklen_t len, unsigned int timeout)
{
	uint64_t end = now_ns() + timeout * 1000000000ull;
	struct timespec pause = { .tv_nsec = 50000000 };

	for (;;) {
		int fd = socket(ss->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			die("control socket: %s", strerror(errno));
		if (!connect(fd, (void *)ss, len))
			return fd;
		close(fd);
		if (now_ns() > end)
			die("control connect to %s: %s", spec, strerror(errno));
		nanosleep(&pause, NULL);
	}
}

int ctl_open(const struct opts *o)
{
	struct sockaddr_storage ss;
	socklen_t len = ctl_addr(o->ctl, &ss);
	unsigned int timeout = o->timeout < 60 ? o->timeout : 60;
	int one = 1, fd;

	if (o->ctl_listen)
		fd = ctl_accept(o->ctl, &ss, len, timeout);
	else
		fd = ctl_dial(o->ctl, &ss, len, timeout);
	if (ss.ss_family != AF_UNIX)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

void ctl_say(struct xchg *x, const char *fmt, ...)
{
	char line[512];
	size_t off = 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	line[n++] = '\n';
	while (off < (size_t)n) {
		ssize_t w = send(x->ctl, line + off, n - off, MSG_NOSIGNAL);

		if (w < 0)
			die("control channel lost: %s", strerror(errno));
		off += w;
	}
}

/* Receive without waiting and call @fn for each line; false at end of file. */
bool ctl_lines(struct xchg *x, void (*fn)(struct xchg *x, char *line))
{
	char *nl;
	ssize_t n;

	n = recv(x->ctl, x->ctlbuf + x->ctllen,
		 sizeof(x->ctlbuf) - 1 - x->ctllen, MSG_DONTWAIT);
	if (n == 0)
		return false;
	if (n < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return true;
		die("control channel: %s", strerror(errno));
	}
	x->ctllen += n;
	x->ctlbuf[x->ctllen] = 0;
	while ((nl = memchr(x->ctlbuf, '\n', x->ctllen))) {
		size_t used = nl + 1 - x->ctlbuf;

		*nl = 0;
		fn(x, x->ctlbuf);
		x->ctllen -= used;
		memmove(x->ctlbuf, x->ctlbuf + used, x->ctllen);
	}
	return true;
}
