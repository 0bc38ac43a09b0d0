// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Socket options of level SOL_RDS, and the ioctls of the type of service. */
#include <linux/capability.h>
#include <linux/uaccess.h>
#include <net/ipv6.h>
#include <net/rds/transport.h>

#include "conn/conn.h"
#include "ctl/info.h"
#include "memop/memop.h"
#include "netns.h"
#include "send/cancel.h"
#include "sock/addr.h"
#include "sock/calls.h"
#include "sock/report.h"

static int get_flag(sockptr_t optval, unsigned int optlen, bool *flag)
{
	int v;

	if (optlen < sizeof(v))
		return -EINVAL;
	if (copy_from_sockptr(&v, optval, sizeof(v)))
		return -EFAULT;
	*flag = v;
	return 0;
}

static int set_recverr(struct rds_sock *rs, sockptr_t optval,
		       unsigned int optlen)
{
	bool on;
	int err = get_flag(optval, optlen, &on);

	if (!err)
		WRITE_ONCE(rs->recverr, on);
	return err;
}

static int set_peer_timeout(struct rds_sock *rs, sockptr_t optval,
			    unsigned int optlen)
{
	int ms;

	if (optlen < sizeof(ms))
		return -EINVAL;
	if (copy_from_sockptr(&ms, optval, sizeof(ms)))
		return -EFAULT;
	if (ms < 0)
		return -EINVAL;
	lock_sock(&rs->sk);
	WRITE_ONCE(rs->peer_timeout, ms);
	if (!ms)
		rds_sock_reports_purge(rs);
	release_sock(&rs->sk);
	return 0;
}

static int set_monitor(struct rds_sock *rs, sockptr_t optval,
		       unsigned int optlen)
{
	bool on;
	int err = get_flag(optval, optlen, &on);

	if (err)
		return err;
	lock_sock(&rs->sk);
	rds_sock_monitor(rs, on);
	release_sock(&rs->sk);
	return 0;
}

/*
 * The length alone tells the family.  A destination without a connection is no
 * error.
 */
static int cancel_sent_to(struct rds_sock *rs, sockptr_t optval,
			  unsigned int optlen)
{
	struct in6_addr faddr;
	__be16 port;

	if (!rds_sock_port(rs))
		return -ENOTCONN;
	if (optlen < sizeof(struct sockaddr_in))
		return -EINVAL;
	if (optlen < sizeof(struct sockaddr_in6)) {
		struct sockaddr_in sin;

		if (copy_from_sockptr(&sin, optval, sizeof(sin)))
			return -EFAULT;
		ipv6_addr_set_v4mapped(sin.sin_addr.s_addr, &faddr);
		port = sin.sin_port;
	} else {
		struct sockaddr_in6 sin6;

		if (copy_from_sockptr(&sin6, optval, sizeof(sin6)))
			return -EFAULT;
		faddr = sin6.sin6_addr;
		port = sin6.sin6_port;
	}
	rds_cancel(rs, &faddr, be16_to_cpu(port));
	return 0;
}

/*
 * A socket that has its transport does not take another one, so the option is
 * free for struct rds_reset there.
 */
static bool is_reset(const struct rds_sock *rs, unsigned int optlen)
{
	return READ_ONCE(rs->trans) && (optlen == sizeof(struct rds_reset) ||
					optlen == sizeof(struct rds6_reset));
}

/* The length alone tells the family. */
static int reset_conn(struct rds_sock *rs, sockptr_t optval,
		      unsigned int optlen)
{
	struct in6_addr laddr, faddr;
	struct rds6_reset reset6;
	struct rds_reset reset;
	rds_tos_t tos;

	if (!ns_capable(sock_net(&rs->sk)->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	if (optlen == sizeof(reset)) {
		if (copy_from_sockptr(&reset, optval, sizeof(reset)))
			return -EFAULT;
		tos = reset.tos;
		ipv6_addr_set_v4mapped(reset.src, &laddr);
		ipv6_addr_set_v4mapped(reset.dst, &faddr);
	} else {
		if (copy_from_sockptr(&reset6, optval, sizeof(reset6)))
			return -EFAULT;
		tos = reset6.tos;
		laddr = reset6.src;
		faddr = reset6.dst;
	}
	return rds_conn_reset(rs->rn, &laddr, &faddr, tos) ? 0 : -ENOENT;
}

static int get_mr(struct rds_sock *rs, sockptr_t optval, unsigned int optlen)
{
	struct rds_get_mr_args args;
	u64 cookie;

	if (optlen != sizeof(args))
		return -EINVAL;
	if (copy_from_sockptr(&args, optval, sizeof(args)))
		return -EFAULT;
	rs->memop_used = true;
	return rds_mr_get(rs, &args.vec, args.cookie_addr, args.flags, &cookie);
}

/*
 * A key is valid for all peers, so the destination is checked and not used
 * otherwise.
 */
static int get_mr_for_dest(struct rds_sock *rs, sockptr_t optval,
			   unsigned int optlen)
{
	struct rds_get_mr_for_dest_args args;
	struct rds_sock_addr dest;
	u64 cookie;

	if (optlen != sizeof(args))
		return -EINVAL;
	if (copy_from_sockptr(&args, optval, sizeof(args)))
		return -EFAULT;
	if (rds_sock_port(rs) && rs->trans->memop &&
	    rds_addr_read((struct sockaddr_unsized *)&args.dest_addr,
			  sizeof(args.dest_addr), &dest) != RDS_ADDR_OK)
		return -EINVAL;
	rs->memop_used = true;
	return rds_mr_get(rs, &args.vec, args.cookie_addr, args.flags, &cookie);
}

static int free_mr(struct rds_sock *rs, sockptr_t optval, unsigned int optlen)
{
	struct rds_free_mr_args args;

	if (optlen != sizeof(args))
		return -EINVAL;
	if (copy_from_sockptr(&args, optval, sizeof(args)))
		return -EFAULT;
	return rds_mr_free(rs, args.cookie, args.flags);
}

static int set_timestamp(struct rds_sock *rs, sockptr_t optval,
			 unsigned int optlen, bool new)
{
	struct sock *sk = &rs->sk;
	int v;

	if (optlen != sizeof(v) || copy_from_sockptr(&v, optval, sizeof(v)))
		return -EFAULT;
	lock_sock(sk);
	sock_valbool_flag(sk, SOCK_TSTAMP_NEW, v && new);
	sock_valbool_flag(sk, SOCK_RCVTSTAMP, v);
	release_sock(sk);
	return 0;
}

static int set_rx_trace(struct rds_sock *rs, sockptr_t optval,
			unsigned int optlen)
{
	struct rds_rx_trace_so so;
	unsigned int i;

	if (optlen != sizeof(so) || copy_from_sockptr(&so, optval, sizeof(so)))
		return -EFAULT;
	if (so.rx_traces > RDS_MSG_RX_DGRAM_TRACE_MAX)
		return -EFAULT;
	for (i = 0; i < so.rx_traces; i++)
		if (so.rx_trace_pos[i] >= RDS_MSG_RX_DGRAM_TRACE_MAX)
			return -EFAULT;
	lock_sock(&rs->sk);
	if (so.rx_traces && !rs->rx_traces)
		atomic_inc(&rds_rx_tracers);
	if (!so.rx_traces && rs->rx_traces)
		atomic_dec(&rds_rx_tracers);
	for (i = 0; i < so.rx_traces; i++)
		WRITE_ONCE(rs->rx_trace_pos[i], so.rx_trace_pos[i]);
	WRITE_ONCE(rs->rx_traces, so.rx_traces);
	release_sock(&rs->sk);
	return 0;
}

/**
 * rds_rx_trace_off - end the latency trace of a socket that closes
 * @rs: socket, whether it traced or not
 */
void rds_rx_trace_off(struct rds_sock *rs)
{
	if (rs->rx_traces)
		atomic_dec(&rds_rx_tracers);
	rs->rx_traces = 0;
}

/**
 * rds_setsockopt - setsockopt(2)
 * @sock: socket
 * @level: only SOL_RDS
 * @optname: option
 * @optval: value of the option
 * @optlen: size of @optval
 *
 * Return: 0 or the errno of the option; -ENOPROTOOPT for unknown ones.
 */
int rds_setsockopt(struct socket *sock, int level, int optname,
		   sockptr_t optval, unsigned int optlen)
{
	struct rds_sock *rs = rds_sk(sock->sk);

	if (level != SOL_RDS)
		return -ENOPROTOOPT;
	switch (optname) {
	case RDS_CANCEL_SENT_TO:
		return cancel_sent_to(rs, optval, optlen);
	case RDS_GET_MR:
		return get_mr(rs, optval, optlen);
	case RDS_GET_MR_FOR_DEST:
		return get_mr_for_dest(rs, optval, optlen);
	case RDS_FREE_MR:
		return free_mr(rs, optval, optlen);
	case RDS_RECVERR:
		return set_recverr(rs, optval, optlen);
	case RDS_PEER_TIMEOUT:
		return set_peer_timeout(rs, optval, optlen);
	case RDS_CONG_MONITOR:
		return set_monitor(rs, optval, optlen);
	case SO_RDS_TRANSPORT:
		if (is_reset(rs, optlen))
			return reset_conn(rs, optval, optlen);
		return rds_transport_set(rs, optval, optlen);
	case SO_TIMESTAMP_OLD:
	case SO_TIMESTAMP_NEW:
		return set_timestamp(rs, optval, optlen,
				     optname == SO_TIMESTAMP_NEW);
	case SO_RDS_MSG_RXPATH_LATENCY:
		return set_rx_trace(rs, optval, optlen);
	}
	return -ENOPROTOOPT;
}

static int put_int(char __user *optval, int __user *optlen, int len, int v)
{
	if (len < (int)sizeof(v))
		return -EINVAL;
	if (copy_to_user(optval, &v, sizeof(v)) ||
	    put_user((int)sizeof(v), optlen))
		return -EFAULT;
	return 0;
}

/**
 * rds_getsockopt - getsockopt(2)
 * @sock: socket
 * @level: only SOL_RDS
 * @optname: option
 * @optval: room for the value of the option
 * @optlen: size of @optval; set to the size of the value
 *
 * Return: 0; the size of a record for RDS_INFO_*; or an errno, -ENOPROTOOPT for
 * unknown options.
 */
int rds_getsockopt(struct socket *sock, int level, int optname,
		   char __user *optval, int __user *optlen)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	int len;

	if (level != SOL_RDS)
		return -ENOPROTOOPT;
	if (get_user(len, optlen))
		return -EFAULT;
	switch (optname) {
	case RDS_INFO_FIRST ... RDS_INFO_LAST:
		return rds_info_getsockopt(sock_net(sock->sk), optname, optval,
					   optlen, len);
	case RDS_RECVERR:
		return put_int(optval, optlen, len, READ_ONCE(rs->recverr));
	case RDS_PEER_TIMEOUT:
		return put_int(optval, optlen, len,
			       READ_ONCE(rs->peer_timeout));
	case SO_RDS_TRANSPORT:
		return put_int(optval, optlen, len, rds_transport_get(rs));
	}
	return -ENOPROTOOPT;
}

/*
 * A type of service other than 0 cannot be changed, nor any after a connection
 * was looked up.
 */
static int set_tos(struct rds_sock *rs, u8 __user *arg)
{
	rds_tos_t tos;
	int err = 0;

	if (get_user(tos, arg))
		return -EFAULT;
	lock_sock(&rs->sk);
	if (!rs->trans || !rs->trans->map_tos)
		err = -ENOIOCTLCMD;
	else if (rs->tos || READ_ONCE(rs->has_sent))
		err = -EINVAL;
	else
		WRITE_ONCE(rs->tos, rs->trans->map_tos(tos));
	release_sock(&rs->sk);
	return err;
}

/**
 * rds_ioctl - ioctl(2)
 * @sock: socket
 * @cmd: SIOCRDSSETTOS or SIOCRDSGETTOS
 * @arg: points to one byte
 *
 * Return: 0, -EFAULT, -EINVAL, or -ENOIOCTLCMD, which the program sees as
 * ENOTTY.
 */
int rds_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct rds_sock *rs = rds_sk(sock->sk);

	switch (cmd) {
	case SIOCRDSSETTOS:
		return set_tos(rs, (u8 __user *)arg);
	case SIOCRDSGETTOS:
		return put_user(READ_ONCE(rs->tos), (u8 __user *)arg);
	}
	return -ENOIOCTLCMD;
}
