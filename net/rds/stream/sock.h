/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A socket of streams.
 *
 * Ownership: the file has a reference, and the connection, which is charged to
 * the socket, has another.  @listener and @conn are the socket's: it has a
 * reference to each.  @conn changes while the socket lock is held, and who does
 * not hold it takes a reference by rds_ss_sock_conn().
 *
 * Locks, outermost first: @tx_mutex or @rx_mutex, of which nobody takes both;
 * the socket lock; rds_ss_conn.dial_lock; rds_dev_id.lock; rds_ss_conn.lock;
 * @account.  A writer or reader that waits holds none of them.
 */
#ifndef _RDS_STREAM_SOCK_H
#define _RDS_STREAM_SOCK_H

#include <linux/mutex.h>
#include <linux/net.h>
#include <net/inet_sock.h>
#include <net/sock.h>

#include "conn.h"

struct rds_dev_port;
struct rds_ss_listener;

/**
 * enum rds_ss_carrier - what carries the stream of a socket
 * @RDS_SS_BY_RDMA: RDMA
 * @RDS_SS_BY_RULE: RDMA where the peer has it, else TCP; see rule.h
 * @RDS_SS_BY_TCP: TCP, which stays so
 */
enum rds_ss_carrier {
	RDS_SS_BY_RDMA,
	RDS_SS_BY_RULE,
	RDS_SS_BY_TCP,
};

/* Bytes that MSG_PEEK can see of more */
#define RDS_SS_PEEK_MAX	65536

/**
 * struct rds_ss_name - address of an end
 * @addr: address, IPv4 as v4-mapped; :: if there is none
 * @scope: interface of a link-local address, or 0
 * @port: port
 */
struct rds_ss_name {
	struct in6_addr	addr;
	u32		scope;
	u16		port;
};

/**
 * struct rds_ss_peek - bytes that were seen by MSG_PEEK and not read; the peer
 * cannot change them any more.  Under @rx_mutex
 * @buf: RDS_SS_PEEK_MAX bytes, or NULL
 * @off: offset of the first one
 * @bytes: number of bytes; for reading without the mutex
 */
struct rds_ss_peek {
	u8	*buf;
	u32	off;
	u32	bytes;
};

/**
 * struct rds_ss_sock - a socket
 * @sk: what the kernel knows of it
 * @inet: the same with what AF_INET has, which begins with @sk; not used if the
 *	socket is of AF_RDS
 * @sn: namespace
 * @family: AF_INET or AF_INET6, of the first address that was given; 0: none
 * @bound: bind() has set @local
 * @local: own address
 * @wanted: @local before an attempt
 * @remote: address of the peer
 * @port: keeps the port of a socket that is bound, or NULL
 * @listener: listens, or NULL; changed under the socket lock
 * @account: guards sk_forward_alloc (account.c)
 * @conn: connection, or NULL
 * @tx_mutex: writers are one at a time
 * @rx_mutex: readers are one at a time
 * @peek: see struct rds_ss_peek
 * @want: options that matter to a connection; under the socket lock
 * @cork: TCP_CORK
 * @keep_idle: TCP_KEEPIDLE, in s
 * @keep_intvl: TCP_KEEPINTVL, in s
 * @keep_cnt: TCP_KEEPCNT
 * @user_timeout: TCP_USER_TIMEOUT, in ms
 * @carrier: see enum rds_ss_carrier; changed under the socket lock
 * @tcp: TCP socket that carries the stream or may come to, or NULL; see tcp.h
 * @tcp_begun: calls of listen() of @tcp under way; under its lock
 * @serial: of an entry in rds_ss_net.tcps, if @listed
 * @listed: @tcp has, or begins, a connection that is listed; under conns_lock
 * @counted: there is, or was, a connection by @tcp; under conns_lock
 * @told_lock: guards @told, and sk_err of both sockets while it changes with it
 * @told: sk_err is a copy of that of @tcp
 * @dial_err: errno of an attempt of @tcp that could not begin, if connect() has
 *	not said it
 * @tcp_follows: @tcp does not have by itself what is set at SOL_SOCKET
 * @accepted: accept() has made the socket
 * @tcp_turn: accept() looks at @tcp first, so that neither queue starves
 * @rule_work: has TCP take over an attempt; see rule.h
 * @rule_begun: when the attempt over RDMA began, in jiffies
 */
struct rds_ss_sock {
	union {
		struct sock		sk;
		struct inet_sock	inet;
	};
	struct rds_ss_net		*sn;
	u16				family;
	bool				bound;
	struct rds_ss_name		local;
	struct rds_ss_name		wanted;
	struct rds_ss_name		remote;
	struct rds_dev_port		*port;
	struct rds_ss_listener __rcu	*listener;
	spinlock_t			account;
	struct rds_ss_conn __rcu	*conn;
	struct mutex			tx_mutex;
	struct mutex			rx_mutex;
	struct rds_ss_peek		peek;
	struct rds_ss_want		want;
	bool				cork;
	int				keep_idle;
	int				keep_intvl;
	int				keep_cnt;
	unsigned int			user_timeout;
	enum rds_ss_carrier		carrier;
	struct socket			*tcp;
	int				tcp_begun;
	u32				serial;
	bool				listed;
	bool				counted;
	spinlock_t			told_lock;
	bool				told;
	int				dial_err;
	bool				tcp_follows;
	bool				accepted;
	bool				tcp_turn;
	struct delayed_work		rule_work;
	unsigned long			rule_begun;
};

static inline struct rds_ss_sock *rds_ss_sk(const struct sock *sk)
{
	return container_of((struct sock *)sk, struct rds_ss_sock, sk);
}

/* The connection, counted, or NULL.  Any context. */
static inline struct rds_ss_conn *rds_ss_sock_conn(struct rds_ss_sock *ss)
{
	struct rds_ss_conn *conn;

	rcu_read_lock();
	conn = rcu_dereference(ss->conn);
	if (conn && !rds_ss_conn_tryget(conn))
		conn = NULL;
	rcu_read_unlock();
	return conn;
}

/* The connection, for a holder of the socket lock */
static inline struct rds_ss_conn *rds_ss_sock_owned(struct rds_ss_sock *ss)
{
	return rcu_dereference_protected(ss->conn,
					 lockdep_sock_is_held(&ss->sk));
}

/* The listener, for a holder of the socket lock */
static inline struct rds_ss_listener *
rds_ss_sock_listener(struct rds_ss_sock *ss)
{
	return rcu_dereference_protected(ss->listener,
					 lockdep_sock_is_held(&ss->sk));
}

/*
 * Whether bytes can be queued.  A page that is kept for the next message counts
 * in sk_wmem_queued, and must not keep a small socket from sending.
 */
static inline bool rds_ss_writeable(const struct sock *sk,
				    const struct rds_ss_conn *conn)
{
	return READ_ONCE(conn->up) && (!READ_ONCE(conn->tx.bytes) ||
				       sk_stream_is_writeable(sk));
}

/* Who finds no room is woken when there is some, and gets SIGIO. */
void rds_ss_no_space(struct sock *sk);

/* Bytes that can be read */
static inline u32 rds_ss_sock_unread(const struct rds_ss_sock *ss,
				     const struct rds_ss_conn *conn)
{
	return READ_ONCE(ss->peek.bytes) + READ_ONCE(conn->unread);
}

/*
 * It has failed, and tells the error at its end, which a writer waits for: TCP
 * says the error first.  Any context.
 */
bool rds_ss_conn_fails(const struct rds_ss_conn *conn);

/* Bytes of a half at most, by SO_RCVBUF */
u32 rds_ss_sock_max_half(const struct sock *sk);

/* name.c */
int rds_ss_name_read(struct rds_ss_sock *ss,
		     const struct sockaddr_unsized *uaddr, int len,
		     struct rds_ss_name *name);
int rds_ss_name_write(const struct rds_ss_sock *ss,
		      const struct rds_ss_name *name, struct sockaddr *to);
int rds_ss_name_route(struct rds_ss_sock *ss, const struct rds_ss_name *to,
		      struct rds_dev_laddr *la);
bool rds_ss_name_near(const struct rds_ss_sock *ss,
		      const struct rds_ss_name *to,
		      const struct in6_addr *from);
bool rds_ss_name_any(const struct in6_addr *addr);
void rds_ss_name_cm(struct rds_ss_name *name,
		    const struct sockaddr_storage *ss);

/* The bytes that MSG_PEEK has shown are gone; with @rx_mutex, or alone. */
void rds_ss_peek_drop(struct rds_ss_sock *ss);

/*
 * Part from the connection, if there is one: on return no call of it changes
 * the socket.  The socket lock is held; may sleep.
 */
void rds_ss_sock_part(struct rds_ss_sock *ss);

/* Set up a socket of any family, once sock_init_data() was called. */
void rds_ss_sock_setup(struct sock *sk);

/* Make the socket of a connection that @from has accepted. */
struct sock *rds_ss_sock_like(const struct sock *from, struct socket *sock,
			      int kern);

/* @sk has the options of @from at the level of the socket. */
void rds_ss_sock_options(struct sock *sk, const struct sock *from);

/* Called when the last reference is put; may sleep, as all who have one may. */
void rds_ss_sock_destruct(struct sock *sk);

/* &proto.stream_memory_free */
bool rds_ss_memory_free(const struct sock *sk, int wake);

/* Calls of &proto_ops */
int rds_ss_release(struct socket *sock);
int rds_ss_shutdown(struct socket *sock, int how);
int rds_ss_bind(struct socket *sock, struct sockaddr_unsized *uaddr, int len);
int rds_ss_connect(struct socket *sock, struct sockaddr_unsized *uaddr, int len,
		   int flags);
int rds_ss_getname(struct socket *sock, struct sockaddr *uaddr, int peer);
int rds_ss_listen(struct socket *sock, int backlog);
RDS_ACCEPT(rds_ss_accept);
int rds_ss_set_rcvlowat(struct sock *sk, int val);
int rds_ss_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
void rds_ss_splice_eof(struct socket *sock);
int rds_ss_recvmsg(struct socket *sock, struct msghdr *msg, size_t len,
		   int flags);
__poll_t rds_ss_poll(struct file *file, struct socket *sock,
		     struct poll_table_struct *wait);
int rds_ss_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);
int rds_ss_setsockopt(struct socket *sock, int level, int optname,
		      sockptr_t optval, unsigned int optlen);
int rds_ss_getsockopt(struct socket *sock, int level, int optname,
		      char __user *optval, int __user *optlen);

/* An option of the socket that is above TCP's, if there is one */
typedef int rds_ss_setsockopt_fn(struct socket *sock, int level, int optname,
				 sockptr_t optval, unsigned int optlen);
rds_ss_setsockopt_fn rds_ss_setsockopt_own;

/* An option of a socket that may have TCP below it; @own sets its own. */
int rds_ss_setsockopt_both(struct socket *sock, int level, int optname,
			   sockptr_t optval, unsigned int optlen,
			   rds_ss_setsockopt_fn *own);

/* The port of a bound socket is kept again.  The socket lock is held. */
void rds_ss_port_again(struct rds_ss_sock *ss);

/*
 * The socket is as it was before an attempt that has failed, or is given up.
 * The socket lock is held.
 */
void rds_ss_attempt_forget(struct rds_ss_sock *ss);

/*
 * What the options of TCP say about time holds for the connection, @keep:
 * SO_KEEPALIVE, too.  Any context but softirq.
 */
void rds_ss_clock_set(struct sock *sk, int keep);

#endif
