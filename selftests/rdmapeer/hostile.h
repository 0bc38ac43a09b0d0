/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Declarations shared by the files of rds-hostile (hostile.c and others). */
#ifndef SELFTESTS_HOSTILE_H
#define SELFTESTS_HOSTILE_H

#include "fake.h"

extern struct fake f;
extern uint8_t *data;		/* payload of all messages */
extern double slow;		/* factor for all time limits */
extern const char *family;	/* end of results' names: "" or ".v6" */

/* Open a connection if there is none. */
bool connected(void);

/* Open a new connection; true once a message was answered over it. */
bool fresh(void);

/* Wait for a message that begins with @begin. */
bool answered(const char *begin, char *answer, size_t room);

/*
 * Does a message arrive unchanged, over a connection that is opened if there is
 * none?
 */
bool echo_once(uint32_t len);

/* Does echo_once() succeed, at the second try over a new connection? */
bool echo(uint32_t len);

/*
 * The module's counter of drops for reason @name; negative if unknown or not
 * readable.
 */
long long drops(const char *name);

/*
 * After the peer's violation the connection must end for reason @why, and a new
 * connection must work.
 */
void ends(const char *name, const char *why, long long before, bool sent);

/* credits.c: frames for which there is no receive */
void credits(void);

/*
 * crossing.c: simultaneous attempts of both ends; @larger is the module's
 * larger address
 */
void crossing(const char *self, const char *larger);

/* requests.c: private data of requests and of replies */
void requests(void);
void replies(void);

/* handshake.c: messages that only TCP has */
void handshake(void);

/* joined.c: several messages in one frame, correct and not */
void joined(void);

#endif
