/* SPDX-License-Identifier: ((GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * User ABI of RDS streams beside that of AF_RDS (linux/rds.h) and of TCP, whose
 * options they have.
 */
#ifndef _LINUX_RDS_STREAM_H
#define _LINUX_RDS_STREAM_H

/*
 * Protocol of socket(AF_INET or AF_INET6, SOCK_STREAM, ...) for a stream over
 * RDMA, unless the parameter ipproto of rds_stream gives another number.
 */
#define IPPROTO_RDS_STREAM	258

#endif
