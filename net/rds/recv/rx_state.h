/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The receive side of a path.
 *
 * One context at a time delivers the messages of a path (include/net/rds/rx.h),
 * and only that context changes the state here, so there is no lock.  Between
 * two connections, and at the end of the path, the holder of the path's control
 * mutex changes the state.  A new generation number of the peer resets
 * `expected` of all paths of the connection.  Dumps read `expected` at any
 * time.
 */
#ifndef _RDS_RECV_RX_STATE_H
#define _RDS_RECV_RX_STATE_H

#include <linux/types.h>

#include <net/rds/rx.h>

struct rds_cong_map;
struct rds_handshake;
struct rds_net;
struct rds_path;

/*
 * Functions of the path's owner for messages to the kernel; called by the
 * receiver, do not sleep
 */
struct rds_probe_ops {
	/* Answer a ping from @sport (host order). */
	void (*ping)(struct rds_path *path, u16 sport);
	/* Apply the peer's handshake, and answer it if @answer. */
	void (*handshake)(struct rds_path *path, const struct rds_handshake *hs,
			  bool answer);
};

/**
 * struct rds_rx_state - receive state of one path
 * @path: path of the state
 * @rn: namespace of the path
 * @fmap: congestion map of the peer's address; the connection holds the
 *	reference
 * @ops: functions for pings and handshakes
 * @heard: a message arrived over the present connection
 * @mapped: the path is counted as a source of @fmap, see rds_cong_source_add()
 * @expected: number of the next message, 0 before the first; kept when the path
 *	is lost
 */
struct rds_rx_state {
	struct rds_path			*path;
	struct rds_net			*rn;
	struct rds_cong_map		*fmap;
	const struct rds_probe_ops	*ops;
	bool				heard;
	bool				mapped;
	u64				expected;
};

static inline void rds_rx_state_init(struct rds_rx_state *rx,
				     struct rds_path *path, struct rds_net *rn,
				     struct rds_cong_map *fmap,
				     const struct rds_probe_ops *ops)
{
	rx->path = path;
	rx->rn = rn;
	rx->fmap = fmap;
	rx->ops = ops;
	rx->heard = false;
	rx->mapped = false;
	rx->expected = 0;
}

#endif
