// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Check received datagrams. */
#include <arpa/inet.h>
#include <string.h>

#include "stress.h"

static void __attribute__((noreturn))
bogus(const struct task *t, const struct sockaddr_in *from)
{
	char text[INET_ADDRSTRLEN];

	die("header from %s:%u to id %u bogus\n",
	    ip_str(ntohl(from->sin_addr.s_addr), text), ntohs(from->sin_port),
	    t->port);
}

static void row(const char *member, const char *expected, const char *got)
{
	printf("%10s %15s %2s %15s\n", member, expected,
	       strcmp(expected, got) ? "!=" : "=", got);
}

static void number_row(const char *member, uint32_t expected, uint32_t got)
{
	char a[16], b[16];

	snprintf(a, sizeof(a), "%u", expected);
	snprintf(b, sizeof(b), "%u", got);
	row(member, a, b);
}

static void report_mismatch(const struct header *want, const struct header *got)
{
	char a[INET_ADDRSTRLEN], b[INET_ADDRSTRLEN];

	printf("An incoming message had a %sheader which\n"
	       "didn't contain the fields we expected:\n"
	       "    member        expected eq             got\n", got->retry ? "RETRY " : "");
	number_row("seq", want->seq, got->seq);
	row("from_addr", ip_str(want->from_addr, a), ip_str(got->from_addr, b));
	number_row("from_port", want->from_port, got->from_port);
	row("to_addr", ip_str(want->to_addr, a), ip_str(got->to_addr, b));
	number_row("to_port", want->to_port, got->to_port);
	number_row("index", want->slot, got->slot);
	number_row("op", want->op, got->op);
}

static void check_payload(const struct task *t, const struct sockaddr_in *from,
			  size_t len)
{
	const uint8_t *p = t->in + HDR_LEN;
	size_t i, first = 0, wrong = 0;

	len -= HDR_LEN;
	if (!memcmp(p, t->pattern, len))
		return;
	for (i = len; i-- > 0;) {
		if (p[i] == t->pattern[i])
			continue;
		first = i;
		wrong++;
	}
	printf("An incoming message has a corrupted payload at offset %zu; "
	       "%zu out of %zu bytes corrupted\n", first, wrong, len);
	bogus(t, from);
}

struct peer *check_message(struct task *t, const struct sockaddr_in *from,
			   size_t len, struct header *h)
{
	int index = ntohs(from->sin_port) - t->o->port - 1;
	struct header want;
	struct peer *p;

	if (len < HDR_LEN)
		die("recvmsg() returned short data: %zu\n", len);
	if (index < 0 || index >= t->o->tasks)
		die("received bad task index %d\n", index);
	p = &t->peer[index];
	decode_header(t->in, h);
	if (h->op == OP_REQ && len != t->o->req_size)
		die("req size %zu, not %u\n", len, t->o->req_size);
	if (h->op == OP_ACK && len != t->o->ack_size)
		die("ack size %zu, not %u\n", len, t->o->ack_size);
	if (h->op != OP_REQ && h->op != OP_ACK)
		die("unknown op %u\n", h->op);
	if (h->retry && h->seq < p->rx_seq)
		return NULL;
	want = (struct header){
		.seq = p->rx_seq,
		.from_addr = ntohl(from->sin_addr.s_addr),
		.to_addr = t->o->recv_addr,
		.from_port = ntohs(from->sin_port),
		.to_port = t->port,
		.slot = h->op == OP_REQ ? p->exp_req_slot : p->exp_ack_slot,
		.op = h->op,
		.retry = h->retry,
	};
	if (want.seq != h->seq || want.from_addr != h->from_addr ||
	    want.to_addr != h->to_addr || want.from_port != h->from_port ||
	    want.to_port != h->to_port || want.slot != h->slot) {
		report_mismatch(&want, h);
		bogus(t, from);
	}
	if (t->o->verify)
		check_payload(t, from, len);
	return p;
}
