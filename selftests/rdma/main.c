// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-rdmat bind ADDR                  exit 0 if ADDR can be bound over RDMA
 * rds-rdmat flush ADDR                 free the keys that are kept for reuse
 * rds-rdmat agent [options] SELF PEER  carry out the driver's requests
 * rds-rdmat TEST [options] SELF PEER   drive TEST: msg, rmem, flags, atomic,
 *                                      bad, badkey, kill, resets, opresets,
 *                                      fresh, freed, placed, stall, reload
 *                                      or joined
 *   -c ADDR,PORT        control connection
 *   -s STACK,PEERSTACK  ours or intree
 *   -d rxe|siw          kind of device
 *   -n COUNT            messages or operations
 *   -r RESETS           resets
 *   -R RESETS           resets; a tenth of RESETS unless RDS_LOAD=full
 *   -w poke|link|dev    way to cut the connection
 *   -S SEED             seed of the payload
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rt.h"

static const struct {
	const char *name;
	void (*fn)(struct rt *r);
	int (*plan)(const struct rt *r);
} tests[] = {
	{ "msg", test_msg, plan_msg },
	{ "rmem", test_rmem, plan_rmem },
	{ "flags", test_flags, plan_flags },
	{ "atomic", test_atomic, plan_atomic },
	{ "bad", test_bad, plan_bad },
	{ "badkey", test_badkey, plan_badkey },
	{ "kill", test_kill, plan_kill },
	{ "resets", test_resets, plan_resets },
	{ "opresets", test_opresets, plan_opresets },
	{ "fresh", test_fresh, plan_fresh },
	{ "freed", test_freed, plan_freed },
	{ "placed", test_placed, plan_placed },
	{ "stall", test_stall, plan_stall },
	{ "reload", test_reload, plan_reload },
	{ "joined", test_joined, plan_joined },
	{ "held", test_held, plan_held },
	{ "idle", test_idle, plan_idle },
};

static void usage(void)
{
	fprintf(stderr,
		"usage: rds-rdmat bind ADDR | agent|TEST [options] SELF PEER\n");
	exit(2);
}

static int try_bind(const char *text)
{
	struct rt_addr a;
	int fd;

	if (!rt_addr_parse(&a, text))
		usage();
	fd = rt_open(&a, 0);
	if (fd < 0)
		fprintf(stderr, "bind %s: %s\n", text, strerror(-fd));
	return fd < 0;
}

static int flush(const char *text)
{
	struct rt_addr a;
	int fd, rc;

	if (!rt_addr_parse(&a, text))
		usage();
	fd = rt_open(&a, 0);
	rc = fd < 0 ? fd : free_key(fd, 0, 0);
	if (rc)
		fprintf(stderr, "flush %s: %s\n", text, strerror(-rc));
	return !!rc;
}

static void ctl_option(struct rt *r, char *arg)
{
	char *comma = strchr(arg, ',');

	if (!comma)
		usage();
	*comma = 0;
	r->ctl = arg;
	r->ctl_port = (unsigned int)atoi(comma + 1);
}

static void options(struct rt *r, int argc, char **argv)
{
	const char *load = getenv("RDS_LOAD");
	int c;

	r->light = load && !strcmp(load, "light");

	while ((c = getopt(argc, argv, "c:s:d:n:r:R:w:S:")) != -1) {
		switch (c) {
		case 'c':
			ctl_option(r, optarg);
			break;
		case 's':
			r->ours = !strncmp(optarg, "ours", 4);
			r->peer_ours = strstr(optarg, ",ours");
			break;
		case 'd':
			r->dev = optarg;
			r->siw = !strcmp(optarg, "siw");
			break;
		case 'n':
			r->count = (unsigned int)atoi(optarg);
			break;
		case 'r':
			r->resets = (unsigned int)atoi(optarg);
			break;
		case 'R':
			r->resets = (unsigned int)atoi(optarg);
			if (!load || strcmp(load, "full"))
				r->resets = (r->resets + 9) / 10;
			break;
		case 'w':
			r->way = optarg;
			break;
		case 'S':
			r->seed = strtoull(optarg, NULL, 0);
			break;
		default:
			usage();
		}
	}
	if (optind + 2 != argc || !rt_addr_parse(&r->self, argv[optind]) ||
	    !rt_addr_parse(&r->peer, argv[optind + 1]) || !r->ctl)
		usage();
}

int main(int argc, char **argv)
{
	static struct rt r = {
		.dev = "rxe", .way = "poke", .count = 1000, .seed = 1, .fd = -1
	};
	struct areq quit = { .op = ASK_QUIT };
	struct aresp a;
	size_t i;

	if (argc == 3 && !strcmp(argv[1], "bind"))
		return try_bind(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "flush"))
		return flush(argv[2]);
	if (argc < 4)
		usage();
	r.slow = rt_slow();
	r.agent = !strcmp(argv[1], "agent");
	options(&r, argc - 1, argv + 1);
	r.v6 = r.self.ss.ss_family == AF_INET6;
	r.mem = mmap(NULL, AGENT_MEM, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	r.ctlfd = ctl_open(&r);
	forget_tokens(&r);
	if (r.agent)
		return agent(&r);
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (strcmp(argv[1], tests[i].name))
			continue;
		rt_plan(tests[i].plan(&r));
		tests[i].fn(&r);
		ask(&r, &quit, &a);
		return rt_exit();
	}
	usage();
}
