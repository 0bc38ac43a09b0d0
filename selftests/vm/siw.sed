# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# siw_cm.c: a connection that its peer ends before siw has accepted it, as on a busy machine, ends the
# listener, whose end then uses freed memory (Documentation/rdma.rst). Not so here.
/^\tcase TCP_CLOSE_WAIT:/a\
\t\tif (cep->state == SIW_EPSTATE_LISTENING)\
\t\t\tbreak;
