// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Several messages in one frame, from a peer that announced joined messages, or
 * did not.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "hostile.h"
#include "ktap.h"
#include "sink.h"

/* A frame that is assembled: the bytes behind its first header */
static uint8_t rest[FAKE_FRAG];
static size_t used;

/* Begin a frame with its first message. */
static struct fake_header first(uint32_t len)
{
	memcpy(rest, data, len);
	used = len;
	return fake_header(&f, OUR_PORT, SINK_PORT, len);
}

/* Add one more message, with @n bytes of payload. */
static void add(struct fake_header *h, size_t n, bool good_csum)
{
	h->csum = fake_csum(h);
	if (!good_csum)
		h->csum ^= htons(0x0101);
	memcpy(rest + used, h, sizeof(*h));
	memcpy(rest + used + sizeof(*h), data, n);
	used += sizeof(*h) + n;
}

static const uint32_t wanted[] = { 10, 0, 1500, 2000 };

#define NR_WANTED	(sizeof(wanted) / sizeof(wanted[0]))

static unsigned int answers;

/* Count answers, which must come in order. */
static void heard(struct fake *p)
{
	char want[80];

	if (answers == NR_WANTED)
		return;
	snprintf(want, sizeof(want), "%u %016llx", wanted[answers],
		 (unsigned long long)sink_hash(data, wanted[answers]));
	if (ntohl(p->hdr.len) >= strlen(want) &&
	    !memcmp(p->msg, want, strlen(want)))
		answers++;
}

/* All messages of a frame must be delivered. */
static void good(void)
{
	struct fake_header h, more;
	bool sent = fresh();
	unsigned int i;

	answers = 0;
	f.heard = heard;
	h = first(wanted[0]);
	for (i = 1; i < NR_WANTED; i++) {
		more = fake_header(&f, OUR_PORT, SINK_PORT, wanted[i]);
		/*
		 * The module must ignore this acknowledgement, which would end
		 * the connection.
		 */
		more.ack = htobe64(1ULL << 40);
		add(&more, wanted[i], true);
	}
	sent = sent && fake_send(&f, &h, rest, used, 0);
	while (sent && answers < NR_WANTED && fake_recv(&f, 10 * slow))
		;
	f.heard = NULL;
	ktap_ok(answers == NR_WANTED,
		"hostile.rdma_joined # %u answers, sent %d", answers, sent);
}

/*
 * F_ACK_REQUIRED in the first message requests an acknowledgement of the last.
 * There are no answers that could carry it.
 */
static void ack(void)
{
	struct fake_header h, more;
	bool sent = fresh();

	h = first(10);
	h.dport = htons(4999);
	h.flags = F_ACK_REQUIRED;
	more = fake_header(&f, OUR_PORT, 4999, 20);
	add(&more, 20, true);
	sent = sent && fake_send(&f, &h, rest, used, 0);
	ktap_ok(sent && fake_acked(&f, f.seq, 10 * slow),
		"hostile.rdma_joined_ack # %llu of %llu",
		(unsigned long long)f.acked, (unsigned long long)f.seq);
}

/* A duplicate does not affect the other messages of its frame. */
static void duplicate(void)
{
	struct fake_header h, more;
	bool sent = fresh();

	h = first(10);
	more = fake_header(&f, OUR_PORT, SINK_PORT, 20);
	more.seq = htobe64(1);
	more.flags = F_RETRANSMITTED;
	add(&more, 20, true);
	sent = sent && fake_send(&f, &h, rest, used, 0);
	ktap_ok(sent && echo_once(30),
		"hostile.rdma_joined_duplicate # sent %d, gone %d", sent,
		f.gone);
}

/* What is wrong with the second message */
enum wrong {
	CSUM,
	PAYLOAD,
	HEADER,
	MAP,
	ACK_FRAME,
	TOO_MUCH,
	NOT_SAID,
	AMID,
	NR_WRONG
};

static const char *const names[NR_WRONG] = { "csum",	  "payload",
					     "header",	  "map",
					     "ack_frame", "too_much",
					     "not_said",  "amid" };

static void bad(enum wrong what)
{
	const char *why = what == CSUM ? "bad_csum" : "bad_frame";
	long long before = drops(why);
	struct fake_header h, more;
	uint32_t len = 100;
	char name[40];
	size_t n;

	f.joins = what != NOT_SAID;
	if (!fresh())
		before = LLONG_MAX;
	if (what == AMID) {
		h = fake_header(&f, OUR_PORT, SINK_PORT, 6000);
		fake_send(&f, &h, data, FAKE_FRAG, 0);
	}
	h = first(10);
	if (what == TOO_MUCH)
		len = FAKE_FRAG + 1 - (uint32_t)(2 * sizeof(h) + 10);
	if (what == ACK_FRAME)
		len = 0;
	more = fake_header(&f, OUR_PORT, SINK_PORT, len);
	if (what == MAP)
		more.flags = F_CONG;
	if (what == ACK_FRAME)
		more.sport = more.dport = 0;
	n = what == PAYLOAD ? len - 1 : len;
	add(&more, n, what != CSUM);
	if (what == HEADER)
		used -= n + 1;
	snprintf(name, sizeof(name), "joined_%s", names[what]);
	ends(name, why, before, fake_send(&f, &h, rest, used, 0));
}

void joined(void)
{
	enum wrong what;

	f.joins = true;
	good();
	ack();
	duplicate();
	for (what = 0; what < NR_WRONG; what++)
		bad(what);
	f.joins = false;
	fake_close(&f);
}
