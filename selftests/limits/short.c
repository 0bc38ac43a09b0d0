// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-short NS_A ADDR_A NS_B ADDR_B: messages from A to B over TCP while the
 * kernel is short of memory. The kernel's fault injection makes allocations
 * from single caches fail: all of them, until the shortage has been noticed, or
 * some of them during a whole exchange.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdstest.h"

#define FAILSLAB	"/sys/kernel/debug/failslab/"
#define PORT		4400
#define SOME		30	/* per cent of the allocations that fail */
#define PATIENCE_MS	15000L
#define REFUSALS	20	/* of a send, or retries of a receiver */

/*
 * Lengths on both sides of each limit: payload in the message's own memory, in
 * a buffer, and in TCP's buffers, more of it than a TCP window has.
 */
static const size_t lengths[] = { 8, 128, 129, 2048, 2049, 20000, 300000 };

static int tx, rx;
static union addr to;
static uint8_t buf[300000];

/* Numbers of messages sent, to be sent and received; sends without memory */
static uint32_t sent, want, got;
static unsigned int refused;
static char wrong[80];

static size_t len_of(uint32_t n)
{
	return lengths[n % (sizeof(lengths) / sizeof(lengths[0]))];
}

/* Send the next message; false if it is to be tried again. */
static bool send_one(void)
{
	size_t len = len_of(sent);
	ssize_t n;

	fill(buf, len, sent);
	memcpy(buf, &sent, sizeof(sent));
	n = sendto(tx, buf, len, MSG_DONTWAIT, &to.sa, addr_len(&to));
	if (n == (ssize_t)len) {
		sent++;
		return true;
	}
	if (n >= 0 || (errno != ENOMEM && errno != EAGAIN))
		die("send of %zu bytes: %zd, %m", len, n);
	refused += errno == ENOMEM;
	return false;
}

/* Receive and check one message; false if there is none. */
static bool take_one(void)
{
	ssize_t n = recv(rx, buf, sizeof(buf), MSG_DONTWAIT);
	static uint8_t same[sizeof(buf)];
	uint32_t number = UINT32_MAX;
	size_t len = len_of(got);

	if (n < 0 && errno == EAGAIN)
		return false;
	if (n < 0)
		die("recv: %m");
	memcpy(&number, buf, (size_t)n < sizeof(number) ? 0 : sizeof(number));
	fill(same, len, got);
	memcpy(same, &got, sizeof(got));
	if (!*wrong && number != got)
		snprintf(wrong, sizeof(wrong), "wanted message %u, got %u", got,
			 number);
	else if (!*wrong && (n != (ssize_t)len || memcmp(buf, same, len)))
		snprintf(wrong, sizeof(wrong),
			 "message %u was damaged: %zd of %zu bytes", got, n,
			 len);
	got++;
	return true;
}

/* Send and receive what is possible now; is that everything? */
static bool exchanged(void *arg)
{
	(void)arg;
	while (sent < want && send_one())
		;
	while (take_one())
		;
	return sent == want && got >= want;
}

static uint64_t count(int fd, const char *name)
{
	uint64_t v = 0;

	if (!counter_read(fd, name, &v))
		die("no counter %s", name);
	return v;
}

static uint64_t resets(void)
{
	return count(tx, "conn_reset") + count(rx, "conn_reset");
}

/* ---- the shortage */

static void put(const char *file, const char *text)
{
	if (!file_write(file, text))
		die("%s: %m", file);
}

/* Let this share of the allocations from a cache fail; 0 ends it. */
static void shortage(const char *cache, int percent)
{
	char file[128], text[16];

	snprintf(file, sizeof(file), "/sys/kernel/slab/%s/failslab", cache);
	snprintf(text, sizeof(text), "%d", percent);
	put(FAILSLAB "probability", "0");
	put(file, percent ? "1" : "0");
	put(FAILSLAB "probability", text);
}

/* Atomic allocations are not the only ones that fail, and none is logged. */
static void prepare(void)
{
	put(FAILSLAB "cache-filter", "Y");
	put(FAILSLAB "ignore-gfp-wait", "N");
	put(FAILSLAB "interval", "1");
	put(FAILSLAB "times", "-1");
	put(FAILSLAB "space", "0");
	put(FAILSLAB "verbose", "0");
}

/* ---- the tests */

/* Send @n messages more; the result says whether each came, once, in order. */
static void exchange(uint32_t n, const char *name)
{
	uint32_t first = got;
	bool all;

	want += n;
	all = wait_until(exchanged, NULL, PATIENCE_MS * slow_factor());
	if (!*wrong && got != want)
		snprintf(wrong, sizeof(wrong), "%u of %u messages %s",
			 got < want ? want - got : got - want, want - first,
			 got < want ? "were lost" : "doubled");
	ktap_ok(all && !*wrong, "short.%s%s%s", name, *wrong ? " # " : "",
		wrong);
	*wrong = 0;
	sent = want;
	got = want;
}

struct retries {
	uint64_t more_than;
};

static bool retried(void *arg)
{
	struct retries *r = arg;

	return count(rx, "recv_delayed_retry") > r->more_than;
}

/* The receiver has no memory at all: no message comes, and none is lost. */
static void receive_out(void)
{
	struct retries r = { count(rx, "recv_delayed_retry") + REFUSALS };
	uint32_t before = got;
	bool tried;

	shortage("rds_incoming", 100);
	want += 14;
	exchanged(NULL);
	tried = wait_until(retried, &r, PATIENCE_MS * slow_factor());
	ktap_ok(tried && !take_one() && got == before,
		"short.receive_out # retried %d, %u messages", tried,
		got - before);
	shortage("rds_incoming", 0);
	exchange(14, "receive_out_none_lost");
}

/* The sender has none: sendmsg() says so, and the messages come later. */
static void send_out(void)
{
	unsigned int before = refused, i;

	shortage("rds_message", 100);
	for (i = 0; i < REFUSALS && !send_one(); i++)
		;
	ktap_ok(refused - before == REFUSALS && !take_one(),
		"short.send_out # %u of %u sends refused", refused - before,
		REFUSALS);
	shortage("rds_message", 0);
	exchange(14, "send_out_none_lost");
}

/* Some allocations fail during a whole exchange. */
static void scarce(const char *cache, const char *name, bool sender)
{
	uint64_t delayed = count(rx, "recv_delayed_retry");
	unsigned int before = refused;
	char label[64];

	shortage(cache, SOME);
	snprintf(label, sizeof(label), "%s_none_lost", name);
	exchange(210, label);
	shortage(cache, 0);
	delayed = count(rx, "recv_delayed_retry") - delayed;
	before = refused - before;
	ktap_ok(sender ? before > 0 : delayed > 0,
		"short.%s # %u sends refused, %llu retries of the receiver",
		name, before, (unsigned long long)delayed);
}

static int in_ns(const char *ns, const char *host)
{
	union addr a = addr_of(host, PORT);
	int fd;

	netns_enter(ns);
	fd = rds_bound(&a, 0);
	rds_buffers(fd, 64 << 20);
	return fd;
}

int main(int argc, char **argv)
{
	uint64_t before;

	if (argc != 5) {
		fprintf(stderr, "usage: rds-short NS_A ADDR_A NS_B ADDR_B\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* Before and after, two without any memory, three with some */
	ktap_plan(2 + 2 * 2 + 3 * 2 + 1);
	tx = in_ns(argv[1], argv[2]);
	rx = in_ns(argv[3], argv[4]);
	to = addr_of(argv[4], PORT);
	prepare();
	exchange(14, "before");
	before = resets();
	receive_out();
	send_out();
	scarce("rds_incoming", "receive_scarce", false);
	/* TCP takes its buffers, and RDS its references to them, from here. */
	scarce("skbuff_head_cache", "buffers_scarce", false);
	scarce("rds_message", "send_scarce", true);
	exchange(70, "after");
	ktap_ok(resets() == before, "short.path_stays_up # %llu lost",
		(unsigned long long)(resets() - before));
	return ktap_exit();
}
