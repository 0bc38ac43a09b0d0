#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests every rule of layers.py with files that break it and files that do not."""
import sys

import layers
import tree

C = "// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause\n"
LONG = C + "int f(void)\n{\n" + "\tg();\n" * 99 + "}\n"

LOW, HIGH = "net/rds/send/x.c", "net/rds/conn/x.c"
F, G, H = ("void rds_%s(void)\n{\n\t%%s;\n}\n" % n for n in "fgh")

# rule, path, text, number of problems; or rule, {path: text}, number of problems
CASES = [
    ("lines_fit", "net/rds/sock/x.c", C + "\tx = " + "a" * 80 + ";\n", 1),
    ("lines_fit", "net/rds/sock/x.c", C + '\tf("' + "a" * 80 + '");\n', 0),
    ("lines_fit", "net/rds/sock/x.c", C + '\tf("a", ' + "a" * 80 + ");\n", 1),
    ("core_includes_go_down", "net/rds/send/x.c", C + '#include "conn/conn.h"\n', 1),
    ("core_includes_go_down", "net/rds/msg/x.c", C + '#include "cong/map.h"\n', 1),
    ("core_includes_go_down", "net/rds/odd/x.c", C, 1),
    ("core_includes_go_down", "net/rds/proto/x.c", C + "#include <linux/slab.h>\n", 1),
    ("core_includes_go_down", "net/rds/conn/x.c", C + '#include "send/txq.h"\n', 0),
    ("core_includes_go_down", "net/rds/sock/state.c", C + '#include "sock/calls.h"\n', 1),
    ("core_includes_go_down", "net/rds/send/x.c", C + '#include "sock/calls.h"\n', 1),
    ("core_includes_go_down", "net/rds/send/x.c", C + '#include "sock/state.h"\n', 0),
    ("core_includes_go_down", "net/rds/sock/bind.c", C + '#include "sock/state.h"\n', 0),
    ("core_includes_go_down", "net/rds/conn/x.c", C + '/*\n#include "sock/a.h"\n*/\n', 0),
    # A circle of two folders has two edges. Circles by calls, by includes, by a table of functions,
    # and by a call and an include
    ("no_circle_crosses_folders", {LOW: C + F % "rds_g()", HIGH: C + G % "rds_f()"}, 2),
    ("no_circle_crosses_folders", {LOW: C + F % "rds_h()", HIGH: C + G % "rds_f()",
                                   "net/rds/cong/x.c": C + H % "rds_g()"}, 3),
    ("no_circle_crosses_folders", {"net/rds/send/x.h": C + '#include "conn/x.h"\n',
                                   "net/rds/conn/x.h": C + '#include "send/x.h"\n'}, 2),
    ("no_circle_crosses_folders", {LOW: C + F % "(void)0", HIGH: C + G % "rds_f()",
                                   "net/rds/send/y.c": C + "struct t t = {\n\t.g\t= rds_g,\n};\n"}, 2),
    ("no_circle_crosses_folders", {LOW: C + '#include "conn/x.h"\n' + F % "(void)0",
                                   "net/rds/conn/x.h": C, HIGH: C + G % "rds_f()"}, 2),
    ("no_circle_crosses_folders", {"net/rds/sock/state.c": C + F % "rds_g()",
                                   "net/rds/sock/bind.c": C + G % "rds_f()"}, 2),
    ("no_circle_crosses_folders", {LOW: C + F % "t->rds_g()", HIGH: C + G % "rds_f()"}, 0),
    ("no_circle_crosses_folders", {LOW: C + "static " + F % "rds_g()", HIGH: C + G % "rds_f()"}, 0),
    ("no_circle_crosses_folders", {LOW: C + F % "(void)0 /* rds_g() */", HIGH: C + G % "rds_f()"}, 0),
    ("no_circle_crosses_folders", {LOW: C + F % "rds_g()", "net/rds/send/y.c": C + G % "rds_f()"}, 0),
    ("transports_see_public_headers_only", "net/rds/transport/tcp/x.c",
     C + '#include "../../netns.h"\n', 1),
    ("transports_see_public_headers_only", "net/rds/transport/tcp/x.c",
     C + '#include "tcp.h"\n#include <net/rds/tx.h>\n', 0),
    ("public_headers_stand_alone", "include/net/rds/x.h", C + '#include "msg/message.h"\n', 1),
    ("public_headers_stand_alone", "include/net/rds/dev_x.h", C + '#include <net/rds/memop.h>\n', 1),
    ("public_headers_stand_alone", "include/net/rds/dev_x.h", C + '#include <net/rds/dev.h>\n', 0),
    ("transports_see_public_headers_only", "net/rds/dev/x.c", C + '#include <net/rds/memop.h>\n', 1),
    ("transports_see_public_headers_only", "net/rds/dev/x.c", C + '#include "netns.h"\n#include "msg/x.h"\n', 1),
    ("transports_see_public_headers_only", "net/rds/dev/x.c", C + '#include <net/rds/dev_id.h>\n', 0),
    ("transports_see_public_headers_only", "net/rds/stream/x.c", C + '#include <net/rds/memop.h>\n', 1),
    ("transports_see_public_headers_only", "net/rds/stream/x.c", C + '#include "msg/message.h"\n', 1),
    ("transports_see_public_headers_only", "net/rds/stream/x.c",
     C + '#include <net/rds/dev_id.h>\n#include <rdma/ib_verbs.h>\n#include "engine.h"\n', 0),
    ("stream_includes_go_down", "net/rds/stream/flow.c", C + '#include "flow.h"\n#include "wire.h"\n', 0),
    ("stream_includes_go_down", "net/rds/stream/flow.c", C + '#include "engine.h"\n', 1),
    ("stream_includes_go_down", "net/rds/stream/engine.h", C + '#include "sock.h"\n', 1),
    ("stream_includes_go_down", "net/rds/stream/wire.c", C + '#include <linux/slab.h>\n', 1),
    ("stream_includes_go_down", "net/rds/stream/plat.h", C + '#include <linux/types.h>\n', 0),
    ("stream_includes_go_down", "net/rds/stream/sock.c", C + '#include "engine.h"\n#include <linux/slab.h>\n', 0),
    ("version_tests_in_compat_only", "net/rds/sock/x.c",
     C + "#if LINUX_VERSION_CODE > 5\n#endif\n", 1),
    ("version_tests_in_compat_only", "include/compat/linux/x.h", C + "\n" * 350, 1),
    ("core_names_no_transport", "net/rds/sock/x.c", C + "\tif (t == RDS_TRANS_TCP)\n", 1),
    ("core_names_no_transport", "net/rds/ctl/x.c", C + '\tf("tcp");\n', 1),
    ("core_names_no_transport", "net/rds/sock/x.c",
     C + "\tif (t == RDS_TRANS_NONE) /* not RDS_TRANS_TCP */\n", 0),
    ("core_names_no_transport", "net/rds/xprt/registry.c", C + "\treturn RDS_TRANS_TCP;\n", 0),
    ("nothing_crashes_on_purpose", "net/rds/sock/x.c", C + "\tBUG_ON(!p);\n", 1),
    ("nothing_crashes_on_purpose", "net/rds/sock/x.c", C + "\tBUILD_BUG_ON(!p);\n", 0),
    ("functions_fit", "net/rds/sock/x.c", LONG, 1),
    ("functions_fit", "net/rds/sock/x.c", LONG.replace("\tg();\n", "", 1), 0),
    ("files_fit", "net/rds/sock/x.c", C + "\n" * 640, 1),
    ("files_fit", "net/rds/sock/x.h", C + "\n" * 300, 1),
    ("files_fit", "net/rds/sock/x.h", C + "\n" * 249, 0),
    ("spdx", "net/rds/sock/x.c", "int x;\n", 1),
    ("spdx", "net/rds/sock/x.c", C.replace(" OR BSD-2-Clause", ""), 1),
    ("spdx", "include/uapi/linux/x.h", C, 1),
    ("spdx", "selftests/x.sh", "#!/bin/sh\n" + C.replace("//", "#"), 0),
    ("no_unfinished_marks", "net/rds/sock/x.c", C + "/* TO" + "DO: more */\n", 1),
]


def main():
    rules, seen, bad = dict(layers.RULES), set(), 0
    for rule, *what, want in CASES:
        texts = what[0] if isinstance(what[0], dict) else dict([what])
        got = list(rules[rule]([tree.File(p, t) for p, t in texts.items()]))
        seen.add(rule)
        if len(got) != want:
            bad += 1
            print("# %s: %s: %d complaints, not %d" % (rule, ", ".join(texts), len(got), want))
    untried = set(rules) - seen - {"top_folder"}
    if untried:
        print("# never shown anything: %s" % ", ".join(sorted(untried)))
    print("%s lint.rules_notice, %d cases" % ("not ok" if bad or untried else "ok", len(CASES)))
    return 1 if bad or untried else 0


if __name__ == "__main__":
    sys.exit(main())
