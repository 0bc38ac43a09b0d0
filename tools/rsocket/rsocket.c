// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * librds_rsocket.so: the functions of rdma/rsocket.h on the kernel's stream
 * sockets, to be loaded by LD_PRELOAD in front of librdmacm. A program that
 * was written for rsockets then uses socket(AF_RDS, SOCK_STREAM, 0); on the
 * wire nothing changes.
 *
 * Each rsocket is a descriptor of the kernel, so most functions are one call.
 * The exceptions are in new_socket(), send_flags() and at the iomap calls.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* Where librdmacm's header is there, the compiler compares the types. */
#if __has_include("rdma/rsocket.h")
#include <rdma/rsocket.h>
#endif

#ifndef AF_RDS
#define AF_RDS 21
#endif

#define unused __attribute__((unused))
#define TYPE_MASK 0xf	/* the rest of socket()'s second argument are flags */

static int fail(int err)
{
	errno = err;
	return -1;
}

/*
 * A socket of the kernel is of IPv4 or IPv6 by its first address, so the
 * domain is only checked.
 */
static int new_socket(int domain, int type, int protocol)
{
	if (domain != AF_INET && domain != AF_INET6)
		return fail(EAFNOSUPPORT);
	if ((type & TYPE_MASK) != SOCK_STREAM)
		return fail(ESOCKTNOSUPPORT);
	if (protocol && protocol != IPPROTO_TCP)
		return fail(EPROTONOSUPPORT);
	return socket(AF_RDS, type, 0);
}

/*
 * An rsocket is no descriptor of the kernel to librdmacm, so a program that
 * writes to a closed one gets an error and no SIGPIPE.
 */
static int send_flags(int flags)
{
	return flags | MSG_NOSIGNAL;
}

int rsocket(int domain, int type, int protocol)
{
	return new_socket(domain, type, protocol);
}

int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	return bind(socket, addr, addrlen);
}

int rlisten(int socket, int backlog)
{
	return listen(socket, backlog);
}

int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return accept(socket, addr, addrlen);
}

int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	return connect(socket, addr, addrlen);
}

int rshutdown(int socket, int how)
{
	return shutdown(socket, how);
}

int rclose(int socket)
{
	return close(socket);
}

ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	return recv(socket, buf, len, flags);
}

ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags,
		  struct sockaddr *src_addr, socklen_t *addrlen)
{
	return recvfrom(socket, buf, len, flags, src_addr, addrlen);
}

ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	return recvmsg(socket, msg, flags);
}

ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	return send(socket, buf, len, send_flags(flags));
}

ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
		const struct sockaddr *dest_addr, socklen_t addrlen)
{
	return sendto(socket, buf, len, send_flags(flags), dest_addr, addrlen);
}

ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	return sendmsg(socket, msg, send_flags(flags));
}

ssize_t rread(int socket, void *buf, size_t count)
{
	return read(socket, buf, count);
}

ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	return readv(socket, iov, iovcnt);
}

ssize_t rwrite(int socket, const void *buf, size_t count)
{
	return send(socket, buf, count, send_flags(0));
}

ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)iov };

	if (iovcnt < 0)
		return fail(EINVAL);
	msg.msg_iovlen = (size_t)iovcnt;
	return sendmsg(socket, &msg, send_flags(0));
}

int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	return poll(fds, nfds, timeout);
}

int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
	    struct timeval *timeout)
{
	return select(nfds, readfds, writefds, exceptfds, timeout);
}

int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return getpeername(socket, addr, addrlen);
}

int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return getsockname(socket, addr, addrlen);
}

/* The kernel's sockets know the levels and numbers of rsockets. */
int rsetsockopt(int socket, int level, int optname, const void *optval,
		socklen_t optlen)
{
	return setsockopt(socket, level, optname, optval, optlen);
}

int rgetsockopt(int socket, int level, int optname, void *optval,
		socklen_t *optlen)
{
	return getsockopt(socket, level, optname, optval, optlen);
}

/* All commands that an rsocket knows take a number or nothing. */
int rfcntl(int socket, int cmd, ...)
{
	va_list ap;
	long arg;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	return fcntl(socket, cmd, arg);
}

/*
 * The kernel's sockets have no iomap. These functions are here all the same:
 * librdmacm's would take the descriptor for one of its own.
 */
off_t riomap(int socket unused, void *buf unused, size_t len unused,
	     int prot unused, int flags unused, off_t offset unused)
{
	return fail(ENOTSUP);
}

int riounmap(int socket unused, void *buf unused, size_t len unused)
{
	return fail(ENOTSUP);
}

size_t riowrite(int socket unused, const void *buf unused, size_t count unused,
		off_t offset unused, int flags unused)
{
	return (size_t)fail(ENOTSUP);
}
