// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The same code under a name that counts as ours: one object must not be listed in two modules. */
#include "hurt.c"
