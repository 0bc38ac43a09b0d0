// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A passive rds-stress: the input begins with the option message of the active
 * side, followed by datagrams.  Each datagram comes after one byte of HOW_*
 * flags and one byte that selects the peer.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>

#include "quiet.h"
#include "rdma.h"

/* Flags in the first byte before a datagram */
#define HOW_OURS	0x01	/* set the header fields that are expected */
#define HOW_ACK		0x02	/* the datagram is an ack, not a request */
#define HOW_SHORT	0x04	/* it ends with its header or with the input */
#define HOW_REQUESTS	0x08	/* before it, the program sends a request */
#define HOW_ANSWERS	0x10	/* after it, the program acknowledges */
#define HOW_ENDS	0x20	/* with HOW_ANSWERS: transfers complete */
#define HOW_KEY		0x40	/* a key comes as a control message */

#define MAX_MEMORY	(1u << 16)	/* options that need more: skipped */

static struct options options;
static struct shared shared;
static struct stats stats;
static struct task task;

int __wrap_setsockopt(int fd, int level, int name, const void *value,
		      socklen_t len);

/* RDS_GET_MR and RDS_FREE_MR succeed without a kernel. */
int __wrap_setsockopt(int fd, int level, int name, const void *value,
		      socklen_t len)
{
	const struct rds_get_mr_args *get = value;

	(void)fd;
	(void)level;
	if (name == RDS_GET_MR) {
		HOLDS(len == sizeof(*get));
		*(uint64_t *)(uintptr_t)get->cookie_addr = 99;
	}
	return 0;
}

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fuzz_leave();
}

void die_errno(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fuzz_leave();
}

int bound_socket(const struct options *o, uint16_t port)
{
	(void)o;
	(void)port;
	return -1;
}

const char *ip_str(uint32_t host_order, char buf[INET_ADDRSTRLEN])
{
	struct in_addr a = { htonl(host_order) };

	return inet_ntop(AF_INET, &a, buf, INET_ADDRSTRLEN);
}

static void tear_down(void)
{
	struct task *t = &task;
	unsigned int i, s;

	for (i = 0; t->peer && i < options.tasks; i++) {
		for (s = 0; t->peer[i].rdma && s < options.depth; s++) {
			free(t->peer[i].rdma[s].target);
			free(t->peer[i].rdma[s].local);
		}
		free(t->peer[i].rdma);
		free(t->peer[i].sent_us);
	}
	free(t->peer);
	free(t->in);
	free(t->pattern);
	free(t->iov);
	memset(t, 0, sizeof(*t));
	memset(&shared, 0, sizeof(shared));
	memset(&stats, 0, sizeof(stats));
}

static void set_up_peer(struct peer *p, unsigned int i)
{
	size_t bytes = (size_t)options.rdma_size * options.vector;
	unsigned int s;

	p->addr.sin_family = AF_INET;
	p->addr.sin_addr.s_addr = htonl(options.send_addr);
	p->addr.sin_port = htons(options.port + 1 + i);
	p->sent_us =
		calloc(options.depth + !options.depth, sizeof(*p->sent_us));
	p->write_next = i % 2;
	/* Skip the first sequence numbers, which ask for no transfer. */
	p->tx_seq = 100;
	if (!options.rdma_size)
		return;
	p->rdma = calloc(options.depth + !options.depth, sizeof(*p->rdma));
	for (s = 0; s < options.depth; s++) {
		p->rdma[s].target = calloc(1, bytes);
		p->rdma[s].local = calloc(1, bytes);
	}
}

static void set_up(void)
{
	size_t largest = options.req_size;
	struct task *t = &task;
	unsigned int i;

	if (largest < options.ack_size)
		largest = options.ack_size;
	t->o = &options;
	t->shared = &shared;
	t->stats = &stats;
	t->port = options.port + 1;
	t->fd = -1;
	t->in = calloc(1, largest);
	t->pattern = calloc(1, largest);
	fill_pattern(t->pattern, largest - HDR_LEN);
	t->peer = calloc(options.tasks, sizeof(*t->peer));
	if (options.rdma_size)
		t->iov = calloc(options.vector, sizeof(*t->iov));
	for (i = 0; i < options.tasks; i++)
		set_up_peer(&t->peer[i], i);
}

static bool take_options(struct fuzz_in *in)
{
	size_t got, len;
	uint8_t *msg = fuzz_copy(in, VERSION_LEN, &got);
	uint8_t whole[LONG_LEN];
	uint64_t each;

	options = (struct options){
		.recv_addr = 0x0a000001, .outliers = NO_OUTLIERS,
	};
	len = got == VERSION_LEN ? options_length(msg) : 0;
	if (len) {
		HOLDS(len == SHORT_LEN || len == LONG_LEN);
		memcpy(whole, msg, VERSION_LEN);
		free(msg);
		msg = fuzz_copy(in, len - VERSION_LEN, &got);
		memcpy(whole + VERSION_LEN, msg, got);
		len = got == len - VERSION_LEN ? len : 0;
	}
	free(msg);
	if (!len)
		return false;
	/* Memory of the exact size: ASan reports reads past the end. */
	msg = malloc(len);
	memcpy(msg, whole, len);
	decode_options(msg, len, &options);
	free(msg);
	if (check_options(&options))
		return false;
	HOLDS(options.tasks && options.req_size >= HDR_LEN &&
	      options.ack_size >= HDR_LEN);
	HOLDS(options.req_size <= MAX_SIZE && options.ack_size <= MAX_SIZE);
	each = 64 + (uint64_t)options.rdma_size * options.vector;
	return options.tasks < 256 && options.req_size < MAX_MEMORY &&
	       options.ack_size < MAX_MEMORY &&
	       options.tasks * each * options.depth < MAX_MEMORY;
}

static void ask(struct peer *p)
{
	struct header h = {
		.seq = p->tx_seq, .op = OP_REQ, .slot = p->req_slot,
	};
	union control control;
	struct msghdr msg = { .msg_control = &control };

	if (p->outstanding >= options.depth)
		return;
	rdma_ask(&task, p, p->req_slot, &h, &msg);
	HOLDS(msg.msg_controllen <= sizeof(control));
	rdma_asked(&task, p, p->req_slot, &h, true);
	p->req_slot = next_slot(&task, p->req_slot);
	p->outstanding++;
	p->tx_seq++;
}

static void answer(struct peer *p, bool ends)
{
	struct rds_rdma_notify n = { 0 };

	while (p->owed && transfer_ready(p, p->ack_slot)) {
		struct header h = {
			.seq = p->tx_seq++, .op = OP_ACK, .slot = p->ack_slot,
		};
		union control control;
		struct msghdr msg = { .msg_control = &control };

		transfer_begin(&task, p, p->ack_slot, &h, &msg);
		HOLDS(msg.msg_controllen <= sizeof(control));
		transfer_begun(p, p->ack_slot);
		if (ends && p->rdma && p->rdma[p->ack_slot].in_flight) {
			n.user_token = p->rdma[p->ack_slot].token;
			transfer_status(&task, &n);
		}
		p->ack_slot = next_slot(&task, p->ack_slot);
		p->owed--;
	}
}

/* Set the header fields that the program expects, but not the transfer. */
static void expect(struct header *h, const struct peer *p,
		   const struct sockaddr_in *from, bool ack)
{
	h->seq = p->rx_seq;
	h->from_addr = ntohl(from->sin_addr.s_addr);
	h->from_port = ntohs(from->sin_port);
	h->to_addr = options.recv_addr;
	h->to_port = task.port;
	h->op = ack ? OP_ACK : OP_REQ;
	h->slot = ack ? p->exp_ack_slot : p->exp_req_slot;
	h->retry = 0;
	if (ack && p->rdma)
		h->rdma.rop = p->rdma[h->slot].asked.rop;
	h->rdma.size = options.rdma_size;
	h->rdma.vector = options.vector;
}

static void datagram(struct fuzz_in *in)
{
	uint8_t how = fuzz_byte(in), which = fuzz_byte(in);
	struct peer *p = &task.peer[which % options.tasks];
	size_t len = how & HOW_ACK ? options.ack_size : options.req_size, got;
	uint8_t *bytes = fuzz_copy(in, HDR_LEN, &got);
	struct sockaddr_in from = p->addr;
	struct header h;

	if (how & HOW_REQUESTS)
		ask(p);
	if (!(how & HOW_OURS) && which & 0x80)
		from.sin_port = htons(which << 8);
	memset(task.in, 0, len);
	memcpy(task.in, bytes, got);
	free(bytes);
	if (how & HOW_OURS) {
		decode_header(task.in, &h);
		expect(&h, p, &from, how & HOW_ACK);
		encode_header(task.in, &h);
	}
	if (options.verify && how & HOW_OURS)
		memcpy(task.in + HDR_LEN, task.pattern, len - HDR_LEN);
	take_message(&task, &from, how & HOW_SHORT ? got : len,
		     how & HOW_KEY ? 77 : 0);
	HOLDS(p->owed <= options.depth && p->outstanding <= options.depth);
	if (how & HOW_ANSWERS)
		answer(p, how & HOW_ENDS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	/* Static, as a local variable may be undefined after longjmp(). */
	static struct fuzz_in in;

	in = (struct fuzz_in){ data, n };
	if (!take_options(&in))
		return 0;
	set_up();
	if (!setjmp(fuzz_end)) {
		fuzz_running = true;
		while (in.n)
			datagram(&in);
	}
	fuzz_running = false;
	tear_down();
	return 0;
}
