// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sendmsg(): bytes are copied into chunks, or their pages referenced where the
 * caller gives pages away (MSG_SPLICE_PAGES), and the engine decides when they
 * go.  A writer waits while the socket has its share of memory.
 */
#include <linux/bvec.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>

#include "net.h"
#include "rule.h"
#include "sock.h"
#include "tcp.h"

/*
 * Why nothing can be sent: 0, or a negative errno.  An error of the socket is
 * left for the next call if this one has @sent something.
 */
static int send_error(struct sock *sk, struct rds_ss_conn *conn, bool sent)
{
	lockdep_assert_held(&conn->lock);
	if (sk->sk_err)
		return sent ? -EPIPE : sock_error(sk);
	if (sk->sk_shutdown & SEND_SHUTDOWN)
		return -EPIPE;
	if (rds_ss_conn_fails(conn))
		return -EAGAIN;
	if (conn->closing)
		return -EPIPE;
	if (!conn->up)
		return -EAGAIN;
	return rds_ss_may_queue(conn->e.state) ? 0 : -EPIPE;
}

/*
 * Copy @bytes to a place in a chunk.  The check of the kernel that the place is
 * within one object costs more than to copy little; that of a page is cheap.
 */
static size_t copy_in(struct page *page, u32 at, u32 bytes,
		      struct iov_iter *from)
{
	if (bytes <= PAGE_SIZE)
		return copy_page_from_iter(page, at, bytes, from);
	return copy_from_iter((u8 *)page_address(page) + at, bytes, from);
}

/* Copy into the room of a chunk.  The writer alone fills it. */
static ssize_t send_copy(struct rds_ss_conn *conn, struct rds_ss_chunk *c,
			 struct msghdr *msg)
{
	struct page *page = c->page;
	u32 at = c->fill, room = min_t(size_t, c->size - at,
				       msg_data_left(msg));
	ssize_t done;

	get_page(page);
	conn->tx.writer = true;
	spin_unlock_bh(&conn->lock);
	done = copy_in(page, at, room, &msg->msg_iter);
	spin_lock_bh(&conn->lock);
	conn->tx.writer = false;
	put_page(page);
	if (conn->tx.dead)
		return -EPIPE;
	return done ?: -EFAULT;
}

/* The bytes of a chunk were written: queue them, and post what is due. */
static int send_queue(struct rds_ss_conn *conn, struct rds_ss_chunk *c,
		      u32 bytes)
{
	lockdep_assert_held(&conn->lock);
	if (!rds_ss_append(&conn->e, bytes))
		return rds_ss_conn_fails(conn) ? -EAGAIN : -EPIPE;
	rds_ss_tx_commit(conn, c, bytes);
	rds_ss_pump(conn);
	return 0;
}

/*
 * One step of a writer that copies: bytes, 0 if a chunk is needed, or a
 * negative errno.
 */
static ssize_t send_step(struct sock *sk, struct rds_ss_conn *conn,
			 struct msghdr *msg, bool sent)
{
	struct rds_ss_chunk *c = NULL;
	ssize_t done;
	int err;

	spin_lock_bh(&conn->lock);
	done = send_error(sk, conn, sent);
	if (!done)
		c = rds_ss_tx_room(&conn->tx);
	if (c)
		done = send_copy(conn, c, msg);
	if (done > 0) {
		err = send_queue(conn, c, done);
		done = err ?: done;
	}
	spin_unlock_bh(&conn->lock);
	rds_ss_pumped(conn);
	return done;
}

static bool may_splice(const struct msghdr *msg)
{
#ifdef MSG_SPLICE_PAGES
	return msg->msg_flags & MSG_SPLICE_PAGES;
#else
	return false;
#endif
}

static int splice_chunk(struct sock *sk, struct rds_ss_conn *conn,
			struct rds_ss_chunk *c, bool sent)
{
	int err;

	spin_lock_bh(&conn->lock);
	err = send_error(sk, conn, sent);
	if (!err)
		err = rds_ss_tx_enter(conn, c);
	if (err)
		rds_ss_tx_release(c);
	else
		err = send_queue(conn, c, c->size);
	spin_unlock_bh(&conn->lock);
	rds_ss_pumped(conn);
	return err;
}

/* Append the next page of the caller: bytes, or a negative errno */
static ssize_t splice_step(struct sock *sk, struct rds_ss_conn *conn,
			   struct msghdr *msg, bool sent)
{
	struct page *page, **pages = &page;
	struct rds_ss_chunk *c;
	size_t off;
	ssize_t n;
	int err;

	n = iov_iter_extract_pages(&msg->msg_iter, &pages,
				   msg_data_left(msg), 1, 0, &off);
	if (n <= 0)
		return n ?: -EFAULT;
	c = rds_ss_tx_page(page, off, n);
	err = c ? splice_chunk(sk, conn, c, sent) : -ENOBUFS;
	if (!err)
		return n;
	iov_iter_revert(&msg->msg_iter, n);
	return err;
}

/*
 * Bytes, or a negative errno; -EAGAIN: the socket has its share, -ENOMEM: a
 * limit does not allow more.  0: what is completed has taken the new chunk
 * along, before it was filled.
 */
static ssize_t send_some(struct sock *sk, struct rds_ss_conn *conn,
			 struct msghdr *msg, bool sent)
{
	ssize_t n;
	int err;

	if (may_splice(msg))
		return splice_step(sk, conn, msg, sent);
	n = send_step(sk, conn, msg, sent);
	if (n)
		return n;
	err = rds_ss_tx_more(conn, msg_data_left(msg));
	return err ?: send_step(sk, conn, msg, sent);
}

/*
 * Whether a writer that waits can go on.  If not, it is woken when there is
 * room; there may be some by the time that this is known.
 */
static bool may_go_on(struct sock *sk, const struct rds_ss_conn *conn)
{
	if (READ_ONCE(sk->sk_err) ||
	    READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN)
		return true;
	if (rds_ss_conn_fails(conn))
		return false;
	if (READ_ONCE(conn->closing))
		return true;
	if (!rds_ss_may_queue(READ_ONCE(conn->e.state)))
		return READ_ONCE(sk->sk_state) != TCP_SYN_SENT;
	if (rds_ss_writeable(sk, conn))
		return true;
	rds_ss_no_space(sk);
	/* Pairs with the barrier of the one who makes room. */
	smp_mb__after_atomic();
	return rds_ss_writeable(sk, conn);
}

static void send_tune(struct rds_ss_sock *ss, struct rds_ss_conn *conn,
		      bool cork)
{
	if (likely(cork == READ_ONCE(conn->e.cork)))
		return;
	spin_lock_bh(&conn->lock);
	rds_ss_conn_tune(conn, ss->want.nodelay, cork);
	spin_unlock_bh(&conn->lock);
	rds_ss_pumped(conn);
}

/* The socket has its share: wait for room, with no lock. */
static int wait_room(struct sock *sk, struct rds_ss_conn *conn, long *timeo)
{
	long left;

	if (!*timeo) {
		rds_ss_no_space(sk);
		/* There may be room by now, which poll() would wait for. */
		sk->sk_write_space(sk);
		return -EAGAIN;
	}
	left = wait_event_interruptible_timeout(*sk_sleep(sk),
						may_go_on(sk, conn), *timeo);
	if (left < 0)
		return sock_intr_errno(*timeo);
	*timeo = left;
	return 0;
}

/*
 * Memory of all sockets is short, and nobody says when it is not: try again
 * now and then, as TCP does.
 */
static int wait_memory(struct sock *sk, struct rds_ss_conn *conn, long *timeo)
{
	long time = min_t(long, *timeo, 2 + get_random_u32() % (HZ / 5)), left;

	if (!*timeo) {
		rds_ss_no_space(sk);
		rds_ss_conn_again(conn);
		return -EAGAIN;
	}
	left = schedule_timeout_interruptible(time);
	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	if (*timeo != MAX_SCHEDULE_TIMEOUT)
		*timeo -= time - left;
	return 0;
}

/* What is corked goes first, as nothing else would make room. */
static int send_wait(struct rds_ss_sock *ss, struct rds_ss_conn *conn,
		     int why, long *timeo)
{
	send_tune(ss, conn, false);
	if (*timeo && signal_pending(current))
		return sock_intr_errno(*timeo);
	return why == -ENOMEM ? wait_memory(&ss->sk, conn, timeo) :
				wait_room(&ss->sk, conn, timeo);
}

/* Sends all, or what it can.  tx_mutex is held, but not while it waits. */
static ssize_t send_all(struct rds_ss_sock *ss, struct rds_ss_conn *conn,
			struct msghdr *msg, long timeo)
{
	bool cork = READ_ONCE(ss->cork) || msg->msg_flags & MSG_MORE;
	ssize_t sent = 0, n;
	int err;

	send_tune(ss, conn, cork);
	while (msg_data_left(msg)) {
		n = send_some(&ss->sk, conn, msg, sent);
		if (n >= 0) {
			sent += n;
			continue;
		}
		if (n != -EAGAIN && n != -ENOMEM)
			return sent ?: n;
		mutex_unlock(&ss->tx_mutex);
		err = send_wait(ss, conn, n, &timeo);
		mutex_lock(&ss->tx_mutex);
		if (err)
			return sent ?: err;
		send_tune(ss, conn, cork);
	}
	return sent;
}

int rds_ss_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct sock *sk = sock->sk;
	struct rds_ss_sock *ss = rds_ss_sk(sk);
	long timeo = sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT);
	struct rds_ss_conn *conn;
	ssize_t sent;

	sent = rds_ss_by_rule(ss) ? rds_ss_rule_decided(ss, timeo) : 0;
	if (sent)
		return sent;
	if (rds_ss_by_tcp(ss))
		return rds_ss_tcp_sendmsg(ss, msg, len);
	if (msg->msg_flags & (MSG_OOB | MSG_FASTOPEN))
		return -EOPNOTSUPP;
	/* Kernels that keep SOL_SOCKET for themselves have granted it. */
	if (msg->msg_flags & MSG_ZEROCOPY && sock_flag(sk, SOCK_ZEROCOPY))
		return -EOPNOTSUPP;
	conn = rds_ss_sock_conn(ss);
	if (!conn)
		return sk_stream_error(sk, msg->msg_flags, -EPIPE);
	mutex_lock(&ss->tx_mutex);
	sent = send_all(ss, conn, msg, timeo);
	mutex_unlock(&ss->tx_mutex);
	rds_ss_conn_put(conn);
	return sent < 0 ? sk_stream_error(sk, msg->msg_flags, sent) : sent;
}

/*
 * Implements &proto_ops.splice_eof: what sendfile() has sent with MSG_MORE is
 * all, as the file ends before it has sent what it was asked for.
 */
void rds_ss_splice_eof(struct socket *sock)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	struct rds_ss_conn *conn;

	if (rds_ss_by_tcp(ss)) {
		if (rds_splice_eof(READ_ONCE(ss->tcp->ops)))
			rds_splice_eof(READ_ONCE(ss->tcp->ops))(ss->tcp);
		return;
	}
	conn = rds_ss_sock_conn(ss);
	if (!conn)
		return;
	mutex_lock(&ss->tx_mutex);
	send_tune(ss, conn, READ_ONCE(ss->cork));
	mutex_unlock(&ss->tx_mutex);
	rds_ss_conn_put(conn);
}
