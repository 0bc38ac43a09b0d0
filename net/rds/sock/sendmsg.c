// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sendmsg.  The order of the checks is that of section 5.6 of the wire document; the numbers in
 * comments are its rows.
 */
#include <net/ipv6.h>

#include "conn/conn.h"
#include "msg/message.h"
#include "netns.h"
#include "sock/addr.h"
#include "sock/sock.h"

/* NOSIGNAL is what RDS does anyway, EOR what every write(2) to a socket of packets carries. */
#define SEND_FLAGS	(MSG_DONTWAIT | MSG_ZEROCOPY | MSG_NOSIGNAL | MSG_EOR | MSG_CMSG_COMPAT)

/**
 * struct rds_send - one sendmsg under way
 * @rs: socket
 * @msg: what the program gave
 * @len: payload
 * @req: what its control messages ask for
 * @path: where to
 * @sport: host order
 * @dport: host order
 * @conn: connection there, counted
 * @reserved: a record for the completion of zero-copy is reserved
 */
struct rds_send {
	struct rds_sock		*rs;
	struct msghdr		*msg;
	size_t			len;
	struct rds_send_req	req;
	struct rds_path_addr	path;
	u16			sport;
	u16			dport;
	struct rds_conn		*conn;
	bool			reserved;
};

/* Rows 2 to 4: the name, or else what connect left.  Returns 1 for an explicit name. */
static int send_name(struct rds_send *s, struct rds_endpoint_addr *to)
{
	struct rds_sock *rs = s->rs;
	struct msghdr *msg = s->msg;
	bool named = msg->msg_name && msg->msg_namelen;
	bool known = named;

	if (named) {
		if (msg->msg_namelen < (int)sizeof(struct sockaddr_in) ||
		    rds_addr_read(msg->msg_name, msg->msg_namelen, to) != RDS_ADDR_OK)
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

/* Rows 2 to 6 */
static int send_dest(struct rds_send *s)
{
	struct rds_sock *rs = s->rs;
	struct rds_endpoint_addr to;
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

/* Rows 7 to 12 */
static int send_check(struct rds_send *s)
{
	struct msghdr *msg = s->msg;
	int err = 0;

	s->req.zcopy = (msg->msg_flags & MSG_ZEROCOPY) && sock_flag(&s->rs->sk, SOCK_ZEROCOPY);
	if (msg->msg_controllen)
		err = rds_cmsg_measure(msg, &s->req);
	if (err)
		return err;
	if (s->len > RDS_MAX_MSG_SIZE || s->req.rdma_bytes > RDS_MAX_MSG_SIZE)
		return -EMSGSIZE;
	if (s->len > rds_sock_sndbuf(s->rs))
		return -EMSGSIZE;
	if (s->req.zcopy && !(s->rs->trans->caps & RDS_CAP_ZCOPY_TX))
		return -EOPNOTSUPP;
	if (msg->msg_controllen || msg->msg_flags & MSG_ZEROCOPY)
		err = rds_cmsg_check(msg, &s->req);
	return err;
}

/*
 * The connection of the previous message does for this one most of the time.  Whoever takes it
 * out of the socket has its reference, so that the common case touches no counter that other
 * sockets touch.
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

/* Rows 13 and 14 */
static struct rds_message *send_message(struct rds_send *s)
{
	struct rds_sock *rs = s->rs;
	struct rds_message *m;

	if (likely(!s->req.zcopy || !s->len)) {
		m = rds_message_copy(&rs->tx_pages, &s->msg->msg_iter, s->sport, s->dport,
				     GFP_KERNEL);
		if (!IS_ERR(m))
			rds_stats_add(rs->rn, copy_from_user, s->len);
		return m;
	}
	if (!rds_sock_zcopy_reserve(rs))
		return ERR_PTR(-ENOMEM);
	s->reserved = true;
	return rds_message_zcopy(&rs->tx_pages, &s->msg->msg_iter, s->sport, s->dport,
				 s->req.cookie);
}

/* Row 19, for a port that is congested */
static int send_congested(struct rds_send *s)
{
	struct rds_sock *rs = s->rs;

	if (!(s->msg->msg_flags & MSG_DONTWAIT)) {
		rds_stats_inc(rs->rn, cong_send_blocked);
		return rds_cong_sleep(s->conn->fmap, s->dport);
	}
	WRITE_ONCE(rs->cong_refused, true);
	rds_sock_cong_wait(rs, s->dport);
	/* It may have become free before we were on the list of those who are told. */
	if (!rds_cong_test(s->conn->fmap, s->dport))
		return 0;
	rds_stats_inc(rs->rn, cong_send_error);
	return -ENOBUFS;
}

/* Row 20 */
static int send_admit(struct rds_send *s)
{
	struct rds_sock *rs = s->rs;
	long timeo;

	if (likely(rds_sock_charge(rs, s->len)))
		return 0;
	rds_stats_inc(rs->rn, send_queue_full);
	timeo = sock_sndtimeo(&rs->sk, s->msg->msg_flags & MSG_DONTWAIT);
	if (timeo)
		return rds_sock_charge_wait(rs, s->len, timeo);
	if (rds_sock_want_room(rs) && rds_sock_charge(rs, s->len))
		return 0;
	return -EAGAIN;
}

/* Rows 16 to 22, with a connection; the message is not ours any more in any case. */
static int send_on(struct rds_send *s, struct rds_message *m)
{
	int err = 0;

	if (s->msg->msg_controllen)
		err = rds_cmsg_apply(s->rs, s->conn->trans, s->msg, &s->req, s->len);
	if (!err && unlikely(rds_cong_test(s->conn->fmap, s->dport)))
		err = send_congested(s);
	if (!err)
		err = send_admit(s);
	if (err) {
		rds_message_free(m);
		return err;
	}
	m->owner = s->rs;
	if (s->conn->trans->caps & RDS_CAP_OWNS_ACK)
		m->tx.want_ack = rds_sock_half_full(s->rs);
	if (unlikely(s->req.memory))
		rds_cmsg_attach(s->rs, &s->req, m);
	err = rds_conn_send(s->conn, m);
	if (err) {
		rds_sock_sent(s->rs, s->len, 1);
		rds_message_free(m);
		return err;
	}
	rds_stats_inc(s->rs->rn, send_queued);
	s->reserved = false;
	return 0;
}

/**
 * rds_sendmsg - sendmsg(2)
 * @sock: socket
 * @msg: message
 * @len: payload
 *
 * Return: @len or the errno of the first row that does not hold.
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
	if (unlikely(s.req.memory))
		rds_cmsg_end(s.rs, &s.req, err);
	return err ? err : len;
}
