// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * hurt.c as a module whose name counts as ours. The two modules have an object
 * file each, because kbuild rejects an object that is part of two modules.
 */
#include "hurt.c"
