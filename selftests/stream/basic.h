/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rds-stream-basic: what a program sees of a stream socket, on TCP, on AF_RDS
 * and on IPPROTO_RDS_STREAM. Each case is one function that runs on all, in a
 * process of its own; what it wants is what TCP gives, so a run on TCP tests the
 * case itself. What is not as on TCP has a row in Documentation/differences.rst,
 * see UNLIKE().
 */
#ifndef SELFTESTS_STREAM_BASIC_H
#define SELFTESTS_STREAM_BASIC_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include <linux/rds_stream.h>

#include "rdstest.h"
#include "want.h"

#define WAIT_MS		(10000 * slow_factor())

/**
 * struct env - what the cases run on
 * @kind: tcp, rds or inet
 * @test: name of the case that runs
 * @family: first argument of socket(), AF_RDS or that of @server
 * @protocol: third argument of socket()
 * @server: address of listeners, with port 0
 * @client: address to which connecting sockets are bound; without a family they
 *	are not bound
 */
struct env {
	const char *kind, *test;
	int family, protocol;
	union addr server, client;
};

extern struct env env;

/**
 * struct test - one case
 * @name: name of the result
 * @run: the case; it calls WANT() and the like, and returns
 */
struct test {
	const char *name;
	void (*run)(void);
};

extern const struct test setup_tests[], call_tests[], option_tests[],
	end_tests[], poll_tests[], bulk_tests[], inet_tests[], unlike_tests[];

/**
 * struct pair - a connection within this process
 * @l: the listener, which stays open
 * @a: the end that connected
 * @b: the end that was accepted
 */
struct pair {
	int l, a, b;
};

/** opened() - open a stream socket; @flags: SOCK_NONBLOCK or 0 */
int opened(int flags);

/** dialler() - open a socket that is going to connect */
int dialler(int flags);

/** listening() - open a listener; *@a is set to its address */
int listening(union addr *a, int backlog);

/** dial() - connect() to *@a; returns 0 or -errno */
int dial(int fd, const union addr *a);

/** so_error() - what SO_ERROR of @fd says, which is then told */
int so_error(int fd);

/** paired() - make a connection */
struct pair paired(void);

/** unpair() - close all three */
void unpair(struct pair *p);

/** nonblocking() - set or clear O_NONBLOCK */
void nonblocking(int fd, bool on);

/** put() - send @len bytes of fill() with @seed, all of them */
void put(int fd, size_t len, unsigned int seed);

/** got() - receive @len bytes; returns whether they are those of put() */
bool got(int fd, size_t len, unsigned int seed);

/** arrived() - wait until @len bytes can be read at @fd, and no more */
bool arrived(int fd, int len);

/** fill_up() - send until it would block; returns the number of bytes */
size_t fill_up(int fd);

/**
 * struct sleeper - a call in a thread of its own
 * @call: makes the call; what it returns becomes @result
 * @fd: the socket
 * @flags: for recv()
 * @len: bytes of @buf to receive
 * @buf: for what is received
 * @tid: the thread
 * @result: what the call returned, or -errno
 */
struct sleeper {
	long (*call)(struct sleeper *s);
	int fd, flags;
	size_t len;
	char buf[4096];
	volatile pid_t tid;
	long result;
};

/** sleeping() - start the thread and wait until it sleeps in its call */
pthread_t sleeping(struct sleeper *s);

/** receives() - a call of a sleeper: recv() */
long receives(struct sleeper *s);

/** poll_is() - wait until poll() reports @bits and no others */
#define poll_is(fd, bits) want_poll(__LINE__, #fd, fd, bits)
void want_poll(int line, const char *what, int fd, short bits);

/**
 * UNLIKE() - a call whose result on TCP need not be that on streams
 * @id: row of Documentation/differences.rst
 * @call: the call; it returns what is wanted, or fails with -wanted
 * @tcp: what is wanted on TCP
 * @rds: what is wanted on AF_RDS
 * @inet: what is wanted on IPPROTO_RDS_STREAM
 *
 * Prints the id and the case where the result is not to be TCP's, for rows.py.
 */
#define UNLIKE(id, call, tcp, rds, inet) \
	unlike_at(__LINE__, id, #call, err(call), tcp, rds, inet)
void unlike_at(int line, const char *id, const char *what, long got, long tcp,
	       long rds, long inet);

/** child_ok() - wait for a child of fork(); returns whether it exited with 0 */
bool child_ok(pid_t pid);

#endif
