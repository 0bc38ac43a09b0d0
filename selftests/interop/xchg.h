/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rds-xchg: a checked exchange of messages between two addresses, in both
 * directions at once. Length and content of message i of a stream are functions
 * of (seed, direction, stream, i), so the receiver knows which message must be
 * next and can tell a lost message from a duplicate, a reordered or a damaged
 * one.
 */
#ifndef RDS_SELFTEST_XCHG_H
#define RDS_SELFTEST_XCHG_H

#include "rdstest.h"

#define MS		1000000ull
#define XMAGIC		0x58434847u
#define XHDR_LEN	sizeof(struct xhdr)
#define EXIT_ABANDONED	3
#define MAX_STREAMS	16
#define MAX_MSG		(1u << 20)

struct xhdr {
	uint32_t magic;
	uint32_t stream;
	uint64_t index;
	uint64_t sent_ns;
	uint32_t len;
	uint32_t tag;		/* low half of the direction's seed */
	uint64_t hash;		/* over the bytes after the header */
};

enum mix { MIX_SPREAD, MIX_FLAT };

/* The sequence of message lengths of one direction of one stream. */
struct plan {
	uint64_t seed, rng, total, max_bytes;
	uint32_t *len;
	uint64_t n, cap;
	uint32_t min, max;
	enum mix mix;
};

struct opts {
	union addr self, peer;
	const char *ctl, *sniff, *breaker;
	bool ctl_listen, same_clock, tx_lossy, tolerate_lost_wakeup, abandon;
	unsigned int streams, port, slow_rounds, resets, timeout, stuck;
	uint32_t min_len, max_len, rcvbuf, sndbuf;
	uint64_t count, seed, max_bytes, latency_max_ms;
	enum mix mix;
	const char *label;
};

struct bits {
	uint8_t *b;
	uint64_t cap;		/* bytes */
};

struct txs {
	struct plan plan;
	uint64_t next, total, hash, built_hash, bytes;
	uint64_t enobufs, eagain, tail_start, stall_req, lost_wakeups;
	uint64_t congested_since, tail_at;
	uint64_t suspect_at;	/* time of a send without a wake-up; or 0 */
	uint8_t *buf;
	uint32_t len;
	bool built, congested, full, tail, tail_seen, done;
};

struct rxs {
	struct plan plan;
	struct bits seen;
	/* high = highest index + 1 */
	uint64_t got, high, total, hash, bytes;
	uint64_t dup, reorder, bad, tail_start, last_ns, max_gap, max_lat,
		max_lat_idx;
	uint64_t peer_hash, stall_at, stall_no, stalls_ok;
	uint32_t max_lat_len;
	bool tail, tail_told, total_known, stalled, done;
};

struct stream {
	int fd;
	uint16_t port;
	struct txs tx;
	struct rxs rx;
};

/* The other end's report on what it received from this end. */
struct verdict {
	uint64_t got, missing, dup, reorder, bad, hash, bytes, unacked_missing;
	bool known;
};

enum break_state { BREAK_NONE, BREAK_RUNS, BREAK_HEALED };

#define MAX_KINDS	16

/* Longest times without a message of a stream, from a break on */
struct break_kind {
	char name[32];
	unsigned int times;
	uint64_t gap;		/* at all */
	uint64_t after;		/* after the network was healed */
};

struct breaks {
	int fd;
	enum break_state state;
	char name[32];
	uint64_t began, healed, gap;
	struct break_kind kinds[MAX_KINDS];
};

struct xchg {
	struct opts o;
	struct stream s[MAX_STREAMS];
	struct verdict v[MAX_STREAMS];
	int ctl;
	char ctlbuf[8192];
	size_t ctllen;
	bool peer_lossy, peer_fin, sent_result, resets_done, my_turn, sniffing;
	unsigned int reset_no, resets_here;
	uint64_t reset_at, reset_by, progress_ns, start_ns, reset_rng;
	uint8_t *rbuf;
	struct breaks brk;
};

/* xmsg.c */
uint64_t mix64(uint64_t x);
uint64_t rng_next(uint64_t *s);
void plan_init(struct plan *p, const struct opts *o, unsigned int dir,
	       unsigned int stream);
uint32_t plan_len(struct plan *p, uint64_t idx);
uint64_t msg_build(uint8_t *buf, const struct plan *p, unsigned int stream,
		   uint64_t idx, uint32_t len, uint64_t now);
bool msg_parse(const uint8_t *buf, size_t len, struct plan *p,
	       unsigned int stream, uint64_t expect, struct xhdr *out);
bool bits_test(const struct bits *b, uint64_t i);
void bits_set(struct bits *b, uint64_t i);

/* xopt.c */
void opts_parse(struct opts *o, int argc, char **argv);
void addr_mapped(const union addr *a, uint8_t out[16]);

/* xtx.c, xrx.c */
void tx_work(struct xchg *x, unsigned int i);
void tx_finish(struct xchg *x, unsigned int i, uint64_t total);
void rx_work(struct xchg *x, unsigned int i);

/* xbreak.c; break_one() returns whether one more break is over */
void break_open(struct xchg *x);
bool break_one(struct xchg *x);
void break_heard(struct xchg *x, uint64_t last, uint64_t now);
void break_report(const struct xchg *x);

/* xline.c; hello() checks the peer's HELLO, or sends one if @line is NULL */
void hello(struct xchg *x, char *line);
void take_token(struct xchg *x);
void on_line(struct xchg *x, char *line);

/* xctl.c */
int ctl_open(const struct opts *o);
void ctl_say(struct xchg *x, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
bool ctl_lines(struct xchg *x, void (*fn)(struct xchg *x, char *line));

/* xdiag.c: 1 if a connection with unacknowledged data was destroyed */
int diag_reset_one(const struct opts *o, uint64_t *rng);
void diag_reset_all(const struct opts *o);

/* xsniff.c */
int sniff_start(const struct opts *o);
void sniff_stop(void);
/* True if the peer's TCP acknowledged this message of this end. */
bool sniff_acked(unsigned int stream, uint64_t idx);
/*
 * A message of the peer: true if the sniffer saw it to its last byte; true if
 * this end's TCP acknowledged it.
 */
bool sniff_whole(unsigned int stream, uint64_t idx);
bool sniff_taken(unsigned int stream, uint64_t idx);
/* True if the sniffer missed no packet. */
bool sniff_complete(void);
bool sniff_map_congested(uint16_t port);
void sniff_report(void);

/* xreport.c */
void report_state(const struct xchg *x);
void send_results(struct xchg *x);
bool judge(struct xchg *x);

#endif
