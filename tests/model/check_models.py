#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spin must accept the model of the transport table's protocol and refute each mutation of it.

check_models.py [--long]    --long: also with finer steps, and with readers after any key
"""
import pathlib
import re
import subprocess
import sys
import tempfile

MODEL = pathlib.Path(__file__).resolve().parent / "transport_table.pml"

# Accepted: growth and shrinking; reader 0 is after the key that stays, reader 1 after the other.
REAL = [["ONE_KEY_EACH=0"], ["SHRINK", "ONE_KEY_EACH=0"]]
REAL_LONG = [[], ["SHRINK"], ["LONG", "ONE_KEY_EACH=0"], ["LONG", "ONE_KEY_EACH=1"]]

# Refuted: (mutation, which step of the protocol it breaks).
MUTATIONS = [
    ("NO_PREVIOUS", "find() looks into the array that is being copied"),
    ("PREVIOUS_LATE", "find() reads previous before it looks into the new array"),
    ("BURST_IGNORES_PREVIOUS", "a burst's first look is not enough during a move"),
    ("BURST_IGNORES_NEXT", "a burst's first look is not enough when the chain goes on"),
    ("HOLD_OVER_REPORT", "a node found is used before the next quiescent report"),
    ("NO_LOCK_INSERT", "insert() holds the shard"),
    ("CHECK_OUTSIDE_LOCK", "duplicate check and insert are one critical section"),
    ("NO_CHECK_OF_PREVIOUS", "the duplicate check looks into both arrays"),
    ("INSERT_INTO_OLD SHRINK", "insert() goes into the new array"),
    ("PUBLISH_EARLY", "a node is written before its line is published"),
    ("NO_LOCK_REMOVE", "remove() holds the shard"),
    ("NO_ERASE_OF_PREVIOUS", "remove() takes the entry out of the old array"),
    ("NO_ERASE_OF_NEWEST", "remove() takes the entry out of the new array"),
    ("NO_GRACE_FOR_NODE", "a node's memory waits for a grace period"),
    ("DROP_FULL", "only an empty bucket goes back to the pool"),
    ("DROP_MIDDLE", "only the last bucket of a chain goes back to the pool"),
    ("CURRENT_EARLY", "previous is set before the new array is published"),
    ("BEGIN_WITHOUT_LOCK", "a move begins under the lock"),
    ("COPY_WITHOUT_LOCK", "a chain is copied under the lock"),
    ("ERASE_BEFORE_COPY", "copying takes nothing out of the old array (before)"),
    ("ERASE_AFTER_COPY", "copying takes nothing out of the old array (after)"),
    ("END_EARLY", "previous is cleared after the last chain was copied"),
    ("NO_GRACE_FOR_ARRAY", "the old array waits for a grace period"),
]


def run(command, directory):
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def errors_of(defines, quick):
    """Errors that the search found (it ends at the first), states that it stored, its output."""
    with tempfile.TemporaryDirectory() as directory:
        run(["spin", "-a", *("-D" + d for d in defines), str(MODEL)], directory)
        compress = ["-DCOLLAPSE"] if "LONG" in defines else []
        options = ["-O0" if quick else "-O1", "-DSAFETY", "-DNOCLAIM", *compress]
        run(["gcc", "-w", *options, "-o", "pan", "pan.c"], directory)
        out = run(["./pan", "-m1000000", "-w22"], directory)
    errors = re.search(r"errors: (\d+)", out)
    states = re.search(r"(\d+) states, stored", out)
    if not errors or not states:
        sys.exit(f"{defines}: spin said something else\n{out}")
    if int(errors.group(1)) == 0 and re.search("max search depth|out of memory|not completed", out):
        sys.exit(f"{defines}: the search was not complete\n{out}")
    return int(errors.group(1)), int(states.group(1)), out


def main():
    failed = []
    for defines in REAL + (REAL_LONG if "--long" in sys.argv else []):
        errors, states, out = errors_of(defines, quick=False)
        verdict = "accepted" if errors == 0 else "REFUTED"
        print(f"{verdict}: the model ({' '.join(defines)}), {states} states", flush=True)
        if errors != 0:
            print(out)
            failed.append(defines)
    for mutation, step in MUTATIONS:
        errors, states, _ = errors_of([*mutation.split(), "ONE_KEY_EACH=0"], quick=True)
        verdict = "refuted" if errors != 0 else "ACCEPTED"
        print(f'{verdict}: without "{step}" ({mutation}), {states} states', flush=True)
        if errors == 0:
            failed.append(mutation)
    if failed:
        sys.exit(f"not as it should be: {failed}")


main()
