// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Transports that the core must refuse.  The result of each registration can be
 * read from /sys/module/rds_test/parameters/refused.
 */
#include <linux/module.h>
#include <net/rds/transport.h>

#include "rds_test.h"

static int refused[5];
static int nr_refused;
module_param_array(refused, int, &nr_refused, 0444);
MODULE_PARM_DESC(refused, "results for: another version, another size, an op missing, a name too long, a slot that is taken");

/**
 * rds_test_refusals - register transports that are wrong in one respect each
 * @good: valid transport, registered already
 */
void rds_test_refusals(const struct rds_transport *good)
{
	struct rds_transport wrong = *good;

	refused[0] = __rds_transport_register(good, RDS_TRANSPORT_API + 1,
					      sizeof(*good));
	refused[1] = __rds_transport_register(good, RDS_TRANSPORT_API,
					      sizeof(*good) - sizeof(void *));
	wrong.xmit = NULL;
	refused[2] = rds_transport_register(&wrong);
	wrong = *good;
	wrong.name = "sixteen letters.";
	refused[3] = rds_transport_register(&wrong);
	refused[4] = rds_transport_register(good);
	nr_refused = ARRAY_SIZE(refused);
}
