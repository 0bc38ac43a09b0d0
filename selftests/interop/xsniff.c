// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Watches our own RDS connections on one interface and remembers which of our messages the
 * peer's TCP acknowledged. TCP's acknowledgement frees a message at the sender, so only such a
 * message may be missing at a receiver that loses what its TCP holds.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "xchg.h"

#define RDS_TCP_PORT	16385
#define RDS_HDR		48
#define KEEP		(RDS_HDR + XHDR_LEN)
#define MAX_CONNS	512

struct sent {
	uint32_t end, stream;
	uint64_t index;
};

struct conn {
	uint16_t sport, dport;		/* as in the packets we send */
	bool live, broken;
	uint32_t next;			/* next stream byte to parse */
	uint32_t have, body_left;
	uint8_t head[KEEP];
	struct sent *q;
	size_t qhead, qlen, qcap;
};

/* One TCP segment as seen on the wire. */
struct seg {
	uint16_t sport, dport;
	uint32_t seq, ack, len;
	bool syn, ours;
	const uint8_t *data;
};

static struct {
	pthread_t thread;
	int fd, stop[2];
	uint8_t self[16], peer[16];
	struct conn conns[MAX_CONNS];
	unsigned int nconns, broken;
	struct bits acked[MAX_STREAMS];
	uint64_t packets, drops;
} sn;

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

static uint16_t be16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static bool seq_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

static bool parse_ip(const uint8_t *p, size_t len, uint8_t src[16], uint8_t dst[16],
		     const uint8_t **tcp, size_t *tlen)
{
	size_t hl, total;

	if (len >= 20 && p[0] >> 4 == 4) {
		hl = (p[0] & 15) * 4;
		total = be16(p + 2);
		if (p[9] != IPPROTO_TCP)
			return false;
		memset(src, 0, 10);
		memset(src + 10, 0xff, 2);
		memcpy(dst, src, 12);
		memcpy(src + 12, p + 12, 4);
		memcpy(dst + 12, p + 16, 4);
	} else if (len >= 40 && p[0] >> 4 == 6) {
		hl = 40;
		total = hl + be16(p + 4);
		if (p[6] != IPPROTO_TCP)
			return false;
		memcpy(src, p + 8, 16);
		memcpy(dst, p + 24, 16);
	} else {
		return false;
	}
	if (total > len || total < hl + 20)
		return false;
	*tcp = p + hl;
	*tlen = total - hl;
	return true;
}

static bool parse_seg(const uint8_t *p, size_t len, struct seg *s)
{
	uint8_t src[16], dst[16];
	const uint8_t *t;
	size_t tl, off;

	if (!parse_ip(p, len, src, dst, &t, &tl))
		return false;
	if (!memcmp(src, sn.self, 16) && !memcmp(dst, sn.peer, 16))
		s->ours = true;
	else if (!memcmp(src, sn.peer, 16) && !memcmp(dst, sn.self, 16))
		s->ours = false;
	else
		return false;
	off = (t[12] >> 4) * 4;
	if (off < 20 || off > tl)
		return false;
	s->sport = be16(t);
	s->dport = be16(t + 2);
	s->seq = be32(t + 4);
	s->ack = be32(t + 8);
	s->syn = t[13] & 2;
	s->data = t + off;
	s->len = tl - off;
	return s->sport == RDS_TCP_PORT || s->dport == RDS_TCP_PORT;
}

static struct conn *find_conn(const struct seg *s)
{
	uint16_t sp = s->ours ? s->sport : s->dport, dp = s->ours ? s->dport : s->sport;
	unsigned int i;

	for (i = sn.nconns; i-- > 0;)
		if (sn.conns[i].live && sn.conns[i].sport == sp && sn.conns[i].dport == dp)
			return &sn.conns[i];
	return NULL;
}

static void new_conn(const struct seg *s)
{
	struct conn *c = find_conn(s);

	if (c && c->next == s->seq + 1)
		return;		/* a repeated SYN */
	if (c)
		c->live = false;
	if (sn.nconns == MAX_CONNS) {
		sn.broken++;
		return;
	}
	c = &sn.conns[sn.nconns++];
	*c = (struct conn){ .sport = s->sport, .dport = s->dport, .live = true,
			    .next = s->seq + 1 };
}

static void remember(struct conn *c, uint32_t end)
{
	struct xhdr h;

	memcpy(&h, c->head + RDS_HDR, sizeof(h));
	if (h.magic != XMAGIC || h.stream >= MAX_STREAMS)
		return;
	if (c->qlen == c->qcap) {
		c->qcap = c->qcap ? c->qcap * 2 : 256;
		c->q = realloc(c->q, c->qcap * sizeof(*c->q));
		if (!c->q)
			die("out of memory");
	}
	c->q[c->qlen++] = (struct sent){ .end = end, .stream = h.stream, .index = h.index };
}

/* Runs over new stream bytes; seq is the number of the first of them. */
static void feed(struct conn *c, const uint8_t *p, uint32_t n, uint32_t seq)
{
	while (n) {
		uint32_t want, take;

		want = c->have < RDS_HDR ? RDS_HDR - c->have : c->body_left;
		take = n < want ? n : want;
		if (c->have < KEEP) {
			uint32_t room = KEEP - c->have;

			memcpy(c->head + c->have, p, take < room ? take : room);
		}
		if (c->have >= RDS_HDR)
			c->body_left -= take;
		c->have += take;
		p += take;
		n -= take;
		seq += take;
		if (c->have == RDS_HDR && be32(c->head + 16)) {
			c->body_left = be32(c->head + 16);
		} else if (c->have >= RDS_HDR && !c->body_left) {
			if (c->have >= KEEP)
				remember(c, seq);
			c->have = 0;
		}
	}
}

static void on_sent(const struct seg *s)
{
	struct conn *c;
	uint32_t skip;

	if (s->syn) {
		new_conn(s);
		return;
	}
	c = find_conn(s);
	if (!c || c->broken || !s->len)
		return;
	if (seq_after(s->seq, c->next)) {
		c->broken = true;
		sn.broken++;
		return;
	}
	skip = c->next - s->seq;
	if (skip >= s->len)
		return;
	feed(c, s->data + skip, s->len - skip, c->next);
	c->next += s->len - skip;
}

static void on_ack(const struct seg *s)
{
	struct conn *c = find_conn(s);

	if (!c)
		return;
	while (c->qhead < c->qlen && !seq_after(c->q[c->qhead].end, s->ack)) {
		bits_set(&sn.acked[c->q[c->qhead].stream], c->q[c->qhead].index);
		c->qhead++;
	}
	if (c->qhead == c->qlen)
		c->qhead = c->qlen = 0;
}

static void drain(void)
{
	static uint8_t pkt[1 << 17];
	struct seg s;
	ssize_t n;

	while ((n = recv(sn.fd, pkt, sizeof(pkt), MSG_DONTWAIT)) > 0) {
		sn.packets++;
		if (!parse_seg(pkt, n, &s))
			continue;
		if (s.ours)
			on_sent(&s);
		else
			on_ack(&s);
	}
}

static void *sniffer(void *arg)
{
	fd_set fds;

	(void)arg;
	for (;;) {
		FD_ZERO(&fds);
		FD_SET(sn.fd, &fds);
		FD_SET(sn.stop[0], &fds);
		if (select((sn.fd > sn.stop[0] ? sn.fd : sn.stop[0]) + 1, &fds, NULL, NULL,
			   NULL) < 0 && errno != EINTR)
			die("select: %s", strerror(errno));
		drain();
		if (FD_ISSET(sn.stop[0], &fds))
			return NULL;
	}
}

int sniff_start(const struct opts *o)
{
	struct sockaddr_ll ll = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int room = 128 << 20;

	addr_mapped(&o->self, sn.self);
	addr_mapped(&o->peer, sn.peer);
	ll.sll_ifindex = if_nametoindex(o->sniff);
	sn.fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sn.fd < 0 || !ll.sll_ifindex)
		die("cannot watch %s: %s", o->sniff, strerror(errno));
	setsockopt(sn.fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (bind(sn.fd, (void *)&ll, sizeof(ll)) || pipe(sn.stop))
		die("cannot watch %s: %s", o->sniff, strerror(errno));
	return pthread_create(&sn.thread, NULL, sniffer, NULL);
}

void sniff_stop(void)
{
	struct tpacket_stats st = { 0 };
	socklen_t len = sizeof(st);

	if (write(sn.stop[1], "", 1) != 1)
		die("pipe: %s", strerror(errno));
	pthread_join(sn.thread, NULL);
	getsockopt(sn.fd, SOL_PACKET, PACKET_STATISTICS, &st, &len);
	sn.drops = st.tp_drops;
	close(sn.fd);
}

bool sniff_acked(unsigned int stream, uint64_t idx)
{
	return bits_test(&sn.acked[stream], idx);
}

void sniff_report(void)
{
	printf("# watched: %llu packets, %u connections, %llu packets dropped, %u lost track\n",
	       (unsigned long long)sn.packets, sn.nconns, (unsigned long long)sn.drops,
	       sn.broken);
}
