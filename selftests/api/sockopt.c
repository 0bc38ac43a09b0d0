// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Socket options: the table of names, lengths, values, faults. */
#include "api.h"

#include <sys/time.h>

/* Set option numbers 0 to 70, and those near RDS_INFO_*, with four bytes. */
static void set_table(const struct api_case *c)
{
	int n, v[64] = { 0 };

	(void)c;
	for (n = 0; n <= 70; n++) {
		int fd = bound(NS_A, A4, 0);

		sweep(n, set_opt(fd, SOL_RDS, n, v, 4));
		close(fd);
	}
	sweep_end("int");
	for (n = 9999; n <= 10020; n++)
		sweep(n, set_opt(sock(), SOL_RDS, n, v, 4));
	sweep_end("info");
}

static void get_table(const struct api_case *c)
{
	int n;

	(void)c;
	for (n = -1; n <= 70; n++) {
		int v[64];
		socklen_t len = sizeof(v);

		sweep(n, getsockopt(sock(), SOL_RDS, n, v, &len) ? -errno :
								   (int)len);
	}
	sweep_end(NULL);
}

static void levels(const struct api_case *c)
{
	static const int level[] = { 0, 6, 17, 41, 263, 275, 277, 1000, -1 };
	unsigned int i;
	int fd = sock(), v = 0;

	(void)c;
	for (i = 0; i < ARRAY_SIZE(level); i++)
		sweep(level[i], set_opt(fd, level[i], 5, &v, 4));
	sweep_end("set");
	for (i = 0; i < ARRAY_SIZE(level); i++) {
		socklen_t len = 4;

		sweep(level[i],
		      getsockopt(fd, level[i], 5, &v, &len) ? -errno : 0);
	}
	sweep_end("get");
}

static void set_lengths(const struct api_case *c)
{
	char v[256] = "";
	int len, fd = bound(NS_A, A4, 0);

	for (len = 0; len <= 164; len++)
		sweep(len, set_opt(fd, SOL_RDS, c->num, v, len));
	sweep(0x7fffffff, set_opt(fd, SOL_RDS, c->num, v, 0x7fffffff));
	sweep_end("bound");
	for (len = 0; len <= 164; len++)
		sweep(len, set_opt(sock(), SOL_RDS, c->num, v, len));
	sweep_end("unbound");
	r("negative", set_opt(fd, SOL_RDS, c->num, v, -1));
}

static void recverr(const struct api_case *c)
{
	int fd = sock(), len, v[4];

	(void)c;
	r("default", get_int(fd, SOL_RDS, RDS_RECVERR));
	r("set5", set_int(fd, SOL_RDS, RDS_RECVERR, 5));
	r("get", get_int(fd, SOL_RDS, RDS_RECVERR));
	r("set0", set_int(fd, SOL_RDS, RDS_RECVERR, 0));
	r("get", get_int(fd, SOL_RDS, RDS_RECVERR));
	r("set-1", set_int(fd, SOL_RDS, RDS_RECVERR, -1));
	r("get", get_int(fd, SOL_RDS, RDS_RECVERR));
	for (len = 0; len <= 12; len++) {
		socklen_t l = len;

		sweep(len, getsockopt(fd, SOL_RDS, RDS_RECVERR, v, &l) ?
				   -errno :
				   (int)l);
	}
	sweep_end("get_len");
}

static void faults(const struct api_case *c)
{
	static const int opt[] = { RDS_CANCEL_SENT_TO,
				   RDS_GET_MR,
				   RDS_FREE_MR,
				   RDS_RECVERR,
				   RDS_CONG_MONITOR,
				   RDS_GET_MR_FOR_DEST,
				   SO_RDS_TRANSPORT,
				   SO_RDS_MSG_RXPATH_LATENCY,
				   29,
				   63 };
	static const int len[] = { 16, 32, 16, 4, 4, 160, 4, 4, 4, 4 };
	unsigned int i;
	int fd = bound(NS_A, A4, 0);

	(void)c;
	for (i = 0; i < ARRAY_SIZE(opt); i++)
		sweep(opt[i],
		      set_opt(fd, SOL_RDS, opt[i], page_hole(0), len[i]));
	sweep_end("set");
	for (i = 0; i < ARRAY_SIZE(opt); i++)
		sweep(opt[i], set_opt(fd, SOL_RDS, opt[i],
				      page_hole(len[i] - 1), len[i]));
	sweep_end("set_short");
	for (i = 0; i < ARRAY_SIZE(opt); i++)
		sweep(opt[i], set_opt(fd, SOL_RDS, opt[i],
				      (void *)0xffff888000000000ul, len[i]));
	sweep_end("set_kernel");
}

static void recverr_faults(const struct api_case *c)
{
	int fd = sock(), v;
	socklen_t len = 4;

	(void)c;
	r("value", getsockopt(fd, SOL_RDS, RDS_RECVERR, page_hole(0), &len) ?
			   -errno :
			   0);
	r("half", getsockopt(fd, SOL_RDS, RDS_RECVERR, page_hole(2), &len) ?
			  -errno :
			  0);
	r("len",
	  getsockopt(fd, SOL_RDS, RDS_RECVERR, &v, page_hole(0)) ? -errno : 0);
	r("read_only_len",
	  getsockopt(fd, SOL_RDS, RDS_RECVERR, &v, (void *)"\4\0\0") ? -errno :
								       0);
}

static void negative_len(const struct api_case *c)
{
	int fd = sock(), v;
	socklen_t len = -1;

	r(NULL, getsockopt(fd, SOL_RDS, c->num, &v, &len) ? -errno : 0);
}

/*
 * Memory registration on a socket that is unbound, bound over TCP or bound to
 * loopback; bad vectors and cookies.
 */
static void get_mr(const struct api_case *c)
{
	static char page[8192];
	uint64_t cookie;
	struct rds_get_mr_args a = { .vec = { (uintptr_t)page, 4096 },
				     .cookie_addr = (uintptr_t)&cookie };
	int fd = c->arg[0] ? bound(NS_A, c->arg, 0) : sock();

	r("good", set_opt(fd, SOL_RDS, RDS_GET_MR, &a, sizeof(a)));
	a.cookie_addr = 0;
	r("no_cookie", set_opt(fd, SOL_RDS, RDS_GET_MR, &a, sizeof(a)));
	a.cookie_addr = (uintptr_t)page_hole(0);
	r("bad_cookie", set_opt(fd, SOL_RDS, RDS_GET_MR, &a, sizeof(a)));
	a.vec.addr = (uintptr_t)page_hole(0);
	r("unmapped", set_opt(fd, SOL_RDS, RDS_GET_MR, &a, sizeof(a)));
	a.vec.bytes = 0;
	r("empty", set_opt(fd, SOL_RDS, RDS_GET_MR, &a, sizeof(a)));
	a.vec.addr = ~0ul - 5;
	a.vec.bytes = 4096;
	r("wrap", set_opt(fd, SOL_RDS, RDS_GET_MR, &a, sizeof(a)));
	a.vec.addr = (uintptr_t)page;
	a.vec.bytes = ~0ul >> 1;
	r("huge", set_opt(fd, SOL_RDS, RDS_GET_MR, &a, sizeof(a)));
}

static void get_mr_dest(const struct api_case *c)
{
	static char page[8192];
	struct rds_get_mr_for_dest_args a = { .vec = { (uintptr_t)page,
						       4096 } };
	union addr to = addr_of(HOLE4, 4000);
	int fd = c->arg[0] ? bound(NS_A, c->arg, 0) : sock();

	r("no_dest", set_opt(fd, SOL_RDS, RDS_GET_MR_FOR_DEST, &a, sizeof(a)));
	memcpy(&a.dest_addr, &to, sizeof(to.in));
	r("dest", set_opt(fd, SOL_RDS, RDS_GET_MR_FOR_DEST, &a, sizeof(a)));
	a.cookie_addr = (uintptr_t)page_hole(0);
	r("bad_cookie",
	  set_opt(fd, SOL_RDS, RDS_GET_MR_FOR_DEST, &a, sizeof(a)));
}

static void free_mr(const struct api_case *c)
{
	struct rds_free_mr_args a = { 0 };
	int fd = c->arg[0] ? bound(NS_A, c->arg, 0) : sock();

	r("zero", set_opt(fd, SOL_RDS, RDS_FREE_MR, &a, sizeof(a)));
	a.cookie = 77;
	a.flags = RDS_RDMA_INVALIDATE;
	r("unknown", set_opt(fd, SOL_RDS, RDS_FREE_MR, &a, sizeof(a)));
}

/*
 * A buffer size that is set is the effective limit; the generic socket layer
 * shows twice that.
 */
static void buffers(const struct api_case *c)
{
	static const int v[] = { 0, 1, 1152, 1153, 2304, 2305, 50000, 106496 };
	int fd = sock();
	unsigned int i;

	(void)c;
	r("sndbuf", get_int(fd, SOL_SOCKET, SO_SNDBUF));
	r("rcvbuf", get_int(fd, SOL_SOCKET, SO_RCVBUF));
	for (i = 0; i < ARRAY_SIZE(v); i++) {
		need(!set_int(fd, SOL_SOCKET, SO_SNDBUF, v[i]));
		sweep(v[i], get_int(fd, SOL_SOCKET, SO_SNDBUF));
	}
	sweep_end("set_snd");
	for (i = 0; i < ARRAY_SIZE(v); i++) {
		need(!set_int(fd, SOL_SOCKET, SO_RCVBUF, v[i]));
		sweep(v[i], get_int(fd, SOL_SOCKET, SO_RCVBUF));
	}
	sweep_end("set_rcv");
}

static void forced(const struct api_case *c)
{
	int fd = sock();

	(void)c;
	r("snd", set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, 3 * MAX_MSG));
	r("rcv", set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, 3 * MAX_MSG));
	r("snd", get_int(fd, SOL_SOCKET, SO_SNDBUF));
	r("rcv", get_int(fd, SOL_SOCKET, SO_RCVBUF));
}

static void forced_user(const struct api_case *c)
{
	int fd = sock();

	(void)c;
	need(user_mode || !other_user());
	r("snd", set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, MAX_MSG));
	r("rcv", set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, MAX_MSG));
}

/* Options that the generic socket layer handles without RDS. */
static void generic(const struct api_case *c)
{
	static const struct {
		const char *name;
		int opt;
	} o[] = { { "reuseaddr", SO_REUSEADDR }, { "keepalive", SO_KEEPALIVE },
		  { "broadcast", SO_BROADCAST }, { "rcvlowat", SO_RCVLOWAT },
		  { "priority", SO_PRIORITY },
		  { "zerocopy", SO_ZEROCOPY }, { "timestamp", SO_TIMESTAMP },
		  { "timestampns", SO_TIMESTAMPNS }, { "incoming_cpu", SO_INCOMING_CPU } };
	int fd = sock(), udp = socket(AF_INET, SOCK_DGRAM, 0);
	unsigned int i;

	(void)c;
	r("type", get_int(fd, SOL_SOCKET, SO_TYPE));
	r("domain", get_int(fd, SOL_SOCKET, SO_DOMAIN));
	r("protocol", get_int(fd, SOL_SOCKET, SO_PROTOCOL));
	r("accept", get_int(fd, SOL_SOCKET, SO_ACCEPTCONN));
	r("error", get_int(fd, SOL_SOCKET, SO_ERROR));
	for (i = 0; i < ARRAY_SIZE(o); i++)
		r(o[i].name, set_int(fd, SOL_SOCKET, o[i].opt, 1));
	r("zerocopy", get_int(fd, SOL_SOCKET, SO_ZEROCOPY));
	/* Some kernels refuse SO_PASSCRED to families without credentials. */
	r("passcred_as_udp", set_int(fd, SOL_SOCKET, SO_PASSCRED, 1) ==
			     set_int(udp, SOL_SOCKET, SO_PASSCRED, 1));
}

static void linger(const struct api_case *c)
{
	struct linger g = { 1, 3 };
	int fd = hole_full(1);
	long t = now_ms();

	(void)c;
	r("set", set_opt(fd, SOL_SOCKET, SO_LINGER, &g, sizeof(g)));
	r("close", close(fd));
	r("at_once", in_time(now_ms() - t, 0, 1000));
}

#define INTS "0:ENOPROTOOPT,1-3:EINVAL,4:ENOPROTOOPT,5-6:0,7:EINVAL,8:EOPNOTSUPP,9:ENOPROTOOPT," \
	"10:0,11-28:ENOPROTOOPT,29:0,30-62:ENOPROTOOPT,63:0,64-70:ENOPROTOOPT"
#define MR(e) "good=" e " no_cookie=" e " bad_cookie=" e " unmapped=" e " empty=" e " wrap=" e \
	" huge=" e
#define MRD(e) "no_dest=" e " dest=" e " bad_cookie=" e
#define FAULTS "=1-3:EFAULT,5-7:EFAULT,8:EOPNOTSUPP,10:EFAULT,29:EFAULT,63:EFAULT"

const struct api_case sockopt_cases[] = {
	{ "sockopt.set_table", set_table, "int=" INTS " info=9999-10020:ENOPROTOOPT" },
	{ "sockopt.get_table", get_table, "-1-4:ENOPROTOOPT,5:4,6-7:ENOPROTOOPT,8:4,"
	  "9-70:ENOPROTOOPT" },
	{ "sockopt.levels", levels, "set=0:ENOPROTOOPT,6:ENOPROTOOPT,17:ENOPROTOOPT,41:ENOPROTOOPT,"
	  "263:ENOPROTOOPT,275:ENOPROTOOPT,277:ENOPROTOOPT,1000:ENOPROTOOPT,-1:ENOPROTOOPT "
	  "get=0:ENOPROTOOPT,6:ENOPROTOOPT,17:ENOPROTOOPT,41:ENOPROTOOPT,263:ENOPROTOOPT,"
	  "275:ENOPROTOOPT,277:ENOPROTOOPT,1000:ENOPROTOOPT,-1:ENOPROTOOPT" },
	{ "sockopt.len_recverr", set_lengths, "bound=0-3:EINVAL,4-164:0,2147483647:0 "
	  "unbound=0-3:EINVAL,4-164:0 negative=EINVAL", .num = RDS_RECVERR },
	{ "sockopt.len_get_mr", set_lengths, "bound=0-31:EINVAL,32:EOPNOTSUPP,33-164:EINVAL,"
	  "2147483647:EINVAL unbound=0-31:EINVAL,32:ENOTCONN,33-164:EINVAL negative=EINVAL", .num
	  = RDS_GET_MR },
	{ "sockopt.len_free_mr", set_lengths, "bound=0-164:EINVAL,2147483647:EINVAL "
	  "unbound=0-164:EINVAL negative=EINVAL", .num = RDS_FREE_MR },
	{ "sockopt.len_get_mr_dest", set_lengths, "bound=0-159:EINVAL,160:EOPNOTSUPP,"
	  "161-164:EINVAL,2147483647:EINVAL unbound=0-159:EINVAL,160:ENOTCONN,161-164:EINVAL "
	  "negative=EINVAL", .num = RDS_GET_MR_FOR_DEST },
	{ "sockopt.len_latency", set_lengths, "bound=0-3:EFAULT,4:0,5-164:EFAULT,2147483647:EFAULT "
	  "unbound=0-3:EFAULT,4:0,5-164:EFAULT negative=EINVAL", .num = SO_RDS_MSG_RXPATH_LATENCY },
	{ "sockopt.len_timestamp_old", set_lengths,
	  "bound=0-3:EFAULT,4:0,5-164:EFAULT,2147483647:EFAULT "
	  "unbound=0-3:EFAULT,4:0,5-164:EFAULT negative=EINVAL", .num = 29 },
	{ "sockopt.len_timestamp_new", set_lengths,
	  "bound=0-3:EFAULT,4:0,5-164:EFAULT,2147483647:EFAULT "
	  "unbound=0-3:EFAULT,4:0,5-164:EFAULT negative=EINVAL", .num = 63 },
	{ "sockopt.recverr", recverr,
	  "default=0 set5=0 get=1 set0=0 get=0 set-1=0 get=1 get_len=0-3:EINVAL,4-12:4" },
	{ "sockopt.faults", faults, "set" FAULTS " set_short" FAULTS " set_kernel" FAULTS },
	{ "sockopt.recverr_faults", recverr_faults, "value=EFAULT half=EFAULT len=EFAULT "
	  "read_only_len=EFAULT" },
	{ "sockopt.negative_len_recverr", negative_len, "0", "EINVAL", .num = RDS_RECVERR },
	{ "sockopt.negative_len_info", negative_len, "EINVAL", .num = RDS_INFO_COUNTERS },
	{ "sockopt.get_mr_unbound.CVE-2018-7492", get_mr, MR("ENOTCONN"), .arg = "" },
	{ "sockopt.get_mr_tcp.CVE-2026-46053", get_mr, MR("EOPNOTSUPP"), .arg = A4 },
	{ "sockopt.get_mr_tcp6", get_mr, MR("EOPNOTSUPP"), .arg = A6 },
	{ "sockopt.get_mr_loopback", get_mr, MR("EOPNOTSUPP"), .arg = "127.0.0.1" },
	{ "sockopt.get_mr_dest_unbound", get_mr_dest, MRD("ENOTCONN"), .arg = "" },
	{ "sockopt.get_mr_dest_tcp.CVE-2024-27024.CVE-2024-35902", get_mr_dest, MRD("EOPNOTSUPP"),
	  .arg = A4 },
	{ "sockopt.get_mr_dest_loopback", get_mr_dest, MRD("EOPNOTSUPP"), .arg = "127.0.0.1" },
	{ "sockopt.free_mr_unbound", free_mr, "zero=EINVAL unknown=EINVAL", .arg = "" },
	{ "sockopt.free_mr_tcp", free_mr, "zero=EINVAL unknown=EINVAL", .arg = A4 },
	{ "sockopt.free_mr_loopback", free_mr, "zero=EINVAL unknown=EINVAL", .arg = "::1" },
	{ "sockopt.buffers", buffers, "sndbuf=212992 rcvbuf=212992 set_snd=0-1:4608,1152-1153:4608,"
	  "2304:4608,2305:4610,50000:100000,106496:212992 set_rcv=0-1:2304,1152:2304,1153:2306,"
	  "2304:4608,2305:4610,50000:100000,106496:212992" },
	{ "sockopt.forced", forced, "snd=0 rcv=0 snd=6291456 rcv=6291456", .flags = C_ROOT },
	{ "sockopt.forced_user", forced_user, "snd=EPERM rcv=EPERM" },
	{ "sockopt.generic", generic, "type=5 domain=21 protocol=0 accept=0 error=0 reuseaddr=0 "
	  "keepalive=0 broadcast=0 rcvlowat=0 priority=0 zerocopy=0 timestamp=0 timestampns=0 "
	  "incoming_cpu=0 zerocopy=1 passcred_as_udp=1" },
	{ "sockopt.linger", linger, "set=0 close=0 at_once=1" },
	{ }
};
