#include "rt.h"
void test_flags(struct rt *r) { (void)r; }
