// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Messages into TCP's send queue.
 *
 * All messages of a batch are given to TCP as one vector, under one hold of the
 * socket lock.  No message waits for later ones: MSG_MORE only says that the
 * rest of the same batch follows.
 */
#include <linux/tcp.h>
#include <linux/uio.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "tcp.h"

/*
 * Copying a small fragment is cheaper than the reference and the fragment of a
 * socket buffer.
 */
static int send_vector(struct sock *sk, struct bio_vec *bv, unsigned int nr,
		       size_t bytes, bool more)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL |
			     (more ? MSG_MORE : 0),
	};

	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bv, nr, bytes);
	if (bytes >= nr * RDS_TCP_SPLICE_MIN)
		return rds_tcp_splice_locked(sk, &msg);
	return tcp_sendmsg_locked(sk, &msg, bytes);
}

/* For RDS_INFO_TCP_SOCKETS: where the message begun last starts and ends */
static void note_last(struct rds_tcp_sock *ts, const struct rds_tx_batch *batch,
		      u32 write_seq)
{
	const struct rds_tx_msg *m = batch->cur;
	u32 start = write_seq - batch->off;

	if (!m || !batch->off) {
		struct list_head *last = m ? m->list.prev : batch->head->prev;

		if (last == batch->head)
			return;
		m = list_entry(last, struct rds_tx_msg, list);
		start = write_seq - m->bytes;
	}
	WRITE_ONCE(ts->last_start, start);
	WRITE_ONCE(ts->last_end, start + m->bytes);
}

static enum rds_tx_result send_blocked(struct rds_tcp_sock *ts)
{
	struct sock *sk = ts->sock->sk;

	rds_tcp_stat_inc(ts->tn, tcp_sndbuf_full);
	/*
	 * TCP processes acknowledgements under the socket lock, which this
	 * context holds: the acknowledgement that makes room comes after this.
	 */
	ts->tx_blocked = true;
	set_bit(SOCK_NOSPACE, &ts->sock->flags);
	/*
	 * With no byte in flight memory was short, and no acknowledgement will
	 * come.
	 */
	if (tcp_rtx_and_write_queues_empty(sk))
		rds_tcp_retry_later(ts, RDS_TCP_RETRY_TIME);
	return RDS_TX_BLOCKED;
}

static enum rds_tx_result send_batch(struct rds_tcp_sock *ts,
				     struct rds_tx_batch *batch)
{
	/*
	 * The last entry only tells that more follows.  The kernel clears what
	 * is on the stack, which costs more than to fill a few entries.
	 */
	struct bio_vec bv[RDS_TCP_BVECS + 1] __uninitialized;
	struct sock *sk = ts->sock->sk;
	unsigned int nr;
	size_t bytes;
	bool more;
	int ret;

	ts->tx_blocked = false;
	while ((nr = rds_tx_fill_bvec(batch, bv, ARRAY_SIZE(bv), &bytes))) {
		more = nr == ARRAY_SIZE(bv);
		if (more)
			bytes -= bv[--nr].bv_len;
		ret = send_vector(sk, bv, nr, bytes, more);
		if (ret > 0) {
			rds_tx_advance(batch, ret);
			continue;
		}
		if (ret == -EAGAIN)
			return send_blocked(ts);
		rds_path_lost(ts->path, RDS_DROP_SEND_ERROR);
		return RDS_TX_FAILED;
	}
	return RDS_TX_DONE;
}

/*
 * The core waits until the peer has what was sent: let TCP call write_space.
 * TCP may have looked at acknowledgements while it took the bytes.
 */
static void send_want_acks(struct rds_tcp_sock *ts)
{
	if (test_bit(SOCK_NOSPACE, &ts->sock->flags))
		return;
	set_bit(SOCK_NOSPACE, &ts->sock->flags);
	rds_tcp_report_acked(ts);
}

/* Implements &rds_transport.xmit */
enum rds_tx_result rds_tcp_xmit(struct rds_path *path,
				struct rds_tx_batch *batch)
{
	struct rds_tcp_path *tp = path->priv;
	struct rds_tcp_sock *ts = tp->ts;
	struct sock *sk = ts->sock->sk;
	enum rds_tx_result res;

	lock_sock(sk);
	if (ts->watched)
		rds_tcp_watch_send(ts);
	res = send_batch(ts, batch);
	if (batch->pos > batch->quiet)
		send_want_acks(ts);
	note_last(ts, batch, tcp_sk(sk)->write_seq);
	release_sock(sk);
	return res;
}
