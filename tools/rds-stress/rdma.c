// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDMA on the requesting side: register memory, send its key with a request;
 * the other side reads or writes the memory before it acknowledges the request.
 * transfer.c has the acknowledging side.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rdma.h"

/* Messages up to this sequence number only show that both sides are up. */
#define LAST_PLAIN_SEQ 10

/* Initial contents of a buffer, the same as with the classic rds-stress. */
#define UNTOUCHED 0x2f

void rdma_probe(const struct options *o)
{
	struct rds_free_mr_args args = { 0 };
	char text[INET_ADDRSTRLEN];
	int fd = bound_socket(o, o->port);

	if (setsockopt(fd, rt_level(), RDS_FREE_MR, &args, sizeof(args))) {
		if (errno == ENOPROTOOPT)
			die("RDMA not supported by this kernel\n");
		if (errno == EINVAL || errno == EOPNOTSUPP)
			die("RDMA not supported from %s: the transport of this address has no remote "
			    "memory (is rds_rdma loaded, and does an RDMA device have the address?)\n",
			    ip_str(o->recv_addr, text));
		die_errno("check_rdma_support: RDS_FREE_MR failed with unexpected error");
	}
	close(fd);
}

const char *rop_name(uint8_t rop)
{
	static const char *const name[] = { "nothing", "read", "write",
					    "fetch-add", "compare-swap" };

	return rop < sizeof(name) / sizeof(name[0]) ? name[rop] : "unknown";
}

static size_t total(const struct options *o)
{
	return (size_t)o->rdma_size * o->vector;
}

/* Only keys of RDS_GET_MR can be kept for more than one request. */
static bool keeps_keys(const struct options *o)
{
	return o->cache_mrs && o->use_get_mr && !o->use_once;
}

static void set_up_peer(struct task *t, struct peer *p)
{
	size_t page = sysconf(_SC_PAGESIZE), align = t->o->alignment;
	size_t stride = (align + total(t->o) + page - 1) / page * page;
	size_t len = 2 * stride * t->o->depth;
	uint8_t *mem = mmap(NULL, len, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;

	p->rdma = calloc(t->o->depth, sizeof(*p->rdma));
	if (mem == MAP_FAILED || !p->rdma)
		die("ERROR: failed to alloc memory\n");
	memset(mem, UNTOUCHED, len);
	for (i = 0; i < t->o->depth; i++) {
		p->rdma[i].target = mem + 2 * i * stride + align;
		p->rdma[i].local = p->rdma[i].target + stride;
	}
}

void rdma_set_up(struct task *t)
{
	unsigned int i;

	if (!t->o->rdma_size)
		return;
	t->pid = getpid();
	t->iov = calloc(t->o->vector, sizeof(*t->iov));
	if (!t->iov)
		die("ERROR: failed to alloc memory\n");
	for (i = 0; i < t->o->tasks; i++) {
		set_up_peer(t, &t->peer[i]);
		t->peer[i].write_next = i % 2;
	}
}

void rdma_control(struct msghdr *msg, int type, const void *data, size_t len)
{
	struct cmsghdr *c = msg->msg_control;

	c->cmsg_level = rt_level();
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), data, len);
	msg->msg_controllen = CMSG_SPACE(len);
}

static struct rds_get_mr_args registration(const struct task *t,
					   struct rdma_slot *s)
{
	struct rds_get_mr_args args = {
		.vec = { .addr = (uintptr_t)s->target, .bytes = total(t->o) },
		.cookie_addr = (uintptr_t)&s->key,
		.flags = RDS_RDMA_READWRITE | (t->o->use_once ? RDS_RDMA_USE_ONCE : 0),
	};

	return args;
}

static void get_key(struct task *t, struct rdma_slot *s)
{
	struct rds_get_mr_args args = registration(t, s);

	if (setsockopt(t->fd, rt_level(), RDS_GET_MR, &args, sizeof(args)))
		die_errno("setsockopt(RDS_GET_MR) failed (%u allocated)",
			  t->nr_keys);
	t->nr_keys++;
	if (t->o->trace)
		fprintf(stderr, "RDS get_rdma_key() = %llx\n",
			(unsigned long long)s->key);
}

static void free_key(struct task *t, struct rdma_slot *s)
{
	struct rds_free_mr_args args = { .cookie = s->key };

	if (t->o->trace)
		fprintf(stderr, "RDS free_rdma_key(%llx)\n",
			(unsigned long long)s->key);
	if (setsockopt(t->fd, rt_level(), RDS_FREE_MR, &args, sizeof(args)))
		die_errno("setsockopt(RDS_FREE_MR) failed");
	s->key = 0;
	t->nr_keys -= t->o->use_get_mr;
}

static enum rop next_rop(const struct task *t, const struct peer *p)
{
	switch (t->o->rdma_mode) {
	case MODE_READ:
		return ROP_READ;
	case MODE_WRITE:
		return ROP_WRITE;
	case MODE_FADD:
		return ROP_FADD;
	case MODE_CSWP:
		return ROP_CSWP;
	default:
		return p->write_next ? ROP_WRITE : ROP_READ;
	}
}

void rdma_ask(struct task *t, struct peer *p, uint16_t slot, struct header *h,
	      struct msghdr *msg)
{
	struct rdma_slot *s;

	if (!p->rdma || h->seq <= LAST_PLAIN_SEQ)
		return;
	s = &p->rdma[slot];
	h->rdma = (struct command){
		.rop = next_rop(t, p),
		.addr = (uintptr_t)s->target,
		.pattern = (uint64_t)h->seq << 32 | t->pid,
		.size = t->o->rdma_size,
		.vector = t->o->vector,
	};
	if (t->o->verify)
		fill_words(s->target, &h->rdma,
			   h->rdma.rop == ROP_WRITE ? 0 : h->rdma.pattern);
	if (t->o->use_get_mr) {
		if (!s->key)
			get_key(t, s);
		h->rdma.key = s->key;
		rdma_control(msg, RDS_CMSG_RDMA_DEST, &s->key, sizeof(s->key));
	} else {
		struct rds_get_mr_args args = registration(t, s);

		rdma_control(msg, RDS_CMSG_RDMA_MAP, &args, sizeof(args));
	}
	if (t->o->trace)
		fprintf(stderr,
			"Requesting RDMA %s for pattern %llx local addr to rdma %s %p\n",
			rop_name(h->rdma.rop),
			(unsigned long long)h->rdma.pattern,
			rop_name(h->rdma.rop), s->target);
}

void rdma_asked(struct task *t, struct peer *p, uint16_t slot,
		const struct header *h, bool sent)
{
	struct rdma_slot *s;

	if (!p->rdma)
		return;
	s = &p->rdma[slot];
	if (sent) {
		s->asked = h->rdma;
		if (h->rdma.rop)
			p->write_next = !p->write_next;
	} else if (!t->o->use_get_mr) {
		/* A failed sendmsg() leaves no key of RDS_CMSG_RDMA_MAP. */
		s->key = 0;
	}
}

static void check_atomic(const struct rdma_slot *s)
{
	uint64_t want = s->asked.rop == ROP_FADD ? s->asked.pattern + 1 :
						   ~s->asked.pattern;
	uint64_t got;

	memcpy(&got, s->target, sizeof(got));
	if (got != want)
		die("RDMA %s left %llx instead of %llx\n",
		    rop_name(s->asked.rop), (unsigned long long)got,
		    (unsigned long long)want);
}

void rdma_answered(struct task *t, struct peer *p, const struct header *h)
{
	uint64_t bytes = total(t->o);
	struct rdma_slot *s;

	if (!p->rdma)
		return;
	s = &p->rdma[h->slot];
	if (h->rdma.rop != s->asked.rop)
		die("RDMA %s acknowledged, but %s was asked for\n",
		    rop_name(h->rdma.rop), rop_name(s->asked.rop));
	if (!s->asked.rop)
		return;
	if (t->o->trace)
		fprintf(stderr,
			"RDS rcvd rdma %s ACK for request key %llx len %u local addr %llx\n",
			rop_name(s->asked.rop), (unsigned long long)h->rdma.key,
			h->rdma.size, (unsigned long long)s->asked.addr);
	if (t->o->use_once) {
		s->key = 0;
		t->nr_keys -= t->o->use_get_mr;
	} else if (!keeps_keys(t->o)) {
		free_key(t, s);
	}
	if (s->asked.rop == ROP_WRITE)
		count(&t->stats->rdma_in, bytes);
	else
		count(&t->stats->rdma_out, bytes);
	if (!t->o->verify)
		return;
	if (s->asked.rop == ROP_WRITE)
		check_words(p, s->target, &s->asked,
			    "written by the other side");
	else if (s->asked.rop != ROP_READ)
		check_atomic(s);
}
