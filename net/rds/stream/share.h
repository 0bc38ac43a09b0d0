/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For whom a stream is, so that no user takes all from the others.
 *
 * The parties that use streams are spread over shares by a hash with a secret.
 * A share is a number below RDS_DEV_SHARES.  Root has one of its own.  All
 * others may have three quarters of the connections of a namespace, and so may
 * requests that are not accepted, which count in the listener's share as well.
 *
 * A user is a party.  All users of a user namespace below the one that counts
 * are a single party, however many numbers it has: the user that made the user
 * namespace or, if root did, as for a container, its own root.  A namespace of
 * root's that has no root, or whose root is root, is as none.  For the
 * attempts of a device the initial user namespace counts, for the connections
 * of a network namespace that which owns it.
 *
 * Lifetime: a socket has the shares of the process that made it, or those of
 * its listener; a connection those of its socket.
 *
 * Locks: none.  rds_ss_conn.in_share is written before anybody else sees the
 * connection; .is_request as well, and by who accepts it, once.
 */
#ifndef _RDS_STREAM_SHARE_H
#define _RDS_STREAM_SHARE_H

#include <linux/types.h>

struct rds_ss_net;

/* Of connections; the others are those of rds_dev_id.share */
#define RDS_SS_SHARE_PEERS	0	/* requests that are not accepted */
#define RDS_SS_SHARE_ROOT	1

/**
 * struct rds_ss_shares - shares of a socket
 * @dev: of attempts at a device
 * @net: of the connections of its network namespace
 */
struct rds_ss_shares {
	u8	dev;
	u8	net;
};

/* Shares of this process for its sockets of @sn */
struct rds_ss_shares rds_ss_shares_of_current(const struct rds_ss_net *sn);

/*
 * One connection more in @share of @sn; @request: a peer asks for it.  False if
 * that is one too many, which is counted.
 */
bool rds_ss_share_enter(struct rds_ss_net *sn, u8 share, bool request);

/* That connection has ended. */
void rds_ss_share_leave(struct rds_ss_net *sn, u8 share, bool request);

/* A request was accepted, and waits no more. */
void rds_ss_share_accepted(struct rds_ss_net *sn, bool *request);

#endif
