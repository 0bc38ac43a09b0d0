// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* rds-info: print the tables of the RDS module. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/rds.h>

#include "info.h"
#include "rdstool.h"

enum kind {
	K_NAME,		/* text of at most 32 bytes */
	K_U8,
	K_U32,
	K_U64,
	K_PORT,		/* be16 */
	K_ADDR,		/* be32, or 16 bytes in the tables of both families */
	K_GID,		/* always 16 bytes */
	K_FLAGS,	/* state of a connection */
};

#define ABSENT (-1)

struct column {
	const char *heading;	/* NULL: only in JSON */
	const char *key;
	enum kind kind;
	int width;
	int off4, off6;
};

struct table {
	char letter;
	const char *heading;
	const char *key;
	const char *about;
	int id4, id6;
	int transport;		/* owner of the table; RDS_TRANS_NONE: core */
	const struct column *column;
	const struct column *verbose;
};

#define END { NULL, NULL, K_NAME, 0, ABSENT, ABSENT }

static const struct column counter_columns[] = {
	{ "CounterName", "name", K_NAME, 25, 0, 0 },
	{ "Value", "value", K_U64, 16, 32, 32 },
	END
};

static const struct column socket_columns[] = {
	{ "BoundAddr", "bound_addr", K_ADDR, 15, 4, 4 },
	{ "BPort", "bound_port", K_PORT, 5, 12, 36 },
	{ "ConnAddr", "connected_addr", K_ADDR, 15, 8, 20 },
	{ "CPort", "connected_port", K_PORT, 5, 14, 38 },
	{ "SndBuf", "sndbuf", K_U32, 10, 0, 0 },
	{ "RcvBuf", "rcvbuf", K_U32, 10, 16, 40 },
	{ "Inode", "inode", K_U64, 8, 20, 44 },
	END
};

static const struct column connection_columns[] = {
	{ "LocalAddr", "local_addr", K_ADDR, 15, 16, 16 },
	{ "RemoteAddr", "remote_addr", K_ADDR, 15, 20, 32 },
	{ "Tos", "tos", K_U8, 4, 41, ABSENT },
	{ "NextTX", "next_tx", K_U64, 16, 0, 0 },
	{ "NextRX", "next_rx", K_U64, 16, 8, 8 },
	{ "Flgs", "flags", K_FLAGS, 4, 40, 64 },
	{ NULL, "transport", K_NAME, 0, 24, 48 },
	END
};

static const struct column message_columns[] = {
	{ "LocalAddr", "local_addr", K_ADDR, 15, 12, 12 },
	{ "LPort", "local_port", K_PORT, 5, 20, 44 },
	{ "RemoteAddr", "remote_addr", K_ADDR, 15, 16, 28 },
	{ "RPort", "remote_port", K_PORT, 5, 22, 46 },
	{ "Tos", "tos", K_U8, 4, 25, 49 },
	{ "Seq", "seq", K_U64, 16, 0, 0 },
	{ "Bytes", "bytes", K_U32, 10, 8, 8 },
	END
};

static const struct column tcp_columns[] = {
	{ "LocalAddr", "local_addr", K_ADDR, 15, 0, 0 },
	{ "LPort", "local_port", K_PORT, 5, 4, 16 },
	{ "RemoteAddr", "remote_addr", K_ADDR, 15, 6, 18 },
	{ "RPort", "remote_port", K_PORT, 5, 10, 34 },
	{ "HdrRemain", "hdr_remain", K_U64, 10, 12, 36 },
	{ "DataRemain", "data_remain", K_U64, 10, 20, 44 },
	{ "SentNxt", "sent_nxt", K_U32, 10, 28, 52 },
	{ "ExpectUna", "expect_una", K_U32, 10, 32, 56 },
	{ "SeenUna", "seen_una", K_U32, 10, 36, 60 },
	END
};

static const struct column ib_columns[] = {
	{ "LocalAddr", "local_addr", K_ADDR, 15, 0, 0 },
	{ "RemoteAddr", "remote_addr", K_ADDR, 15, 4, 16 },
	{ "Tos", "tos", K_U8, 4, 60, 84 },
	{ "SL", "sl", K_U8, 3, 61, 85 },
	{ "LocalDev", "local_dev", K_GID, 32, 8, 32 },
	{ "RemoteDev", "remote_dev", K_GID, 32, 24, 48 },
	END
};

static const struct column ib_verbose[] = {
	{ "send_wr", "send_wr", K_U32, 0, 40, 64 },
	{ "recv_wr", "recv_wr", K_U32, 0, 44, 68 },
	{ "send_sge", "send_sge", K_U32, 0, 48, 72 },
	{ "rdma_mr_max", "rdma_mr_max", K_U32, 0, 52, 76 },
	{ "rdma_mr_size", "rdma_mr_size", K_U32, 0, 56, 80 },
	{ "cache_allocs", "cache_allocs", K_U32, 0, 64, 88 },
	END
};

/* In the order of output, which the order of options does not change. */
static const struct table tables[] = {
	{ 'I', "RDS IB Connections:", "ib_connections",
	  "InfiniBand connections", RDS_INFO_IB_CONNECTIONS,
	  RDS6_INFO_IB_CONNECTIONS, RDS_TRANS_IB, ib_columns, ib_verbose },
	{ 'T', "TCP Connections:", "tcp_connections", "TCP connections",
	  RDS_INFO_TCP_SOCKETS, RDS6_INFO_TCP_SOCKETS, RDS_TRANS_TCP,
	  tcp_columns, NULL },
	{ 'c', "Counters:", "counters", "counters", RDS_INFO_COUNTERS,
	  RDS_INFO_COUNTERS, RDS_TRANS_NONE, counter_columns, NULL },
	{ 'k', "RDS Sockets:", "sockets", "RDS sockets", RDS_INFO_SOCKETS,
	  RDS6_INFO_SOCKETS, RDS_TRANS_NONE, socket_columns, NULL },
	{ 'n', "RDS Connections:", "connections", "RDS connections",
	  RDS_INFO_CONNECTIONS, RDS6_INFO_CONNECTIONS, RDS_TRANS_NONE,
	  connection_columns, NULL },
	{ 'r', "Receive Message Queue:", "recv_queue",
	  "messages received, not yet read", RDS_INFO_RECV_MESSAGES,
	  RDS6_INFO_RECV_MESSAGES, RDS_TRANS_NONE, message_columns, NULL },
	{ 's', "Send Message Queue:", "send_queue", "messages not yet sent",
	  RDS_INFO_SEND_MESSAGES, RDS6_INFO_SEND_MESSAGES, RDS_TRANS_NONE,
	  message_columns, NULL },
	{ 't', "Retransmit Message Queue:", "retrans_queue",
	  "messages sent, not yet acknowledged", RDS_INFO_RETRANS_MESSAGES,
	  RDS6_INFO_RETRANS_MESSAGES, RDS_TRANS_NONE, message_columns, NULL },
};

#define NR_TABLES (sizeof(tables) / sizeof(tables[0]))

/* Tables in /proc/net, which are printed only if the command line names them. */
struct text_table {
	char letter;
	const char *file;
	const char *heading;
	const char *key;
	const char *about;
	char bracket[2];	/* around it in JSON */
	void (*print)(const struct ri_text *t, bool all, bool verbose);
	void (*json)(const struct ri_text *t, bool all, struct rt_json *j);
};

static const struct text_table texts[] = {
	{ 'S', "rds_streams", "Streams:", "streams",
	  "connections of stream sockets (--streams)", { '[', ']' },
	  ri_streams_print, ri_streams_json },
	{ 'C', "rds_stream_stats", "Stream Counters:", "stream_counters",
	  "counters of streams (--stream-counters)", { '{', '}' },
	  ri_stats_print, ri_stats_json },
};

#define NR_TEXTS (sizeof(texts) / sizeof(texts[0]))
#define LETTERS "acknrstvITSC"

/* Longer than each record of the tables above. */
struct record {
	uint8_t bytes[128];
};

struct view {
	bool all;		/* IPv6 as well as IPv4 */
	bool verbose;
	bool json;
	bool asked;		/* the command line names tables */
	bool missed;		/* a table named there could not be read */
	struct rt_json j;
	bool table[NR_TABLES];	/* wanted */
	bool text[NR_TEXTS];
	int table_error[NR_TABLES];
	int text_error[NR_TEXTS];
};

static uint64_t number_at(const struct record *r, int off, enum kind kind)
{
	uint64_t v64;
	uint32_t v32;
	uint16_t v16;

	switch (kind) {
	case K_PORT:
		memcpy(&v16, r->bytes + off, sizeof(v16));
		return ntohs(v16);
	case K_U32:
		memcpy(&v32, r->bytes + off, sizeof(v32));
		return v32;
	case K_U64:
		memcpy(&v64, r->bytes + off, sizeof(v64));
		return v64;
	default:
		return r->bytes[off];
	}
}

static void flags_text(const struct record *r, int off, bool v6, char *out)
{
	static const char letter[] = "scCE";
	uint8_t flags = r->bytes[off];
	int i;

	/* Very old kernels: flags in the last byte of the transport's name. */
	if (!v6)
		flags |= r->bytes[39];
	for (i = 0; i < 4; i++)
		out[i] = flags & (1 << i) ? letter[i] : '-';
	out[4] = '\0';
}

static void field_text(const struct column *c, const struct record *r, bool v6,
		       char *out, size_t size)
{
	int off = v6 ? c->off6 : c->off4;
	struct in6_addr a6;

	*out = '\0';
	if (off == ABSENT) {
		snprintf(out, size, "-");
		return;
	}
	switch (c->kind) {
	case K_NAME:
		snprintf(out, size, "%.*s", c->heading ? 32 : TRANSNAMSIZ,
			 (const char *)r->bytes + off);
		break;
	case K_ADDR:
	case K_GID:
		memcpy(&a6, r->bytes + off, c->kind == K_GID || v6 ? 16 : 4);
		if (c->kind == K_ADDR && v6 && IN6_IS_ADDR_V4MAPPED(&a6))
			inet_ntop(AF_INET, &a6.s6_addr[12], out, size);
		else
			inet_ntop(c->kind == K_GID || v6 ? AF_INET6 : AF_INET,
				  &a6, out, size);
		break;
	case K_FLAGS:
		flags_text(r, off, v6, out);
		break;
	default:
		snprintf(out, size, "%" PRIu64, number_at(r, off, c->kind));
	}
}

static int width_of(const struct column *c, const struct view *v)
{
	if (v->all && c->kind == K_ADDR)
		return 37;
	if (v->all && c->kind == K_NAME)
		return 32;
	return c->width;
}

static void print_text(const struct table *t, const struct view *v,
		       const struct rt_info *info)
{
	const struct column *c;
	struct record r;
	char text[80];
	size_t i;

	printf("\n%s\n", t->heading);
	for (c = t->column; c->key; c++)
		if (c->heading)
			printf("%s%*s", c == t->column ? "" : " ",
			       width_of(c, v), c->heading);
	putchar('\n');
	for (i = 0; i < rt_info_count(info); i++) {
		rt_info_record(info, i, &r, sizeof(r));
		for (c = t->column; c->key; c++) {
			if (!c->heading)
				continue;
			field_text(c, &r, v->all, text, sizeof(text));
			printf("%s%*s", c == t->column ? "" : " ",
			       width_of(c, v), text);
		}
		for (c = t->verbose; v->verbose && c && c->key; c++) {
			field_text(c, &r, v->all, text, sizeof(text));
			printf("%s%s=%s", c == t->verbose ? "  " : ", ",
			       c->heading, text);
		}
		putchar('\n');
	}
}

static void json_columns(struct view *v, const struct column *c,
			 const struct record *r)
{
	char text[80];

	for (; c && c->key; c++) {
		int off = v->all ? c->off6 : c->off4;

		if (off == ABSENT)
			continue;
		if (c->kind == K_U8 || c->kind == K_U32 || c->kind == K_U64 ||
		    c->kind == K_PORT) {
			rt_json_u64(&v->j, c->key, number_at(r, off, c->kind));
			continue;
		}
		field_text(c, r, v->all, text, sizeof(text));
		rt_json_str(&v->j, c->key, text);
	}
}

static void print_json(const struct table *t, struct view *v,
		       const struct rt_info *info)
{
	bool counters = t->column == counter_columns;
	struct record r;
	char name[33];
	size_t i;

	rt_json_open(&v->j, t->key, counters ? '{' : '[');
	for (i = 0; i < rt_info_count(info); i++) {
		rt_info_record(info, i, &r, sizeof(r));
		if (counters) {
			field_text(t->column, &r, false, name, sizeof(name));
			rt_json_u64(&v->j, name, number_at(&r, 32, K_U64));
			continue;
		}
		rt_json_open(&v->j, NULL, '{');
		json_columns(v, t->column, &r);
		json_columns(v, t->verbose, &r);
		rt_json_close(&v->j, '}');
	}
	rt_json_close(&v->j, counters ? '}' : ']');
}

static void print_errors(struct view *v)
{
	size_t i;

	rt_json_open(&v->j, "errors", '{');
	for (i = 0; i < NR_TABLES; i++)
		if (v->table_error[i])
			rt_json_str(&v->j, tables[i].key,
				    strerror(v->table_error[i]));
	for (i = 0; i < NR_TEXTS; i++)
		if (v->text_error[i])
			rt_json_str(&v->j, texts[i].key,
				    strerror(v->text_error[i]));
	rt_json_close(&v->j, '}');
}

static void __attribute__((noreturn)) usage(void)
{
	size_t i;

	fprintf(stderr, "rds-info version " RT_VERSION "\n\n");
	fprintf(stderr,
		"usage: rds-info [-%s] [--json]; without a table all but -S and -C\n",
		LETTERS);
	for (i = 0; i < NR_TABLES; i++)
		fprintf(stderr, "  -%c  %s\n", tables[i].letter,
			tables[i].about);
	for (i = 0; i < NR_TEXTS; i++)
		fprintf(stderr, "  -%c  %s\n", texts[i].letter, texts[i].about);
	fprintf(stderr, "  -v  more columns\n  -a  IPv6 as well as IPv4\n");
	exit(1);
}

static void want(struct view *v, int letter)
{
	size_t i;

	for (i = 0; i < NR_TABLES; i++)
		v->table[i] |= tables[i].letter == letter;
	for (i = 0; i < NR_TEXTS; i++)
		v->text[i] |= texts[i].letter == letter;
	v->asked = true;
}

static void parse(struct view *v, int argc, char **argv)
{
	static const struct option longopts[] = {
		{ "json", no_argument, NULL, 'J' },
		{ "streams", no_argument, NULL, 'S' },
		{ "stream-counters", no_argument, NULL, 'C' },
		{ NULL, 0, NULL, 0 },
	};
	size_t i;
	int c;

	while ((c = getopt_long(argc, argv, LETTERS, longopts, NULL)) != -1) {
		if (c == 'a') {
			v->all = true;
			continue;
		} else if (c == 'v') {
			v->verbose = true;
			continue;
		} else if (c == 'J') {
			v->json = true;
			continue;
		} else if (c == '?') {
			fprintf(stderr, "rds-info: Invalid option '-%c'\n",
				optopt ? optopt : '-');
			usage();
		}
		want(v, c);
	}
	for (i = 0; !v->asked && i < NR_TABLES; i++)
		v->table[i] = true;
}

static void complain(const char *heading, int err)
{
	fflush(stdout);
	fprintf(stderr, "rds-info: Unable get statistics: %s (%.*s)\n",
		strerror(err), (int)strlen(heading) - 1, heading);
}

/*
 * A table that cannot be read is an error only if the command line names it:
 * by default all tables are printed, also of modules that are not loaded.
 */
static void table_failed(struct view *v, const struct table *t, int err)
{
	v->table_error[t - tables] = err;
	complain(t->heading, err);
	if (!v->asked)
		return;
	v->missed = true;
	if (t->transport != RDS_TRANS_NONE)
		rt_hint_transport(err, t->transport);
}

static int open_socket(void)
{
	int fd = rt_socket(), err = errno;

	if (fd < 0) {
		fprintf(stderr, "rds-info: Unable to create socket: %s\n",
			strerror(err));
		rt_hint_socket(err);
	}
	return fd;
}

static void print_tables(struct view *v, int fd)
{
	struct rt_info info = { 0 };
	size_t i;

	for (i = 0; i < NR_TABLES; i++) {
		const struct table *t = &tables[i];

		if (!v->table[i])
			continue;
		if (rt_info_get(fd, v->all ? t->id6 : t->id4, &info))
			table_failed(v, t, errno);
		else if (v->json)
			print_json(t, v, &info);
		else
			print_text(t, v, &info);
	}
	rt_info_free(&info);
	close(fd);
}

static void text_failed(struct view *v, const struct text_table *t, int err)
{
	v->text_error[t - texts] = err;
	v->missed = true;
	complain(t->heading, err);
	if (err == ENOENT)
		rt_hint_stream(ESOCKTNOSUPPORT, NULL);
}

static void print_texts(struct view *v)
{
	const struct text_table *t;
	struct ri_text text;

	for (t = texts; t < texts + NR_TEXTS; t++) {
		if (!v->text[t - texts])
			continue;
		if (ri_text_read(&text, t->file)) {
			text_failed(v, t, errno);
			continue;
		}
		if (v->json) {
			rt_json_open(&v->j, t->key, t->bracket[0]);
			t->json(&text, v->all, &v->j);
			rt_json_close(&v->j, t->bracket[1]);
		} else {
			printf("\n%s\n", t->heading);
			t->print(&text, v->all, v->verbose);
		}
		ri_text_free(&text);
	}
}

int main(int argc, char **argv)
{
	struct view v = { .j.out = stdout };
	bool sockets = false;
	int fd = -1;
	size_t i;

	parse(&v, argc, argv);
	for (i = 0; i < NR_TABLES; i++)
		sockets |= v.table[i];
	if (sockets) {
		fd = open_socket();
		if (fd < 0)
			return 1;
	}
	if (v.json)
		rt_json_open(&v.j, NULL, '{');
	if (sockets)
		print_tables(&v, fd);
	print_texts(&v);
	if (v.json) {
		print_errors(&v);
		rt_json_close(&v.j, '}');
	}
	return fflush(stdout) || ferror(stdout) || v.missed;
}
