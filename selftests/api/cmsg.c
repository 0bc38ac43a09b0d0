// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Control messages of sendmsg: every type with every length, mixtures, contents
 * (protocol.rst 5.6.7 to 5.6.17).
 */
#include "api.h"

struct fields {
	uint64_t f[9];
};

static long with(const struct link *l, const struct ctl *c, int flags)
{
	return send_msg(l->tx, &l->to, "x", 1, c, flags | MSG_DONTWAIT);
}

static long one(const struct link *l, int type, const void *data, size_t len)
{
	struct ctl c = { 0 };

	ctl_add(&c, SOL_RDS, type, data, len);
	return with(l, &c, 0);
}

/* protocol.rst 5.6.11: unknown types. */
static void types(const struct api_case *c)
{
	struct link l = link_open(c->num);
	char zero[128] = "";
	int t;

	for (t = 0; t <= 40; t++)
		if (t < 1 || t > 12 || t == 4 || t == 5 || t == 10 || t == 11)
			sweep(t, one(&l, t, zero, 8));
	sweep(0x7fffffff, one(&l, 0x7fffffff, zero, 8));
	sweep_end(NULL);
}

/* One type, every length: all bytes zero. */
static void lengths(const struct api_case *c)
{
	struct link l = link_open(c->num2);
	char zero[128] = "";
	int len;

	for (len = 0; len <= 80; len++)
		sweep(len, one(&l, c->num, zero, len));
	sweep_end(NULL);
}

/* One type, every length: the bytes are a valid value, cut or padded. */
static void good_lengths(const struct api_case *c)
{
	static char local[8192];
	struct link l = link_open(c->num2);
	struct iovec iov = { local, 64 };
	struct rds_rdma_args args = { .remote_vec = { 4096, 64 }, .nr_local = 1,
				      .local_vec_addr = (uintptr_t)&iov };
	struct rds_get_mr_args map = { .vec = { (uintptr_t)local, 64 } };
	struct rds_atomic_args at = { .local_addr = (uintptr_t)local };
	char raw[128] = "";
	int len;

	if (c->num == RDS_CMSG_RDMA_ARGS)
		memcpy(raw, &args, sizeof(args));
	else if (c->num == RDS_CMSG_RDMA_MAP)
		memcpy(raw, &map, sizeof(map));
	else
		memcpy(raw, &at, sizeof(at));
	for (len = 0; len <= 80; len++)
		sweep(len, one(&l, c->num, raw, len));
	sweep_end(NULL);
}

static void other_levels(const struct api_case *c)
{
	static const int levels[] = { 0, SOL_SOCKET, 6, IPPROTO_IPV6, 275, 277 };
	struct link l = link_open(c->num);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		struct ctl k = { 0 };

		ctl_add(&k, levels[i], 1, "abcdefgh", 3);
		sweep(levels[i], with(&l, &k, 0));
	}
	sweep_end(NULL);
}

/*
 * protocol.rst 5.6.7: headers that are shorter than a header or reach beyond
 * the buffer.
 */
static void malformed(const struct api_case *c)
{
	struct link l = link_open(SELF4);
	unsigned int len;

	(void)c;
	for (len = 0; len <= 40; len++) {
		struct ctl k = { 0 };

		ctl_add(&k, SOL_IP, 1, "abcdefgh", 8);
		k.align.cmsg_len = len;
		sweep(len, with(&l, &k, 0));
	}
	sweep_end("cmsg_len");
	for (len = 0; len <= 40; len++) {
		struct ctl k = { 0 };

		ctl_add(&k, SOL_IP, 1, "abcdefgh", 8);
		k.len = len;
		sweep(len, with(&l, &k, 0));
	}
	sweep_end("controllen");
	{
		struct ctl k = { 0 };

		ctl_add(&k, SOL_IP, 1, "abcdefgh", 8);
		k.align.cmsg_len = SIZE_MAX;
		r("huge", with(&l, &k, 0));
		k.align.cmsg_len = CMSG_LEN(8);
		ctl_add(&k, SOL_RDS, RDS_CMSG_RDMA_ARGS, "abcdefgh", 8);
		r("second_short", with(&l, &k, 0));
	}
}

static void args_case(const struct link *l, const char *label, uint64_t nr,
		      void *iov, uint64_t bytes)
{
	struct rds_rdma_args a = { .remote_vec = { 4096, bytes },
				   .local_vec_addr = (uintptr_t)iov,
				   .nr_local = nr };

	r(label, one(l, RDS_CMSG_RDMA_ARGS, &a, sizeof(a)));
}

/*
 * protocol.rst 5.6.8, 5.6.11, 5.6.12 and 5.6.17 for RDMA_ARGS: vector counts
 * and lengths near every power of two.
 */
static void rdma_args(const struct api_case *c)
{
	static char page[4096];
	struct link l = link_open(c->num);
	struct rds_iovec good = { (uintptr_t)page, 64 },
			 empty = { (uintptr_t)page, 0 };
	struct rds_iovec wrap = { ~0ul - 10, 64 },
			 most = { (uintptr_t)page, ~0ul };
	struct rds_iovec big = { (uintptr_t)page, 1ul << 32 }, null = { 0, 64 };
	struct rds_iovec kernel = { 0xffff888000000000ul, 64 };

	args_case(&l, "good", 1, &good, 64);
	args_case(&l, "none", 0, &good, 64);
	args_case(&l, "bad_vec", 1, page_hole(0), 64);
	args_case(&l, "half_vec", 1, page_hole(8), 64);
	args_case(&l, "nr1025", 1025, &good, 64);
	args_case(&l, "nr2^31", 1ul << 31, &good, 64);
	args_case(&l, "nr2^32", 1ul << 32, &good, 64);
	args_case(&l, "nr2^63", 1ul << 63, &good, 64);
	args_case(&l, "empty", 1, &empty, 64);
	args_case(&l, "wrap", 1, &wrap, 64);
	args_case(&l, "most", 1, &most, 64);
	args_case(&l, "2^32", 1, &big, 64);
	args_case(&l, "null", 1, &null, 64);
	args_case(&l, "kernel", 1, &kernel, 64);
	args_case(&l, "remote_short", 1, &good, 63);
	args_case(&l, "remote_max", 1, &good, MAX_MSG);
	args_case(&l, "remote_max+1", 1, &good, MAX_MSG + 1);
	args_case(&l, "remote_2^32", 1, &good, 1ul << 32);
	args_case(&l, "remote_2^63", 1, &good, 1ul << 63);
}

static void notify_args(const struct api_case *c)
{
	static char page[4096];
	struct link l = link_open(c->num);
	struct rds_iovec v = { (uintptr_t)page, 64 };
	struct rds_rdma_args a = { .remote_vec = { 4096, 64 },
				   .local_vec_addr = (uintptr_t)&v,
				   .nr_local = 1,
				   .user_token = 7 };
	struct rx x;
	int i;

	for (i = 0; i < 10; i++) {
		a.flags = i < 8 ? 1ul << i : ~0ul;
		sweep(i, one(&l, RDS_CMSG_RDMA_ARGS, &a, sizeof(a)));
	}
	sweep_end("flags");
	x = rx_msg(l.tx, page, sizeof(page), 256, MSG_DONTWAIT);
	rx_note("notified", &x);
	x = rx_msg(l.rx, page, sizeof(page), 256, MSG_DONTWAIT);
	rx_note("received", &x);
}

static void atomics(const struct api_case *c)
{
	static uint64_t word[8];
	struct link l = link_open(c->num);
	int t;

	for (t = RDS_CMSG_ATOMIC_FADD; t <= RDS_CMSG_MASKED_ATOMIC_CSWP; t++) {
		struct rds_atomic_args a = { .local_addr = (uintptr_t)word,
					     .remote_addr = 4096 };

		r("aligned", one(&l, t, &a, sizeof(a)));
		a.local_addr++;
		r("unaligned", one(&l, t, &a, sizeof(a)));
		a.local_addr = 0;
		r("null", one(&l, t, &a, sizeof(a)));
		a.local_addr = (uintptr_t)page_hole(0);
		r("unmapped", one(&l, t, &a, sizeof(a)));
		a.local_addr = 0xffff888000000000ul;
		r("kernel", one(&l, t, &a, sizeof(a)));
	}
}

static void maps(const struct api_case *c)
{
	static char page[8192];
	struct link l = link_open(c->num);
	struct rds_get_mr_args a = { .vec = { (uintptr_t)page, 4096 } };
	uint64_t cookie = 0;

	r("good", one(&l, RDS_CMSG_RDMA_MAP, &a, sizeof(a)));
	a.cookie_addr = (uintptr_t)&cookie;
	r("cookie", one(&l, RDS_CMSG_RDMA_MAP, &a, sizeof(a)));
	a.cookie_addr = (uintptr_t)page_hole(0);
	r("bad_cookie", one(&l, RDS_CMSG_RDMA_MAP, &a, sizeof(a)));
	a = (struct rds_get_mr_args){ .vec = { (uintptr_t)page_hole(0),
					       4096 } };
	r("unmapped", one(&l, RDS_CMSG_RDMA_MAP, &a, sizeof(a)));
	a.vec.bytes = 0;
	r("empty", one(&l, RDS_CMSG_RDMA_MAP, &a, sizeof(a)));
	a = (struct rds_get_mr_args){ .vec = { ~0ul - 100, 4096 } };
	r("wrap", one(&l, RDS_CMSG_RDMA_MAP, &a, sizeof(a)));
	a = (struct rds_get_mr_args){ .vec = { (uintptr_t)page, 1ul << 40 } };
	r("huge", one(&l, RDS_CMSG_RDMA_MAP, &a, sizeof(a)));
	cookie = 1;
	r("dest", one(&l, RDS_CMSG_RDMA_DEST, &cookie, sizeof(cookie)));
	r("dest0", one(&l, RDS_CMSG_RDMA_DEST, page, sizeof(cookie)));
}

static const void *sample(int type, size_t *len)
{
	static char page[4096];
	static struct rds_iovec v = { 0, 64 };
	static struct rds_rdma_args args = { .nr_local = 1,
					     .remote_vec = { 4096, 64 } };
	static struct rds_get_mr_args map;
	static struct rds_atomic_args at;
	static uint64_t dest = 5;
	static uint32_t cookie = 9;

	v.addr = (uintptr_t)page;
	args.local_vec_addr = (uintptr_t)&v;
	map.vec = v;
	at.local_addr = (uintptr_t)page;
	switch (type) {
	case RDS_CMSG_RDMA_ARGS:
		*len = sizeof(args);
		return &args;
	case RDS_CMSG_RDMA_DEST:
		*len = sizeof(dest);
		return &dest;
	case RDS_CMSG_RDMA_MAP:
		*len = sizeof(map);
		return &map;
	case RDS_CMSG_ZCOPY_COOKIE:
		*len = sizeof(cookie);
		return &cookie;
	}
	*len = sizeof(at);
	return &at;
}

/*
 * protocol.rst 5.6.11 and 5.6.16: every pair of types, including pairs of one
 * type.
 */
static void pairs(const struct api_case *c)
{
	static const int t[] = { 1, 2, 3, 6, 7, 8, 9, 12 };
	struct link l = link_open(c->num);
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		char label[16];

		for (j = 0; j < ARRAY_SIZE(t); j++) {
			struct ctl k = { 0 };
			size_t len;
			const void *p = sample(t[i], &len);

			ctl_add(&k, SOL_RDS, t[i], p, len);
			p = sample(t[j], &len);
			ctl_add(&k, SOL_RDS, t[j], p, len);
			sweep(t[j], with(&l, &k, 0));
		}
		snprintf(label, sizeof(label), "%d", t[i]);
		sweep_end(label);
	}
}

/*
 * A send that fails because of a control message queues no message and charges
 * nothing to the send buffer.
 */
static void not_queued(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct rx x;
	char b[4];
	size_t len;
	int i;

	need(!set_int(l.tx, SOL_SOCKET, SO_SNDBUF, 1));
	for (i = 0; i < 50; i++) {
		struct ctl k = { 0 };
		const void *p = sample(RDS_CMSG_RDMA_ARGS, &len);

		ctl_add(&k, SOL_RDS, RDS_CMSG_RDMA_ARGS, p, len);
		if (send_msg(l.tx, &l.to, "x", 1, &k, MSG_DONTWAIT) !=
		    -EOPNOTSUPP)
			bail("send %d was not refused", i);
	}
	r("full", send_to(l.tx, &l.to, MIN_SNDBUF, MSG_DONTWAIT));
	x = rx_msg(l.rx, b, 0, 0, 0);
	rx_note("first", &x);
}

#define BOTH(n, f, w4, wl, k) \
	{ "cmsg." n ".tcp4", f, w4, .num = k, .num2 = TCP4 }, \
	{ "cmsg." n ".self6", f, w4, .num = k, .num2 = SELF6 }, \
	{ "cmsg." n ".lo4", f, wl, .num = k, .num2 = LO4 }
#define WAYS(n, f, w) \
	{ "cmsg." n ".tcp4", f, w, .num = TCP4 }, \
	{ "cmsg." n ".self6", f, w, .num = SELF6 }, \
	{ "cmsg." n ".lo4", f, w, .num = LO4 }
#define ALL_EINVAL "0-80:EINVAL"
#define MAP_LEN "0-31:EINVAL,32-80:EOPNOTSUPP"
#define ATOMIC_NULL "0-71:EINVAL,72-80:EFAULT"
#define ATOMIC_LEN "0-71:EINVAL,72-80:EOPNOTSUPP"
#define ATOMIC1 "aligned=EOPNOTSUPP unaligned=EFAULT null=EFAULT unmapped=EFAULT kernel=EFAULT"
#define ATOMIC4 ATOMIC1 " " ATOMIC1 " " ATOMIC1 " " ATOMIC1
#define RDMA_ARGS "good=EOPNOTSUPP none=EINVAL bad_vec=EFAULT half_vec=EFAULT nr1025=EMSGSIZE " \
	"nr2^31=EMSGSIZE nr2^32=EMSGSIZE nr2^63=EMSGSIZE empty=EINVAL wrap=EINVAL most=EINVAL " \
	"2^32=EINVAL null=EFAULT kernel=EFAULT remote_short=EINVAL remote_max=EOPNOTSUPP " \
	"remote_max+1=EMSGSIZE remote_2^32=EMSGSIZE remote_2^63=EMSGSIZE"
#define MAPS "good=EOPNOTSUPP cookie=EOPNOTSUPP bad_cookie=EOPNOTSUPP unmapped=EOPNOTSUPP " \
	"empty=EOPNOTSUPP wrap=EOPNOTSUPP huge=EOPNOTSUPP dest=EINVAL dest0=EINVAL"
#define PAIR_ATOMIC "=1:EOPNOTSUPP,2-3:EINVAL,6-9:EINVAL,12:EINVAL "
#define PAIRS "1=1-3:EINVAL,6-9:EOPNOTSUPP,12:EINVAL 2=1-3:EINVAL,6-9:EINVAL,12:EINVAL " \
	"3=1:EINVAL,2-3:EOPNOTSUPP,6-9:EINVAL,12:EOPNOTSUPP 6" PAIR_ATOMIC "7" PAIR_ATOMIC "8" \
	PAIR_ATOMIC "9" PAIR_ATOMIC "12=1-3:EINVAL,6-9:EINVAL,12:EINVAL"

const struct api_case cmsg_cases[] = {
	WAYS("row11_types", types, "0:EINVAL,4-5:EINVAL,10-11:EINVAL,13-40:EINVAL,"
	     "2147483647:EINVAL"),
	WAYS("other_levels", other_levels, "0-1:1,6:1,41:1,275:1,277:1"),
	{ "cmsg.row7_malformed", malformed, "cmsg_len=0-15:EINVAL,16-24:1,25-40:EINVAL "
	  "controllen=0-15:1,16-23:EINVAL,24-39:1,40:EINVAL huge=EINVAL second_short=EINVAL" },
	BOTH("len_args", lengths, ALL_EINVAL, ALL_EINVAL, RDS_CMSG_RDMA_ARGS),
	BOTH("len_dest", lengths, ALL_EINVAL, ALL_EINVAL, RDS_CMSG_RDMA_DEST),
	BOTH("len_map", lengths, MAP_LEN, MAP_LEN, RDS_CMSG_RDMA_MAP),
	BOTH("len_fadd", lengths, ATOMIC_NULL, ATOMIC_NULL, RDS_CMSG_ATOMIC_FADD),
	BOTH("len_cswp", lengths, ATOMIC_NULL, ATOMIC_NULL, RDS_CMSG_ATOMIC_CSWP),
	BOTH("len_masked_fadd", lengths, ATOMIC_NULL, ATOMIC_NULL, RDS_CMSG_MASKED_ATOMIC_FADD),
	BOTH("len_masked_cswp", lengths, ATOMIC_NULL, ATOMIC_NULL, RDS_CMSG_MASKED_ATOMIC_CSWP),
	BOTH("len_zcopy", lengths, ALL_EINVAL, ALL_EINVAL, RDS_CMSG_ZCOPY_COOKIE),
	BOTH("good_len_args", good_lengths, "0-55:EINVAL,56-80:EOPNOTSUPP",
	     "0-55:EINVAL,56-80:EOPNOTSUPP", RDS_CMSG_RDMA_ARGS),
	BOTH("good_len_map", good_lengths, MAP_LEN, MAP_LEN, RDS_CMSG_RDMA_MAP),
	BOTH("good_len_fadd", good_lengths, ATOMIC_LEN, ATOMIC_LEN, RDS_CMSG_ATOMIC_FADD),
	BOTH("good_len_masked_cswp", good_lengths, ATOMIC_LEN, ATOMIC_LEN,
	     RDS_CMSG_MASKED_ATOMIC_CSWP),
	WAYS("row8_17_rdma_args.CVE-2010-3865.CVE-2010-4175.CVE-2018-5332", rdma_args, RDMA_ARGS),
	WAYS("row17_notify", notify_args, "flags=0-9:EOPNOTSUPP notified=EAGAIN received=EAGAIN"),
	WAYS("row17_atomics.CVE-2018-5333", atomics, ATOMIC4),
	WAYS("row16_maps.CVE-2018-7492", maps, MAPS),
	WAYS("row16_pairs", pairs, PAIRS),
	{ "cmsg.not_queued.tcp4", not_queued, "full=2304 first=0/16+TRUNC", .num = TCP4 },
	{ "cmsg.not_queued.self6", not_queued, "full=2304 first=0/28+TRUNC", .num = SELF6 },
	{ "cmsg.not_queued.lo4", not_queued, "full=2304 first=0/16+TRUNC", .num = LO4 },
	{ }
};
