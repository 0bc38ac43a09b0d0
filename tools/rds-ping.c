// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * rds-ping: send pings to the kernel of another RDS host.
 *
 * A ping is an empty message to port 0; the answer (pong) is an empty message
 * too. The answer does not identify the ping, so each outstanding ping has its
 * own socket.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/sockios.h>
#include <linux/rds.h>

#include "rdstool.h"

#define NR_SLOTS 8
#define MIN_PATIENCE_US 1000000ULL

struct slot {
	int fd;
	uint64_t number;
	uint64_t sent_at;
	bool waiting;		/* the last ping is not answered or given up */
	bool reported;		/* a result of the last ping was printed */
};

struct ping {
	union rt_addr dst;
	union rt_addr src;
	bool have_src;
	bool json;
	int transport;
	uint64_t count;
	uint64_t interval;
	uint64_t tos;

	struct slot slot[NR_SLOTS];
	unsigned int turn;
	uint64_t sent;
	uint64_t answered;
	uint64_t failed;
	uint64_t lost;
	uint64_t min, max, sum;
	bool hinted;
	struct rt_json j;
};

static volatile sig_atomic_t got_signal;

static void on_signal(int sig)
{
	got_signal = sig;
}

static void __attribute__((noreturn, format(printf, 1, 2)))
die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	exit(1);
}

static int complain_errno(const char *what)
{
	int err = errno;

	fprintf(stderr, "%s, errno: %d (%s)\n", what, err, strerror(err));
	return err;
}

static void __attribute__((noreturn)) usage(const char *why)
{
	fprintf(stderr, "%s\n", why);
	fprintf(stderr,
		"rds-ping version " RT_VERSION "\n"
		"\n"
		"usage: rds-ping [options] destination\n"
		"  -c count      stop after so many answers [unlimited]\n"
		"  -i interval   time between pings: seconds, or with ms or us [1]\n"
		"  -I address    send from this address [as routed]\n"
		"  -Q tos        type of service, 0 to 255 [0]\n"
		"  -T transport  rdma or tcp [as the source address has it]\n"
		"  --json        write one JSON document\n");
	exit(1);
}

static void parse(struct ping *p, int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "json", no_argument, NULL, 'J' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "c:i:I:Q:T:", longopts, NULL)) !=
	       -1) {
		switch (c) {
		case 'c':
			if (rt_parse_number(optarg, UINT32_MAX, &p->count))
				die("Bad packet count %s\n", optarg);
			break;
		case 'i':
			if (rt_parse_interval(optarg, &p->interval))
				die("Bad wait time %s\n", optarg);
			break;
		case 'I':
			if (rt_parse_host(optarg, AF_UNSPEC, &p->src))
				die("Unknown source address %s\n", optarg);
			p->have_src = true;
			break;
		case 'Q':
			if (rt_parse_number(optarg, 255, &p->tos))
				die("Bad tos %s\n", optarg);
			break;
		case 'T':
			if (rt_parse_transport(optarg, &p->transport))
				die("Bad transport %s\n", optarg);
			break;
		case 'J':
			p->json = true;
			break;
		default:
			usage("Unknown option");
		}
	}
	if (optind + 1 != argc)
		usage(optind < argc ? "Too many arguments" :
				      "Missing destination address");
	if (rt_parse_host(argv[optind], AF_UNSPEC, &p->dst))
		die("Cannot parse destination address %s\n", argv[optind]);
}

static void open_slot(struct ping *p, struct slot *s)
{
	char host[RT_ADDRSTRLEN];
	uint8_t tos = p->tos;

	s->fd = rt_socket();
	if (s->fd < 0) {
		rt_hint_socket(complain_errno("unable to create RDS socket"));
		exit(1);
	}
	if (!p->have_src) {
		if (rt_source_for(&p->dst, &p->src))
			die("unable to connect to %s, errno: %d (%s)\n",
			    rt_host_str(&p->dst, host, sizeof(host)), errno,
			    strerror(errno));
		p->have_src = true;
	}
	if (rt_set_transport(s->fd, p->transport)) {
		rt_hint_transport(complain_errno("unable to choose the transport"),
				  p->transport);
		exit(1);
	}
	if (bind(s->fd, &p->src.sa, rt_addrlen(&p->src))) {
		rt_hint_bind(complain_errno("bind() failed"), &p->src,
			     p->transport);
		exit(1);
	}
	if (tos && ioctl(s->fd, SIOCRDSSETTOS, &tos)) {
		complain_errno("ERROR: failed to set TOS");
		exit(1);
	}
}

/*
 * Print one line or one JSON object about ping @number. @usec is NULL if there
 * is no round-trip time.
 */
static void report(struct ping *p, uint64_t number, const uint64_t *usec,
		   const union rt_addr *from, bool dup, int error)
{
	char host[RT_ADDRSTRLEN];

	if (p->json) {
		rt_json_open(&p->j, NULL, '{');
		rt_json_u64(&p->j, "number", number);
		if (usec)
			rt_json_u64(&p->j, "usec", *usec);
		if (from)
			rt_json_str(&p->j, "source",
				    rt_host_str(from, host, sizeof(host)));
		if (dup)
			rt_json_bool(&p->j, "duplicate", true);
		if (error)
			rt_json_str(&p->j, "error", strerror(error));
		rt_json_close(&p->j, '}');
		return;
	}
	printf(" %3llu:", (unsigned long long)number);
	if (usec)
		printf(" %llu usec", (unsigned long long)*usec);
	if (from && !rt_same_host(from, &p->dst))
		printf(" (%s)", rt_host_str(from, host, sizeof(host)));
	if (dup)
		printf(" DUP!");
	if (error)
		printf(" ERROR: %s", strerror(error));
	putchar('\n');
	if (error == EINVAL && !usec && !p->hinted) {
		printf("      Maybe your kernel does not support rds ping yet\n");
		p->hinted = true;
	}
}

static void send_next(struct ping *p, uint64_t now)
{
	struct slot *s = &p->slot[p->turn];

	if (s->waiting)
		return;
	p->turn = (p->turn + 1) % NR_SLOTS;
	s->number = ++p->sent;
	s->sent_at = now;
	s->waiting = true;
	s->reported = false;
	if (sendto(s->fd, NULL, 0, MSG_DONTWAIT, &p->dst.sa,
		   rt_addrlen(&p->dst)) == 0)
		return;
	s->waiting = false;
	s->reported = true;
	p->failed++;
	report(p, s->number, NULL, NULL, false, errno);
}

static void receive(struct ping *p, struct slot *s)
{
	union rt_addr from = { .in.sin_family = AF_UNSPEC };
	struct msghdr msg = { .msg_name = &from, .msg_namelen = sizeof(from) };
	uint64_t usec;
	bool dup = s->reported;
	ssize_t n = recvmsg(s->fd, &msg, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* A message without an address is a notice of the kernel, no answer. */
	if (n >= 0 && !msg.msg_namelen)
		return;
	usec = rt_now_us() - s->sent_at;
	s->reported = true;
	if (n < 0) {
		p->failed += s->waiting;
		s->waiting = false;
		report(p, s->number, &usec, NULL, dup, errno);
		return;
	}
	if (s->waiting) {
		s->waiting = false;
		p->min = p->answered && p->min < usec ? p->min : usec;
		p->max = p->max > usec ? p->max : usec;
		p->sum += usec;
		p->answered++;
	}
	report(p, s->number, &usec, &from, dup, 0);
}

/*
 * Give up pings sent at or before @deadline. With @reopen, open a new socket on
 * another port, so that a late answer is not taken for that of a later ping.
 */
static void give_up(struct ping *p, uint64_t deadline, bool reopen)
{
	unsigned int i;

	for (i = 0; i < NR_SLOTS; i++) {
		struct slot *s = &p->slot[(p->turn + i) % NR_SLOTS];

		if (!s->waiting || s->sent_at > deadline)
			continue;
		s->waiting = false;
		s->reported = true;
		p->lost++;
		report(p, s->number, NULL, NULL, false, ETIMEDOUT);
		if (reopen) {
			close(s->fd);
			open_slot(p, s);
		}
	}
}

static void wait_until(struct ping *p, uint64_t when)
{
	uint64_t now = rt_now_us(), left = when > now ? when - now : 0;
	struct timespec ts = { left / 1000000, left % 1000000 * 1000 };
	struct pollfd pfd[NR_SLOTS];
	unsigned int i;

	for (i = 0; i < NR_SLOTS; i++)
		pfd[i] = (struct pollfd){ .fd = p->slot[i].fd,
					  .events = POLLIN };
	if (ppoll(pfd, NR_SLOTS, &ts, NULL) <= 0)
		return;
	for (i = 0; i < NR_SLOTS; i++)
		if (pfd[i].revents && (!p->count || p->answered < p->count))
			receive(p, &p->slot[i]);
}

static void run(struct ping *p)
{
	uint64_t patience = p->interval * NR_SLOTS;
	uint64_t now = rt_now_us(), tick = now;

	if (patience < MIN_PATIENCE_US)
		patience = MIN_PATIENCE_US;
	while (!got_signal && (!p->count || p->answered < p->count)) {
		now = rt_now_us();
		if (now > patience)
			give_up(p, now - patience, true);
		if (now >= tick) {
			uint64_t step = p->interval;

			if (p->count && p->sent >= p->count)
				break;
			send_next(p, now);
			/* Do not spin while all sockets wait for an answer. */
			if (p->slot[p->turn].waiting && step < 1000)
				step = 1000;
			tick = tick + step > now ? tick + step : now + step;
		}
		wait_until(p, tick);
	}
	/* After p->count answers the other pings are not reported as lost. */
	if (!p->count || p->answered < p->count)
		give_up(p, UINT64_MAX, false);
}

static void begin(struct ping *p)
{
	char host[RT_ADDRSTRLEN];

	if (!p->json)
		return;
	p->j.out = stdout;
	rt_json_open(&p->j, NULL, '{');
	rt_json_str(&p->j, "destination",
		    rt_host_str(&p->dst, host, sizeof(host)));
	rt_json_str(&p->j, "source", rt_host_str(&p->src, host, sizeof(host)));
	rt_json_open(&p->j, "pings", '[');
}

static void finish(struct ping *p)
{
	uint64_t avg = p->answered ? p->sum / p->answered : 0;

	if (p->json) {
		rt_json_close(&p->j, ']');
		rt_json_u64(&p->j, "sent", p->sent);
		rt_json_u64(&p->j, "answered", p->answered);
		rt_json_u64(&p->j, "failed", p->failed);
		rt_json_u64(&p->j, "lost", p->lost);
		rt_json_u64(&p->j, "min_usec", p->min);
		rt_json_u64(&p->j, "avg_usec", avg);
		rt_json_u64(&p->j, "max_usec", p->max);
		rt_json_close(&p->j, '}');
		return;
	}
	/*
	 * The classic rds-ping has no summary. Print one only to a terminal, so
	 * that programs read the classic output.
	 */
	if (isatty(STDERR_FILENO))
		fprintf(stderr,
			"%llu sent, %llu answered, %llu lost; %llu/%llu/%llu usec min/avg/max\n",
			(unsigned long long)p->sent,
			(unsigned long long)p->answered,
			(unsigned long long)(p->lost + p->failed),
			(unsigned long long)p->min, (unsigned long long)avg,
			(unsigned long long)p->max);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal,
				.sa_flags = SA_RESETHAND };
	struct ping p = { .interval = 1000000, .transport = RDS_TRANS_NONE };
	unsigned int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	parse(&p, argc, argv);
	for (i = 0; i < NR_SLOTS; i++)
		open_slot(&p, &p.slot[i]);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	begin(&p);
	run(&p);
	finish(&p);
	if (fflush(stdout) || ferror(stdout))
		return 1;
	if (got_signal)
		raise(got_signal);
	return p.answered ? 0 : 1;
}
