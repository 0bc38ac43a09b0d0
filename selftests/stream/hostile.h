/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rds-stream-hostile: one connection after the other between a socket of this
 * program, on the streams under test, and a peer of this program that breaks
 * the rules (rogue.h). Each case is a function in a process of its own. It looks
 * at what the socket sees, at the peer's work requests, and at the counters: of
 * the reasons for which a peer is refused exactly the right one has to grow.
 */
#ifndef SELFTESTS_STREAM_HOSTILE_H
#define SELFTESTS_STREAM_HOSTILE_H

#include "rogue.h"
#include "want.h"

/**
 * struct env - where the cases run
 * @in: the peer dials; otherwise the socket does
 * @kernel: address of the socket, with port 0
 * @peer: address of the peer
 */
struct env {
	bool in;
	union addr kernel, peer;
};

extern struct env env;

/**
 * struct test - one case
 * @name: name of the result
 * @run: the case
 * @with: or a case with an argument
 * @arg: the argument
 * @who: what the peer has to do for it, by default either
 */
struct test {
	const char *name;
	void (*run)(void);
	void (*with)(const void *arg);
	const void *arg;
	enum { ANY, DIALS, ANSWERS } who;
};

extern const struct test hello_tests[], word_tests[], place_tests[],
	memory_tests[], silent_tests[], clock_tests[], crowd_tests[];

/* ---- honest.c: a stream beside the peer */

/** honest_begin() - have two processes talk to each other, both verifying */
void honest_begin(const union addr *a);

/** honest_rounds() - rounds that were right so far */
unsigned long honest_rounds(void);

/** honest_goes_on() - have all bytes of another few rounds come? */
bool honest_goes_on(void);

/** honest_end() - end them; was everything right? */
bool honest_end(void);

/* ---- counted.c: counters */

/** counted_begin() - remember all counters */
void counted_begin(void);

/** counted() - how much a counter has grown */
long counted(const char *name);

/** only() - no reason has grown, but @why, by one; NULL: none has */
#define only(why) only_at(__LINE__, why)
void only_at(int line, const char *why);

/** streams_left() - wait until there are as many connections as before */
bool streams_left(void);

/** setting() - write a number to net.rds.stream.@name */
void setting(const char *name, long value);

/* ---- meet.c: both ends */

/**
 * struct meet - a connection, or an attempt
 * @r: the peer
 * @l: listener, or -1
 * @fd: connected socket, or -1
 * @at: address of whoever listens
 * @err: what connect() gave, 0 or -errno
 * @iomap: RDMA_IOMAPSIZE of the socket, if it is not 0
 * @rcvbuf: SO_RCVBUF of the socket, if it is not 0
 * @read: bytes that reads() has read
 */
struct meet {
	struct rogue r;
	int l, fd, iomap, rcvbuf;
	union addr at;
	int err;
	uint64_t read;
};

/** opened() - open a socket for streams; calls wait for ROGUE_MS at most */
int opened(const struct meet *m, int flags);

/** meet_listen() - have the socket listen, if the peer is to dial */
void meet_listen(struct meet *m, int backlog);

/** meet_dial() - have the socket dial: the peer has its request */
void meet_dial(struct meet *m);

/**
 * meet_dialled() - wait until that is over, and look after the peer meanwhile
 *
 * Return: what connect() gave, which is @err, too.
 */
int meet_dialled(struct meet *m);

/** meet_begin() - set up both ends, which are not connected */
void meet_begin(struct meet *m);

/** meet_go() - connect them; true if both are connected */
bool meet_go(struct meet *m);

/** meets() - both: the connection has to come up */
void meets(struct meet *m);

/** works() - bytes go both ways; of the peer to the socket, and one back */
#define works(m) works_at(__LINE__, m)
void works_at(int line, struct meet *m);

/** reads() - does the socket read the next @bytes that rogue_put() has sent? */
bool reads(struct meet *m, size_t bytes);

/** send_until_full() - send byte after byte until none can be queued: how many */
size_t send_until_full(struct meet *m);

/** end_of() - read to the end: 0, or -errno */
long end_of(struct meet *m);

/**
 * over() - close the socket: the connection goes, whatever the peer does not do
 */
#define over(m) over_at(__LINE__, m)
void over_at(int line, struct meet *m);

/** refused_for() - the connection was reset, for this reason, and goes */
#define refused_for(m, why) refused_for_at(__LINE__, m, why)
void refused_for_at(int line, struct meet *m, const char *why);

/** outcome() - refused_for(), or if @why is NULL: it works, and nothing counts */
#define outcome(m, why) outcome_at(__LINE__, m, why)
void outcome_at(int line, struct meet *m, const char *why);

/** broke() - the device has ended the connection, and no reason is counted */
#define broke(m) broke_at(__LINE__, m)
void broke_at(int line, struct meet *m);

#endif
