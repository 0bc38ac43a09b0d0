// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Output of rds-stress during and after the run. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/rds.h>

#include "stress.h"

struct sums {
	uint64_t us;
	uint64_t req_tx, req_rx, bytes, tx_us, rtt_us, rtt_count, rdma_in,
		rdma_out;
};

struct cpu_ticks {
	uint64_t user, system, idle, irq, interrupts;
};

struct report {
	const struct options *o;
	const struct shared *shared;
	struct soaker *soaker;
	struct sums first, last;
	double cpu_total;
	unsigned int lines;
	bool started;

	/* Only with --show-perfdata */
	int fd;
	struct rt_info now, before;
	struct cpu_ticks ticks;
};

#define ROW "%4u %6" PRIu64 " %6" PRIu64 " %10.2f %10.2f %10.2f %7.2f %8.2f %5.2f"

static struct sums collect(const struct report *r)
{
	struct sums s = { .us = rt_now_us() };
	unsigned int i;

	for (i = 0; i < r->o->tasks; i++) {
		const struct stats *c = &r->shared->child[i].stats;

		s.req_tx += atomic_load(&c->req_tx);
		s.req_rx += atomic_load(&c->req_rx);
		s.bytes += atomic_load(&c->bytes_tx) +
			   atomic_load(&c->bytes_rx);
		s.tx_us += atomic_load(&c->tx_us);
		s.rtt_us += atomic_load(&c->rtt_us);
		s.rtt_count += atomic_load(&c->rtt_count);
		s.rdma_in += atomic_load(&c->rdma_in);
		s.rdma_out += atomic_load(&c->rdma_out);
	}
	return s;
}

static double mean(uint64_t sum, uint64_t n)
{
	return n ? (double)sum / n : 0;
}

static double per_second(uint64_t n, uint64_t us)
{
	return us ? n * 1e6 / us : 0;
}

static void read_ticks(struct cpu_ticks *t)
{
	FILE *f = fopen("/proc/stat", "re");
	uint64_t v[7] = { 0 };
	char line[512];

	memset(t, 0, sizeof(*t));
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "intr %" SCNu64, &t->interrupts);
		if (strncmp(line, "cpu ", 4))
			continue;
		sscanf(line + 4,
		       "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		       " %" SCNu64 " %" SCNu64 " %" SCNu64,
		       v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6);
	}
	fclose(f);
	t->user = v[0] + v[1];
	t->system = v[2];
	t->idle = v[3] + v[4];
	t->irq = v[5] + v[6];
}

static void read_counters(struct report *r)
{
	if (rt_info_get(r->fd, RDS_INFO_COUNTERS, &r->now))
		die_errno("cannot read the RDS counters");
}

static struct rds_info_counter counter(const struct rt_info *info, size_t n)
{
	struct rds_info_counter c;

	rt_info_record(info, n, &c, sizeof(c));
	c.name[sizeof(c.name) - 1] = '\0';
	return c;
}

static void csv_header(struct report *r)
{
	size_t i;

	printf("::nr_tasks:count,req_size:bytes,ack_size:bytes,rdma_size:bytes,req_sent:count,"
	       "thruput:kB/s,thruput_rdma_in:kB/s,thruput_rdma_out:kB/s,tx_delay:microseconds,"
	       "rtt:microseconds,cpu:percent");
	for (i = 0; i < rt_info_count(&r->now); i++) {
		struct rds_info_counter c = counter(&r->now, i);

		printf(",%s:%s", (char *)c.name,
		       strstr((char *)c.name, "_bytes") ? "bytes" : "count");
	}
	printf(",user:percent,system:percent,idle:percent,irq:percent,intr:count\n");
}

static void csv_counters(struct report *r, uint64_t us)
{
	struct rt_info old = r->now;
	size_t i;

	r->now = r->before;
	r->before = old;
	read_counters(r);
	for (i = 0; i < rt_info_count(&r->now); i++) {
		struct rds_info_counter c = counter(&r->now, i), b = { 0 };

		if (i < rt_info_count(&r->before))
			b = counter(&r->before, i);
		printf(",%f", per_second(c.value - b.value, us));
	}
}

static void csv_cpus(struct report *r)
{
	struct cpu_ticks old = r->ticks, *t = &r->ticks;
	double all;

	read_ticks(t);
	all = (t->user + t->system + t->idle + t->irq) -
	      (old.user + old.system + old.idle + old.irq);
	if (all <= 0)
		all = 1;
	printf(",%f,%f,%f,%f,%" PRIu64 "\n", 100 * (t->user - old.user) / all,
	       100 * (t->system - old.system) / all,
	       100 * (t->idle - old.idle) / all, 100 * (t->irq - old.irq) / all,
	       t->interrupts - old.interrupts);
}

static void csv_line(struct report *r, const struct sums *s, double cpu)
{
	const struct options *o = r->o;
	uint64_t us = s->us - r->last.us, sent = s->req_tx - r->last.req_tx;

	printf("::%u,%u,%u,%u,%" PRIu64 ",%f,%f,%f,%f,%f,%f", o->tasks,
	       o->req_size, o->ack_size, o->rdma_size, sent,
	       per_second(s->bytes - r->last.bytes, us) / 1024,
	       per_second(s->rdma_in - r->last.rdma_in, us) / 1024,
	       per_second(s->rdma_out - r->last.rdma_out, us) / 1024,
	       mean(s->tx_us - r->last.tx_us, sent),
	       mean(s->rtt_us - r->last.rtt_us,
		    s->rtt_count - r->last.rtt_count),
	       cpu < 0 ? 0 : cpu);
	csv_counters(r, us);
	csv_cpus(r);
}

static void plain_line(const struct report *r, const struct sums *from,
		       const struct sums *s, double cpu)
{
	uint64_t us = s->us - from->us, sent = s->req_tx - from->req_tx;

	printf(ROW, r->o->tasks, (uint64_t)per_second(sent, us),
	       (uint64_t)per_second(s->req_rx - from->req_rx, us),
	       per_second(s->bytes - from->bytes, us) / 1024,
	       per_second(s->rdma_in - from->rdma_in, us) / 1024,
	       per_second(s->rdma_out - from->rdma_out, us) / 1024,
	       mean(s->tx_us - from->tx_us, sent),
	       mean(s->rtt_us - from->rtt_us, s->rtt_count - from->rtt_count),
	       cpu);
}

struct report *report_new(const struct options *o, const struct shared *shared,
			  struct soaker *s)
{
	struct report *r = calloc(1, sizeof(*r));

	if (!r)
		die("ERROR: failed to alloc memory\n");
	r->o = o;
	r->shared = shared;
	r->soaker = s;
	r->fd = -1;
	if (o->perfdata) {
		r->fd = rt_socket();
		if (r->fd < 0)
			die_errno("socket(%d, 5, 0) failed", rt_family());
	}
	return r;
}

void report_params(const struct options *o)
{
	printf("Options:\n");
	printf("  %-10s %-7u\n", "Tasks", o->tasks);
	printf("  %-10s %-7u\n", "Req size", o->req_size);
	printf("  %-10s %-7u\n", "ACK size", o->ack_size);
	printf("  %-10s %-7u\n", "RDMA size", o->rdma_size);
	printf("  RDMA opts ");
	if (o->use_once)
		printf(" use_once");
	if (o->use_get_mr)
		printf(" use_get_mr");
	if (o->fence)
		printf(" use_fence");
	if (o->cache_mrs)
		printf(" cache_mrs");
	if (o->alignment)
		printf(" align=%u", o->alignment);
	if (!o->use_once && !o->use_get_mr && !o->fence && !o->cache_mrs &&
	    !o->alignment)
		printf(" (defaults)");
	printf("\n\n");
}

void report_discard(struct report *r)
{
	soak_usage(r->soaker);
}

void report_header(struct report *r)
{
	r->first = collect(r);
	r->last = r->first;
	r->started = true;
	soak_usage(r->soaker);
	if (r->o->perfdata) {
		read_ticks(&r->ticks);
		read_counters(r);
		csv_header(r);
	} else {
		printf("%4s %6s %6s %10s %10s %10s %7s %8s %5s\n", "tsks",
		       "tx/s", "rx/s", "tx+rx K/s", "mbi K/s", "mbo K/s",
		       "tx us/c", "rtt us", "cpu %");
	}
}

void report_line(struct report *r)
{
	struct sums s = collect(r);
	double cpu = soak_usage(r->soaker);

	if (!r->o->summary_only && r->o->perfdata) {
		csv_line(r, &s, cpu);
	} else if (!r->o->summary_only) {
		plain_line(r, &r->last, &s, cpu);
		printf("\n");
	}
	r->cpu_total += cpu;
	r->lines++;
	r->last = s;
}

static void histogram(const struct report *r)
{
	unsigned int b, i;

	printf("\nRTT histogram\nRTT (us)        \t\t    Count\n");
	for (b = 0; b < NR_BUCKETS; b++) {
		uint64_t n = 0;

		for (i = 0; i < r->o->tasks; i++)
			n += atomic_load(&r->shared->child[i].stats.bucket[b]);
		printf("[%6u - %6u] \t\t %8" PRIu64 "\n", 1u << b, 2u << b, n);
	}
}

void report_summary(struct report *r)
{
	if (!r->started)
		return;
	if (!r->o->summary_only)
		printf("---------------------------------------------\n");
	/* A run may end before its first line, with no sums to divide. */
	plain_line(r, &r->first, &r->last, !r->soaker ? -1 :
		   r->lines ? r->cpu_total / r->lines : 0);
	printf("  (average)\n");
	if (r->o->histogram)
		histogram(r);
}
