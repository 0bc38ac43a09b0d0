// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The same code under a name that is not ours. */
#include "hurt.c"
