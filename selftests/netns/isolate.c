// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two pairs of namespaces, L1-R1 and L2-R2, with the same addresses 10.0.0.1
 * and 10.0.0.2, and namespace IDLE without links: no namespace may see the
 * messages, records, counters, congestion or sysctls of another.
 */
#include <errno.h>

#include "nslib.h"

#define L	"10.0.0.1"
#define R	"10.0.0.2"
#define HOLE	"10.0.0.99"	/* no host has this address */
#define WAIT	10000
#define SILENCE	300

static int idle;

static bool got(int fd, const char *want)
{
	char buf[64] = "";
	ssize_t n = readable(fd, WAIT) ?
			    recv(fd, buf, sizeof(buf), MSG_DONTWAIT) :
			    -1;

	return n == (ssize_t)strlen(want) && !memcmp(buf, want, n);
}

static void traffic(int l1, int l2, int r1, int r2)
{
	uint64_t before[MAX_COUNTERS], after[MAX_COUNTERS];
	uint64_t moved = rds_counter(l1, "recv_delivered");
	unsigned int n = rds_counters(idle, before);

	rds_send(r1, L, 5000, "one", 3);
	ktap_ok(got(l1, "one"), "isolate.traffic_first");
	ktap_ok(!readable(l2, SILENCE), "isolate.traffic_unseen");
	rds_send(r2, L, 5000, "two", 3);
	ktap_ok(got(l2, "two"), "isolate.traffic_second");
	ktap_ok(!readable(l1, SILENCE), "isolate.traffic_unseen_back");
	rds_send(l1, L, 5000, "self", 4);
	ktap_ok(got(l1, "self"), "isolate.local_delivery");
	ktap_ok(!readable(l2, SILENCE), "isolate.local_unseen");
	ktap_ok(n == rds_counters(idle, after) &&
			!memcmp(before, after, n * sizeof(*after)),
		"isolate.counters_of_idle_unchanged");
	ktap_ok(rds_counter(l1, "recv_delivered") >= moved + 2,
		"isolate.counters_own_move");
}

static bool shows_inode(int viewer, uint64_t inode)
{
	struct snap d = rds_dump(viewer, RDS6_INFO_SOCKETS);
	bool found = false;
	uint64_t inum;
	unsigned int i;

	for (i = 0; i < d.n; i++) {
		memcpy(&inum, d.p + i * d.ret + 44, 8);
		found |= inum == inode;
	}
	snap_free(&d);
	return found;
}

static uint64_t inode_of(int fd)
{
	char path[64], link[64] = "";
	uint64_t inode = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, link, sizeof(link) - 1) < 0 ||
	    sscanf(link, "socket:[%llu]", (unsigned long long *)&inode) != 1)
		die("no inode of socket");
	return inode;
}

static void dumps(int l1, int l2, int r1)
{
	uint64_t ino = inode_of(l1);

	ktap_ok(shows_inode(l1, ino), "isolate.sockets_own");
	ktap_ok(!shows_inode(l2, ino) && !shows_inode(idle, ino),
		"isolate.sockets_unseen");
	ktap_ok(rds_count(idle, RDS6_INFO_SOCKETS) == 1,
		"isolate.sockets_idle_has_one");
	ktap_ok(rds_count(l1, RDS_INFO_CONNECTIONS) > 0,
		"isolate.connections_own");
	ktap_ok(!rds_count(idle, RDS_INFO_CONNECTIONS) &&
			!rds_count(idle, RDS6_INFO_CONNECTIONS),
		"isolate.connections_unseen");
	ktap_ok(rds_count(l1, RDS_INFO_TCP_SOCKETS) > 0,
		"isolate.tcp_sockets_own");
	ktap_ok(!rds_count(idle, RDS_INFO_TCP_SOCKETS) &&
			!rds_count(idle, RDS6_INFO_TCP_SOCKETS),
		"isolate.tcp_sockets_unseen");

	rds_send(r1, L, 5000, "queued", 6);
	ktap_ok(readable(l1, WAIT) &&
			rds_count(l1, RDS_INFO_RECV_MESSAGES) == 1,
		"isolate.recv_messages_own");
	ktap_ok(!rds_count(l2, RDS_INFO_RECV_MESSAGES) &&
			!rds_count(idle, RDS_INFO_RECV_MESSAGES),
		"isolate.recv_messages_unseen");
	ktap_ok(got(l1, "queued"), "isolate.recv_messages_drained");
}

static unsigned int unsent(int fd)
{
	return rds_count(fd, RDS_INFO_SEND_MESSAGES) +
	       rds_count(fd, RDS_INFO_RETRANS_MESSAGES);
}

static void queues(int l1, int l2)
{
	union addr to = addr_of(HOLE, 5000);

	rds_send(l1, HOLE, 5000, "lost", 4);
	ktap_ok(unsent(l1) == 1, "isolate.send_messages_own");
	ktap_ok(!unsent(l2) && !unsent(idle), "isolate.send_messages_unseen");
	rds_send(l2, HOLE, 5000, "lost", 4);
	ktap_ok(!setsockopt(l1, SOL_RDS, RDS_CANCEL_SENT_TO, &to.in,
			    sizeof(to.in)) &&
			!unsent(l1) && unsent(l2) == 1,
		"isolate.cancel_only_own");
	setsockopt(l2, SOL_RDS, RDS_CANCEL_SENT_TO, &to.in, sizeof(to.in));
}

/* Send to @port until it is congested; false if it does not congest in time. */
static bool congest(int from, uint16_t port)
{
	static char block[8192];
	long end = now_ms() + WAIT;
	int ret;

	while (now_ms() < end) {
		ret = rds_send(from, L, port, block, sizeof(block));
		if (ret == -ENOBUFS)
			return true;
		if (ret == -EAGAIN)
			usleep(1000);
		else if (ret)
			return false;
	}
	return false;
}

static bool notified(int fd)
{
	char control[128];
	struct msghdr m = { .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c;

	if (recvmsg(fd, &m, MSG_DONTWAIT) < 0)
		return false;
	c = CMSG_FIRSTHDR(&m);
	return c && c->cmsg_level == SOL_RDS &&
	       c->cmsg_type == RDS_CMSG_CONG_UPDATE;
}

static void congestion(void)
{
	int l1 = rds_socket("L1", L, 5001), l2 = rds_socket("L2", L, 5001);
	int r1 = rds_socket("R1", R, 5001), r2 = rds_socket("R2", R, 5001),
	    one = 1;
	int p2 = rds_socket("L2", L, 5002), q2 = rds_socket("R2", R, 5002);
	char buf[8192];

	setsockopt(r1, SOL_RDS, RDS_CONG_MONITOR, &one, sizeof(one));
	setsockopt(r2, SOL_RDS, RDS_CONG_MONITOR, &one, sizeof(one));
	ktap_ok(congest(r1, 5001), "isolate.congested_own");
	ktap_ok(!rds_send(r2, L, 5001, "free", 4) && got(l2, "free"),
		"isolate.congestion_unseen");
	/* Make R2 wait for a notification: draining L1 must not cause one. */
	ktap_ok(congest(r2, 5001), "isolate.congested_second");
	while (readable(l1, SILENCE))
		if (recv(l1, buf, sizeof(buf), MSG_DONTWAIT) < 0)
			break;
	ktap_ok(readable(r1, WAIT) && notified(r1), "isolate.notified_own");
	ktap_ok(!readable(r2, SILENCE), "isolate.notification_unseen");
	ktap_ok(rds_send(r2, L, 5001, "x", 1) == -ENOBUFS,
		"isolate.second_stays_congested");
	ktap_ok(!rds_send(q2, L, 5002, "other", 5) && got(p2, "other"),
		"isolate.other_port_not_congested");
	close(l1);
	close(l2);
	close(r1);
	close(r2);
	close(p2);
	close(q2);
}

static bool put(const char *ns, const char *path, const char *text)
{
	netns_enter(ns);
	return file_write(path, text);
}

static long get(const char *ns, const char *path)
{
	netns_enter(ns);
	return file_number(path);
}

/*
 * Both port numbers of the first RDS TCP connection; a connection that replaces
 * it has others.
 */
static uint32_t conn_ports(int fd)
{
	struct snap d = rds_dump(fd, RDS_INFO_TCP_SOCKETS);
	uint32_t ports = 0;

	if (d.n) {
		memcpy(&ports, d.p + 4, 2);
		memcpy((char *)&ports + 2, d.p + 10, 2);
	}
	snap_free(&d);
	return ports;
}

struct conn_watch {
	int fd;
	uint32_t was;
};

static bool replaced(void *arg)
{
	const struct conn_watch *w = arg;
	uint32_t is = conn_ports(w->fd);

	return is && is != w->was;
}

static void sysctls(int l1, int l2)
{
	const char *buf = "/proc/sys/net/rds/tcp/rds_tcp_rcvbuf";
	const char *delay = "/proc/sys/net/rds/reconnect_max_delay_ms";
	uint32_t p1 = conn_ports(l1), p2 = conn_ports(l2);
	struct conn_watch own = { l1, p1 };

	ktap_ok(p1 && p2, "isolate.sysctl_connections_are_there");
	ktap_ok(put("L1", buf, "65536") && get("L1", buf) == 65536 &&
			get("L2", buf) == 0,
		"isolate.sysctl_buffer_value");
	ktap_ok(wait_until(replaced, &own, WAIT), "isolate.sysctl_drops_own");
	ktap_ok(conn_ports(l2) == p2, "isolate.sysctl_leaves_other");
	ktap_ok(put("L1", delay, "2000") && get("L1", delay) == 2000 &&
			get("L2", delay) == 1000,
		"isolate.sysctl_delay_value");
}

int main(void)
{
	int l1, l2, r1, r2, fd;

	ktap_plan(35);
	idle = rds_socket("IDLE", "127.0.0.1", 0);
	l1 = rds_socket("L1", L, 5000);
	if (!ktap_ok(rds_try_bind("L2", L, 5000, &l2), "isolate.bind_same"))
		return 1;
	ktap_ok(!rds_try_bind("L1", L, 5000, &fd) && errno == EADDRINUSE,
		"isolate.bind_twice");
	close(fd);
	r1 = rds_socket("R1", R, 5000);
	r2 = rds_socket("R2", R, 5000);
	traffic(l1, l2, r1, r2);
	dumps(l1, l2, r1);
	queues(l1, l2);
	congestion();
	sysctls(l1, l2);
	return ktap_exit();
}
