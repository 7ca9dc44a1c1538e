#!/usr/bin/env python3
"""The size limits: a function 60 lines, a kernel file 250, another source file 300, a README 300.

--list prints the largest of each. size_exceptions.txt holds what may be larger, one a line: PATH or PATH:FUNCTION, the
number of lines it may have, and the reason. An exception that nothing needs fails too. --columns also holds Python to
120 columns a line; C++ is clang-format's concern.
"""

import ast
import os
import posixpath
import sys

import cpp_functions
import tree

EXCEPTIONS = "common/tools/size_exceptions.txt"
FUNCTION_LIMIT, KERNEL_LIMIT, SOURCE_LIMIT, README_LIMIT, COLUMNS = 60, 250, 300, 300, 120


def kind_of(root, path):
    """'cpp', 'python', 'readme', 'other' (a script or CMake), or None for a file that has no limit."""
    name = posixpath.basename(path)
    if path.endswith(tree.CPP):
        return "cpp"
    if path.endswith(".py"):
        return "python"
    if name == "README.md":
        return "readme"
    if name == "CMakeLists.txt" or path.endswith((".cmake", ".sh")):
        return "other"
    if "." not in name or path.startswith("."):
        first = tree.read(root, path)[:80].split("\n")[0]
        if first.startswith("#!"):
            return "python" if "python" in first else "other"
    return None


def limit_of(path, kind):
    if kind == "readme":
        return README_LIMIT
    return KERNEL_LIMIT if path.endswith((".cu", ".cuh")) else SOURCE_LIMIT


def python_functions(text):
    """[(name, first line, last line)] of all functions; SyntaxError goes to the caller."""
    nodes = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [(n.name, n.lineno, n.end_lineno) for n in ast.walk(ast.parse(text)) if isinstance(n, nodes)]


def measure(root):
    """Breaches met on the way, [(lines, path, limit)] of files and [(lines, path, line, name)] of functions."""
    breaches, sizes, functions = [], [], []
    for path in tree.files(root):
        kind = kind_of(root, path)
        if kind is None:
            continue
        text = tree.read(root, path)
        sizes.append((len(text.splitlines()), path, limit_of(path, kind)))
        found, unclosed = [], None
        if kind == "cpp":
            found, unclosed = cpp_functions.functions(text)
        elif kind == "python":
            try:
                found = python_functions(text)
            except SyntaxError as error:
                breaches.append(f"{path}:{error.lineno}: not Python: {error.msg}")
        if unclosed:
            breaches.append(f"{path}:{unclosed}: a brace that nothing closes; functions cannot be measured")
        functions += [(last - first + 1, path, first, name) for name, first, last in found]
    return breaches, sorted(sizes, reverse=True), sorted(functions, reverse=True)


def wide_lines(root):
    """The breaches of the limit on Python's columns."""
    return [f"{path}:{n}: a line of {len(line)} columns, limit {COLUMNS}"
            for path in tree.files(root) if kind_of(root, path) == "python"
            for n, line in enumerate(tree.read(root, path).splitlines(), 1) if len(line) > COLUMNS]


def read_exceptions(root):
    """{name: (lines allowed, line in the file)} and the breaches of the file's form."""
    allowed, breaches = {}, []
    if not os.path.exists(os.path.join(root, EXCEPTIONS)):
        return allowed, breaches
    for number, line in enumerate(tree.read(root, EXCEPTIONS).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(maxsplit=2)
        if len(words) < 3 or not words[1].isdigit():
            breaches.append(f"{EXCEPTIONS}:{number}: '{line}' is not: name, number of lines, reason")
        elif words[0] in allowed:
            breaches.append(f"{EXCEPTIONS}:{number}: {words[0]} is listed twice")
        else:
            allowed[words[0]] = (int(words[1]), number)
    return allowed, breaches


def judge(sizes, functions, allowed):
    """The breaches of the limits, and of exceptions that nothing needs."""
    breaches, used = [], set()
    measured = [(lines, f"{path}:1", path, "file", limit) for lines, path, limit in sizes]
    measured += [(lines, f"{path}:{line}", f"{path}:{name}", f"function {name}", FUNCTION_LIMIT)
                 for lines, path, line, name in functions]
    for lines, where, name, what, limit in measured:
        name = name.replace(" ", "")
        if lines <= limit:
            continue
        if name in allowed:
            used.add(name)
            limit = max(limit, allowed[name][0])
        if lines > limit:
            breaches.append(f"{where}: {what} of {lines} lines, limit {limit}")
    for name in sorted(set(allowed) - used):
        breaches.append(f"{EXCEPTIONS}:{allowed[name][1]}: nothing named {name} is above its limit")
    return breaches


def main(arguments=None):
    parser = tree.parser(__doc__)
    parser.add_argument("--list", nargs="?", type=int, const=15, metavar="N", help="print the N largest (15)")
    parser.add_argument("--columns", action="store_true", help=f"also check that Python has at most {COLUMNS} columns")
    options = parser.parse_args(arguments)
    breaches, sizes, functions = measure(options.root)
    if options.columns:
        breaches += wide_lines(options.root)
    if options.list:
        for lines, path, limit in sizes[:options.list]:
            print(f"{lines:5} of {limit}  {path}")
        for lines, path, line, name in functions[:options.list]:
            print(f"{lines:5} of {FUNCTION_LIMIT}   {path}:{line} {name}")
    allowed, faults = read_exceptions(options.root)
    breaches += faults + judge(sizes, functions, allowed)
    return tree.report("sizes", breaches, f"{tree.counted(len(sizes), 'file')}, {tree.counted(len(functions), 'function')}")


if __name__ == "__main__":
    sys.exit(main())
