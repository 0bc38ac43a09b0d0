// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-hostile sink ADDR
 *   answers over RDS the messages to port 4000 of ADDR
 * rds-hostile peer ADDR PEER LARGER
 *   is a peer that breaks the rules one by one; LARGER, another address of
 *   PEER's host with a sink, is larger than ADDR. Over IPv6 the peer breaks
 *   only the rules that depend on addresses.
 *
 * The sink is an ordinary program on the module under test. It answers "drops N
 * NAME" with that line of /proc/net/rds/drops, "read N" with the status of an
 * RDMA read from the peer, "jam N" with the errno of a message to port 5001,
 * after it has read all messages at port 4001, and any other message with its
 * length and hash. The peer thus gets its results over the connection that it
 * has just misused, which shows that the connection works again. Port 4001 is
 * read at no other time.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostile.h"
#include "ktap.h"
#include "sink.h"

#define MSG_MAX		(1024 * 1024)

struct fake f;
uint8_t *data;
double slow = 1;
const char *family = "";

bool answered(const char *begin, char *answer, size_t room)
{
	bool found = false;
	uint32_t n;

	while (!found && fake_wait(&f, 10 * slow)) {
		n = ntohl(f.hdr.len);
		if (n >= room)
			n = (uint32_t)room - 1;
		memcpy(answer, f.msg, n);
		answer[n] = 0;
		found = !strncmp(answer, begin, strlen(begin));
		/* The next message may come in while this acknowledges. */
		fake_recv(&f, 0);
	}
	return found;
}

/*
 * Send a message and receive its answer, which begins with @begin; answers to
 * messages of an earlier connection may precede it. False if the connection
 * fails.
 */
static bool ask(const void *msg, uint32_t len, const char *begin, char *answer,
		size_t room)
{
	struct fake_header h = fake_header(&f, OUR_PORT, SINK_PORT, len);

	return fake_message(&f, &h, msg) && answered(begin, answer, room);
}

bool connected(void)
{
	return f.id && !f.gone ? true : fake_connect(&f, (int)(30 * slow));
}

long long drops(const char *name)
{
	static unsigned int number;
	char msg[60], begin[16], answer[80];
	int tries;

	for (tries = 0; tries < 3; tries++) {
		snprintf(msg, sizeof(msg), "drops %u %s", ++number, name);
		snprintf(begin, sizeof(begin), "%u ", number);
		if (connected() && ask(msg, (uint32_t)strlen(msg), begin,
				       answer, sizeof(answer)))
			return strstr(answer, "none") ?
				       -1 :
				       atoll(answer + strlen(begin));
		fake_close(&f);
	}
	return -2;
}

bool echo_once(uint32_t len)
{
	char answer[80], want[80];

	snprintf(want, sizeof(want), "%u %016llx", len,
		 (unsigned long long)sink_hash(data, len));
	return connected() && ask(data, len, want, answer, sizeof(answer));
}

bool echo(uint32_t len)
{
	bool good = echo_once(len);

	if (!good) {
		fake_close(&f);
		good = echo_once(len);
	}
	return good;
}

/* ---- frames */

bool fresh(void)
{
	fake_close(&f);
	return echo(10);
}

void ends(const char *name, const char *why, long long before, bool sent)
{
	bool over = fake_ends(&f, 20 * slow);
	long long after;

	fake_close(&f);
	after = drops(why);
	ktap_ok(over && before >= 0 && after > before && echo(5000),
		"hostile.rdma_%s # sent %d, ended %d, %s %lld to %lld", name, sent, over, why,
		before, after);
}

static void bad_frame(const char *name, const char *why, int how, uint32_t len,
		      size_t n, uint16_t csum)
{
	long long before = drops(why);
	struct fake_header h;

	if (!fresh())
		before = LLONG_MAX;
	h = fake_header(&f, OUR_PORT, SINK_PORT, len);
	if (how & SEND_RAW_CSUM)
		h.csum = csum;
	ends(name, why, before, fake_send(&f, &h, data, n, how));
}

/*
 * The second frame of a message differs from the first in a field that must be
 * the same.
 */
static void bad_second(const char *name, int what)
{
	long long before = drops("bad_frame");
	struct fake_header h, second;

	if (!fresh())
		before = LLONG_MAX;
	h = fake_header(&f, OUR_PORT, SINK_PORT, 6000);
	fake_send(&f, &h, data, FAKE_FRAG, 0);
	second = h;
	if (what == 0)
		second.seq = htobe64(f.seq + 1);
	else if (what == 1)
		second.len = htonl(6001);
	else if (what == 2)
		second.sport = htons(OUR_PORT + 1);
	else
		second.dport = htons(SINK_PORT + 1);
	ends(name, "bad_frame", before,
	     fake_send(&f, &second, data, 6000 - FAKE_FRAG, 0));
}

static void frames(void)
{
	bad_frame("short_header", "bad_frame", SEND_TRUNC(47), 0, 0, 0);
	bad_frame("empty_frame", "bad_frame", SEND_TRUNC(1), 0, 0, 0);
	bad_frame("bad_csum", "bad_csum", SEND_RAW_CSUM, 10, 10, 0x1234);
	bad_frame("too_long", "bad_length", 0, MSG_MAX + 1, FAKE_FRAG, 0);
	bad_frame("len_4g", "bad_length", 0, UINT32_MAX, FAKE_FRAG, 0);
	bad_frame("len_2g", "bad_length", 0, 0x80000000U, FAKE_FRAG, 0);
	bad_frame("short_payload", "bad_frame", 0, 100, 99, 0);
	bad_frame("long_payload", "bad_frame", 0, 100, 101, 0);
	bad_frame("short_fragment", "bad_frame", 0, 5000, 4000, 0);
	bad_second("second_seq", 0);
	bad_second("second_len", 1);
	bad_second("second_sport", 2);
	bad_second("second_dport", 3);
	if (!f.iwarp) {
		bad_frame("with_imm", "bad_frame", SEND_IMM, 10, 10, 0);
		bad_frame("write_imm", "bad_frame", SEND_WRITE_IMM, 0, 0, 0);
	}
}

/*
 * An acknowledgement of messages that were never sent would make the module
 * drop messages.
 */
static void acks(void)
{
	long long before = drops("bad_ack");
	struct fake_header h;
	bool sent;

	if (!fresh())
		before = LLONG_MAX;
	h = fake_header(&f, OUR_PORT, SINK_PORT, 0);
	h.ack = htobe64(1ULL << 40);
	sent = fake_send(&f, &h, NULL, 0, 0);
	ends("bad_ack", "bad_ack", before, sent);

	if (fresh()) {
		h = fake_header(&f, OUR_PORT, 4999, 0);
		h.flags = F_ACK_REQUIRED;
		ktap_ok(fake_send(&f, &h, NULL, 0, 0) &&
				fake_acked(&f, f.seq, 10 * slow),
			"hostile.rdma_ack_required # acked %llu of %llu",
			(unsigned long long)f.acked, (unsigned long long)f.seq);
	} else {
		ktap_ok(false, "hostile.rdma_ack_required # no connection");
	}
}

/* A map of a length other than 8192 bytes ends the connection. */
static void bad_map(void)
{
	long long before = drops("bad_map");
	struct fake_header h;

	if (!fresh())
		before = LLONG_MAX;
	h = fake_header(&f, 0, 0, 100);
	h.seq = 0;
	h.flags = F_CONG;
	ends("map_length", "bad_map", before, fake_send(&f, &h, data, 100, 0));
}

/* Duplicates and messages to unbound ports must not end a connection. */
static void harmless(void)
{
	struct fake_header h;
	bool good = fresh();

	h = fake_header(&f, OUR_PORT, 4999, 10);
	h.csum = 0;
	good = good && fake_send(&f, &h, data, 10, SEND_RAW_CSUM) &&
	       echo_once(20);
	ktap_ok(good, "hostile.rdma_no_csum # gone %d, credits %u", f.gone,
		f.may_send);
	good = fresh();
	h = fake_header(&f, OUR_PORT, SINK_PORT, 10);
	h.seq = htobe64(1);
	h.flags = F_RETRANSMITTED;
	good = good && fake_send(&f, &h, data, 10, 0);
	ktap_ok(good && echo_once(20), "hostile.rdma_duplicate # gone %d",
		f.gone);
	ktap_ok(echo_once(MSG_MAX),
		"hostile.rdma_large # gone %d, credits %u, acked %llu of %llu",
		f.gone, f.may_send, (unsigned long long)f.acked,
		(unsigned long long)f.seq);
}

/* The connection ends in the middle of a message. */
static void half(void)
{
	struct fake_header h;
	int i;
	bool good = true;

	for (i = 0; i < 20 && good; i++) {
		good = fresh();
		h = fake_header(&f, OUR_PORT, SINK_PORT, 100000);
		good = good && fake_send(&f, &h, data, FAKE_FRAG, 0);
		fake_close(&f);
	}
	ktap_ok(good && echo(100000), "hostile.rdma_half_message%s # round %d",
		family, i);
}

/* A peer that accepts no READs: a READ posted to it would never complete. */
static void no_reads(void)
{
	struct fake_header h;
	char answer[80] = "";
	bool told, ended;
	int i;

	f.no_reads = true;
	told = fresh() && ask("read 77", 7, "77 ", answer, sizeof(answer));
	/* A READ that was posted would wait, and the connection would stay. */
	ended = told || f.gone;
	for (i = 0; i < 3 && !told; i++) {
		/*
		 * The connection ends with the operation that cannot be done.
		 * The answer comes over the next connection; on iWARP only
		 * after this end has sent a frame, here a message to an unbound
		 * port.
		 */
		fake_close(&f);
		told = connected();
		h = fake_header(&f, OUR_PORT, 4999, 10);
		told = told && fake_send(&f, &h, data, 10, 0) &&
		       answered("77 ", answer, sizeof(answer));
	}
	ktap_ok(ended && told && atoi(answer + 3) > 0,
		"hostile.rdma_no_reads%s # %s, connection %s", family, answer,
		ended ? "ended" : "left");
	f.no_reads = false;
	ktap_ok(fresh(), "hostile.rdma_no_reads_after%s", family);
}

/*
 * Fill the port that is not read; a map of the module would come before the
 * answer.
 */
static bool jam(void)
{
	struct fake_header h;
	int i;

	for (i = 0; i < 16; i++) {
		h = fake_header(&f, OUR_PORT, JAM_PORT, 1000);
		if (!fake_send(&f, &h, data, 1000, 0))
			return false;
	}
	return echo_once(30);
}

/*
 * Send a map in which OUR_OTHER_PORT is congested, or not; return the errno of
 * the sink's message to that port.
 */
static int send_to_other(bool congested)
{
	static unsigned int number;
	static uint8_t map[FAKE_MAP];
	struct fake_header h = { .len = htonl(sizeof(map)), .flags = F_CONG };
	char msg[20], begin[20], answer[80];

	map[OUR_OTHER_PORT / 8] = (uint8_t)(congested << OUR_OTHER_PORT % 8);
	snprintf(msg, sizeof(msg), "jam %u", ++number);
	snprintf(begin, sizeof(begin), "%u ", number);
	if (!fake_message(&f, &h, map) ||
	    !ask(msg, (uint32_t)strlen(msg), begin, answer, sizeof(answer)))
		return -1;
	return atoi(answer + strlen(begin));
}

/*
 * A peer that names the module's own generation number is in the module's own
 * namespace, whose ports the module knows: it sends no map and ignores those of
 * the peer. The address may belong to another host later.
 */
static void own_generation(void)
{
	bool told;
	int got;

	f.gen = fresh() ? f.reply.gen : 0;
	told = f.gen && fresh() && jam() && !fake_congested(&f, JAM_PORT);
	got = told ? send_to_other(true) : -1;
	ktap_ok(told && !got,
		"hostile.rdma_own_gen%s # named %d, no map %d, errno %d",
		family, !!f.gen, told, got);
	f.gen = 0;
	told = fresh() && jam() && fake_congested(&f, JAM_PORT);
	got = told ? send_to_other(true) : -1;
	ktap_ok(told && got == ENOBUFS && !send_to_other(false),
		"hostile.rdma_own_gen_ends%s # map %d, errno %d", family, told,
		got);
}

static const char *own, *above;

static void both_dial(void)
{
	crossing(own, above);
}

/*
 * The tests, with their results on any device, and more on one of a kind; do
 * they depend on addresses?
 */
static const struct part {
	void (*run)(void);
	int any, iwarp, roce;
	bool v6;
} parts[] = {
	{ requests, 12, 1, 0, true },
	{ replies, 3, 1, 0, true },
	{ both_dial, 1, 0, 0, true },
	{ frames, 13, 0, 2, false },
	{ acks, 2, 0, 0, false },
	{ credits, 0, 2, 0, false },
	{ bad_map, 1, 0, 0, false },
	{ joined, 11, 0, 0, false },
	{ handshake, 3, 0, 0, false },
	{ harmless, 3, 0, 0, false },
	{ half, 1, 0, 0, true },
	{ no_reads, 2, 0, 0, true },
	{ own_generation, 2, 0, 0, true },
};

#define NR_PARTS	(sizeof(parts) / sizeof(parts[0]))

static bool runs(const struct part *part)
{
	return part->v6 || !fake_v6(&f);
}

static int planned(void)
{
	int sum = 0;

	for (size_t i = 0; i < NR_PARTS; i++) {
		if (runs(&parts[i]))
			sum += parts[i].any +
			       (f.iwarp ? parts[i].iwarp : parts[i].roce);
	}
	return sum;
}

static int peer(const char *self, const char *other, const char *larger)
{
	struct fake_header h;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	/*
	 * siw sends over TCP within calls of this program, and a connection
	 * that the module has reset raises the signal.
	 */
	signal(SIGPIPE, SIG_IGN);
	if (getenv("RDS_SLOW"))
		slow = atof(getenv("RDS_SLOW"));
	data = malloc(MSG_MAX + FAKE_FRAG);
	if (!data)
		return 2;
	for (i = 0; i < MSG_MAX + FAKE_FRAG; i++)
		data[i] = (uint8_t)(i * 2654435761U >> 13);
	fake_init(&f, self, other);
	if (fake_v6(&f))
		family = ".v6";
	own = self;
	above = larger;
	ktap_plan(planned());
	for (i = 0; i < NR_PARTS; i++) {
		if (runs(&parts[i]))
			parts[i].run();
	}
	if (connected()) {
		h = fake_header(&f, OUR_PORT, SINK_PORT, 4);
		fake_message(&f, &h, "stop");
	}
	fake_close(&f);
	return ktap_exit();
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "sink"))
		return sink(argv[2]);
	if (argc == 5 && !strcmp(argv[1], "peer"))
		return peer(argv[2], argv[3], argv[4]);
	fprintf(stderr,
		"usage: rds-hostile sink ADDR | peer ADDR PEER LARGER\n");
	return 2;
}
