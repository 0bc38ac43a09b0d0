// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RDS_INFO_COUNTERS: names and order of the counters, and what counts. */
#include "api.h"

static void names(const struct api_case *c)
{
	struct snap s = snap(sock(), RDS_INFO_COUNTERS);
	unsigned int i, j, bad = 0;

	for (i = 0; i < s.n; i++) {
		const char *p = s.p + i * s.ret;

		need(p[0] && memchr(p, 0, 32));
		for (j = strlen(p); j < 32; j++)
			bad += p[j] != 0;
		if ((strncmp(p, "tcp_", 4) == 0) == c->num)
			note("%s", p);
	}
	r("unpadded", bad);
}

/*
 * What one message of 5000 bytes adds to the counters named in arg; num2 says
 * whether they are read at the receiver or at the sender.
 */
static void moves(const struct api_case *c)
{
	struct link l = link_open(c->num);
	int at = c->num2 ? l.rx : l.tx, i = 0;
	char list[256], *p, *save = NULL;
	static char b[8192];
	long before[8];

	snprintf(list, sizeof(list), "%s", c->arg);
	for (p = strtok_r(list, " ", &save); p; p = strtok_r(NULL, " ", &save))
		before[i++] = counter(at, p);
	need(send_to(l.tx, &l.to, 5000, 0) == 5000);
	need(recv(l.rx, b, sizeof(b), 0) == 5000);
	snprintf(list, sizeof(list), "%s", c->arg);
	i = 0;
	for (p = strtok_r(list, " ", &save); p; p = strtok_r(NULL, " ", &save))
		r(p, counter(at, p) - before[i++]);
}

/* Ping and pong are counted in the namespace that answers. */
static void pings(const struct api_case *c)
{
	struct link l = link_open(c->num);
	long ping = counter(l.rx, "recv_ping"),
	     pong = counter(l.rx, "send_pong");
	union addr to = l.to;
	struct rx x;
	char b[4];

	to.in.sin_port = 0;
	need(send_to(l.tx, &to, 0, MSG_DONTWAIT) == 0);
	x = rx_msg(l.tx, b, 4, 0, 0);
	rx_note("pong", &x);
	r("recv_ping", counter(l.rx, "recv_ping") - ping);
	r("send_pong", counter(l.rx, "send_pong") - pong);
}

static bool dropped(void *arg)
{
	const long *v = arg;

	return counter(v[0], "recv_drop_no_sock") != v[1];
}

static void no_socket(const struct api_case *c)
{
	struct link l = link_open(c->num);
	long v[2] = { l.rx, counter(l.rx, "recv_drop_no_sock") };
	union addr to = l.to;

	to.in.sin_port = htons(3);
	need(send_to(l.tx, &to, 9, MSG_DONTWAIT) == 9);
	r("seen", wait_true(dropped, v, 5000));
	r("drop", counter(l.rx, "recv_drop_no_sock") - v[1]);
}

static void full(const struct api_case *c)
{
	int fd = hole_full(1);
	union addr to = addr_of(HOLE4, 4000);
	long before = counter(fd, "send_queue_full");

	(void)c;
	need(send_to(fd, &to, 1, MSG_DONTWAIT) == -EAGAIN);
	r("send_queue_full", counter(fd, "send_queue_full") - before);
}

static void congested(const struct api_case *c)
{
	struct link l = link_open(c->num);
	long q = counter(l.rx, "cong_update_queued"),
	     e = counter(l.tx, "cong_send_error");

	need(!set_int(l.rx, SOL_SOCKET, SO_RCVBUF, 1));
	need(send_to(l.tx, &l.to, MIN_RCVBUF + 1, 0) > 0);
	link_sync(&l);
	need(send_to(l.tx, &l.to, 1, MSG_DONTWAIT) == -ENOBUFS);
	r("cong_update_queued", counter(l.rx, "cong_update_queued") > q);
	r("cong_send_error", counter(l.tx, "cong_send_error") - e);
}

#define CORE "conn_reset recv_drop_bad_checksum recv_drop_old_seq recv_drop_no_sock " \
	"recv_drop_dead_sock recv_deliver_raced recv_delivered recv_queued " \
	"recv_immediate_retry recv_delayed_retry recv_ack_required recv_rdma_bytes recv_ping " \
	"send_queue_empty send_queue_full send_lock_contention send_lock_queue_raced " \
	"send_immediate_retry send_delayed_retry send_drop_acked send_ack_required " \
	"send_queued send_rdma send_rdma_bytes send_pong page_remainder_hit " \
	"page_remainder_miss copy_to_user copy_from_user cong_update_queued " \
	"cong_update_received cong_send_error cong_send_blocked recv_bytes_added_to_sock " \
	"recv_bytes_freed_fromsock send_stuck_rm"
#define TCP "tcp_data_ready_calls tcp_write_space_calls tcp_sndbuf_full tcp_connect_raced " \
	"tcp_listen_closed_stale"

const struct api_case counters_cases[] = {
	{ "counters.names_core", names, CORE " unpadded=0", CORE " mprds_catchup_tx0_retries "
	  "unpadded=0", .num = 0 },
	{ "counters.names_tcp", names, TCP " unpadded=0", .num = 1 },
	{ "counters.sender.tcp4", moves, "copy_from_user=5000", .num = TCP4,
	  .arg = "copy_from_user" },
	{ "counters.sender.self4", moves, "copy_from_user=5000 copy_to_user=5000 send_queued=1 "
	  "recv_queued=1 recv_delivered=1", .num = SELF4,
	  .arg = "copy_from_user copy_to_user send_queued recv_queued recv_delivered" },
	{ "counters.receiver.tcp4", moves, "copy_to_user=5000 recv_queued=1 recv_delivered=1 "
	  "recv_bytes_added_to_sock=5000 recv_bytes_freed_fromsock=5000", .num = TCP4, .num2 = 1,
	  .arg = "copy_to_user recv_queued recv_delivered recv_bytes_added_to_sock "
	  "recv_bytes_freed_fromsock" },
	{ "counters.receiver.lo6", moves, "copy_to_user=5000 recv_queued=1 recv_delivered=1 "
	  "recv_bytes_added_to_sock=5000 recv_bytes_freed_fromsock=5000", .num = LO6, .num2 = 1,
	  .arg = "copy_to_user recv_queued recv_delivered recv_bytes_added_to_sock "
	  "recv_bytes_freed_fromsock" },
	{ "counters.ping.tcp4", pings, "pong=0/16 recv_ping=1 send_pong=1", .num = TCP4 },
	{ "counters.ping.self4.CVE-2012-2372", pings, "pong=0/16 recv_ping=1 send_pong=1",
	  .num = SELF4 },
	{ "counters.no_socket.tcp4", no_socket, "seen=1 drop=1", .num = TCP4 },
	{ "counters.no_socket.self4", no_socket, "seen=1 drop=1", .num = SELF4 },
	{ "counters.queue_full", full, "send_queue_full=1" },
	{ "counters.congested.tcp4", congested, "cong_update_queued=1 cong_send_error=1",
	  .num = TCP4 },
	{ "counters.congested.self4", congested, "cong_update_queued=1 cong_send_error=1",
	  .num = SELF4 },
	{ }
};
