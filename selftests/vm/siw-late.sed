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
