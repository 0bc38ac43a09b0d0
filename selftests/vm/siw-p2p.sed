# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# siw_main.c: negotiate the peer-to-peer mode of MPA (RFC 6581), in which the end that dialled sends
# an empty frame first. librdmacm's accepting end sends before it has received, which MPA permits in
# this mode only.
s/^\(const \)\?bool peer_to_peer;/\1bool peer_to_peer = true;/
