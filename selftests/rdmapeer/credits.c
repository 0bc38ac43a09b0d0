// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Credits, on devices that do not retry a frame for which there is no receive
 * (iWARP): the peer breaks the rules of credits, and the module must obey them.
 */
#include <arpa/inet.h>
#include <string.h>

#include "hostile.h"
#include "ktap.h"
#include "sink.h"

#define NOBODYS_PORT	4999
#define FEW		6	/* receives that the module is told of */
#define ASKED		8	/* messages to answer: all it accepts */
#define WINDOW_S	0.5

static unsigned int answers;

static void count_answer(struct fake *p)
{
	answers += p->hdr.sport == htons(SINK_PORT);
}

/*
 * Open a connection over which the module may send FEW frames until the peer
 * grants more.
 */
static bool connect_few(void)
{
	double end = fake_now() + 30 * slow;
	struct fake_private pd;
	enum fake_result res;

	fake_private(&f, &pd);
	pd.credit = htonl(FEW);
	do {
		res = fake_open(&f, &pd);
	} while (res != FAKE_UP && fake_now() < end);
	return res == FAKE_UP;
}

static bool ask_all(void)
{
	struct fake_header h;
	bool sent = true;

	for (int i = 0; i < ASKED && sent; i++) {
		h = fake_header(&f, OUR_PORT, SINK_PORT, 10);
		sent = fake_send(&f, &h, data, 10, 0);
	}
	return sent;
}

/*
 * The module has more frames to send than credits: a map of two frames, then
 * the answers. It must use its credits, except one that it keeps to grant
 * credits itself, hold back the other frames, and send them when it is granted
 * more.
 */
static void kept(void)
{
	unsigned int before, few;
	bool up, sent;

	answers = 0;
	f.heard = count_answer;
	f.withholds = true;
	up = connect_few();
	sent = up && ask_all();
	fake_idle(&f, FEW - 1, 10 * slow);
	fake_idle(&f, FEW + 1, WINDOW_S * slow);
	few = f.frames;
	before = answers;
	f.withholds = false;
	while (sent && answers < ASKED && fake_recv(&f, 10 * slow))
		;
	f.heard = NULL;
	printf("# credits: up %d, sent %d, ended %d\n", up, sent, f.gone);
	ktap_ok(sent && (few == FEW || few == FEW - 1) && before < ASKED &&
			answers == ASKED,
		"hostile.rdma_credits_kept # %u frames of %u, then %u, at last %u of %u answers",
		few, FEW, before, answers, ASKED);
}

/*
 * Send bursts until the connection ends: a module that is faster than this end
 * posts receives again before they run out, and all frames of a burst arrive.
 */
static unsigned int send_too_many(void)
{
	double end = fake_now() + 20 * slow;
	unsigned int n, sent = 0;

	do {
		n = fake_burst(&f, OUR_PORT, NOBODYS_PORT, FAKE_BURST);
		sent += n;
	} while (n == FAKE_BURST && !f.gone && fake_now() < end);
	return sent;
}

/*
 * The connections whose end the device reported. It reports no event of a queue
 * pair when it finds no receive: the CM says that the connection is over, and
 * what the module posts fails or is flushed. The first of these is counted.
 */
static long long ended(void)
{
	long long terminated = drops("terminated"), closed = drops("peer_closed");

	printf("# credits: terminated %lld, peer_closed %lld\n", terminated, closed);
	return terminated < 0 || closed < 0 ? -1 : terminated + closed;
}

/*
 * More frames than the module granted, sent at once: the device finds no
 * receive for one of them, which ends the connection. The module must count
 * that, in whichever way the device tells of it, and accept a new connection.
 */
static void overrun(void)
{
	/* The count must not include the end of the connection before. */
	long long before = fresh() ? ended() : -1, after;
	unsigned int n = before < 0 ? 0 : send_too_many();
	bool over = fake_ends(&f, 20 * slow);

	fake_close(&f);
	after = ended();
	ktap_ok(n && over && before >= 0 && after > before && echo(5000),
		"hostile.rdma_credits # sent %u, ended %d, counted %lld to %lld",
		n, over, before, after);
}

void credits(void)
{
	/*
	 * RoCE has no credits: the device retransmits a frame for which there
	 * is no receive.
	 */
	if (!f.iwarp)
		return;
	kept();
	overrun();
}
