# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rxe_recv.c, rxe_qp.c: the parameter "late" is a number of requests that are queued late: of a queue
# pair in the error state each, and of others every fourth, waits for up to 30 ms for the state RESET,
# and is queued while rxe, behind the emptying of the queues, still runs no task for it. A busy machine
# makes such of a packet now and then. The parameter "stuck" counts those for which rxe had no task.
/^static int check_type_state(/i\
#include <linux/delay.h>\
#include <linux/moduleparam.h>\
\
int late, stuck;\
module_param(late, int, 0644);\
module_param(stuck, int, 0444);\
\
static void rxe_be_late(struct rxe_pkt_info *pkt)\
{\
	enum ib_qp_state *state = &pkt->qp->attr.qp_state;\
	static unsigned int nth;\
	int tries = 30000;\
\
	if (late <= 0 || qp_type(pkt->qp) != IB_QPT_RC || !(pkt->mask & RXE_REQ_MASK) ||\
	    (READ_ONCE(*state) != IB_QPS_ERR && ++nth % 4))\
		return;\
	while (tries-- && READ_ONCE(*state) != IB_QPS_RESET)\
		udelay(1);\
	if (tries <= 0)\
		return;\
	late--;\
	mdelay(10);\
	stuck += READ_ONCE(pkt->qp->recv_task.state) == TASK_STATE_DRAINED;\
}\

/rxe_counter_inc(rxe, RXE_CNT_RCVD_PKTS);/a\
	if (pkt->qp)\
		rxe_be_late(pkt);
/^static void rxe_qp_reset(/i\
#include <linux/delay.h>\
\
extern int late;\

/reenable tasks/i\
	if (late > 0)\
		mdelay(30);
