// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Addresses, patterns, counters and other helpers of both ends. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rt.h"

uint64_t mix64(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

bool rt_addr_parse(struct rt_addr *a, const char *text)
{
	union addr parsed;

	memset(a, 0, sizeof(*a));
	if (!addr_parse(&parsed, text, 0))
		return false;
	a->ss = parsed.ss;
	a->len = addr_len(&parsed);
	return true;
}

void rt_addr_port(struct rt_addr *a, uint16_t port)
{
	union addr with = { .ss = a->ss };

	addr_set_port(&with, port);
	a->ss = with.ss;
}

static struct in6_addr addr_in6(const struct rt_addr *a)
{
	const struct sockaddr_in *in4 = (const struct sockaddr_in *)&a->ss;
	struct in6_addr in6 = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

	if (a->ss.ss_family == AF_INET6)
		return ((const struct sockaddr_in6 *)&a->ss)->sin6_addr;
	memcpy(&in6.s6_addr[12], &in4->sin_addr, 4);
	return in6;
}

static uint8_t pattern_byte(uint64_t seed, uint64_t pos)
{
	return (uint8_t)(mix64(seed * 0x10001 + (pos >> 3)) >> (8 * (pos & 7)));
}

/* Fill with bytes that follow from @seed and @pos; seed 0 gives zeros. */
void pattern(uint8_t *p, size_t len, uint64_t seed, uint64_t pos)
{
	size_t i = 0;

	if (!seed) {
		memset(p, 0, len);
		return;
	}
	while (i < len && ((pos + i) & 7)) {
		p[i] = pattern_byte(seed, pos + i);
		i++;
	}
	for (; i + 8 <= len; i += 8) {
		uint64_t w = mix64(seed * 0x10001 + ((pos + i) >> 3));

		memcpy(p + i, &w, 8);
	}
	for (; i < len; i++)
		p[i] = pattern_byte(seed, pos + i);
}

/*
 * Return 0 if the bytes are those of pattern(), else the offset of the first
 * wrong byte plus one.
 */
size_t pattern_diff(const uint8_t *p, size_t len, uint64_t seed, uint64_t pos)
{
	static __thread uint8_t want[4096];
	size_t at, n, i;

	for (at = 0; at < len; at += n) {
		n = len - at < sizeof(want) ? len - at : sizeof(want);
		pattern(want, n, seed, pos + at);
		if (!memcmp(p + at, want, n))
			continue;
		for (i = 0; p[at + i] == want[i]; i++)
			;
		return at + i + 1;
	}
	return 0;
}

/*
 * Value of a counter of this machine's RDS by its name; -1 if there is no
 * counter of that name.
 */
long counter(const char *name)
{
	int fd = socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	uint64_t value;
	bool found = fd >= 0 && counter_read(fd, name, &value);

	close(fd);
	return found ? (long)value : -1;
}

/* Factor for time limits, from RDS_SLOW; at least 1 */
unsigned int rt_slow(void)
{
	const char *slow = getenv("RDS_SLOW");

	return slow && atoi(slow) > 0 ? (unsigned int)atoi(slow) : 1;
}

/* Value of a reason in /proc/net/rds/drops, or -1 */
long drops(const char *name)
{
	FILE *f = fopen("/proc/net/rds/drops", "r");
	char key[64];
	long v, found = -1;

	while (f && fscanf(f, "%63s %ld", key, &v) == 2)
		if (!strcmp(key, name))
			found = v;
	if (f)
		fclose(f);
	return found;
}

/* Pages that are pinned now, on the whole machine. */
long pins(void)
{
	int refresh = open("/proc/sys/vm/stat_refresh", O_WRONLY);
	long a = 0, r = 0, v;
	char name[64];
	FILE *f;

	/* Each CPU counts for itself and adds to the sum now and then. */
	if (refresh >= 0) {
		if (write(refresh, "1", 1) != 1)
			perror("stat_refresh");
		close(refresh);
	}
	f = fopen("/proc/vmstat", "r");

	while (f && fscanf(f, "%63s %ld", name, &v) == 2) {
		if (!strcmp(name, "nr_foll_pin_acquired"))
			a = v;
		if (!strcmp(name, "nr_foll_pin_released"))
			r = v;
	}
	if (f)
		fclose(f);
	return a - r;
}

int run_shell(const char *cmd)
{
	int rc = system(cmd);

	return rc ? EIO : 0;
}

/* Number of messages from @port that are unacknowledged */
unsigned int unacked_from(const struct rt *r, uint16_t port)
{
	static struct rds6_info_message rec[1024];
	socklen_t len = sizeof(rec);
	unsigned int found = 0;
	size_t i;

	if (getsockopt(r->fd, SOL_RDS, RDS6_INFO_RETRANS_MESSAGES, rec, &len) <
	    0)
		return errno == ENOSPC ? sizeof(rec) / sizeof(rec[0]) : 0;
	for (i = 0; i < len / sizeof(rec[0]); i++)
		found += ntohs(rec[i].lport) == port;
	return found;
}

/* Is the connection to the peer up? */
bool connected(const struct rt *r)
{
	static struct rds6_info_connection rec[256];
	socklen_t len = sizeof(rec);
	struct in6_addr self = addr_in6(&r->self), peer = addr_in6(&r->peer);
	bool up = false;
	size_t i;

	if (getsockopt(r->fd, SOL_RDS, RDS6_INFO_CONNECTIONS, rec, &len) < 0)
		return false;
	for (i = 0; i < len / sizeof(rec[0]); i++)
		up |= !memcmp(&rec[i].laddr, &self, sizeof(self)) &&
		      !memcmp(&rec[i].faddr, &peer, sizeof(peer)) &&
		      rec[i].flags & RDS_INFO_CONNECTION_FLAG_CONNECTED;
	return up;
}

void nap(const struct rt *r, unsigned int ms)
{
	struct timespec pause = { .tv_sec = ms * r->slow / 1000,
				  .tv_nsec = ms * r->slow % 1000 * 1000000l };

	nanosleep(&pause, NULL);
}
