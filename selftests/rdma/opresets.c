#include "rt.h"
void test_opresets(struct rt *r) { (void)r; }
