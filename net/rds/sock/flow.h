/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The flow that a socket sends in; conn/flowlet.c has the rules. */
#ifndef _RDS_SOCK_FLOW_H
#define _RDS_SOCK_FLOW_H

#include <linux/types.h>

struct rds_conn;

/**
 * struct rds_sock_flow - where a socket sends the messages of one flow, see
 * conn/flowlet.c
 * @conn: connection, to compare only: it may be gone; NULL: no flow yet
 * @last: number, on @lane, of the last message or of one behind it; U64_MAX:
 *	not known
 * @dport: RDS port of the destination, host order
 * @nr: number of lanes that @usual and @lane are for
 * @usual: lane that the ports of the flow say
 * @lane: lane of its messages
 * @users: contexts that are about to queue a message of the socket
 */
struct rds_sock_flow {
	const struct rds_conn	*conn;
	u64			last;
	u16			dport;
	u8			nr;
	u8			usual;
	u8			lane;
	unsigned int		users;
};

#endif
