#include "rt.h"
void test_kill(struct rt *r) { (void)r; }
