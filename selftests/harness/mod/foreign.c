// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* hurt.c as a module whose name does not count as ours */
#include "hurt.c"
