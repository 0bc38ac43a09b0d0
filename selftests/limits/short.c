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
#include <sys/wait.h>
#include <unistd.h>

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

/* ---- a map */

#define MAP_FAILURES	"20"
#define SMALL		512

/* A socket with a small buffer, its sender, and whether the port is congested */
static int small_tx, small_rx;
static union addr small_to;

static bool congested(void *arg)
{
	static char b[SMALL];

	(void)arg;
	return sendto(small_tx, b, sizeof(b), MSG_DONTWAIT, &small_to.sa,
		      addr_len(&small_to)) < 0 && errno == ENOBUFS;
}

/* Has the receiver acknowledged all messages, so that it owes none? */
static bool all_acked(void *arg)
{
	struct snap queued = snap(small_tx, RDS_INFO_SEND_MESSAGES);
	struct snap sent_ones = snap(small_tx, RDS_INFO_RETRANS_MESSAGES);
	bool all = !queued.n && !sent_ones.n;

	(void)arg;
	snap_free(&queued);
	snap_free(&sent_ones);
	return all;
}

/* Read all there is; have all failures been? */
static bool drained_and_failed(void *arg)
{
	char text[16] = "", c;
	FILE *f = fopen(FAILSLAB "times", "r");

	(void)arg;
	if (!f || !fgets(text, sizeof(text), f))
		die("failslab/times: %m");
	fclose(f);
	while (recv(small_rx, &c, 1, MSG_DONTWAIT) >= 0)
		;
	return atoi(text) == 0;
}

static bool sleeps(void *arg)
{
	const uint64_t *before = arg;

	return count(small_tx, "cong_send_blocked") > *before;
}

/* A process that waits for the port; its message is made when this returns. */
static pid_t begin_sleeper(void)
{
	uint64_t before = count(small_tx, "cong_send_blocked");
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %m");
	if (!pid)
		_exit(sendto(small_tx, "", 1, 0, &small_to.sa,
			     addr_len(&small_to)) == 1 ? 0 : errno);
	if (!wait_until(sleeps, &before, PATIENCE_MS * slow_factor()))
		die("nobody waits for a congested port");
	return pid;
}

/*
 * A port becomes free, and there is no memory for the message that says so,
 * MAP_FAILURES times: no other message is to be made, as none waits for an
 * acknowledgement.  The sender, which sleeps, hears of it all the same.
 */
static void map_out(void)
{
	bool full, tried;
	int status = 0;
	pid_t pid;

	full = wait_until(congested, NULL, PATIENCE_MS * slow_factor()) &&
	       wait_until(all_acked, NULL, PATIENCE_MS * slow_factor());
	pid = begin_sleeper();
	put(FAILSLAB "times", MAP_FAILURES);
	shortage("rds_message", 100);
	tried = wait_until(drained_and_failed, NULL,
			   PATIENCE_MS * slow_factor());
	shortage("rds_message", 0);
	put(FAILSLAB "times", "-1");
	ktap_ok(full && tried, "short.map_out # congested %d, failed %d", full,
		tried);
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid: %m");
	ktap_ok(!status, "short.map_comes # %s",
		strerror(WIFEXITED(status) ? WEXITSTATUS(status) : EINTR));
}

static int in_ns(const char *ns, const char *host, uint16_t port, int bytes)
{
	union addr a = addr_of(host, port);
	int fd;

	netns_enter(ns);
	fd = rds_bound(&a, 0);
	rds_buffers(fd, bytes);
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
	/* Before and after, two without any memory, three with some, the map */
	ktap_plan(2 + 2 * 2 + 3 * 2 + 2 + 1);
	tx = in_ns(argv[1], argv[2], PORT, 64 << 20);
	small_tx = in_ns(argv[1], argv[2], PORT + 1, 1 << 20);
	set_timeo(small_tx, SO_SNDTIMEO, 2 * PATIENCE_MS * slow_factor());
	rx = in_ns(argv[3], argv[4], PORT, 64 << 20);
	small_rx = in_ns(argv[3], argv[4], PORT + 1, 1);
	to = addr_of(argv[4], PORT);
	small_to = addr_of(argv[4], PORT + 1);
	prepare();
	exchange(14, "before");
	before = resets();
	receive_out();
	send_out();
	scarce("rds_incoming", "receive_scarce", false);
	/* TCP takes its buffers, and RDS its references to them, from here. */
	scarce("skbuff_head_cache", "buffers_scarce", false);
	scarce("rds_message", "send_scarce", true);
	map_out();
	exchange(70, "after");
	ktap_ok(resets() == before, "short.path_stays_up # %llu lost",
		(unsigned long long)(resets() - before));
	return ktap_exit();
}
