// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * MSG_ZEROCOPY: conditions, cookies and their delivery, pinned pages and the
 * locked-memory limit.
 */
#include "api.h"

#include <sys/mman.h>

static struct link zlink(enum topo t)
{
	struct link l = link_open(t);

	need(!set_int(l.tx, SOL_SOCKET, SO_ZEROCOPY, 1));
	return l;
}

static long zsend(int fd, const union addr *to, const void *buf, size_t len,
		  uint32_t cookie, int flags)
{
	struct ctl c = { 0 };

	ctl_add(&c, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie, sizeof(cookie));
	return send_msg(fd, to, buf, len, &c, flags | MSG_ZEROCOPY);
}

static char *pages(int n)
{
	char *p = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(p != MAP_FAILED);
	fill(p, n * 4096, 5);
	return p;
}

struct wanted {
	int fd;
	struct rx x;
};

static bool came(void *arg)
{
	struct wanted *w = arg;
	char b[8];

	w->x = rx_msg(w->fd, b, sizeof(b), 256, MSG_DONTWAIT);
	return w->x.ret != -EAGAIN;
}

static struct rx completion(int fd)
{
	struct wanted w = { .fd = fd };

	if (!wait_true(came, &w, 10000))
		bail("no completion");
	return w.x;
}

/*
 * True when a completion waits to be received. Two polls: the bit of a
 * completion stays, that of a congestion map is gone after the first.
 */
static bool pending(void *arg)
{
	int fd = *(int *)arg;

	poll_bits(fd, POLLRDNORM, 0);
	return poll_bits(fd, POLLRDNORM, 0) & POLLRDNORM;
}

static void await(int fd)
{
	need(wait_true(pending, &fd, 10000));
}

static const struct rds_zcopy_cookies *cookies(const struct rx *x)
{
	size_t len;
	const void *p = rx_cmsg(x, SOL_RDS, RDS_CMSG_ZCOPY_COMPLETION, &len);

	if (!p || len != sizeof(struct rds_zcopy_cookies))
		bail("no cookies in what came: %ld", x->ret);
	return p;
}

static void conditions(const struct api_case *c)
{
	struct link l = link_open(c->num);
	uint32_t cookie = 3;
	struct ctl k = { 0 };
	char *p = pages(1);

	ctl_add(&k, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie, sizeof(cookie));
	r("default", get_int(l.tx, SOL_SOCKET, SO_ZEROCOPY));
	r("off_both", zsend(l.tx, &l.to, p, 100, 1, 0));
	r("off_flag", send_msg(l.tx, &l.to, p, 100, NULL, MSG_ZEROCOPY));
	r("off_cookie", send_msg(l.tx, &l.to, p, 100, &k, 0));
	r("set", set_int(l.tx, SOL_SOCKET, SO_ZEROCOPY, 1));
	r("flag", send_msg(l.tx, &l.to, p, 100, NULL, MSG_ZEROCOPY));
	r("cookie", send_msg(l.tx, &l.to, p, 100, &k, 0));
	r("empty", zsend(l.tx, &l.to, p, 0, 1, 0));
	r("empty_flag", send_msg(l.tx, &l.to, p, 0, NULL, MSG_ZEROCOPY));
	r("both", zsend(l.tx, &l.to, p, 100, 1, 0));
	ctl_add(&k, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie, sizeof(cookie));
	r("twice", send_msg(l.tx, &l.to, p, 100, &k, MSG_ZEROCOPY));
	r("value2", set_int(l.tx, SOL_SOCKET, SO_ZEROCOPY, 2));
}

static void lengths(const struct api_case *c)
{
	struct link l = zlink(c->num);
	char *p = pages(1), b[16];
	int len;

	for (len = 0; len <= 16; len++) {
		struct ctl k = { 0 };

		ctl_add(&k, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, "abcdabcdabcdabcd",
			len);
		sweep(len, send_msg(l.tx, &l.to, p, 10, &k,
				    MSG_ZEROCOPY | MSG_DONTWAIT));
		if (len >= 4) {
			need(recv(l.rx, b, sizeof(b), 0) == 10);
			completion(l.tx);
		}
	}
	sweep_end(NULL);
}

static void completed(const struct api_case *c)
{
	struct link l = zlink(c->num);
	const struct rds_zcopy_cookies *k;
	static char b[70000];
	char *p = pages(20);
	struct rx x;

	r("send", zsend(l.tx, &l.to, p + 7, 40960, 0xabcd1234, 0));
	x = rx_msg(l.rx, b, sizeof(b), 0, 0);
	rx_note("recv", &x);
	r("same", !memcmp(b, p + 7, 40960));
	x = completion(l.tx);
	rx_note("done", &x);
	k = cookies(&x);
	r("num", k->num);
	r("cookie", k->cookies[0] == 0xabcd1234);
	r("rest", k->cookies[1] | k->cookies[7]);
	x = rx_msg(l.tx, b, 8, 256, MSG_DONTWAIT);
	rx_note("again", &x);
}

/* Twenty cookies: each comes once, at most eight in a record. */
static void many(const struct api_case *c)
{
	struct link l = zlink(c->num);
	char *p = pages(1), b[16];
	uint32_t seen = 0;
	int i, total = 0, over = 0;

	for (i = 0; i < 20; i++) {
		long end = now_ms() + 5000L * time_scale, n;

		/* The limit of a user allows five messages under way. */
		while ((n = zsend(l.tx, &l.to, p, 10, i, 0)) == -ENOMEM &&
		       now_ms() < end)
			nap();
		need(n == 10);
		need(recv(l.rx, b, 16, 0) == 10);
	}
	while (total < 20) {
		struct rx x = completion(l.tx);
		const struct rds_zcopy_cookies *k = cookies(&x);

		over += k->num > 8 || !k->num;
		for (i = 0; i < (int)k->num; i++, total++) {
			need(k->cookies[i] < 20 &&
			     !(seen & 1u << k->cookies[i]));
			seen |= 1u << k->cookies[i];
		}
	}
	r("total", total);
	r("over", over);
	r("left", recv(l.tx, b, 16, MSG_DONTWAIT) < 0 ? -errno : 0);
}

/* Is a message queued at a socket?  Its completion alone makes it readable. */
static bool data_queued(void *fd)
{
	struct snap s = snap(*(int *)fd, RDS6_INFO_RECV_MESSAGES);

	snap_free(&s);
	return s.n > 0;
}

static void with_data(const struct api_case *c)
{
	struct link l = zlink(c->num);
	struct rx x;
	char *p = pages(1), b[16];

	need(zsend(l.tx, &l.to, p, 10, 6, 0) == 10);
	need(recv(l.rx, b, 16, 0) == 10);
	await(l.tx);
	need(send_msg(l.rx, &l.from, "data", 4, NULL, 0) == 4);
	need(wait_true(data_queued, &l.tx, 5000));
	x = rx_msg(l.tx, b, 16, 256, 0);
	rx_note("recv", &x);
	r("cookie", cookies(&x)->cookies[0]);
	x = rx_msg(l.tx, b, 16, 256, MSG_DONTWAIT);
	rx_note("again", &x);
}

static void rooms(const struct api_case *c)
{
	struct link l = zlink(c->num);
	char *p = pages(1), b[16];
	struct rx x;
	int i;

	need(zsend(l.tx, &l.to, p, 10, 6, 0) == 10);
	need(recv(l.rx, b, 16, 0) == 10);
	await(l.tx);
	for (i = 0; i < (int)CMSG_SPACE(36); i++) {
		x = rx_msg(l.tx, b, 16, i, MSG_DONTWAIT);
		sweep(i, x.ret);
	}
	sweep_end("room");
	need(!set_int(l.tx, SOL_SOCKET, SO_ZEROCOPY, 0));
	x = rx_msg(l.tx, b, 16, 256, MSG_DONTWAIT);
	rx_note("off", &x);
	need(!set_int(l.tx, SOL_SOCKET, SO_ZEROCOPY, 1));
	x = rx_msg(l.tx, b, 16, CMSG_SPACE(36), MSG_DONTWAIT);
	rx_note("exact", &x);
}

/* A record that cannot be written waits for the next reader. */
static void unwritten(const struct api_case *c)
{
	struct link l = zlink(c->num);
	char *p = pages(1), b[16];
	struct iovec iov = { b, sizeof(b) };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = page_hole(0),
			    .msg_controllen = 256 };
	struct rx x;

	need(zsend(l.tx, &l.to, p, 10, 6, 0) == 10);
	need(recv(l.rx, b, 16, 0) == 10);
	await(l.tx);
	r("recv", recvmsg(l.tx, &m, MSG_DONTWAIT) < 0 ? -errno : 0);
	r("pending", pending(&l.tx));
	x = rx_msg(l.tx, b, 16, 256, MSG_DONTWAIT);
	rx_note("again", &x);
}

/*
 * A few bytes of each of many pages, within this host: the receiver gets copies
 * of the pages, and the port is congested by their memory.
 */
#define PIECES	520

static void scattered(const struct api_case *c)
{
	struct link l = zlink(c->num);
	struct iovec iov[PIECES];
	struct ctl cookie = { 0 };
	struct msghdr m = { .msg_name = &l.to,
			    .msg_namelen = addr_len(&l.to),
			    .msg_iov = iov,
			    .msg_iovlen = PIECES,
			    .msg_control = cookie.b };
	char *p = pages(PIECES);
	uint32_t n = 1;
	ssize_t sent;
	int i;

	for (i = 0; i < PIECES; i++)
		iov[i] = (struct iovec){ p + i * 4096, 4 };
	ctl_add(&cookie, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &n, sizeof(n));
	m.msg_controllen = cookie.len;
	for (i = 0; i < 3; i++) {
		sent = sendmsg(l.tx, &m, MSG_ZEROCOPY | MSG_DONTWAIT);
		sweep(i, sent < 0 ? -errno : sent);
	}
	sweep_end("sent");
}

static void peeked(const struct api_case *c)
{
	struct link l = zlink(c->num);
	char *p = pages(1), b[16];
	struct rx x;

	need(zsend(l.tx, &l.to, p, 10, 6, 0) == 10);
	need(recv(l.rx, b, 16, 0) == 10);
	await(l.tx);
	x = rx_msg(l.tx, b, 16, 256, MSG_DONTWAIT | MSG_PEEK);
	rx_note("peek", &x);
	x = rx_msg(l.tx, b, 16, 256, MSG_DONTWAIT);
	rx_note("recv", &x);
}

static void blocking(const struct api_case *c)
{
	struct link l = zlink(c->num);
	char *p = pages(1), b[16];
	struct rx x;

	need(zsend(l.tx, &l.to, p, 10, 6, 0) == 10);
	need(recv(l.rx, b, 16, 0) == 10);
	await(l.tx);
	set_timeo(l.tx, SO_RCVTIMEO, 50);
	x = rx_msg(l.tx, b, 16, 256, 0);
	rx_note("blocking", &x);
	x = rx_msg(l.tx, b, 16, 256, MSG_DONTWAIT);
	rx_note("dontwait", &x);
}

/*
 * No cookie is reported while the message waits; cancelling it unpins the pages
 * and reports the cookie.
 */
static void not_before(const struct api_case *c)
{
	int fd = bound(NS_A, A4, 0);
	union addr to = addr_of(HOLE4, 4000);
	char *p = pages(2), b[16];
	struct rx x;

	(void)c;
	need(!set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1));
	r("send", zsend(fd, &to, p, 8192, 9, MSG_DONTWAIT));
	poll_bits(fd, POLLIN, 0);
	r("early", poll_bits(fd, POLLIN, 100));
	x = rx_msg(fd, b, 16, 256, MSG_DONTWAIT);
	rx_note("recv", &x);
	need(!set_opt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &to, sizeof(to.in)));
	x = completion(fd);
	rx_note("cancelled", &x);
	r("cookie", cookies(&x)->cookies[0]);
}

static void counted(const struct api_case *c)
{
	struct link l = zlink(c->num);
	char *p = pages(4);
	static char b[20000];
	long before = counter(l.tx, "copy_from_user");

	need(zsend(l.tx, &l.to, p, 16384, 1, 0) == 16384);
	need(recv(l.rx, b, sizeof(b), 0) == 16384);
	r("zcopy", counter(l.tx, "copy_from_user") - before);
	need(send_msg(l.tx, &l.to, p, 16384, NULL, 0) == 16384);
	r("copy", counter(l.tx, "copy_from_user") - before);
}

/*
 * As a user with 64 KiB of lockable memory: the kernel charges each message two
 * pages more than its payload, for ends that are not aligned.  So 15 pages are
 * refused and 14 fit, and each completion gives the charge back.
 */
static void memlock(const struct api_case *c)
{
	struct link l = link_open(c->num);
	static char b[70000];
	char *p = pages(20);
	int i;

	need(user_mode || !other_user());
	need(!set_int(l.tx, SOL_SOCKET, SO_ZEROCOPY, 1));
	r("15_pages", zsend(l.tx, &l.to, p, 15 * 4096, 1, MSG_DONTWAIT));
	for (i = 0; i < 40; i++) {
		long n = zsend(l.tx, &l.to, p, 14 * 4096, i, MSG_DONTWAIT);

		if (n != 14 * 4096)
			bail("send %d gave %s", i, strerrorname_np(-n));
		need(recv(l.rx, b, sizeof(b), 0) == n);
		completion(l.tx);
	}
	note("14_pages=ok");
}

/* Failing sends leave no memory charged to the locked-memory limit. */
static void memlock_failing(const struct api_case *c)
{
	struct link l = link_open(c->num);
	char *p = pages(20), *bad = page_hole(4096);
	union addr six = addr_of("ff02::1", 1);
	int i;

	need(user_mode || !other_user());
	need(!set_int(l.tx, SOL_SOCKET, SO_ZEROCOPY, 1));
	for (i = 0; i < 100; i++) {
		need(zsend(l.tx, &l.to, bad, 8192, i, MSG_DONTWAIT) == -EFAULT);
		need(zsend(l.tx, &l.to, p, 15 * 4096, i, MSG_DONTWAIT) ==
		     -ENOMEM);
		need(zsend(l.tx, &six, p, 4096, i, MSG_DONTWAIT) == -EINVAL);
		need(send_msg(l.tx, &l.to, p, 4096, NULL, MSG_ZEROCOPY) ==
		     -EINVAL);
	}
	r("all", zsend(l.tx, &l.to, p, 14 * 4096, 1, MSG_DONTWAIT));
}

/* Sends refused by congestion after their pages were pinned unpin the pages. */
static void refused_late(const struct api_case *c)
{
	struct link l = link_open(TCP4);
	static char b[70000];
	char *p = pages(20);
	int i;

	(void)c;
	need(!set_int(l.rx, SOL_SOCKET, SO_RCVBUF, 1));
	need(!set_int(l.tx, SOL_SOCKET, SO_ZEROCOPY, 1));
	need(user_mode || !other_user());
	need(send_to(l.tx, &l.to, MIN_RCVBUF + 1, 0) > 0);
	link_sync(&l);
	for (i = 0; i < 30; i++)
		need(zsend(l.tx, &l.to, p, 14 * 4096, i, MSG_DONTWAIT) ==
		     -ENOBUFS);
	need(recv(l.rx, b, sizeof(b), 0) > 0);
	link_sync(&l);
	r("clear", zsend(l.tx, &l.to, p, 14 * 4096, 77, MSG_DONTWAIT));
	need(recv(l.rx, b, sizeof(b), 0) == 14 * 4096);
}

static void faults(const struct api_case *c)
{
	struct link l = zlink(c->num);
	char *ro = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	need(ro != MAP_FAILED);
	r("unmapped", zsend(l.tx, &l.to, page_hole(0), 10, 1, MSG_DONTWAIT));
	r("second", zsend(l.tx, &l.to, page_hole(4096), 8192, 1, MSG_DONTWAIT));
	r("tail", zsend(l.tx, &l.to, page_hole(5), 10, 1, MSG_DONTWAIT));
	r("kernel", zsend(l.tx, &l.to, (void *)0xffff888000000000ul, 10, 1,
			  MSG_DONTWAIT));
	r("null", zsend(l.tx, &l.to, NULL, 10, 1, MSG_DONTWAIT));
	r("read_only", zsend(l.tx, &l.to, ro, 5000, 1, MSG_DONTWAIT));
	r("text", zsend(l.tx, &l.to, (void *)((uintptr_t)faults & ~4095ul), 100,
			1, MSG_DONTWAIT));
}

/*
 * When the second page of a send faults, the first page keeps its contents and
 * its one owner, however often sends fail: a page released too often would be
 * allocated again, to another mapping.
 */
static void faults_often(const struct api_case *c)
{
	struct link l = zlink(c->num);
	char *p = page_hole(4096), *other;
	int i;

	fill(p, 4096, 11);
	for (i = 0; i < 2048; i++)
		if (zsend(l.tx, &l.to, p, 8192, i, MSG_DONTWAIT) != -EFAULT)
			bail("send %d was not refused", i);
	for (i = 0; i < 2000; i++) {
		other = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		need(other != MAP_FAILED);
		memset(other, 0x77, 4096);
	}
	r("kept", filled(p, 4096, 11));
}

static void loopback(const struct api_case *c)
{
	struct link l = zlink(c->num);
	char *p = pages(1);
	uint32_t cookie = 1;
	struct ctl k = { 0 };

	ctl_add(&k, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie, sizeof(cookie));
	r("both", zsend(l.tx, &l.to, p, 10, 1, 0));
	r("flag", send_msg(l.tx, &l.to, p, 10, NULL, MSG_ZEROCOPY));
	r("cookie", send_msg(l.tx, &l.to, p, 10, &k, 0));
	r("plain", send_msg(l.tx, &l.to, p, 10, NULL, 0));
	r("too_big_first", zsend(l.tx, &l.to, (void *)4096, MAX_MSG + 1, 1, 0));
}

/*
 * A socket closed with messages waiting unpins their pages: the next socket can
 * lock as much memory again.
 */
static void closed(const struct api_case *c)
{
	union addr to = addr_of(HOLE4, 4000);
	char *p = pages(16);
	int i;

	(void)c;
	need(user_mode || !other_user());
	for (i = 0; i < 20; i++) {
		int fd = bound(NS_A, A4, 0);

		need(!set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1));
		if (zsend(fd, &to, p, 14 * 4096, i, MSG_DONTWAIT) != 14 * 4096)
			bail("send %d: %d", i, errno);
		close(fd);
	}
	note("ok");
}

#define THREE(n, f, w) \
	{ "zcopy." n ".tcp4", f, w, .num = TCP4 }, { "zcopy." n ".tcp6", f, w, .num = TCP6 }, \
	{ "zcopy." n ".self4", f, w, .num = SELF4 }

#define BLOCKING(n, t) \
	{ "zcopy.blocking." n, blocking, "blocking=ETIMEDOUT dontwait=0/0:276.13(36)", \
	  "blocking=0/0:276.13(36) dontwait=EAGAIN", .num = t }

#define UNWRITTEN(n, t) \
	{ "zcopy.unwritten." n, unwritten, "recv=EAGAIN pending=1 again=0/0:276.13(36)", \
	  "recv=EFAULT pending=1 again=0/0:276.13(36)", .num = t }

const struct api_case zcopy_cases[] = {
	THREE("conditions", conditions, "default=0 off_both=EINVAL off_flag=EINVAL "
	     "off_cookie=EINVAL set=0 flag=EINVAL cookie=EINVAL empty=EINVAL empty_flag=EINVAL "
	     "both=100 twice=100 value2=EINVAL"),
	THREE("lengths", lengths, "0-3:EINVAL,4-16:10"),
	{ "zcopy.completed.tcp4", completed, "send=40960 recv=40960/16 same=1 done=0/0:276.13(36) "
	  "num=1 cookie=1 rest=0 again=EAGAIN", .num = TCP4 },
	{ "zcopy.completed.tcp6", completed, "send=40960 recv=40960/28 same=1 done=0/0:276.13(36) "
	  "num=1 cookie=1 rest=0 again=EAGAIN", .num = TCP6 },
	{ "zcopy.completed.self4", completed, "send=40960 recv=40960/16 same=1 done=0/0:276.13(36) "
	  "num=1 cookie=1 rest=0 again=EAGAIN", .num = SELF4 },
	{ "zcopy.scattered.self4", scattered, "sent=0-2:2080", "sent=0:2080,1-2:ENOBUFS",
	  .num = SELF4 },
	THREE("many.CVE-2023-1078", many, "total=20 over=0 left=EAGAIN"),
	{ "zcopy.with_data.self4", with_data, "recv=4/16:276.13(36) cookie=6 again=EAGAIN",
	  .num = SELF4 },
	{ "zcopy.with_data.tcp4", with_data, "recv=4/16:276.13(36) cookie=6 again=EAGAIN",
	  .num = TCP4 },
	THREE("rooms", rooms, "room=0-55:EAGAIN off=EAGAIN exact=0/0:276.13(36)"),
	UNWRITTEN("tcp4", TCP4), UNWRITTEN("tcp6", TCP6), UNWRITTEN("self4", SELF4),
	THREE("peeked", peeked, "peek=0/0:276.13(36) recv=EAGAIN"),
	BLOCKING("tcp4", TCP4), BLOCKING("tcp6", TCP6), BLOCKING("self4", SELF4),
	{ "zcopy.not_before", not_before, "send=8192 early=0 recv=EAGAIN cancelled=0/0:276.13(36) "
	  "cookie=9" },
	THREE("counted", counted, "zcopy=0 copy=16384"),
	THREE("memlock", memlock, "15_pages=ENOMEM 14_pages=ok"),
	THREE("memlock_failing", memlock_failing, "all=57344"),
	{ "zcopy.refused_late.CVE-2026-43502", refused_late, "clear=57344" },
	THREE("faults", faults, "unmapped=EFAULT second=EFAULT tail=EFAULT kernel=EFAULT "
	     "null=EFAULT read_only=5000 text=100"),
	THREE("faults_often.CVE-2026-43494", faults_often, "kept=1"),
	{ "zcopy.row10_loopback.lo4", loopback, "both=EOPNOTSUPP flag=EOPNOTSUPP cookie=EINVAL "
	  "plain=10 too_big_first=EMSGSIZE", .num = LO4 },
	{ "zcopy.row10_loopback.lo6", loopback, "both=EOPNOTSUPP flag=EOPNOTSUPP cookie=EINVAL "
	  "plain=10 too_big_first=EMSGSIZE", .num = LO6 },
	{ "zcopy.closed", closed, "ok" },
	{ }
};
