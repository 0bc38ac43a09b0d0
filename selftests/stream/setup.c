// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cases of rds-stream-basic: addresses, names, listen, connect, accept */
#define _GNU_SOURCE
#include "basic.h"

#include <stddef.h>

#define CONNS 6

static int bind_to(int fd, const union addr *a)
{
	return (int)err(bind(fd, &a->sa, addr_len(a)));
}

static int peer_of(int fd, union addr *a)
{
	socklen_t len = sizeof(*a);

	memset(a, 0, sizeof(*a));
	return (int)err(getpeername(fd, &a->sa, &len));
}

int so_error(int fd)
{
	socklen_t len = sizeof(int);
	int e = -1;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &len))
		die("SO_ERROR: %m");
	return e;
}

/* An address at which nobody listens */
static union addr vacant(void)
{
	union addr a;

	close(listening(&a, 1));
	return a;
}

static union addr any_of(const union addr *a)
{
	return addr_of(a->sa.sa_family == AF_INET6 ? "::" : "0.0.0.0", 0);
}

/* ---- bind, names */

static void bind_name(void)
{
	union addr free = vacant(), a;
	int fd = opened(0);

	WANT(bind_to(fd, &free), 0);
	a = name_of(fd);
	TRUE(addr_eq(&a, &free));
}

static void bind_port_0(void)
{
	int one = opened(0), two = opened(0);
	union addr a, b;

	WANT(bind_to(one, &env.server), 0);
	WANT(bind_to(two, &env.server), 0);
	a = name_of(one);
	b = name_of(two);
	TRUE(addr_port(&a) != 0);
	TRUE(addr_port(&b) != 0);
	TRUE(addr_port(&a) != addr_port(&b));
	addr_set_port(&a, 0);
	TRUE(addr_eq(&a, &env.server));
}

static void bind_wildcard(void)
{
	union addr any = any_of(&env.server), a, to = env.server;
	int l = opened(0), c = dialler(0), s;

	WANT(bind_to(l, &any), 0);
	WANT(listen(l, 4), 0);
	a = name_of(l);
	TRUE(addr_port(&a) != 0);
	addr_set_port(&to, addr_port(&a));
	addr_set_port(&any, addr_port(&a));
	TRUE(addr_eq(&a, &any));
	WANT(dial(c, &to), 0);
	s = accept(l, NULL, NULL);
	TRUE(s >= 0);
	a = name_of(s);
	TRUE(addr_eq(&a, &to));
}

static void bind_in_use(void)
{
	union addr a;
	int fd = opened(0);

	listening(&a, 1);
	WANT(bind_to(fd, &a), -EADDRINUSE);
	WANT(bind_to(fd, &env.server), 0);
}

static void bind_twice(void)
{
	int fd = opened(0);

	WANT(bind_to(fd, &env.server), 0);
	WANT(bind_to(fd, &env.server), -EINVAL);
}

static void bind_foreign(void)
{
	union addr a = addr_of(env.server.sa.sa_family == AF_INET6 ?
			       "2001:db8::77" : "192.0.2.77", 0);
	int fd = opened(0);

	WANT(bind_to(fd, &a), -EADDRNOTAVAIL);
	WANT(bind_to(fd, &env.server), 0);
}

static void bind_short(void)
{
	int fd = opened(0);

	WANT(bind(fd, &env.server.sa, sizeof(sa_family_t)), -EINVAL);
	WANT(bind(fd, &env.server.sa, addr_len(&env.server) - 5), -EINVAL);
}

static void port_free_again(void)
{
	union addr a;
	int fd = opened(0);

	close(listening(&a, 1));
	WANT(bind_to(fd, &a), 0);
	WANT(listen(fd, 1), 0);
}

/* A server that was started again, while a connection of the old one lives */
static void reuse_addr(void)
{
	struct pair p = paired();
	union addr a = name_of(p.l);
	int fd = opened(0), one = 1;

	close(p.l);
	WANT(setsockopt(p.b, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	WANT(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	WANT(bind_to(fd, &a), 0);
	WANT(listen(fd, 1), 0);
	put(p.a, 100, 1);
	TRUE(got(p.b, 100, 1));
}

static void names(void)
{
	struct pair p = paired();
	union addr l = name_of(p.l), a = name_of(p.a), b = name_of(p.b), pa, pb;

	WANT(peer_of(p.a, &pa), 0);
	WANT(peer_of(p.b, &pb), 0);
	TRUE(addr_eq(&b, &l));
	TRUE(addr_eq(&pa, &b));
	TRUE(addr_eq(&pb, &a));
	TRUE(addr_port(&a) != 0);
	if (env.client.sa.sa_family) {
		addr_set_port(&a, 0);
		TRUE(addr_eq(&a, &env.client));
	}
}

static void names_not_connected(void)
{
	int fd = opened(0);
	union addr a;

	WANT(peer_of(fd, &a), -ENOTCONN);
	WANT(bind_to(fd, &env.server), 0);
	WANT(peer_of(fd, &a), -ENOTCONN);
	WANT(listen(fd, 1), 0);
	WANT(peer_of(fd, &a), -ENOTCONN);
}

static void name_cut(void)
{
	union addr a = { 0 };
	socklen_t len = 4;
	struct pair p = paired();

	WANT(getsockname(p.a, &a.sa, &len), 0);
	TRUE(len == addr_len(&env.server));
	TRUE(a.sa.sa_family == env.server.sa.sa_family);
	TRUE(a.in.sin_addr.s_addr == 0);
}

static void accept_name(void)
{
	union addr a, from = { 0 }, c;
	socklen_t len = sizeof(from);
	int l = listening(&a, 1), fd = dialler(0);

	WANT(dial(fd, &a), 0);
	TRUE(accept(l, &from.sa, &len) >= 0);
	c = name_of(fd);
	TRUE(len == addr_len(&c));
	TRUE(addr_eq(&from, &c));
}

static void connect_from_port(void)
{
	union addr from = vacant(), a, peer;
	int l = listening(&a, 1), fd = opened(0), s;

	WANT(bind_to(fd, &from), 0);
	WANT(dial(fd, &a), 0);
	s = accept(l, NULL, NULL);
	WANT(peer_of(s, &peer), 0);
	TRUE(addr_eq(&peer, &from));
}

/* ---- connect */

static void connect_refused(void)
{
	union addr a = vacant();
	int fd = dialler(0);

	WANT(dial(fd, &a), -ECONNREFUSED);
	WANT(so_error(fd), 0);
}

static void connect_after_refused(void)
{
	union addr gone = vacant(), a;
	int fd = dialler(0), l = listening(&a, 1), s;

	WANT(dial(fd, &gone), -ECONNREFUSED);
	WANT(dial(fd, &a), 0);
	s = accept(l, NULL, NULL);
	put(fd, 10, 1);
	TRUE(got(s, 10, 1));
}

/*
 * A socket that was bound to a port stays so, whatever becomes of its attempts.
 * A port that bind() has chosen TCP forgets.
 */
static void connect_keeps_name(void)
{
	union addr own = vacant(), gone, a, peer;
	int fd = opened(0), l, s;

	WANT(bind_to(fd, &own), 0);
	gone = vacant();
	l = listening(&a, 1);
	for (int i = 0; i < 20; i++) {
		WANT(dial(fd, &gone), -ECONNREFUSED);
		peer = name_of(fd);
		TRUE(addr_eq(&peer, &own));
	}
	WANT(dial(fd, &a), 0);
	s = accept(l, NULL, NULL);
	WANT(peer_of(s, &peer), 0);
	TRUE(addr_eq(&peer, &own));
}

static void connect_nonblock(void)
{
	union addr a;
	int l = listening(&a, 1), fd = dialler(SOCK_NONBLOCK);

	WANT(dial(fd, &a), -EINPROGRESS);
	TRUE(accept(l, NULL, NULL) >= 0);
	poll_is(fd, POLLOUT);
	WANT(so_error(fd), 0);
	/* The first call fetches the result. */
	WANT(dial(fd, &a), 0);
	WANT(dial(fd, &a), -EISCONN);
}

static void connect_nonblock_refused(void)
{
	union addr a = vacant();
	int fd = dialler(SOCK_NONBLOCK);

	WANT(dial(fd, &a), -EINPROGRESS);
	poll_is(fd, POLLIN | POLLOUT | POLLRDHUP | POLLHUP | POLLERR);
	WANT(so_error(fd), ECONNREFUSED);
	WANT(so_error(fd), 0);
}

static void connect_connected(void)
{
	struct pair p = paired();
	union addr a = name_of(p.l);

	WANT(dial(p.a, &a), -EISCONN);
	WANT(dial(p.b, &a), -EISCONN);
	WANT(listen(p.a, 1), -EINVAL);
}

static void connect_listener(void)
{
	union addr a, b;
	int l = listening(&a, 1);

	listening(&b, 1);
	WANT(dial(l, &b), -EISCONN);
}

/*
 * The last message of the handshake may come after connect() has returned: over
 * TCP within the host it does not.
 */
static void wait_for_peer(int l)
{
	TRUE(readable(l, WAIT_MS));
	poll_is(l, POLLIN);
}

/* The connection is there before the program accepts it, and takes bytes. */
static void connect_then_accept(void)
{
	union addr a;
	int l = listening(&a, 4), fd = dialler(0), s;

	WANT(dial(fd, &a), 0);
	put(fd, 1000, 3);
	wait_for_peer(l);
	s = accept(l, NULL, NULL);
	TRUE(got(s, 1000, 3));
	put(s, 1000, 4);
	TRUE(got(fd, 1000, 4));
}

static void connect_short(void)
{
	union addr a;
	int fd = dialler(0);

	listening(&a, 1);
	WANT(connect(fd, &a.sa, addr_len(&a) - 5), -EINVAL);
	WANT(dial(fd, &a), 0);
}

/* ---- listen, accept */

static void accept_not_listening(void)
{
	int fd = opened(0);

	WANT(accept(fd, NULL, NULL), -EINVAL);
	WANT(bind_to(fd, &env.server), 0);
	WANT(accept(fd, NULL, NULL), -EINVAL);
}

static void accept_none(void)
{
	union addr a;
	int l = listening(&a, 1), fd = dialler(0);

	nonblocking(l, true);
	WANT(accept(l, NULL, NULL), -EAGAIN);
	poll_is(l, 0);
	WANT(dial(fd, &a), 0);
	wait_for_peer(l);
	TRUE(accept(l, NULL, NULL) >= 0);
	poll_is(l, 0);
	WANT(accept(l, NULL, NULL), -EAGAIN);
}

static void accept_timeout(void)
{
	union addr a;
	int l = listening(&a, 1);
	long began = now_ms();

	set_timeo(l, SO_RCVTIMEO, 100);
	WANT(accept(l, NULL, NULL), -EAGAIN);
	TRUE(!time_is_judged() || now_ms() - began >= 90);
}

static void accept4_flags(void)
{
	union addr a;
	int l = listening(&a, 4), fds[3];

	nonblocking(l, true);
	for (int i = 0; i < 3; i++) {
		WANT(dial(dialler(0), &a), 0);
		wait_for_peer(l);
		fds[i] = accept4(l, NULL, NULL, i == 0 ? 0 : i == 1 ?
				 SOCK_NONBLOCK : SOCK_CLOEXEC);
		TRUE(fds[i] >= 0);
	}
	/* Nothing is inherited from the listener. */
	TRUE(!(fcntl(fds[0], F_GETFL) & O_NONBLOCK));
	WANT(fcntl(fds[0], F_GETFD), 0);
	TRUE(fcntl(fds[1], F_GETFL) & O_NONBLOCK);
	WANT(fcntl(fds[1], F_GETFD), 0);
	TRUE(!(fcntl(fds[2], F_GETFL) & O_NONBLOCK));
	WANT(fcntl(fds[2], F_GETFD), FD_CLOEXEC);
	WANT(accept4(l, NULL, NULL, 0x10000000), -EINVAL);
}

static long accepts(struct sleeper *s)
{
	return accept(s->fd, NULL, NULL);
}

static void accept_blocks(void)
{
	union addr a;
	struct sleeper s = { .call = accepts, .fd = listening(&a, 1) };
	pthread_t t = sleeping(&s);

	WANT(dial(dialler(0), &a), 0);
	pthread_join(t, NULL);
	TRUE(s.result >= 0);
}

static void listener_shut(void)
{
	union addr a;
	struct sleeper s = { .call = accepts, .fd = listening(&a, 1) };
	pthread_t t = sleeping(&s);

	WANT(shutdown(s.fd, SHUT_RD), 0);
	pthread_join(t, NULL);
	WANT((int)s.result, -EINVAL);
	WANT(dial(dialler(0), &a), -ECONNREFUSED);
}

/* All connections that the backlog has room for are made before any accept. */
static void backlog_holds(void)
{
	union addr a;
	int l = listening(&a, CONNS), c[CONNS], s;

	for (int i = 0; i < CONNS; i++) {
		c[i] = dialler(0);
		WANT(dial(c[i], &a), 0);
		put(c[i], 100, (unsigned int)i);
	}
	for (int i = 0; i < CONNS; i++) {
		s = accept(l, NULL, NULL);
		TRUE(got(s, 100, (unsigned int)i));
		close(s);
	}
}

/*
 * How many connections are up, and how many were refused. Each that is up sends
 * a byte, once: TCP's server forgets one for which it had no room, and the byte
 * reminds it.
 */
static void count_ends(const int *c, bool *sent, int *up, int *refused)
{
	*up = *refused = 0;
	for (int i = 0; i < CONNS; i++) {
		struct pollfd p = { .fd = c[i], .events = POLLOUT };

		if (poll(&p, 1, 0) != 1)
			continue;
		if (p.revents & POLLERR) {
			++*refused;
			continue;
		}
		++*up;
		if (!sent[i])
			sent[i] = send(c[i], "", 1, MSG_NOSIGNAL) == 1;
	}
}

/*
 * More attempts than the backlog: those that fit come, the others wait until
 * they do, or are refused; none is lost.
 */
static void backlog_full(void)
{
	bool sent[CONNS] = { false };
	union addr a;
	int l = listening(&a, 1), c[CONNS], taken = 0, up = 0, refused = 0;
	long end = now_ms() + 2 * WAIT_MS;

	nonblocking(l, true);
	for (int i = 0; i < CONNS; i++) {
		c[i] = dialler(SOCK_NONBLOCK);
		WANT(dial(c[i], &a), -EINPROGRESS);
	}
	while ((up + refused < CONNS || taken < up) && now_ms() < end) {
		if (readable(l, 10))
			taken += accept(l, NULL, NULL) >= 0;
		count_ends(c, sent, &up, &refused);
	}
	printf("# %d accepted, %d connected, %d refused\n", taken, up, refused);
	TRUE(up >= 1);
	WANT(taken, up);
	WANT(up + refused, CONNS);
}

static void listen_again(void)
{
	union addr a;
	int l = listening(&a, 1);

	WANT(listen(l, 8), 0);
	WANT(dial(dialler(0), &a), 0);
	TRUE(accept(l, NULL, NULL) >= 0);
}

/* A connection that nobody accepted ends with its listener. */
static void listener_closed(void)
{
	union addr a;
	int l = listening(&a, 4), fd = dialler(0);
	char byte;

	WANT(dial(fd, &a), 0);
	wait_for_peer(l);
	close(l);
	WANT(recv(fd, &byte, 1, 0), -ECONNRESET);
	WANT(dial(dialler(0), &a), -ECONNREFUSED);
}

const struct test setup_tests[] = {
	{ "bind_name", bind_name },
	{ "bind_port_0", bind_port_0 },
	{ "bind_wildcard", bind_wildcard },
	{ "bind_in_use", bind_in_use },
	{ "bind_twice", bind_twice },
	{ "bind_foreign", bind_foreign },
	{ "bind_short", bind_short },
	{ "port_free_again", port_free_again },
	{ "reuse_addr", reuse_addr },
	{ "names", names },
	{ "names_not_connected", names_not_connected },
	{ "name_cut", name_cut },
	{ "accept_name", accept_name },
	{ "connect_from_port", connect_from_port },
	{ "connect_refused", connect_refused },
	{ "connect_after_refused", connect_after_refused },
	{ "connect_keeps_name", connect_keeps_name },
	{ "connect_nonblock", connect_nonblock },
	{ "connect_nonblock_refused", connect_nonblock_refused },
	{ "connect_connected", connect_connected },
	{ "connect_listener", connect_listener },
	{ "connect_then_accept", connect_then_accept },
	{ "connect_short", connect_short },
	{ "accept_not_listening", accept_not_listening },
	{ "accept_none", accept_none },
	{ "accept_timeout", accept_timeout },
	{ "accept4_flags", accept4_flags },
	{ "accept_blocks", accept_blocks },
	{ "listener_shut", listener_shut },
	{ "backlog_holds", backlog_holds },
	{ "backlog_full", backlog_full },
	{ "listen_again", listen_again },
	{ "listener_closed", listener_closed },
	{ NULL, NULL },
};
