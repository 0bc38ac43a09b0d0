// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* RDMA or TCP; rule.h has the rule. */
#include <linux/module.h>
#include <linux/poll.h>
#include <net/net_namespace.h>

#include <net/rds/dev_domain.h>
#include <net/rds/dev_port.h>

#include "net.h"
#include "rule.h"
#include "sock.h"
#include "tcp.h"

/* A host that has answered before has that much more time. */
#define KNOWN_TIMES	3

enum rds_ss_carrier rds_ss_rule_first(const struct rds_ss_net *sn)
{
	static const enum rds_ss_carrier first[] = {
		RDS_SS_BY_TCP,
		RDS_SS_BY_RULE,
		RDS_SS_BY_RDMA,
	};

	return first[READ_ONCE(sn->rule)];
}

/* Ports */

/*
 * The port of RDMA, too.  If it cannot be had, another program has it, or no
 * device has the address; then peers reach the socket by TCP.
 */
static void port_hold(struct rds_ss_sock *ss)
{
	u16 port = ss->local.port;

	if (port && rds_dev_port_hold(ss->sn->net, &ss->local.addr,
				      ss->local.scope, ss->sk.sk_ipv6only,
				      &port, &ss->port))
		ss->port = NULL;
}

int rds_ss_rule_bind(struct socket *sock, struct sockaddr_unsized *uaddr,
		     int len)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	int err = -EINVAL;

	lock_sock(sock->sk);
	if (!rds_ss_by_rule(ss)) {
		release_sock(sock->sk);
		return rds_ss_bind(sock, uaddr, len);
	}
	if (!ss->bound && sock->state == SS_UNCONNECTED &&
	    sock->sk->sk_state == TCP_CLOSE)
		err = rds_ss_tcp_bind(ss, uaddr, len);
	if (!err)
		err = rds_ss_tcp_local(ss, &ss->local);
	if (!err) {
		ss->bound = true;
		port_hold(ss);
	}
	release_sock(sock->sk);
	return err;
}

int rds_ss_rule_listen(struct socket *sock, int backlog)
{
	struct rds_ss_sock *ss = rds_ss_sk(sock->sk);
	int err = rds_ss_tcp_listen(sock, backlog);

	return err ?: rds_ss_tcp_local(ss, &ss->local);
}

/* Attempts */

/* Whether a device leads to the peer, which is not one of iWARP */
static bool has_device(struct rds_dev_laddr *la, const struct sock *sk)
{
	struct rds_dev_domain *dom = rds_dev_by_laddr(&rds_ss_user, la);
	int oif = READ_ONCE(sk->sk_bound_dev_if);
	bool good;

	if (!dom)
		return false;
	good = !dom->dev->props.iwarp && (!oif || oif == la->ifindex);
	rds_dev_domain_put(dom);
	return good;
}

bool rds_ss_rule_tries(struct rds_ss_sock *ss, const struct rds_ss_name *to)
{
	struct rds_dev_laddr la;

	/* From a port that another program has of RDMA there is no attempt. */
	if (!to->port || (ss->local.port && !ss->port) ||
	    rds_ss_name_route(ss, to, &la))
		return false;
	return has_device(&la, &ss->sk) &&
	       rds_ss_name_near(ss, to, &la.addr) &&
	       rds_ss_host_ask(&ss->sn->hosts, &to->addr) !=
		       RDS_SS_HOST_IS_SILENT;
}

static void work_queue(struct rds_ss_sock *ss, unsigned int ms)
{
	sock_hold(&ss->sk);
	if (mod_delayed_work(rds_ss_wq, &ss->rule_work, msecs_to_jiffies(ms)))
		__sock_put(&ss->sk);
}

void rds_ss_rule_begun(struct rds_ss_sock *ss)
{
	unsigned int ms = READ_ONCE(ss->sn->rdma_ms);

	if (rds_ss_host_ask(&ss->sn->hosts, &ss->remote.addr) ==
	    RDS_SS_HOST_ANSWERS)
		ms *= KNOWN_TIMES;
	ss->rule_begun = jiffies;
	work_queue(ss, ms);
}

/* Whether the peer had a part of the time at least */
static bool was_waited_for(const struct rds_ss_sock *ss)
{
	unsigned int ms = READ_ONCE(ss->sn->rdma_ms);

	return time_after_eq(jiffies, ss->rule_begun +
				      msecs_to_jiffies(ms / 4));
}

/* Whether the peer was asked, and not only waited for a place or a link */
static bool was_asked(const struct rds_ss_conn *conn)
{
	enum rds_dev_id_state state = READ_ONCE(conn->id.state);

	return state == RDS_DEV_ID_RESOLVING || state == RDS_DEV_ID_ASKED;
}

bool rds_ss_rule_failed(struct rds_ss_sock *ss, const struct rds_ss_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (!rds_ss_by_rule(ss) || conn->up || !conn->active ||
	    !conn->broken || conn->given_up)
		return false;
	if (conn->broken == ECONNREFUSED)
		rds_ss_host_note(&ss->sn->hosts, &conn->id.remote, true);
	else if (conn->broken == ETIMEDOUT && was_waited_for(ss))
		rds_ss_host_note(&ss->sn->hosts, &conn->id.remote, false);
	rds_ss_count(ss->sn, RDS_SS_STAT_stream_rdma_failed, 1);
	work_queue(ss, 0);
	return true;
}

void rds_ss_rule_give_up(struct rds_ss_sock *ss, struct rds_ss_conn *conn)
{
	bool asked;

	spin_lock_bh(&conn->lock);
	conn->given_up = true;
	asked = !conn->closing && was_asked(conn);
	spin_unlock_bh(&conn->lock);
	if (rds_ss_by_rule(ss) && asked && was_waited_for(ss))
		rds_ss_host_doubt(&ss->sn->hosts, &conn->id.remote);
}

static bool is_decided(const struct rds_ss_sock *ss)
{
	/* Pairs with take_over(): the carrier is looked at behind it. */
	return smp_load_acquire(&ss->sk.sk_state) != TCP_SYN_SENT ||
	       rds_ss_by_tcp(ss);
}

int rds_ss_rule_decided(struct rds_ss_sock *ss, long timeo)
{
	long left;

	if (likely(is_decided(ss)))
		return 0;
	if (!timeo)
		return -EAGAIN;
	left = wait_event_interruptible_timeout(*sk_sleep(&ss->sk),
						is_decided(ss), timeo);
	if (left < 0)
		return sock_intr_errno(timeo);
	return left ? 0 : -EAGAIN;
}

/*
 * Part the socket from its attempt, which then changes it no more; false if
 * that has come up.
 */
static bool attempt_leave(struct rds_ss_sock *ss, struct rds_ss_conn *conn)
{
	bool asked;

	lockdep_assert_held(&conn->lock);
	if (conn->up)
		return false;
	asked = !conn->closing && was_asked(conn);
	if (!conn->closing)
		rds_ss_count(ss->sn, RDS_SS_STAT_stream_rdma_late, 1);
	if (asked)
		rds_ss_host_note(&ss->sn->hosts, &conn->id.remote, false);
	conn->left = true;
	rds_ss_conn_close(conn, 0);
	return true;
}

/* Whether TCP is to take over */
static bool attempt_over(struct rds_ss_sock *ss, struct rds_ss_conn *conn)
{
	struct sock *sk = &ss->sk;
	bool over = false;

	spin_lock_bh(&conn->lock);
	if (!conn->given_up) {
		over = attempt_leave(ss, conn);
	} else if (conn->closed && sk->sk_state == TCP_SYN_SENT) {
		/* It had failed before, and the socket was not told. */
		conn->broken = 0;
		rds_ss_conn_tell(conn, sk);
		sk->sk_state_change(sk);
	}
	spin_unlock_bh(&conn->lock);
	return over;
}

/*
 * Wake the calls that wait for the attempt.  Who polls is woken by TCP, but did
 * not see what that had said by then.
 */
static void wake_calls(struct rds_ss_sock *ss)
{
	struct sock *sk = &ss->sk;
	struct socket_wq *wq;

	if (rds_ss_tcp_poll(NULL, ss) & (EPOLLOUT | EPOLLHUP)) {
		sk->sk_state_change(sk);
		return;
	}
	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	/* Nobody polls for this. */
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_poll(&wq->wait, EPOLLMSG);
	rcu_read_unlock();
}

/* TCP takes over, and who waits for the attempt goes on with that. */
static void take_over(struct rds_ss_sock *ss)
{
	struct rds_ss_conn *conn = rds_ss_sock_owned(ss);
	struct rds_ss_name to = ss->remote;
	struct sock *sk = &ss->sk;

	if (!conn || !rds_ss_by_rule(ss) || sk->sk_state != TCP_SYN_SENT ||
	    !attempt_over(ss, conn))
		return;
	rds_ss_attempt_forget(ss);
	rds_ss_tcp_dial(ss, &to);
	rds_ss_tcp_carries(ss);
	/* Pairs with poll(), which looks at the carrier behind these. */
	smp_wmb();
	rds_ss_sock_part(ss);
	WRITE_ONCE(sk->sk_state, TCP_CLOSE);
	wake_calls(ss);
}

void rds_ss_rule_work(struct work_struct *work)
{
	struct rds_ss_sock *ss = container_of(to_delayed_work(work),
					      struct rds_ss_sock, rule_work);

	lock_sock(&ss->sk);
	take_over(ss);
	release_sock(&ss->sk);
	sock_put(&ss->sk);
}

void rds_ss_rule_end(struct rds_ss_sock *ss)
{
	if (cancel_delayed_work_sync(&ss->rule_work))
		__sock_put(&ss->sk);
}
