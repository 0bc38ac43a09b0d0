# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# siw_cm.c: the parameter "late" is a number of accepts, each of which waits, after the answer is
# sent, until bytes have come and for 100 ms no more. The connection is in RDMA mode by then and the
# queue pair does not have the socket, so siw is not told of these bytes: what a busy machine makes
# of siw_accept() now and then.
/^#include "siw_cm.h"/a\
\
static int late;\
module_param(late, int, 0644);\
\
static void siw_be_late(struct siw_cep *cep)\
{\
	struct sock *sk = cep->sock->sk;\
	int tries = 50, now = 0, was;\
\
	if (late <= 0)\
		return;\
	do {\
		was = now;\
		msleep(100);\
		now = sk_rmem_alloc_get(sk);\
	} while ((!now || now != was) && --tries);\
	late -= !!tries;\
}
/if (wait_for_peer_rts) {/,/siw_qp_socket_assoc(cep, qp);/s/^\t\tsiw_qp_socket_assoc(cep, qp);/\t\tsiw_be_late(cep);\n&/

# siw_qp_rx.c: the parameter "late_place" is a number of WRITEs that are placed late: siw has found that
# the key is valid, and waits up to 5 s until it is not, and then 300 ms more. "placed_late" counts
# those whose key has ended, and "placing" is 1 meanwhile. The processor is busy then, and queue pairs
# use the thread of another one, as the end of the key waits for its queue pair.
/^static int siw_rx_umem(/i\
#include <linux/delay.h>\
#include <linux/moduleparam.h>\
\
static int late_place, placing, placing_cpu, placed_late;\
module_param(late_place, int, 0644);\
module_param(placing, int, 0444);\
module_param(placed_late, int, 0444);\
\
int siw_free_cpu(int cpu);\
int siw_free_cpu(int cpu)\
{\
	int next;\
\
	if (!READ_ONCE(placing) || cpu != placing_cpu)\
		return cpu;\
	next = cpumask_next(cpu, cpu_online_mask);\
	return next < nr_cpu_ids ? next : cpumask_first(cpu_online_mask);\
}\
\
static void siw_place_late(struct siw_mem *mem)\
{\
	int tries = 5000;\
\
	if (late_place <= 0)\
		return;\
	placing_cpu = raw_smp_processor_id();\
	placing = 1;\
	late_place--;\
	while (READ_ONCE(mem->stag_valid) && --tries)\
		mdelay(1);\
	if (!tries)\
		return;\
	mdelay(300);\
	placed_late++;\
}\

/rv = siw_rx_data(mem, srx, /i\
	siw_place_late(mem);
/srx->ddp_to + srx->fpdu_part_rcvd, bytes);/a\
	placing = 0;

# siw_qp_tx.c
/^int siw_sq_start(/i\
int siw_free_cpu(int cpu);\

/^int siw_sq_start(/,/^}/{
s/^{/{\n\tint cpu;\n/
s/^\tllist_add(/\tcpu = siw_free_cpu(qp->tx_cpu);\n&/
s/siw_tx_task_g, qp->tx_cpu)/siw_tx_task_g, cpu)/
}
