// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Both ends dial at once, and the module's address is the larger one: the
 * module's attempt wins, and the peer's attempt is rejected, but only once. The
 * peer could have accepted the module's attempt, so a second attempt of the
 * peer means that the module's was lost.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "hostile.h"
#include "ktap.h"
#include "sink.h"

#define LEN	50

/*
 * Leave the module with an answer that it can send only over a connection that
 * it opens.
 */
static bool makes_it_dial(struct fake *in, struct fake *out)
{
	struct fake_header h;
	bool good;

	good = fake_connect(out, (int)(30 * slow));
	h = fake_header(out, OUR_PORT, SINK_PORT, LEN);
	good = good && fake_message(out, &h, data) && fake_wait(out, 10 * slow);
	fake_close(out);
	return good && fake_request(in, 20 * slow);
}

/*
 * Wait for the answer. On iWARP it arrives only after the side that dialled has
 * sent a frame, here a message to an unbound port.
 */
static bool answer_comes(struct fake *out)
{
	struct fake_header h = fake_header(out, OUR_PORT, 4999, LEN);
	char want[80];

	if (!fake_send(out, &h, data, LEN, 0))
		return false;
	snprintf(want, sizeof(want), "%u %016llx", LEN,
		 (unsigned long long)sink_hash(data, LEN));
	return fake_recv(out, 10 * slow) &&
	       ntohl(out->hdr.len) == strlen(want) &&
	       !memcmp(out->msg, want, strlen(want));
}

void crossing(const char *self, const char *larger)
{
	static struct fake in, out;
	enum fake_result first = FAKE_ERROR, second = FAKE_ERROR;
	long long before = drops("crossed_attempt"), after;
	bool dialled = true, listens, same = false;
	int tries = 0;

	fake_init(&in, self, larger);
	fake_init(&out, self, larger);
	listens = fake_listen(&in);
	/*
	 * The module takes an attempt one second old for lost, and a slow
	 * machine may need that long: try again.
	 */
	while (listens && dialled && first != FAKE_REJECTED && tries++ < 5) {
		dialled = makes_it_dial(&in, &out);
		first = dialled ? fake_open(&out, NULL) : FAKE_ERROR;
		if (first == FAKE_REJECTED)
			second = fake_open(&out, NULL);
		if (second == FAKE_UP)
			same = answer_comes(&out);
		fake_close(&out);
		fake_close(&in);
	}
	fake_unlisten(&in);
	after = drops("crossed_attempt");
	ktap_ok(dialled && first == FAKE_REJECTED && second == FAKE_UP &&
			same && before >= 0 && after == before + 1,
		"hostile.rdma_crossing%s # dialled %d, results %d, %d, answered %d, counted %lld, %d tries",
		family, dialled, first, second, same, after - before, tries);
}
