// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Threads on one socket. Which thread wins is open; each result must be one of
 * those allowed, and afterwards the stack still works.
 */
#include "api.h"

#include <pthread.h>
#include <sys/syscall.h>

#define ROUNDS	200
#define FIRSTS	64	/* addresses that get a first message */
#define FADDR	20	/* offset of the peer in a record of a connection */

static struct {
	int fd, port;
	bool stop;
	pthread_barrier_t gate;
	union addr to;
	long bad;
	long bound;	/* what the other thread's bind() returned */
} shared;

static void odd(long v, const long *allowed, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (v == allowed[i])
			return;
	__atomic_store_n(&shared.bad, v, __ATOMIC_SEQ_CST);
}

#define ALLOW(v, ...) \
	do { \
		const long allowed[] = { __VA_ARGS__ }; \
		odd(v, allowed, ARRAY_SIZE(allowed)); \
	} while (0)

static void *sender(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		int k;

		pthread_barrier_wait(&shared.gate);
		for (k = 0; k < 5; k++)
			ALLOW(send_msg(shared.fd, &shared.to, "x", 1, NULL, MSG_DONTWAIT), 1,
			      -ENOTCONN, -EBADF, -EAGAIN, -ENOBUFS);
		pthread_barrier_wait(&shared.gate);
	}
	return NULL;
}

static void done(struct link *l)
{
	struct rx x;
	char b[8];

	if (shared.bad)
		bail("unexpected answer %ld", shared.bad);
	do {
		x = rx_msg(l->rx, b, 8, 0, MSG_DONTWAIT);
	} while (x.ret >= 0);
	need(send_to(l->tx, &l->to, 7, 0) == 7);
	do {
		x = rx_msg(l->rx, b, 8, 0, 0);
	} while (x.ret == 1);
	r("after", x.ret);
}

static void init(const struct link *l, int threads)
{
	memset(&shared, 0, sizeof(shared));
	shared.to = l->to;
	need(!pthread_barrier_init(&shared.gate, NULL, threads));
}

static void bind_send(const struct api_case *c)
{
	struct link l = link_open(c->num);
	union addr a = l.from;
	pthread_t t;
	int i;

	init(&l, 2);
	need(!pthread_create(&t, NULL, sender, NULL));
	for (i = 0; i < ROUNDS; i++) {
		shared.fd = sock();
		if (a.sa.sa_family == AF_INET6)
			a.in6.sin6_port = 0;
		else
			a.in.sin_port = 0;
		pthread_barrier_wait(&shared.gate);
		ALLOW(bind(shared.fd, &a.sa, addr_len(&a)) ? -errno : 0, 0);
		pthread_barrier_wait(&shared.gate);
		close(shared.fd);
	}
	pthread_join(t, NULL);
	done(&l);
}

/* A failing bind removes the socket's transport while a message is sent. */
static void bad_bind_send(const struct api_case *c)
{
	struct link l = link_open(c->num);
	pthread_t t;
	int i;

	init(&l, 2);
	need(!pthread_create(&t, NULL, sender, NULL));
	for (i = 0; i < ROUNDS; i++) {
		shared.fd = sock();
		pthread_barrier_wait(&shared.gate);
		ALLOW(bind(shared.fd, &l.to.sa, addr_len(&l.to)) ? -errno : 0, -EADDRNOTAVAIL,
		      -EADDRINUSE);
		ALLOW(do_bind(shared.fd, A4, 1), -EINVAL);
		pthread_barrier_wait(&shared.gate);
		close(shared.fd);
	}
	pthread_join(t, NULL);
	done(&l);
}

static void *binder(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&shared.gate);
		shared.bound = do_bind(shared.fd, A4, 0);
		ALLOW(shared.bound, 0, -EINVAL);
		pthread_barrier_wait(&shared.gate);
	}
	return NULL;
}

/* Two binds of one socket race: one wins, and the socket is bound. */
static void bind_bind(const struct api_case *c)
{
	struct link l = link_open(TCP4);
	pthread_t t;
	int i, unbound = 0, both = 0;

	(void)c;
	init(&l, 2);
	need(!pthread_create(&t, NULL, binder, NULL));
	for (i = 0; i < ROUNDS; i++) {
		long bound;

		shared.fd = sock();
		pthread_barrier_wait(&shared.gate);
		bound = do_bind(shared.fd, A4, 0);
		ALLOW(bound, 0, -EINVAL);
		pthread_barrier_wait(&shared.gate);
		both += !bound && !shared.bound;
		unbound += !port_of(shared.fd);
		close(shared.fd);
	}
	pthread_join(t, NULL);
	r("unbound", unbound);
	r("both", both);
	done(&l);
}

static void *same_port(void *arg)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		long ret;
		int fd;

		pthread_barrier_wait(&shared.gate);
		fd = sock();
		ret = do_bind(fd, A4, shared.port);
		ALLOW(ret, 0, -EADDRINUSE, ours ? 0 : -ENOMEM);
		if (!ret)
			__atomic_add_fetch((int *)arg + i, 1, __ATOMIC_SEQ_CST);
		pthread_barrier_wait(&shared.gate);
		close(fd);
		pthread_barrier_wait(&shared.gate);
	}
	return NULL;
}

/*
 * Two sockets bind one port: exactly one gets it in every round. Only ours must
 * pass: in-tree was seen to give the port to both sockets, and to neither.
 */
static void port_once(const struct api_case *c)
{
	struct link l = link_open(TCP4);
	int won[ROUNDS] = { 0 }, none = 0, both = 0, i;
	pthread_t t[2];

	(void)c;
	init(&l, 2);
	shared.port = lane0_port();
	for (i = 0; i < 2; i++)
		need(!pthread_create(&t[i], NULL, same_port, won));
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < ROUNDS; i++) {
		none += !won[i];
		both += won[i] > 1;
	}
	r("both", ours ? both : both > ROUNDS / 2);
	r("none", ours ? none : none > ROUNDS / 2);
	if (none || both)
		fprintf(stderr,
			"# race.port_once: neither in %d rounds, both in %d\n",
			none, both);
	done(&l);
}

static void close_send(const struct api_case *c)
{
	struct link l = link_open(c->num);
	pthread_t t;
	int i;

	init(&l, 2);
	need(!pthread_create(&t, NULL, sender, NULL));
	for (i = 0; i < ROUNDS; i++) {
		shared.fd = sock();
		need(!do_bind(shared.fd, c->arg, 0));
		pthread_barrier_wait(&shared.gate);
		close(shared.fd);
		pthread_barrier_wait(&shared.gate);
	}
	pthread_join(t, NULL);
	done(&l);
}

static void *receiver(void *arg)
{
	long *n = arg;
	char b[16];

	for (;;) {
		struct rx x = rx_msg(shared.fd, b, sizeof(b), 64, 0);

		if (x.ret < 0 || x.ret == 2)
			return NULL;
		__atomic_add_fetch(n, 1, __ATOMIC_SEQ_CST);
	}
}

/* Four readers of one socket: each message goes to one of them. */
static void readers(const struct api_case *c)
{
	struct link l = link_open(c->num);
	pthread_t t[4];
	long n = 0;
	int i;

	init(&l, 2);
	shared.fd = l.rx;
	for (i = 0; i < 4; i++)
		need(!pthread_create(&t[i], NULL, receiver, &n));
	for (i = 0; i < 1000; i++)
		need(send_to(l.tx, &l.to, 1, 0) == 1);
	for (i = 0; i < 4; i++)
		need(send_to(l.tx, &l.to, 2, 0) == 2);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	r("each", n);
}

static void *binds(void *arg)
{
	char b[8];
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		int fd = sock_in(shared.to.sa.sa_family == AF_INET &&
				 shared.to.in.sin_addr.s_addr ==
				 addr_of(B4, 0).in.sin_addr.s_addr ? NS_B : NS_A);

		ALLOW(bind(fd, &shared.to.sa, addr_len(&shared.to)) ? -errno : 0, 0);
		/* The socket was found: it closes among further messages. */
		ALLOW(rx_msg(fd, b, sizeof(b), 0, 0).ret, 1);
		close(fd);
	}
	__atomic_store_n(&shared.stop, true, __ATOMIC_SEQ_CST);
	return NULL;
}

/*
 * Messages come for a port all the time, while sockets bind it, receive one and
 * close: they are looked up before, during and after that.
 */
static void bound_amid(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct rx x;
	pthread_t t;
	char b[8];

	init(&l, 2);
	close(l.rx);
	need(!pthread_create(&t, NULL, binds, NULL));
	while (!__atomic_load_n(&shared.stop, __ATOMIC_SEQ_CST))
		ALLOW(send_to(l.tx, &l.to, 1, MSG_DONTWAIT), 1, -EAGAIN,
		      -ENOBUFS);
	pthread_join(t, NULL);
	if (shared.bad)
		bail("unexpected answer %ld", shared.bad);
	x = rx_msg(l.tx, b, sizeof(b), 0, MSG_DONTWAIT);
	rx_note("recv", &x);
}

/* One of two readers of a message; one of them only peeks */
struct looker {
	int fd, flags, tid;
	long ret;
};

static void *look(void *arg)
{
	struct looker *k = arg;
	char b[16];

	__atomic_store_n(&k->tid, syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	k->ret = rx_msg(k->fd, b, sizeof(b), 0, k->flags).ret;
	return NULL;
}

static bool has_tid(void *arg)
{
	return __atomic_load_n(&((struct looker *)arg)->tid,
			       __ATOMIC_SEQ_CST) != 0;
}

/*
 * Blocked readers are woken one at a time: a reader that leaves the message
 * queued (MSG_PEEK) wakes the next.
 */
static void peek_wakes(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct looker k[2] = { { l.rx, MSG_PEEK }, { l.rx, 0 } };
	pthread_t t[2];
	int i;

	/* No timeout: a reader that is not woken never ends. */
	set_timeo(l.rx, SO_RCVTIMEO, 0);
	for (i = 0; i < 2; i++) {
		need(!pthread_create(&t[i], NULL, look, &k[i]));
		need(wait_true(has_tid, &k[i], 5000));
		until_blocked(k[i].tid);
	}
	need(send_to(l.tx, &l.to, 5, 0) == 5);
	pthread_join(t[1], NULL);
	r("recv", k[1].ret);
	/*
	 * In-tree wakes both readers, and the message may be received before
	 * the other reader peeks: send a second message for that reader.
	 */
	need(send_to(l.tx, &l.to, 5, 0) == 5);
	pthread_join(t[0], NULL);
	r("peek", k[0].ret);
}

static void *blaster(void *arg)
{
	char b[4];
	int i;

	(void)arg;
	for (i = 0; i < 300; i++) {
		ALLOW(send_to(shared.fd, &shared.to, i % 700, 0), i % 700);
		(void)b;
	}
	return NULL;
}

/* Four threads send over one socket at once: all messages arrive whole. */
static void writers(const struct api_case *c)
{
	struct link l = link_open(c->num);
	static char b[1024];
	pthread_t t[4];
	int i, bad = 0;

	init(&l, 2);
	shared.fd = l.tx;
	for (i = 0; i < 4; i++)
		need(!pthread_create(&t[i], NULL, blaster, NULL));
	for (i = 0; i < 1200; i++) {
		struct rx x = rx_msg(l.rx, b, sizeof(b), 0, 0);

		if (x.ret < 0)
			bail("message %d: %s", i, strerrorname_np(-x.ret));
		bad += x.ret > 299;
	}
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	r("bad", bad);
	done(&l);
}

static void *toggler(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; !__atomic_load_n(&shared.stop, __ATOMIC_SEQ_CST); i++) {
		need(!set_int(shared.fd, SOL_RDS, RDS_CONG_MONITOR, i & 1));
		need(!set_int(shared.fd, SOL_SOCKET, SO_TIMESTAMP, i & 1));
		need(!set_int(shared.fd, SOL_SOCKET, SO_ZEROCOPY, i & 1));
		poll_bits(shared.fd, POLLIN, 0);
	}
	return NULL;
}

/* Options change while messages come and the port congests and clears. */
static void options(const struct api_case *c)
{
	struct link l = link_open(c->num);
	static char b[2048];
	pthread_t t;
	int i;

	init(&l, 2);
	need(!set_int(l.rx, SOL_SOCKET, SO_RCVBUF, 1));
	shared.fd = l.tx;
	need(!pthread_create(&t, NULL, toggler, NULL));
	for (i = 0; i < 300; i++) {
		ALLOW(send_to(l.tx, &l.to, MIN_RCVBUF + 1, MSG_DONTWAIT), MIN_RCVBUF + 1, -ENOBUFS);
		while (rx_msg(l.rx, b, sizeof(b), 64, MSG_DONTWAIT).ret >= 0)
			;
	}
	__atomic_store_n(&shared.stop, true, __ATOMIC_SEQ_CST);
	pthread_join(t, NULL);
	while (rx_msg(l.tx, b, sizeof(b), 256, MSG_DONTWAIT).ret >= 0)
		;
	link_sync(&l);
	note("ok");
}

static void *hammer(void *arg)
{
	const struct link *l = arg;
	int i;

	for (i = 0; i < 400; i++)
		ALLOW(send_msg(l->tx, &l->to, "abcdefgh", 8, NULL, 0), 8);
	return NULL;
}

/* Senders sleep on congestion repeatedly; each sender is woken each time. */
static void sleepers(const struct api_case *c)
{
	struct link l = link_open(c->num);
	static char b[2048];
	pthread_t t[2];
	int i;

	init(&l, 2);
	need(!set_int(l.rx, SOL_SOCKET, SO_RCVBUF, 1));
	for (i = 0; i < 2; i++)
		need(!pthread_create(&t[i], NULL, hammer, &l));
	for (i = 0; i < 800; i++) {
		struct rx x = rx_msg(l.rx, b, sizeof(b), 0, 0);

		if (x.ret != 8)
			bail("message %d: %ld", i, x.ret);
	}
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	if (shared.bad)
		bail("unexpected answer %ld", shared.bad);
	note("ok");
}

/* Spin until the other thread is here: a wake-up would cost it the race. */
static void meet(unsigned int *here, unsigned int round)
{
	__atomic_add_fetch(here, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(here, __ATOMIC_SEQ_CST) < 2 * (round + 1))
		;
}

/* Send the first message to each of many addresses, at the same time. */
static void *first_sender(void *arg)
{
	static unsigned int here;
	union addr to = addr_of("127.0.1.0", 4000);
	int fd = *(int *)arg, i;

	for (i = 0; i < FIRSTS; i++) {
		meet(&here, i);
		ALLOW(send_msg(fd, &to, "x", 1, NULL, 0), 1);
		to.in.sin_addr.s_addr += htonl(1);
	}
	return NULL;
}

/*
 * Two sockets of one address send the first message to another at once: both
 * use one connection.
 */
static void one_connection(const struct api_case *c)
{
	int fd[2] = { bound(NS_A, c->arg, 0), bound(NS_A, c->arg, 0) };
	uint32_t base = ntohl(addr_of("127.0.1.0", 0).in.sin_addr.s_addr), at;
	int rows[FIRSTS] = { 0 }, none = 0, more = 0, i;
	struct snap s;
	pthread_t t;

	need(!pthread_create(&t, NULL, first_sender, &fd[1]));
	first_sender(&fd[0]);
	pthread_join(t, NULL);
	s = snap(fd[0], RDS_INFO_CONNECTIONS);
	for (i = 0; i < (int)s.n; i++) {
		memcpy(&at, s.p + i * s.ret + FADDR, sizeof(at));
		at = ntohl(at) - base;
		if (at < FIRSTS)
			rows[at]++;
	}
	for (i = 0; i < FIRSTS; i++) {
		none += !rows[i];
		more += rows[i] > 1;
	}
	r("none", none);
	r("more", more);
	if (shared.bad)
		bail("unexpected answer %ld", shared.bad);
}

const struct api_case race_cases[] = {
	{ "race.bind_send.tcp4.CVE-2015-7990", bind_send, "after=7", .num = TCP4 },
	{ "race.bind_send.self6", bind_send, "after=7", .num = SELF6 },
	{ "race.bind_send.lo4", bind_send, "after=7", .num = LO4 },
	{ "race.bad_bind_send.tcp4", bad_bind_send, "after=7", .num = TCP4 },
	{ "race.bind_bind", bind_bind, "unbound=0 both=0 after=7" },
	{ "race.port_once", port_once, "both=0 none=0 after=7" },
	{ "race.close_send.tcp4", close_send, "after=7", .num = TCP4, .arg = A4 },
	{ "race.close_send.lo6", close_send, "after=7", .num = LO6, .arg = "::1" },
	{ "race.bound_amid.tcp4", bound_amid, "recv=EAGAIN", .num = TCP4 },
	{ "race.bound_amid.self6", bound_amid, "recv=EAGAIN", .num = SELF6 },
	{ "race.bound_amid.lo4", bound_amid, "recv=EAGAIN", .num = LO4 },
	{ "race.readers.tcp4", readers, "each=1000", .num = TCP4 },
	{ "race.readers.lo4", readers, "each=1000", .num = LO4 },
	{ "race.peek_wakes.tcp4", peek_wakes, "recv=5 peek=5", .num = TCP4 },
	{ "race.peek_wakes.lo4", peek_wakes, "recv=5 peek=5", .num = LO4 },
	{ "race.writers.tcp4", writers, "bad=0 after=7", .num = TCP4 },
	{ "race.writers.self6", writers, "bad=0 after=7", .num = SELF6 },
	{ "race.one_connection", one_connection, "none=0 more=0", .arg = "127.0.0.1" },
	{ "race.options.tcp4", options, "ok", .num = TCP4 },
	{ "race.options.self4", options, "ok", .num = SELF4 },
	{ "race.sleepers.tcp4.CVE-2026-90081", sleepers, "ok", .num = TCP4 },
	{ "race.sleepers.self4", sleepers, "ok", .num = SELF4 },
	{ }
};
