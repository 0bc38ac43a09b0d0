// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-failnth-rdma SELF PEER
 * The n-th allocation or user copy of each call for remote memory fails, for
 * each n.  Both addresses are those of an RDMA device of this host: messages
 * from one to the other stay in the device.
 */
#include "failnth_rdma.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define PORT		4800
#define BUFFERS		(8 << 20)

uint8_t here[MIB] __attribute__((aligned(PAGE)));
uint8_t there[MIB] __attribute__((aligned(PAGE)));
int tx, rx;
static union addr rx_addr;
/* Pages pinned while no call is under way, and pages that were lost before */
static long pinned, lost;

static long done(long ret)
{
	return ret < 0 ? -errno : ret;
}

/* ---- pinned pages */

static long vmstat(const char *name)
{
	FILE *f = fopen("/proc/vmstat", "re");
	long v, found = -1;
	char word[64];

	while (f && fscanf(f, "%63s %ld", word, &v) == 2) {
		if (!strcmp(word, name))
			found = v;
	}
	if (f)
		fclose(f);
	return found;
}

/* Each processor counts for itself and adds to the sum now and then. */
static long pins(void)
{
	if (!file_write("/proc/sys/vm/stat_refresh", "1"))
		die("stat_refresh: %m");
	return vmstat("nr_foll_pin_acquired") - vmstat("nr_foll_pin_released");
}

static bool unpinned(void *arg)
{
	const long *want = arg;

	return pins() == *want;
}

void check_pins(const char *what)
{
	long want = pinned + lost;

	if (wait_until(unpinned, &want, NTH_PATIENCE * slow_factor()))
		return;
	/* They are waited for once. */
	lost = pins() - pinned;
	nth_wrong("%s: %ld pages remain pinned", what, lost);
}

/* ---- sockets */

int open_at(const union addr *a)
{
	int fd = rds_open(0), trans = RDS_TRANS_IB;

	if (setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &trans, sizeof(trans)) ||
	    bind(fd, &a->sa, addr_len(a)))
		die("bind: %m");
	rds_buffers(fd, BUFFERS);
	set_timeo(fd, SO_SNDTIMEO, NTH_PATIENCE * slow_factor());
	set_timeo(fd, SO_RCVTIMEO, NTH_PATIENCE * slow_factor());
	return fd;
}

void nothing_at(int fd, const char *what)
{
	char c;

	if (recv(fd, &c, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN)
		nth_wrong("%s: 1 messages doubled", what);
}

static void take_cmsg(struct got *g, const struct cmsghdr *c)
{
	if (c->cmsg_type == RDS_CMSG_RDMA_DEST) {
		memcpy(&g->cookie, CMSG_DATA(c), sizeof(g->cookie));
	} else if (c->cmsg_type == RDS_CMSG_RDMA_STATUS) {
		memcpy(&g->note, CMSG_DATA(c), sizeof(g->note));
		g->notes++;
	}
}

long take(int fd, struct got *g)
{
	char control[256];
	struct iovec iov = { &g->seq, sizeof(g->seq) };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;

	memset(g, 0, sizeof(*g));
	g->ret = done(recvmsg(fd, &m, 0));
	for (c = CMSG_FIRSTHDR(&m); g->ret >= 0 && c; c = CMSG_NXTHDR(&m, c))
		take_cmsg(g, c);
	return g->ret;
}

long put(int type, const void *arg, size_t len, unsigned int seq)
{
	union {
		struct cmsghdr	h;
		char		room[256];
	} c = { 0 };
	struct iovec iov = { &seq, sizeof(seq) };
	struct msghdr m = {
		.msg_name = &rx_addr, .msg_namelen = addr_len(&rx_addr),
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &c, .msg_controllen = CMSG_SPACE(len),
	};

	c.h.cmsg_level = SOL_RDS;
	c.h.cmsg_type = type;
	c.h.cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(&c.h), arg, len);
	return done(sendmsg(tx, &m, 0));
}

/* ---- keys */

static long free_key(int fd, uint64_t cookie)
{
	const struct rds_free_mr_args a = { .cookie = cookie };

	return done(setsockopt(fd, SOL_RDS, RDS_FREE_MR, &a, sizeof(a)));
}

static long do_get(void *arg)
{
	struct key *k = arg;
	struct rds_get_mr_for_dest_args to = {
		.vec = k->args.vec, .flags = k->args.flags,
		.cookie_addr = (uintptr_t)&k->cookie,
	};

	k->args.cookie_addr = (uintptr_t)&k->cookie;
	if (!k->for_dest)
		return done(setsockopt(rx, SOL_RDS, RDS_GET_MR, &k->args,
				       sizeof(k->args)));
	memcpy(&to.dest_addr, &rx_addr, addr_len(&rx_addr));
	return done(setsockopt(rx, SOL_RDS, RDS_GET_MR_FOR_DEST, &to,
			       sizeof(to)));
}

static void before_get(void *arg)
{
	struct key *k = arg;

	k->cookie = 0;
	if (!k->kept && free_key(rx, 0))
		die("flush: %m");
}

static void not_got(void *arg)
{
	(void)arg;
	check_pins("a key that was not made");
}

static void end_key(void *arg)
{
	const struct key *k = arg;

	if (free_key(rx, k->cookie))
		nth_wrong("there is no key %llx", (long long)k->cookie);
	check_pins("a key that was freed");
}

static void group_get(void)
{
	static const struct {
		const char	*what;
		size_t		from, len;
		uint64_t	flags;
		bool		for_dest, kept;
	} kinds[] = {
		{ "page", 0, PAGE, RW, false, false },
		{ "page to read", 0, PAGE, 0, false, false },
		{ "page, kept", 0, PAGE, RW, false, true },
		{ "page, once", 0, PAGE, RW | RDS_RDMA_USE_ONCE, false, false },
		{ "17 pages", 100, 16 * PAGE, RW, false, false },
		{ "1 MiB", 0, MIB, RW, false, false },
		{ "for dest", 100, PAGE, RW, true, false },
	};
	struct nth_call c = { "", before_get, do_get, not_got, end_key, 0, 0 };
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct key k = {
			.args.vec = { (uintptr_t)there + kinds[i].from,
				      kinds[i].len },
			.args.flags = kinds[i].flags,
			.for_dest = kinds[i].for_dest, .kept = kinds[i].kept,
		};

		c.what = kinds[i].what;
		nth_every(&c, &k);
	}
	nth_result("rdma_get_mr", 1);
}

static void begin_free(void *arg)
{
	if (do_get(arg))
		die("key: %m");
}

static long do_free(void *arg)
{
	const struct key *k = arg;

	return free_key(rx, k->cookie);
}

static void freed(void *arg)
{
	const struct key *k = arg;

	if (free_key(rx, k->cookie) != -EINVAL)
		nth_wrong("a key is there that was freed");
	check_pins("a key that was freed");
}

/* The device has a kept key, which the call frees. */
static void begin_flush(void *arg)
{
	begin_free(arg);
	end_key(arg);
}

static long do_flush(void *arg)
{
	(void)arg;
	return free_key(rx, 0);
}

static void group_free(void)
{
	const struct nth_call frees = {
		"free", begin_free, do_free, NULL, freed, 0, 0
	}, flushes = {
		"flush", begin_flush, do_flush, NULL, freed, 0, 0
	};
	struct key k = { .args.vec = { (uintptr_t)there, 20 * PAGE },
			 .args.flags = RW };

	nth_every(&frees, &k);
	nth_every(&flushes, &k);
	nth_result("rdma_free_mr", 1);
}

/* ---- groups whose operations have one key */

void begin_group(struct key *k)
{
	*k = (struct key){ .args.vec = { (uintptr_t)there, MIB },
			   .args.flags = RW };
	begin_free(k);
	pinned = pins() - lost;
}

void end_group(struct key *k, const char *name)
{
	if (free_key(rx, k->cookie))
		nth_wrong("the key of the group has gone");
	pinned = 0;
	check_pins(name);
	nth_result(name, 1);
}

/* ---- messages with a key */

/**
 * struct parcel - a message that brings a key
 * @map: RDS_CMSG_RDMA_MAP, which makes the key; else RDS_CMSG_RDMA_DEST
 * @cookie: the key
 * @seq: number of the message
 * @got: the message, received
 */
struct parcel {
	bool		map;
	uint64_t	cookie;
	unsigned int	seq;
	struct got	got;
};

static void new_parcel(void *arg)
{
	struct parcel *p = arg;

	p->seq++;
}

static long do_parcel(void *arg)
{
	struct parcel *p = arg;
	struct rds_get_mr_args a = {
		.vec = { (uintptr_t)here, 20 * PAGE }, .flags = RW,
		.cookie_addr = (uintptr_t)&p->cookie,
	};

	if (p->map)
		return put(RDS_CMSG_RDMA_MAP, &a, sizeof(a), p->seq);
	return put(RDS_CMSG_RDMA_DEST, &p->cookie, sizeof(p->cookie), p->seq);
}

static void parcel_not_sent(void *arg)
{
	(void)arg;
	nothing_at(rx, "a key that was not sent");
	check_pins("a key that was not sent");
}

static void check_parcel(const struct parcel *p)
{
	if (p->got.ret != sizeof(p->got.seq) || p->got.seq != p->seq)
		nth_wrong("message %u with a key was lost: %ld", p->seq,
			  p->got.ret);
	if (p->got.cookie != p->cookie)
		nth_wrong("message %u has the key %llx, not %llx", p->seq,
			  (long long)p->got.cookie, (long long)p->cookie);
	nothing_at(rx, "a message with a key");
}

static void parcel_came(void *arg)
{
	struct parcel *p = arg;

	take(rx, &p->got);
	check_parcel(p);
	if (p->map && free_key(tx, p->cookie))
		nth_wrong("there is no key %llx", (long long)p->cookie);
	check_pins("a message with a key");
}

/* A key of the sender, for messages with RDS_CMSG_RDMA_DEST */
static void begin_dest(struct parcel *p)
{
	const struct rds_get_mr_args a = {
		.vec = { (uintptr_t)here, PAGE }, .flags = RW,
		.cookie_addr = (uintptr_t)&p->cookie,
	};

	if (setsockopt(tx, SOL_RDS, RDS_GET_MR, &a, sizeof(a)))
		die("key: %m");
	pinned = pins() - lost;
}

static void end_dest(const struct parcel *p)
{
	if (free_key(tx, p->cookie))
		nth_wrong("the key of the group has gone");
	pinned = 0;
	check_pins("the key of the group");
}

static void group_parcels(void)
{
	const struct nth_call maps = {
		"map", new_parcel, do_parcel, parcel_not_sent, parcel_came, 0, 0
	}, names = {
		"dest", new_parcel, do_parcel, parcel_not_sent, parcel_came, 0,
		0
	};
	struct parcel map = { .map = true }, dest = { 0 };

	nth_every(&maps, &map);
	begin_dest(&dest);
	nth_every(&names, &dest);
	end_dest(&dest);
	nth_result("rdma_send_key", 1);
}

/* ---- recvmsg() */

static void parcel_waits(void *arg)
{
	new_parcel(arg);
	if (do_parcel(arg) < 0)
		die("send: %m");
	if (!readable(rx, NTH_PATIENCE * slow_factor()))
		die("no message");
}

static long do_take(void *arg)
{
	struct parcel *p = arg;

	return take(rx, &p->got);
}

static void taken(void *arg)
{
	check_parcel(arg);
}

static void group_recv(void)
{
	const struct nth_call takes = {
		"recv key", parcel_waits, do_take, NULL, taken, 0, 0
	};
	struct parcel dest = { 0 };

	begin_dest(&dest);
	nth_every(&takes, &dest);
	end_dest(&dest);
	nth_result("rdma_recv_key", 1);
}

/* The first message opens the connection. */
static void first_message(void)
{
	struct got g;

	if (sendto(tx, "1234", 4, 0, &rx_addr.sa, addr_len(&rx_addr)) != 4 ||
	    take(rx, &g) != 4)
		die("the first message: %m");
}

int main(int argc, char **argv)
{
	union addr tx_addr;

	if (argc != 3 || !addr_parse(&tx_addr, argv[1], PORT) ||
	    !addr_parse(&rx_addr, argv[2], PORT + 1))
		die("usage: rds-failnth-rdma SELF PEER");
	setvbuf(stdout, NULL, _IOLBF, 0);
	ktap_plan(8);
	nth_prepare();
	tx = open_at(&tx_addr);
	rx = open_at(&rx_addr);
	first_message();
	group_get();
	group_free();
	rdma_ops();
	group_parcels();
	group_recv();
	rdma_conns();
	return ktap_exit();
}
