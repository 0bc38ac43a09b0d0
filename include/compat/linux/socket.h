/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef _RDS_COMPAT_LINUX_SOCKET_H
#define _RDS_COMPAT_LINUX_SOCKET_H

/*
 * The address that bind and connect get has a type of its own in newer kernels.
 */
#ifndef RDS_HAVE_SOCKADDR_UNSIZED
#define sockaddr_unsized sockaddr
#endif

#include_next <linux/socket.h>

#endif
