// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The peer in user space; see fake.h. */
#include "fake.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MSG_MAX		(1024 * 1024)
/* Offsets in f->mem: the frame to be sent, and the headers of a burst */
#define SEND_AT		(FAKE_RECVS * FAKE_FRAME)
#define BURST_AT	(SEND_AT + FAKE_FRAME)
#define MEM_BYTES	(BURST_AT + FAKE_BURST * sizeof(struct fake_header))
#define WR_SEND		1000
#define WR_BURST	1001

double fake_now(void)
{
	return (double)now_ns() / 1e9;
}

/* Is the guest's one device iWARP? */
static bool device_is_iwarp(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	bool iwarp = list && list[0] &&
		     list[0]->transport_type == IBV_TRANSPORT_IWARP;

	if (list)
		ibv_free_device_list(list);
	return iwarp;
}

void fake_init(struct fake *f, const char *self, const char *peer)
{
	memset(f, 0, sizeof(*f));
	f->pd_bytes = sizeof(struct fake_private);
	f->iwarp = device_is_iwarp();
	f->self = addr_of(self, FAKE_PORT);
	f->peer = addr_of(peer, FAKE_PORT);
	if (fake_v6(f) && !f->iwarp) {
		addr_set_port(&f->self, FAKE_PORT_ROCE6);
		addr_set_port(&f->peer, FAKE_PORT_ROCE6);
	}
	f->mem = aligned_alloc(4096, (MEM_BYTES + 4095) & ~4095UL);
	f->msg = malloc(MSG_MAX);
	if (!f->mem || !f->msg)
		exit(2);
}

bool fake_v6(const struct fake *f)
{
	return f->self.sa.sa_family == AF_INET6;
}

/*
 * Wait for the next CM event, which must be @want; the private data of a reject
 * or reply are stored.
 */
static enum fake_result cm_wait(struct fake *f, enum rdma_cm_event_type want,
				int ms)
{
	struct pollfd p = { .fd = f->ec->fd, .events = POLLIN };
	double end = fake_now() + ms / 1000.0;
	enum fake_result res = FAKE_ERROR;
	struct rdma_cm_event *ev;
	int left;

	while ((left = (int)((end - fake_now()) * 1000)) > 0 &&
	       poll(&p, 1, left) > 0) {
		if (rdma_get_cm_event(f->ec, &ev))
			return FAKE_ERROR;
		res = ev->event == want ? FAKE_UP : FAKE_ERROR;
		if (ev->event == RDMA_CM_EVENT_REJECTED) {
			res = FAKE_REJECTED;
			f->reject = INT_MIN;
			if (ev->param.conn.private_data_len >=
			    sizeof(f->reject))
				memcpy(&f->reject, ev->param.conn.private_data,
				       sizeof(f->reject));
		} else if (ev->event == RDMA_CM_EVENT_ESTABLISHED) {
			fake_pd_get(f, &ev->param.conn);
		}
		rdma_ack_cm_event(ev);
		return res;
	}
	return FAKE_ERROR;
}

static bool post_recv(struct fake *f, unsigned int i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)(f->mem + i * FAKE_FRAME), .length = FAKE_FRAME, .lkey = f->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 },
			   *bad;

	return !ibv_post_recv(f->id->qp, &wr, &bad);
}

/* Create what a connection needs before its request. */
static bool make_qp(struct fake *f)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = FAKE_BURST + 16,
			 .max_recv_wr = FAKE_RECVS, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	unsigned int i;

	f->pd = ibv_alloc_pd(f->id->verbs);
	if (!f->pd)
		return false;
	f->cq = ibv_create_cq(f->id->verbs, FAKE_RECVS + FAKE_BURST + 32, NULL,
			      NULL, 0);
	if (!f->cq)
		return false;
	attr.send_cq = f->cq;
	attr.recv_cq = f->cq;
	if (rdma_create_qp(f->id, f->pd, &attr))
		return false;
	f->mr = ibv_reg_mr(f->pd, f->mem, MEM_BYTES, IBV_ACCESS_LOCAL_WRITE);
	for (i = 0; f->mr && i < FAKE_RECVS; i++) {
		if (!post_recv(f, i))
			return false;
	}
	return f->mr;
}

static bool resolve(struct fake *f)
{
	union addr from = f->self;

	addr_set_port(&from, 0);
	return !rdma_resolve_addr(f->id, &from.sa, &f->peer.sa, 3000) &&
	       cm_wait(f, RDMA_CM_EVENT_ADDR_RESOLVED, 5000) == FAKE_UP &&
	       !rdma_resolve_route(f->id, 3000) &&
	       cm_wait(f, RDMA_CM_EVENT_ROUTE_RESOLVED, 5000) == FAKE_UP;
}

enum fake_result fake_open(struct fake *f, const struct fake_private *pd)
{
	uint8_t wire[sizeof(*pd)];
	struct rdma_conn_param param = {
		.responder_resources = 1, .initiator_depth = 1, .retry_count = 7,
		.rnr_retry_count = 7, .private_data = wire,
	};
	struct fake_private own;
	enum fake_result res;

	if (f->no_reads)
		param.responder_resources = 0;
	fake_close(f);
	f->ec = rdma_create_event_channel();
	if (!f->ec || rdma_create_id(f->ec, &f->id, NULL, RDMA_PS_TCP) ||
	    !resolve(f) || !make_qp(f))
		return FAKE_ERROR;
	fake_private(f, &own);
	param.private_data_len = fake_pd_put(f, pd ? pd : &own, wire);
	if (param.private_data_len > f->pd_bytes)
		param.private_data_len = (uint8_t)f->pd_bytes;
	if (!param.private_data_len)
		param.private_data = NULL;
	if (rdma_connect(f->id, &param))
		return FAKE_ERROR;
	res = cm_wait(f, RDMA_CM_EVENT_ESTABLISHED, 20000);
	f->may_send = ntohl(f->reply.credit);
	f->credits = f->iwarp && f->may_send;
	return res;
}

bool fake_listen(struct fake *f)
{
	f->listen_ec = rdma_create_event_channel();
	return f->listen_ec &&
	       !rdma_create_id(f->listen_ec, &f->listener, NULL, RDMA_PS_TCP) &&
	       !rdma_bind_addr(f->listener, &f->self.sa) &&
	       !rdma_listen(f->listener, 4);
}

void fake_unlisten(struct fake *f)
{
	if (f->listener)
		rdma_destroy_id(f->listener);
	if (f->listen_ec)
		rdma_destroy_event_channel(f->listen_ec);
	f->listener = NULL;
	f->listen_ec = NULL;
}

/* Wait for the next request and store its id in f->id. */
static bool request_wait(struct fake *f, double end)
{
	struct pollfd p = { .fd = f->listen_ec->fd, .events = POLLIN };
	struct rdma_cm_event *ev;
	int left;

	while (!f->id && (left = (int)((end - fake_now()) * 1000)) > 0 &&
	       poll(&p, 1, left) > 0) {
		if (rdma_get_cm_event(f->listen_ec, &ev))
			return false;
		if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			f->id = ev->id;
			fake_pd_get(f, &ev->param.conn);
		}
		rdma_ack_cm_event(ev);
	}
	return f->id;
}

bool fake_request(struct fake *f, double seconds)
{
	return request_wait(f, fake_now() + seconds);
}

/* Accept the request of f->id. */
static bool accept_one(struct fake *f, const struct fake_private *pd)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1,
					 .rnr_retry_count = 7 };
	struct fake_private own, request = f->reply;
	uint8_t wire[sizeof(own)];

	f->ec = rdma_create_event_channel();
	if (!f->ec || rdma_migrate_id(f->id, f->ec) || !make_qp(f))
		return false;
	fake_private(f, &own);
	param.private_data = wire;
	param.private_data_len = fake_pd_put(f, pd ? pd : &own, wire);
	if (rdma_accept(f->id, &param) ||
	    cm_wait(f, RDMA_CM_EVENT_ESTABLISHED, 20000) != FAKE_UP)
		return false;
	f->reply = request;
	f->may_send = ntohl(f->reply.credit);
	f->credits = f->iwarp && f->may_send;
	return true;
}

bool fake_accept(struct fake *f, const struct fake_private *pd, double seconds)
{
	double end = fake_now() + seconds;

	do {
		fake_close(f);
		if (request_wait(f, end) && accept_one(f, pd))
			return true;
	} while (fake_now() < end);
	return false;
}

bool fake_connect(struct fake *f, int seconds)
{
	double end = fake_now() + seconds;

	while (fake_now() < end) {
		if (fake_open(f, NULL) == FAKE_UP)
			return true;
	}
	return false;
}

void fake_close(struct fake *f)
{
	if (f->id) {
		if (f->id->qp) {
			rdma_disconnect(f->id);
			rdma_destroy_qp(f->id);
		}
		if (f->mr)
			ibv_dereg_mr(f->mr);
		if (f->cq)
			ibv_destroy_cq(f->cq);
		if (f->pd)
			ibv_dealloc_pd(f->pd);
		rdma_destroy_id(f->id);
	}
	if (f->ec)
		rdma_destroy_event_channel(f->ec);
	f->ec = NULL;
	f->id = NULL;
	f->mr = NULL;
	f->cq = NULL;
	f->pd = NULL;
	f->sending = false;
	f->pending = false;
	f->gone = false;
	f->seq = 0;
	f->rx_seq = 0;
	f->granted = 0;
	f->frames = 0;
	f->have = 0;
	f->acked = 0;
	memset(f->map, 0, sizeof(f->map));
}

struct fake_header fake_header(struct fake *f, uint16_t sport, uint16_t dport,
			       uint32_t len)
{
	struct fake_header h = {
		.seq = htobe64(++f->seq), .len = htonl(len), .sport = htons(sport),
		.dport = htons(dport),
	};

	return h;
}

uint16_t fake_csum(const struct fake_header *h)
{
	const uint8_t *p = (const void *)h;
	uint32_t sum = 0;
	size_t i;

	for (i = 0; i < sizeof(*h); i += 2)
		sum += i == offsetof(struct fake_header, csum) ?
			       0 :
			       (uint32_t)p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

/*
 * Add one frame to the message that is assembled. True if a message for a
 * program is complete.
 */
static bool take_message(struct fake *f, const uint8_t *frame, size_t bytes)
{
	const struct fake_header *h = (const void *)frame;
	size_t n = bytes - sizeof(*h);

	if (bytes < sizeof(*h) || (h->csum && fake_csum(h) != h->csum)) {
		printf("# the peer sent a bad frame of %zu bytes\n", bytes);
		f->gone = true;
		return false;
	}
	f->may_send += h->credit;
	if (be64toh(h->ack) > f->acked)
		f->acked = be64toh(h->ack);
	if (!h->sport && !h->dport && !n && !h->flags)
		return false;
	if (f->have + n > MSG_MAX)
		return false;
	memcpy(f->msg + f->have, h + 1, n);
	f->have += (uint32_t)n;
	f->hdr = *h;
	if (f->have < ntohl(h->len))
		return false;
	f->have = 0;
	if (h->flags == F_CONG) {
		memcpy(f->map, f->msg, sizeof(f->map));
		return false;
	}
	f->rx_seq = be64toh(h->seq);
	f->probes += h->sport == htons(1);
	if (f->heard)
		f->heard(f);
	return true;
}

/*
 * A frame of several messages has each of them complete, with its header. True
 * if one of the messages is complete.
 */
static bool take_frame(struct fake *f, const uint8_t *frame, size_t bytes)
{
	const struct fake_header *h;
	bool complete = false;
	size_t n;

	do {
		h = (const void *)frame;
		n = bytes;
		if (f->joins && !f->have && n > sizeof(*h) &&
		    n - sizeof(*h) > ntohl(h->len))
			n = sizeof(*h) + ntohl(h->len);
		complete |= take_message(f, frame, n);
		frame += n;
		bytes -= n;
	} while (bytes && !f->gone);
	return complete;
}

/* Process one completion, if there is one. */
static void poll_once(struct fake *f)
{
	struct ibv_wc wc;

	if (!f->cq || ibv_poll_cq(f->cq, 1, &wc) <= 0)
		return;
	if (wc.status != IBV_WC_SUCCESS) {
		f->gone = true;
		f->sending = false;
		return;
	}
	if (wc.wr_id == WR_BURST) {
		f->burst++;
		return;
	}
	if (wc.wr_id == WR_SEND) {
		f->sending = false;
		return;
	}
	f->frames++;
	if (take_frame(f, f->mem + wc.wr_id * FAKE_FRAME, wc.byte_len))
		f->pending = true;
	if (post_recv(f, (unsigned int)wc.wr_id))
		f->granted++;
}

/* Check for a disconnect event of the CM. */
static void look_at_cm(struct fake *f)
{
	struct pollfd p = { .fd = f->ec->fd, .events = POLLIN };
	struct rdma_cm_event *ev;

	if (poll(&p, 1, 0) <= 0 || rdma_get_cm_event(f->ec, &ev))
		return;
	if (ev->event == RDMA_CM_EVENT_DISCONNECTED ||
	    ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		f->gone = true;
	rdma_ack_cm_event(ev);
}

bool fake_send(struct fake *f, struct fake_header *h, const void *payload,
	       size_t n, int how)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)(f->mem + SEND_AT), .length = (uint32_t)(sizeof(*h) + n),
		.lkey = f->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = WR_SEND, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SOLICITED,
	}, *bad;
	double end = fake_now() + 10;

	while (f->credits && !f->may_send && !(how & SEND_NO_CREDIT) &&
	       !f->gone && fake_now() < end)
		poll_once(f);
	if (f->gone)
		return false;
	if (f->credits) {
		h->credit = (uint8_t)(f->granted > 255 ? 255 : f->granted);
		if (f->withholds)
			h->credit = 0;
		f->granted -= h->credit;
		f->may_send -= f->may_send ? 1 : 0;
	}
	if (!(how & SEND_RAW_CSUM))
		h->csum = fake_csum(h);
	memcpy(f->mem + SEND_AT, h, sizeof(*h));
	if (n)
		memcpy(f->mem + SEND_AT + sizeof(*h), payload, n);
	if (how >> 8)
		sge.length = (uint32_t)(how >> 8);
	if (how & SEND_IMM)
		wr.opcode = IBV_WR_SEND_WITH_IMM;
	if (how & SEND_WRITE_IMM) {
		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr.num_sge = 0;
	}
	if (ibv_post_send(f->id->qp, &wr, &bad))
		return false;
	f->sending = true;
	while (f->sending && fake_now() < end)
		poll_once(f);
	return !f->gone;
}

unsigned int fake_burst(struct fake *f, uint16_t sport, uint16_t dport,
			unsigned int n)
{
	struct fake_header *h = (void *)(f->mem + BURST_AT);
	struct ibv_sge sge = { .length = sizeof(*h), .lkey = f->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = WR_BURST, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND,
	}, *bad;
	double end = fake_now() + 10;
	unsigned int i;

	f->burst = 0;
	for (i = 0; i < n && i < FAKE_BURST; i++, h++) {
		*h = fake_header(f, sport, dport, 0);
		h->csum = fake_csum(h);
		sge.addr = (uintptr_t)h;
		if (ibv_post_send(f->id->qp, &wr, &bad))
			break;
	}
	while (f->burst < i && !f->gone && fake_now() < end)
		poll_once(f);
	return f->burst;
}

void fake_idle(struct fake *f, unsigned int frames, double seconds)
{
	double end = fake_now() + seconds;

	while (f->frames < frames && !f->gone && fake_now() < end)
		poll_once(f);
}

bool fake_message(struct fake *f, struct fake_header *h, const void *payload)
{
	uint32_t len = ntohl(h->len), at = 0, n;

	do {
		n = len - at < FAKE_FRAG ? len - at : FAKE_FRAG;
		if (!fake_send(f, h, (const uint8_t *)payload + at, n, 0))
			return false;
		at += n;
	} while (at < len);
	return true;
}

static bool acknowledge(struct fake *f)
{
	struct fake_header h = { .ack = htobe64(f->rx_seq) };

	return fake_send(f, &h, NULL, 0, 0);
}

bool fake_wait(struct fake *f, double seconds)
{
	double end = fake_now() + seconds;

	while (!f->pending && !f->gone && fake_now() < end) {
		poll_once(f);
		look_at_cm(f);
	}
	return f->pending;
}

bool fake_recv(struct fake *f, double seconds)
{
	if (!fake_wait(f, seconds))
		return false;
	f->pending = false;
	acknowledge(f);
	return true;
}

bool fake_congested(const struct fake *f, uint16_t port)
{
	return f->map[port / 8] >> port % 8 & 1;
}

bool fake_acked(struct fake *f, uint64_t seq, double seconds)
{
	double end = fake_now() + seconds;

	while (f->acked < seq && !f->gone && fake_now() < end)
		poll_once(f);
	return f->acked >= seq;
}

/* The host of @a as /proc/net/tcp and tcp6 show it */
static void proc_host(const union addr *a, char text[33])
{
	const uint32_t *w = (const void *)&a->in6.sin6_addr;

	if (a->sa.sa_family == AF_INET)
		snprintf(text, 33, "%08X", a->in.sin_addr.s_addr);
	else
		snprintf(text, 33, "%08X%08X%08X%08X", w[0], w[1], w[2], w[3]);
}

bool fake_unread(const struct fake *f)
{
	FILE *list = fopen(fake_v6(f) ? "/proc/net/tcp6" : "/proc/net/tcp",
			   "re");
	char line[256], self[33], peer[33], own[33], other[33];
	unsigned int port, state, bytes, unread = 0;

	proc_host(&f->self, own);
	proc_host(&f->peer, other);
	while (list && fgets(line, sizeof(line), list)) {
		if (sscanf(line,
			   " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%*x %x %*x:%x",
			   self, &port, peer, &state, &bytes) == 5 &&
		    port == addr_port(&f->self) && !strcmp(self, own) &&
		    !strcmp(peer, other) && state == 1 /* TCP_ESTABLISHED */)
			unread += bytes;
	}
	if (list)
		fclose(list);
	printf("# fake: %u frames received, %u bytes unread\n", f->frames,
	       unread);
	return unread;
}

/* Say what the device of this end knows of a connection that does not end. */
static void say_alive(const struct fake *f)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (!f->id->qp ||
	    ibv_query_qp(f->id->qp, &attr, IBV_QP_STATE, &init)) {
		printf("# fake: no queue pair to ask\n");
		return;
	}
	printf("# fake: state of the queue pair %d, %u frames of the burst sent, %u received\n",
	       attr.qp_state, f->burst, f->frames);
}

bool fake_ends(struct fake *f, double seconds)
{
	double end = fake_now() + seconds;

	while (!f->gone && fake_now() < end) {
		poll_once(f);
		look_at_cm(f);
	}
	if (!f->gone)
		say_alive(f);
	return f->gone;
}
