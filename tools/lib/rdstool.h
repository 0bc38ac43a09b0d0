/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the RDS user programs share: numbers and addresses on the command
 * line, the RDS socket itself, snapshots of the kernel's tables, JSON output.
 */
#ifndef RDSTOOL_H
#define RDSTOOL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

/* The classic programs announce this version, scripts and peers look at it. */
#define RT_VERSION "2.0.7"

#define RT_ADDRSTRLEN 80

union rt_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* ---- sock.c ---- */

/* Numbers of the address family and option level; vendor kernels publish their own. */
int rt_family(void);
int rt_level(void);
/* A new RDS socket, or -1 with errno. */
int rt_socket(void);
/* Sets the transport of a socket not yet bound, unless that is RDS_TRANS_NONE; 0, or -1 with errno. */
int rt_set_transport(int fd, int transport);
/* rdma or tcp as a value of SO_RDS_TRANSPORT; 0 or -1. */
int rt_parse_transport(const char *text, int *out);
/* Finds the local address the host would use towards @dst; -1 with errno. */
int rt_source_for(const union rt_addr *dst, union rt_addr *src);
/* Asks for send and receive buffers; returns the effective sizes RDS will use. */
void rt_buffers(int fd, unsigned int want, unsigned int *snd, unsigned int *rcv);
/* Bit mask of the RDS_CMSG_CONG_UPDATE in @msg, 0 if there is none. */
uint64_t rt_cong_update(struct msghdr *msg);
/* Waits until nothing @fd sent is queued or unacknowledged; false after @timeout_ms. */
bool rt_drain(int fd, const union rt_addr *self, unsigned int timeout_ms);
uint64_t rt_now_us(void);

/* ---- addr.c ---- */

socklen_t rt_addrlen(const union rt_addr *a);
uint16_t rt_port(const union rt_addr *a);
void rt_set_port(union rt_addr *a, uint16_t port);
bool rt_same_host(const union rt_addr *a, const union rt_addr *b);
bool rt_same_addr(const union rt_addr *a, const union rt_addr *b);
/* HOST, with or without brackets; @family AF_UNSPEC or AF_INET. Returns 0 or -1. */
int rt_parse_host(const char *text, int family, union rt_addr *out);
/* HOST:PORT, IPv6 in brackets. Returns NULL or what is wrong with the text. */
const char *rt_parse_hostport(const char *text, union rt_addr *out);
const char *rt_host_str(const union rt_addr *a, char *buf, size_t size);
const char *rt_addr_str(const union rt_addr *a, char *buf, size_t size);

/* ---- number.c ---- */

/* Integer in base 8, 10 or 16 with an optional k, m or g; 0 or -1. */
int rt_parse_number(const char *text, uint64_t max, uint64_t *out);
/* Seconds, or a number followed by ms, msec, us or usec; 0 or -1. */
int rt_parse_interval(const char *text, uint64_t *us);

/* ---- info.c ---- */

struct rt_info {
	uint8_t *buf;
	size_t capacity;
	size_t len;		/* bytes of the snapshot */
	size_t record;		/* bytes of one record as the kernel has it */
};

/* Takes a complete snapshot of table @id into @info; 0 or -1 with errno. */
int rt_info_get(int fd, int id, struct rt_info *info);
size_t rt_info_count(const struct rt_info *info);
/* Copies record @n, cut or filled up with zeros to @size. */
void rt_info_record(const struct rt_info *info, size_t n, void *out, size_t size);
void rt_info_free(struct rt_info *info);

/* ---- json.c ---- */

struct rt_json {
	FILE *out;
	unsigned int depth;
	bool used;		/* something stands already at this depth */
};

/* @key is NULL inside arrays and for the outermost object. */
void rt_json_open(struct rt_json *j, const char *key, char bracket);
void rt_json_close(struct rt_json *j, char bracket);
void rt_json_str(struct rt_json *j, const char *key, const char *value);
void rt_json_u64(struct rt_json *j, const char *key, uint64_t value);
void rt_json_bool(struct rt_json *j, const char *key, bool value);

#endif
