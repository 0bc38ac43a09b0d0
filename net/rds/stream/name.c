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
#include <rdma/rdma_cm.h>

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

static int route4(struct net *net, const struct rds_ss_name *to,
		  struct in6_addr *from)
{
	struct flowi4 fl4 = {
		.daddr = to->addr.s6_addr32[3],
		.saddr = rds_ss_name_any(from) ? 0 : from->s6_addr32[3],
	};
	struct rtable *rt = ip_route_output_key(net, &fl4);

	if (IS_ERR(rt))
		return PTR_ERR(rt);
	ipv6_addr_set_v4mapped(fl4.saddr, from);
	ip_rt_put(rt);
	return 0;
}

static int route6(struct net *net, const struct rds_ss_name *to,
		  struct in6_addr *from)
{
	struct flowi6 fl6 = {
		.daddr = to->addr,
		.flowi6_oif = to->scope,
	};
	struct dst_entry *dst;

	if (!rds_ss_name_any(from))
		fl6.saddr = *from;
	dst = ip6_dst_lookup_flow(net, NULL, &fl6, NULL);
	if (IS_ERR(dst))
		return PTR_ERR(dst);
	*from = fl6.saddr;
	dst_release(dst);
	return 0;
}

/*
 * Whether no gateway is between the local address @from and @to; as TCP would
 * go there.
 */
static bool near4(const struct sock *sk, const struct rds_ss_name *to,
		  const struct in6_addr *from)
{
	struct flowi4 fl4 = {
		.daddr = to->addr.s6_addr32[3],
		.saddr = from->s6_addr32[3],
		.flowi4_oif = READ_ONCE(sk->sk_bound_dev_if),
		.flowi4_mark = READ_ONCE(sk->sk_mark),
	};
	struct rtable *rt = ip_route_output_key(sock_net(sk), &fl4);
	bool near;

	if (IS_ERR(rt))
		return false;
	/* That to an address of this host may have a gateway of its prefix. */
	near = rt->rt_type == RTN_LOCAL ||
	       (rt->rt_type == RTN_UNICAST && !rt->rt_gw_family);
	ip_rt_put(rt);
	return near;
}

static bool near6(const struct sock *sk, const struct rds_ss_name *to,
		  const struct in6_addr *from)
{
	struct flowi6 fl6 = {
		.daddr = to->addr,
		.saddr = *from,
		.flowi6_oif = to->scope ?: READ_ONCE(sk->sk_bound_dev_if),
		.flowi6_mark = READ_ONCE(sk->sk_mark),
	};
	struct dst_entry *dst;
	bool near;

	dst = ip6_dst_lookup_flow(sock_net(sk), NULL, &fl6, NULL);
	if (IS_ERR(dst))
		return false;
	near = !(((struct rt6_info *)dst)->rt6i_flags & RTF_GATEWAY);
	dst_release(dst);
	return near;
}

bool rds_ss_name_near(const struct sock *sk, const struct rds_ss_name *to,
		      const struct in6_addr *from)
{
	return ipv6_addr_v4mapped(&to->addr) ? near4(sk, to, from) :
					       near6(sk, to, from);
}

/*
 * The local address of a socket that connects to @to: its own if it is bound to
 * one, else that of the route.
 */
int rds_ss_name_route(struct rds_ss_sock *ss, const struct rds_ss_name *to,
		      struct rds_dev_laddr *la)
{
	struct net *net = ss->sn->net;
	struct in6_addr from = ss->local.addr;
	int err;

	memset(la, 0, sizeof(*la));
	la->net = net;
	la->scope = to->scope ?: ss->local.scope;
	if (rds_ss_name_any(&to->addr))
		return -EADDRNOTAVAIL;
	if (rds_ss_name_any(&from))
		err = ipv6_addr_v4mapped(&to->addr) ? route4(net, to, &from) :
						     route6(net, to, &from);
	else
		err = ipv6_addr_v4mapped(&to->addr) ==
				      ipv6_addr_v4mapped(&from) ?
			      0 : -ENETUNREACH;
	la->addr = from;
	return err;
}
