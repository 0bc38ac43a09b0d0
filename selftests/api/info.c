// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* getsockopt() of RDS_INFO_*: lengths, return values, short and bad buffers. */
#include "api.h"

#include <fcntl.h>
#include <sys/mman.h>

static long get(int fd, int opt, void *p, socklen_t *len)
{
	long ret = getsockopt(fd, SOL_RDS, opt, p, len);

	return ret < 0 ? -errno : ret;
}

/* The return value of each id, the record size if the id exists. */
static void ids(const struct api_case *c)
{
	struct link l = link_open(TCP4), m = link_open(TCP6);
	int opt;

	(void)c;
	need(send_to(l.tx, &l.to, 4, 0) == 4);
	need(send_to(m.tx, &m.to, 4, 0) == 4);
	for (opt = 9999; opt <= 10020; opt++) {
		struct snap s = snap(l.rx, opt);

		sweep(opt, s.ret);
		snap_free(&s);
	}
	sweep_end(NULL);
}

static void size_probe(const struct api_case *c)
{
	struct link l = link_open(c->num == RDS_INFO_SOCKETS ? TCP4 : TCP6);
	int fd = c->num2 ? sock() : l.tx;
	socklen_t len = 0, probed;
	char *p;

	need(send_to(l.tx, &l.to, 4, 0) == 4);
	r("probe", get(fd, c->num, NULL, &len));
	probed = len;
	p = malloc(probed + 100);
	r("whole", len > 0);
	len = 1;
	r("one", get(fd, c->num, p, &len));
	r("len", len == probed);
	len = probed - 1;
	r("less", get(fd, c->num, p, &len));
	r("len", len == probed);
	len = probed;
	r("exact", get(fd, c->num, p, &len));
	r("len", len == probed);
	len = probed + 100;
	r("more", get(fd, c->num, p, &len));
	r("len", len == probed);
}

static void odd_lengths(const struct api_case *c)
{
	static const uint32_t v[] = { 0xffffffff, 0x80000000, 0x7fffffff,
				      0x7ffff001, 0x7ffff000 };
	int fd = sock();
	static char b[8192];
	unsigned int i;

	(void)c;
	for (i = 0; i < ARRAY_SIZE(v); i++) {
		socklen_t len = v[i];
		long ret = get(fd, RDS_INFO_COUNTERS, b, &len);

		/* A stack may need so much memory at once (EAGAIN), or not. */
		r(NULL, v[i] == 0x7ffff000 ? ret == -EAGAIN || ret == 40 : ret);
	}
}

static void none(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0);
	socklen_t len = 0;
	char b[8];

	(void)c;
	r("probe", get(fd, RDS_INFO_RECV_MESSAGES, NULL, &len));
	r("len", len);
	len = 5;
	r("short", get(fd, RDS_INFO_RECV_MESSAGES, b, &len));
	r("len", len);
}

/* How many records are written to a buffer that is too short for all. */
static void partial(const struct api_case *c)
{
	struct link l = link_open(TCP4);
	unsigned char *p;
	socklen_t len = 0, want, i;
	long rec, touched = 0;
	struct snap s;
	int n;

	for (n = 0; n < 5; n++)
		need(send_to(l.tx, &l.to, n, 0) == n);
	link_sync(&l);
	s = snap(l.rx, c->num);
	rec = s.ret;
	need(rec > 0 && (s.n > 2 || c->num == RDS_INFO_TCP_SOCKETS) && s.n);
	if (c->num == RDS_INFO_COUNTERS)
		want = 39 * rec;
	else
		want = s.n > 2 ? 2 * rec + rec / 2 : s.len - 1;
	p = malloc(s.len);
	memset(p, 0xa5, s.len);
	len = want;
	r("ret", get(l.rx, c->num, p, &len));
	r("len", len == s.len);
	for (i = 0; i < s.len; i++)
		if (p[i] != 0xa5)
			touched = i + 1;
	r("records", (touched + rec - 1) / rec);
}

static void bad_buffers(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0);
	socklen_t len = 8192;
	char *ro = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	(void)c;
	r("unmapped", get(fd, RDS_INFO_COUNTERS, page_hole(0), &len));
	r("len", len);
	r("half", get(fd, RDS_INFO_COUNTERS, page_hole(100), &len));
	r("read_only", get(fd, RDS_INFO_COUNTERS, ro, &len));
	r("kernel",
	  get(fd, RDS_INFO_COUNTERS, (void *)0xffff888000000000ul, &len));
	r("null", get(fd, RDS_INFO_COUNTERS, NULL, &len));
	r("len_ptr", get(fd, RDS_INFO_COUNTERS, ro, page_hole(0)));
}

/* The buffer may begin anywhere in a page and cross into the next. */
static void unaligned(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0), off, bad = 0;
	static char p[16384];
	struct snap s = snap(fd, RDS_INFO_COUNTERS);

	(void)c;
	for (off = 4096 - 300; off < 4096 + 10; off += 37) {
		socklen_t len = s.len;
		unsigned int i;

		memset(p, 0xa5, sizeof(p));
		need(get(fd, RDS_INFO_COUNTERS, p + off, &len) == 40);
		bad += (unsigned char)p[off - 1] != 0xa5 ||
		       (unsigned char)p[off + len] != 0xa5;
		for (i = 0; i < s.n; i++)
			bad += !!memcmp(s.p + i * 40, p + off + i * 40, 32);
	}
	r("bad", bad);
}

/* Records written to the shared mapping of a file reach the file. */
static void file_mapping(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0), f = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	socklen_t len = 8192;
	char *p, b[64] = "";

	(void)c;
	need(f >= 0 && !ftruncate(f, 8192));
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
	need(p != MAP_FAILED);
	r("get", get(fd, RDS_INFO_COUNTERS, p, &len));
	need(!munmap(p, 8192));
	need(pread(f, b, sizeof(b) - 1, 0) > 0);
	note("%s", b);
}

#define PROBE(size) "probe=ENOSPC whole=1 one=ENOSPC len=1 less=ENOSPC len=1 exact=" #size \
	" len=1 more=" #size " len=1"

const struct api_case info_cases[] = {
	{ "info.ids", ids, "9999:ENOPROTOOPT,10000:40,10001:42,10002:ENOPROTOOPT,10003-10005:26,"
	  "10006:28,10007:41,10008-10010:ENOPROTOOPT,10011:65,10012-10014:50,10015:52,10016:64,"
	  "10017-10020:ENOPROTOOPT" },
	{ "info.probe_counters", size_probe, PROBE(40), .num = RDS_INFO_COUNTERS },
	{ "info.probe_counters_unbound", size_probe, PROBE(40), .num = RDS_INFO_COUNTERS,
	  .num2 = 1 },
	{ "info.probe_connections", size_probe, PROBE(42), .num = RDS_INFO_CONNECTIONS },
	{ "info.probe_sockets", size_probe, PROBE(28), .num = RDS_INFO_SOCKETS },
	{ "info.probe_connections6", size_probe, PROBE(65), .num = RDS6_INFO_CONNECTIONS,
	  .num2 = 1 },
	{ "info.probe_sockets6", size_probe, PROBE(52), .num = RDS6_INFO_SOCKETS },
	{ "info.probe_tcp", size_probe, PROBE(41), .num = RDS_INFO_TCP_SOCKETS },
	{ "info.probe_tcp6", size_probe, PROBE(64), .num = RDS6_INFO_TCP_SOCKETS },
	{ "info.odd_lengths", odd_lengths, "EINVAL EINVAL EINVAL EINVAL 1" },
	{ "info.no_records", none, "probe=26 len=0 short=26 len=0" },
	{ "info.partial_counters", partial, "ret=ENOSPC len=1 records=36",
	  "ret=ENOSPC len=1 records=37", .num = RDS_INFO_COUNTERS },
	{ "info.partial_connections", partial, "ret=ENOSPC len=1 records=2",
	  .num = RDS6_INFO_CONNECTIONS },
	{ "info.partial_recv", partial, "ret=ENOSPC len=1 records=2",
	  .num = RDS_INFO_RECV_MESSAGES },
	{ "info.partial_sockets", partial, "ret=ENOSPC len=1 records=0", .num = RDS6_INFO_SOCKETS },
	{ "info.partial_tcp", partial, "ret=ENOSPC len=1 records=0", .num = RDS_INFO_TCP_SOCKETS },
	{ "info.bad_buffers", bad_buffers, "unmapped=EAGAIN len=8192 half=EAGAIN read_only=EAGAIN "
	  "kernel=EAGAIN null=EAGAIN len_ptr=EFAULT", "unmapped=EFAULT len=8192 half=EFAULT "
	  "read_only=EFAULT kernel=EFAULT null=EFAULT len_ptr=EFAULT" },
	{ "info.unaligned", unaligned, "bad=0" },
	{ "info.file_mapping", file_mapping, "get=40 conn_reset" },
	{ }
};
