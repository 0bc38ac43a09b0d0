// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The suite lives in namespace A. One helper process stays in namespace B and
 * one in the initial namespace; the helpers pass sockets and open files to the
 * suite, so that no case needs the privilege to change namespaces.
 */
#include "api.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

struct request {
	bool file;
	int family, type, protocol, flags;
	char path[128];
};

static int helper[3] = { -1, -1, -1 };

static void reply(int conn, int fd)
{
	struct ctl c = { 0 };
	int err = fd < 0 ? errno : 0;
	struct iovec iov = { &err, sizeof(err) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		ctl_add(&c, SOL_SOCKET, SCM_RIGHTS, &fd, sizeof(fd));
		m.msg_control = c.b;
		m.msg_controllen = c.len;
	}
	if (sendmsg(conn, &m, 0) < 0)
		exit(1);
	if (fd >= 0)
		close(fd);
}

static void serve(int conn)
{
	struct request q;

	while (recv(conn, &q, sizeof(q), 0) == sizeof(q))
		reply(conn, q.file ? open(q.path, q.flags) :
				     socket(q.family, q.type, q.protocol));
	exit(0);
}

static int start_helper(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair)) {
		perror("socketpair");
		exit(2);
	}
	fflush(stdout);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		if (user_mode && other_user())
			exit(2);
		serve(pair[1]);
	}
	close(pair[1]);
	return pair[0];
}

void ns_start(const char *ns_a, const char *ns_b)
{
	helper[NS_INIT] = start_helper();
	netns_enter(ns_b);
	helper[NS_B] = start_helper();
	netns_enter(ns_a);
}

static int ask(enum ns ns, const struct request *q)
{
	struct ctl c = { 0 };
	int err = 0, fd = -1;
	struct iovec iov = { &err, sizeof(err) };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = c.b,
			    .msg_controllen = sizeof(c.b) };
	struct cmsghdr *h;

	need(send(helper[ns], q, sizeof(*q), 0) == sizeof(*q));
	need(recvmsg(helper[ns], &m, 0) == sizeof(err));
	h = CMSG_FIRSTHDR(&m);
	if (h)
		memcpy(&fd, CMSG_DATA(h), sizeof(fd));
	errno = err;
	return fd;
}

int ns_socket(enum ns ns, int family, int type, int protocol)
{
	struct request q = { .family = family,
			     .type = type,
			     .protocol = protocol };

	if (ns == NS_A)
		return socket(family, type, protocol);
	return ask(ns, &q);
}

int ns_open(enum ns ns, const char *path, int flags)
{
	struct request q = { .file = true, .flags = flags };

	if (ns == NS_A)
		return open(path, flags);
	snprintf(q.path, sizeof(q.path), "%s", path);
	return ask(ns, &q);
}
