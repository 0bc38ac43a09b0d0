// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Encode and decode messages of rds-stress; all integers are big endian. */
#include <ctype.h>
#include <string.h>

#include "stress.h"

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static void put64(uint8_t *p, uint64_t v)
{
	put32(p, v >> 32);
	put32(p + 4, v);
}

static uint16_t get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static uint64_t get64(const uint8_t *p)
{
	return (uint64_t)get32(p) << 32 | get32(p + 4);
}

static void encode_short(uint8_t *m, const struct options *o)
{
	put32(m, o->depth);
	put32(m + 4, o->req_size);
	put32(m + 8, o->ack_size);
	put32(m + 12, o->rdma_size);
	put32(m + 16, o->send_addr);
	put32(m + 20, o->recv_addr);
	put16(m + 24, o->port);
	put16(m + 26, o->tasks);
	put32(m + 28, o->run_time);
	m[32] = o->summary_only;
	m[33] = o->rtprio;
	m[34] = o->trace;
	m[35] = o->verify;
	m[36] = o->show_params;
	m[37] = o->perfdata;
	m[38] = o->cong_monitor;
	m[39] = o->use_once;
	m[40] = o->use_get_mr;
	m[41] = o->fence;
	m[42] = o->cache_mrs;
	m[43] = o->key_meter;
	m[44] = 0xff;
	m[45] = o->one_way;
	m[46] = o->rdma_mode;
	put32(m + 47, o->vector);
	put32(m + 51, o->alignment);
	put32(m + 55, o->connect_retries);
}

size_t encode_options(uint8_t msg[LONG_LEN], const struct options *o)
{
	if (!o->tos && !o->async) {
		encode_short(msg, o);
		return SHORT_LEN;
	}
	memset(msg, 0xff, VERSION_LEN);
	strcpy((char *)msg, RT_VERSION);
	encode_short(msg + VERSION_LEN, o);
	msg[75] = o->tos;
	msg[76] = o->async;
	return LONG_LEN;
}

size_t options_length(const uint8_t msg[VERSION_LEN])
{
	const uint8_t *nul;

	/*
	 * The long form begins with a version, "N.": read as a short form, that
	 * would be a depth of hundreds of millions.
	 */
	if (!isdigit(msg[0]) || msg[1] != '.')
		return SHORT_LEN;
	nul = memchr(msg, '\0', VERSION_LEN);
	if (!nul)
		return SHORT_LEN;
	/* Some later versions announce options in JSON here: not supported. */
	if (msg + VERSION_LEN - nul > 7 && !memcmp(nul + 3, "json", 4))
		return 0;
	return LONG_LEN;
}

void decode_options(const uint8_t *msg, size_t len, struct options *o)
{
	const uint8_t *m = len == LONG_LEN ? msg + VERSION_LEN : msg;

	o->depth = get32(m);
	o->req_size = get32(m + 4);
	o->ack_size = get32(m + 8);
	o->rdma_size = get32(m + 12);
	o->send_addr = get32(m + 20);
	o->port = get16(m + 24);
	o->tasks = get16(m + 26);
	o->run_time = get32(m + 28);
	o->summary_only = m[32];
	o->rtprio = m[33];
	o->trace = m[34];
	o->verify = m[35];
	o->show_params = m[36];
	o->perfdata = m[37];
	o->cong_monitor = m[38];
	o->use_once = m[39];
	o->use_get_mr = m[40];
	o->fence = m[41];
	o->cache_mrs = m[42];
	o->key_meter = m[43];
	o->one_way = m[45];
	o->rdma_mode = m[46];
	o->vector = get32(m + 47);
	o->alignment = get32(m + 51);
	o->connect_retries = get32(m + 55);
	o->tos = len == LONG_LEN ? msg[75] : 0;
	o->async = len == LONG_LEN ? msg[76] : 0;
}

/* Bytes 19 to 59 are zero without RDMA, bytes 60 to 62 always. */
void encode_header(uint8_t buf[HDR_LEN], const struct header *h)
{
	put32(buf, h->seq);
	put32(buf + 4, h->from_addr);
	put32(buf + 8, h->to_addr);
	put16(buf + 12, h->from_port);
	put16(buf + 14, h->to_port);
	put16(buf + 16, h->slot);
	buf[18] = h->op;
	buf[19] = h->rdma.rop;
	put64(buf + 20, h->rdma.addr);
	put64(buf + 28, h->rdma.offset);
	put64(buf + 36, h->rdma.pattern);
	put64(buf + 44, h->rdma.key);
	put32(buf + 52, h->rdma.size);
	put32(buf + 56, h->rdma.vector);
}

void decode_header(const uint8_t buf[HDR_LEN], struct header *h)
{
	h->seq = get32(buf);
	h->from_addr = get32(buf + 4);
	h->to_addr = get32(buf + 8);
	h->from_port = get16(buf + 12);
	h->to_port = get16(buf + 14);
	h->slot = get16(buf + 16);
	h->op = buf[18];
	h->rdma = (struct command){
		.rop = buf[19],
		.addr = get64(buf + 20),
		.offset = get64(buf + 28),
		.pattern = get64(buf + 36),
		.key = get64(buf + 44),
		.size = get32(buf + 52),
		.vector = get32(buf + 56),
	};
	h->retry = buf[60];
}

void fill_pattern(uint8_t *payload, size_t len)
{
	uint8_t v = 11;
	size_t i;

	for (i = 0; i < len; i++) {
		if (i)
			v = 41 * (v + 3) + (i >> 8);
		payload[i] = v;
	}
}
