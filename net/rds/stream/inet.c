// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Streams as a protocol of AF_INET and AF_INET6; inet.h says what for.
 *
 * The families make a socket by their own code and ask &proto.init for the
 * rest.  They know a socket that is bound by its inet_num, which is 0 here for
 * ever: ports are those of rdma_cm, and there is no table of sockets.
 */
#include <linux/in.h>
#include <linux/module.h>
#include <linux/net.h>
#include <net/inet_common.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <net/protocol.h>
#include <net/transp_v6.h>
#include <linux/rds_stream.h>

#include <net/rds/family.h>

#include "inet.h"
#include "main.h"
#include "mem.h"
#include "rule.h"
#include "sock.h"
#include "tcp.h"

/*
 * What is free between SMC and MPTCP.  The families would let this module have
 * those two as well.
 */
#define IPPROTO_LOW	257
#define IPPROTO_HIGH	261

static ushort ipproto = IPPROTO_RDS_STREAM;
module_param(ipproto, ushort, 0444);
MODULE_PARM_DESC(ipproto,
		 "protocol of AF_INET and AF_INET6 that is a stream (257-261); 0: none");

/* Options at the levels of IP and IPv6 that programs for TCP set */
enum inet_opt {
	OPT_TOS,
	OPT_TTL,
	OPT_PMTU,
	OPT_RECVERR,
	OPT_PKTINFO,
	OPT_RECVTOS,
	OPT_RECVTTL,
	OPT_NO_PORT,
	OPT6_ONLY,
	OPT6_TCLASS,
	OPT6_HOPS,
	OPT6_PMTU,
	OPT6_RECVERR,
	OPT6_PKTINFO,
	OPT6_RECVTCLASS,
	OPT6_RECVHOPS,
	OPT6_DONTFRAG,
	NR_OPTS
};

/**
 * struct inet_opt_rule - what an option may be; all but the ports, the classes
 * of traffic and IPV6_V6ONLY are kept without effect
 * @level: SOL_IP or SOL_IPV6
 * @name: number there
 * @low: lowest value
 * @high: highest value; 1 for a flag, which any value but 0 sets
 * @first: value of a new socket, and of one that is set to -1
 */
struct inet_opt_rule {
	u8	level;
	u8	name;
	s16	low;
	s16	high;
	s16	first;
};

static const struct inet_opt_rule rules[NR_OPTS] = {
	[OPT_TOS]	= { SOL_IP, IP_TOS, 0, 255, 0 },
	[OPT_TTL]	= { SOL_IP, IP_TTL, 1, 255, 64 },
	[OPT_PMTU]	= { SOL_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT,
			    IP_PMTUDISC_OMIT, IP_PMTUDISC_WANT },
	[OPT_RECVERR]	= { SOL_IP, IP_RECVERR, 0, 1, 0 },
	[OPT_PKTINFO]	= { SOL_IP, IP_PKTINFO, 0, 1, 0 },
	[OPT_RECVTOS]	= { SOL_IP, IP_RECVTOS, 0, 1, 0 },
	[OPT_RECVTTL]	= { SOL_IP, IP_RECVTTL, 0, 1, 0 },
	[OPT_NO_PORT]	= { SOL_IP, IP_BIND_ADDRESS_NO_PORT, 0, 1, 0 },
	[OPT6_ONLY]	= { SOL_IPV6, IPV6_V6ONLY, 0, 1, 0 },
	[OPT6_TCLASS]	= { SOL_IPV6, IPV6_TCLASS, 0, 255, 0 },
	[OPT6_HOPS]	= { SOL_IPV6, IPV6_UNICAST_HOPS, 0, 255, 64 },
	[OPT6_PMTU]	= { SOL_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DONT,
			    IPV6_PMTUDISC_OMIT, IPV6_PMTUDISC_WANT },
	[OPT6_RECVERR]	= { SOL_IPV6, IPV6_RECVERR, 0, 1, 0 },
	[OPT6_PKTINFO]	= { SOL_IPV6, IPV6_RECVPKTINFO, 0, 1, 0 },
	[OPT6_RECVTCLASS] = { SOL_IPV6, IPV6_RECVTCLASS, 0, 1, 0 },
	[OPT6_RECVHOPS]	= { SOL_IPV6, IPV6_RECVHOPLIMIT, 0, 1, 0 },
	[OPT6_DONTFRAG]	= { SOL_IPV6, IPV6_DONTFRAG, 0, 1, 0 },
};

/**
 * struct inet_stream - socket of AF_INET, and the begin of one of AF_INET6
 * @ss: what a socket of AF_RDS is
 * @opt: options, but for IPV6_V6ONLY, which is sk_ipv6only; under the socket
 *	lock
 */
struct inet_stream {
	struct rds_ss_sock	ss;
	s16			opt[NR_OPTS];
};

/**
 * struct inet6_stream - socket of AF_INET6
 * @v4: socket
 * @pinfo: what inet6_sk() finds
 */
struct inet6_stream {
	struct inet_stream	v4;
	struct ipv6_pinfo	pinfo;
};

/* For kernels that look for it at the end */
static_assert(offsetofend(struct inet6_stream, pinfo) ==
	      sizeof(struct inet6_stream));

static struct inet_stream *stream_of(const struct rds_ss_sock *ss)
{
	return container_of((struct rds_ss_sock *)ss, struct inet_stream, ss);
}

/* Options */

u8 rds_ss_inet_tos(const struct rds_ss_sock *ss, const struct in6_addr *to)
{
	if (ss->sk.sk_family == AF_RDS)
		return 0;
	return stream_of(ss)->opt[ipv6_addr_v4mapped(to) ? OPT_TOS :
							   OPT6_TCLASS];
}

bool rds_ss_inet_no_port(const struct rds_ss_sock *ss)
{
	return ss->sk.sk_family != AF_RDS && stream_of(ss)->opt[OPT_NO_PORT];
}

/* The options of IP are those of a socket of AF_INET6, too. */
static int opt_find(const struct sock *sk, int level, int optname)
{
	int i;

	if (level == SOL_IPV6 && sk->sk_family != AF_INET6)
		return -ENOPROTOOPT;
	for (i = 0; i < NR_OPTS; i++)
		if (rules[i].level == level && rules[i].name == optname)
			return i;
	return -ENOPROTOOPT;
}

static int opt_read(int level, sockptr_t optval, unsigned int optlen, int *val)
{
	u8 byte;

	if (optlen >= sizeof(*val))
		return copy_from_sockptr(val, optval, sizeof(*val)) ?
			       -EFAULT : 0;
	if (level != SOL_IP || !optlen)
		return -EINVAL;
	if (copy_from_sockptr(&byte, optval, sizeof(byte)))
		return -EFAULT;
	*val = byte;
	return 0;
}

static int opt_set(struct sock *sk, int nr, int val)
{
	const struct inet_opt_rule *rule = &rules[nr];
	struct rds_ss_sock *ss = rds_ss_sk(sk);

	if (rule->high == 1)
		val = !!val;
	else if (val == -1)
		val = rule->first;
	if (val < rule->low || val > rule->high)
		return -EINVAL;
	/* Congestion is the business of devices. */
	if (nr == OPT_TOS || nr == OPT6_TCLASS)
		val &= ~INET_ECN_MASK;
	if (nr == OPT6_ONLY) {
		if (ss->bound || ss->local.port || rds_ss_sock_owned(ss))
			return -EINVAL;
		sk->sk_ipv6only = val;
	}
	stream_of(ss)->opt[nr] = val;
	return 0;
}

static int setsockopt_own(struct socket *sock, int level, int optname,
			  sockptr_t optval, unsigned int optlen)
{
	struct sock *sk = sock->sk;
	int val, nr, err;

	if (level != SOL_IP && level != SOL_IPV6)
		return rds_ss_setsockopt_own(sock, level, optname, optval,
					     optlen);
	nr = opt_find(sk, level, optname);
	if (nr < 0)
		return nr;
	err = opt_read(level, optval, optlen, &val);
	if (err)
		return err;
	lock_sock(sk);
	err = opt_set(sk, nr, val);
	release_sock(sk);
	return err;
}

static int inet_stream_setsockopt(struct socket *sock, int level, int optname,
				  sockptr_t optval, unsigned int optlen)
{
	return rds_ss_setsockopt_both(sock, level, optname, optval, optlen,
				      setsockopt_own);
}

static int inet_stream_getsockopt(struct socket *sock, int level, int optname,
				  char __user *optval, int __user *optlen)
{
	struct sock *sk = sock->sk;
	int val, len, nr;

	if ((level != SOL_IP && level != SOL_IPV6) ||
	    rds_ss_by_tcp(rds_ss_sk(sk)))
		return rds_ss_getsockopt(sock, level, optname, optval, optlen);
	nr = opt_find(sk, level, optname);
	if (nr < 0)
		return nr;
	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0)
		return -EINVAL;
	val = nr == OPT6_ONLY ? sk->sk_ipv6only :
				READ_ONCE(stream_of(rds_ss_sk(sk))->opt[nr]);
	len = min_t(unsigned int, len, sizeof(val));
	if (put_user(len, optlen) || copy_to_user(optval, &val, len))
		return -EFAULT;
	return 0;
}

void rds_ss_inet_options(struct rds_ss_sock *ss)
{
	int i, val;

	if (ss->sk.sk_family == AF_RDS)
		return;
	for (i = 0; i < NR_OPTS; i++) {
		val = stream_of(ss)->opt[i];
		if (val != rules[i].first)
			rds_ss_tcp_setsockopt(ss, rules[i].level,
					      rules[i].name,
					      KERNEL_SOCKPTR(&val),
					      sizeof(val));
	}
	ss->tcp->sk->sk_ipv6only = ss->sk.sk_ipv6only;
}

/* Calls that differ from those of AF_RDS */

/*
 * What a socket of AF_INET6 does not take for a name: @err if it has to do with
 * IPv6 alone, and the name is one of IPv4.
 */
static int check_name6(const struct sock *sk,
		       const struct sockaddr_unsized *uaddr, int len, int err)
{
	const struct sockaddr_in6 *in6 = (const void *)uaddr;

	if (sk->sk_family != AF_INET6)
		return 0;
	if (len < SIN6_LEN_RFC2133)
		return -EINVAL;
	return sk->sk_ipv6only && in6->sin6_family == AF_INET6 &&
	       ipv6_addr_v4mapped(&in6->sin6_addr) ? err : 0;
}

static int inet_stream_bind(struct socket *sock, struct sockaddr_unsized *uaddr,
			    int len)
{
	int err = check_name6(sock->sk, uaddr, len, -EINVAL);
	struct sockaddr_in in;

	/* TCP does the same by itself. */
	if (rds_ss_by_rule(rds_ss_sk(sock->sk)))
		return rds_ss_rule_bind(sock, uaddr, len);
	if (err || rds_ss_by_tcp(rds_ss_sk(sock->sk)))
		return err ?: rds_ss_bind(sock, uaddr, len);
	if (sock->sk->sk_family != AF_INET || len < (int)sizeof(in))
		return rds_ss_bind(sock, uaddr, len);
	/* As TCP does for old programs: no family, and any address */
	memcpy(&in, uaddr, sizeof(in));
	if (in.sin_family == AF_UNSPEC && !in.sin_addr.s_addr)
		in.sin_family = AF_INET;
	return rds_ss_bind(sock, (struct sockaddr_unsized *)&in, sizeof(in));
}

static int inet_stream_connect_to(struct socket *sock,
				  struct sockaddr_unsized *uaddr, int len,
				  int flags)
{
	int err = 0;

	/* TCP does the same by itself. */
	if (!rds_ss_by_tcp(rds_ss_sk(sock->sk)))
		err = check_name6(sock->sk, uaddr, len, -ENETUNREACH);
	return err ?: rds_ss_connect(sock, uaddr, len, flags);
}

/* What is not about the stream is about the host, and the family answers. */
static int inet_stream_ioctl(struct socket *sock, unsigned int cmd,
			     unsigned long arg)
{
	int err = rds_ss_ioctl(sock, cmd, arg);

	/* TCP's answer is that of the family. */
	if (err != -ENOIOCTLCMD || rds_ss_by_tcp(rds_ss_sk(sock->sk)))
		return err;
	return sock->sk->sk_family == AF_INET6 ? inet6_ioctl(sock, cmd, arg) :
						 inet_ioctl(sock, cmd, arg);
}

/* Sockets */

/* After ours the family's, which expects what TCP leaves. */
static void inet_stream_destruct(struct sock *sk)
{
	rds_ss_sock_destruct(sk);
	sk->sk_state = TCP_CLOSE;
	atomic_set(&sk->sk_rmem_alloc, 0);
	if (sk->sk_family == AF_INET6)
		inet6_sock_destruct(sk);
	else
		inet_sock_destruct(sk);
}

static void inet_stream_setup(struct sock *sk)
{
	struct inet_stream *is = stream_of(rds_ss_sk(sk));
	int i;

	sk->sk_destruct = inet_stream_destruct;
	is->ss.family = sk->sk_family;
	for (i = 0; i < NR_OPTS; i++)
		is->opt[i] = rules[i].first;
}

/*
 * The lock of a TCP socket below is taken within this one, which would have the
 * same class.
 */
static void inet_stream_class(struct sock *sk)
{
	static struct lock_class_key slock, lock;

	sock_lock_init_class_and_name(sk, "slock-RDS-STREAM-IP", &slock,
				      "sk_lock-RDS-STREAM-IP", &lock);
}

static int carrier_first(struct rds_ss_sock *ss, struct socket *sock)
{
	enum rds_ss_carrier first = rds_ss_rule_first(ss->sn);
	int err;

	if (first == RDS_SS_BY_RDMA)
		return 0;
	err = rds_ss_tcp_create(ss, sock);
	if (!err)
		/* Nobody else has the socket yet. */
		WRITE_ONCE(ss->carrier, first);
	return err;
}

/* Implements &proto.init: the family frees the socket if this fails. */
static int inet_stream_init(struct sock *sk)
{
	/* A socket of the kernel belongs to no process. */
	int err = sk->sk_kern_sock ? 0 : rds_family_may_open(sock_net(sk));

	if (err)
		return err;
	rds_ss_sock_setup(sk);
	inet_stream_setup(sk);
	inet_stream_class(sk);
	return carrier_first(rds_ss_sk(sk), sk->sk_socket);
}

void rds_ss_inet_like(struct sock *sk, const struct sock *from)
{
	struct inet_stream *is = stream_of(rds_ss_sk(sk));

	sk->sk_protocol = from->sk_protocol;
	sk->sk_ipv6only = from->sk_ipv6only;
	if (sk->sk_family == AF_INET6)
		inet_sk(sk)->pinet6 = &container_of(is, struct inet6_stream,
						    v4)->pinfo;
	inet_stream_setup(sk);
	inet_stream_class(sk);
	memcpy(is->opt, stream_of(rds_ss_sk(from))->opt, sizeof(is->opt));
}

/* The family calls both when it frees a socket; no table has it. */
static int inet_stream_hash(struct sock *sk)
{
	return 0;
}

static void inet_stream_unhash(struct sock *sk)
{
}

/* Tables */

static const struct proto_ops inet_stream_calls = {
	.family		= PF_INET,
	.owner		= THIS_MODULE,
	.release	= rds_ss_release,
	.bind		= inet_stream_bind,
	.connect	= inet_stream_connect_to,
	.socketpair	= sock_no_socketpair,
	.accept		= rds_ss_accept,
	.getname	= rds_ss_getname,
	.poll		= rds_ss_poll,
	.ioctl		= inet_stream_ioctl,
	.listen		= rds_ss_listen,
	.shutdown	= rds_ss_shutdown,
	.setsockopt	= inet_stream_setsockopt,
	.getsockopt	= inet_stream_getsockopt,
	.sendmsg	= rds_ss_sendmsg,
	.recvmsg	= rds_ss_recvmsg,
	RDS_SPLICE_EOF(rds_ss_splice_eof)
	.set_rcvlowat	= rds_ss_set_rcvlowat,
	.mmap		= sock_no_mmap,
};

static const struct proto_ops inet6_stream_calls = {
	.family		= PF_INET6,
	.owner		= THIS_MODULE,
	.release	= rds_ss_release,
	.bind		= inet_stream_bind,
	.connect	= inet_stream_connect_to,
	.socketpair	= sock_no_socketpair,
	.accept		= rds_ss_accept,
	.getname	= rds_ss_getname,
	.poll		= rds_ss_poll,
	.ioctl		= inet_stream_ioctl,
	.listen		= rds_ss_listen,
	.shutdown	= rds_ss_shutdown,
	.setsockopt	= inet_stream_setsockopt,
	.getsockopt	= inet_stream_getsockopt,
	.sendmsg	= rds_ss_sendmsg,
	.recvmsg	= rds_ss_recvmsg,
	RDS_SPLICE_EOF(rds_ss_splice_eof)
	.set_rcvlowat	= rds_ss_set_rcvlowat,
	.mmap		= sock_no_mmap,
};

static struct proto inet_stream_proto = {
	.name			= "RDS-STREAM-IP",
	.owner			= THIS_MODULE,
	.obj_size		= sizeof(struct inet_stream),
	.init			= inet_stream_init,
	.hash			= inet_stream_hash,
	.unhash			= inet_stream_unhash,
	.keepalive		= rds_ss_clock_set,
	.stream_memory_free	= rds_ss_memory_free,
	.memory_allocated	= &rds_ss_mem_pages,
	.per_cpu_fw_alloc	= &rds_ss_mem_pages_here,
	.sysctl_mem		= rds_ss_mem_limits,
	.sysctl_rmem		= &rds_ss_mem_small,
	.sysctl_wmem		= &rds_ss_mem_small,
};

static struct proto inet6_stream_proto = {
	.name			= "RDS-STREAM-IPv6",
	.owner			= THIS_MODULE,
	.obj_size		= sizeof(struct inet6_stream),
	RDS_PROTO_PINFO(offsetof(struct inet6_stream, pinfo))
	.init			= inet_stream_init,
	.hash			= inet_stream_hash,
	.unhash			= inet_stream_unhash,
	.keepalive		= rds_ss_clock_set,
	.stream_memory_free	= rds_ss_memory_free,
	.memory_allocated	= &rds_ss_mem_pages,
	.per_cpu_fw_alloc	= &rds_ss_mem_pages_here,
	.sysctl_mem		= rds_ss_mem_limits,
	.sysctl_rmem		= &rds_ss_mem_small,
	.sysctl_wmem		= &rds_ss_mem_small,
};

static struct inet_protosw inet_stream_sw = {
	.list	= LIST_HEAD_INIT(inet_stream_sw.list),
	.type	= SOCK_STREAM,
	.prot	= &inet_stream_proto,
	.ops	= &inet_stream_calls,
};

static struct inet_protosw inet6_stream_sw = {
	.list	= LIST_HEAD_INIT(inet6_stream_sw.list),
	.type	= SOCK_STREAM,
	.prot	= &inet6_stream_proto,
	.ops	= &inet6_stream_calls,
};

/* Both families, or none */
static int switches_init(void)
{
	int err;

	inet_stream_sw.protocol = ipproto;
	inet6_stream_sw.protocol = ipproto;
	err = inet6_register_protosw(&inet6_stream_sw);
	if (err)
		return err;
	inet_register_protosw(&inet_stream_sw);
	/* There is no other sign of a refusal. */
	if (!list_empty(&inet_stream_sw.list))
		return 0;
	inet6_unregister_protosw(&inet6_stream_sw);
	return -EPERM;
}

int rds_ss_inet_init(void)
{
	int err;

	if (!ipproto)
		return 0;
	if (ipproto < IPPROTO_LOW || ipproto > IPPROTO_HIGH)
		return -EINVAL;
	err = proto_register(&inet_stream_proto, 1);
	if (err)
		return err;
	err = proto_register(&inet6_stream_proto, 1);
	if (err)
		goto out_v4;
	err = switches_init();
	if (!err)
		return 0;
	proto_unregister(&inet6_stream_proto);
out_v4:
	proto_unregister(&inet_stream_proto);
	return err;
}

void rds_ss_inet_exit(void)
{
	if (!ipproto)
		return;
	inet_unregister_protosw(&inet_stream_sw);
	inet6_unregister_protosw(&inet6_stream_sw);
	proto_unregister(&inet6_stream_proto);
	proto_unregister(&inet_stream_proto);
}
