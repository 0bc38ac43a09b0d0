/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counters of the core, per network namespace and CPU, in the order in which
 * RDS_INFO_COUNTERS reports them (protocol.rst 6.8).  Drop reasons, in the
 * order of /proc/net/rds/drops.
 */
#ifndef _NET_RDS_STATS_H
#define _NET_RDS_STATS_H

#include <linux/types.h>

struct net;

#define RDS_STATS(_)			\
	_(conn_reset)			\
	_(recv_drop_bad_checksum)	\
	_(recv_drop_old_seq)		\
	_(recv_drop_no_sock)		\
	_(recv_drop_dead_sock)		\
	_(recv_deliver_raced)		\
	_(recv_delivered)		\
	_(recv_queued)			\
	_(recv_immediate_retry)		\
	_(recv_delayed_retry)		\
	_(recv_ack_required)		\
	_(recv_rdma_bytes)		\
	_(recv_ping)			\
	_(send_queue_empty)		\
	_(send_queue_full)		\
	_(send_lock_contention)		\
	_(send_lock_queue_raced)	\
	_(send_immediate_retry)		\
	_(send_delayed_retry)		\
	_(send_drop_acked)		\
	_(send_ack_required)		\
	_(send_queued)			\
	_(send_rdma)			\
	_(send_rdma_bytes)		\
	_(send_pong)			\
	_(page_remainder_hit)		\
	_(page_remainder_miss)		\
	_(copy_to_user)			\
	_(copy_from_user)		\
	_(cong_update_queued)		\
	_(cong_update_received)		\
	_(cong_send_error)		\
	_(cong_send_blocked)		\
	_(recv_bytes_added_to_sock)	\
	_(recv_bytes_freed_fromsock)	\
	_(send_stuck_rm)		\
	_(mprds_catchup_tx0_retries)

struct rds_stats {
#define RDS_STATS_FIELD(name)	u64 name;
	RDS_STATS(RDS_STATS_FIELD)
#undef RDS_STATS_FIELD
};

#define RDS_NR_STATS	(sizeof(struct rds_stats) / sizeof(u64))

/*
 * Reasons why a path was lost, input was not used, or a process was refused:
 * identifier, and name in /proc/net/rds/drops
 */
#define RDS_DROP_REASONS(_)		\
	_(BAD_LENGTH,	"bad_length")	\
	_(BAD_MAP,	"bad_map")	\
	_(BAD_CSUM,	"bad_csum")	\
	_(BAD_FRAME,	"bad_frame")	\
	_(DUPLICATE,	"duplicate")	\
	_(NO_SOCKET,	"no_socket")	\
	_(DEAD_SOCKET,	"dead_socket")	\
	_(NO_MEMORY,	"no_memory")	\
	_(PING_IGNORED,	"ping_ignored")	\
	_(PONG_LIMIT,	"pong_limit")	\
	_(BAD_HANDSHAKE, "bad_handshake")	\
	_(PEER_CLOSED,	"peer_closed")	\
	_(PEER_RESET,	"peer_reset")	\
	_(PEER_TIMEOUT,	"peer_timeout")	\
	_(PEER_REPLACED, "peer_replaced")	\
	_(PEER_PARKED,	"peer_parked")	\
	_(WRONG_DIALLER, "wrong_dialler")	\
	_(WRONG_PATH,	"wrong_path")	\
	_(SELF_CONNECT,	"self_connect")	\
	_(DIAL_FAILED,	"dial_failed")	\
	_(SEND_ERROR,	"send_error")	\
	_(LOCAL_RECONFIG, "local_reconfig")	\
	_(LOCAL_RESET,	"local_reset")	\
	_(LOCAL_EXIT,	"local_exit")	\
	_(PEER_REBOOTED, "peer_rebooted") \
	_(BAD_ACK,	"bad_ack")	\
	_(BAD_PRIVDATA,	"bad_private_data") \
	_(CROSSED,	"crossed_attempt") \
	_(PEER_REJECTED, "peer_rejected") \
	_(REMOTE_ACCESS, "remote_access") \
	_(TERMINATED,	"terminated")	\
	_(DEVICE_GONE,	"device_gone")	\
	_(ADDR_GONE,	"address_gone") \
	_(NETWORK_GONE,	"network_gone") \
	_(BAD_ADDRS,	"bad_addresses") \
	_(BAD_JOIN,	"bad_join")	\
	_(UNREACHABLE,	"unreachable")	\
	_(IDLE,		"idle")		\
	_(ACCESS_DENIED, "access_denied")	\
	_(LOAD_DENIED,	"load_denied")	\
	_(PEER_DENIED,	"peer_denied")	\
	_(FULL_SOCKET,	"full_socket")	\
	_(PEER_LIMIT,	"peer_limit")	\
	_(ADDR_DENIED,	"address_denied") \
	_(FULL_PEER,	"full_peer")

/* RDS_DROP_NONE is no reason: nothing was lost, dropped or refused. */
enum rds_drop_reason {
	RDS_DROP_NONE,
#define RDS_DROP_ENUM(id, name)	RDS_DROP_##id,
	RDS_DROP_REASONS(RDS_DROP_ENUM)
#undef RDS_DROP_ENUM
	RDS_DROP_MAX
};

/**
 * rds_drop - count a drop reason
 * @net: namespace to count it in
 * @why: reason, not RDS_DROP_NONE
 *
 * Context: any but hard interrupts.
 */
void rds_drop(struct net *net, enum rds_drop_reason why);

/**
 * rds_drop_name - get the name of a drop reason
 * @why: reason
 *
 * Context: any.
 * Return: name of the reason; "none" for RDS_DROP_NONE.
 */
const char *rds_drop_name(enum rds_drop_reason why);

#endif
