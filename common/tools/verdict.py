#!/usr/bin/env python3
"""Tests the judge of an exercise: verdict.py JUDGE --right, or verdict.py JUDGE --file FILE --says WORDS.

With --right the judge must find its file right and exit with 0. With --says it must find it wrong, exit with 1 and
print WORDS, spaces counting alike however many; if a reader has changed FILE since the last commit there is nothing to
test, and the exit status is 77.
"""

import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def changed(root, file):
    """Whether the file differs from the last commit; False where git cannot say."""
    try:
        found = subprocess.run(["git", "-C", root, "status", "--porcelain", "--", file], capture_output=True,
                               check=False)
    except OSError:
        return False
    return found.returncode == 0 and found.stdout.strip() != b""


def fault(status, output, right, says):
    """Why the judge's exit status and output are not what they must be, or None."""
    wanted = 0 if right else 1
    if status != wanted:
        return f"the judge exits with {status}, must be {wanted}"
    flat = re.sub(r"\s+", " ", output)
    words = "Right." if right else re.sub(r"\s+", " ", says)
    return None if words in flat else f"the judge does not say '{words}'"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("judge")
    parser.add_argument("--right", action="store_true")
    parser.add_argument("--file")
    parser.add_argument("--says")
    parser.add_argument("--root", default=ROOT)
    options = parser.parse_args(arguments)
    if not options.right and not (options.file and options.says):
        parser.error("--right, or --file and --says, are wanted")
    if not options.right and changed(options.root, options.file):
        print(f"verdict: {options.file} was changed since the last commit; nothing to test")
        return 77
    found = subprocess.run([options.judge], capture_output=True, text=True, check=False)
    problem = fault(found.returncode, found.stdout, options.right, options.says)
    if problem:
        print(f"{found.stdout}{found.stderr}\nverdict: {problem}")
        return 1
    print(f"verdict: {'right' if options.right else 'wrong, and said so'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
