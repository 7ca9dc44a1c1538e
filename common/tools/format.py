#!/usr/bin/env python3
"""Checks that the C++ and CUDA files are formatted as .clang-format says; --fix formats them."""

import re
import shutil
import subprocess
import sys

import tree

BATCH = 50  # files a run of clang-format: enough to hide its start, short enough for a command line


def program():
    """clang-format 14 if it is there under its own name: other releases format differently."""
    found = shutil.which("clang-format-14") or shutil.which("clang-format")
    return found or tree.stop("clang-format is not installed (Debian: apt install clang-format-14)")


def main(arguments=None):
    parser = tree.parser(__doc__)
    parser.add_argument("--fix", action="store_true", help="format the files in place")
    options = parser.parse_args(arguments)
    sources = [p for p in tree.files(options.root) if p.endswith(tree.CPP)]
    command = [program(), "-style=file"] + (["-i"] if options.fix else ["--dry-run", "-Werror"])
    breaches = []
    for at in range(0, len(sources), BATCH):
        run = subprocess.run(command + sources[at:at + BATCH], cwd=options.root, capture_output=True, text=True,
                             check=False)
        faults = re.findall(r"^(.+?):(\d+):\d+: error: ", run.stderr, re.MULTILINE)
        for path in dict.fromkeys(path for path, _ in faults):
            lines = [int(line) for name, line in faults if name == path]
            breaches.append(f"{path}:{lines[0]}: {tree.counted(len(lines), 'place is', 'places are')} not formatted, "
                            "limit 0; common/tools/format.py --fix formats them")
        if run.returncode != 0 and not faults:
            tree.stop(f"clang-format ended with {run.returncode}: {run.stderr.strip()[-500:]}")
    return tree.report("format", breaches, tree.counted(len(sources), "C++ file"))


if __name__ == "__main__":
    sys.exit(main())
