// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Private data: any bytes of any length, as request and as reply, in the IPv4
 * and the IPv6 form.  The result of parsing is built and parsed again, and must
 * be the same.  The first byte of the input selects form and role.
 */
#include "fuzz.h"
#include "proto/plat.h"
#include "transport/rdma/privdata.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t n)
{
	bool request, ipv6;
	struct rds_rdma_peer p, again;
	u8 buf[RDS_RDMA_PD_MAX];
	unsigned int used;
	u8 *copy;

	if (!n)
		return 0;
	request = data[0] & 1;
	ipv6 = data[0] & 2;
	/* Memory of the exact size: ASan reports reads past the end. */
	copy = malloc(n);
	memcpy(copy, data + 1, n - 1);
	HOLDS(rds_rdma_pd_parse(copy, n - 1, ipv6, request, &p) == (n > 1));
	free(copy);
	if (request)
		HOLDS(!p.version || p.version == RDS_RDMA_V3_1 || p.version == RDS_RDMA_V4_0 ||
		      p.version == RDS_RDMA_V4_1);
	else
		HOLDS(!p.version || p.version >= RDS_RDMA_V3_1);
	if (n == 1 || !p.version)
		return 0;
	used = rds_rdma_pd_build(buf, ipv6, &p);
	HOLDS(used == (ipv6 ? RDS_RDMA_PD_IPV6 : RDS_RDMA_PD_IPV4));
	HOLDS(rds_rdma_pd_parse(buf, used, ipv6, false, &again));
	HOLDS(!memcmp(&p, &again, sizeof(p)));
	return 0;
}
