/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the peer that breaks the rules share (hostile.c and its like). */
#ifndef SELFTESTS_HOSTILE_H
#define SELFTESTS_HOSTILE_H

#include "fake.h"

extern struct fake f;
extern uint8_t *data;		/* payload for whatever is sent */
extern double slow;		/* how many times longer all may take */

/* A connection over which a good message was just answered */
bool fresh(void);

/* Does a message arrive as it was, over a connection that may have to be made first? */
bool echo_once(uint32_t len);

/* The module's count of drops of that name; negative if it cannot be had. */
long long drops(const char *name);

/* After what the peer did, the connection must end for that reason, and a new one must work. */
void ends(const char *name, const char *why, long long before, bool sent);

/* crossing.c: attempts of both ends at once; the module's address there is the larger one */
void crossing(const char *self, const char *larger);

/* joined.c: several messages in one frame, right and wrong */
void joined(void);

#endif
