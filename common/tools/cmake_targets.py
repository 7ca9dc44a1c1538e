"""The targets that the tree's CMakeLists.txt files make, read without running CMake."""

import dataclasses
import os
import posixpath
import re

import tree

KEYWORDS = {"SOURCES", "DEPENDS", "PRIVATE_DEPENDS", "LABELS", "TESTS", "DEMO", "BENCH", "KERNELS", "PUBLIC", "PRIVATE",
            "INTERFACE", "STATIC", "OBJECT", "SHARED"}
CALL = re.compile(r"\b(octavo_\w+|add_library|add_executable|target_sources|target_link_libraries)\s*\(([^()]*)\)")
PROGRAMS = {"octavo_program", "octavo_test", "octavo_fuzz", "octavo_profile", "add_executable"}
# Functions that add to a target which another call made.
ADDITIONS = {"octavo_kernels", "target_sources", "target_link_libraries"}


@dataclasses.dataclass
class Target:
    name: str
    where: str       # file:line of its call
    folder: str      # of its CMakeLists.txt
    program: bool    # an executable: nobody depends on it
    sources: set     # paths from the root
    depends: set     # names of our targets
    unknown: set     # octavo:: names that no call makes


def plain(text):
    """CMake text without its comments, line by line."""
    return re.sub(r"#[^\n\"]*$", lambda m: tree.blank(m[0]), text, flags=re.MULTILINE)


def calls(root):
    """(function, folder, where, {keyword: words}) of each call that makes or extends a target; '' holds the first."""
    for path in tree.files(root):
        if posixpath.basename(path) != "CMakeLists.txt":
            continue
        text = plain(tree.read(root, path))
        for match in CALL.finditer(text):
            sections, current = {"": []}, ""
            for word in match[2].replace('"', " ").split():
                if word in KEYWORDS:
                    current = word
                    sections.setdefault(word, [])
                else:
                    sections[current].append(word)
            if sections[""]:
                yield match[1], posixpath.dirname(path), f"{path}:{tree.line_of(text, match.start())}", sections


def source_path(folder, word):
    """The path from the root of a word in SOURCES."""
    word = word.replace("${CMAKE_SOURCE_DIR}/", "/").replace("${CMAKE_CURRENT_SOURCE_DIR}/", "")
    return posixpath.normpath(word[1:] if word.startswith("/") else posixpath.join(folder, word))


def parts(function, sections):
    """[(name, is program, source words, depend words)] that one call makes: a chapter makes up to four."""
    get = lambda *keys: [word for key in keys for word in sections.get(key, [])]
    name, depends = sections[""][0], get("DEPENDS", "PRIVATE_DEPENDS")
    if function in ("octavo_kernels", "octavo_profile"):
        depends = depends + ["octavo::simt"]  # the function itself links it
    if function != "octavo_chapter":
        sources = get("SOURCES", "KERNELS", "PUBLIC", "PRIVATE", "INTERFACE", "STATIC", "OBJECT", "SHARED")
        extra = sections[""][1:] + get("PUBLIC", "PRIVATE", "INTERFACE")
        return [(name, function in PROGRAMS, sources + sections[""][1:], depends + extra)]
    chapter, library = f"ch{name[:2]}", f"octavo::ch{name[:2]}"
    made = [(chapter, False, get("SOURCES"), depends)]
    for suffix, keyword, more in (("test", "TESTS", ["octavo::testing"]), ("demo", "DEMO", []), ("bench", "BENCH", [])):
        if sections.get(keyword):
            made.append((f"{chapter}_{suffix}", True, get(keyword), [library] + more))
    return made


def bare(name):
    """octavo::x and octavo_x are the library that octavo_library(x) makes."""
    return re.sub(r"^octavo(::|_)", "", name)


def read(root):
    """{name: Target} of the whole tree."""
    targets, additions = {}, []
    for function, folder, where, sections in calls(root):
        for name, program, sources, depends in parts(function, sections):
            entry = (bare(name), folder, where, program, sources, depends)
            if function in ADDITIONS:
                additions.append(entry)
            else:
                add(targets, *entry)
    for entry in additions:
        if entry[0] in targets:
            add(targets, *entry)
    for target in targets.values():
        target.unknown = {f"octavo::{d}" for d in target.depends - set(targets)}
        target.depends &= set(targets)
    return targets


def add(targets, name, folder, where, program, sources, depends):
    target = targets.setdefault(name, Target(name, where, folder, program, set(), set(), set()))
    target.sources |= {source_path(folder, word) for word in sources if not word.startswith("$<")}
    target.depends |= {bare(word) for word in depends if word.startswith("octavo::")}


def owners(headers, targets):
    """{header: names of the targets it may belong to}: the library of its folder; where a folder has several, those
    with a source that shares its stem, else any of them."""
    result = {}
    for header in headers:
        here = [t for t in targets.values() if t.folder == posixpath.dirname(header)]
        stem = os.path.splitext(header)[0]
        named = {t.name for t in here if header in t.sources}
        libraries = [t for t in here if not t.program]
        same = {t.name for t in libraries if any(re.match(re.escape(stem) + r"[_.]", s) for s in t.sources)}
        result[header] = named or same or {t.name for t in libraries}
    return result
