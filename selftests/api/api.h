/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Socket API suite: one table of cases a file. A case writes what it saw into its result string
 * (errno names, values) and passes when that string is the expected one, so that the same strings
 * of two stacks can be compared afterwards. Every case runs in a process of its own.
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
#include <linux/rds.h>

#ifndef AF_RDS
#define AF_RDS	21
#endif

#define A4	"10.0.0.1"
#define B4	"10.0.0.2"
#define A6	"fd00::1"
#define B6	"fd00::2"
#define HOLE4	"10.0.0.99"	/* nobody answers there */

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define MIN_SNDBUF	2304	/* smallest effective buffers, x86-64 */
#define MIN_RCVBUF	1152
#define DEF_BUF		106496
#define MAX_MSG		(1024 * 1024)

enum ns { NS_A, NS_B, NS_INIT };

#define C_ROOT		0x1	/* needs privilege: not run as an ordinary user */
#define C_OURS		0x2	/* not run on in-tree, which it would harm */
#define C_INTREE	0x4	/* only a statement about in-tree */
#define C_NOT_6_1	0x8	/* there the generic layer answers otherwise */

/* Tables name only what a case needs. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

struct api_case {
	const char *name;
	void (*fn)(const struct api_case *c);
	const char *want;	/* the result of both stacks */
	const char *ours;	/* that of ours where it differs on purpose */
	unsigned int flags;
	const char *arg;
	long num;
	long num2;
};

/* main.c */
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
union addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_storage ss;
};

union addr addr_of(const char *host, int port);
socklen_t addr_len(const union addr *a);
int addr_port(const union addr *a);
bool addr_eq(const union addr *a, const union addr *b);
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
union addr name_of(int fd);
long do_bind(int fd, const char *host, int port);
long do_connect(int fd, const char *host, int port);
long set_int(int fd, int level, int opt, int v);
long get_int(int fd, int level, int opt);
long set_opt(int fd, int level, int opt, const void *v, socklen_t len);
void transport_note(const char *label, int fd);
void set_timeo(int fd, int opt, int ms);
void ctl_add(struct ctl *c, int level, int type, const void *data, size_t len);
long send_msg(int fd, const union addr *to, const void *buf, size_t len, const struct ctl *c,
	      int flags);
long send_to(int fd, const union addr *to, size_t len, int flags);
struct rx rx_msg(int fd, void *buf, size_t len, size_t ctlroom, int flags);
void rx_note(const char *label, const struct rx *x);
const void *rx_cmsg(const struct rx *x, int level, int type, size_t *len);
int poll_bits(int fd, int events, int timeout_ms);
void fill(void *buf, size_t len, unsigned int seed);
bool filled(const void *buf, size_t len, unsigned int seed);

/* link.c: two sockets, one sending to the other, over one of the ways there are */
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
void nap(void);
long now_ms(void);
void until_blocked(int tid);
void *page_hole(size_t good);
int other_user(void);

/* snap.c */
struct snap {
	long ret;
	socklen_t len;
	unsigned int n;
	char *p;
};

struct snap snap(int fd, int opt);
void snap_free(struct snap *s);
long counter(int fd, const char *name);

#define TABLE_LIST(X) \
	X(bind) X(connect) X(names) X(send) X(sendmem) X(cmsg) X(recv) X(recvmem) X(poll) \
	X(sockopt) X(transport) X(info) X(records) X(counters) X(cong) X(monitor) X(zcopy) \
	X(stamp) X(loop) X(ioctl) X(cancel) X(race) X(regress) X(sysctl)
#define X(t) extern const struct api_case t##_cases[];
TABLE_LIST(X)
#undef X

#endif
