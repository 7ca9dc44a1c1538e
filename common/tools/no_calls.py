#!/usr/bin/env python3
"""Checks that inner loops of the host became one piece of code: that their functions call nobody.

    no_calls.py OBJECT_OR_LIBRARY --function PATTERN

Disassembles the file with objdump; every function whose demangled name matches PATTERN is looked at, and there must be
one. A helper that a compiler did not inline keeps its caller's sums in memory and costs it several times its speed,
and changes no result. Exit status 77 without objdump, and for code that a sanitizer made, which calls its run time.
"""

import argparse
import re
import shutil
import subprocess
import sys

SKIPPED = 77
HEAD = re.compile(r"^[0-9a-f]+ <(.*)>:$")
CALL = re.compile(r"\t(?:callq?|blr?)\s")  # of x86-64 and of AArch64
SANITIZER = re.compile(r"__(?:asan|ubsan|tsan|sanitizer)_")


def callers(disassembly, wanted):
    """({functions that match}, {those of them that call}) of the text that objdump -d prints."""
    found, calling, name = set(), set(), None
    for line in disassembly.splitlines():
        head = HEAD.match(line)
        if head:
            name = head[1] if re.search(wanted, head[1]) else None
            found |= {name} - {None}
        elif name is not None and CALL.search(line):
            calling.add(name)
    return found, calling


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("file")
    parser.add_argument("--function", required=True)
    args = parser.parse_args()
    objdump = shutil.which("objdump")
    if objdump is None:
        print("no_calls: skipped, there is no objdump")
        return SKIPPED
    run = subprocess.run([objdump, "-dr", "--no-show-raw-insn", "-C", args.file], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        print(f"no_calls: {run.stderr.strip()}", file=sys.stderr)
        return 2
    if SANITIZER.search(run.stdout):
        print("no_calls: skipped, the code is a sanitizer's")
        return SKIPPED
    found, calling = callers(run.stdout, args.function)
    for name in sorted(calling):
        print(f"{args.file}: {name} calls a function")
    if not found:
        print(f"{args.file}: no function matches {args.function}")
    print(f"no_calls: {len(found)} functions, {len(calling)} of them call")
    return 0 if found and not calling else 1


if __name__ == "__main__":
    sys.exit(main())
