#!/usr/bin/env python3
"""The table of what each kernel takes on a GPU: registers, shared memory, stack and spills, as ptxas reports them.

--write makes docs/results/kernels.md from the logs that a build with OCTAVO_CUDA leaves beside its objects, --check (the
default) fails when the committed table says otherwise. Spills fail both. Registers change with the compiler, so under
another nvcc than the table's, and without a CUDA build, the check ends with status 77: skipped.
"""

import json
import os
import re
import subprocess
import sys

import tree

TABLE = "docs/results/kernels.md"
SKIPPED = 77
ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(sm_\w+)'")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")
HEAD = ("| Source | Kernel | Architecture | Registers | Shared memory, bytes | Stack, bytes | Spills, bytes |\n"
        "|---|---|---|---:|---:|---:|---:|\n")


def parse(text):
    """[(mangled kernel, architecture, registers, shared bytes, stack bytes, spilled bytes)] of one log."""
    rows, entry, frame = [], None, None
    for line in text.splitlines():
        if found := ENTRY.search(line):
            entry, frame = found.groups(), None
        elif found := STACK.search(line):
            stack, stores, loads = map(int, found.groups())
            frame = frame or (stack, stores + loads)  # later ones are those of functions that were not inlined
        elif (found := USED.search(line)) and entry:
            rows.append((*entry, int(found[1]), int(found[2] or 0), *(frame or (0, 0))))
            entry = None
    return rows


def kernel_name(demangled):
    """Without the parameters, the return type, our namespaces, and the per-file name of anonymous ones."""
    name = re.sub(r"_GLOBAL__N__\w+::|\(anonymous namespace\)::|_INTERNAL_\w+::|octavo::(\w+::)*", "", demangled)
    name = re.sub(r"\(.*$", "", re.sub(r"\((int|unsigned int|bool|long)\)(?=[\d-])", "", name))
    return name.removeprefix("void ")


def demangle(names):
    if not names:
        return []
    run = subprocess.run(["c++filt"], input="\n".join(names) + "\n", capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


def logs(build):
    """[(source file, log)] of the CUDA objects of this build, those of kernels that only tests run left out."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    found = []
    for command in commands:
        if not command["file"].endswith(".cu") or "/tests/" in command["file"]:
            continue
        words = command["command"].split()
        log = os.path.join(command["directory"], words[words.index("-o") + 1] + ".ptxas")
        found.append((command["file"], log))
    return found


def nvcc_version(build):
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        found = re.search(r"^CMAKE_CUDA_COMPILER:\w+=(.*)$", file.read(), re.MULTILINE)
    if not found or not os.path.exists(found[1]):
        return None
    said = subprocess.run([found[1], "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"V([\d.]+)", said)[1]


def rows_of(build, root):
    rows = set()
    for source, log in logs(build):
        with open(log, encoding="utf-8") as file:
            parsed = parse(file.read())
        for name, row in zip(demangle([r[0] for r in parsed]), parsed):
            rows.add((os.path.relpath(source, root), kernel_name(name), *row[1:]))
    return sorted(rows)


def table(rows, version):
    text = ("# What the kernels take on a GPU\n\n"
            f"Reported by ptxas (nvcc {version}); written by `common/tools/kernel_resources.py --write`, which CI checks. "
            "Shared memory\nis the static part; a launch may add dynamic memory.\n\n" + HEAD)
    for source, kernel, arch, registers, shared, stack, spills in rows:
        text += f"| {source} | `{kernel}` | {arch} | {registers} | {shared} | {stack} | {spills} |\n"
    return text


def skip(reason):
    print(f"kernel_resources: skipped, {reason}")
    return SKIPPED


def check(root, expected, version):
    if not os.path.exists(os.path.join(root, TABLE)):
        return tree.report("kernel_resources", [f"{TABLE}:1: is not there; kernel_resources.py --write makes it"], "")
    text = tree.read(root, TABLE)
    written = re.search(r"nvcc ([\d.]+)", text)
    if written and written[1] != version:
        return skip(f"the table was made with nvcc {written[1]}, this build with {version}")
    have, want = text.splitlines(), expected.splitlines()
    breaches = [f"{TABLE}:{have.index(line) + 1}: no longer true: {line}" for line in have if line not in want]
    breaches += [f"{TABLE}:1: missing: {line}" for line in want if line not in have]
    return tree.report("kernel_resources", breaches, tree.counted(len(want), "line"))


def main(arguments=None):
    parser = tree.parser(__doc__)
    parser.add_argument("--build", required=True, help="a build folder with OCTAVO_CUDA=ON")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="check the committed table (the default)")
    action.add_argument("--write", action="store_true", help="write the table instead of checking it")
    options = parser.parse_args(arguments)
    version = nvcc_version(options.build)
    if version is None:
        return skip("this build has no CUDA")
    unbuilt = [source for source, log in logs(options.build) if not os.path.exists(log)]
    if unbuilt:
        return skip(f"{tree.counted(len(unbuilt), 'object is', 'objects are')} not built yet, {unbuilt[0]} among them")
    rows = rows_of(options.build, options.root)
    spilled = [f"{r[0]}:1: {r[1]} spills {r[6]} bytes on {r[2]}, limit 0" for r in rows if r[6] > 0]
    if spilled:
        return tree.report("kernel_resources", spilled, tree.counted(len(rows), "kernel"))
    if options.write:
        path = os.path.join(options.root, TABLE)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(table(rows, version))
        return tree.report("kernel_resources", [], f"{tree.counted(len(rows), 'kernel')} written to {TABLE}")
    return check(options.root, table(rows, version), version)


if __name__ == "__main__":
    sys.exit(main())
