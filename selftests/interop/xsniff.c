// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Watches this host's RDS connections on one interface, and records which
 * messages the receiver's TCP acknowledged, in both directions. A sender frees
 * a message when TCP acknowledges it. So a receiver that loses data held by its
 * TCP may miss acknowledged messages only; a message that is missing here
 * without an acknowledgement was not kept by its sender.
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

#define RDS_HDR		48
#define MAP_BYTES	8192
#define KEEP		(RDS_HDR + MAP_BYTES)
#define MAX_CONNS	512

struct sent {
	uint32_t end, stream;
	uint64_t index;
};

/* One direction of a connection; @next is the sequence number to parse next. */
struct flow {
	bool broken;
	uint32_t next, have, body_left;
	uint8_t head[RDS_HDR + MAP_BYTES];
	struct sent *q;			/* seen whole, not acknowledged yet */
	size_t qhead, qlen, qcap;
};

struct conn {
	uint16_t sport, dport;		/* as in packets that this host sends */
	bool live, in_known, out_known;
	struct flow out, in;
};

/* One TCP segment as seen on the wire. */
struct seg {
	uint16_t sport, dport;
	uint32_t seq, ack, len;
	bool syn, first_syn, ours;
	const uint8_t *data;
};

static struct {
	pthread_t thread;
	int fd, stop[2];
	uint8_t self[16], peer[16];
	struct conn conns[MAX_CONNS];
	unsigned int nconns, broken;
	struct bits acked[MAX_STREAMS], whole[MAX_STREAMS], taken[MAX_STREAMS];
	pthread_mutex_t lock;
	uint8_t map[MAP_BYTES];		/* last map that the peer sent */
	uint64_t packets, drops, maps;
} sn = { .lock = PTHREAD_MUTEX_INITIALIZER };

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

static bool parse_ip(const uint8_t *p, size_t len, uint8_t src[16],
		     uint8_t dst[16], const uint8_t **tcp, size_t *tlen)
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
	s->first_syn = s->syn && !(t[13] & 16);
	s->data = t + off;
	s->len = tl - off;
	return s->sport == RDS_TCP_PORT || s->dport == RDS_TCP_PORT;
}

static struct conn *find_conn(const struct seg *s)
{
	uint16_t sp = s->ours ? s->sport : s->dport,
		 dp = s->ours ? s->dport : s->sport;
	unsigned int i;

	for (i = sn.nconns; i-- > 0;)
		if (sn.conns[i].live && sn.conns[i].sport == sp &&
		    sn.conns[i].dport == dp)
			return &sn.conns[i];
	return NULL;
}

static struct conn *new_conn(const struct seg *s)
{
	struct conn *c = find_conn(s);

	if (c)
		c->live = false;
	if (sn.nconns == MAX_CONNS) {
		sn.broken++;
		return NULL;
	}
	c = &sn.conns[sn.nconns++];
	*c = (struct conn){ .sport = s->ours ? s->sport : s->dport,
			    .dport = s->ours ? s->dport : s->sport, .live = true };
	return c;
}

/* A SYN has its sender's first sequence number; a repeated SYN is ignored. */
static void on_syn(const struct seg *s)
{
	struct conn *c = find_conn(s);
	uint32_t first = s->seq + 1;

	if (s->first_syn) {
		if (c && (s->ours ? c->out.next : c->in.next) == first)
			return;
		c = new_conn(s);
	}
	if (!c)
		return;
	if (s->ours && !c->out_known) {
		c->out_known = true;
		c->out.next = first;
	} else if (!s->ours && !c->in_known) {
		c->in_known = true;
		c->in.next = first;
	}
}

/* Queue a message of rds-xchg in @f->q; false if the message is another. */
static bool remember(struct flow *f, uint32_t end)
{
	struct xhdr h;

	memcpy(&h, f->head + RDS_HDR, sizeof(h));
	if (f->have < RDS_HDR + XHDR_LEN || h.magic != XMAGIC ||
	    h.stream >= MAX_STREAMS)
		return false;
	if (f->qlen == f->qcap) {
		f->qcap = f->qcap ? f->qcap * 2 : 256;
		f->q = realloc(f->q, f->qcap * sizeof(*f->q));
		if (!f->q)
			die("out of memory");
	}
	f->q[f->qlen++] = (struct sent){ .end = end,
					 .stream = h.stream,
					 .index = h.index };
	return true;
}

static void on_message(struct conn *c, struct flow *f, uint32_t end)
{
	if (f == &c->in && f->head[24] == 1 && f->have == KEEP) {
		pthread_mutex_lock(&sn.lock);
		memcpy(sn.map, f->head + RDS_HDR, MAP_BYTES);
		sn.maps++;
		pthread_mutex_unlock(&sn.lock);
	} else if (remember(f, end) && f == &c->in) {
		bits_set(&sn.whole[f->q[f->qlen - 1].stream],
			 f->q[f->qlen - 1].index);
	}
}

/* Parse @n new stream bytes; @seq is the sequence number of the first. */
static void feed(struct conn *c, struct flow *f, const uint8_t *p, uint32_t n,
		 uint32_t seq)
{
	while (n) {
		uint32_t want = f->have < RDS_HDR ? RDS_HDR - f->have :
						    f->body_left;
		uint32_t take = n < want ? n : want;

		if (f->have < KEEP) {
			uint32_t room = KEEP - f->have;

			memcpy(f->head + f->have, p, take < room ? take : room);
		}
		if (f->have >= RDS_HDR)
			f->body_left -= take;
		f->have += take;
		p += take;
		n -= take;
		seq += take;
		if (f->have == RDS_HDR)
			f->body_left = be32(f->head + 16);
		if (f->have >= RDS_HDR && !f->body_left) {
			on_message(c, f, seq);
			f->have = 0;
		}
	}
}

static void on_data(const struct seg *s)
{
	struct conn *c = find_conn(s);
	struct flow *f;
	uint32_t skip;

	if (!c || !s->len || !(s->ours ? c->out_known : c->in_known))
		return;
	f = s->ours ? &c->out : &c->in;
	if (f->broken)
		return;
	if (seq_after(s->seq, f->next)) {
		f->broken = true;
		sn.broken++;
		return;
	}
	skip = f->next - s->seq;
	if (skip >= s->len)
		return;
	feed(c, f, s->data + skip, s->len - skip, f->next);
	f->next += s->len - skip;
}

static void on_ack(const struct seg *s)
{
	struct conn *c = find_conn(s);
	struct bits *acked = s->ours ? sn.taken : sn.acked;
	struct flow *f;

	if (!c)
		return;
	f = s->ours ? &c->in : &c->out;
	while (f->qhead < f->qlen && !seq_after(f->q[f->qhead].end, s->ack)) {
		bits_set(&acked[f->q[f->qhead].stream], f->q[f->qhead].index);
		f->qhead++;
	}
	if (f->qhead == f->qlen)
		f->qhead = f->qlen = 0;
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
		if (s.syn)
			on_syn(&s);
		else
			on_data(&s);
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
		if (select((sn.fd > sn.stop[0] ? sn.fd : sn.stop[0]) + 1, &fds,
			   NULL, NULL, NULL) < 0 &&
		    errno != EINTR)
			die("select: %s", strerror(errno));
		drain();
		if (FD_ISSET(sn.stop[0], &fds))
			return NULL;
	}
}

int sniff_start(const struct opts *o)
{
	struct sockaddr_ll ll = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(ETH_P_ALL) };
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

bool sniff_whole(unsigned int stream, uint64_t idx)
{
	return bits_test(&sn.whole[stream], idx);
}

bool sniff_taken(unsigned int stream, uint64_t idx)
{
	return bits_test(&sn.taken[stream], idx);
}

bool sniff_complete(void)
{
	return !sn.drops && !sn.broken;
}

bool sniff_map_congested(uint16_t port)
{
	bool set;

	pthread_mutex_lock(&sn.lock);
	set = sn.map[port / 8] & (1u << (port % 8));
	pthread_mutex_unlock(&sn.lock);
	return set;
}

void sniff_report(void)
{
	printf("# watched: %llu packets, %llu maps, %u connections, %llu packets dropped, %u lost track\n",
	       (unsigned long long)sn.packets, (unsigned long long)sn.maps,
	       sn.nconns, (unsigned long long)sn.drops, sn.broken);
}
