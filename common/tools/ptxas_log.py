#!/usr/bin/env python3
"""Compiler launcher of the CUDA objects: runs the compiler with ptxas -v and keeps what it says in OBJECT.ptxas.

The lines of ptxas's resource report go to the file, all others to stderr as they are. kernel_resources.py reads the files.
"""

import subprocess
import sys


def split(text):
    """(lines of the resource report, other lines) of what the compiler wrote to stderr."""
    report, others, inside = [], [], False
    for line in text.splitlines():
        inside = line.startswith("ptxas info") or (inside and line.startswith("    "))
        (report if inside else others).append(line)
    return report, others


def main(command):
    if not command:
        print("usage: ptxas_log.py COMPILER ARGUMENT ...", file=sys.stderr)
        return 2
    run = subprocess.run(command + ["-Xptxas", "-v"], stderr=subprocess.PIPE, text=True, check=False)
    report, others = split(run.stderr)
    for line in others:
        print(line, file=sys.stderr)
    if run.returncode == 0 and "-o" in command:
        with open(command[command.index("-o") + 1] + ".ptxas", "w", encoding="utf-8") as file:
            file.write("\n".join(report) + "\n")
    return run.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
