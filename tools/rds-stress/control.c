// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The TCP connection over which the active side sends the options. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "stress.h"

static struct sockaddr_in make_addr(uint32_t addr, uint16_t port)
{
	struct sockaddr_in a = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(addr),
		.sin_port = htons(port),
	};

	return a;
}

static int control_socket(const struct options *o, uint16_t port)
{
	union rt_addr a = { .in = make_addr(o->recv_addr, port) };
	char text[INET_ADDRSTRLEN];
	int on = 1, fd, err;

	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		die_errno("socket(2, 1, 0) failed");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &a.sa, rt_addrlen(&a))) {
		err = complain_errno("bind(%s:%u) failed",
				     ip_str(o->recv_addr, text), port);
		rt_hint_bind(err, &a, o->transport);
		leave(1);
	}
	return fd;
}

static uint32_t local_addr(int fd, uint16_t *port)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);

	if (getsockname(fd, (struct sockaddr *)&a, &len))
		die_errno("getsockname failed");
	if (port)
		*port = ntohs(a.sin_port);
	return ntohl(a.sin_addr.s_addr);
}

static bool worth_retrying(int err)
{
	return err == ECONNREFUSED || err == EHOSTUNREACH || err == ENETUNREACH;
}

int control_connect(struct options *o)
{
	struct sockaddr_in to = make_addr(o->send_addr, o->port);
	uint32_t left = o->connect_retries;
	char text[INET_ADDRSTRLEN];
	bool told = false;
	int fd, err;

	printf("connecting to %s:%u", ip_str(o->send_addr, text), o->port);
	fflush(stdout);
	for (;;) {
		fd = control_socket(o, 0);
		if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
			break;
		err = errno;
		close(fd);
		if (!told)
			printf(": %s", strerror(err));
		if (!left || !worth_retrying(err)) {
			printf("\n");
			errno = err;
			die_errno("connect(%s) failed",
				  ip_str(o->send_addr, text));
		}
		printf("%s.", told ? "" : " - retrying");
		fflush(stdout);
		told = true;
		left--;
		poll(NULL, 0, 1000);
	}
	printf("\n");
	if (!o->recv_addr)
		o->recv_addr = local_addr(fd, NULL);
	return fd;
}

/*
 * Receive the options of the active side. recv_addr stays this side's own; the
 * message has the address under which the active side reaches this side.
 */
static void receive_options(int fd, struct options *o)
{
	uint8_t msg[LONG_LEN];
	const char *wrong;
	size_t len;

	control_recv(fd, msg, VERSION_LEN);
	len = options_length(msg);
	if (!len)
		die("the active side is of a version that is not supported\n");
	control_recv(fd, msg + VERSION_LEN, len - VERSION_LEN);
	decode_options(msg, len, o);
	wrong = check_options(o);
	if (wrong)
		die("options of the active side refused: %s\n", wrong);
}

int control_accept(struct options *o)
{
	char text[INET_ADDRSTRLEN];
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	uint16_t port;
	int lfd, fd;

	lfd = control_socket(o, o->port);
	if (listen(lfd, 255))
		die_errno("listen failed");
	printf("waiting for incoming connection on %s:%u\n",
	       ip_str(o->recv_addr, text), o->port);
	do
		fd = accept(lfd, (struct sockaddr *)&from, &len);
	while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd < 0)
		die_errno("accept failed");
	close(lfd);
	printf("accepted connection from %s:%u",
	       ip_str(ntohl(from.sin_addr.s_addr), text), ntohs(from.sin_port));
	if (!o->recv_addr) {
		o->recv_addr = local_addr(fd, &port);
		printf(" on %s:%u", ip_str(o->recv_addr, text), port);
	}
	printf("\n");
	receive_options(fd, o);
	return fd;
}

void control_send(int fd, const void *buf, size_t len)
{
	ssize_t n;

	/* One send(): a classic receiver reads the first 16 bytes at once. */
	do
		n = send(fd, buf, len, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0 || (size_t)n != len)
		die_errno("Cannot send to peer");
}

void control_recv(int fd, void *buf, size_t len)
{
	uint8_t *p = buf;

	while (len) {
		ssize_t n = recv(fd, p, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die_errno("Cannot recv from peer");
		if (!n)
			die("Peer unexpectedly closed connection\n");
		p += n;
		len -= n;
	}
}
