/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rds-api, the socket API suite: a table of cases in each file. A case makes
 * system calls and writes their results into one line of text, the result of
 * the case. A case passes if its result is the expected text, so the results of
 * two stacks can be compared as well. Every case runs in a new process, in
 * namespace A (10.0.0.1, fd00::1); namespace B (10.0.0.2, fd00::2) is the other
 * host.
 *
 * The language of results (struct api_case, @want): words with one blank
 * between them, in the order of the calls that write them:
 *
 *   r("send", v)             "send=5"; "send=EINVAL" if v is -EINVAL;
 *                            r(NULL, v) writes just "5"
 *   note("family=%d", f)     the text that printf() would print
 *   sweep(i, v), for each number i that is tried, then sweep_end("len")
 *                            "len=0-15:EINVAL,16:0": the value for each number;
 *                            consecutive numbers with the same value are one
 *                            range; sweep_end(NULL) leaves "len=" out
 *   rx_note("recv", &x)      "recv=5/16": recvmsg() returned 5, the sender's
 *                            name has 16 bytes; then "+TRUNC", "+CTRUNC",
 *                            "+0x80" for bits of msg_flags, then ":276.7(8)"
 *                            for each control message: level, type, bytes.
 *                            "recv=EAGAIN" if recvmsg() failed
 *   transport_note("t", fd)  "t=2": SO_RDS_TRANSPORT of a socket, -1 is none
 *
 * Calls that only prepare a case belong in need(): need(cond) fails the case
 * with file, line and errno if cond is false. bail() fails it with a text.
 *
 * To add a case:
 *
 * 1. Write `static void what_it_does(const struct api_case *c)` in the file of
 *    its subject. Take sockets from sock(), bound() or link_open(): a receive
 *    on them fails with ETIMEDOUT after 15 s. Wait for events with wait_true(),
 *    link_sync() or poll_bits(), do not sleep. All files are closed when the
 *    case's process ends.
 * 2. Add a row to the table at the end of the file, { "bind.port1", address,
 *    "EINVAL", .arg = A4, .num = 1 }: a name that begins with the file's name,
 *    the function, the expected result, and what the function reads from @c.
 * 3. RDS_ARGS=bind.port1 CASES=api-ours selftests/vm/run.py --verbose runs the
 *    cases whose name begins with bind.port1, and prints
 *    "# result bind.port1 EINVAL": its last word is the text to expect.
 * 4. If the result of ours differs from in-tree's on purpose, in-tree's is
 *    @want and that of ours is @ours; the name of the case goes into
 *    `expected-differences` and into Documentation/differences.rst, or
 *    api-compare fails.
 *
 * Each file of cases has its name in `progs` and in TABLE_LIST below, and ends
 * its table with { }.
 */
#ifndef RDS_API_H
#define RDS_API_H

#define _GNU_SOURCE

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "rdstest.h"

#define A4	"10.0.0.1"
#define B4	"10.0.0.2"
#define A6	"fd00::1"
#define B6	"fd00::2"
#define HOLE4	"10.0.0.99"	/* no host has this address */

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define MIN_SNDBUF	2304	/* smallest effective buffers, x86-64 */
#define MIN_RCVBUF	1152
#define DEF_BUF		106496
#define MAX_MSG		(1024 * 1024)

enum ns { NS_A, NS_B, NS_INIT };

/*
 * Restrictions of a case; without them it runs on both stacks, as root and as
 * an unprivileged user.  C_TO_6 and C_FROM_7 mark two cases of one name, for
 * kernels whose generic socket layer differs.
 */
#define C_ROOT		0x1	/* only as root: the case needs privilege */
#define C_OURS		0x2	/* only on ours: would harm in-tree */
#define C_INTREE	0x4	/* only on in-tree: says nothing about ours */
#define C_NOT_6_1	0x8	/* not on 6.1: generic socket layer differs */
#define C_TO_6		0x10	/* only on kernels before 7 */
#define C_FROM_7	0x20	/* only on kernels from 7 on */

/* Rows of tables initialise only the fields that a case needs. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/**
 * struct api_case - a row of a table
 * @name: "file.what_is_tested.variant", unique; may include a CVE or the row of
 *	a bug
 * @fn: function that writes the result; several rows may share a function
 * @want: whole result expected of both stacks, compared letter by letter
 * @ours: result expected of ours if it differs from in-tree's @want on purpose,
 *	otherwise NULL
 * @flags: C_*, restrictions on where the case runs
 * @arg: argument of @fn, mostly an address
 * @num: argument of @fn, mostly a port or an enum topo
 * @num2: argument of @fn
 */
struct api_case {
	const char *name;
	void (*fn)(const struct api_case *c);
	const char *want;
	const char *ours;
	unsigned int flags;
	const char *arg;
	long num;
	long num2;
};

/*
 * main.c: whether ours is the stack loaded, whether cases run unprivileged, and
 * the factor by which time limits grow on slow machines
 */
extern bool ours, user_mode;
extern int time_scale;

/* result.c */
struct result {
	bool done;
	bool failed;
	unsigned int len;
	char text[16384];
	char why[512];
};

extern struct result *result;
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void r(const char *label, long v);
const char *val_name(long v, char buf[32]);
void sweep(long i, long v);
void sweep_end(const char *label);
void bail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
#define need(cond) \
	do { \
		if (!(cond)) \
			bail("%s:%d: %s (errno %d)", __FILE__, __LINE__, #cond, errno); \
	} while (0)

/* addr.c */
const char *link_local(char buf[64]);
int lane0_port(void);

/* ns.c */
void ns_start(const char *ns_a, const char *ns_b);
int ns_socket(enum ns ns, int family, int type, int protocol);
int ns_open(enum ns ns, const char *path, int flags);

/* sock.c */
struct ctl {
	size_t len;
	union {
		struct cmsghdr align;
		char b[8192];
	};
};

struct rx {
	long ret;
	union addr from;
	socklen_t fromlen;
	int flags;
	size_t ctllen;
	union {
		struct cmsghdr align;
		char ctl[1024];
	};
};

int sock(void);
int sock_in(enum ns ns);
int bound(enum ns ns, const char *host, int port);
int port_of(int fd);
long do_bind(int fd, const char *host, int port);
long do_connect(int fd, const char *host, int port);
long set_int(int fd, int level, int opt, int v);
long get_int(int fd, int level, int opt);
long set_opt(int fd, int level, int opt, const void *v, socklen_t len);
void transport_note(const char *label, int fd);
void ctl_add(struct ctl *c, int level, int type, const void *data, size_t len);
long send_msg(int fd, const union addr *to, const void *buf, size_t len,
	      const struct ctl *c, int flags);
long send_to(int fd, const union addr *to, size_t len, int flags);
struct rx rx_msg(int fd, void *buf, size_t len, size_t ctlroom, int flags);
void rx_note(const char *label, const struct rx *x);
const void *rx_cmsg(const struct rx *x, int level, int type, size_t *len);
int poll_bits(int fd, int events, int timeout_ms);

/*
 * link.c: two sockets, one sending to the other: from A to B over TCP (TCP4,
 * TCP6), between sockets of one address of A (SELF4, SELF6), or over loopback
 * (LO4, LO6)
 */
enum topo { TCP4, TCP6, SELF4, SELF6, LO4, LO6 };
#define TOPOS	6

struct link {
	enum topo topo;
	int tx, rx;
	union addr from, to;
};

extern const char *const topo_names[TOPOS];
struct link link_open(enum topo t);
void link_sync(const struct link *l);
void warm_up(void);
int hole_full(int sndbuf);

/* wait.c */
bool wait_true(bool (*fn)(void *), void *arg, int ms);
bool in_time(long ms, long least, long most);
void nap(void);
long counter(int fd, const char *name);
void until_blocked(int tid);
void *page_hole(size_t good);
int other_user(void);

#define TABLE_LIST(X) \
	X(bind) X(connect) X(names) X(send) X(sendmem) X(cmsg) X(recv) X(recvmem) X(poll) \
	X(sockopt) X(transport) X(info) X(records) X(counters) X(cong) X(monitor) X(zcopy) \
	X(stamp) X(loop) X(ioctl) X(cancel) X(race) X(regress) X(sysctl) X(access)
#define X(t) extern const struct api_case t##_cases[];
TABLE_LIST(X)
#undef X

#endif
