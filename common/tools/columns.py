#!/usr/bin/env python3
"""Fails when a demo or `octavo inspect` prints a line that is wider than a terminal: columns.py --program OCTAVO

Runs the tour of `./run demo`, the demo of each chapter that has one, and `inspect` on the embedded models and on every
config of the tree. The programs are those of the build that OCTAVO belongs to.
"""

import glob
import os
import shlex
import sys

import shell
import tree

COLUMNS = 100
TIMEOUT = 300  # seconds a command
MODELS = ("tiny-moe", "tiny-mla", "tiny-draft", "tiny-draft-domain")


def commands(root, program):
    """What runs, as shell commands."""
    octavo = shlex.quote(program)
    build = os.path.dirname(os.path.dirname(program))
    found = [f"common/tools/demo.sh {octavo}", f"common/tools/demo.sh {octavo} experts"]
    for path in sorted(glob.glob(os.path.join(root, "0*_*", "demo.cpp"))):
        folder = os.path.basename(os.path.dirname(path))
        found.append(shlex.quote(os.path.join(build, folder, f"ch{folder[:2]}_demo")))
    configs = sorted(glob.glob(os.path.join(root, "common", "model", "configs", "*.json")))
    targets = list(MODELS) + [os.path.relpath(path, root) for path in configs]
    return found + [f"{octavo} inspect {target} --memory 640" for target in targets]


def too_wide(text):
    """The lines of more than COLUMNS characters; every character that is printed here takes one column."""
    return [line for line in text.split("\n") if len(line) > COLUMNS]


def breaches_of(root, command):
    status, output = shell.run(root, command, TIMEOUT)
    if status != 0:
        what = f"took more than {TIMEOUT} s" if status is None else f"ended with {status}"
        return [f"{command}: {what}: {output.strip()[-200:]}"]
    return [f"{command}: a line of {len(line)} columns, limit {COLUMNS}: {line}" for line in too_wide(output)]


def main(arguments=None):
    parser = tree.parser(__doc__)
    parser.add_argument("--program", required=True, help="the octavo program")
    options = parser.parse_args(arguments)
    run = commands(options.root, os.path.abspath(options.program))
    breaches = [breach for command in run for breach in breaches_of(options.root, command)]
    return tree.report("columns", breaches, tree.counted(len(run), "command"))


if __name__ == "__main__":
    sys.exit(main())
