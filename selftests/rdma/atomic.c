// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "rt.h"
void test_atomic(struct rt *r) { (void)r; }
