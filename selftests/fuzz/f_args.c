// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Command lines of rdscat and rds-stress, and each word of a command line
 * parsed as a number, a time and an address.  The first byte of the input
 * selects the program, each line of the input is a word.  Host names are not
 * resolved, only numeric addresses are.
 */
#include <getopt.h>
#include <netdb.h>
#include <stdarg.h>

#include <linux/rds.h>

#include "quiet.h"
#include "rdscat.h"
#include "stress.h"

#define MAX_WORDS	40

/* Freed with the next input, as the program may exit during this input. */
static char *word[MAX_WORDS + 1];

int __real_getaddrinfo(const char *node, const char *service,
		       const struct addrinfo *hints, struct addrinfo **res);
int __wrap_getaddrinfo(const char *node, const char *service,
		       const struct addrinfo *hints, struct addrinfo **res);
void __real_exit(int status) __attribute__((noreturn));
void __wrap_exit(int status) __attribute__((noreturn));

int __wrap_getaddrinfo(const char *node, const char *service,
		       const struct addrinfo *hints, struct addrinfo **res)
{
	struct addrinfo numeric = *hints;

	numeric.ai_flags |= AI_NUMERICHOST;
	return __real_getaddrinfo(node, service, &numeric, res);
}

void __wrap_exit(int status)
{
	if (!fuzz_running)
		__real_exit(status);
	fuzz_leave();
}

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fuzz_leave();
}

void rc_complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
}

static void address_again(const union rt_addr *a)
{
	char text[RT_ADDRSTRLEN];
	union rt_addr again;

	HOLDS(a->sa.sa_family == AF_INET || a->sa.sa_family == AF_INET6);
	rt_addr_str(a, text, sizeof(text));
	/* For link-local addresses the C library reads an interface name. */
	if (a->sa.sa_family == AF_INET6 && a->in6.sin6_scope_id)
		return;
	HOLDS(!rt_parse_hostport(text, &again));
	HOLDS(rt_same_addr(a, &again));
}

static void values(const char *text)
{
	static const uint64_t max[] = {
		0, 1, 512, UINT16_MAX, UINT32_MAX, UINT64_MAX,
	};
	uint64_t value;
	union rt_addr a;
	size_t i;
	int t;

	for (i = 0; i < sizeof(max) / sizeof(max[0]); i++)
		if (!rt_parse_number(text, max[i], &value))
			HOLDS(value <= max[i]);
	if (!rt_parse_interval(text, &value))
		HOLDS(value <= 86400000000ULL);
	if (!rt_parse_transport(text, &t))
		HOLDS(t == RDS_TRANS_IB || t == RDS_TRANS_TCP);
	if (!rt_parse_host(text, AF_INET, &a))
		HOLDS(a.sa.sa_family == AF_INET);
	if (!rt_parse_hostport(text, &a))
		address_again(&a);
}

static void rdscat_line(int argc)
{
	struct rc_options o;

	rc_parse_args(&o, argc, word);
	HOLDS(o.timeout_us >= 200000 && o.timeout_us <= 86400000000ULL);
	/* Ports 0 and 1 of RDS belong to the kernel, of streams only 0 does. */
	HOLDS(rt_port(&o.addr) >= (o.stream ? 1 : 2));
	address_again(&o.addr);
	if (o.have_src) {
		HOLDS(!o.listen && o.src.sa.sa_family == o.addr.sa.sa_family);
		address_again(&o.src);
	}
}

static void stress_line(int argc)
{
	struct options o, got = { 0 };
	uint8_t msg[LONG_LEN];
	size_t len;

	parse_args(&o, argc, word);
	if (!o.active)
		return;
	HOLDS(!check_options(&o));
	len = encode_options(msg, &o);
	HOLDS(options_length(msg) == len);
	decode_options(msg, len, &got);
	HOLDS(!check_options(&got));
	HOLDS(got.depth == o.depth && got.req_size == o.req_size &&
	      got.ack_size == o.ack_size);
	HOLDS(got.rdma_size == o.rdma_size && got.rdma_mode == o.rdma_mode);
	HOLDS(got.vector == o.vector && got.alignment == o.alignment &&
	      got.tos == o.tos);
	HOLDS(got.tasks == o.tasks && got.port == o.port &&
	      got.run_time == o.run_time);
}

/*
 * Split the input into words, each in memory of its exact size, so that ASan
 * reports reads past the end.  Returns the number of words.
 */
static int split(struct fuzz_in *in)
{
	int n = 1, i;

	for (i = 0; i <= MAX_WORDS; i++) {
		free(word[i]);
		word[i] = NULL;
	}
	word[0] = strdup("program");
	while (in->n && n < MAX_WORDS) {
		const uint8_t *end = memchr(in->p, '\n', in->n);
		size_t len = end ? end - in->p : in->n;

		word[n++] = strndup((const char *)in->p, len);
		len += !!end;
		in->p += len;
		in->n -= len;
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct fuzz_in in = { data, n };
	uint8_t whose = fuzz_byte(&in);
	int argc = split(&in), i;

	for (i = 1; i < argc; i++)
		values(word[i]);
	/* With optind 0 glibc resets all of getopt(), also its word order. */
	optind = 0;
	if (setjmp(fuzz_end))
		return 0;
	fuzz_running = true;
	if (whose & 1)
		stress_line(argc);
	else
		rdscat_line(argc);
	fuzz_running = false;
	return 0;
}
