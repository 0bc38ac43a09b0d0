// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The peer of streams in user space; see rogue.h */
#define _GNU_SOURCE
#include "rogue.h"

#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define IN_AT		4096U
#define OUT_AT		(IN_AT + 2 * IN_HALF)
#define MEM_BYTES	(OUT_AT + OUT_BYTES)
#define SQ		256U
#define RQ		512U
#define RQ_USED		64U
#define WR_RECV		1U
#define WR_SEND		2U

static void hello_swap(struct hello *h)
{
	h->credits = htons(h->credits);
	h->table.addr = htobe64(h->table.addr);
	h->table.key = htonl(h->table.key);
	h->table.bytes = htonl(h->table.bytes);
	h->first.addr = htobe64(h->first.addr);
	h->first.key = htonl(h->first.key);
	h->first.bytes = htonl(h->first.bytes);
}

/* Change a field of connect data, which are in network order. */
static void change_field(uint8_t *hello, const struct change *c)
{
	uint64_t v = c->value, old = 0;

	for (size_t i = 0; i < c->bytes; i++)
		old = old << 8 | hello[c->at + i];
	if (c->add)
		v += old;
	for (size_t i = c->bytes; i-- > 0; v >>= 8)
		hello[c->at + i] = (uint8_t)v;
}

/* Fill in the connect data for @wire; the number of bytes to be sent */
static uint8_t hello_make(struct rogue *r, struct hello *wire)
{
	int sent = sizeof(*wire);

	*wire = (struct hello){
		.version = 1, .flags = FLAG_IOMAP, .credits = RQ_USED,
		.table = { (uintptr_t)r->mem, r->mr->rkey, 2 },
		.first = { (uintptr_t)r->mem + IN_AT, r->mr->rkey, IN_HALF },
	};
	hello_swap(wire);
	for (int i = 0; i < r->nr_changes; i++) {
		change_field((uint8_t *)wire, &r->changes[i]);
		if (r->changes[i].sent)
			sent = r->changes[i].sent;
	}
	r->me = *wire;
	hello_swap(&r->me);
	return sent == NOTHING_SENT ? 0 : (uint8_t)sent;
}

static void hello_take(struct rogue *r, const struct rdma_conn_param *p)
{
	if (!p->private_data || p->private_data_len < sizeof(r->you))
		return;
	memcpy(&r->you, p->private_data, sizeof(r->you));
	hello_swap(&r->you);
	r->half[0] = r->you.first;
	r->limit = r->you.credits;
}

void rogue_begin(struct rogue *r, const union addr *from)
{
	memset(r, 0, sizeof(*r));
	r->from = *from;
	r->receives = RQ_USED * 2;
	r->turn = 1;
	r->last_control = -1;
	r->event = -1;
	r->mem = aligned_alloc(4096, MEM_BYTES);
	r->ec = rdma_create_event_channel();
	if (!r->mem || !r->ec || fcntl(r->ec->fd, F_SETFL, O_NONBLOCK))
		die("peer: %m");
	memset(r->mem, 0, MEM_BYTES);
	r->out = r->mem + OUT_AT;
	for (uint32_t i = 0; i < OUT_BYTES; i++)
		r->out[i] = (uint8_t)(i % COUNT);
}

/* ---- what comes */

static void post_receive(struct rogue *r)
{
	struct ibv_recv_wr wr = { .wr_id = WR_RECV }, *bad;

	if (ibv_post_recv(r->id->qp, &wr, &bad))
		r->gone = true;
}

/* Is the table in the memory of this end, as it should be? */
static bool has_table(const struct rogue *r)
{
	uint64_t at = r->me.table.addr;

	return at >= (uintptr_t)r->mem && at <= (uintptr_t)r->mem + IN_AT;
}

/* Look for an entry that came with a message of credit. */
static void take_entry(struct rogue *r)
{
	struct target *t, entry;

	if (!has_table(r))
		return;
	t = (struct target *)(uintptr_t)r->me.table.addr + r->turn;
	memcpy(&entry, t, sizeof(entry));
	if (r->me.flags & FLAG_NET) {
		entry.addr = be64toh(entry.addr);
		entry.key = ntohl(entry.key);
		entry.bytes = ntohl(entry.bytes);
	}
	if (!entry.bytes)
		return;
	memset(t, 0, sizeof(*t));
	r->half[r->turn] = entry;
	r->turn ^= 1;
	r->entries++;
}

static void take_word(struct rogue *r, uint32_t word)
{
	switch (word >> 29) {
	case OP_DATA:
		r->messages++;
		r->in_bytes += word;
		break;
	case OP_CREDIT:
		r->credits++;
		r->limit = (uint16_t)word;
		take_entry(r);
		break;
	case OP_CONTROL:
		r->last_control = word & 0x1fffffff;
		break;
	}
}

static void take_completion(struct rogue *r, const struct ibv_wc *wc)
{
	if (wc->wr_id == WR_SEND) {
		r->done++;
		if (wc->status && !r->broken)
			r->broken = (int)wc->status;
	} else if (wc->status) {
		r->gone = true;
	} else {
		take_word(r, ntohl(wc->imm_data));
		post_receive(r);
	}
}

/* The other end is gone: nothing that is posted can be completed any more. */
static void disconnected(struct rogue *r)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	r->gone = true;
	if (r->id && r->id->qp)
		ibv_modify_qp(r->id->qp, &attr, IBV_QP_STATE);
}

static bool take_event(struct rogue *r)
{
	struct rdma_cm_event *ev;

	if (rdma_get_cm_event(r->ec, &ev))
		return false;
	r->event = (int)ev->event;
	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		r->id = ev->id;
		hello_take(r, &ev->param.conn);
	} else if (ev->event == RDMA_CM_EVENT_ESTABLISHED && !r->listener) {
		hello_take(r, &ev->param.conn);
	} else if (ev->event == RDMA_CM_EVENT_DISCONNECTED) {
		disconnected(r);
	}
	rdma_ack_cm_event(ev);
	return true;
}

bool rogue_look(struct rogue *r)
{
	struct ibv_wc wc[16];
	int n = r->cq ? ibv_poll_cq(r->cq, 16, wc) : 0;

	for (int i = 0; i < n; i++)
		take_completion(r, &wc[i]);
	return take_event(r) || n > 0;
}

void rogue_rest(struct rogue *r)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	if (!rogue_look(r))
		nanosleep(&pause, NULL);
}

/* ---- connecting */

static void make_qp(struct rogue *r)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = SQ, .max_recv_wr = RQ,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	r->pd = ibv_alloc_pd(r->id->verbs);
	r->cq = ibv_create_cq(r->id->verbs, SQ + RQ, NULL, NULL, 0);
	if (!r->pd || !r->cq)
		die("peer: pd, cq: %m");
	attr.send_cq = r->cq;
	attr.recv_cq = r->cq;
	r->mr = ibv_reg_mr(r->pd, r->mem, MEM_BYTES,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!r->mr || rdma_create_qp(r->id, r->pd, &attr))
		die("peer: mr, qp: %m");
	for (unsigned int i = 0; i < r->receives; i++)
		post_receive(r);
}

static struct rdma_conn_param param_of(struct rogue *r, struct hello *wire)
{
	struct rdma_conn_param p = {
		.private_data = wire, .private_data_len = hello_make(r, wire),
		.flow_control = 1, .retry_count = 7, .rnr_retry_count = 7,
		.responder_resources = 1, .initiator_depth = 1,
	};

	if (r->odd) {
		p.flow_control = 0;
		p.retry_count = 0;
		p.rnr_retry_count = 0;
		p.responder_resources = 255;
		p.initiator_depth = 255;
	}
	return p;
}

static bool resolve(struct rogue *r, const union addr *to)
{
	union addr from = r->from, peer = *to;

	return !rdma_create_id(r->ec, &r->id, r, RDMA_PS_TCP) &&
	       !rdma_resolve_addr(r->id, &from.sa, &peer.sa, 3000) &&
	       UNTIL(r, r->event >= 0) &&
	       r->event == RDMA_CM_EVENT_ADDR_RESOLVED &&
	       (r->event = -1, !rdma_resolve_route(r->id, 3000)) &&
	       UNTIL(r, r->event >= 0) &&
	       r->event == RDMA_CM_EVENT_ROUTE_RESOLVED;
}

bool rogue_dial(struct rogue *r, const union addr *to)
{
	struct rdma_conn_param p;
	struct hello wire;

	if (!resolve(r, to))
		return false;
	r->event = -1;
	make_qp(r);
	p = param_of(r, &wire);
	return !rdma_connect(r->id, &p);
}

/* librdmacm finishes a handshake by itself if it knows of a queue pair. */
bool rogue_dial_half(struct rogue *r, const union addr *to)
{
	struct ibv_qp *qp;
	struct rdma_conn_param p;
	struct hello wire;
	bool asked;

	if (!resolve(r, to))
		return false;
	r->event = -1;
	make_qp(r);
	p = param_of(r, &wire);
	qp = r->id->qp;
	p.qp_num = qp->qp_num;
	r->id->qp = NULL;
	asked = !rdma_connect(r->id, &p) && UNTIL(r, r->event >= 0);
	r->id->qp = qp;
	return asked && r->event == RDMA_CM_EVENT_CONNECT_RESPONSE;
}

void rogue_listen(struct rogue *r, union addr *at)
{
	*at = r->from;
	if (rdma_create_id(r->ec, &r->listener, r, RDMA_PS_TCP) ||
	    rdma_bind_addr(r->listener, &at->sa) || rdma_listen(r->listener, 8))
		die("peer: listen: %m");
	addr_set_port(at, ntohs(rdma_get_src_port(r->listener)));
}

bool rogue_request(struct rogue *r)
{
	return UNTIL(r, r->id);
}

bool rogue_accept(struct rogue *r)
{
	struct rdma_conn_param p;
	struct hello wire;

	r->event = -1;
	make_qp(r);
	p = param_of(r, &wire);
	return !rdma_accept(r->id, &p);
}

bool rogue_answered(struct rogue *r)
{
	return UNTIL(r, r->event >= 0) &&
	       r->event == RDMA_CM_EVENT_ESTABLISHED;
}

void rogue_drop(struct rogue *r)
{
	if (r->id) {
		if (r->id->qp)
			rdma_destroy_qp(r->id);
		rdma_destroy_id(r->id);
	}
	if (r->mr)
		ibv_dereg_mr(r->mr);
	if (r->cq)
		ibv_destroy_cq(r->cq);
	if (r->pd)
		ibv_dealloc_pd(r->pd);
	if (r->listener)
		rdma_destroy_id(r->listener);
	rdma_destroy_event_channel(r->ec);
	free(r->mem);
	memset(r, 0, sizeof(*r));
}

/* ---- what goes out */

static bool has_imm(enum ibv_wr_opcode code)
{
	return code == IBV_WR_RDMA_WRITE_WITH_IMM ||
	       code == IBV_WR_SEND_WITH_IMM;
}

bool rogue_post(struct rogue *r, const struct op *op)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)(op->from ?: r->out), .length = op->bytes,
		.lkey = r->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = WR_SEND, .sg_list = &sge, .num_sge = op->bytes ? 1 : 0,
		.opcode = op->code,
	}, *bad;

	if (has_imm(op->code))
		wr.imm_data = htonl(op->word);
	else if (op->code == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = op->key;
	if (op->code == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = op->to;
		wr.wr.atomic.rkey = op->key;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = op->to;
		wr.wr.rdma.rkey = op->key;
	}
	if (ibv_post_send(r->id->qp, &wr, &bad))
		return false;
	r->posted++;
	return true;
}

int rogue_do(struct rogue *r, const struct op *op)
{
	unsigned int nr = r->posted + 1;

	if (!rogue_post(r, op) || !UNTIL(r, r->done >= nr || r->broken))
		return -1;
	return r->broken;
}

unsigned int rogue_burst(struct rogue *r, const struct op *op,
			 unsigned int times)
{
	unsigned int first = r->done, n = 0;
	long end = now_ms() + 4 * ROGUE_MS;

	while (n < times && !r->broken && !r->gone && now_ms() < end) {
		if (r->posted - r->done < SQ / 2 && rogue_post(r, op))
			n++;
		else if (!rogue_look(r))
			sched_yield();
	}
	UNTIL(r, r->done == r->posted || r->broken || r->gone);
	return r->broken ? 0 : r->done - first;
}

int rogue_say(struct rogue *r, uint32_t word)
{
	const struct op op = { .code = IBV_WR_RDMA_WRITE_WITH_IMM,
			       .word = word };

	return rogue_do(r, &op);
}

int rogue_entry(struct rogue *r, unsigned int slot, const struct target *t)
{
	const struct op op = {
		.code = IBV_WR_RDMA_WRITE_WITH_IMM, .from = r->mem + ENTRY * 4, .bytes = ENTRY,
		.to = r->you.table.addr + slot * ENTRY, .key = r->you.table.key,
		.word = WORD(OP_CREDIT, r->me.credits + r->messages),
	};

	memcpy(r->mem + ENTRY * 4, t, ENTRY);
	return rogue_do(r, &op);
}

int rogue_publish(struct rogue *r, unsigned int slot)
{
	const struct target t = { (uintptr_t)r->mem + IN_AT + slot * IN_HALF,
				  r->mr->rkey, IN_HALF };

	return rogue_entry(r, slot, &t);
}

uint32_t rogue_room(struct rogue *r)
{
	rogue_look(r);
	return r->sent == r->limit ? 0 : r->half[r->fill].bytes - r->at;
}

/* The next message of data, of at most @bytes, which counts as sent */
static struct op next_data(struct rogue *r, uint32_t bytes)
{
	struct target *half = &r->half[r->fill];
	struct op op = {
		.code = IBV_WR_RDMA_WRITE_WITH_IMM,
		.from = r->out + r->pos % COUNT,
		.bytes = bytes < half->bytes - r->at ? bytes :
						       half->bytes - r->at,
		.to = half->addr + r->at, .key = half->key,
	};

	op.word = WORD(OP_DATA, op.bytes);
	r->sent++;
	r->pos += op.bytes;
	r->at += op.bytes;
	if (r->at == half->bytes) {
		half->bytes = 0;
		r->fill ^= 1;
		r->at = 0;
	}
	return op;
}

bool rogue_put(struct rogue *r, uint32_t bytes)
{
	struct op op;

	for (; bytes; bytes -= op.bytes) {
		if (!UNTIL(r, rogue_room(r) || r->broken) || r->broken)
			return false;
		op = next_data(r, bytes);
		if (rogue_do(r, &op))
			return false;
	}
	return true;
}
