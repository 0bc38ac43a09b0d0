// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Private data: any bytes of any length, as request and as reply, in both forms.  What is read
 * is written again and read the same.  The first byte of the input chooses form and role.
 */
#include "fuzz.h"
#include "transport/rdma/privdata.h"

const struct fuzz_seed fuzz_seeds[] = {
	{ 33, "\1\300\250\74\1\300\250\74\2\3\1\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\20\1\2\3\4" },
	{ 57, "\3\375\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\375\1\2\3\4\5\6\7\10\11\12\13\14\15\16\20"
	      "\4\1\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\20\1\2\3\4" },
	{ 9, "\0\12\0\0\1\12\0\0\2" },
	{ 0, NULL },
};

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
	/* of the exact size, so that a read past it is seen */
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
