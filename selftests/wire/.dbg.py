import sys; sys.path.insert(0,'/work/main/selftests/wire')
from wirelib import *
from wire_tcp import *
import wirelib
wirelib.CASES.clear()
@case('dbg')
def dbg(c):
    p = c.peer('client', rcvbuf=4096)
    p.settle(); p.auto=False
    r = c.rds(sndbuf=8<<20)
    for i in range(5): r.send(pattern(100000,i), p.addr, 4000)
    for what in (10003,10004,10005,10012,10013,10006):
        log('%d %r', what, [x.hex() for x in info(c.net.a, what)][:6])
    r.close()
    log('unloading')
sys.exit(wirelib.run_cases(wirelib.Net(), []))
