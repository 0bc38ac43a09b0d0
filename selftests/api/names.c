// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* getsockname and getpeername. */
#include "api.h"

#include <net/if.h>

static void show(const char *label, int fd, bool peer, socklen_t room)
{
	union addr a;
	socklen_t len = room;
	int err;
	char buf[32];

	memset(&a, 0x55, sizeof(a));
	err = peer ? getpeername(fd, &a.sa, &len) :
		     getsockname(fd, &a.sa, &len);
	if (err) {
		r(label, -errno);
		return;
	}
	note("%s=%s/%u", label, val_name(a.sa.sa_family, buf), len);
}

static void unbound(const struct api_case *c)
{
	static const char zero[16];
	union addr a;
	socklen_t len = sizeof(a);
	int fd = sock();

	(void)c;
	memset(&a, 0x55, sizeof(a));
	need(!getsockname(fd, &a.sa, &len));
	r("len", len);
	r("family", a.sa.sa_family);
	r("zero", !memcmp(&a, zero, 16));
	show("peer", fd, true, sizeof(a));
}

static void connected(const struct api_case *c)
{
	int fd = sock();
	union addr a;
	union addr want = addr_of(c->arg, 4000);
	socklen_t len = sizeof(a);

	need(!do_connect(fd, c->arg, 4000));
	show("name", fd, false, sizeof(a));
	show("peer", fd, true, sizeof(a));
	memset(&a, 0x55, sizeof(a));
	need(!getpeername(fd, &a.sa, &len));
	if (want.sa.sa_family == AF_INET6)
		r("rest", a.in6.sin6_flowinfo | a.in6.sin6_scope_id);
	r("equal", addr_eq(&a, &want));
	len = sizeof(a);
	need(!getsockname(fd, &a.sa, &len));
	r("port", addr_port(&a));
	r("zero",
	  IN6_IS_ADDR_UNSPECIFIED(&a.in6.sin6_addr) || !a.in.sin_addr.s_addr);
}

static void after_bind(const struct api_case *c)
{
	int fd = bound(NS_A, c->arg, 0);
	union addr a, want = addr_of(c->arg, 0);
	socklen_t len = sizeof(a);

	show("name", fd, false, sizeof(a));
	show("peer", fd, true, sizeof(a));
	need(!getsockname(fd, &a.sa, &len));
	r("port", addr_port(&a) != 0);
	want = addr_of(c->arg, addr_port(&a));
	r("equal", addr_eq(&a, &want));
	need(!do_connect(fd, c->arg, 4001));
	show("peer", fd, true, sizeof(a));
	show("name", fd, false, sizeof(a));
}

static void rooms(const struct api_case *c)
{
	int fd = bound(NS_A, c->arg, 0);
	int len;

	need(!do_connect(fd, c->arg, 4001));
	for (len = 0; len <= 30; len++) {
		unsigned char b[128];
		socklen_t out = len;
		int err, i;

		memset(b, 0x55, sizeof(b));
		err = getsockname(fd, (void *)b, &out) ? -errno : (int)out;
		for (i = len; i < 128; i++)
			if (b[i] != 0x55)
				bail("byte %d written with %d of room", i, len);
		sweep(len, err);
	}
	sweep_end("name");
	show("negative", fd, false, -1);
	r("fault", getsockname(fd, (void *)8, &(socklen_t){ 28 }) ? -errno : 0);
	r("fault_len", getpeername(fd, (void *)8, (void *)8) ? -errno : 0);
}

static void scope(const struct api_case *c)
{
	char ll[64];
	union addr a = addr_of(link_local(ll), 4000), b = { 0 };
	socklen_t len = sizeof(b);
	int fd = sock();

	(void)c;
	need(!connect(fd, &a.sa, sizeof(a.in6)));
	need(!getpeername(fd, &b.sa, &len));
	r("peer_scope", b.in6.sin6_scope_id == if_nametoindex("veth0"));
}

const struct api_case names_cases[] = {
	{ "names.unbound", unbound, "len=16 family=0 zero=1 peer=ENOTCONN" },
	{ "names.connected_v4", connected, "name=2/16 peer=2/16 equal=1 port=0 zero=1", .arg = B4 },
	{ "names.connected_v6", connected, "name=10/28 peer=10/28 rest=0 equal=1 port=0 zero=1",
	  .arg = B6 },
	{ "names.bound_v4", after_bind, "name=2/16 peer=ENOTCONN port=1 equal=1 peer=2/16 "
	  "name=2/16", .arg = A4 },
	{ "names.bound_v6", after_bind,
	  "name=10/28 peer=ENOTCONN port=1 equal=1 peer=10/28 name=10/28", .arg = A6 },
	{ "names.bound_lo4", after_bind, "name=2/16 peer=ENOTCONN port=1 equal=1 peer=2/16 "
	  "name=2/16", .arg = "127.0.0.1" },
	{ "names.room_v4", rooms, "name=0-30:16 negative=EINVAL fault=EFAULT fault_len=EFAULT",
	  .arg = A4 },
	{ "names.room_v6", rooms, "name=0-30:28 negative=EINVAL fault=EFAULT fault_len=EFAULT",
	  .arg = A6 },
	{ "names.scope", scope, "peer_scope=1" },
	{ }
};
