/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_COMPAT_NET_TCP_H
#define _RDS_COMPAT_NET_TCP_H

#include_next <net/tcp.h>
#include <linux/bvec.h>

/**
 * rds_tcp_splice_locked() - hand pages to TCP by reference
 * @sk: TCP socket, locked by the caller
 * @msg: message whose iterator is over bvecs, none of them empty; advanced by
 *	the bytes taken
 *
 * Newer kernels have MSG_SPLICE_PAGES.  Some older ones define the flag without
 * implementing it, so the macro of the build decides.  There each page is
 * handed over by one call, and MSG_MORE joins the pages.
 *
 * Return: bytes taken, or a negative errno if no byte was taken.
 */
static inline int rds_tcp_splice_locked(struct sock *sk, struct msghdr *msg)
{
#ifdef RDS_HAVE_SKB_SPLICE
	msg->msg_flags |= MSG_SPLICE_PAGES;
	return tcp_sendmsg_locked(sk, msg, msg_data_left(msg));
#else
	int sent = 0;

	while (msg_data_left(msg)) {
		const struct bio_vec *bv = msg->msg_iter.bvec;
		size_t off = bv->bv_offset + msg->msg_iter.iov_offset;
		size_t len = min3((size_t)bv->bv_len - msg->msg_iter.iov_offset,
				  PAGE_SIZE - offset_in_page(off),
				  msg_data_left(msg));
		int more = len < msg_data_left(msg) ? MSG_MORE : 0;
		int ret = tcp_sendpage_locked(sk,
					      nth_page(bv->bv_page,
						       off / PAGE_SIZE),
					      offset_in_page(off), len,
					      msg->msg_flags | more);

		if (ret <= 0)
			return sent ? sent : ret;
		iov_iter_advance(&msg->msg_iter, ret);
		sent += ret;
	}
	return sent;
#endif
}

#endif
