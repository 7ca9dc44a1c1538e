#!/usr/bin/env python3
"""Checks that kernels became the machine instructions that they were written for.

    sass.py SOURCE --kernel PATTERN --expect PATTERN ... [--arch sm_80 ...]

Compiles SOURCE for each architecture and disassembles it; every kernel whose demangled name matches --kernel must hold
an instruction that matches each --expect. Needs nvcc and cuobjdump: from the path, $CUDA_PATH, /usr/local/cuda, or a
Python package that brings them (this interpreter's, or the one of the environment in $OCTAVO_VENV). Exit status 77
without them.
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

import tree

SKIPPED = 77
FUNCTION = re.compile(r"^\s*Function : (\S+)", re.MULTILINE)
FLAGS = ["-std=c++20", "-O3", "-DNDEBUG", "-cubin"]


def find_tool(name):
    """The path of one of CUDA's programs, or None."""
    toolkits = [os.path.join(home, "bin") for home in (os.environ.get("CUDA_PATH"), "/usr/local/cuda") if home]
    found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(toolkits))
    packages = [sysconfig.get_path("purelib")]
    if "OCTAVO_VENV" in os.environ:
        packages += glob.glob(os.path.join(os.environ["OCTAVO_VENV"], "lib", "python3*", "site-packages"))
    for folder in packages if not found else []:
        for path in sorted(glob.glob(os.path.join(folder, "**", "bin", name), recursive=True)):
            if os.access(path, os.X_OK):
                return path
    return found


def functions(sass):
    """{mangled name: instructions} of a disassembly."""
    starts = list(FUNCTION.finditer(sass)) + [None]
    return {m[1]: sass[m.end():after.start() if after else len(sass)] for m, after in zip(starts, starts[1:])}


def missing(kernels, wanted, expected):
    """One sentence for each expectation that a kernel of {demangled name: instructions} breaks."""
    chosen = {name: text for name, text in kernels.items() if re.search(wanted, name)}
    if not chosen:
        return [f"no kernel matches {wanted}; there are: {', '.join(sorted(kernels)) or 'none'}"]
    return [f"{name} has no {pattern}" for name, text in sorted(chosen.items()) for pattern in expected
            if not re.search(pattern, text)]


def disassemble(nvcc, cuobjdump, source, arch, root):
    """{demangled name: instructions}. cuobjdump runs nvdisasm, which lies beside it."""
    path = os.pathsep.join([os.path.dirname(cuobjdump), os.environ.get("PATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        cubin = os.path.join(folder, "kernel.cubin")
        subprocess.run([nvcc, *FLAGS, f"-arch={arch}", "-I", root, source, "-o", cubin], check=True)
        sass = subprocess.run([cuobjdump, "-sass", cubin], check=True, capture_output=True, text=True,
                              env={**os.environ, "PATH": path}).stdout
    bodies = functions(sass)
    names = subprocess.run(["c++filt"], input="\n".join(bodies) + "\n", check=True, capture_output=True, text=True).stdout
    return dict(zip(names.splitlines(), bodies.values()))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--expect", nargs="+", required=True)
    parser.add_argument("--arch", nargs="+", default=["sm_80", "sm_90"])
    options = parser.parse_args(arguments)
    nvcc, cuobjdump = find_tool("nvcc"), find_tool("cuobjdump")
    if nvcc is None or cuobjdump is None:
        print(f"sass: skipped, there is no {'nvcc' if nvcc is None else 'cuobjdump'}")
        return SKIPPED
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    breaches = []
    for arch in options.arch:
        kernels = disassemble(nvcc, cuobjdump, options.source, arch, root)
        breaches += [f"{options.source}:1: {arch}: {text}"
                     for text in missing(kernels, options.kernel, options.expect)]
    return tree.report("sass", breaches, f"{tree.counted(len(options.arch), 'architecture')}, {tree.counted(len(options.expect), 'instruction')}")


if __name__ == "__main__":
    sys.exit(main())
