// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int failed(const char *what)
{
	perror(what);
	return 1;
}

/* Answer one peer with what it sends, until it has sent all. */
static int serve(int listener)
{
	char buf[65536];
	ssize_t n;
	int fd;

	if (listen(listener, 8))
		return failed("listen");
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		return failed("accept");
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		if (send(fd, buf, n, MSG_NOSIGNAL) != n)
			return failed("send");
	return n ? failed("recv") : close(fd);
}

static int ask(int fd)
{
	char text[64] = "hello, stream";
	size_t len = strlen(text);

	if (send(fd, text, len, MSG_NOSIGNAL) != (ssize_t)len || shutdown(fd, SHUT_WR))
		return failed("send");
	if (recv(fd, text, len, MSG_WAITALL) != (ssize_t)len)
		return failed("recv");
	puts(text);
	return close(fd);
}

int main(int argc, char **argv)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *a;
	int fd = socket(AF_RDS, SOCK_STREAM, 0);

	if (fd < 0)
		return failed("socket");
	if (argc != 4 || getaddrinfo(argv[2], argv[3], &hints, &a)) {
		fprintf(stderr, "usage: %s server|client ADDRESS PORT\n", argv[0]);
		return 2;
	}
	if (argv[1][0] == 's')
		return bind(fd, a->ai_addr, a->ai_addrlen) ? failed("bind") : serve(fd);
	return connect(fd, a->ai_addr, a->ai_addrlen) ? failed("connect") : ask(fd);
}
