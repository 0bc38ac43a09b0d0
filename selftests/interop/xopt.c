// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Command line and addresses of rds-xchg. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xchg.h"

static const char usage_text[] =
	"usage: rds-xchg [options] SELF PEER\n"
	"  --ctl-listen SPEC | --ctl-connect SPEC   control channel: ADDR,PORT or /unix/path\n"
	"  --count N --seed N --streams N --port N  what is sent, on which RDS ports\n"
	"  --min-len N --max-len N --max-bytes N --flat\n"
	"  --sndbuf N --rcvbuf N                    socket buffers (forced)\n"
	"  --slow-reader ROUNDS   stop reading until the sender saw ENOBUFS, that many times\n"
	"  --resets N             destroy the TCP connection N times, alternately at either end\n"
	"  --breaker PATH         ask the program at this socket to break the network instead\n"
	"  --tx-lossy             what we send may be missing, and with --sniff only if the peer's TCP acknowledged it\n"
	"  --sniff IFACE          watch acknowledgements on IFACE to prove the above\n"
	"  --same-clock --latency-max MS --timeout S --stuck S --label TEXT\n"
	"  --tolerate-lost-wakeup  the stack here may forget to wake a congested sender\n"
	"  --abandon              exit status 3 when the peer's last map on the wire (--sniff) keeps\n"
	"                         a port congested though its reader waits for more\n";

enum {
	O_CTL_LISTEN = 256,
	O_CTL_CONNECT,
	O_COUNT,
	O_SEED,
	O_STREAMS,
	O_PORT,
	O_MIN,
	O_MAX,
	O_BYTES,
	O_FLAT,
	O_SNDBUF,
	O_RCVBUF,
	O_SLOW,
	O_RESETS,
	O_LOSSY,
	O_SNIFF,
	O_CLOCK,
	O_LAT,
	O_TIMEOUT,
	O_STUCK,
	O_LABEL,
	O_TOLERATE,
	O_ABANDON,
	O_BREAKER,
};

static const struct option longs[] = {
	{ "ctl-listen", 1, NULL, O_CTL_LISTEN }, { "ctl-connect", 1, NULL, O_CTL_CONNECT },
	{ "count", 1, NULL, O_COUNT }, { "seed", 1, NULL, O_SEED },
	{ "streams", 1, NULL, O_STREAMS }, { "port", 1, NULL, O_PORT },
	{ "min-len", 1, NULL, O_MIN }, { "max-len", 1, NULL, O_MAX },
	{ "max-bytes", 1, NULL, O_BYTES }, { "flat", 0, NULL, O_FLAT },
	{ "sndbuf", 1, NULL, O_SNDBUF }, { "rcvbuf", 1, NULL, O_RCVBUF },
	{ "slow-reader", 1, NULL, O_SLOW }, { "resets", 1, NULL, O_RESETS },
	{ "tx-lossy", 0, NULL, O_LOSSY }, { "sniff", 1, NULL, O_SNIFF },
	{ "same-clock", 0, NULL, O_CLOCK }, { "latency-max", 1, NULL, O_LAT },
	{ "timeout", 1, NULL, O_TIMEOUT }, { "stuck", 1, NULL, O_STUCK },
	{ "label", 1, NULL, O_LABEL }, { "tolerate-lost-wakeup", 0, NULL, O_TOLERATE },
	{ "abandon", 0, NULL, O_ABANDON }, { "breaker", 1, NULL, O_BREAKER },
	{ NULL, 0, NULL, 0 },
};

static void usage(void)
{
	fputs(usage_text, stderr);
	exit(2);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t v = strtoull(text, &end, 0);

	if (end == text || *end)
		usage();
	return v;
}

void addr_mapped(const union addr *a, uint8_t out[16])
{
	if (a->sa.sa_family == AF_INET6) {
		memcpy(out, &a->in6.sin6_addr, 16);
		return;
	}
	memset(out, 0, 10);
	memset(out + 10, 0xff, 2);
	memcpy(out + 12, &a->in.sin_addr, 4);
}

static void opt_number(struct opts *o, int c, uint64_t v)
{
	switch (c) {
	case O_COUNT: o->count = v; break;
	case O_SEED: o->seed = v; break;
	case O_STREAMS: o->streams = v; break;
	case O_PORT: o->port = v; break;
	case O_MIN: o->min_len = v; break;
	case O_MAX: o->max_len = v; break;
	case O_BYTES: o->max_bytes = v; break;
	case O_SNDBUF: o->sndbuf = v; break;
	case O_RCVBUF: o->rcvbuf = v; break;
	case O_SLOW: o->slow_rounds = v; break;
	case O_RESETS: o->resets = v; break;
	case O_LAT: o->latency_max_ms = v; break;
	case O_TIMEOUT: o->timeout = v; break;
	case O_STUCK: o->stuck = v; break;
	default: usage();
	}
}

static void opt_other(struct opts *o, int c, const char *arg)
{
	switch (c) {
	case O_CTL_LISTEN: o->ctl = arg; o->ctl_listen = true; break;
	case O_CTL_CONNECT: o->ctl = arg; break;
	case O_FLAT: o->mix = MIX_FLAT; break;
	case O_LOSSY: o->tx_lossy = true; break;
	case O_SNIFF: o->sniff = arg; break;
	case O_CLOCK: o->same_clock = true; break;
	case O_LABEL: o->label = arg; break;
	case O_BREAKER: o->breaker = arg; break;
	case O_TOLERATE: o->tolerate_lost_wakeup = true; break;
	case O_ABANDON: o->abandon = true; break;
	default: opt_number(o, c, number(arg ? arg : ""));
	}
}

void opts_parse(struct opts *o, int argc, char **argv)
{
	int c;

	*o = (struct opts){ .count = 1000, .seed = 1, .streams = 1, .port = 4000, .min_len = 0,
			    .max_len = MAX_MSG, .max_bytes = 150000000, .timeout = 300,
			    .stuck = 30, .label = "xchg" };
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1)
		opt_other(o, c, optarg);
	if (argc - optind != 2 || !o->ctl || !o->streams ||
	    o->streams > MAX_STREAMS || o->min_len > o->max_len ||
	    o->max_len > MAX_MSG || !o->count)
		usage();
	if (!addr_parse(&o->self, argv[optind], 0) ||
	    !addr_parse(&o->peer, argv[optind + 1], 0))
		usage();
	/* Messages without a header cannot be identified if others get lost. */
	if (o->resets && o->min_len < XHDR_LEN)
		o->min_len = XHDR_LEN;
}
