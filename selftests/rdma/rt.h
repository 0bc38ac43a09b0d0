/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rds-rdmat: tests of messages and remote memory over RDMA. One end is the
 * agent, which carries out requests that it receives over a TCP connection (the
 * control connection); the other end is the driver, which runs the tests and
 * prints their results. Both run unchanged on in-tree RDS and on this module.
 */
#ifndef RDS_SELFTEST_RT_H
#define RDS_SELFTEST_RT_H

#include <stdarg.h>
#include <stdio.h>
#include <sys/uio.h>

#include "rdstest.h"

#define AGENT_MEM	(8u << 20)
#define MAX_MSG		(1u << 20)
#define MAX_TOKENS	65536
#define STATUS_NONE	(-1)

typedef unsigned long long ull;

struct rt_addr {
	struct sockaddr_storage ss;
	socklen_t len;
};

struct rt {
	struct rt_addr self, peer;
	const char *stack, *peer_stack, *dev;
	unsigned int ctl_port, port, slow, count, resets;
	uint64_t seed;
	bool agent, v6, ours, peer_ours, siw, link_up;
	bool light;			/* RDS_LOAD: fewer repetitions */
	const char *ctl, *way, *label;
	int ctlfd, fd;			/* control connection, RDS socket */
	long lost;			/* agent: reload_lost() at ASK_OPEN */
	uint8_t *mem;			/* agent: target of operations */
	/*
	 * driver: number of notifications and last status of an operation, by
	 * token
	 */
	uint8_t told[MAX_TOKENS];
	int32_t status[MAX_TOKENS];
	unsigned int notes, strange;
	/*
	 * exchange(): connections that came up again after a cut, and their
	 * times in ms
	 */
	unsigned int backs, back_sum, back_most;
	unsigned int amid;	/* cuts at which messages were unacknowledged */
};

/* Requests of the driver to the agent */
enum ask {
	ASK_OPEN = 1,	/* a0 port: open a new socket, close the old one */
	ASK_FILL,	/* a0 offset, a1 length, a2 seed; seed 0: zeros */
	ASK_CHECK,	/* like FILL; v0 0, or first wrong byte + 1 */
	ASK_READ64,	/* a0 offset */
	ASK_WRITE64,	/* a0 offset, a1 value */
	ASK_KEY,	/* a0 offset, a1 length, a2 flags, a3 enum how, a4 port for MAP; v0 cookie */
	ASK_FREE,	/* a0 cookie, a1 flags */
	ASK_FREE_ANY,	/* like FREE, but the key may be gone already */
	ASK_DEST,	/* a0 cookie, a1 port: send the cookie */
	ASK_RECV,	/* a0 ms; v0 length, v1 cookie of RDMA_DEST, v2 first eight bytes */
	ASK_COUNTER,	/* text: name of the counter */
	ASK_PINS,	/* v0: pages pinned now */
	ASK_SHELL,	/* text: command */
	ASK_MSG,	/* a0 seed, a1 count, a2 resets, a3 port; text: way; v0-v3: rt.backs and on */
	ASK_POKE,	/* cut the connection at the agent's end */
	ASK_SEEN,	/* a0 ids, a1 ms to wait; v0 received, v1 wrong */
	ASK_FREE_TOLD,	/* a0 messages; free the key that each names */
	ASK_TAKE,	/* a0 end, a1 ms; v0 first, v1 last + 1, v2 wrong */
	ASK_RELOAD,	/* reload rds_rdma; v3 messages lost by that */
	ASK_JOINED,	/* a0 messages, a1 ms; v0 correct ones (joined.c) */
	ASK_FLOOD,	/* a0 messages from each of eight addresses, a1 port */
	ASK_HELD,	/* a0 messages, a1 length, a2 queue or forget, a3 type of service (held.c) */
	ASK_FULL,	/* a0 messages, a1 length; v0 read, v1 in order (held.c) */
	ASK_CONNECTED,	/* v0: the connection to the driver is up */
	ASK_SAY,	/* a0 port: send a message of four bytes */
	ASK_QUIT,
};

enum how { HOW_MAP, HOW_GET_MR, HOW_FOR_DEST, HOW_LAST };

struct areq {
	uint32_t op, pad;
	uint64_t a[6];
	char text[128];
};

struct aresp {
	int32_t err, pad;	/* errno of the request, or 0 */
	uint64_t v[4];
	char text[200];
};

struct rdma_op {
	uint64_t cookie, remote, bytes, flags, token;
	struct rds_iovec *vec;
	uint64_t nvec;
	const void *data;	/* payload of the message of the operation */
	size_t len;
};

/*
 * result.c: one line each; a test that cannot run is skipped with "name:
 * reason"
 */
bool rt_ok(bool cond, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void rt_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void rt_plan(int n);
int rt_exit(void);

/* util.c */
uint64_t mix64(uint64_t x);
bool rt_addr_parse(struct rt_addr *a, const char *text);
void rt_addr_port(struct rt_addr *a, uint16_t port);
void pattern(uint8_t *p, size_t len, uint64_t seed, uint64_t pos);
size_t pattern_diff(const uint8_t *p, size_t len, uint64_t seed, uint64_t pos);
long counter(const char *name);
long drops(const char *name);
unsigned int rt_slow(void);
/* Time in which this end does nothing, to be compared with what a connection does */
void nap(const struct rt *r, unsigned int ms);
long pins(void);
int run_shell(const char *cmd);
bool connected(const struct rt *r);
unsigned int unacked_from(const struct rt *r, uint16_t port);

/* refuse.c; a refused_fn returns a status, or a negative errno */
typedef int refused_fn(struct rt *r, const void *arg, uint64_t token);
int refusal(struct rt *r, refused_fn *post, const void *arg);
bool is_refusal(const struct rt *r, int status);

/* sock.c */
int rt_open(const struct rt_addr *self, uint16_t port);
int rt_open_both(struct rt *r, const char *self, const char *peer,
		 uint16_t port, struct rt_addr *there);
int rdma_send(int fd, const struct rt_addr *to, const struct rdma_op *op);
int cmsg_send(int fd, const struct rt_addr *to, int type, const void *arg,
	      size_t arglen, const void *data, size_t len);
int take_key(int fd, const struct rt_addr *dest, enum how way, void *p,
	     uint64_t len, uint64_t flags, uint64_t *cookie);
int free_key(int fd, uint64_t cookie, uint64_t flags);
int recv_one(struct rt *r, int fd, void *buf, size_t size, int ms,
	     uint64_t *cookie);
int wait_token(struct rt *r, int fd, uint64_t token, int ms);
void forget_tokens(struct rt *r);
int poke(struct rt *r);

/* ctl.c */
int ctl_open(const struct rt *r);
int ask(struct rt *r, const struct areq *req, struct aresp *resp);
void ask_begin(struct rt *r, const struct areq *req);
int ask_end(struct rt *r, struct aresp *resp);
bool ask_answered(struct rt *r);
long counter_of(struct rt *r, const char *name, bool there);
void turn_pass(struct rt *r);
bool turn_came(struct rt *r);
void turns_drop(struct rt *r);
uint64_t ask4(struct rt *r, enum ask op, uint64_t a0, uint64_t a1, uint64_t a2,
	      uint64_t a3);
int agent(struct rt *r);

/*
 * The tests. plan_X() is the number of results that test_X() prints if none
 * fails.
 */
bool exchange(struct rt *r, int fd, const struct rt_addr *to, uint64_t seed,
	      unsigned int dir, uint64_t count, unsigned int resets,
	      const char *way, char *what, size_t size);
int fetch_key(struct rt *r, enum how way, uint64_t off, uint64_t len,
	      uint64_t flags, uint64_t *cookie);
struct rt_addr agent_at(const struct rt *r);
bool start(struct rt *r, unsigned int port);
int one_op(struct rt *r, uint64_t cookie, uint64_t remote, void *local,
	   size_t len, uint64_t flags, uint64_t token, bool wait);
bool mends(struct rt *r, const char *name);
void test_msg(struct rt *r);
void test_rmem(struct rt *r);
void test_flags(struct rt *r);
void test_atomic(struct rt *r);
void test_bad(struct rt *r);
void test_badkey(struct rt *r);
void test_kill(struct rt *r);
void test_resets(struct rt *r);
void test_opresets(struct rt *r);
void test_fresh(struct rt *r);
void test_freed(struct rt *r);
void test_placed(struct rt *r);
void test_stall(struct rt *r);
void test_reload(struct rt *r);
void test_joined(struct rt *r);
void test_held(struct rt *r);
void test_idle(struct rt *r);
int plan_msg(const struct rt *r);
int plan_rmem(const struct rt *r);
int plan_flags(const struct rt *r);
int plan_atomic(const struct rt *r);
int plan_bad(const struct rt *r);
int plan_badkey(const struct rt *r);
int plan_kill(const struct rt *r);
int plan_resets(const struct rt *r);
int plan_opresets(const struct rt *r);
int plan_fresh(const struct rt *r);
int plan_freed(const struct rt *r);
int plan_placed(const struct rt *r);
int plan_stall(const struct rt *r);
int plan_reload(const struct rt *r);
int plan_joined(const struct rt *r);
int plan_held(const struct rt *r);
int plan_idle(const struct rt *r);
int held_flood(struct rt *r, const struct areq *q, struct aresp *a);
int held_full(struct rt *r, const struct areq *q, struct aresp *a);
int joined_take(struct rt *r, const struct areq *q, struct aresp *a);
long reload_lost(void);
int reload_module(struct rt *r, struct aresp *a);
int reload_take(struct rt *r, const struct areq *q, struct aresp *a);
int stall_flood(struct rt *r, const struct areq *q);

#endif
