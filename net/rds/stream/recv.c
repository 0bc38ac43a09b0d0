// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * recvmsg(): bytes are copied out of the memory that the peer writes to, once
 * and without the lock.  Those that MSG_PEEK has shown come from a copy, as the
 * peer could change them.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "net.h"
#include "rule.h"
#include "sock.h"
#include "tcp.h"

/**
 * struct taker - where bytes go
 * @msg: message of the program, or NULL
 * @buf: buffer, if @msg is NULL; NULL: nowhere
 * @left: bytes that are wanted
 */
struct taker {
	struct msghdr	*msg;
	u8		*buf;
	size_t		left;
};

/*
 * Bytes that were taken of @bytes in a page.  Always a copy: a pipe that is
 * given the page itself, as copy_page_to_iter() may do, would show what the
 * peer writes there later.
 */
static size_t take_from(struct taker *t, struct page *page, u32 off, u32 bytes)
{
	if (t->msg)
		return copy_to_iter((u8 *)page_address(page) + off, bytes,
				    &t->msg->msg_iter);
	if (t->buf) {
		memcpy(t->buf, (u8 *)page_address(page) + off, bytes);
		t->buf += bytes;
	}
	return bytes;
}

/* Bytes that were taken of a span; fewer if the program's memory is bad */
static u32 take_span(struct rds_ss_conn *conn, struct taker *t,
		     const struct rds_ss_span *span)
{
	struct page **page = conn->mems[span->id].page;
	u32 done = 0, want = min_t(size_t, span->bytes, t->left), part, off;
	size_t n;

	while (done < want) {
		off = span->off + done;
		part = min_t(u32, want - done, PAGE_SIZE - offset_in_page(off));
		n = take_from(t, page[off >> PAGE_SHIFT], offset_in_page(off),
			      part);
		done += n;
		if (n < part)
			break;
	}
	t->left -= done;
	return done;
}

/* Bytes were read: the peer may have the memory again. */
static void give_back(struct rds_ss_conn *conn, u32 bytes)
{
	spin_lock_bh(&conn->lock);
	rds_ss_read(&conn->e, bytes);
	rds_ss_conn_unread(conn);
	rds_ss_mem_grow(conn);
	rds_ss_pump(conn);
	spin_unlock_bh(&conn->lock);
	rds_ss_pumped(conn);
}

/*
 * Take bytes of the connection that have come: how many, or -EFAULT.  The
 * caller is the only reader.
 */
static ssize_t take_ring(struct rds_ss_conn *conn, struct taker *t)
{
	struct rds_ss_span span;
	ssize_t done = 0;
	u32 n;

	while (t->left) {
		spin_lock_bh(&conn->lock);
		span = rds_ss_span(&conn->e, 0);
		spin_unlock_bh(&conn->lock);
		if (!span.bytes)
			break;
		n = take_span(conn, t, &span);
		if (n)
			give_back(conn, n);
		done += n;
		if (n < span.bytes && t->left)
			return done ?: -EFAULT;
	}
	return done;
}

/* Bytes that MSG_PEEK has shown before; not taken off if @keep */
static ssize_t take_peek(struct rds_ss_peek *p, struct taker *t, bool keep)
{
	u32 want = min_t(size_t, p->bytes, t->left), n = want;

	if (!want)
		return 0;
	if (t->msg)
		n = copy_to_iter(p->buf + p->off, want, &t->msg->msg_iter);
	t->left -= n;
	if (!keep) {
		p->off += n;
		WRITE_ONCE(p->bytes, p->bytes - n);
	}
	return n ?: -EFAULT;
}

static void peek_done(struct rds_ss_peek *p)
{
	if (p->bytes || !p->buf)
		return;
	kvfree(p->buf);
	p->buf = NULL;
}

/* Move what has come into the copy, until that has @want bytes. */
static int peek_fill(struct rds_ss_sock *ss, struct rds_ss_conn *conn,
		     size_t want)
{
	struct rds_ss_peek *p = &ss->peek;
	struct taker t = { };
	ssize_t n;

	if (!p->buf)
		p->buf = kvmalloc(RDS_SS_PEEK_MAX, GFP_KERNEL_ACCOUNT);
	if (!p->buf)
		return -ENOBUFS;
	if (p->off) {
		memmove(p->buf, p->buf + p->off, p->bytes);
		p->off = 0;
	}
	t.buf = p->buf + p->bytes;
	t.left = min_t(size_t, want, RDS_SS_PEEK_MAX) -
		 min_t(size_t, min_t(size_t, want, RDS_SS_PEEK_MAX), p->bytes);
	n = take_ring(conn, &t);
	WRITE_ONCE(p->bytes, p->bytes + max_t(ssize_t, n, 0));
	/* Who looked in between saw too few bytes. */
	if (n > 0)
		ss->sk.sk_data_ready(&ss->sk);
	return 0;
}

/* Bytes that can be had now, or a negative errno.  rx_mutex is held. */
static ssize_t recv_now(struct rds_ss_sock *ss, struct rds_ss_conn *conn,
			struct taker *t, bool peek)
{
	ssize_t done, n;
	int err;

	if (peek) {
		err = READ_ONCE(conn->unread) ?
			      peek_fill(ss, conn, t->left) : 0;
		return err ?: take_peek(&ss->peek, t, true);
	}
	done = take_peek(&ss->peek, t, false);
	peek_done(&ss->peek);
	if (done < 0 || !t->left)
		return done;
	n = take_ring(conn, t);
	return n < 0 && done ? done : n + done;
}

/*
 * Nothing more comes: 0 for the end, or a negative errno; 1: it may.  An error
 * of the socket is left for the next call if this one has @got something.
 */
static int recv_over(struct sock *sk, struct rds_ss_conn *conn, bool got)
{
	int ret = 1;

	spin_lock_bh(&conn->lock);
	/* With the lock, so that no bytes come between the two looks. */
	if (rds_ss_span(&conn->e, 0).bytes)
		ret = 1;
	else if (sk->sk_err)
		ret = got ? 0 : sock_error(sk);
	else if (sk->sk_shutdown & RCV_SHUTDOWN || conn->closed)
		ret = 0;
	spin_unlock_bh(&conn->lock);
	return ret;
}

static bool may_go_on(const struct rds_ss_sock *ss,
		      const struct rds_ss_conn *conn, u32 seen)
{
	const struct sock *sk = &ss->sk;

	return rds_ss_sock_unread(ss, conn) > seen || READ_ONCE(sk->sk_err) ||
	       READ_ONCE(conn->closed) ||
	       READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN;
}

/* Wait for bytes or the end, with no lock. */
static int recv_wait(struct rds_ss_sock *ss, struct rds_ss_conn *conn,
		     u32 seen, long *timeo)
{
	struct sock *sk = &ss->sk;
	long left;

	if (!*timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	left = wait_event_interruptible_timeout(*sk_sleep(sk),
						may_go_on(ss, conn, seen),
						*timeo);
	if (left < 0)
		return sock_intr_errno(*timeo);
	*timeo = left;
	return 0;
}

/* Receive at least @target bytes.  rx_mutex is held, but not while it waits. */
static ssize_t recv_all(struct rds_ss_sock *ss, struct rds_ss_conn *conn,
			struct taker *t, size_t target, int flags, long timeo)
{
	bool peek = flags & MSG_PEEK;
	const struct taker all = *t;
	ssize_t got = 0, n;
	int ret;

	for (;;) {
		/* A peek shows everything from the first byte again. */
		if (peek && got) {
			iov_iter_revert(&t->msg->msg_iter, got);
			*t = all;
			got = 0;
		}
		n = recv_now(ss, conn, t, peek);
		if (n < 0)
			return got ?: n;
		got += n;
		if (got >= (ssize_t)target || !t->left)
			return got;
		ret = recv_over(&ss->sk, conn, got);
		if (ret <= 0)
			return got ?: ret;
		mutex_unlock(&ss->rx_mutex);
		ret = recv_wait(ss, conn, peek ? got : 0, &timeo);
		mutex_lock(&ss->rx_mutex);
		if (ret)
			return got ?: ret;
	}
}

static bool is_decided(const struct sock *sk, const struct rds_ss_conn *conn)
{
	return READ_ONCE(conn->up) || READ_ONCE(sk->sk_state) != TCP_SYN_SENT;
}

/* An attempt that comes up is waited for. */
static int recv_begin(struct rds_ss_sock *ss, struct rds_ss_conn *conn,
		      long *timeo)
{
	struct sock *sk = &ss->sk;
	long left;

	if (!conn)
		return -ENOTCONN;
	if (READ_ONCE(conn->up))
		return 0;
	if (READ_ONCE(sk->sk_state) == TCP_SYN_SENT && !*timeo)
		return -EAGAIN;
	left = wait_event_interruptible_timeout(*sk_sleep(sk),
						is_decided(sk, conn), *timeo);
	if (left < 0)
		return sock_intr_errno(*timeo);
	*timeo = left;
	if (READ_ONCE(conn->up))
		return 0;
	return left ? sock_error(sk) ?: -ENOTCONN : -EAGAIN;
}

static ssize_t recv_locked(struct rds_ss_sock *ss, struct rds_ss_conn *conn,
			   struct taker *t, int flags, long timeo)
{
	size_t least = sock_rcvlowat(&ss->sk, flags & MSG_WAITALL, t->left);
	ssize_t got;

	least = min(least, t->left);
	if (flags & MSG_PEEK)
		least = min_t(size_t, least, RDS_SS_PEEK_MAX);
	mutex_lock(&ss->rx_mutex);
	got = recv_all(ss, conn, t, least, flags, timeo);
	mutex_unlock(&ss->rx_mutex);
	return got;
}

int rds_ss_recvmsg(struct socket *sock, struct msghdr *msg, size_t len,
		   int flags)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	bool discard = flags & MSG_TRUNC && !(flags & MSG_PEEK);
	struct taker t = { .msg = discard ? NULL : msg, .left = len };
	long timeo = sock_rcvtimeo(sock->sk, flags & MSG_DONTWAIT);
	struct rds_ss_conn *conn;
	ssize_t got;

	got = rds_ss_by_rule(ss) ? rds_ss_rule_decided(ss, timeo) : 0;
	if (got)
		return got;
	if (rds_ss_by_tcp(ss))
		return rds_ss_tcp_recvmsg(ss, msg, len, flags);
	if (flags & MSG_OOB)
		return -EINVAL;
	if (flags & MSG_ERRQUEUE)
		return -EAGAIN;
	conn = rds_ss_sock_conn(ss);
	got = recv_begin(ss, conn, &timeo);
	msg->msg_namelen = 0;
	if (!got)
		got = recv_locked(ss, conn, &t, flags, timeo);
	if (conn)
		rds_ss_conn_put(conn);
	return got;
}
