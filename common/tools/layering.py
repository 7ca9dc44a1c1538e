#!/usr/bin/env python3
"""The layering rule: who may include whom, and whether CMake's DEPENDS lists say the same.

common/ includes no chapter; chapter N includes common/ and chapters before N; serve/ includes all. Inside common/:
base <- device <- simt, and above them model, testing, bench and checkpoints. Includes of our own files are written from
the root, in quotes. A target that includes a header of another of our targets reaches it through its DEPENDS lists.
"""

import posixpath
import re
import sys

import cmake_targets
import tree

INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"]", re.MULTILINE)

# What a part of common/ may include besides itself.
COMMON = {
    "base": set(),
    "device": {"base"},
    "simt": {"base", "device"},
    "model": {"base", "device"},
    "testing": {"base", "device", "simt", "model"},  # fakes of models
    "bench": {"base", "device", "simt", "testing"},  # what is timed is compared first
    "checkpoints": {"base", "device", "model"},
}
# Tests, benchmarks and fuzz programs may use the comparison and the fakes, wherever they stand.
CHECKING = re.compile(r"(test|bench|fuzz)(_\w+)?\.\w+$")


def layer_of(path):
    """('common', part), ('chapter', number), ('serve', None), or None for a path that no layer holds."""
    first, _, rest = path.partition("/")
    if first == "common" and "/" in rest:
        part = rest.split("/")[0]
        return ("common", part) if part in COMMON else None
    if re.match(r"\d\d_", first) and rest:
        return ("chapter", int(first[:2]))
    return ("serve", None) if first == "serve" and rest else None


def forbidden(user, used):
    """Why the file `user` may not include the file `used`, or None if it may."""
    a, b = layer_of(user), layer_of(used)
    if a is None:
        return f"{user.rsplit('/', 1)[0] if '/' in user else 'the root'} is no layer that may hold C++"
    if b is None:
        return f"{used} lies in no layer"
    if a[0] == "serve":
        return None
    if b[0] == "serve":
        return f"{'common/' if a[0] == 'common' else 'a chapter'} includes serve/"
    if a[0] == "chapter":
        return f"chapter {a[1]} includes chapter {b[1]}, limit {a[1]}" if b[0] == "chapter" and b[1] > a[1] else None
    if b[0] == "chapter":
        return f"common/ includes chapter {b[1]}"
    if b[1] == a[1] or b[1] in COMMON[a[1]]:
        return None
    if b[1] in ("testing", "bench") and CHECKING.match(posixpath.basename(user)):
        return None
    allowed = ", ".join(sorted(COMMON[a[1]])) or "nothing"
    return f"common/{a[1]} includes common/{b[1]}, allowed: {allowed}"


def includes_of(root, path):
    """(line, quote, name) of each #include of a file."""
    text = tree.without_comments(tree.read(root, path))
    return [(tree.line_of(text, m.start(1)), m[1], m[2]) for m in INCLUDE.finditer(text)]


def check_spelling(path, quote, name, known):
    """Why this include is written wrongly, or None. Headers that CMake generates are octavo_*.h without a folder."""
    if quote == "<":
        return f"our own <{name}> in angle brackets, must be in quotes" if name in known else None
    if name in known or re.fullmatch(r"octavo_\w+\.h", name):
        return None
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    if beside in known:
        return f'include "{name}" is relative, from the root it is "{beside}"'
    return f'include "{name}" names no file from the root'


def check_includes(root, sources):
    """Breaches of the include lines, and {path: [(line, our header)]} for the rest of the checks."""
    known, breaches, graph = set(tree.files(root)), [], {}
    for path in sources:
        graph[path] = []
        if layer_of(path) is None:
            breaches.append(f"{path}:1: C++ outside the layers (common/<part>, NN_chapter, serve)")
            continue
        for line, quote, name in includes_of(root, path):
            fault = check_spelling(path, quote, name, known)
            if fault is None and quote == '"' and name in known:
                graph[path].append((line, name))
                fault = forbidden(path, name)
            if fault:
                breaches.append(f"{path}:{line}: {fault}")
    return breaches, graph


def reachable(name, targets):
    """The names of all our targets that DEPENDS leads to from `name`, itself included."""
    found, waiting = set(), [name]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting += [d for d in targets[current].depends if d in targets]
    return found


def check_depends(targets):
    """Breaches of the DEPENDS lists themselves: names that no call makes, and layers."""
    breaches = []
    for target in targets.values():
        for name in sorted(target.unknown):
            breaches.append(f"{target.where}: {target.name} depends on {name}, which no CMakeLists.txt makes")
        for name in sorted(target.depends):
            probe = "test_x.cpp" if target.program else "x.cpp"
            fault = forbidden(f"{target.folder}/{probe}", f"{targets[name].folder}/x.h")
            if fault:
                breaches.append(f"{target.where}: {target.name} depends on {name}: {fault}")
    return breaches


def check_targets(graph, targets):
    """Breaches where a target includes a header that its DEPENDS does not lead to."""
    breaches, owners = set(), cmake_targets.owners(graph, targets)
    for target in targets.values():
        reach = reachable(target.name, targets)
        waiting, seen = [s for s in target.sources if s in graph], set()
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            seen.add(path)
            for line, header in graph[path]:
                owner = owners.get(header, set())
                if target.name in owner or (not owner and cmake_targets.folder_of(header, targets) == target.folder):
                    waiting.append(header)
                elif not owner:
                    breaches.add(f"{path}:{line}: {header} belongs to no target, {target.name} includes it")
                elif not owner & reach:
                    wanted = " or ".join(sorted(owner))
                    breaches.add(f"{path}:{line}: {target.name} includes {header} without {wanted} in its DEPENDS")
    return sorted(breaches)


def main(arguments=None):
    options = tree.parser(__doc__).parse_args(arguments)
    root = options.root
    sources = [p for p in tree.files(root) if p.endswith(tree.CPP)]
    breaches, graph = check_includes(root, sources)
    targets = cmake_targets.read(root)
    breaches += check_depends(targets) + check_targets(graph, targets)
    return tree.report("layering", breaches, f"{tree.counted(len(sources), 'C++ file')}, {tree.counted(len(targets), 'target')}")


if __name__ == "__main__":
    sys.exit(main())
