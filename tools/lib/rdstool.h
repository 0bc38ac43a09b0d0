/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Library of the RDS user programs: parse numbers and addresses of the command
 * line, open RDS sockets, print advice after failures, read snapshots of the
 * kernel's tables, write JSON.
 */
#ifndef RDSTOOL_H
#define RDSTOOL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

/* Version of the classic rds-tools; scripts and peers depend on it. */
#define RT_VERSION "2.0.7"

#define RT_ADDRSTRLEN 80

union rt_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* ---- sock.c ---- */

/*
 * Numbers of the address family and of the option level. Vendor kernels publish
 * their numbers in /proc/sys/net/rds.
 */
int rt_family(void);
int rt_level(void);
/* Open an RDS socket. Returns -1 with errno on failure. */
int rt_socket(void);
/*
 * Set the transport of an unbound socket; with RDS_TRANS_NONE do nothing.
 * Returns 0, or -1 with errno.
 */
int rt_set_transport(int fd, int transport);
/* Convert "rdma" or "tcp" to a value of SO_RDS_TRANSPORT. Returns 0 or -1. */
int rt_parse_transport(const char *text, int *out);
/*
 * Find the local address that the routing table chooses for @dst.
 * Returns 0, or -1 with errno.
 */
int rt_source_for(const union rt_addr *dst, union rt_addr *src);
/*
 * Request @want bytes of send and receive buffer; @snd and @rcv are set to the
 * sizes that RDS will use.
 */
void rt_buffers(int fd, unsigned int want, unsigned int *snd,
		unsigned int *rcv);
/* Bit mask of the RDS_CMSG_CONG_UPDATE in @msg, 0 if @msg has none. */
uint64_t rt_cong_update(struct msghdr *msg);
/*
 * Wait until no message that @fd sent is queued or unacknowledged. Returns
 * false if some still are after @timeout_ms.
 */
bool rt_drain(int fd, const union rt_addr *self, unsigned int timeout_ms);
uint64_t rt_now_us(void);

/* ---- hint.c ---- */

/*
 * Print advice about error @err of rt_socket(), of rt_set_transport(), or of
 * bind() to @a with @transport: one line on standard error, which follows the
 * program's own error message; or nothing, if there is no advice.
 */
void rt_hint_socket(int err);
void rt_hint_transport(int err, int transport);
void rt_hint_bind(int err, const union rt_addr *a, int transport);
/*
 * The same for a stream socket: of socket() if @a is NULL, otherwise of bind()
 * to @a, or of connect() from it.
 */
void rt_hint_stream(int err, const union rt_addr *a);

/* ---- addr.c ---- */

socklen_t rt_addrlen(const union rt_addr *a);
uint16_t rt_port(const union rt_addr *a);
void rt_set_port(union rt_addr *a, uint16_t port);
bool rt_same_host(const union rt_addr *a, const union rt_addr *b);
bool rt_same_addr(const union rt_addr *a, const union rt_addr *b);
/*
 * Parse HOST, with or without brackets; @family is AF_UNSPEC or AF_INET.
 * Returns 0 or -1.
 */
int rt_parse_host(const char *text, int family, union rt_addr *out);
/* Parse HOST:PORT, with IPv6 in brackets. Returns NULL or an error message. */
const char *rt_parse_hostport(const char *text, union rt_addr *out);
const char *rt_host_str(const union rt_addr *a, char *buf, size_t size);
const char *rt_addr_str(const union rt_addr *a, char *buf, size_t size);

/* ---- number.c ---- */

/*
 * Parse an integer in base 8, 10 or 16 with an optional k, m or g (2^10, 2^20,
 * 2^30). Returns 0 or -1.
 */
int rt_parse_number(const char *text, uint64_t max, uint64_t *out);
/*
 * Parse seconds, or a number followed by ms, msec, us or usec; @us is set to
 * microseconds. Returns 0 or -1.
 */
int rt_parse_interval(const char *text, uint64_t *us);

/* ---- info.c ---- */

struct rt_info {
	uint8_t *buf;
	size_t capacity;
	size_t len;		/* bytes of the snapshot */
	size_t record;		/* bytes of one record of the kernel */
};

/* Read all of table @id into @info. Returns 0, or -1 with errno. */
int rt_info_get(int fd, int id, struct rt_info *info);
size_t rt_info_count(const struct rt_info *info);
/* Copy record @n to @out, truncated or padded with zeros to @size bytes. */
void rt_info_record(const struct rt_info *info, size_t n, void *out,
		    size_t size);
void rt_info_free(struct rt_info *info);

/* ---- json.c ---- */

struct rt_json {
	FILE *out;
	unsigned int depth;
	bool used;		/* a value was written at this depth */
};

/* In all of these, @key is NULL inside arrays and for the outermost object. */
void rt_json_open(struct rt_json *j, const char *key, char bracket);
void rt_json_close(struct rt_json *j, char bracket);
void rt_json_str(struct rt_json *j, const char *key, const char *value);
void rt_json_u64(struct rt_json *j, const char *key, uint64_t value);
void rt_json_bool(struct rt_json *j, const char *key, bool value);

#endif
