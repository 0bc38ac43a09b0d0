#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every rule of layers.py is shown files that break it, and files that do not."""
import sys

import layers
import tree

C = "// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause\n"
LONG = C + "int f(void)\n{\n" + "\tg();\n" * 99 + "}\n"

# rule, path, text, how many complaints
CASES = [
    ("core_includes_go_down", "net/rds/send/x.c", C + '#include "conn/conn.h"\n', 1),
    ("core_includes_go_down", "net/rds/msg/x.c", C + '#include "cong/map.h"\n', 1),
    ("core_includes_go_down", "net/rds/odd/x.c", C, 1),
    ("core_includes_go_down", "net/rds/proto/x.c", C + "#include <linux/slab.h>\n", 1),
    ("core_includes_go_down", "net/rds/conn/x.c", C + '#include "send/txq.h"\n', 0),
    ("core_includes_go_down", "net/rds/conn/x.c", C + '/*\n#include "sock/a.h"\n*/\n', 0),
    ("transports_see_public_headers_only", "net/rds/transport/tcp/x.c",
     C + '#include "../../netns.h"\n', 1),
    ("transports_see_public_headers_only", "net/rds/transport/tcp/x.c",
     C + '#include "tcp.h"\n#include <net/rds/tx.h>\n', 0),
    ("public_headers_stand_alone", "include/net/rds/x.h", C + '#include "msg/message.h"\n', 1),
    ("version_tests_in_compat_only", "net/rds/sock/x.c",
     C + "#if LINUX_VERSION_CODE > 5\n#endif\n", 1),
    ("version_tests_in_compat_only", "include/compat/linux/x.h", C + "\n" * 350, 1),
    ("core_names_no_transport", "net/rds/sock/x.c", C + "\tif (t == RDS_TRANS_TCP)\n", 1),
    ("core_names_no_transport", "net/rds/ctl/x.c", C + '\tf("tcp");\n', 1),
    ("core_names_no_transport", "net/rds/sock/x.c",
     C + "\tif (t == RDS_TRANS_NONE) /* not RDS_TRANS_TCP */\n", 0),
    ("core_names_no_transport", "net/rds/registry.c", C + "\treturn RDS_TRANS_TCP;\n", 0),
    ("nothing_crashes_on_purpose", "net/rds/sock/x.c", C + "\tBUG_ON(!p);\n", 1),
    ("nothing_crashes_on_purpose", "net/rds/sock/x.c", C + "\tBUILD_BUG_ON(!p);\n", 0),
    ("functions_fit", "net/rds/sock/x.c", LONG, 1),
    ("functions_fit", "net/rds/sock/x.c", LONG.replace("\tg();\n", "", 1), 0),
    ("files_fit", "net/rds/sock/x.c", C + "\n" * 600, 1),
    ("files_fit", "net/rds/sock/x.h", C + "\n" * 250, 1),
    ("files_fit", "net/rds/sock/x.h", C + "\n" * 249, 0),
    ("spdx", "net/rds/sock/x.c", "int x;\n", 1),
    ("spdx", "net/rds/sock/x.c", C.replace(" OR BSD-2-Clause", ""), 1),
    ("spdx", "include/uapi/linux/x.h", C, 1),
    ("spdx", "selftests/x.sh", "#!/bin/sh\n" + C.replace("//", "#"), 0),
    ("no_unfinished_marks", "net/rds/sock/x.c", C + "/* TO" + "DO: more */\n", 1),
]


def main():
    rules, seen, bad = dict(layers.RULES), set(), 0
    for rule, path, text, want in CASES:
        got = list(rules[rule]([tree.File(path, text)]))
        seen.add(rule)
        if len(got) != want:
            bad += 1
            print("# %s: %s: %d complaints, not %d" % (rule, path, len(got), want))
    untried = set(rules) - seen - {"top_folder"}
    if untried:
        print("# never shown anything: %s" % ", ".join(sorted(untried)))
    print("%s lint.rules_notice, %d cases" % ("not ok" if bad or untried else "ok", len(CASES)))
    return 1 if bad or untried else 0


if __name__ == "__main__":
    sys.exit(main())
