// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Names of sockets: as programs write them, as this module keeps them, and the
 * local address that leads to a peer.
 */
#include <linux/in.h>
#include <linux/module.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/xfrm.h>
#include <rdma/rdma_cm.h>

#include "inet.h"
#include "net.h"
#include "sock.h"

bool rds_ss_name_any(const struct in6_addr *addr)
{
	return ipv6_addr_any(addr) ||
	       (ipv6_addr_v4mapped(addr) && !addr->s6_addr32[3]);
}

static int read_in(const struct sockaddr_in *in, int len,
		   struct rds_ss_name *name)
{
	if (len < (int)sizeof(*in))
		return -EINVAL;
	ipv6_addr_set_v4mapped(in->sin_addr.s_addr, &name->addr);
	name->port = be16_to_cpu(in->sin_port);
	return 0;
}

static int read_in6(const struct sockaddr_in6 *in6, int len,
		    struct rds_ss_name *name)
{
	/* As TCP does, without the scope of RFC 2553. */
	if (len < SIN6_LEN_RFC2133)
		return -EINVAL;
	name->addr = in6->sin6_addr;
	name->port = be16_to_cpu(in6->sin6_port);
	if (!(ipv6_addr_type(&name->addr) & IPV6_ADDR_LINKLOCAL))
		return 0;
	if (len < (int)sizeof(*in6) || !in6->sin6_scope_id)
		return -EINVAL;
	name->scope = in6->sin6_scope_id;
	return 0;
}

/*
 * A socket keeps the family of the first name: -EAFNOSUPPORT for the other one.
 */
int rds_ss_name_read(struct rds_ss_sock *ss,
		     const struct sockaddr_unsized *uaddr, int len,
		     struct rds_ss_name *name)
{
	const struct sockaddr *sa = (const struct sockaddr *)uaddr;

	memset(name, 0, sizeof(*name));
	if (len < (int)sizeof(sa->sa_family))
		return -EINVAL;
	if (sa->sa_family != AF_INET && sa->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	if (ss->family && ss->family != sa->sa_family)
		return -EAFNOSUPPORT;
	return sa->sa_family == AF_INET ?
		       read_in((const void *)uaddr, len, name) :
		       read_in6((const void *)uaddr, len, name);
}

/* The length of the name */
int rds_ss_name_write(const struct rds_ss_sock *ss,
		      const struct rds_ss_name *name, struct sockaddr *to)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)to;
	struct sockaddr_in *in = (struct sockaddr_in *)to;

	if (ss->family == AF_INET6) {
		memset(in6, 0, sizeof(*in6));
		in6->sin6_family = AF_INET6;
		in6->sin6_port = cpu_to_be16(name->port);
		in6->sin6_addr = name->addr;
		in6->sin6_scope_id = name->scope;
		return sizeof(*in6);
	}
	memset(in, 0, sizeof(*in));
	in->sin_family = AF_INET;
	in->sin_port = cpu_to_be16(name->port);
	in->sin_addr.s_addr = name->addr.s6_addr32[3];
	return sizeof(*in);
}

void rds_ss_name_cm(struct rds_ss_name *name, const struct sockaddr_storage *ss)
{
	memset(name, 0, sizeof(*name));
	if (ss->ss_family == AF_INET)
		read_in((const void *)ss, sizeof(struct sockaddr_in), name);
	else
		read_in6((const void *)ss, sizeof(struct sockaddr_in6), name);
}

/* The flow that a connection of TCP would be */
static void flow4(const struct rds_ss_sock *ss, const struct rds_ss_name *to,
		  const struct in6_addr *from, struct flowi4 *fl4)
{
	const struct sock *sk = &ss->sk;

	memset(fl4, 0, sizeof(*fl4));
	flowi4_init_output(fl4, READ_ONCE(sk->sk_bound_dev_if),
			   READ_ONCE(sk->sk_mark),
			   RT_TOS(rds_ss_inet_tos(ss, &to->addr)),
			   RT_SCOPE_UNIVERSE, IPPROTO_TCP, 0,
			   to->addr.s6_addr32[3],
			   rds_ss_name_any(from) ? 0 : from->s6_addr32[3],
			   cpu_to_be16(to->port), 0, sk->sk_uid);
}

static void flow6(const struct rds_ss_sock *ss, const struct rds_ss_name *to,
		  const struct in6_addr *from, struct flowi6 *fl6)
{
	const struct sock *sk = &ss->sk;

	memset(fl6, 0, sizeof(*fl6));
	fl6->flowi6_oif = to->scope ?: READ_ONCE(sk->sk_bound_dev_if);
	fl6->flowi6_mark = READ_ONCE(sk->sk_mark);
	fl6->flowi6_proto = IPPROTO_TCP;
	fl6->flowi6_uid = sk->sk_uid;
	fl6->flowlabel = ip6_make_flowinfo(rds_ss_inet_tos(ss, &to->addr), 0);
	fl6->daddr = to->addr;
	if (!rds_ss_name_any(from))
		fl6->saddr = *from;
	fl6->fl6_dport = cpu_to_be16(to->port);
}

static int route4(const struct rds_ss_sock *ss, const struct rds_ss_name *to,
		  struct in6_addr *from)
{
	struct flowi4 fl4;
	struct rtable *rt;

	flow4(ss, to, from, &fl4);
	rt = __ip_route_output_key(ss->sn->net, &fl4);
	if (IS_ERR(rt))
		return PTR_ERR(rt);
	ipv6_addr_set_v4mapped(fl4.saddr, from);
	ip_rt_put(rt);
	return 0;
}

static int route6(const struct rds_ss_sock *ss, const struct rds_ss_name *to,
		  struct in6_addr *from)
{
	struct dst_entry *dst;
	struct flowi6 fl6;

	flow6(ss, to, from, &fl6);
	dst = ip6_dst_lookup_flow(ss->sn->net, NULL, &fl6, NULL);
	if (IS_ERR(dst))
		return PTR_ERR(dst);
	*from = fl6.saddr;
	dst_release(dst);
	return 0;
}

/*
 * The route of a flow, counted, or NULL if a policy of IPsec, of the host or of
 * the TCP socket, has something to say of it.  @dst is taken over.
 */
static struct dst_entry *plain(const struct rds_ss_sock *ss,
			       struct dst_entry *dst, const struct flowi *fl)
{
	dst = xfrm_lookup(ss->sn->net, dst, fl, ss->tcp->sk, 0);
	if (IS_ERR(dst))
		return NULL;
	if (!dst_xfrm(dst))
		return dst;
	dst_release(dst);
	return NULL;
}

/*
 * Whether neither a gateway nor IPsec is between the local address @from and
 * @to; as TCP would go there.
 */
static bool near4(const struct rds_ss_sock *ss, const struct rds_ss_name *to,
		  const struct in6_addr *from)
{
	struct dst_entry *dst;
	struct flowi4 fl4;
	struct rtable *rt;
	bool near;

	flow4(ss, to, from, &fl4);
	rt = __ip_route_output_key(ss->sn->net, &fl4);
	if (IS_ERR(rt))
		return false;
	dst = plain(ss, &rt->dst, flowi4_to_flowi(&fl4));
	if (!dst)
		return false;
	rt = (struct rtable *)dst;
	/* That to an address of this host may have a gateway of its prefix. */
	near = rt->rt_type == RTN_LOCAL ||
	       (rt->rt_type == RTN_UNICAST && !rt->rt_gw_family);
	dst_release(dst);
	return near;
}

static bool near6(const struct rds_ss_sock *ss, const struct rds_ss_name *to,
		  const struct in6_addr *from)
{
	struct dst_entry *dst;
	struct flowi6 fl6;
	bool near;

	flow6(ss, to, from, &fl6);
	if (ip6_dst_lookup(ss->sn->net, ss->tcp->sk, &dst, &fl6))
		return false;
	dst = plain(ss, dst, flowi6_to_flowi(&fl6));
	if (!dst)
		return false;
	near = !(((struct rt6_info *)dst)->rt6i_flags & RTF_GATEWAY);
	dst_release(dst);
	return near;
}

bool rds_ss_name_near(const struct rds_ss_sock *ss,
		      const struct rds_ss_name *to, const struct in6_addr *from)
{
	return ipv6_addr_v4mapped(&to->addr) ? near4(ss, to, from) :
					       near6(ss, to, from);
}

/*
 * The local address of a socket that connects to @to: its own if it is bound to
 * one, else that of the route.
 */
int rds_ss_name_route(struct rds_ss_sock *ss, const struct rds_ss_name *to,
		      struct rds_dev_laddr *la)
{
	struct in6_addr from = ss->local.addr;
	int err;

	memset(la, 0, sizeof(*la));
	la->net = ss->sn->net;
	la->scope = to->scope ?: ss->local.scope;
	if (rds_ss_name_any(&to->addr))
		return -EADDRNOTAVAIL;
	if (rds_ss_name_any(&from))
		err = ipv6_addr_v4mapped(&to->addr) ? route4(ss, to, &from) :
						     route6(ss, to, &from);
	else
		err = ipv6_addr_v4mapped(&to->addr) ==
				      ipv6_addr_v4mapped(&from) ?
			      0 : -ENETUNREACH;
	la->addr = from;
	return err;
}
