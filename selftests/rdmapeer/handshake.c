// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Handshakes are for TCP only. Over RDMA there is one path between two
 * addresses, and the private data carry all parameters: no element of a
 * handshake is sent, and none takes effect.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <string.h>

#include "hostile.h"
#include "ktap.h"
#include "sink.h"

#define PING_PORT	0
#define PROBE_PORT	1

/* NPATHS 8, GEN_NUM, SPORT_IDX */
static const uint8_t elements[16] = { 5, 0, 8, 6, 0xde, 0xad, 0xbe, 0xef, 8, 0 };

/* Number of the module's messages that have extension headers */
static unsigned int with_elements;

static void look(struct fake *p)
{
	static const uint8_t none[16];

	if (memcmp(p->hdr.ext, none, sizeof(none)))
		with_elements++;
}

/* Wait for the module's answer to a ping; false if it does not come in time. */
static bool pong(void)
{
	while (fake_recv(&f, 10 * slow))
		if (f.hdr.sport == htons(PING_PORT) &&
		    f.hdr.dport == htons(PROBE_PORT))
			return !f.hdr.len;
	return false;
}

/*
 * Send a message in the form of a handshake; the module's sequence numbers must
 * continue as before.
 */
static bool numbers_go_on(uint16_t sport, uint16_t dport, bool answered)
{
	struct fake_header h;
	uint64_t before;

	if (!echo_once(10))
		return false;
	before = be64toh(f.hdr.seq);
	h = fake_header(&f, sport, dport, 0);
	memcpy(h.ext, elements, sizeof(elements));
	if (!fake_send(&f, &h, NULL, 0, 0) || (answered && !pong()))
		return false;
	return echo_once(20) && be64toh(f.hdr.seq) == before + 1 + answered;
}

void handshake(void)
{
	long long before, after;
	bool good;

	with_elements = 0;
	f.heard = look;
	good = fresh() && numbers_go_on(PROBE_PORT, PING_PORT, true);
	ktap_ok(good, "hostile.rdma_handshake_ping # gone %d, number %llu",
		f.gone, (unsigned long long)be64toh(f.hdr.seq));
	before = drops("no_socket");
	good = numbers_go_on(PING_PORT, PROBE_PORT, false);
	after = drops("no_socket");
	ktap_ok(good && after == before + 1,
		"hostile.rdma_handshake_pong # gone %d, nobody's %lld to %lld",
		f.gone, before, after);
	good = fresh();
	f.heard = NULL;
	/* A handshake would have come over the first connection of all. */
	ktap_ok(good && !f.probes && !with_elements,
		"hostile.rdma_handshake_unsent # %u probes, %u with elements",
		f.probes, with_elements);
}
