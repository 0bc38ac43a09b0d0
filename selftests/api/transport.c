// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* SO_RDS_TRANSPORT. */
#include "api.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define INFO6_FLAGS	64	/* offset of the flags in a record */

static int init_sock(void)
{
	return sock_in(NS_INIT);
}

static void lengths(const struct api_case *c)
{
	int v[4] = { RDS_TRANS_TCP }, len;

	(void)c;
	for (len = 0; len <= 16; len++) {
		int fd = sock();

		sweep(len, set_opt(fd, SOL_RDS, SO_RDS_TRANSPORT, v, len));
		close(fd);
	}
	sweep_end("set");
	for (len = 0; len <= 12; len++) {
		int got[4] = { 7, 7, 7, 7 };
		socklen_t l = len;

		sweep(len,
		      getsockopt(sock(), SOL_RDS, SO_RDS_TRANSPORT, got, &l) ?
			      -errno :
			      (int)l);
	}
	sweep_end("get");
}

static void values(const struct api_case *c)
{
	static const int v[] = { -2147483647 - 1, -2, -1, 0, 1, 2, 3, 4, 255,
				 2147483647 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(v); i++) {
		int fd = c->num ? init_sock() : sock();

		/* RDS_TRANS_IB loads a module in the initial namespace. */
		if (c->num && v[i] == RDS_TRANS_IB)
			continue;
		sweep(v[i], set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, v[i]));
		close(fd);
	}
	sweep_end(NULL);
}

static void attached(const struct api_case *c)
{
	int fd = sock(), v = RDS_TRANS_TCP;

	(void)c;
	transport_note("none", fd);
	r("set", set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, v));
	transport_note("get", fd);
	r("again", set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, v));
	r("again_len", set_opt(fd, SOL_RDS, SO_RDS_TRANSPORT, &v, 3));
	r("again_value", set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, 77));
	r("bind", do_bind(fd, A4, lane0_port()));
}

static void by_bind(const struct api_case *c)
{
	int fd = bound(NS_A, c->arg, 0);

	transport_note("get", fd);
	r("set", set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP));
	r("set_len", set_opt(fd, SOL_RDS, SO_RDS_TRANSPORT, "", 1));
}

static void faults(const struct api_case *c)
{
	int fd = sock(), v;
	socklen_t len = 4;

	(void)c;
	r("set", set_opt(fd, SOL_RDS, SO_RDS_TRANSPORT, page_hole(0), 4));
	r("set_half", set_opt(fd, SOL_RDS, SO_RDS_TRANSPORT, page_hole(2), 4));
	r("get", getsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, page_hole(0), &len) ?
			 -errno :
			 0);
	r("get_len",
	  getsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &v, page_hole(0)) ? -errno :
									0);
	transport_note("after", fd);
}

/* struct rds_reset or struct rds6_reset for the connection of two sockets */
static long reset(int fd, const union addr *src, const union addr *dst)
{
	struct rds6_reset six = { 0 };
	struct rds_reset four = { 0 };

	if (src->sa.sa_family == AF_INET) {
		four.src = src->in.sin_addr.s_addr;
		four.dst = dst->in.sin_addr.s_addr;
		return set_opt(fd, SOL_RDS, SO_RDS_TRANSPORT, &four, sizeof(four));
	}
	six.src = src->in6.sin6_addr;
	six.dst = dst->in6.sin6_addr;
	return set_opt(fd, SOL_RDS, SO_RDS_TRANSPORT, &six, sizeof(six));
}

/*
 * Is each connection of the namespace of socket *@arg connected?  One that is
 * neither connected nor connecting may be about to end: then its end is not
 * counted yet.
 */
static bool all_connected(void *arg)
{
	struct snap s = snap(*(int *)arg, RDS6_INFO_CONNECTIONS);
	bool connected = true;
	unsigned int i;

	for (i = 0; i < s.n; i++)
		connected &= !!(s.p[i * s.ret + INFO6_FLAGS] &
				RDS_INFO_CONNECTION_FLAG_CONNECTED);
	snap_free(&s);
	return connected;
}

static void reset_conn(const struct api_case *c)
{
	struct link l = link_open(c->num);
	struct rx x;
	long resets;
	char got;

	/*
	 * An attempt to reach an absent host, for a case before this one,
	 * counts as a reset when it has ended, and its connection is forgotten
	 * after that.
	 */
	need(!ours || wait_true(all_connected, &l.tx, 15000));
	resets = counter(l.tx, "conn_reset");
	need(send_to(l.tx, &l.to, 1, 0) == 1);
	x = rx_msg(l.rx, &got, 1, 0, 0);
	need(x.ret == 1);
	r("other", reset(l.tx, &l.from, &l.from));
	r("reverse", reset(l.tx, &l.to, &l.from));
	r("fault", set_opt(l.tx, SOL_RDS, SO_RDS_TRANSPORT, page_hole(8), 12));
	r("reset", reset(l.tx, &l.from, &l.to));
	need(send_to(l.tx, &l.to, 1, 0) == 1);
	x = rx_msg(l.rx, &got, 1, 0, 0);
	r("received", x.ret);
	r("resets", counter(l.tx, "conn_reset") - resets);
	need(!other_user());
	r("user", reset(l.tx, &l.from, &l.to));
}

#define RESETTERS	3
#define RESET_ROUNDS	10
#define RESET_MESSAGES	20	/* of each round */

/* Threads that reset one connection, and the main thread */
static struct {
	const struct link *l;
	pthread_barrier_t gate;
	long wrong;
} resets;

static void *resetter(void *arg)
{
	long want = ours ? 0 : -EOPNOTSUPP, ret;
	int i, k;

	for (i = 0; i < RESET_ROUNDS; i++) {
		pthread_barrier_wait(&resets.gate);
		for (k = 0; k < 3; k++) {
			ret = reset(resets.l->tx, &resets.l->from, &resets.l->to);
			if (ret != want)
				__atomic_store_n(&resets.wrong, ret, __ATOMIC_SEQ_CST);
		}
		pthread_barrier_wait(&resets.gate);
	}
	return arg;
}

/* The messages of round @i come, once and in order. */
static void round_comes(const struct link *l, int i)
{
	char b[RESET_ROUNDS * RESET_MESSAGES];
	int k;

	for (k = 0; k < RESET_MESSAGES; k++) {
		int len = i * RESET_MESSAGES + k;
		struct rx x = rx_msg(l->rx, b, sizeof(b), 0, 0);

		if (x.ret != len)
			bail("wanted message %d, got %ld", len, x.ret);
	}
}

/* Threads reset a connection at the same time, while messages go over it. */
static void resets_together(const struct api_case *c)
{
	struct link l = link_open(c->num);
	pthread_t t[RESETTERS];
	long before;
	int i, k;

	resets.l = &l;
	before = counter(l.tx, "conn_reset");
	need(!pthread_barrier_init(&resets.gate, NULL, RESETTERS + 1));
	for (i = 0; i < RESETTERS; i++)
		need(!pthread_create(&t[i], NULL, resetter, NULL));
	for (i = 0; i < RESET_ROUNDS; i++) {
		pthread_barrier_wait(&resets.gate);
		for (k = i * RESET_MESSAGES; k < (i + 1) * RESET_MESSAGES; k++)
			need(send_to(l.tx, &l.to, k, 0) == k);
		round_comes(&l, i);
		pthread_barrier_wait(&resets.gate);
	}
	for (i = 0; i < RESETTERS; i++)
		pthread_join(t[i], NULL);
	if (resets.wrong)
		bail("reset: %ld", resets.wrong);
	/* One that finds the connection down already counts for nothing. */
	need(!ours || counter(l.tx, "conn_reset") > before);
	note("ok");
}

/*
 * Loading of a module is seen by the program that the kernel runs for it, which
 * makes a file instead.  rds_rdma is not loaded, and is not afterwards.
 */
#define MODPROBE	"/proc/sys/kernel/modprobe"
#define SCRIPT		"/tmp/api-modprobe"
#define ASKED		"/tmp/api-asked"

static void be_modprobe(char *old, size_t size)
{
	static const char text[] = "#!/bin/sh\necho \"$@\" >" ASKED "\n";
	int fd = open(MODPROBE, O_RDONLY);
	ssize_t n = read(fd, old, size - 1);

	need(n > 0);
	old[n] = 0;
	close(fd);
	fd = open(SCRIPT, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	need(fd >= 0 && write(fd, text, sizeof(text) - 1) > 0 && !close(fd));
	need(file_write(MODPROBE, SCRIPT));
}

/* The capabilities of a process that calls load_as() */
enum {
	LOAD_ROOT,
	LOAD_NET_ADMIN,
	LOAD_SYS_MODULE,
	LOAD_NO_CAP,
	LOAD_USER,
	LOAD_OWNER,
	LOADS
};

static void keep_caps(unsigned int caps)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { caps, caps, 0 } };

	need(!syscall(SYS_capset, &h, d));
}

static void load_become(int who)
{
	switch (who) {
	case LOAD_NET_ADMIN:
		keep_caps(1u << CAP_NET_ADMIN);
		break;
	case LOAD_SYS_MODULE:
		keep_caps(1u << CAP_SYS_MODULE);
		break;
	case LOAD_NO_CAP:
		keep_caps(~(1u << CAP_NET_ADMIN | 1u << CAP_SYS_MODULE));
		break;
	case LOAD_USER:
	case LOAD_OWNER:
		need(!other_user());
		need(who == LOAD_USER ||
		     !unshare(CLONE_NEWUSER | CLONE_NEWNET));
		break;
	}
}

/* Ask for RDMA as @who; returns the errno. */
static int load_as(int who)
{
	int status;
	pid_t pid;

	unlink(ASKED);
	fflush(NULL);
	pid = fork();
	need(pid >= 0);
	if (!pid) {
		int init = open("/proc/1/ns/net", O_RDONLY);
		int v = RDS_TRANS_IB, fd;

		need(init >= 0 && !setns(init, CLONE_NEWNET));
		load_become(who);
		fd = socket(AF_RDS, SOCK_SEQPACKET, 0);
		need(fd >= 0);
		_exit(-set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, v));
	}
	need(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static void load(const struct api_case *c)
{
	static const char *const names[LOADS] = { "root", "net_admin",
						  "sys_module", "no_cap",
						  "user", "owner" };
	struct stat st;
	char old[256];
	long err;
	int who;

	(void)c;
	be_modprobe(old, sizeof(old));
	for (who = 0; who < LOADS; who++) {
		err = load_as(who);
		r(names[who], err);
		note("%s", stat(ASKED, &st) ? "-" : "loads");
	}
	need(file_write(MODPROBE, old));
	unlink(SCRIPT);
	unlink(ASKED);
}

#define NO_RESET \
	"other=EOPNOTSUPP reverse=EOPNOTSUPP fault=EOPNOTSUPP reset=EOPNOTSUPP received=1 " \
	"resets=0 user=EOPNOTSUPP"
#define RESET \
	"other=ENOENT reverse=ENOENT fault=EFAULT reset=0 received=1 resets=1 user=EPERM"

const struct api_case transport_cases[] = {
	{ "transport.lengths", lengths, "set=0-3:EINVAL,4:0,5-16:EINVAL get=0-3:EINVAL,4-12:4" },
	{ "transport.values", values, "-2147483648:EINVAL,-2--1:EINVAL,0-1:EPROTOTYPE,2:0,"
	  "3-4:EINVAL,255:EINVAL,2147483647:EINVAL" },
	{ "transport.values_init_ns", values, "-2147483648:EINVAL,-2--1:EINVAL,1:ENOPROTOOPT,2:0,"
	  "3-4:EINVAL,255:EINVAL,2147483647:EINVAL", .num = 1 },
	{ "transport.attached", attached, "none=-1 set=0 get=2 again=EOPNOTSUPP "
	  "again_len=EOPNOTSUPP again_value=EOPNOTSUPP bind=0" },
	{ "transport.by_bind_v4", by_bind, "get=2 set=EOPNOTSUPP set_len=EOPNOTSUPP", .arg = A4 },
	{ "transport.by_bind_v6", by_bind, "get=2 set=EOPNOTSUPP set_len=EOPNOTSUPP", .arg = A6 },
	{ "transport.by_bind_lo4", by_bind, "get=3 set=EOPNOTSUPP set_len=EOPNOTSUPP",
	  .arg = "127.0.0.1" },
	{ "transport.by_bind_lo6", by_bind, "get=3 set=EOPNOTSUPP set_len=EOPNOTSUPP",
	  .arg = "::1" },
	{ "transport.reset.tcp4", reset_conn, NO_RESET, RESET, C_ROOT, .num = TCP4 },
	{ "transport.reset.tcp6", reset_conn, NO_RESET, RESET, C_ROOT, .num = TCP6 },
	{ "transport.resets_together.tcp4", resets_together, "ok", .flags = C_ROOT, .num = TCP4 },
	{ "transport.resets_together.tcp6", resets_together, "ok", .flags = C_ROOT, .num = TCP6 },
	{ "transport.load", load, "root=ENOPROTOOPT loads net_admin=ENOPROTOOPT loads "
	  "sys_module=ENOPROTOOPT loads no_cap=ENOPROTOOPT - user=ENOPROTOOPT - owner=EPROTOTYPE -",
	  .flags = C_OURS | C_ROOT },
	{ "transport.faults", faults, "set=EFAULT set_half=EFAULT get=EFAULT get_len=EFAULT "
	  "after=-1" },
	{ }
};
