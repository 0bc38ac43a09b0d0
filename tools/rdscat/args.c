// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Parse the command line of rdscat. */
#include <getopt.h>
#include <stdlib.h>

#include <linux/rds.h>

#include "rdscat.h"

static void usage(FILE *to)
{
	fprintf(to,
		"usage: rdscat [options] ADDRESS:PORT < file     send\n"
		"       rdscat [options] -l ADDRESS:PORT > file  receive one transfer\n"
		"       rdscat --stream [options] [-l] ADDRESS:PORT  both, over a stream socket\n"
		"  -s ADDRESS  send from this address [as routed]\n"
		"  -T NAME     transport, rdma or tcp [as the local address has it]\n"
		"  -w TIME     give up when the other end is silent for so long [30]\n"
		"  -q          show no progress, even on a terminal\n"
		"  -v          show progress, even if stderr is no terminal\n"
		"An IPv6 address stands in brackets: [fd00::1]:4000. TIME is in seconds, or with ms.\n");
}

static void __attribute__((noreturn))
bad_usage(const char *what, const char *text)
{
	rc_complain("%s%s%s", what, text ? ": " : "", text ? text : "");
	usage(stderr);
	exit(2);
}

/* A stream may listen at all addresses, and its ports are all but 0. */
static void parse_address(struct rc_options *o, const char *text)
{
	const char *wrong = rt_parse_hostport(text, &o->addr);

	if (o->stream && text[0] == ':')
		wrong = "no address given: all are 0.0.0.0:PORT or [::]:PORT";
	else if (!wrong && !rt_port(&o->addr) && o->stream)
		wrong = "port 0 is no port";
	else if (!wrong && rt_port(&o->addr) < 2 && !o->stream)
		wrong = "ports 0 and 1 belong to the kernel";
	if (wrong)
		bad_usage(wrong, text);
}

void rc_parse_args(struct rc_options *o, int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "stream", no_argument, NULL, 'S' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	*o = (struct rc_options){
		.timeout_us = 30000000, .transport = RDS_TRANS_NONE,
	};
	while ((c = getopt_long(argc, argv, "lhs:T:w:qv", longopts, NULL)) !=
	       -1) {
		switch (c) {
		case 'S':
			o->stream = true;
			break;
		case 'l':
			o->listen = true;
			break;
		case 's':
			if (rt_parse_host(optarg, AF_UNSPEC, &o->src))
				bad_usage("unknown source address", optarg);
			o->have_src = true;
			break;
		case 'T':
			if (rt_parse_transport(optarg, &o->transport))
				bad_usage("transport is neither rdma nor tcp",
					  optarg);
			break;
		case 'w':
			if (rt_parse_interval(optarg, &o->timeout_us) ||
			    o->timeout_us < 200000)
				bad_usage("bad time (at least 200ms)", optarg);
			break;
		case 'q':
			o->quiet = true;
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	}
	if (optind == argc)
		bad_usage("no address given", NULL);
	if (optind + 1 < argc)
		bad_usage("too many arguments", argv[optind + 1]);
	if (o->listen && o->have_src)
		bad_usage("-s makes no sense with -l", NULL);
	parse_address(o, argv[optind]);
	if (o->have_src && o->src.sa.sa_family != o->addr.sa.sa_family)
		bad_usage("source and destination are of different families",
			  NULL);
}
