/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions that at least two test programs use: addresses, sockets, waiting,
 * namespaces, files of /proc, RDS_INFO_* snapshots. The Makefile links
 * rdstest.c to every program in selftests.
 *
 * A function that fails prints the reason and ends the program, unless its
 * comment documents a return value for the failure.
 */
#ifndef SELFTESTS_RDSTEST_H
#define SELFTESTS_RDSTEST_H

#include <linux/rds.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "ktap.h"

#ifndef AF_RDS
#define AF_RDS		21
#endif

#define RDS_TCP_PORT	16385	/* port on which rds_tcp listens */

/**
 * die() - print a reason to standard error and end the program with status 1
 * @fmt: the reason, as for printf(); %m is the text of errno
 */
__attribute__((format(printf, 1, 2), noreturn))
void die(const char *fmt, ...);

/* ---- addresses */

/**
 * union addr - an IPv4 or IPv6 socket address
 * @sa: type that system calls take
 * @in: IPv4
 * @in6: IPv6
 * @ss: makes the union large enough for any address
 */
union addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_storage ss;
};

/**
 * addr_parse() - make an address from text
 * @a: set to the address
 * @host: "10.0.0.1", "fd00::1", "fe80::1%veth0" or "fe80::1%7"
 * @port: port in host byte order
 *
 * Return: false if @host is none of these.
 */
bool addr_parse(union addr *a, const char *host, uint16_t port);

/**
 * addr_of() - make an address from text that is known to be valid
 * @host: as for addr_parse(); "" makes an address of zeroes
 * @port: port in host byte order
 */
union addr addr_of(const char *host, uint16_t port);

/**
 * addr_v4() - make an IPv4 address from a number
 * @host: address in host byte order, 0x0a000001 is 10.0.0.1
 * @port: port in host byte order
 */
union addr addr_v4(uint32_t host, uint16_t port);

/** addr_len() - length of @a for system calls */
socklen_t addr_len(const union addr *a);

/** addr_port() - port of @a in host byte order */
uint16_t addr_port(const union addr *a);

/** addr_set_port() - set the port of @a, in host byte order */
void addr_set_port(union addr *a, uint16_t port);

/** addr_eq() - true if family, host, port and scope are the same */
bool addr_eq(const union addr *a, const union addr *b);

/* ---- sockets */

/**
 * rds_open() - open an RDS socket
 * @flags: SOCK_NONBLOCK or 0
 */
int rds_open(int flags);

/**
 * rds_bound() - open an RDS socket and bind it
 * @a: the address; with port 0 the kernel chooses the port
 * @flags: as for rds_open()
 */
int rds_bound(const union addr *a, int flags);

/**
 * rds_buffers() - set the sizes of both buffers, beyond the system's limits
 * @fd: the socket
 * @bytes: size of the send buffer, and of the receive buffer
 */
void rds_buffers(int fd, int bytes);

/**
 * set_timeo() - limit how long a call on a socket blocks
 * @fd: the socket
 * @opt: SO_RCVTIMEO or SO_SNDTIMEO
 * @ms: milliseconds
 */
void set_timeo(int fd, int opt, int ms);

/** name_of() - address of @fd by getsockname() */
union addr name_of(int fd);

/** fill() - write @len bytes that depend on @seed only */
void fill(void *buf, size_t len, unsigned int seed);

/** filled() - true if @buf has the bytes that fill() writes with @seed */
bool filled(const void *buf, size_t len, unsigned int seed);

/* ---- time */

/** now_ns() - nanoseconds of the monotonic clock */
uint64_t now_ns(void);

/** now_ms() - milliseconds of the monotonic clock */
long now_ms(void);

/**
 * time_is_judged() - does the guest's clock count instructions of a kernel
 * that users run?
 *
 * Only then does a duration say the same on every host, and tests compare it
 * with a bound; elsewhere they print it.
 */
bool time_is_judged(void);

/** slow_factor() - factor for time limits, from RDS_SLOW; at least 1 */
int slow_factor(void);

/**
 * wait_until() - wait for an event that can only be polled
 * @happened: called at once, then after pauses of 2, 4, 8, 16, 16... ms, and a
 *	last time when @ms are over
 * @arg: argument of @happened
 * @ms: milliseconds to wait at most
 *
 * Return: true if @happened returned true in time.
 */
bool wait_until(bool (*happened)(void *arg), void *arg, long ms);

/**
 * readable() - wait until a descriptor can be read
 * @fd: the descriptor
 * @ms: milliseconds to wait at most, -1: no limit
 *
 * Return: true if poll() reported POLLIN in time.
 */
bool readable(int fd, int ms);

/* ---- the machine */

/** netns_enter() - enter the network namespace @name of `ip netns` */
void netns_enter(const char *name);

/**
 * drop_privileges() - become user and group 65534
 *
 * Return: 0, or -1 with errno.
 */
int drop_privileges(void);

/**
 * file_write() - write @text to a file of /proc or /sys
 *
 * Return: false, with errno, if open(), write() or close() fails.
 */
bool file_write(const char *path, const char *text);

/**
 * file_number() - read the number at the beginning of a file of /proc or /sys
 *
 * Return: the number, or -1 if there is no such file or no number in the file.
 */
long file_number(const char *path);

/**
 * memory_in_use() - KiB of the machine's memory in use, without caches, which
 * are dropped
 */
long memory_in_use(void);

/* ---- RDS_INFO_* */

/**
 * struct snap - an RDS_INFO_* snapshot
 * @ret: bytes of one record, which getsockopt() returned, or -errno
 * @len: bytes at @p
 * @n: records at @p
 * @p: the records, one after the other
 */
struct snap {
	long ret;
	socklen_t len;
	unsigned int n;
	char *p;
};

/**
 * snap() - take a snapshot, with a buffer of the size that is needed
 * @fd: an RDS socket; the snapshot shows the socket's namespace
 * @opt: RDS_INFO_COUNTERS, ...
 *
 * Return: the snapshot, to be freed with snap_free().
 */
struct snap snap(int fd, int opt);

/** snap_free() - free the records of a snapshot */
void snap_free(struct snap *s);

/**
 * counter_read() - read one counter of RDS_INFO_COUNTERS
 * @fd: an RDS socket
 * @name: name of the counter
 * @value: set to the value of the counter
 *
 * Return: false if there is no counter of that name.
 */
bool counter_read(int fd, const char *name, uint64_t *value);

#endif
