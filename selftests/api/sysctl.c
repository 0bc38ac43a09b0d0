// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * /proc/sys/net/rds: names, modes, defaults, ranges, namespaces. Cases restore
 * the values of the initial namespace.
 */
#include "api.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#define DIR_RDS	"/proc/sys/net/rds"
#define DIR_TCP	"/proc/sys/net/rds/tcp"

static long get_in(enum ns ns, const char *path)
{
	int fd = ns_open(ns, path, O_RDONLY);
	char b[64] = "";

	if (fd < 0)
		return -errno;
	need(read(fd, b, sizeof(b) - 1) > 0);
	close(fd);
	return atol(b);
}

static long set_in(enum ns ns, const char *path, const char *v)
{
	int fd = ns_open(ns, path, O_WRONLY);
	long ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, v, strlen(v)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static const char *full(const char *dir, const char *name)
{
	static char path[2][160];
	static int turn;

	snprintf(path[turn ^= 1], sizeof(path[0]), "%s/%s", dir, name);
	return path[turn];
}

static const char *const names[] = { "reconnect_min_delay_ms",
				     "reconnect_max_delay_ms",
				     "max_unacked_packets", "max_unacked_bytes",
				     "ping_enable" };

/* The files of names[], and then those of rds_tcp */
static const char *path_of(unsigned int i)
{
	if (i < ARRAY_SIZE(names))
		return full(DIR_RDS, names[i]);
	return full(DIR_TCP, i == ARRAY_SIZE(names) ? "rds_tcp_sndbuf" :
						      "rds_tcp_rcvbuf");
}

static void defaults(const struct api_case *c)
{
	unsigned int i;

	(void)c;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		r(names[i], get_in(NS_INIT, full(DIR_RDS, names[i])));
	r("tcp_sndbuf", get_in(NS_INIT, full(DIR_TCP, "rds_tcp_sndbuf")));
	r("tcp_rcvbuf", get_in(NS_INIT, full(DIR_TCP, "rds_tcp_rcvbuf")));
}

static void namespaces(const struct api_case *c)
{
	unsigned int i;

	(void)c;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		r(names[i], get_in(NS_B, full(DIR_RDS, names[i])));
	r("tcp_sndbuf", get_in(NS_B, full(DIR_TCP, "rds_tcp_sndbuf")));
	r("tcp_rcvbuf", get_in(NS_B, full(DIR_TCP, "rds_tcp_rcvbuf")));
	r("pf_rds", get_in(NS_INIT, full(DIR_RDS, "pf_rds")));
	r("sol_rds", get_in(NS_INIT, full(DIR_RDS, "sol_rds")));
}

static void modes(const struct api_case *c)
{
	unsigned int i;

	(void)c;
	for (i = 0; i < ARRAY_SIZE(names) + 2; i++) {
		int fd = ns_open(NS_INIT, path_of(i), O_RDONLY);
		struct stat st;

		need(fd >= 0 && !fstat(fd, &st));
		note("%o", st.st_mode & 07777);
		close(fd);
	}
}

static void not_by_users(const struct api_case *c)
{
	enum ns ns = user_mode ? NS_INIT : NS_A;
	unsigned int i;

	(void)c;
	if (!user_mode) {
		int fd = open("/proc/1/ns/net", O_RDONLY);

		need(fd >= 0 && !setns(fd, CLONE_NEWNET) && !other_user());
	}
	for (i = 0; i < ARRAY_SIZE(names); i++)
		sweep(i, ns_open(ns, full(DIR_RDS, names[i]), O_WRONLY) < 0 ?
				 -errno :
				 0);
	sweep_end("rds");
	r("tcp", open(DIR_TCP "/rds_tcp_sndbuf", O_WRONLY) < 0 ? -errno : 0);
}

#define SETTINGS	(ARRAY_SIZE(names) + 2)

/* All settings but the one of @path */
static void get_others(enum ns ns, const char *path, long *v)
{
	unsigned int i;

	for (i = 0; i < SETTINGS; i++) {
		const char *one = path_of(i);

		v[i] = strcmp(one, path) ? get_in(ns, one) : 0;
	}
}

/*
 * Write value @v, note what is read back, and @restore the old value.  No other
 * setting changes, as one would that is taken for larger than it is.
 */
static void written(enum ns ns, const char *path, const char *v, bool restore)
{
	long before[SETTINGS], after[SETTINGS], old = get_in(ns, path), ret;
	char buf[32];

	get_others(ns, path, before);
	ret = set_in(ns, path, v);
	get_others(ns, path, after);
	if (memcmp(before, after, sizeof(before)))
		bail("another setting changed with %s", path);
	if (ret)
		note("(%s)=%s", v, val_name(ret, buf));
	else
		note("(%s)->%ld", v, get_in(ns, path));
	if (!restore)
		return;
	snprintf(buf, sizeof(buf), "%ld", old);
	need(!set_in(ns, path, buf));
}

static void ranges(const struct api_case *c)
{
	static const char *const v[] = { "-1",	       "0",	     "1",
					 "7",	       "10",	     "999",
					 "1000",       "1001",	     "100000",
					 "2147483647", "4294967296", "abc" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(v); i++)
		written(NS_INIT, c->arg, v[i], true);
}

/*
 * In-tree does not accept 0, so the default cannot be restored: these cases
 * come last, and change namespace B, which no later case needs.
 */
static void tcp_ranges(const struct api_case *c)
{
	static const char *const v[] = { "-1",	       "0",	"1",
					 "2303",       "2304",	"4607",
					 "4608",       "10000", "2147483647",
					 "4294967296", "x" };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(v); i++)
		written(NS_B, c->arg, v[i], false);
}

static void tcp_per_ns(const struct api_case *c)
{
	const char *path = DIR_TCP "/rds_tcp_sndbuf";

	(void)c;
	r("set", set_in(NS_A, path, "50000"));
	r("a", get_in(NS_A, path));
	r("b", get_in(NS_B, path));
	r("init", get_in(NS_INIT, path));
	r("rcv", get_in(NS_A, DIR_TCP "/rds_tcp_rcvbuf"));
	r("back", set_in(NS_A, path, "0"));
}

/*
 * Switch pings for all namespaces: in-tree's initial namespace has one switch
 * for the machine; with ours each namespace has its own.
 */
static long ping_switch(const char *v)
{
	const char *path = full(DIR_RDS, "ping_enable");
	long ret = set_in(NS_INIT, path, v);

	if (get_in(NS_A, path) != -ENOENT)
		ret = ret ? ret : set_in(NS_A, path, v);
	if (get_in(NS_B, path) != -ENOENT)
		ret = ret ? ret : set_in(NS_B, path, v);
	return ret;
}

/* While ping_enable is 0, pings find no socket at port 0. */
static void ping_enable(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0);
	union addr me = addr_of(A4, 0), peer = addr_of(B4, 0);
	char b[4];

	(void)c;
	set_timeo(fd, SO_RCVTIMEO, 300);
	r("off", ping_switch("0"));
	need(!send_to(fd, &me, 0, 0) && !send_to(fd, &peer, 0, 0));
	r("pong", recv(fd, b, 4, 0) < 0 ? -errno : 0);
	r("on", ping_switch("1"));
	set_timeo(fd, SO_RCVTIMEO, 15000 * time_scale);
	need(!send_to(fd, &me, 0, 0) && !send_to(fd, &peer, 0, 0));
	r("pong", recv(fd, b, 4, 0) < 0 ? -errno : 0);
	r("pong", recv(fd, b, 4, 0) < 0 ? -errno : 0);
}

/*
 * Write rds_tcp_rcvbuf while messages flow: every path is dropped, but no
 * message may be lost or delivered twice.
 */
static void rewritten_in_traffic(const struct api_case *c)
{
	struct link l = link_open(c->num);
	char b[64];
	int i, k;

	for (k = 0; k < 4; k++) {
		for (i = 0; i < 10; i++)
			need(send_to(l.tx, &l.to, i + 1, MSG_DONTWAIT) ==
			     i + 1);
		link_sync(&l);
		need(!set_in(NS_A, DIR_TCP "/rds_tcp_rcvbuf",
			     k & 1 ? "20000" : "10000"));
		for (i = 10; i < 20; i++)
			need(send_to(l.tx, &l.to, i + 1, MSG_DONTWAIT) ==
			     i + 1);
		for (i = 0; i < 20; i++)
			if (recv(l.rx, b, sizeof(b), 0) != i + 1)
				bail("round %d message %d: %d", k, i, errno);
	}
	link_sync(&l);
	note("ok");
}

#define ANY_INT "(-1)->-1 (0)->0 (1)->1 (7)->7 (10)->10 (999)->999 (1000)->1000 (1001)->1001 " \
	"(100000)->100000 (2147483647)->2147483647 (4294967296)=EINVAL (abc)=EINVAL"

#define SNDBUF(zero) "(-1)=EINVAL " zero " (1)=EINVAL (2303)=EINVAL (2304)=EINVAL (4607)=EINVAL " \
	"(4608)->4608 (10000)->10000 (2147483647)->2147483647 (4294967296)=EINVAL (x)=EINVAL"
#define RCVBUF(zero) "(-1)=EINVAL " zero " (1)=EINVAL (2303)=EINVAL (2304)->2304 (4607)->4607 " \
	"(4608)->4608 (10000)->10000 (2147483647)->2147483647 (4294967296)=EINVAL (x)=EINVAL"

const struct api_case sysctl_cases[] = {
	{ "sysctl.defaults.CVE-2015-2042", defaults, "reconnect_min_delay_ms=4 "
	  "reconnect_max_delay_ms=1000 max_unacked_packets=8 max_unacked_bytes=16777216 "
	  "ping_enable=1 tcp_sndbuf=0 tcp_rcvbuf=0" },
	{ "sysctl.modes", modes, "644 644 644 644 644 644 644" },
	{ "sysctl.not_by_users", not_by_users, "rds=0-4:EACCES tcp=EACCES" },
	{ "sysctl.tcp_per_ns", tcp_per_ns, "set=0 a=50000 b=0 init=0 rcv=0 back=EINVAL",
	  "set=0 a=50000 b=0 init=0 rcv=0 back=0", .flags = C_ROOT },
	{ "sysctl.ping_enable", ping_enable, "off=0 pong=ETIMEDOUT on=0 pong=0 pong=0",
	  .flags = C_ROOT },
	{ "sysctl.namespaces", namespaces, "reconnect_min_delay_ms=ENOENT "
	  "reconnect_max_delay_ms=ENOENT max_unacked_packets=ENOENT max_unacked_bytes=ENOENT "
	  "ping_enable=ENOENT tcp_sndbuf=0 tcp_rcvbuf=0 pf_rds=ENOENT sol_rds=ENOENT",
	  "reconnect_min_delay_ms=4 reconnect_max_delay_ms=1000 max_unacked_packets=8 "
	  "max_unacked_bytes=16777216 ping_enable=1 tcp_sndbuf=0 tcp_rcvbuf=0 pf_rds=ENOENT "
	  "sol_rds=ENOENT" },
	{ "sysctl.range_min_delay", ranges, "(-1)=EINVAL (0)=EINVAL (1)=EINVAL (7)->4 (10)->8 "
	  "(999)->996 (1000)->1000 (1001)->1000 (100000)=EINVAL (2147483647)=EINVAL "
	  "(4294967296)=EINVAL (abc)=EINVAL", .flags = C_ROOT | C_TO_6, .arg = DIR_RDS
	  "/reconnect_min_delay_ms" },
	/* Kernel 7 and later round milliseconds up to jiffies of 4 ms. */
	{ "sysctl.range_min_delay", ranges, "(-1)=EINVAL (0)=EINVAL (1)->4 (7)->8 (10)->12 "
	  "(999)->1000 (1000)->1000 (1001)=EINVAL (100000)=EINVAL (2147483647)=EINVAL "
	  "(4294967296)=EINVAL (abc)=EINVAL", .flags = C_ROOT | C_FROM_7, .arg = DIR_RDS
	  "/reconnect_min_delay_ms" },
	{ "sysctl.range_max_delay", ranges, "(-1)=EINVAL (0)=EINVAL (1)=EINVAL (7)->4 (10)->8 "
	  "(999)->996 (1000)->1000 (1001)->1000 (100000)->100000 (2147483647)->2147483644 "
	  "(4294967296)->4294967296 (abc)=EINVAL", .flags = C_ROOT | C_TO_6, .arg = DIR_RDS
	  "/reconnect_max_delay_ms" },
	{ "sysctl.range_max_delay", ranges, "(-1)=EINVAL (0)=EINVAL (1)->4 (7)->8 (10)->12 "
	  "(999)->1000 (1000)->1000 (1001)->1004 (100000)->100000 (2147483647)->2147483648 "
	  "(4294967296)->4294967288 (abc)=EINVAL", .flags = C_ROOT | C_FROM_7, .arg = DIR_RDS
	  "/reconnect_max_delay_ms" },
	{ "sysctl.range_unacked_packets", ranges, ANY_INT, .flags = C_ROOT,
	  .arg = DIR_RDS "/max_unacked_packets" },
	{ "sysctl.range_unacked_bytes", ranges, ANY_INT, .flags = C_ROOT,
	  .arg = DIR_RDS "/max_unacked_bytes" },
	{ "sysctl.range_ping_enable", ranges, ANY_INT, .flags = C_ROOT, .arg = DIR_RDS
	  "/ping_enable" },
	{ "sysctl.rewritten_in_traffic", rewritten_in_traffic, "ok", .flags = C_ROOT, .num = TCP4 },
	{ "sysctl.range_sndbuf", tcp_ranges, SNDBUF("(0)=EINVAL"), SNDBUF("(0)->0"),
	  .flags = C_ROOT, .arg = DIR_TCP "/rds_tcp_sndbuf" },
	{ "sysctl.range_rcvbuf", tcp_ranges, RCVBUF("(0)=EINVAL"), RCVBUF("(0)->0"),
	  .flags = C_ROOT, .arg = DIR_TCP "/rds_tcp_rcvbuf" },
	{ }
};
