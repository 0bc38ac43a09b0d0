// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Contents of the RDS_INFO_* records, read at the offsets of in-tree's ABI. */
#include "api.h"

#include <arpa/inet.h>
#include <sys/stat.h>

static const char nothing[64];

static uint16_t be16_at(const char *p, int off)
{
	uint16_t v;

	memcpy(&v, p + off, 2);
	return ntohs(v);
}

static uint32_t u32_at(const char *p, int off)
{
	uint32_t v;

	memcpy(&v, p + off, 4);
	return v;
}

static uint64_t u64_at(const char *p, int off)
{
	uint64_t v;

	memcpy(&v, p + off, 8);
	return v;
}

static const void *ip_of(const union addr *a, bool six)
{
	static unsigned char m[2][16];
	static int turn;
	unsigned char *p = m[turn ^= 1];

	if (!six)
		return &a->in.sin_addr;
	if (a->sa.sa_family == AF_INET6)
		return &a->in6.sin6_addr;
	memset(p, 0, 10);
	memset(p + 10, 0xff, 2);
	memcpy(p + 12, &a->in.sin_addr, 4);
	return p;
}

/*
 * The last record of a dump with address @a1 at offset @off1 and @a2 at @off2,
 * or NULL; @count gets the number of such records.
 */
static char *find(struct snap *s, int off1, const union addr *a1, int off2,
		  const union addr *a2, bool six, int *count)
{
	int len = six ? 16 : 4;
	char *hit = NULL;
	unsigned int i;

	*count = 0;
	for (i = 0; i < s->n; i++) {
		char *p = s->p + i * s->ret;

		if (memcmp(p + off1, ip_of(a1, six), len) ||
		    memcmp(p + off2, ip_of(a2, six), len))
			continue;
		hit = p;
		++*count;
	}
	return hit;
}

static void connections(const struct api_case *c)
{
	bool six = c->num2;
	struct link l = link_open(c->num);
	struct snap s;
	uint64_t tx, rx;
	int n, tr = six ? 48 : 24;
	char *p;

	need(send_to(l.tx, &l.to, 4, 0) == 4);
	link_sync(&l);
	s = snap(l.tx, six ? RDS6_INFO_CONNECTIONS : RDS_INFO_CONNECTIONS);
	r("size", s.ret);
	p = find(&s, 16, &l.from, six ? 32 : 20, &l.to, six, &n);
	r("records", n);
	if (!p)
		return;
	tx = u64_at(p, 0);
	rx = u64_at(p, 8);
	note("transport=%.16s", p + tr);
	r("padded",
	  !memcmp(p + tr + strlen(p + tr), nothing, 16 - strlen(p + tr)));
	/* Another context may be transmitting: ignore the flag. */
	r("flags", p[six ? 64 : 40] & ~RDS_INFO_CONNECTION_FLAG_SENDING);
	if (!six)
		r("tos", p[41]);
	need(send_to(l.tx, &l.to, 4, 0) == 4);
	link_sync(&l);
	s = snap(l.tx, six ? RDS6_INFO_CONNECTIONS : RDS_INFO_CONNECTIONS);
	p = find(&s, 16, &l.from, six ? 32 : 20, &l.to, six, &n);
	r("tx", u64_at(p, 0) - tx);
	r("rx", u64_at(p, 8) - rx);
}

/* Dumps have records of the socket's own namespace only. */
static void foreign(const struct api_case *c)
{
	struct link l = link_open(TCP4), m = link_open(TCP6);
	struct snap s;
	int n;

	(void)c;
	need(send_to(l.tx, &l.to, 4, 0) == 4);
	need(send_to(m.tx, &m.to, 4, 0) == 4);
	link_sync(&l);
	link_sync(&m);
	s = snap(l.tx, RDS6_INFO_CONNECTIONS);
	find(&s, 16, &l.to, 32, &l.from, true, &n);
	r("peer4", n);
	find(&s, 16, &m.to, 32, &m.from, true, &n);
	r("peer6", n);
	find(&s, 16, &m.from, 32, &m.to, true, &n);
	r("own6", n);
	s = snap(l.rx, RDS6_INFO_CONNECTIONS);
	find(&s, 16, &l.to, 32, &l.from, true, &n);
	r("b_own4", n);
	find(&s, 16, &l.from, 32, &l.to, true, &n);
	r("b_peer4", n);
	s = snap(sock_in(NS_INIT), RDS6_INFO_CONNECTIONS);
	r("init", s.n);
	s = snap(sock_in(NS_INIT), RDS6_INFO_SOCKETS);
	r("init_sockets", s.n);
	s = snap(sock_in(NS_INIT), RDS6_INFO_TCP_SOCKETS);
	r("init_tcp", s.n);
	s = snap(l.rx, RDS_INFO_RECV_MESSAGES);
	r("b_recv", s.n);
	s = snap(l.tx, RDS_INFO_RECV_MESSAGES);
	r("a_recv", s.n);
}

static void message_record(const struct api_case *c, int opt, int opt6, int fd,
			   const union addr *l, const union addr *f)
{
	bool six = c->num2;
	struct snap s = snap(fd, six ? opt6 : opt);
	int a = six ? 16 : 4, n, i, mine = 0;
	char *p = NULL;

	r("size", s.ret);
	find(&s, 12, l, 12 + a, f, six, &n);
	r("records", n);
	for (i = 0; i < (int)s.n; i++) {
		char *q = s.p + i * s.ret;

		if (be16_at(q, 12 + 2 * a) != addr_port(l) ||
		    be16_at(q, 14 + 2 * a) != addr_port(f))
			continue;
		p = p ? p : q;
		mine++;
	}
	r("mine", mine);
	if (!p)
		return;
	r("len", u32_at(p, 8));
	r("flags", p[16 + 2 * a]);
	r("tos", p[17 + 2 * a]);
	if (mine > 1)
		r("seq", u64_at(p + s.ret, 0) - u64_at(p, 0));
}

static void recv_messages(const struct api_case *c)
{
	struct link l = link_open(c->num);

	need(send_to(l.tx, &l.to, 77, 0) == 77);
	need(send_to(l.tx, &l.to, 78, 0) == 78);
	link_sync(&l);
	message_record(c, RDS_INFO_RECV_MESSAGES, RDS6_INFO_RECV_MESSAGES, l.rx,
		       &l.to, &l.from);
}

/* No connection to an absent host comes up: all messages wait unsent. */
static void send_messages(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0);
	union addr me = name_of(fd), to = addr_of(HOLE4, 4000);

	need(send_to(fd, &to, 77, MSG_DONTWAIT) == 77);
	need(send_to(fd, &to, 78, MSG_DONTWAIT) == 78);
	message_record(c, RDS_INFO_SEND_MESSAGES, RDS6_INFO_SEND_MESSAGES, fd,
		       &me, &to);
	message_record(c, RDS_INFO_RETRANS_MESSAGES, RDS6_INFO_RETRANS_MESSAGES,
		       fd, &me, &to);
}

static uint64_t inode(int fd)
{
	struct stat st;

	need(!fstat(fd, &st));
	return st.st_ino;
}

static char *socket_record(struct snap *s, int fd, int off)
{
	unsigned int i;

	for (i = 0; i < s->n; i++)
		if (u64_at(s->p + i * s->ret, off) == inode(fd))
			return s->p + i * s->ret;
	return NULL;
}

static void sockets(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0), un = sock(), six = bound(NS_A, A6, 0);
	struct snap s;
	union addr to = addr_of(B4, 4711), me = name_of(fd);
	char *p;

	(void)c;
	need(!do_connect(fd, B4, 4711));
	need(!set_int(fd, SOL_SOCKET, SO_SNDBUF, 30000));
	need(!set_int(fd, SOL_SOCKET, SO_RCVBUF, 20000));
	s = snap(fd, RDS_INFO_SOCKETS);
	r("size", s.ret);
	r("unbound", !!socket_record(&s, un, 20));
	r("v6", !!socket_record(&s, six, 20));
	p = socket_record(&s, fd, 20);
	if (!p)
		bail("bound socket not listed");
	r("sndbuf", u32_at(p, 0));
	r("addr", !memcmp(p + 4, &me.in.sin_addr, 4) &&
			  !memcmp(p + 8, &to.in.sin_addr, 4));
	r("ports", be16_at(p, 12) == addr_port(&me) && be16_at(p, 14) == 4711);
	r("rcvbuf", u32_at(p, 16));
}

static void sockets6(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0), un = sock(), six = bound(NS_A, A6, 0);
	struct snap s;
	union addr to = addr_of(B6, 4711), me = name_of(six), me4 = name_of(fd);
	char *p;

	(void)c;
	need(!do_connect(six, B6, 4711));
	s = snap(fd, RDS6_INFO_SOCKETS);
	r("size", s.ret);
	p = socket_record(&s, un, 44);
	r("unbound", p && !memcmp(p + 4, nothing, 36));
	p = socket_record(&s, fd, 44);
	r("mapped", p && !memcmp(p + 4, ip_of(&me4, true), 16));
	p = socket_record(&s, six, 44);
	if (!p)
		bail("bound socket not listed");
	r("sndbuf", u32_at(p, 0));
	r("addr", !memcmp(p + 4, &me.in6.sin6_addr, 16) &&
			  !memcmp(p + 20, &to.in6.sin6_addr, 16));
	r("ports", be16_at(p, 36) == addr_port(&me) && be16_at(p, 38) == 4711);
	r("rcvbuf", u32_at(p, 40));
}

/* What tcp_acked() looks at, and the last it has seen: @rec is NULL for none. */
struct tcp_look {
	const struct link *l;
	bool six;
	struct snap s;
	char *rec;
	int n;
};

/*
 * Whether TCP has acknowledged all bytes of the link's connection.  The header
 * with which RDS acknowledges messages may follow the last message.
 */
static bool tcp_acked(void *arg)
{
	struct tcp_look *k = arg;
	int alen = k->six ? 16 : 4;
	const char *p;

	snap_free(&k->s);
	k->s = snap(k->l->tx, k->six ? RDS6_INFO_TCP_SOCKETS :
				       RDS_INFO_TCP_SOCKETS);
	k->rec = find(&k->s, 0, &k->l->from, alen + 2, &k->l->to, k->six,
		      &k->n);
	if (!k->rec)
		return false;
	p = k->rec + 2 * alen + 4;
	return u32_at(p, 24) == u32_at(p, 20);
}

static void tcp_sockets(const struct api_case *c)
{
	bool six = c->num2;
	int alen = six ? 16 : 4;
	struct link l = link_open(c->num);
	struct tcp_look k = { .l = &l, .six = six };
	char *p;

	need(send_to(l.tx, &l.to, 5, 0) == 5);
	link_sync(&l);
	wait_true(tcp_acked, &k, 2000);
	r("size", k.s.ret);
	r("some", k.n >= 1 && k.n <= 8);
	p = k.rec;
	if (!p)
		return;
	r("port", be16_at(p, 2 * alen + 2));
	r("local", be16_at(p, alen) != 16385);
	p += 2 * alen + 4;
	r("hdr_rem", u64_at(p, 0));
	r("data_rem", u64_at(p, 8));
	r("una", u32_at(p, 24) - u32_at(p, 20));
	if (!six)
		r("tos", p[28]);
}

/* The numbers of TCP in the record of a link's connection; or 0 in all */
static bool tcp_numbers(int fd, const struct link *l, bool six)
{
	struct snap s = snap(fd, six ? RDS6_INFO_TCP_SOCKETS :
				       RDS_INFO_TCP_SOCKETS);
	int alen = six ? 16 : 4, n;
	char *p = find(&s, 0, &l->from, alen + 2, &l->to, six, &n);

	need(p);
	p += 2 * alen + 4;
	return u32_at(p, 16) || u32_at(p, 20) || u32_at(p, 24);
}

/* Number of records of each kind about sockets */
static void count_dumps(int fd)
{
	static const struct {
		const char *name;
		int v4, v6;
	} kinds[] = {
		{ "sockets", RDS_INFO_SOCKETS, RDS6_INFO_SOCKETS },
		{ "recv", RDS_INFO_RECV_MESSAGES, RDS6_INFO_RECV_MESSAGES },
		{ "send", RDS_INFO_SEND_MESSAGES, RDS6_INFO_SEND_MESSAGES },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct snap s = snap(fd, kinds[i].v4);

		note("%s=%u", kinds[i].name, s.n);
		snap_free(&s);
		s = snap(fd, kinds[i].v6);
		note("%u", s.n);
		snap_free(&s);
	}
}

/* One message waits to be read, and one for an absent host. */
static void fill_dumps(void)
{
	int fd = bound(NS_A, A4, 0);
	union addr me = name_of(fd), to = addr_of(HOLE4, 4000);

	need(send_to(fd, &me, 3, MSG_DONTWAIT) == 3);
	need(send_to(fd, &to, 4, MSG_DONTWAIT) == 4);
}

/* What root made, and then what a user made, as the user sees it */
static void others(const struct api_case *c)
{
	struct link l = link_open(TCP4);
	struct tcp_look k = { .l = &l };
	struct snap s;

	(void)c;
	need(send_to(l.tx, &l.to, 5, 0) == 5);
	need(wait_true(tcp_acked, &k, 2000));
	fill_dumps();
	r("numbers", tcp_numbers(l.tx, &l, false));
	r("numbers6", tcp_numbers(l.tx, &l, true));
	need(!other_user());
	count_dumps(l.tx);
	r("numbers", tcp_numbers(l.tx, &l, false));
	r("numbers6", tcp_numbers(l.tx, &l, true));
	s = snap(l.tx, RDS_INFO_CONNECTIONS);
	r("connections", s.n > 0);
	fill_dumps();
	count_dumps(l.tx);
}

#define CONN(t) "size=42 records=1 transport=" t " padded=1 flags=4 tos=0"
#define CONN6(t) "size=65 records=1 transport=" t " padded=1 flags=4"
#define TCPS "some=1 port=16385 local=1 hdr_rem=48 data_rem=0 una=0"
#define RECV "records=2 mine=2 len=77 flags=0 tos=0 seq=1"
#define QUEUED "records=2 mine=2 len=77 flags=0 tos=0 seq=1"

const struct api_case records_cases[] = {
	{ "records.connections.tcp4", connections, CONN("tcp") " tx=2 rx=1", .num = TCP4 },
	{ "records.connections.tcp4_in_6", connections, CONN6("tcp") " tx=2 rx=1", .num = TCP4,
	  .num2 = 1 },
	{ "records.connections.tcp6_in_6", connections, CONN6("tcp") " tx=2 rx=1", .num = TCP6,
	  .num2 = 1 },
	{ "records.connections.self4", connections, CONN("loopback") " tx=2 rx=2", .num = SELF4 },
	{ "records.connections.lo6", connections, CONN6("loopback") " tx=1 rx=1", .num = LO6, .num2
	  = 1 },
	{ "records.namespaces", foreign, "peer4=0 peer6=0 own6=1 b_own4=1 b_peer4=0 init=0 "
	  "init_sockets=2 init_tcp=0 b_recv=1 a_recv=0" },
	{ "records.recv.tcp4.CVE-2016-5244", recv_messages, "size=26 " RECV, .num = TCP4 },
	{ "records.recv.tcp4_in_6", recv_messages, "size=50 " RECV, .num = TCP4, .num2 = 1 },
	{ "records.recv.tcp6.CVE-2019-16714", recv_messages, "size=50 " RECV, .num = TCP6,
	  .num2 = 1 },
	{ "records.recv.self4", recv_messages, "size=26 " RECV, .num = SELF4 },
	{ "records.recv.lo6", recv_messages, "size=50 " RECV, .num = LO6, .num2 = 1 },
	/* In-tree 6.12 shows zero addresses of waiting messages (IPv4 dump). */
	{ "records.send", send_messages,
	  "size=26 records=0 mine=2 len=77 flags=0 tos=0 seq=1 size=26 records=0 mine=0",
	  "size=26 " QUEUED " size=26 records=0 mine=0" },
	{ "records.send_in_6", send_messages, "size=50 " QUEUED " size=50 records=0 mine=0",
	  .num2 = 1 },
	{ "records.sockets", sockets, "size=28 unbound=0 v6=0 sndbuf=30000 addr=1 ports=1 "
	  "rcvbuf=20000" },
	{ "records.sockets6", sockets6, "size=52 unbound=1 mapped=1 sndbuf=106496 addr=1 ports=1 "
	  "rcvbuf=106496" },
	{ "records.others", others, "numbers=1 numbers6=1 sockets=0 0 recv=0 0 send=0 0 numbers=0 "
	  "numbers6=0 connections=1 sockets=1 1 recv=1 1 send=1 1", .flags = C_OURS | C_ROOT },
	{ "records.tcp.tcp4", tcp_sockets, "size=41 " TCPS " tos=0", .num = TCP4 },
	{ "records.tcp.tcp6", tcp_sockets, "size=64 " TCPS, .num = TCP6, .num2 = 1 },
	{ "records.tcp.tcp4_in_6", tcp_sockets, "size=64 " TCPS, .num = TCP4, .num2 = 1 },
	{ }
};
