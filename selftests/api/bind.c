// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * bind(): lengths, families, every refusal in its order, port choice, and the
 * socket's state after a failure.
 */
#include "api.h"

#include <fcntl.h>
#include <net/if.h>

static void family_len(const struct api_case *c)
{
	union addr a;
	int len;

	for (len = 0; len <= 132; len++) {
		int fd = sock();

		a = addr_of(c->arg, lane0_port());
		sweep(len, bind(fd, &a.sa, len) ? -errno : 0);
		close(fd);
	}
	sweep_end(NULL);
}

static void families(const struct api_case *c)
{
	union addr a = addr_of(A4, 4000);
	int f;

	(void)c;
	for (f = 0; f <= 50; f++) {
		int fd = sock();

		if (f == AF_INET || f == AF_INET6)
			continue;
		a.ss.ss_family = f;
		sweep(f, bind(fd, &a.sa, sizeof(a)) ? -errno : 0);
		close(fd);
	}
	sweep_end(NULL);
}

/* Bind a new socket to arg and port num; num2: transport selected before. */
static void address(const struct api_case *c)
{
	int fd = sock();

	if (c->num2)
		r("select", set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, c->num2));
	r(NULL, do_bind(fd, c->arg, c->num ? c->num : lane0_port()));
}

static void mapped(const struct api_case *c)
{
	int fd = bound(NS_A, "::ffff:" A4, 0);
	union addr a = name_of(fd);

	(void)c;
	r("family", a.sa.sa_family);
	r("same", a.in.sin_addr.s_addr == addr_of(A4, 1).in.sin_addr.s_addr);
}

static void twice(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0);

	(void)c;
	r("same", do_bind(fd, A4, port_of(fd)));
	r("other_port", do_bind(fd, A4, 0));
	r("other_addr", do_bind(fd, A6, 0));
	r("bad_addr", do_bind(fd, "0.0.0.0", 0));
	r("foreign", do_bind(fd, HOLE4, 0));
}

static void scoped(const struct api_case *c)
{
	char ll[64];
	int fd = sock();
	union addr a = addr_of(link_local(ll), lane0_port());

	(void)c;
	r("own", bind(fd, &a.sa, sizeof(a.in6)) ? -errno : 0);
	a = name_of(fd);
	r("scope", a.in6.sin6_scope_id == if_nametoindex("veth0"));
	fd = sock();
	a.in6.sin6_scope_id = if_nametoindex("lo");
	r("other", bind(fd, &a.sa, sizeof(a.in6)) ? -errno : 0);
	a.in6.sin6_scope_id = 0;
	r("none", bind(fd, &a.sa, sizeof(a.in6)) ? -errno : 0);
	a.in6.sin6_scope_id = 9999;
	r("nobody", bind(fd, &a.sa, sizeof(a.in6)) ? -errno : 0);
}

static void scope_ignored(const struct api_case *c)
{
	int fd = sock();
	union addr a = addr_of(A6, lane0_port());

	(void)c;
	a.in6.sin6_scope_id = 77;
	r("bind", bind(fd, &a.sa, sizeof(a.in6)) ? -errno : 0);
	a = name_of(fd);
	r("scope", a.in6.sin6_scope_id);
}

static void connected_scope(const struct api_case *c)
{
	char ll[64];
	union addr a = addr_of(link_local(ll), 4000);
	int fd = sock();

	(void)c;
	r("connect", connect(fd, &a.sa, sizeof(a.in6)) ? -errno : 0);
	a.in6.sin6_scope_id = if_nametoindex("lo");
	r("other", bind(fd, &a.sa, sizeof(a.in6)) ? -errno : 0);
	a.in6.sin6_scope_id = if_nametoindex("veth0");
	r("same", bind(fd, &a.sa, sizeof(a.in6)) ? -errno : 0);
}

static void selected_loopback(const struct api_case *c)
{
	int fd = sock(), port = lane0_port();
	union addr to = addr_of(c->arg, port);
	struct rx x;
	char b[8];

	r("select", set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP));
	r("bind", do_bind(fd, c->arg, port));
	transport_note("transport", fd);
	r("send", send_to(fd, &to, 5, 0));
	x = rx_msg(fd, b, sizeof(b), 0, 0);
	rx_note("recv", &x);
}

static void in_use(const struct api_case *c)
{
	int fd = bound(NS_A, c->arg, 0), other = sock(), port = port_of(fd);

	r("second", do_bind(other, c->arg, port));
	r("other_addr", do_bind(other, c->num ? "::1" : "127.0.0.1", port));
	close(fd);
	fd = sock();
	r("after_close", do_bind(fd, c->arg, port));
}

static void in_use_mapped(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0), other = sock();

	(void)c;
	r(NULL, do_bind(other, "::ffff:" A4, port_of(fd)));
}

static void other_netns(const struct api_case *c)
{
	int fd = bound(NS_A, "127.0.0.1", 0), other = sock_in(NS_B);

	(void)c;
	r(NULL, do_bind(other, "127.0.0.1", port_of(fd)));
}

static void port_zero(const struct api_case *c)
{
	int fd[64], port[64], i, j, bad = 0, same = 0;

	for (i = 0; i < 64; i++) {
		fd[i] = sock();
		need(!do_bind(fd[i], c->arg, 0));
		port[i] = port_of(fd[i]);
		bad += port[i] < 2;
		for (j = 0; j < i; j++)
			same += port[i] == port[j];
	}
	r("bad", bad);
	r("same", same);
}

/*
 * When a bind fails after the transport check, in-tree forgets the transport
 * selected by SO_RDS_TRANSPORT; ours keeps it.
 */
static void forgets(const struct api_case *c)
{
	int fd = sock();

	r("select", set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP));
	r("bind", do_bind(fd, c->arg, c->num));
	transport_note("transport", fd);
	r("again", do_bind(fd, A4, lane0_port()));
	transport_note("transport", fd);
}

/*
 * A bind that fails forgets the transport it chose by the address: the next
 * bind may choose another.
 */
static void chose(const struct api_case *c)
{
	int fd = sock();

	(void)c;
	r("bind", do_bind(fd, A4, 1));
	transport_note("transport", fd);
	r("again", do_bind(fd, "127.0.0.1", 0));
	transport_note("transport", fd);
}

static long module_refs(void)
{
	int fd = ns_open(NS_A, "/sys/module/rds_tcp/refcnt", O_RDONLY);
	char b[32] = "";

	need(fd >= 0);
	need(read(fd, b, sizeof(b) - 1) > 0);
	close(fd);
	return atol(b);
}

static void refs_kept(const struct api_case *c)
{
	int used = bound(NS_A, A4, 0), fd = sock();
	long before = module_refs();

	(void)c;
	r("in_use", do_bind(fd, A4, port_of(used)));
	r("leaked", module_refs() - before);
	before = module_refs();
	r("port1", do_bind(fd, A4, 1));
	r("leaked", module_refs() - before);
	before = module_refs();
	r("foreign", do_bind(fd, HOLE4, 5000));
	r("leaked", module_refs() - before);
	before = module_refs();
	r("bound", do_bind(fd, A4, lane0_port()));
	r("held", module_refs() - before);
	close(fd);
	r("closed", module_refs() - before);
}

static void created(const struct api_case *c)
{
	static const int types[] = { 1, 2, 3, 4, 5, 6, 10 };
	unsigned int i;
	int p;

	(void)c;
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		int fd = socket(AF_RDS, types[i], 0);

		sweep(types[i], fd < 0 ? -errno : 0);
	}
	sweep_end("type");
	for (p = 1; p < 8; p++)
		sweep(p, socket(AF_RDS, SOCK_SEQPACKET, p) < 0 ? -errno : 0);
	sweep_end("protocol");
	r("cloexec",
	  fcntl(socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), F_GETFD));
	p = socket(AF_RDS, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	r("nonblock", fcntl(p, F_GETFL) & O_NONBLOCK);
}

const struct api_case bind_cases[] = {
	{ "bind.created", created, "type=1-4:ESOCKTNOSUPPORT,5:0,6:ESOCKTNOSUPPORT,"
	  "10:ESOCKTNOSUPPORT protocol=1-7:ESOCKTNOSUPPORT cloexec=1 nonblock=2048" },
	{ "bind.len_v4", family_len, "0-15:EINVAL,16-128:0,129-132:EINVAL", .arg = A4 },
	{ "bind.len_v6", family_len, "0-27:EINVAL,28-128:0,129-132:EINVAL", .arg = A6 },
	{ "bind.families", families, "0-1:EINVAL,3-9:EINVAL,11-50:EINVAL" },
	{ "bind.v4_any", address, "EINVAL", .arg = "0.0.0.0" },
	{ "bind.v4_broadcast", address, "EINVAL", .arg = "255.255.255.255" },
	{ "bind.v4_multicast", address, "EINVAL", .arg = "224.0.0.1" },
	{ "bind.v4_multicast_last", address, "EINVAL", .arg = "239.255.255.255" },
	{ "bind.v4_subnet_broadcast", address, "EADDRNOTAVAIL", .arg = "10.0.0.255" },
	{ "bind.v6_any", address, "EINVAL", .arg = "::" },
	{ "bind.v6_multicast", address, "EINVAL", .arg = "ff02::1" },
	{ "bind.v6_mapped_any", address, "EINVAL", .arg = "::ffff:0.0.0.0" },
	{ "bind.v6_mapped_broadcast", address, "EINVAL", .arg = "::ffff:255.255.255.255" },
	{ "bind.v6_mapped_multicast", address, "EINVAL", .arg = "::ffff:224.0.0.1" },
	{ "bind.v6_mapped", mapped, "family=2 same=1" },
	{ "bind.v6_linklocal_no_scope", address, "EINVAL", .arg = "fe80::1" },
	{ "bind.v6_linklocal", scoped, "own=0 scope=1 other=EADDRNOTAVAIL none=EINVAL "
	  "nobody=EADDRNOTAVAIL" },
	{ "bind.v6_scope_ignored", scope_ignored, "bind=0 scope=0" },
	{ "bind.connected_scope", connected_scope, "connect=0 other=EINVAL same=0" },
	{ "bind.twice", twice, "same=EINVAL other_port=EINVAL other_addr=EINVAL bad_addr=EINVAL "
	  "foreign=EINVAL" },
	{ "bind.foreign_v4", address, "EADDRNOTAVAIL", .arg = B4 },
	{ "bind.foreign_v6", address, "EADDRNOTAVAIL", .arg = B6 },
	{ "bind.selected_foreign", address, "select=0 ENOPROTOOPT", .arg = B4,
	  .num2 = RDS_TRANS_TCP },
	{ "bind.selected_foreign_v6", address, "select=0 ENOPROTOOPT", .arg = B6,
	  .num2 = RDS_TRANS_TCP },
	{ "bind.selected_loopback", selected_loopback, "select=0 bind=0 transport=2 send=5 "
	  "recv=5/16", .arg = "127.0.0.1" },
	{ "bind.selected_loopback_v6", selected_loopback,
	  "select=0 bind=0 transport=2 send=5 recv=5/28", .arg = "::1" },
	{ "bind.port1", address, "EINVAL", .arg = A4, .num = 1 },
	{ "bind.port1_v6", address, "EINVAL", .arg = A6, .num = 1 },
	{ "bind.port1_loopback", address, "EINVAL", .arg = "127.0.0.1", .num = 1 },
	{ "bind.port1_foreign", address, "EADDRNOTAVAIL", .arg = HOLE4, .num = 1 },
	{ "bind.port2", address, "0", .arg = A4, .num = 2 },
	{ "bind.port_last", address, "0", .arg = A4, .num = 65535 },
	{ "bind.port_zero_v4", port_zero, "bad=0 same=0", .arg = A4 },
	{ "bind.port_zero_v6", port_zero, "bad=0 same=0", .arg = A6 },
	{ "bind.port_zero_loopback", port_zero, "bad=0 same=0", .arg = "127.0.0.1" },
	{ "bind.in_use_v4", in_use, "second=EADDRINUSE other_addr=0 after_close=0", .arg = A4 },
	{ "bind.in_use_v6", in_use, "second=EADDRINUSE other_addr=0 after_close=0", .arg = A6,
	  .num = 1 },
	{ "bind.in_use_mapped", in_use_mapped, "EADDRINUSE" },
	{ "bind.other_netns.CVE-2026-68335", other_netns, "EADDRINUSE", "0" },
	{ "bind.failed_forgets_in_use", forgets,
	  "select=0 bind=EINVAL transport=-1 again=0 transport=2",
	  "select=0 bind=EINVAL transport=2 again=0 transport=2", .arg = A4, .num = 1 },
	{ "bind.failed_forgets_loopback", forgets,
	  "select=0 bind=EINVAL transport=-1 again=0 transport=2",
	  "select=0 bind=EINVAL transport=2 again=0 transport=2", .arg = "127.0.0.1", .num = 1 },
	{ "bind.failed_chose_itself", chose, "bind=EINVAL transport=-1 again=0 transport=3" },
	{ "bind.failed_forgets_foreign", forgets,
	  "select=0 bind=ENOPROTOOPT transport=2 again=0 transport=2", .arg = HOLE4, .num = 5000 },
	{ "bind.refs_kept", refs_kept, "in_use=EADDRINUSE leaked=1 port1=EINVAL leaked=1 "
	  "foreign=EADDRNOTAVAIL leaked=0 bound=0 held=1 closed=0",
	  "in_use=EADDRINUSE leaked=0 port1=EINVAL leaked=0 "
	  "foreign=EADDRNOTAVAIL leaked=0 bound=0 held=1 closed=0" },
	{ }
};
