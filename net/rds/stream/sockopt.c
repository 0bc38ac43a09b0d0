// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Options: those of TCP by their meaning, and those of librdmacm's rsockets.
 * What has no meaning over RDMA is accepted where programs set it as a hint.
 */
#include <linux/errno.h>
#include <linux/module.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/rds.h>
#include <net/tcp.h>

#include "inet.h"
#include "net.h"
#include "rule.h"
#include "sock.h"
#include "tcp.h"

/* Options of rsocket(7) */
#define SOL_RDMA_STREAM	0x10000
#define RDMA_SQSIZE	0
#define RDMA_RQSIZE	1
#define RDMA_INLINE	2
#define RDMA_IOMAPSIZE	3

#define KEEP_MAX	32767
#define KEEP_CNT_MAX	127

/* Tell a connection that exists. */
static void tune(struct rds_ss_sock *ss)
{
	struct rds_ss_conn *conn = rds_ss_sock_owned(ss);

	if (!conn)
		return;
	spin_lock_bh(&conn->lock);
	rds_ss_conn_tune(conn, ss->want.nodelay, ss->cork);
	spin_unlock_bh(&conn->lock);
	rds_ss_pumped(conn);
}

static int set_between(int *to, int val, int low, int high)
{
	if (val < low || val > high)
		return -EINVAL;
	*to = val;
	return 0;
}

static int set_tcp(struct rds_ss_sock *ss, int optname, int val)
{
	switch (optname) {
	case TCP_NODELAY:
		ss->want.nodelay = val;
		tune(ss);
		return 0;
	case TCP_CORK:
		WRITE_ONCE(ss->cork, val);
		tune(ss);
		return 0;
	case TCP_KEEPIDLE:
		return set_between(&ss->keep_idle, val, 1, KEEP_MAX);
	case TCP_KEEPINTVL:
		return set_between(&ss->keep_intvl, val, 1, KEEP_MAX);
	case TCP_KEEPCNT:
		return set_between(&ss->keep_cnt, val, 1, KEEP_CNT_MAX);
	case TCP_USER_TIMEOUT:
		if (val < 0)
			return -EINVAL;
		ss->user_timeout = val;
		return 0;
	case TCP_QUICKACK:
	case TCP_DEFER_ACCEPT:
	case TCP_FASTOPEN:
	case TCP_MAXSEG:
	case TCP_SYNCNT:
	case TCP_LINGER2:
	case TCP_WINDOW_CLAMP:
	case TCP_NOTSENT_LOWAT:
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

static int get_tcp(struct rds_ss_sock *ss, int optname, int *val)
{
	switch (optname) {
	case TCP_NODELAY:
		*val = ss->want.nodelay;
		return 0;
	case TCP_CORK:
		*val = ss->cork;
		return 0;
	case TCP_KEEPIDLE:
		*val = ss->keep_idle;
		return 0;
	case TCP_KEEPINTVL:
		*val = ss->keep_intvl;
		return 0;
	case TCP_KEEPCNT:
		*val = ss->keep_cnt;
		return 0;
	case TCP_USER_TIMEOUT:
		*val = ss->user_timeout;
		return 0;
	case TCP_MAXSEG:
		*val = RDS_SS_HALF_MIN;
		return 0;
	case TCP_QUICKACK:
		*val = 1;
		return 0;
	case TCP_DEFER_ACCEPT:
	case TCP_FASTOPEN:
	case TCP_SYNCNT:
	case TCP_LINGER2:
	case TCP_WINDOW_CLAMP:
	case TCP_NOTSENT_LOWAT:
		*val = 0;
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

/* As of the next connection */
static int set_rdma(struct rds_ss_sock *ss, int optname, int val)
{
	switch (optname) {
	case RDMA_SQSIZE:
		ss->want.sq = clamp(val, RDS_SS_SQ_MIN, RDS_SS_SQ_MAX);
		return val < 1 ? -EINVAL : 0;
	case RDMA_RQSIZE:
		ss->want.rq = clamp(val, 1, RDS_SS_RQ_SET_MAX);
		return val < 1 ? -EINVAL : 0;
	case RDMA_INLINE:
		return 0;
	case RDMA_IOMAPSIZE:
		ss->want.iomap = clamp(val, 0, RDS_SS_IOMAP_MAX);
		return val < 0 ? -EINVAL : 0;
	default:
		return -ENOPROTOOPT;
	}
}

static int get_rdma(struct rds_ss_sock *ss, int optname, int *val)
{
	*val = 0;
	switch (optname) {
	case RDMA_SQSIZE:
		*val = ss->want.sq;
		return 0;
	case RDMA_RQSIZE:
		*val = ss->want.rq;
		return 0;
	case RDMA_IOMAPSIZE:
		*val = ss->want.iomap;
		return 0;
	case RDMA_INLINE:
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

/*
 * What carries the stream, from bind() or connect() on; as with datagrams it
 * cannot be changed then.
 */
static int set_carrier(struct socket *sock, int val)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	bool fresh = !ss->bound && !ss->local.port &&
		     sock->state == SS_UNCONNECTED &&
		     sock->sk->sk_state == TCP_CLOSE;
	int err = 0;

	if (val == (rds_ss_by_tcp(ss) ? RDS_TRANS_TCP : RDS_TRANS_IB) &&
	    !rds_ss_by_rule(ss))
		return 0;
	if (!fresh || rds_ss_by_tcp(ss) ||
	    (val != RDS_TRANS_IB && val != RDS_TRANS_TCP))
		return -EOPNOTSUPP;
	if (val == RDS_TRANS_IB) {
		WRITE_ONCE(ss->carrier, RDS_SS_BY_RDMA);
		return 0;
	}
	if (!ss->tcp)
		err = rds_ss_tcp_create(ss, sock);
	if (err)
		return err;
	rds_ss_tcp_options(ss);
	rds_ss_inet_options(ss);
	rds_ss_tcp_carries(ss);
	return 0;
}

static int get_carrier(const struct rds_ss_sock *ss)
{
	if (rds_ss_by_tcp(ss))
		return RDS_TRANS_TCP;
	if (rds_ss_by_rule(ss) && ss->sk.sk_state != TCP_ESTABLISHED)
		return RDS_TRANS_NONE;
	return RDS_TRANS_IB;
}

static int set_rds(struct socket *sock, int optname, int val)
{
	return optname == SO_RDS_TRANSPORT ? set_carrier(sock, val) :
					     -ENOPROTOOPT;
}

int rds_ss_setsockopt_own(struct socket *sock, int level, int optname,
			  sockptr_t optval, unsigned int optlen)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	int val, err;

	/* A program would wait for reports of what it has sent. */
	if (level == SOL_SOCKET && optname == SO_ZEROCOPY)
		return -EOPNOTSUPP;
	if (level == SOL_SOCKET)
		return sock_setsockopt(sock, level, optname, optval, optlen);
	if (optlen < sizeof(val))
		return -EINVAL;
	if (copy_from_sockptr(&val, optval, sizeof(val)))
		return -EFAULT;
	lock_sock(sock->sk);
	if (level == SOL_TCP)
		err = set_tcp(ss, optname, val);
	else if (level == SOL_RDMA_STREAM)
		err = set_rdma(ss, optname, val);
	else if (level == SOL_RDS)
		err = set_rds(sock, optname, val);
	else
		err = -ENOPROTOOPT;
	if (!err && level == SOL_TCP)
		rds_ss_clock_set(sock->sk,
				 sock_flag(sock->sk, SOCK_KEEPOPEN));
	release_sock(sock->sk);
	return err;
}

/*
 * An option that TCP is to have as well, or alone if it carries; what the level
 * of the socket has is asked of the socket above, which has it, too.
 */
int rds_ss_setsockopt_both(struct socket *sock, int level, int optname,
			   sockptr_t optval, unsigned int optlen,
			   rds_ss_setsockopt_fn *own)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	bool tcp = rds_ss_by_tcp(ss), ours = level == SOL_RDS;
	int err = 0;

	if (!tcp || ours)
		err = own(sock, level, optname, optval, optlen);
	else if (level == SOL_SOCKET)
		/* What the socket above does not know TCP may. */
		own(sock, level, optname, optval, optlen);
	if (err || ours || level == SOL_RDMA_STREAM)
		return err;
	/* TCP may have taken over while the call waited for the socket. */
	if (!rds_ss_by_rule(ss) && !rds_ss_by_tcp(ss))
		return 0;
	return rds_ss_tcp_setsockopt(ss, level, optname, optval, optlen);
}

int rds_ss_setsockopt(struct socket *sock, int level, int optname,
		      sockptr_t optval, unsigned int optlen)
{
	return rds_ss_setsockopt_both(sock, level, optname, optval, optlen,
				      rds_ss_setsockopt_own);
}

/* struct tcp_info, as far as it means something */
static int get_info(struct rds_ss_sock *ss, char __user *optval,
		    int __user *optlen, int len)
{
	struct tcp_info info = {
		.tcpi_state = READ_ONCE(ss->sk.sk_state),
		.tcpi_snd_mss = RDS_SS_HALF_MIN,
		.tcpi_rcv_mss = RDS_SS_HALF_MIN,
	};

	len = min_t(unsigned int, len, sizeof(info));
	if (put_user(len, optlen) || copy_to_user(optval, &info, len))
		return -EFAULT;
	return 0;
}

static int get_congestion(char __user *optval, int __user *optlen, int len)
{
	char name[TCP_CA_NAME_MAX] = "rdma";

	len = min_t(unsigned int, len, sizeof(name));
	if (put_user(len, optlen) || copy_to_user(optval, name, len))
		return -EFAULT;
	return 0;
}

int rds_ss_getsockopt(struct socket *sock, int level, int optname,
		      char __user *optval, int __user *optlen)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	int val = 0, len, err;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	if (rds_ss_by_tcp(ss) && level != SOL_RDS)
		return rds_ss_tcp_getsockopt(ss, level, optname, optval,
					     optlen);
	if (level == SOL_TCP && optname == TCP_INFO)
		return get_info(ss, optval, optlen, len);
	if (level == SOL_TCP && optname == TCP_CONGESTION)
		return get_congestion(optval, optlen, len);
	lock_sock(sock->sk);
	if (level == SOL_TCP)
		err = get_tcp(ss, optname, &val);
	else if (level == SOL_RDMA_STREAM)
		err = get_rdma(ss, optname, &val);
	else
		err = level == SOL_RDS && optname == SO_RDS_TRANSPORT ?
			      0 : -ENOPROTOOPT;
	if (!err && level == SOL_RDS)
		val = get_carrier(ss);
	release_sock(sock->sk);
	if (err)
		return err;
	len = min_t(unsigned int, len, sizeof(val));
	if (put_user(len, optlen) || copy_to_user(optval, &val, len))
		return -EFAULT;
	return 0;
}
