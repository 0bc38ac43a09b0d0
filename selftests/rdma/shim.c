// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-rdmashim WORD SELF PEER
 * One test of a device that rds_shim.ko has changed; exit 0 if it passes. SELF
 * and PEER are addresses of this host, and all sockets are in this program.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim.h"

#define SHIM	"/sys/module/rds_shim/parameters/"

struct rt r;
struct rt_addr there;
int peer_fd;
uint8_t here[LEN] __attribute__((aligned(4096)));
uint8_t far[LEN] __attribute__((aligned(4096)));
uint64_t next_token = 1;

bool said(bool good, const char *what, long a, long b)
{
	printf("# %s: %s (%ld, %ld)\n", what, good ? "yes" : "NO", a, b);
	return good;
}

void shim_set(const char *name, int value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), SHIM "%s", name);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%d\n", value) < 0 || fclose(f))
		die("%s: %m", path);
}

long shim_get(const char *name, int field)
{
	char path[128];
	long v[2] = { -1, -1 };
	FILE *f;

	snprintf(path, sizeof(path), SHIM "%s", name);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%ld %ld", &v[0], &v[1]) < 1)
		die("%s: %m", path);
	fclose(f);
	return v[field];
}

/* Repeat until @fn(@arg) is true, for @ms at most. */
bool until(bool (*fn)(long arg), long arg, int ms)
{
	uint64_t end = now_ns() + (uint64_t)ms * r.slow * 1000000ull;

	while (!fn(arg)) {
		if (now_ns() > end)
			return false;
		nap(&r, 10);
	}
	return true;
}

/* ---- messages and operations */

static int say(int fd, const struct rt_addr *to, const void *p, size_t len)
{
	struct iovec iov = { (void *)p, len };
	struct msghdr m = { .msg_name = (void *)&to->ss,
			    .msg_namelen = to->len,
			    .msg_iov = &iov,
			    .msg_iovlen = 1 };

	return sendmsg(fd, &m, 0) < 0 ? -errno : 0;
}

int hear(int fd, void *buf, size_t size)
{
	uint64_t end = now_ns() + 20000000000ull * r.slow;
	int n;

	do {
		n = recv_one(&r, fd, buf, size, 1000, NULL);
	} while ((n == -ETIMEDOUT || n == -EINTR) && now_ns() < end);
	return n;
}

/* One message of @len bytes arrives as it was sent. */
bool passes(int from, const struct rt_addr *to, int at, size_t len,
	    uint64_t seed)
{
	static uint8_t out[1 << 20], in[1 << 20];
	int rc, n;

	pattern(out, len, seed, 0);
	rc = say(from, to, out, len);
	n = rc ? rc : hear(at, in, sizeof(in));
	return (n == (int)len && !pattern_diff(in, len, seed, 0)) ||
	       said(false, "message", (long)len, n);
}

uint64_t far_key(uint64_t flags)
{
	uint64_t cookie = 0;
	int rc = take_key(peer_fd, &there, HOW_GET_MR, far, LEN, flags, &cookie);

	if (rc)
		said(false, "key", rc, 0);
	return cookie;
}

int op_begin(uint64_t cookie, void *local, size_t len, uint64_t flags)
{
	struct rds_iovec v = { (uintptr_t)local, len };
	struct rdma_op o = { .cookie = cookie,
			     .bytes = len,
			     .vec = &v,
			     .nvec = 1,
			     .flags = flags | NOTE,
			     .token = next_token++,
			     .data = "x",
			     .len = 1 };

	return rdma_send(r.fd, &there, &o);
}

int op(uint64_t cookie, void *local, size_t len, uint64_t flags)
{
	int rc = op_begin(cookie, local, len, flags);

	return rc ? rc : wait_token(&r, r.fd, next_token - 1, 20000);
}

/* A WRITE and a READ of all bytes, and the message behind each */
bool moves(uint64_t seed)
{
	uint64_t cookie = far_key(RW);
	uint8_t x[8];
	bool good;
	int rc[2];

	pattern(here, LEN, seed, 0);
	rc[0] = op(cookie, here, LEN, RW);
	good = !rc[0] && hear(peer_fd, x, sizeof(x)) == 1 &&
	       !pattern_diff(far, LEN, seed, 0);
	memset(here, 0, LEN);
	rc[1] = op(cookie, here, LEN, 0);
	good &= !rc[1] && hear(peer_fd, x, sizeof(x)) == 1 &&
		!pattern_diff(here, LEN, seed, 0);
	rc[0] = rc[0] ? rc[0] : free_key(peer_fd, cookie, 0);
	return (good && !rc[0]) || said(false, "operations", rc[0], rc[1]);
}

/* Messages of all sizes both ways, and operations */
static bool works(void)
{
	static const size_t sizes[] = { 0,    1,    47,	  1000,	 1024,	 4000,
					4047, 4048, 4049, 4096,	 4097,	 8192,
					8193, 9999, 65536, 300001, 1 << 20 };
	bool good = true;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && good; i++) {
		good &= passes(r.fd, &there, peer_fd, sizes[i], 10 + i);
		good &= passes(peer_fd, &r.self, r.fd, sizes[i], 50 + i);
	}
	return good && moves(7) && moves(8);
}

/* A stream of messages that wait one behind the other */
static bool streams(void)
{
	static uint8_t out[1 << 20], in[1 << 20];
	size_t len;
	int n;

	for (int i = 0; i < 400; i++) {
		len = i % 7 ? 100 + 13 * (size_t)i : 40000;
		pattern(out, len, 1000 + (uint64_t)i, 0);
		if (say(r.fd, &there, out, len))
			return said(false, "stream", i, errno);
	}
	for (int i = 0; i < 400; i++) {
		len = i % 7 ? 100 + 13 * (size_t)i : 40000;
		n = hear(peer_fd, in, sizeof(in));
		if (n != (int)len || pattern_diff(in, len, 1000 + (uint64_t)i, 0))
			return said(false, "stream: message", i, n);
	}
	return true;
}

static bool t_works(void) { return works() && streams(); }

/* ---- refusals */

static uint64_t word __attribute__((aligned(8)));

static int fadd(uint64_t cookie, bool masked)
{
	struct rds_atomic_args a = { .cookie = cookie,
				     .local_addr = (uintptr_t)&word,
				     .flags = NOTE,
				     .user_token = next_token++ };
	int rc;

	a.m_fadd.add = 1;
	a.m_fadd.nocarry_mask = masked ? 0x8080 : 0;
	rc = cmsg_send(r.fd, &there,
		       masked ? RDS_CMSG_MASKED_ATOMIC_FADD :
				RDS_CMSG_ATOMIC_FADD,
		       &a, sizeof(a), "atomic", 6);
	return rc ? rc : wait_token(&r, r.fd, a.user_token, 20000);
}

/*
 * The first atomic operation, which the device refuses, ends with a status; it
 * does nothing, and its message does not come.  The connection stays, and the
 * next such operation is refused before it is posted.
 */
static bool atomic_refused(bool masked)
{
	uint64_t cookie = far_key(RW);
	long resets;
	bool good;
	int rc, again;

	memset(far, 0, 8);
	good = passes(r.fd, &there, peer_fd, 100, 1);
	resets = counter("conn_reset");
	shim_set("refuse", masked ? 2 : 3);
	rc = fadd(cookie, masked);
	good &= said(rc == RDS_RDMA_OTHER_ERROR, "refused", rc, 0);
	good &= passes(r.fd, &there, peer_fd, 2000, 2);
	again = fadd(cookie, masked);
	good &= said(again == -EOPNOTSUPP, "then not supported", again, 0);
	good &= said(counter("conn_reset") == resets, "no connection ended",
		     counter("conn_reset") - resets, 0);
	good &= said(!far[0], "memory as it was", far[0], 0);
	shim_set("refuse", 0);
	if (masked) {
		rc = fadd(cookie, false);
		good &= said(!rc && far[0] == 1, "others work", rc, far[0]);
	}
	free_key(peer_fd, cookie, 0);
	return good;
}

static bool t_atomic(void) { return atomic_refused(false); }
static bool t_masked(void) { return atomic_refused(true); }

/*
 * The device takes no key with remote atomic access: the key is made without,
 * and atomic operations are not supported.
 */
static bool t_atomic_key(void)
{
	long rebuilt = counter("rdma_registrar_rebuilt");
	long refused = shim_get("refused", 0);
	uint64_t cookie;
	bool good;
	int rc;

	shim_set("refuse", 4);
	cookie = far_key(RW);
	good = said(cookie, "key made", (long)cookie, 0);
	rc = fadd(cookie, false);
	good &= said(rc == -EOPNOTSUPP, "no atomic operations", rc, 0);
	good = good && moves(11) && moves(12);
	refused = shim_get("refused", 0) - refused;
	good &= said(refused == 1, "refused once", refused, 0);
	free_key(peer_fd, cookie, 0);
	shim_set("refuse", 0);
	rebuilt = counter("rdma_registrar_rebuilt") - rebuilt;
	return said(!rebuilt, "registrar stays", rebuilt, 0) && good;
}

/* A key that the device refuses is an error of that request alone. */
static bool t_key(void)
{
	long rebuilt = counter("rdma_registrar_rebuilt");
	uint64_t cookie = far_key(RW), none = 0;
	bool good;
	int rc;

	shim_set("refuse", 8);
	rc = take_key(peer_fd, &there, HOW_GET_MR, far, LEN, RW, &none);
	shim_set("refuse", 0);
	good = said(rc == -EINVAL, "refused", rc, 0);
	pattern(here, LEN, 3, 0);
	rc = op(cookie, here, LEN, RW);
	good &= said(!rc && !pattern_diff(far, LEN, 3, 0), "others stay", rc, 0);
	rc = free_key(peer_fd, cookie, 0);
	good &= said(!rc, "and end", rc, 0) && moves(4);
	rebuilt = counter("rdma_registrar_rebuilt") - rebuilt;
	return said(!rebuilt, "registrar stays", rebuilt, 0) && good;
}

/* ---- events */

static bool reset_since(long before) { return counter("conn_reset") > before; }

/* An idle connection ends, and the next message makes another. */
static bool ends(const char *name, int value, const char *reason)
{
	long before, why = drops(reason);
	bool good = passes(r.fd, &there, peer_fd, 100, 1);

	before = counter("conn_reset");
	shim_set(name, value);
	good &= said(until(reset_since, before, 10000), "connection ends",
		     counter("conn_reset") - before, 0);
	good &= said(drops(reason) > why, reason, drops(reason) - why, 0);
	if (!strcmp(name, "port_down"))
		shim_set(name, 0);
	return good && passes(r.fd, &there, peer_fd, 100, 2) && moves(3);
}

static bool t_port_err(void)
{
	return ends("port_down", 1, "local_reconfig");
}

#define EVENT_DEVICE_FATAL	8
#define EVENT_PORT_ERR		10
#define EVENT_GID_CHANGE	18

static bool t_fatal(void)
{
	return ends("event", EVENT_DEVICE_FATAL, "device_gone");
}

/* Events after which the connections go on */
static bool t_harmless(void)
{
	long before;
	bool good = passes(r.fd, &there, peer_fd, 100, 1);

	before = counter("conn_reset");
	shim_set("event", EVENT_GID_CHANGE);
	/* The port is up again when the event is handled. */
	shim_set("event", EVENT_PORT_ERR);
	for (uint64_t i = 0; i < 50 && good; i++)
		good = passes(r.fd, &there, peer_fd, 3000, 5 + i);
	return said(!reset_since(before), "connection stays", 0, 0) && good;
}

/* ---- posts that fail */

/* Each message comes once and in order, whichever post fails. */
static bool t_nomem(void)
{
	static uint8_t out[20000], in[20000];
	long before = counter("conn_reset"), failed = shim_get("no_memory", 0);
	int rounds = 24, n;
	bool good = true;

	for (int i = 0; i < rounds && good; i++) {
		shim_set(i & 1 ? "nth_recv" : "nth_send", 1 + i / 2);
		for (int k = 0; k < 20; k++) {
			size_t len = 200 + 900 * (size_t)k;

			pattern(out, len, 1 + (uint64_t)(i * 20 + k), 0);
			if (say(r.fd, &there, out, len))
				return said(false, "send", i, errno);
		}
		for (int k = 0; k < 20 && good; k++) {
			size_t len = 200 + 900 * (size_t)k;

			n = hear(peer_fd, in, sizeof(in));
			good = (n == (int)len &&
				!pattern_diff(in, len,
					      1 + (uint64_t)(i * 20 + k), 0)) ||
			       said(false, "message", i * 20 + k, n);
		}
	}
	shim_set("nth_send", 0);
	shim_set("nth_recv", 0);
	failed = shim_get("no_memory", 0) - failed;
	before = counter("conn_reset") - before;
	/*
	 * Both ends of the connection are here and dial at once; a connection
	 * that crosses the other one may end as well.
	 */
	good &= said(failed > 0 && before <= 3 * failed, "ends of connections",
		     before, failed);
	return good && moves(9);
}

static const struct {
	const char *name;
	bool (*fn)(void);
} tests[] = {
	{ "works", t_works },
	{ "atomic", t_atomic },
	{ "masked", t_masked },
	{ "atomic_key", t_atomic_key },
	{ "key", t_key },
	{ "sink", t_sink },
	{ "port_err", t_port_err },
	{ "fatal", t_fatal },
	{ "harmless", t_harmless },
	{ "busy", t_busy },
	{ "invalidated", t_invalidated },
	{ "rkeys", t_rkeys },
	{ "quota", t_quota },
	{ "registrar", t_registrar },
	{ "nomem", t_nomem },
};

int main(int argc, char **argv)
{
	if (argc != 4)
		die("usage: rds-rdmashim WORD SELF PEER");
	peer_fd = rt_open_both(&r, argv[2], argv[3], PORT, &there);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (!strcmp(argv[1], tests[i].name))
			return !tests[i].fn();
	}
	die("no test %s", argv[1]);
}
