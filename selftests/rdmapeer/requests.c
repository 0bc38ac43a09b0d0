// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Private data of requests and replies, correct and not */
#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "hostile.h"
#include "ktap.h"
#include "sink.h"

static bool begins(const char *begin)
{
	return ntohl(f.hdr.len) >= strlen(begin) &&
	       !memcmp(f.msg, begin, strlen(begin));
}

/*
 * Wait for a message that begins with @begin, and do not acknowledge it. Those
 * before it, which the module may send again on a new connection, are.
 */
static bool answer_waits(const char *begin)
{
	while (fake_wait(&f, 10 * slow)) {
		if (begins(begin))
			return true;
		fake_recv(&f, 0);
	}
	return false;
}

/* A request with the first @bytes of @pd is refused; NULL: correct data. */
static void refused_short(const char *name, const struct fake_private *pd,
			  unsigned int bytes)
{
	long long before = drops("bad_private_data"), after;
	enum fake_result res;
	bool told;

	f.pd_bytes = bytes;
	res = fake_open(&f, pd);
	f.pd_bytes = sizeof(*pd);
	/* Over TCP the end of the connection may overtake the reject. */
	told = f.reject == 1 || (f.iwarp && f.reject == INT_MIN);
	fake_close(&f);
	after = drops("bad_private_data");
	ktap_ok(res == FAKE_REJECTED && before >= 0 && after > before && told,
		"hostile.rdma_pd_%s%s # result %d, body %d, counted %lld", name, family, res,
		f.reject, after - before);
}

static void refused(const char *name, const struct fake_private *pd)
{
	refused_short(name, pd, sizeof(*pd));
}

static void accepted(const char *name, struct fake_private *pd,
		     unsigned int major, unsigned int minor)
{
	double end = fake_now() + 30 * slow;
	struct fake_private own;
	enum fake_result res;

	fake_private(&f, &own);
	/*
	 * The module may be dialling this peer at the same time, and its
	 * attempt may win: retry.
	 */
	do {
		res = fake_open(&f, pd);
	} while (res != FAKE_UP && fake_now() < end);
	ktap_ok(res == FAKE_UP && f.reply.major == major &&
			f.reply.minor == minor &&
			!memcmp(f.reply.saddr, own.daddr, 16) &&
			!memcmp(f.reply.daddr, own.saddr, 16) && echo(100),
		"hostile.rdma_pd_%s%s # result %d, version %u.%u", name, family,
		res, f.reply.major, f.reply.minor);
}

/*
 * The byte of an address that is wrong: of an IPv6 address one of the prefix,
 * so that all bytes have to be compared.
 */
static unsigned int wrong_byte(void)
{
	return fake_v6(&f) ? 2 : 14;
}

void requests(void)
{
	unsigned int addresses = fake_v6(&f) ? 32 : 8;
	struct fake_private pd, good;

	ktap_ok(echo(0) && echo(1), "hostile.rdma_first_echo%s", family);
	fake_private(&f, &good);
	refused_short("none", NULL, 0);
	refused_short("half_address", NULL, addresses * 3 / 4);
	pd = good;
	pd.saddr[wrong_byte()] ^= 3;
	refused("source", &pd);
	pd = good;
	pd.daddr[wrong_byte()] ^= 3;
	refused("destination", &pd);
	pd = good;
	pd.minor = 0;
	refused("v3_0", &pd);
	pd.major = 5;
	refused("v5_0", &pd);
	pd.major = 4;
	pd.mask = htons(0x10);
	refused("no_common_minor", &pd);
	if (f.iwarp) {
		pd = good;
		pd.credit = 0;
		refused("no_credit", &pd);
	}
	pd = good;
	accepted("v3_1", &pd, 3, 1);
	pd.major = 4;
	accepted("v4_1", &pd, 4, 1);
	pd.mask = htons(1);
	accepted("v4_0", &pd, 4, 0);
	/* Missing bytes count as zeros: version 4.0, and no credits. */
	if (f.iwarp) {
		refused_short("addresses_only", NULL, addresses);
		return;
	}
	f.pd_bytes = addresses;
	accepted("addresses_only", NULL, 4, 0);
	f.pd_bytes = sizeof(struct fake_private);
}

/* ---- replies */

/*
 * Accept the module's connections until one brings the answer: the module may
 * have given up the one that waited here, or siw may leave the answer unread.
 * Returns how many were accepted, with a minus sign if the last one neither
 * ended nor brought the answer.
 */
static int answer_comes(const char *want)
{
	double end = fake_now() + 30 * slow;
	char answer[80];
	int tries = 0;

	while (fake_now() < end && fake_accept(&f, NULL, end - fake_now())) {
		tries++;
		if (answered(want, answer, sizeof(answer)))
			return tries;
		if (!f.gone && !fake_unread(&f))
			break;
	}
	return -tries;
}

/*
 * The module ends a connection that is not up after 10 s.  There siw
 * may leave the first frame unread, if it comes before the queue pair is ready.
 */
#define SETUP_S		9

/*
 * Have the module send an answer that waits, behind which the connection ends.
 * Returns what failed, or NULL; @seconds is how long the module took for it.
 */
static const char *ask_once(const char *want, double *seconds)
{
	struct fake_header h;
	const char *bad = NULL;
	double begin;

	*seconds = 0;
	fake_close(&f);
	if (!connected())
		return "connect";
	begin = fake_now();
	h = fake_header(&f, OUR_PORT, SINK_PORT, 40);
	if (!fake_message(&f, &h, data))
		bad = "send";
	else if (!answer_waits(want))
		bad = f.gone ? "end" : "no answer";
	else if (!fake_listen(&f))
		bad = "listen";
	*seconds = fake_now() - begin;
	fake_close(&f);
	return bad;
}

/* As ask_once(), and again if siw left the frame unread. */
static const char *ask_and_leave(const char *want)
{
	const char *bad;
	double seconds;
	int tries = 0;

	for (;;) {
		bad = ask_once(want, &seconds);
		if (!bad || !f.iwarp || seconds < SETUP_S || ++tries == 3)
			return bad;
		printf("# %s after %.1f s: the module is asked again\n", bad,
		       seconds);
	}
}

/*
 * The module has an answer to send and dials. It must not accept a reply with
 * wrong private data, must dial again, and then the answer must arrive.
 */
static void bad_reply(const char *name, struct fake_private *pd)
{
	long long before = drops("bad_private_data"), after;
	const char *bad;
	bool told = false;
	char want[80];
	int tries = 0;

	snprintf(want, sizeof(want), "40 %016llx",
		 (unsigned long long)sink_hash(data, 40));
	bad = ask_and_leave(want);
	if (!bad)
		told = fake_accept(&f, pd, 30 * slow) &&
		       fake_ends(&f, 20 * slow);
	if (told)
		tries = answer_comes(want);
	fake_unlisten(&f);
	after = drops("bad_private_data");
	ktap_ok(!bad && told && tries > 0 && before >= 0 && after > before,
		"hostile.rdma_reply_%s%s # asked: %s, ended %d, answered at try %d, counted %lld", name,
		family, bad ?: "yes", told, tries, after - before);
}

void replies(void)
{
	struct fake_private pd, good;

	fake_private(&f, &good);
	pd = good;
	pd.saddr[wrong_byte()] ^= 3;
	bad_reply("source", &pd);
	pd = good;
	pd.daddr[wrong_byte()] ^= 3;
	bad_reply("destination", &pd);
	pd = good;
	pd.major = 2;
	bad_reply("version", &pd);
	if (f.iwarp) {
		pd = good;
		pd.credit = 0;
		bad_reply("no_credit", &pd);
	}
}
