// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Records of RDS_INFO_* about connections, messages and sockets.  Each kind has
 * two layouts: the first for IPv4 only, the second for IPv6 and IPv4, which is
 * shown as v4-mapped.
 */
#include <linux/cred.h>
#include <linux/rds.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <net/rds/access.h>
#include <net/rds/transport.h>

#include "conn/conn.h"
#include "ctl/internal.h"
#include "msg/incoming.h"
#include "msg/message.h"
#include "netns.h"
#include "sock/rcvq.h"
#include "sock/state.h"
#include "sock/table.h"

static_assert(sizeof(struct rds_info_connection) == 42);
static_assert(sizeof(struct rds6_info_connection) == 65);
static_assert(sizeof(struct rds_info_message) == 26);
static_assert(sizeof(struct rds6_info_message) == 50);
static_assert(sizeof(struct rds_info_socket) == 28);
static_assert(sizeof(struct rds6_info_socket) == 52);

/*
 * State of a dump; conn or rs is the object whose messages are dumped.  Unless
 * all, the sockets of uid and their messages are dumped, and no others.
 */
struct dump {
	struct rds_info_sink	*sink;
	bool			v6;
	bool			started;
	bool			all;
	kuid_t			uid;
	const struct rds_conn	*conn;
	const struct rds_sock	*rs;
};

static struct dump dump_begin(struct net *net, struct rds_info_sink *sink,
			      bool v6)
{
	return (struct dump){
		.sink	= sink,
		.v6	= v6,
		.all	= rds_access_sees_all(net),
		.uid	= current_euid(),
	};
}

/* May the process see the socket, and what it sends and receives? */
static bool dump_may_see(const struct dump *d, const struct rds_sock *rs)
{
	return d->all ||
	       (rs && uid_eq(READ_ONCE(rs->sk.sk_uid), d->uid));
}

static bool dump_shows(const struct dump *d, const struct in6_addr *addr)
{
	return d->v6 || ipv6_addr_v4mapped(addr);
}

static __be32 addr4(const struct in6_addr *addr)
{
	return addr->s6_addr32[3];
}

static void dump_conn(struct rds_conn *conn, void *arg)
{
	struct rds_conn_info info;
	struct dump *d = arg;

	if (!dump_shows(d, &conn->addr.faddr))
		return;
	rds_conn_info(conn, &info);
	if (d->v6) {
		struct rds6_info_connection r = {
			.next_tx_seq	= info.next_tx_seq,
			.next_rx_seq	= info.next_rx_seq,
			.laddr		= conn->addr.laddr,
			.faddr		= conn->addr.faddr,
			.flags		= info.flags,
		};

		strscpy_pad(r.transport, conn->trans->name,
			    sizeof(r.transport));
		rds_info_put(d->sink, &r);
	} else {
		struct rds_info_connection r = {
			.next_tx_seq	= info.next_tx_seq,
			.next_rx_seq	= info.next_rx_seq,
			.laddr		= addr4(&conn->addr.laddr),
			.faddr		= addr4(&conn->addr.faddr),
			.flags		= info.flags,
			.tos		= conn->addr.tos,
		};

		strscpy_pad(r.transport, conn->trans->name,
			    sizeof(r.transport));
		rds_info_put(d->sink, &r);
	}
}

/* Emit a message, given as a record for IPv6, in the layout of the dump. */
static void dump_message(struct dump *d, const struct rds6_info_message *m)
{
	struct rds_info_message r = {
		.seq	= m->seq,
		.len	= m->len,
		.laddr	= addr4(&m->laddr),
		.faddr	= addr4(&m->faddr),
		.lport	= m->lport,
		.fport	= m->fport,
		.tos	= m->tos,
	};

	if (d->v6)
		rds_info_put(d->sink, m);
	else
		rds_info_put(d->sink, &r);
}

static void dump_sent(const struct rds_message *m, void *arg)
{
	struct dump *d = arg;
	struct rds6_info_message r = {
		.seq	= m->seq,
		.len	= m->len,
		.laddr	= d->conn->addr.laddr,
		.faddr	= d->conn->addr.faddr,
		.lport	= m->tx.hdr->sport,
		.fport	= m->tx.hdr->dport,
		.tos	= d->conn->addr.tos,
	};

	if (!(m->flags & (RDS_MSG_ONCE | RDS_MSG_CANCELLED)) &&
	    dump_may_see(d, m->owner))
		dump_message(d, &r);
}

static void dump_conn_messages(struct rds_conn *conn, void *arg)
{
	struct dump *d = arg;

	if (!dump_shows(d, &conn->addr.faddr))
		return;
	d->conn = conn;
	rds_conn_visit_messages(conn, d->started, dump_sent, d);
}

static void dump_received(const struct rds_incoming *inc, void *arg)
{
	struct dump *d = arg;
	struct rds6_info_message r = {
		.seq	= inc->seq,
		.len	= inc->len,
		.laddr	= d->rs->bound_addr,
		.faddr	= inc->saddr,
		.lport	= inc->dport,
		.fport	= inc->sport,
	};

	dump_message(d, &r);
}

static void dump_sock_messages(struct rds_sock *rs, void *arg)
{
	struct dump *d = arg;

	if (!rds_sock_port(rs) || !dump_shows(d, &rs->bound_addr) ||
	    !dump_may_see(d, rs))
		return;
	d->rs = rs;
	rds_sock_visit_rx(rs, dump_received, d);
}

static void dump_sock4(struct dump *d, const struct rds6_info_socket *s)
{
	struct rds_info_socket r = {
		.sndbuf		= s->sndbuf,
		.bound_addr	= addr4(&s->bound_addr),
		.connected_addr	= addr4(&s->connected_addr),
		.bound_port	= s->bound_port,
		.connected_port	= s->connected_port,
		.rcvbuf		= s->rcvbuf,
		.inum		= s->inum,
	};

	rds_info_put(d->sink, &r);
}

static void dump_sock(struct rds_sock *rs, void *arg)
{
	struct rds6_info_socket r = {
		.sndbuf	= rds_sock_sndbuf(rs),
		.rcvbuf	= rds_sock_rcvbuf(rs),
		.inum	= sock_i_ino(&rs->sk),
	};
	struct dump *d = arg;

	if (!dump_may_see(d, rs))
		return;
	r.bound_port = rds_sock_port(rs);
	if (r.bound_port)
		r.bound_addr = rs->bound_addr;
	spin_lock(&rs->lock);
	if (rs->connected) {
		r.connected_addr = rs->dest;
		r.connected_port = rs->dest_port;
	}
	spin_unlock(&rs->lock);
	if (d->v6)
		rds_info_put(d->sink, &r);
	else if (r.bound_port && ipv6_addr_v4mapped(&r.bound_addr))
		dump_sock4(d, &r);
}

static void info_conns(struct net *net, struct rds_info_sink *sink)
{
	struct dump d = dump_begin(net, sink, false);

	rds_conn_visit(rds_net(net), dump_conn, &d);
}

static void info6_conns(struct net *net, struct rds_info_sink *sink)
{
	struct dump d = dump_begin(net, sink, true);

	rds_conn_visit(rds_net(net), dump_conn, &d);
}

static void info_send(struct net *net, struct rds_info_sink *sink)
{
	struct dump d = dump_begin(net, sink, false);

	rds_conn_visit(rds_net(net), dump_conn_messages, &d);
}

static void info6_send(struct net *net, struct rds_info_sink *sink)
{
	struct dump d = dump_begin(net, sink, true);

	rds_conn_visit(rds_net(net), dump_conn_messages, &d);
}

static void info_retrans(struct net *net, struct rds_info_sink *sink)
{
	struct dump d = dump_begin(net, sink, false);

	d.started = true;
	rds_conn_visit(rds_net(net), dump_conn_messages, &d);
}

static void info6_retrans(struct net *net, struct rds_info_sink *sink)
{
	struct dump d = dump_begin(net, sink, true);

	d.started = true;
	rds_conn_visit(rds_net(net), dump_conn_messages, &d);
}

static void info_recv(struct net *net, struct rds_info_sink *sink)
{
	struct dump d = dump_begin(net, sink, false);

	rds_sock_visit(rds_net(net), dump_sock_messages, &d);
}

static void info6_recv(struct net *net, struct rds_info_sink *sink)
{
	struct dump d = dump_begin(net, sink, true);

	rds_sock_visit(rds_net(net), dump_sock_messages, &d);
}

static void info_socks(struct net *net, struct rds_info_sink *sink)
{
	struct dump d = dump_begin(net, sink, false);

	rds_sock_visit(rds_net(net), dump_sock, &d);
}

static void info6_socks(struct net *net, struct rds_info_sink *sink)
{
	struct dump d = dump_begin(net, sink, true);

	rds_sock_visit(rds_net(net), dump_sock, &d);
}

static const struct {
	int		optname;
	size_t		size;
	rds_info_fn	fn;
} dumps[] = {
	{ RDS_INFO_CONNECTIONS, sizeof(struct rds_info_connection),
	  info_conns },
	{ RDS_INFO_SEND_MESSAGES, sizeof(struct rds_info_message), info_send },
	{ RDS_INFO_RETRANS_MESSAGES, sizeof(struct rds_info_message),
	  info_retrans },
	{ RDS_INFO_RECV_MESSAGES, sizeof(struct rds_info_message), info_recv },
	{ RDS_INFO_SOCKETS, sizeof(struct rds_info_socket), info_socks },
#if IS_ENABLED(CONFIG_IPV6)
	{ RDS6_INFO_CONNECTIONS, sizeof(struct rds6_info_connection),
	  info6_conns },
	{ RDS6_INFO_SEND_MESSAGES, sizeof(struct rds6_info_message),
	  info6_send },
	{ RDS6_INFO_RETRANS_MESSAGES, sizeof(struct rds6_info_message),
	  info6_retrans },
	{ RDS6_INFO_RECV_MESSAGES, sizeof(struct rds6_info_message),
	  info6_recv },
	{ RDS6_INFO_SOCKETS, sizeof(struct rds6_info_socket), info6_socks },
#endif
};

/**
 * rds_info_dump_init - register the dumps of the core
 */
void rds_info_dump_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(dumps); i++)
		rds_info_register(dumps[i].optname, dumps[i].size, dumps[i].fn);
}

/**
 * rds_info_dump_exit - unregister the dumps of the core
 */
void rds_info_dump_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(dumps); i++)
		rds_info_unregister(dumps[i].optname);
}
