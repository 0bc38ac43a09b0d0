#include "rt.h"
void test_bad(struct rt *r) { (void)r; }
void test_badkey(struct rt *r) { (void)r; }
