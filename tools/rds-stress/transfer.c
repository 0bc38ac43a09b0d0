// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDMA on the acknowledging side: the transfer is sent with the ack, so that
 * the ack tells the requester that the transfer is done. The local buffer is in
 * use until the status of the transfer arrives.
 */
#include <string.h>

#include "rdma.h"

void fill_words(uint8_t *buf, const struct command *c, uint64_t pattern)
{
	size_t e, i;

	for (e = 0; e < c->vector; e++)
		for (i = 0; i + sizeof(pattern) <= c->size;
		     i += sizeof(pattern))
			memcpy(buf + e * c->size + i, &pattern,
			       sizeof(pattern));
}

/* Offset of the first wrong word in @len bytes, or @len if there is none. */
static size_t wrong_word(const uint8_t *buf, size_t len, uint64_t pattern)
{
	uint64_t word;
	size_t i;

	for (i = 0; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, buf + i, sizeof(word));
		if (word != pattern)
			return i;
	}
	return len;
}

void check_words(struct peer *p, const uint8_t *buf, const struct command *c,
		 const char *what)
{
	uint32_t e, last = p->first_only ? 1 : c->vector;
	uint64_t word;
	size_t at;

	for (e = 0; e < last; e++) {
		at = wrong_word(buf + (size_t)e * c->size, c->size, c->pattern);
		if (at == c->size)
			continue;
		/* A classic peer fills only the first element. */
		if (e && !p->filled) {
			p->first_only = true;
			printf("the other side fills one element of a vector, only that is checked\n");
			return;
		}
		memcpy(&word, buf + (size_t)e * c->size + at, sizeof(word));
		die("RDMA data %s is wrong: element %u, offset %zu: %llx instead of %llx\n",
		    what, e, at, (unsigned long long)word,
		    (unsigned long long)c->pattern);
	}
	p->filled = !p->first_only && c->vector > 1;
}

static bool expected_rop(const struct options *o, uint8_t rop)
{
	switch (o->rdma_mode) {
	case MODE_FADD:
		return rop == ROP_FADD;
	case MODE_CSWP:
		return rop == ROP_CSWP;
	default:
		return rop == ROP_READ || rop == ROP_WRITE;
	}
}

void transfer_requested(struct task *t, struct peer *p, const struct header *h,
			uint64_t key)
{
	const struct command *c = &h->rdma;
	struct rdma_slot *s;

	if (!c->rop && !p->rdma)
		return;
	if (!p->rdma || (c->rop && !expected_rop(t->o, c->rop)))
		die("Unexpected RDMA op %u in request\n", c->rop);
	s = &p->rdma[h->slot];
	s->todo = *c;
	if (!c->rop)
		return;
	if (key)
		s->todo.key = key;
	if (c->size != t->o->rdma_size)
		die("Unexpected RDMA size %u in request\n", c->size);
	if (c->vector != t->o->vector)
		die("Unexpected RDMA vector %u in request\n", c->vector);
	if (!s->todo.key)
		die("No key in a request for RDMA %s\n", rop_name(c->rop));
	if (t->o->trace)
		fprintf(stderr,
			"RDS received request to issue rdma %s %s len %u rva %llx key %llx "
			"pattern %llx\n",
			rop_name(c->rop), c->rop == ROP_READ ? "from" : "to",
			c->size, (unsigned long long)c->addr,
			(unsigned long long)s->todo.key,
			(unsigned long long)c->pattern);
}

bool transfer_ready(const struct peer *p, uint16_t slot)
{
	return !p->rdma || !p->rdma[slot].todo.rop || !p->rdma[slot].in_flight;
}

static void begin_copy(struct task *t, struct rdma_slot *s, struct msghdr *msg)
{
	const struct command *c = &s->todo;
	struct rds_rdma_args args = {
		.cookie = c->key,
		.remote_vec = { .addr = c->offset, .bytes = (uint64_t)c->size * c->vector },
		.local_vec_addr = (uintptr_t)t->iov,
		.nr_local = c->vector,
		.flags = RDS_RDMA_NOTIFY_ME,
		.user_token = s->token,
	};
	uint32_t i;

	if (c->rop == ROP_WRITE)
		args.flags |= RDS_RDMA_READWRITE;
	else if (t->o->fence)
		args.flags |= RDS_RDMA_FENCE;
	for (i = 0; i < c->vector; i++) {
		t->iov[i].addr = (uintptr_t)s->local + (size_t)i * c->size;
		t->iov[i].bytes = c->size;
	}
	if (c->rop == ROP_WRITE && t->o->verify)
		fill_words(s->local, c, c->pattern);
	rdma_control(msg, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
}

static void begin_atomic(struct rdma_slot *s, struct msghdr *msg)
{
	struct rds_atomic_args args = {
		.cookie = s->todo.key,
		.local_addr = (uintptr_t)s->local,
		.remote_addr = s->todo.offset,
		.flags = RDS_RDMA_NOTIFY_ME,
		.user_token = s->token,
	};

	if (s->todo.rop == ROP_FADD) {
		args.fadd.add = 1;
		rdma_control(msg, RDS_CMSG_ATOMIC_FADD, &args, sizeof(args));
	} else {
		args.cswp.compare = s->todo.pattern;
		args.cswp.swap = ~s->todo.pattern;
		rdma_control(msg, RDS_CMSG_ATOMIC_CSWP, &args, sizeof(args));
	}
}

void transfer_begin(struct task *t, struct peer *p, uint16_t slot,
		    struct header *h, struct msghdr *msg)
{
	struct rdma_slot *s;

	if (!p->rdma || !p->rdma[slot].todo.rop)
		return;
	s = &p->rdma[slot];
	h->rdma = s->todo;
	s->token = (uint64_t)h->seq << 32 | ((p - t->peer) * t->o->depth + slot)
						    << 2;
	if (s->todo.rop == ROP_READ || s->todo.rop == ROP_WRITE)
		begin_copy(t, s, msg);
	else
		begin_atomic(s, msg);
	if (t->o->trace)
		fprintf(stderr,
			"RDS issuing rdma for token 0x%llx key 0x%llx len %u local_buf %p "
			"vector %u\n",
			(unsigned long long)s->token,
			(unsigned long long)s->todo.key, s->todo.size, s->local,
			s->todo.vector);
}

void transfer_begun(struct peer *p, uint16_t slot)
{
	struct rdma_slot *s;

	if (!p->rdma || !p->rdma[slot].todo.rop)
		return;
	s = &p->rdma[slot];
	s->flying = s->todo;
	s->todo.rop = ROP_NONE;
	s->in_flight = true;
}

static const char *status_name(int status)
{
	static const char *const name[] = {
		"success", "remote error", "canceled", "dropped", "other error",
	};

	return status >= 0 && status < 5 ? name[status] : "unknown status";
}

static void check_transfer(struct task *t, struct peer *p,
			   const struct rdma_slot *s)
{
	const struct command *c = &s->flying;
	uint64_t old;

	if (c->rop == ROP_FADD || c->rop == ROP_CSWP) {
		memcpy(&old, s->local, sizeof(old));
		if (old != c->pattern)
			die("RDMA %s found %llx instead of %llx\n",
			    rop_name(c->rop), (unsigned long long)old,
			    (unsigned long long)c->pattern);
	} else if (c->rop == ROP_READ && t->o->fence) {
		/*
		 * Without a fence the ack may overtake the data of the read,
		 * and the requester may reuse the memory during the read.
		 */
		check_words(p, s->local, c, "read from the other side");
	}
}

void transfer_status(struct task *t, const struct rds_rdma_notify *n)
{
	uint32_t index = (uint32_t)n->user_token >> 2;
	struct rdma_slot *s = NULL;
	struct peer *p;

	p = &t->peer[index / t->o->depth % t->o->tasks];
	if (p->rdma)
		s = &p->rdma[index % t->o->depth];
	if (!s || !s->in_flight || s->token != n->user_token)
		die("status %d of an RDMA operation that is not under way, token 0x%llx\n",
		    n->status, (unsigned long long)n->user_token);
	s->in_flight = false;
	if (t->o->trace)
		fprintf(stderr, "RDS rdma completion for token 0x%llx\n",
			(unsigned long long)n->user_token);
	/* If the other side ends first, operations on its memory fail. */
	if (n->status && atomic_load(&t->shared->stopping))
		return;
	if (n->status)
		die("RDMA %s failed: %s (status %d)\n", rop_name(s->flying.rop),
		    status_name(n->status), n->status);
	count(s->flying.rop == ROP_WRITE ? &t->stats->rdma_out :
					   &t->stats->rdma_in,
	      (uint64_t)s->flying.size * s->flying.vector);
	if (t->o->verify)
		check_transfer(t, p, s);
}
