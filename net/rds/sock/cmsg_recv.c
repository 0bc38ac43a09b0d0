// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The control messages of recvmsg.  The data of each are copied from a variable
 * on the stack, of which every byte is initialised.
 */
#include <linux/sched/clock.h>
#include <linux/slab.h>

#include "msg/incoming.h"
#include "sock/addr.h"
#include "sock/calls.h"
#include "sock/note.h"
#include "sock/report.h"
#include "sock/zrecord.h"

/**
 * rds_cmsg_notes_room - has a reader room for the report of an operation?
 * @msg: message header of the reader
 *
 * Return: true if there is room for one notification.
 */
bool rds_cmsg_notes_room(const struct msghdr *msg)
{
	return msg->msg_controllen >=
	       CMSG_SPACE(sizeof(struct rds_rdma_notify));
}

/**
 * rds_cmsg_put_notes - report remote memory operations that are over
 * @rs: socket
 * @msg: message header of the reader
 *
 * Reports as many operations as there is room for; the others wait for the next
 * reader.
 *
 * Return: 1 if an operation was reported, 0 if none was, -EFAULT.
 */
int rds_cmsg_put_notes(struct rds_sock *rs, struct msghdr *msg)
{
	struct rds_rdma_notify n;
	struct rds_note *note;
	int err, ret = 0;

	memset(&n, 0, sizeof(n));
	while (rds_cmsg_notes_room(msg)) {
		note = rds_sock_note_take(rs);
		if (!note)
			break;
		n.user_token = note->token;
		n.status = note->status;
		err = put_cmsg(msg, SOL_RDS, RDS_CMSG_RDMA_STATUS, sizeof(n),
			       &n);
		if (err) {
			rds_sock_note_return(rs, note);
			return ret ? ret : err;
		}
		kfree(note);
		ret = 1;
	}
	return ret;
}

/* Write one report, with the address of the peer as the name. */
static int put_report(struct msghdr *msg, const struct rds_report_news *news)
{
	struct rds_rdma_notify n;
	int err;

	memset(&n, 0, sizeof(n));
	n.user_token = news->dropped;
	n.status = news->dropped ? RDS_RDMA_DROPPED : RDS_RDMA_RESTARTED;
	err = put_cmsg(msg, SOL_RDS, RDS_CMSG_RDMA_STATUS, sizeof(n), &n);
	if (!err && msg->msg_name)
		msg->msg_namelen = rds_addr_write(msg->msg_name, &news->faddr,
						  0, news->scope);
	return err;
}

/**
 * rds_cmsg_put_report - report that a peer could not be reached or has
 * restarted
 * @rs: socket
 * @msg: message header of the reader
 *
 * Reports one event of one peer; the others wait, also for a reader with room.
 *
 * Context: process, takes the socket lock.
 * Return: 1 if there was a report, 0 if there was none, -EFAULT.
 */
int rds_cmsg_put_report(struct rds_sock *rs, struct msghdr *msg)
{
	struct rds_report_news news;
	int ret = 0;

	if (!rds_cmsg_notes_room(msg))
		return 0;
	lock_sock(&rs->sk);
	if (rds_sock_report_peek(rs, &news)) {
		ret = put_report(msg, &news);
		if (!ret) {
			rds_sock_report_done(rs, &news);
			ret = 1;
		}
	}
	release_sock(&rs->sk);
	return ret;
}

/**
 * rds_cmsg_put_cong - report ports that are not congested any more
 * @rs: socket
 * @msg: message header of the reader
 *
 * A reader without room for control messages loses the report.
 *
 * Return: 1 if there was a report, 0 if there was none, -EFAULT.
 */
int rds_cmsg_put_cong(struct rds_sock *rs, struct msghdr *msg)
{
	u64 groups = rds_sock_cong_take(rs);
	int err;

	if (likely(!groups))
		return 0;
	err = put_cmsg(msg, SOL_RDS, RDS_CMSG_CONG_UPDATE, sizeof(groups),
		       &groups);
	if (err) {
		rds_sock_cong_return(rs, groups);
		return err;
	}
	return 1;
}

static int put_timestamp(struct rds_sock *rs, struct msghdr *msg, ktime_t stamp)
{
	struct timespec64 ts = ktime_to_timespec64(stamp);
	struct __kernel_sock_timeval tv = {
		.tv_sec = ts.tv_sec,
		.tv_usec = ts.tv_nsec / NSEC_PER_USEC,
	};
	struct __kernel_old_timeval old =
		ns_to_kernel_old_timeval(ktime_to_ns(stamp));

	if (sock_flag(&rs->sk, SOCK_TSTAMP_NEW))
		return put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMP_NEW, sizeof(tv),
				&tv);
	return put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMP_OLD, sizeof(old), &old);
}

/*
 * Report the latency trace.  A point is the time from one stamp to the next;
 * the last stamp is the present.  A point is 0 if no socket traced when the
 * message passed one of its two stamps: tracing may begin and end while a
 * message is on its way.
 */
static int put_trace(struct rds_sock *rs, struct msghdr *msg,
		     const struct rds_incoming *inc)
{
	u64 stamp[RDS_MSG_RX_DGRAM_TRACE_MAX + 1];
	struct rds_cmsg_rx_trace t;
	unsigned int i;

	memcpy(stamp, inc->trace, sizeof(inc->trace));
	stamp[RDS_MSG_RX_DGRAM_TRACE_MAX] = local_clock();
	memset(&t, 0, sizeof(t));
	t.rx_traces = READ_ONCE(rs->rx_traces);
	for (i = 0; i < t.rx_traces; i++) {
		u8 pos = READ_ONCE(rs->rx_trace_pos[i]);

		t.rx_trace_pos[i] = pos;
		if (stamp[0] && stamp[pos] && stamp[pos + 1])
			t.rx_trace[i] = stamp[pos + 1] - stamp[pos];
	}
	return put_cmsg(msg, SOL_RDS, RDS_CMSG_RXPATH_LATENCY, sizeof(t), &t);
}

/**
 * rds_cmsg_zcopy_room - would completed zero-copy sends be reported to a
 * reader?
 * @rs: socket
 * @msg: message header of the reader
 *
 * Return: true if SO_ZEROCOPY is set on the socket and the report fits.
 */
bool rds_cmsg_zcopy_room(const struct rds_sock *rs, const struct msghdr *msg)
{
	return sock_flag(&rs->sk, SOCK_ZEROCOPY) &&
	       msg->msg_controllen >=
		       CMSG_SPACE(sizeof(struct rds_zcopy_cookies));
}

/**
 * rds_cmsg_put_zcopy - report one record of completed zero-copy sends
 * @rs: socket
 * @msg: message header of the reader
 *
 * Return: 1 if there was a record, 0 if there was none, -EFAULT.
 */
int rds_cmsg_put_zcopy(struct rds_sock *rs, struct msghdr *msg)
{
	struct rds_zcopy_cookies c;
	struct rds_zrecord *rec;
	int err;

	if (!rds_cmsg_zcopy_room(rs, msg))
		return 0;
	rec = rds_sock_zcopy_take(rs, &c);
	if (!rec)
		return 0;
	err = put_cmsg(msg, SOL_RDS, RDS_CMSG_ZCOPY_COMPLETION, sizeof(c), &c);
	if (err) {
		rds_sock_zcopy_return(rs, rec);
		return err;
	}
	rds_zrecord_free(rec);
	return 1;
}

/**
 * rds_cmsg_put_message - write the control messages of a received message
 * @rs: socket
 * @msg: message header of the reader
 * @inc: received message
 *
 * Return: 0 or -EFAULT.
 */
int rds_cmsg_put_message(struct rds_sock *rs, struct msghdr *msg,
			 const struct rds_incoming *inc)
{
	int err;

	if (inc->cookie) {
		u64 cookie = inc->cookie;

		err = put_cmsg(msg, SOL_RDS, RDS_CMSG_RDMA_DEST, sizeof(cookie),
			       &cookie);
		if (err)
			return err;
	}
	if (inc->tstamp && sock_flag(&rs->sk, SOCK_RCVTSTAMP)) {
		err = put_timestamp(rs, msg, inc->tstamp);
		if (err)
			return err;
	}
	if (READ_ONCE(rs->rx_traces)) {
		err = put_trace(rs, msg, inc);
		if (err)
			return err;
	}
	err = rds_cmsg_put_zcopy(rs, msg);
	return err < 0 ? err : 0;
}
