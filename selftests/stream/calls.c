// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of rds-stream-basic: calls that send and receive, and their flags */
#define _GNU_SOURCE
#include "basic.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

static int pipes;

static void on_pipe(int sig)
{
	(void)sig;
	pipes++;
}

static void catch_pipe(void)
{
	struct sigaction sa = { .sa_handler = on_pipe };

	sigaction(SIGPIPE, &sa, NULL);
}

static void not_connected(void)
{
	int fd = opened(0);
	char byte = 0;

	catch_pipe();
	WANT(send(fd, &byte, 1, 0), -EPIPE);
	WANT(pipes, 1);
	WANT(send(fd, &byte, 1, MSG_NOSIGNAL), -EPIPE);
	WANT(pipes, 1);
	WANT(recv(fd, &byte, 1, 0), -ENOTCONN);
	WANT(shutdown(fd, SHUT_WR), -ENOTCONN);
}

static void epipe(void)
{
	struct pair p = paired();
	struct iovec v = { &(char){0}, 1 };
	char byte = 0;

	catch_pipe();
	WANT(shutdown(p.a, SHUT_WR), 0);
	WANT(send(p.a, &byte, 1, 0), -EPIPE);
	WANT(pipes, 1);
	WANT(write(p.a, &byte, 1), -EPIPE);
	WANT(pipes, 2);
	WANT(writev(p.a, &v, 1), -EPIPE);
	WANT(pipes, 3);
	WANT(send(p.a, &byte, 1, MSG_NOSIGNAL), -EPIPE);
	WANT(pipes, 3);
}

static void peek(void)
{
	struct pair p = paired();
	char buf[200];

	put(p.a, 100, 1);
	TRUE(arrived(p.b, 100));
	WANT(recv(p.b, buf, 50, MSG_PEEK), 50);
	TRUE(filled(buf, 50, 1));
	WANT(recv(p.b, buf, sizeof(buf), MSG_PEEK), 100);
	TRUE(filled(buf, 100, 1));
	TRUE(arrived(p.b, 100));
	TRUE(got(p.b, 100, 1));
	WANT(recv(p.b, buf, 1, MSG_PEEK | MSG_DONTWAIT), -EAGAIN);
	WANT(shutdown(p.a, SHUT_WR), 0);
	WANT(recv(p.b, buf, 1, MSG_PEEK), 0);
	WANT(recv(p.b, buf, 1, 0), 0);
}

/* What is peeked at in two pieces, behind what was read */
static void peek_behind(void)
{
	struct pair p = paired();
	static char buf[3000], all[3000];

	fill(all, sizeof(all), 5);
	WANT(send(p.a, all, 1000, 0), 1000);
	TRUE(arrived(p.b, 1000));
	WANT(recv(p.b, buf, 500, MSG_PEEK), 500);
	WANT(send(p.a, all + 1000, 2000, 0), 2000);
	TRUE(arrived(p.b, 3000));
	WANT(recv(p.b, buf, 700, 0), 700);
	TRUE(!memcmp(buf, all, 700));
	WANT(recv(p.b, buf, sizeof(buf), MSG_PEEK), 2300);
	TRUE(!memcmp(buf, all + 700, 2300));
	WANT(recv(p.b, buf, sizeof(buf), 0), 2300);
	TRUE(!memcmp(buf, all + 700, 2300));
}

static void recv_blocks(void)
{
	struct pair p = paired();
	struct sleeper s = { .call = receives, .fd = p.b, .len = 100 };
	pthread_t t = sleeping(&s);

	put(p.a, 10, 7);
	pthread_join(t, NULL);
	WANT(s.result, 10);
	TRUE(filled(s.buf, 10, 7));
}

/* A call that waits for 300 bytes, of which a third is there when it begins */
static void in_thirds(struct pair *p, int flags)
{
	struct sleeper s = { .call = receives, .fd = p->b, .len = 300,
			     .flags = flags };
	char all[300];
	pthread_t t;

	fill(all, sizeof(all), 9);
	WANT(send(p->a, all, 100, 0), 100);
	TRUE(arrived(p->b, 100));
	t = sleeping(&s);
	WANT(send(p->a, all + 100, 100, 0), 100);
	WANT(send(p->a, all + 200, 100, 0), 100);
	pthread_join(t, NULL);
	WANT(s.result, 300);
	TRUE(filled(s.buf, 300, 9));
}

static void waitall(void)
{
	struct pair p = paired();

	in_thirds(&p, MSG_WAITALL);
	TRUE(arrived(p.b, 0));
}

static void waitall_peek(void)
{
	struct pair p = paired();

	in_thirds(&p, MSG_WAITALL | MSG_PEEK);
	TRUE(arrived(p.b, 300));
}

static void waitall_to_the_end(void)
{
	struct pair p = paired();
	char buf[300];

	put(p.a, 120, 2);
	WANT(shutdown(p.a, SHUT_WR), 0);
	WANT(recv(p.b, buf, sizeof(buf), MSG_WAITALL), 120);
	TRUE(filled(buf, 120, 2));
	WANT(recv(p.b, buf, sizeof(buf), MSG_WAITALL), 0);
}

static void waitall_dontwait(void)
{
	struct pair p = paired();
	char buf[300];

	WANT(recv(p.b, buf, 9, MSG_WAITALL | MSG_DONTWAIT), -EAGAIN);
	put(p.a, 120, 2);
	TRUE(arrived(p.b, 120));
	WANT(recv(p.b, buf, sizeof(buf), MSG_WAITALL | MSG_DONTWAIT), 120);
}

static void dontwait(void)
{
	struct pair p = paired();
	int on = 1;
	char byte;

	WANT(recv(p.b, &byte, 1, MSG_DONTWAIT), -EAGAIN);
	nonblocking(p.b, true);
	WANT(recv(p.b, &byte, 1, 0), -EAGAIN);
	WANT(read(p.b, &byte, 1), -EAGAIN);
	WANT(ioctl(p.a, FIONBIO, &on), 0);
	WANT(recv(p.a, &byte, 1, 0), -EAGAIN);
	TRUE(fill_up(p.a) > 0);
	WANT(send(p.a, &byte, 1, 0), -EAGAIN);
}

/* Bytes that are received with MSG_TRUNC are thrown away. */
static void trunc_discards(void)
{
	struct pair p = paired();
	char buf[100], all[100];

	fill(all, sizeof(all), 4);
	memset(buf, 'x', sizeof(buf));
	WANT(send(p.a, all, 100, 0), 100);
	TRUE(arrived(p.b, 100));
	WANT(recv(p.b, buf, 60, MSG_TRUNC), 60);
	WANT(buf[0], 'x');
	WANT(recv(p.b, buf, 100, 0), 40);
	TRUE(!memcmp(buf, all + 60, 40));
}

static void no_bytes(void)
{
	struct pair p = paired();
	char byte;

	WANT(send(p.a, &byte, 0, 0), 0);
	put(p.a, 10, 1);
	TRUE(arrived(p.b, 10));
	WANT(recv(p.b, &byte, 0, 0), 0);
	WANT(read(p.b, &byte, 0), 0);
	TRUE(arrived(p.b, 10));
}

static void vectors(void)
{
	static char out[6000], in[6000];
	struct iovec w[] = { { out, 1 }, { out + 1, 0 }, { out + 1, 4999 },
			     { out + 5000, 1000 } };
	struct iovec r[] = { { in, 3000 }, { in + 3000, 7 },
			     { in + 3007, 2993 } };
	struct pair p = paired();

	fill(out, sizeof(out), 3);
	WANT(writev(p.a, w, 4), 6000);
	TRUE(arrived(p.b, 6000));
	WANT(readv(p.b, r, 3), 6000);
	TRUE(filled(in, sizeof(in), 3));
}

/* Messages of a stream have no names; one that is given is ignored. */
static void messages(void)
{
	struct pair p = paired();
	union addr to = name_of(p.b), from;
	char control[64], out[100], in[200];
	struct iovec w = { out, sizeof(out) }, r = { in, sizeof(in) };
	struct msghdr s = { .msg_name = &to, .msg_namelen = addr_len(&to),
			    .msg_iov = &w, .msg_iovlen = 1 };
	struct msghdr g = { .msg_name = &from, .msg_namelen = sizeof(from),
			    .msg_iov = &r, .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	socklen_t len = sizeof(from);

	fill(out, sizeof(out), 8);
	WANT(sendmsg(p.a, &s, 0), 100);
	TRUE(arrived(p.b, 100));
	WANT(recvmsg(p.b, &g, 0), 100);
	TRUE(filled(in, 100, 8));
	WANT(g.msg_namelen, 0);
	WANT((long)g.msg_controllen, 0);
	WANT(g.msg_flags & ~MSG_CMSG_CLOEXEC, 0);
	WANT(sendto(p.a, out, 100, 0, &to.sa, addr_len(&to)), 100);
	WANT(recvfrom(p.b, in, 100, MSG_WAITALL, &from.sa, &len), 100);
	WANT(len, 0);
}

static void bad_memory(void)
{
	struct pair p = paired();

	WANT(send(p.a, (void *)16, 10, 0), -EFAULT);
	put(p.a, 10, 1);
	TRUE(arrived(p.b, 10));
	WANT(recv(p.b, (void *)16, 10, 0), -EFAULT);
	TRUE(got(p.b, 10, 1));
}

static void recv_timeout(void)
{
	struct pair p = paired();
	long began = now_ms();
	char buf[20];

	set_timeo(p.b, SO_RCVTIMEO, 100);
	WANT(recv(p.b, buf, 1, 0), -EAGAIN);
	TRUE(!time_is_judged() || now_ms() - began >= 90);
	/* With MSG_WAITALL what is there is returned after the time. */
	put(p.a, 10, 1);
	WANT(recv(p.b, buf, 20, MSG_WAITALL), 10);
}

static void send_timeout(void)
{
	struct pair p = paired();
	long began;
	char byte = 0;

	fill_up(p.a);
	set_timeo(p.a, SO_SNDTIMEO, 100);
	began = now_ms();
	WANT(send(p.a, &byte, 1, 0), -EAGAIN);
	TRUE(!time_is_judged() || now_ms() - began >= 90);
}

static void send_in_part(void)
{
	const size_t len = 64 << 20;
	char *p = calloc(1, len);
	struct pair c = paired();
	ssize_t n = send(c.a, p, len, MSG_DONTWAIT);

	TRUE(n > 0);
	TRUE((size_t)n < len);
	free(p);
}

static void on_signal(int sig)
{
	(void)sig;
}

static void interrupted(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct pair p = paired();
	struct sleeper s = { .call = receives, .fd = p.b, .len = 100 };
	pthread_t t;

	sigaction(SIGUSR1, &sa, NULL);
	t = sleeping(&s);
	pthread_kill(t, SIGUSR1);
	pthread_join(t, NULL);
	WANT(s.result, -EINTR);
	sa.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &sa, NULL);
	t = sleeping(&s);
	pthread_kill(t, SIGUSR1);
	put(p.a, 10, 1);
	pthread_join(t, NULL);
	WANT(s.result, 10);
}

const struct test call_tests[] = {
	{ "not_connected", not_connected },
	{ "epipe", epipe },
	{ "peek", peek },
	{ "peek_behind", peek_behind },
	{ "recv_blocks", recv_blocks },
	{ "waitall", waitall },
	{ "waitall_to_the_end", waitall_to_the_end },
	{ "waitall_dontwait", waitall_dontwait },
	{ "waitall_peek", waitall_peek },
	{ "dontwait", dontwait },
	{ "trunc_discards", trunc_discards },
	{ "no_bytes", no_bytes },
	{ "vectors", vectors },
	{ "messages", messages },
	{ "bad_memory", bad_memory },
	{ "recv_timeout", recv_timeout },
	{ "send_timeout", send_timeout },
	{ "send_in_part", send_in_part },
	{ "interrupted", interrupted },
	{ NULL, NULL },
};
