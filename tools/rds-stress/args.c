// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Parse and check the command line of rds-stress. */
#include <arpa/inet.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/rds.h>

#include "stress.h"

enum {
	LONG_USE_ONCE = 256,
	LONG_GET_MR,
	LONG_FENCE,
	LONG_NOTIFY,
	LONG_CACHE,
	LONG_ALIGN,
	LONG_KEYS,
	LONG_PARAMS,
	LONG_PERFDATA,
	LONG_RETRIES,
	LONG_CONG,
	LONG_OUTLIERS,
	LONG_HISTOGRAM,
	LONG_RESET,
	LONG_ASYNC,
	LONG_TRANSPORT,
};

static const struct option longopts[] = {
	{ "recv-addr", required_argument, NULL, 'r' },
	{ "port", required_argument, NULL, 'p' },
	{ "send-addr", required_argument, NULL, 's' },
	{ "req-bytes", required_argument, NULL, 'q' },
	{ "ack-bytes", required_argument, NULL, 'a' },
	{ "depth", required_argument, NULL, 'd' },
	{ "tasks", required_argument, NULL, 't' },
	{ "time", required_argument, NULL, 'T' },
	{ "tos", required_argument, NULL, 'Q' },
	{ "rdma-bytes", required_argument, NULL, 'D' },
	{ "report-cpu", no_argument, NULL, 'c' },
	{ "report-summary", no_argument, NULL, 'z' },
	{ "rtprio", no_argument, NULL, 'R' },
	{ "verify", no_argument, NULL, 'v' },
	{ "trace", no_argument, NULL, 'V' },
	{ "rdma-use-once", required_argument, NULL, LONG_USE_ONCE },
	{ "rdma-use-get-mr", required_argument, NULL, LONG_GET_MR },
	{ "rdma-use-fence", required_argument, NULL, LONG_FENCE },
	{ "rdma-use-notify", required_argument, NULL, LONG_NOTIFY },
	{ "rdma-cache-mrs", required_argument, NULL, LONG_CACHE },
	{ "rdma-alignment", required_argument, NULL, LONG_ALIGN },
	{ "rdma-key-o-meter", no_argument, NULL, LONG_KEYS },
	{ "show-params", no_argument, NULL, LONG_PARAMS },
	{ "show-perfdata", no_argument, NULL, LONG_PERFDATA },
	{ "connect-retries", required_argument, NULL, LONG_RETRIES },
	{ "use-cong-monitor", required_argument, NULL, LONG_CONG },
	{ "show-outliers", required_argument, NULL, LONG_OUTLIERS },
	{ "show-histogram", no_argument, NULL, LONG_HISTOGRAM },
	{ "reset", no_argument, NULL, LONG_RESET },
	{ "async", no_argument, NULL, LONG_ASYNC },
	{ "transport", required_argument, NULL, LONG_TRANSPORT },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static void __attribute__((noreturn)) usage(void)
{
	fprintf(stderr,
		"rds-stress version " RT_VERSION "\n"
		"\n"
		"Passive side: rds-stress [-r address] [-p port]\n"
		"Active side:  rds-stress -s address [options]\n"
		"  -r, --recv-addr ADDR    local address\n"
		"  -p, --port N            control port, and base of the RDS ports [4000]\n"
		"  -s, --send-addr ADDR    the passive side\n"
		"  -q, --req-bytes N       size of a request [1024]\n"
		"  -a, --ack-bytes N       size of an ack [63]\n"
		"  -d, --depth N           outstanding requests per pair of tasks [1]\n"
		"  -t, --tasks N           tasks on each side [1]\n"
		"  -T, --time N            seconds to run [until killed]\n"
		"  -o                      only the active side sends requests\n"
		"  -Q, --tos N             type of service\n"
		"  -v, --verify            check the contents of each message\n"
		"  -z, --report-summary    only the last line\n"
		"  -c, --report-cpu        measure the use of the CPUs\n"
		"  -R, --rtprio            run at real-time priority\n"
		"  -V, --trace             trace RDMA\n"
		"  -D, --rdma-bytes N      size of an RDMA element [no RDMA]\n"
		"  -I N                    RDMA elements per operation [1]\n"
		"  -M N                    0 alternate, 1 read, 2 write, 3 fadd, 4 cswp; or the word [0]\n"
		"  --transport rdma|tcp    transport of this side [as the address has it]\n"
		"  --connect-retries N     attempts to reach the passive side, one a second [0]\n"
		"  --use-cong-monitor 0|1  let the kernel tell when congestion ends [1]\n"
		"  --show-params --show-perfdata --show-histogram --show-outliers USEC\n"
		"  --rdma-use-once 0|1 --rdma-use-get-mr 0|1 --rdma-use-fence 0|1\n"
		"  --rdma-use-notify 0|1 --rdma-cache-mrs 0|1 --rdma-alignment N\n"
		"  --rdma-key-o-meter\n"
		"  --reset                 reset the connection from -r to -s, and exit\n"
		"Numbers may end in k, m or g.\n");
	exit(2);
}

static uint32_t number(const char *text, uint64_t max)
{
	uint64_t value;

	if (rt_parse_number(text, max, &value))
		die("invalid number '%s'\n", text);
	return value;
}

static uint32_t address(const char *text)
{
	union rt_addr a;

	if (rt_parse_host(text, AF_INET, &a))
		die("invalid host name or dotted quad '%s'\n", text);
	return ntohl(a.in.sin_addr.s_addr);
}

/* A classic rds-stress has no fadd and cswp, and refuses such requests. */
static uint8_t mode(const char *text)
{
	static const char *const word[] = { "alternate", "read", "write",
					    "fadd", "cswp" };
	uint8_t m;

	for (m = 0; m <= MODE_CSWP; m++)
		if (!strcmp(text, word[m]))
			return m;
	return number(text, MODE_CSWP);
}

static bool set_rdma(struct options *o, int c, const char *arg)
{
	switch (c) {
	case 'D':
		o->rdma_size = number(arg, UINT32_MAX);
		return true;
	case 'I':
		o->vector = number(arg, MAX_VECTOR);
		return true;
	case 'M':
		o->rdma_mode = mode(arg);
		return true;
	case LONG_USE_ONCE:
		o->use_once = number(arg, 1);
		return true;
	case LONG_GET_MR:
		o->use_get_mr = number(arg, 1);
		return true;
	case LONG_FENCE:
		o->fence = number(arg, 1);
		return true;
	case LONG_NOTIFY:
		number(arg, 1);
		return true;
	case LONG_CACHE:
		o->cache_mrs = number(arg, 1);
		return true;
	case LONG_ALIGN:
		o->alignment = number(arg, sysconf(_SC_PAGESIZE));
		return true;
	case LONG_KEYS:
		o->key_meter = 1;
		return true;
	}
	return false;
}

static bool set_load(struct options *o, int c, const char *arg)
{
	switch (c) {
	case 'r':
		o->recv_addr = address(arg);
		return true;
	case 'p':
		o->port = number(arg, UINT16_MAX);
		return true;
	case 's':
		o->send_addr = address(arg);
		o->active = o->send_addr != INADDR_BROADCAST;
		return true;
	case 'q':
		o->req_size = number(arg, UINT32_MAX);
		return true;
	case 'a':
		o->ack_size = number(arg, UINT32_MAX);
		return true;
	case 'd':
		o->depth = number(arg, UINT32_MAX);
		return true;
	case 't':
		o->tasks = number(arg, UINT16_MAX);
		return true;
	case 'T':
		o->run_time = number(arg, UINT32_MAX);
		return true;
	case 'Q':
		o->tos = number(arg, UINT8_MAX);
		return true;
	case LONG_RETRIES:
		o->connect_retries = number(arg, UINT32_MAX);
		return true;
	case LONG_CONG:
		o->cong_monitor = number(arg, 1);
		return true;
	case LONG_TRANSPORT:
		if (rt_parse_transport(arg, &o->transport))
			die("invalid transport '%s', not rdma or tcp\n", arg);
		return true;
	case LONG_OUTLIERS:
		o->outliers = number(arg, UINT32_MAX);
		return true;
	}
	return false;
}

static bool set_flag(struct options *o, int c)
{
	switch (c) {
	case 'o':
		o->one_way = 1;
		return true;
	case 'c':
		o->soak = true;
		return true;
	case 'z':
		o->summary_only = 1;
		return true;
	case 'R':
		o->rtprio = 1;
		return true;
	case 'v':
		o->verify = 1;
		return true;
	case 'V':
		o->trace = 1;
		return true;
	case LONG_PARAMS:
		o->show_params = 1;
		return true;
	case LONG_PERFDATA:
		o->perfdata = 1;
		return true;
	case LONG_HISTOGRAM:
		o->histogram = true;
		return true;
	case LONG_RESET:
		o->reset = true;
		return true;
	case LONG_ASYNC:
		die("--async is not supported: it needs a vendor kernel\n");
	}
	return false;
}

static const char *check_rdma(const struct options *o)
{
	if (o->rdma_mode > MODE_CSWP)
		return "unknown RDMA mode";
	if (!o->vector || o->vector > MAX_VECTOR)
		return "an RDMA vector must have 1 to 512 elements";
	if ((uint64_t)o->rdma_size * o->vector > MAX_SIZE)
		return "an RDMA operation must transfer at most 1 MiB";
	if (o->alignment > (uint32_t)sysconf(_SC_PAGESIZE))
		return "an RDMA buffer must begin in its first page";
	if (o->rdma_mode >= MODE_FADD &&
	    (o->rdma_size != ATOMIC_SIZE || o->vector != 1))
		return "an atomic operation has one element of 8 bytes: -D 8 -I 1";
	if (o->rdma_mode >= MODE_FADD && o->alignment % ATOMIC_SIZE)
		return "an atomic operation needs an alignment that 8 divides";
	if (o->rdma_mode >= MODE_FADD && o->use_once)
		return "an atomic operation does not end a key: no --rdma-use-once";
	/* A user_token has 30 bits for the number of a buffer of the task. */
	if ((uint64_t)o->tasks * o->depth >= 1u << 30)
		return "too many tasks and too much depth for RDMA";
	return NULL;
}

const char *check_options(const struct options *o)
{
	if (o->req_size == UINT32_MAX)
		return "specify req size with -q";
	if (o->ack_size == UINT32_MAX)
		return "specify ack size with -a";
	if (o->req_size < HDR_LEN)
		return "req size must be at least 63 bytes";
	if (o->ack_size < HDR_LEN)
		return "ack size must be at least 63 bytes";
	if (o->req_size > MAX_SIZE)
		return "req size must be at most 1 MiB, the largest RDS message";
	if (o->ack_size > MAX_SIZE)
		return "ack size must be at most 1 MiB, the largest RDS message";
	if (o->depth > MAX_DEPTH)
		return "depth must be at most 65536";
	if (!o->tasks)
		return "at least one task is needed";
	if (o->port + o->tasks > UINT16_MAX)
		return "not enough ports above the base port for the tasks";
	if (o->reset && (!o->recv_addr || !o->send_addr))
		return "--reset needs -r and -s";
	if (o->async)
		return "asynchronous sends are not supported: they need a vendor kernel";
	return o->rdma_size ? check_rdma(o) : NULL;
}

void parse_args(struct options *o, int argc, char **argv)
{
	const char *wrong;
	int c;

	*o = (struct options){
		.depth = 1,
		.req_size = 1024,
		.ack_size = HDR_LEN,
		.port = 4000,
		.tasks = 1,
		.fence = 1,
		.cong_monitor = 1,
		.vector = 1,
		.outliers = NO_OUTLIERS,
		.transport = RDS_TRANS_NONE,
	};
	while ((c = getopt_long(argc, argv, "+r:p:s:q:a:d:t:T:oQ:D:I:M:czRvVh",
				longopts, NULL)) != -1)
		if (!set_load(o, c, optarg) && !set_rdma(o, c, optarg) &&
		    !set_flag(o, c))
			usage();
	if (o->tasks == UINT16_MAX)
		o->tasks = 1;
	if (o->rdma_mode >= MODE_FADD && !o->rdma_size)
		o->rdma_size = ATOMIC_SIZE;
	if (o->cache_mrs && o->use_once)
		die("option --rdma-cache-mrs conflicts with --rdma-use-once\n");
	if (o->cache_mrs && !o->use_get_mr)
		die("option --rdma-cache-mrs conflicts with --rdma-use-get-mr=0\n");
	if (!o->active)
		return;
	wrong = check_options(o);
	if (wrong)
		die("%s\n", wrong);
}
