/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records, by which a socket reports completed zero-copy sends.
 *
 * Ownership: a record is allocated with each zero-copy message, so that its
 * completion needs no memory.  It is on rds_sock.zspare until then.  Completion
 * moves it to rds_sock.zrecords, or frees it if the cookie still fits into the
 * newest record there.  A reader owns the record that it takes, and frees it or
 * puts it back.  The socket frees both lists when it closes.  They change under
 * rds_sock.rx_lock.
 */
#ifndef _RDS_SOCK_ZRECORD_H
#define _RDS_SOCK_ZRECORD_H

#include <linux/rds.h>
#include <linux/types.h>

struct rds_sock;
struct rds_zrecord;

void rds_sock_zcopy_done(struct rds_sock *rs, u32 cookie);
bool rds_sock_zcopy_reserve(struct rds_sock *rs);
void rds_sock_zcopy_unreserve(struct rds_sock *rs);
struct rds_zrecord *rds_sock_zcopy_take(struct rds_sock *rs,
					struct rds_zcopy_cookies *c);
void rds_sock_zcopy_return(struct rds_sock *rs, struct rds_zrecord *rec);
void rds_zrecord_free(struct rds_zrecord *rec);
void rds_sock_zcopy_purge(struct rds_sock *rs);
int rds_zrecord_init(void);
void rds_zrecord_exit(void);

#endif
