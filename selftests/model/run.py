#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Checks the models of this folder with spin, in every state that they can reach.

    run.py            the small configuration, which make check runs: some seconds
    run.py --large    also more losses and restarts: some minutes, 3 GB of memory

A run must find no error, or must find one: each mistake that is put into a model must be found, and
what is known not to hold must fail. The last line is "N passed, N failed, N skipped".
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# name, model, definitions, whether an error must be found
SMALL = (
    ("send.two_losses_and_a_restart", "send", (), False),
    ("send.restart_alone", "send", ("LOSSES=0",), False),
    ("send.losses_alone", "send", ("RESTARTS=0",), False),
    ("send.no_duplicate_rule_is_found", "send", ("MISTAKE_NO_RULE",), True),
    ("send.renumbering_is_found", "send", ("MISTAKE_RENUMBER",), True),
    ("send.flushing_is_found", "send", ("MISTAKE_FLUSH",), True),
    ("send.repeats_behind_is_found", "send", ("MISTAKE_TAIL",), True),
    ("receive.two_losses_and_a_restart", "receive", (), False),
    ("receive.reset_by_handshake_is_found", "receive", ("MISTAKE_RESET",), True),
    ("receive.repeats_before_handshake_are_lost", "receive", ("WANT_ALL",), True),
    ("ack.two_losses_and_both_restart", "ack", (), False),
    ("ack.before_queueing_is_found", "ack", ("MISTAKE_EARLY",), True),
    ("ack.no_duplicate_rule_is_found", "ack", ("MISTAKE_NO_RULE",), True),
    ("ack.generation_ignored_is_found", "ack", ("MISTAKE_NOT_FORGOTTEN",), True),
    ("ack.answer_before_generation_is_found", "ack", ("MISTAKE_ANSWER_FIRST",), True),
    ("ack.before_handshakes_is_found", "ack", ("MISTAKE_STALE",), True),
    ("ack.held_for_ever_is_found", "ack", ("MISTAKE_HELD",), True),
    ("greet.two_losses_and_both_restart", "greet", (), False),
    ("greet.all_in_time", "greet", ("OLD_PEERS=0", "SILENCES=0"), False),
    ("greet.late_as_first_is_found", "greet",
     ("MISTAKE_ON_TIME", "LOSSES=1", "SENDER_RESTARTS=0"), True),
    ("greet.old_peers_greeted", "greet", ("GREET_ALL",), False),
    ("greet.only_once_is_found", "greet",
     ("MISTAKE_GREET_ONCE", "OLD_PEERS=0", "SILENCES=0"), True),
    ("greet.silent_as_old_is_found", "greet", ("MISTAKE_SILENT_OLD", "OLD_PEERS=0"), True),
    ("greet.forgetting_in_between_is_found", "greet", ("MISTAKE_FORGET", "LOSSES=0"), True),
    ("greet.generation_ignored_is_found", "greet", ("MISTAKE_NOT_FORGOTTEN", "OLD_PEERS=0"), True),
    ("greet.repeats_unflagged_is_found", "greet", ("MISTAKE_UNFLAGGED",), True),
    ("greet.greeting_unflagged_is_found", "greet", ("MISTAKE_FIRST",), True),
    ("greet.decided_too_soon_is_found", "greet", ("MISTAKE_DECIDED",), True),
    ("counted.two_losses_and_a_restart", "counted", (), False),
    ("counted.strays_forgotten_is_found", "counted", ("MISTAKE_STRAYS",), True),
    ("counted.raise_among_pings_is_found", "counted", ("MISTAKE_PINGS",), True),
    ("counted.kept_over_a_loss_is_found", "counted", ("MISTAKE_KEPT",), True),
    ("counted.patient_for_ever_is_found", "counted", ("MISTAKE_PATIENT",), True),
    ("carry.two_losses", "carry", (), False),
    ("carry.sender_restarts", "carry", ("LOSSES=1", "SENDER_RESTARTS=1"), False),
    ("carry.receiver_restarts", "carry", ("LOSSES=1", "RECEIVER_RESTARTS=1", "SPLIT_DELIVERY"),
     False),
    ("carry.workers_are_woken", "carry", ("LOSSES=1", "WAKES"), False),
    ("carry.three_paths", "carry",
     ("PATHS=3", "MESSAGES=1", "LOSSES=0", "SENDER_RESTARTS=1"), False),
    ("carry.no_duplicate_rule_is_found", "carry", ("MISTAKE_NO_RULE",), True),
    ("carry.untagged_is_found", "carry", ("MISTAKE_UNTAGGED",), True),
    ("carry.back_too_soon_is_found", "carry", ("MISTAKE_EAGER",), True),
    ("carry.left_with_the_carrier_is_found", "carry", ("MISTAKE_TAKE_BACK",), True),
    ("carry.duplicates_not_acknowledged_is_found", "carry", ("MISTAKE_SILENT",), True),
    ("carry.before_queueing_is_found", "carry",
     ("LOSSES=1", "RECEIVER_RESTARTS=1", "SPLIT_DELIVERY", "MISTAKE_EARLY"), True),
    ("carry.no_lock_is_found", "carry", ("LOSSES=1", "SPLIT_DELIVERY", "MISTAKE_UNLOCKED"), True),
    ("carry.lane_not_forgotten_is_found", "carry",
     ("LOSSES=1", "SENDER_RESTARTS=1", "MISTAKE_NOT_FORGOTTEN"), True),
    ("carry.old_generation_is_found", "carry",
     ("LOSSES=1", "SENDER_RESTARTS=1", "MISTAKE_OLD"), True),
    ("carry.acks_of_old_generation_is_found", "carry",
     ("PATHS=3", "MESSAGES=1", "LOSSES=0", "SENDER_RESTARTS=1", "MISTAKE_STALE"), True),
    ("carry.asleep_is_found", "carry", ("LOSSES=1", "WAKES", "MISTAKE_ASLEEP"), True),
    ("carry.greetings_of_any_path_is_found", "carry",
     ("LOSSES=0", "SENDER_RESTARTS=1", "LATE_GREETINGS", "MISTAKE_ANY_PATH"), True),
    ("carry.lane_first_is_found", "carry",
     ("LOSSES=1", "SENDER_RESTARTS=1", "SPLIT_HANDSHAKE", "MISTAKE_LANE_FIRST"), True),
    ("carry.late_greetings", "carry",
     ("LOSSES=1", "SENDER_RESTARTS=1", "LATE_GREETINGS", "SPLIT_HANDSHAKE"), False),
)
LARGE = (
    ("send.three_losses_and_two_restarts", "send", ("LOSSES=3", "RESTARTS=2"), False),
    ("send.four_messages", "send", ("MESSAGES=4", "LOSSES=3"), False),
    ("receive.four_losses", "receive", ("MESSAGES=4", "LOSSES=4"), False),
    ("ack.three_losses_and_four_restarts", "ack",
     ("LOSSES=3", "SENDER_RESTARTS=2", "RECEIVER_RESTARTS=2"), False),
    ("counted.three_losses_and_two_restarts", "counted", ("LOSSES=3", "RESTARTS=2", "PEER_PINGS=2"),
     False),
    ("greet.three_messages", "greet", ("MESSAGES=3", "RECEIVER_RESTARTS=2"), False),
    ("greet.address_moves", "greet", ("OLD_PEERS=0", "MOVES=2"), False),
    ("greet.address_moves_to_old_fails", "greet",
     ("MOVES=2", "LOSSES=0", "SENDER_RESTARTS=0", "RECEIVER_RESTARTS=0"), True),
    ("greet.address_moves_to_old_greeted", "greet", ("MOVES=1", "GREET_ALL"), False),
    ("carry.three_losses", "carry", ("LOSSES=3",), False),
    ("carry.four_messages", "carry", ("MESSAGES=3",), False),
    ("carry.two_losses_and_sender_restarts", "carry", ("SENDER_RESTARTS=1",), False),
    ("carry.two_losses_and_receiver_restarts", "carry", ("RECEIVER_RESTARTS=1", "SPLIT_DELIVERY"),
     False),
    ("carry.loss_and_both_restart", "carry",
     ("LOSSES=1", "SENDER_RESTARTS=1", "RECEIVER_RESTARTS=1"), False),
    ("carry.two_losses_and_workers_are_woken", "carry", ("WAKES",), False),
    ("carry.three_paths_and_a_loss", "carry", ("PATHS=3", "MESSAGES=1", "LOSSES=1"), False),
    ("carry.both_restart_and_late_greetings", "carry",
     ("LOSSES=0", "SENDER_RESTARTS=1", "RECEIVER_RESTARTS=1", "LATE_GREETINGS", "SPLIT_HANDSHAKE"),
     False),
)
LIMIT_S = 600
ENOUGH = re.compile(r"errors: (\d+)")


def verify(model, defs, where):
    """(errors, states) of a full search; raises ValueError if the search was not full."""
    flags = ["-D" + d for d in defs]
    subprocess.run(["spin", "-a", *flags, os.path.join(HERE, model + ".pml")], cwd=where, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cc", "-O1", "-w", "-DSAFETY", "-DMEMLIM=3000", "-o", "pan", "pan.c"], cwd=where,
                   check=True)
    p = subprocess.run(["./pan", "-m1000000"], cwd=where, stdout=subprocess.PIPE, text=True,
                       stderr=subprocess.STDOUT, check=False, timeout=LIMIT_S)
    found = ENOUGH.search(p.stdout)
    if not found or "max search depth too small" in p.stdout or "MEMLIM bound" in p.stdout:
        raise ValueError("no full search: " + p.stdout.strip().splitlines()[0])
    states = re.search(r"(\d+) states, stored", p.stdout)
    return int(found.group(1)), int(states.group(1)) if states else 0


def result(name, model, defs, must_find):
    """Print the result of a run; returns whether it is as it must be."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as where:
        try:
            errors, states = verify(model, defs, where)
            good = (errors > 0) == must_find
            why = "%d errors in %d states" % (errors, states)
        except (ValueError, OSError, subprocess.SubprocessError) as e:
            good, why = False, str(e)
    print("%s model.%s # %s, %.1f s" % ("ok" if good else "not ok", name, why,
                                        time.monotonic() - begin), flush=True)
    return good


def main():
    runs = SMALL + (LARGE if "--large" in sys.argv else ())
    if not shutil.which("spin"):
        print("ok model # SKIP spin is not installed")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    good = sum(result(*r) for r in runs)
    print("%d passed, %d failed, 0 skipped" % (good, len(runs) - good))
    return good < len(runs)


if __name__ == "__main__":
    sys.exit(main())
