#!/usr/bin/env python3
"""Runs clang-tidy over the compile database of a build folder, with the checks of .clang-tidy.

A file is checked again only when something that the result depends on has changed: the file, what it includes from
the tree (as ninja recorded it at the last build), its compile command, or .clang-tidy. Kernel files are left out:
clang-tidy 14 cannot read them.
"""

import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

import tree

TIMEOUT = 300  # seconds a file
# The database may come from another compiler: flags that clang does not know, or warns of, are not this check's matter.
EXTRA = [f"--extra-arg=-Wno-{name}" for name in ("error", "unknown-warning-option", "unused-command-line-argument")]


def commands(root, build):
    """{path from the root: entry of the database} of our own C++ files, each once."""
    try:
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            database = json.load(file)
    except OSError:
        tree.stop(f"{build} has no compile_commands.json; configure it first (cmake --preset cpu)")
    found, tracked = {}, set(tree.files(root))
    for entry in database:
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), root)
        if path in tracked and path.endswith(".cpp"):
            found.setdefault(path, entry)
    return found


def dependencies(root, build):
    """{object file: paths inside the tree that it was made from}, from ninja's own record."""
    run = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=False)
    record, current = {}, None
    for line in run.stdout.splitlines():
        match = re.match(r"(\S.*?): #deps", line)
        if match:
            current = record.setdefault(match[1], [])
        elif line.startswith(" ") and current is not None:
            path = os.path.realpath(os.path.join(build, line.strip()))
            if path.startswith(os.path.realpath(root) + os.sep):
                current.append(path)
    return record


class Digests:
    """Content hashes, each file read once."""

    def __init__(self):
        self.known = {}

    def of(self, path):
        if path not in self.known:
            try:
                with open(path, "rb") as file:
                    self.known[path] = hashlib.sha256(file.read()).hexdigest()
            except OSError:
                self.known[path] = "absent"
        return self.known[path]


def state_of(root, build, path, entry, record, digests):
    """A hash of all that the result for this file depends on, or None if the file was never built."""
    command = entry.get("command") or " ".join(entry.get("arguments", []))
    output = entry.get("output") or (re.findall(r" -o (\S+)", command) or [""])[0]
    if not record.get(output):
        return None
    paths = sorted({os.path.join(root, path), os.path.join(root, ".clang-tidy"), *record[output]})
    parts = [command] + [f"{p} {digests.of(p)}" for p in paths]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def check(root, build, program, path):
    """(True if clean, clang-tidy's words)."""
    try:
        run = subprocess.run([program, "-p", build, "--quiet", *EXTRA, os.path.join(root, path)], cwd=root,
                             capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return False, f"{path}:1: clang-tidy took more than {TIMEOUT} s, limit {TIMEOUT}"
    words = run.stdout.replace(os.path.realpath(root) + os.sep, "").strip()
    return run.returncode == 0, words or run.stderr.strip()


def main(arguments=None):
    parser = tree.parser(__doc__)
    parser.add_argument("build", nargs="?", help="build folder with the compile database (default: build/cpu)")
    parser.add_argument("--stamps", help="folder that remembers clean files (default: build/tidy)")
    parser.add_argument("--jobs", type=int, default=2, help="files at a time (2)")
    options = parser.parse_args(arguments)
    root = os.path.realpath(options.root)
    build = os.path.realpath(options.build or os.path.join(root, "build", "cpu"))
    stamps = options.stamps or os.path.join(root, "build", "tidy")
    program = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if program is None:
        tree.stop("clang-tidy is not installed (Debian: apt install clang-tidy-14)")
    os.makedirs(stamps, exist_ok=True)
    record, digests, waiting = dependencies(root, build), Digests(), {}
    entries = commands(root, build)
    for path, entry in entries.items():
        state = state_of(root, build, path, entry, record, digests)
        stamp = os.path.join(stamps, path.replace("/", "__"))
        if state is None or not os.path.exists(stamp) or tree.read("", stamp) != state:
            waiting[path] = (stamp, state)
    failed = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda path: (path, *check(root, build, program, path)), waiting)
        for path, clean, words in results:
            stamp, state = waiting[path]
            if clean and state:
                with open(stamp, "w", encoding="utf-8") as file:
                    file.write(state)
            elif not clean:
                print(words, flush=True)
                failed.append(path)
    breaches = [f"{path}:1: clang-tidy found faults" for path in failed]
    return tree.report("tidy", breaches, f"{tree.counted(len(entries), 'file')}, {len(waiting)} of them checked now")


if __name__ == "__main__":
    sys.exit(main())
