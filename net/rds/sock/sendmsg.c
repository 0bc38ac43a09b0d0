// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* sendmsg.  The checks come in the order of protocol.rst 5.6. */
#include <net/ipv6.h>

#include "conn/conn.h"
#include "conn/reach.h"
#include "msg/message.h"
#include "netns.h"
#include "sock/addr.h"
#include "sock/calls.h"
#include "sock/zrecord.h"

/*
 * RDS raises no SIGPIPE in any case; each write(2) to a SOCK_SEQPACKET socket
 * has MSG_EOR.
 */
#define SEND_FLAGS	(MSG_DONTWAIT | MSG_ZEROCOPY | MSG_NOSIGNAL | \
			 MSG_EOR | MSG_CMSG_COMPAT)

/* The timeout is read only if a call has to wait, which most calls do not. */
#define TIMEO_UNKNOWN	(-1L)

/**
 * struct rds_send - state of one sendmsg
 * @rs: socket
 * @msg: message header of the sender
 * @len: payload bytes
 * @cmsgs: requests of the control messages
 * @path: addresses of the connection to the destination
 * @sport: RDS port of the sender, host order
 * @dport: RDS port of the receiver, host order
 * @conn: connection to the destination, counted
 * @reserved: the socket has a record reserved for this zero-copy send
 */
struct rds_send {
	struct rds_sock		*rs;
	struct msghdr		*msg;
	size_t			len;
	struct rds_send_cmsgs	cmsgs;
	struct rds_path_addr	path;
	u16			sport;
	u16			dport;
	struct rds_conn		*conn;
	bool			reserved;
};

/*
 * protocol.rst 5.6.2 to 5.6.4: take the destination from the name, or else from
 * connect.  Returns 1 for the name, 0 for connect, or an errno.
 */
static int send_name(struct rds_send *s, struct rds_sock_addr *to)
{
	struct rds_sock *rs = s->rs;
	struct msghdr *msg = s->msg;
	bool named = msg->msg_name && msg->msg_namelen;
	bool known = named;

	if (named) {
		if (msg->msg_namelen < (int)sizeof(struct sockaddr_in) ||
		    rds_addr_read(msg->msg_name, msg->msg_namelen, to) !=
			    RDS_ADDR_OK)
			return -EINVAL;
	} else {
		spin_lock(&rs->lock);
		known = rs->connected;
		to->addr = rs->dest;
		to->port = rs->dest_port;
		to->scope = rs->dest_scope;
		spin_unlock(&rs->lock);
	}
	s->sport = be16_to_cpu(rds_sock_port(rs));
	if (!s->sport || !known)
		return -ENOTCONN;
	return named;
}

/* protocol.rst 5.6.2 to 5.6.6 */
static int send_dest(struct rds_send *s)
{
	struct rds_sock *rs = s->rs;
	struct rds_sock_addr to;
	int named = send_name(s, &to);

	if (named < 0)
		return named;
	if (ipv6_addr_v4mapped(&to.addr) != ipv6_addr_v4mapped(&rs->bound_addr))
		return -EOPNOTSUPP;
	if (named && to.scope && rs->bound_scope && to.scope != rs->bound_scope)
		return -EINVAL;
	s->dport = be16_to_cpu(to.port);
	s->path.laddr = rs->bound_addr;
	s->path.faddr = to.addr;
	s->path.ifindex = to.scope ? to.scope : rs->bound_scope;
	s->path.tos = READ_ONCE(rs->tos);
	return 0;
}

/* protocol.rst 5.6.7 to 5.6.12 */
static int send_check(struct rds_send *s)
{
	struct msghdr *msg = s->msg;
	int err = 0;

	s->cmsgs.zcopy = (msg->msg_flags & MSG_ZEROCOPY) &&
			 sock_flag(&s->rs->sk, SOCK_ZEROCOPY);
	if (msg->msg_controllen)
		err = rds_cmsg_measure(msg, &s->cmsgs);
	if (err)
		return err;
	if (s->len > RDS_MAX_MSG_SIZE || s->cmsgs.rdma_bytes > RDS_MAX_MSG_SIZE)
		return -EMSGSIZE;
	if (s->len > rds_sock_sndbuf(s->rs))
		return -EMSGSIZE;
	if (s->cmsgs.zcopy && !(s->rs->trans->caps & RDS_CAP_ZCOPY_TX))
		return -EOPNOTSUPP;
	if (msg->msg_controllen || msg->msg_flags & MSG_ZEROCOPY)
		err = rds_cmsg_check(msg, &s->cmsgs);
	return err;
}

/*
 * Get the connection.  The connection of the previous message, which the socket
 * caches, fits most messages.  The context that takes it out of the socket owns
 * its reference, so that the common case changes no counter that sockets share.
 */
static struct rds_conn *send_conn(struct rds_send *s)
{
	struct rds_sock *rs = s->rs;
	struct rds_conn *conn = xchg(&rs->conn, NULL);

	if (conn) {
		if (rds_conn_matches(conn, &s->path))
			return conn;
		rds_conn_put(conn);
	}
	if (!READ_ONCE(rs->has_sent))
		WRITE_ONCE(rs->has_sent, true);
	return rds_conn_get(rs->rn, rs->trans, &s->path);
}

static void send_conn_done(struct rds_send *s)
{
	struct rds_conn *old = xchg(&s->rs->conn, s->conn);

	if (old)
		rds_conn_put(old);
}

/* protocol.rst 5.6.13 and 5.6.14 */
static struct rds_message *send_message(struct rds_send *s)
{
	struct rds_sock *rs = s->rs;
	struct rds_message *m;

	if (likely(!s->cmsgs.zcopy || !s->len)) {
		m = rds_message_copy(&rs->tx_pages, &s->msg->msg_iter, s->sport,
				     s->dport, GFP_KERNEL_ACCOUNT);
		if (!IS_ERR(m))
			rds_stats_add(rs->rn, copy_from_user, s->len);
		return m;
	}
	if (!rds_sock_zcopy_reserve(rs))
		return ERR_PTR(-ENOMEM);
	s->reserved = true;
	return rds_message_zcopy(&rs->tx_pages, &s->msg->msg_iter, s->sport,
				 s->dport, s->cmsgs.cookie);
}

/*
 * Rest of the time that this call may wait for port and room, in jiffies; 0 if
 * it may not wait.
 */
static long send_timeo(const struct rds_send *s, long timeo)
{
	if (timeo != TIMEO_UNKNOWN)
		return timeo;
	return sock_sndtimeo(&s->rs->sk, s->msg->msg_flags & MSG_DONTWAIT);
}

/* protocol.rst 5.6.19, for a port that is congested */
static int send_congested(struct rds_send *s, long *timeo)
{
	struct rds_sock *rs = s->rs;

	*timeo = send_timeo(s, *timeo);
	if (*timeo) {
		rds_stats_inc(rs->rn, cong_send_blocked);
		return rds_cong_sleep(s->conn->fmap, s->dport, timeo);
	}
	WRITE_ONCE(rs->cong_refused, true);
	rds_sock_cong_wait(rs, s->dport);
	/*
	 * The port may have become free before rds_sock_cong_wait() asked for
	 * the report.
	 */
	if (!rds_cong_test(s->conn->fmap, s->dport))
		return 0;
	rds_stats_inc(rs->rn, cong_send_error);
	return -ENOBUFS;
}

/* protocol.rst 5.6.20 */
static int send_admit(struct rds_send *s, long timeo)
{
	struct rds_sock *rs = s->rs;

	if (likely(rds_sock_charge(rs, s->len)))
		return 0;
	rds_stats_inc(rs->rn, send_queue_full);
	timeo = send_timeo(s, timeo);
	if (timeo)
		return rds_sock_charge_wait(rs, s->len, timeo);
	if (rds_sock_want_room(rs) && rds_sock_charge(rs, s->len))
		return 0;
	return -EAGAIN;
}

/*
 * A message of a socket with RDS_PEER_TIMEOUT is queued.  If the connection was
 * forgotten meanwhile the message is at the one in its place.
 */
static void send_watched(const struct rds_send *s)
{
	struct rds_conn *conn = s->conn;

	if (likely(!READ_ONCE(conn->dead))) {
		rds_reach_queued(conn, s->rs);
		return;
	}
	conn = rds_conn_get(s->rs->rn, s->rs->trans, &s->path);
	if (IS_ERR(conn))
		return;
	rds_reach_queued(conn, s->rs);
	rds_conn_put(conn);
}

/*
 * protocol.rst 5.6.16 to 5.6.22, with a connection.  Takes ownership of @m,
 * also if it fails.
 */
static int send_on(struct rds_send *s, struct rds_message *m)
{
	long timeo = TIMEO_UNKNOWN;
	int err = 0;

	if (unlikely(READ_ONCE(s->rs->peer_timeout)))
		err = rds_reach_admit(s->conn, s->rs);
	if (!err && s->msg->msg_controllen)
		err = rds_cmsg_apply(s->rs, s->conn->trans, s->msg, &s->cmsgs,
				     s->len);
	if (!err && unlikely(rds_cong_test(s->conn->fmap, s->dport)))
		err = send_congested(s, &timeo);
	if (!err)
		err = send_admit(s, timeo);
	if (err) {
		rds_message_free(m);
		return err;
	}
	m->owner = s->rs;
	if (s->conn->trans->caps & RDS_CAP_OWNS_ACK)
		m->tx.want_ack = rds_sock_half_full(s->rs);
	if (unlikely(s->cmsgs.memory))
		rds_cmsg_attach(s->rs, &s->cmsgs, m);
	err = rds_conn_send(s->conn, m);
	if (err) {
		rds_sock_sent(s->rs, s->len, 1);
		rds_message_free(m);
		return err;
	}
	rds_stats_inc(s->rs->rn, send_queued);
	/* The option may have been set while this call waited. */
	if (unlikely(READ_ONCE(s->rs->peer_timeout)))
		send_watched(s);
	s->reserved = false;
	return 0;
}

/**
 * rds_sendmsg - sendmsg(2)
 * @sock: socket
 * @msg: message header of the sender
 * @len: payload bytes
 *
 * Return: @len, or the errno of the first row of protocol.rst 5.6 that applies.
 */
int rds_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct rds_send s = { .rs = rds_sk(sock->sk), .msg = msg, .len = len };
	struct rds_message *m;
	int err;

	if (msg->msg_flags & ~SEND_FLAGS)
		return -EOPNOTSUPP;
	err = send_dest(&s);
	if (!err)
		err = send_check(&s);
	if (err)
		goto out;
	m = send_message(&s);
	if (IS_ERR(m)) {
		err = PTR_ERR(m);
		goto out;
	}
	s.conn = send_conn(&s);
	if (IS_ERR(s.conn)) {
		err = PTR_ERR(s.conn);
		rds_message_free(m);
		goto out;
	}
	err = send_on(&s, m);
	send_conn_done(&s);
out:
	if (unlikely(s.reserved))
		rds_sock_zcopy_unreserve(s.rs);
	if (unlikely(s.cmsgs.memory))
		rds_cmsg_end(s.rs, &s.cmsgs, err);
	return err ? err : len;
}
