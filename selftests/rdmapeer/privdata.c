// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Private data of the peer in user space, in the forms of both families */
#include <arpa/inet.h>
#include <stddef.h>
#include <string.h>

#include "fake.h"

static void put_host(uint8_t field[16], const union addr *a)
{
	if (a->sa.sa_family == AF_INET6)
		memcpy(field, &a->in6.sin6_addr, 16);
	else
		memcpy(field + 12, &a->in.sin_addr, 4);
}

void fake_private(const struct fake *f, struct fake_private *pd)
{
	memset(pd, 0, sizeof(*pd));
	put_host(pd->saddr, &f->self);
	put_host(pd->daddr, &f->peer);
	pd->major = 3;
	pd->minor = 1;
	pd->mask = htons((uint16_t)(3 | (f->joins ? FAKE_JOINS : 0)));
	pd->credit = htonl(f->iwarp ? FAKE_RECVS : 0);
	pd->gen = f->gen;
}

/* What follows the addresses is the same in both forms. */
#define PD_TAIL		offsetof(struct fake_private, major)
#define PD_TAIL_BYTES	(sizeof(struct fake_private) - PD_TAIL)

uint8_t fake_pd_put(const struct fake *f, const struct fake_private *pd,
		    uint8_t *wire)
{
	if (fake_v6(f)) {
		memcpy(wire, pd, sizeof(*pd));
		return sizeof(*pd);
	}
	memcpy(wire, pd->saddr + 12, 4);
	memcpy(wire + 4, pd->daddr + 12, 4);
	memcpy(wire + 8, (const uint8_t *)pd + PD_TAIL, PD_TAIL_BYTES);
	return 8 + PD_TAIL_BYTES;
}

void fake_pd_get(struct fake *f, const struct rdma_conn_param *param)
{
	struct fake_private *pd = &f->reply;
	uint8_t wire[sizeof(*pd)] = { 0 };

	f->reply_len = param->private_data_len;
	if (param->private_data)
		memcpy(wire, param->private_data,
		       f->reply_len < sizeof(wire) ? f->reply_len :
						     sizeof(wire));
	memset(pd, 0, sizeof(*pd));
	if (fake_v6(f)) {
		memcpy(pd, wire, sizeof(*pd));
		return;
	}
	memcpy(pd->saddr + 12, wire, 4);
	memcpy(pd->daddr + 12, wire + 4, 4);
	memcpy((uint8_t *)pd + PD_TAIL, wire + 8, PD_TAIL_BYTES);
}
