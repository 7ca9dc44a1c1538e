"""The targets that the tree's CMakeLists.txt files make, read without running CMake."""

import dataclasses
import os
import posixpath
import re

import tree

KEYWORDS = {"SOURCES", "DEPENDS", "PRIVATE_DEPENDS", "LABELS", "TESTS", "DEMO", "BENCH", "PROFILE", "PROFILE_TEST",
            "TOPICS", "KERNELS", "FILE", "SAYS", "PUBLIC", "PRIVATE", "INTERFACE", "STATIC", "OBJECT", "SHARED", "ALIAS"}
PLAIN = {"add_library", "add_executable", "target_sources", "target_link_libraries"}
CALL = re.compile(r"\b(octavo_\w+|" + "|".join(sorted(PLAIN)) + r")\s*\(([^()]*)\)")
DEFINITION = re.compile(r"^\s*function\s*\(\s*(\w+).*?^\s*endfunction\b", re.MULTILINE | re.DOTALL)
VARIABLE = re.compile(r"\bset\s*\(\s*(\w+)([^()]*)\)")


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
    """CMake text without its comments and quotes."""
    return re.sub(r"#[^\n\"]*$", lambda m: tree.blank(m[0]), text, flags=re.MULTILINE).replace('"', " ")


def definitions(texts):
    """{function: (octavo:: names in its body and in what it calls, the plain functions it comes to call)}."""
    bodies = {m[1]: m[0] for text in texts.values() for m in DEFINITION.finditer(text)}

    def expand(name, seen):
        body = bodies.get(name, "")
        names = set(re.findall(r"\boctavo::\w+(?![\w$])", body))
        used = {word for word in PLAIN if re.search(word + r"\s*\(", body)}
        for callee in set(re.findall(r"\boctavo_\w+(?=\s*\()", body)) - seen:
            more_names, more_used = expand(callee, seen | {callee})
            names, used = names | more_names, used | more_used
        return names, used
    return {name: expand(name, {name}) for name in bodies}


def calls(text):
    """(function, offset, {keyword: words}) of each call outside a function that makes or extends a target; '' holds the
    words before the first keyword. A variable that the file sets stands for all it is set to."""
    text = DEFINITION.sub(lambda m: tree.blank(m[0]), text)
    variables = {}
    for match in VARIABLE.finditer(text):
        variables[match[1]] = variables.get(match[1], "") + " " + match[2]
    for match in CALL.finditer(text):
        sections, current = {"": []}, ""
        words = re.sub(r"\$\{(\w+)\}", lambda m: variables.get(m[1], m[0]), match[2])
        for word in words.split():
            if word in KEYWORDS:
                current = word
                sections.setdefault(word, [])
            else:
                sections[current].append(word)
        if sections[""]:
            yield match[1], match.start(), sections


def source_path(folder, word):
    """The path from the root of a word in SOURCES."""
    word = word.replace("${CMAKE_SOURCE_DIR}/", "/").replace("${CMAKE_CURRENT_SOURCE_DIR}/", "")
    return posixpath.normpath(word[1:] if word.startswith("/") else posixpath.join(folder, word))


def parts(function, sections, implied, used):
    """[(name, is a program, source words, depend words)] that one call makes: a chapter makes up to six."""
    get = lambda *keys: [word for key in keys for word in sections.get(key, [])]
    name, depends = sections[""][0], get("DEPENDS", "PRIVATE_DEPENDS")
    if function in PLAIN:
        words = sections[""][1:] + get("PUBLIC", "PRIVATE", "INTERFACE", "STATIC", "OBJECT", "SHARED")
        return [(name, function == "add_executable", words, words)]
    if function == "octavo_bench":
        return [(f"{name}_bench", True, get("SOURCES"), depends + ["octavo::bench"])]
    if function != "octavo_chapter":
        made = [(name, "add_executable" in used, get("SOURCES", "KERNELS", "FILE"), depends + sorted(implied))]
        return made if used else []
    chapter, library = f"ch{name[:2]}", f"octavo::ch{name[:2]}"
    made = [(chapter, False, get("SOURCES", "KERNELS"), depends)]
    shared, profile = [library, "octavo::testing"], ["octavo::simt_profile"]
    if sections.get("TOPICS"):
        made.append((f"{chapter}_topics", False, get("TOPICS"), list(shared)))
        shared.append(f"octavo::{chapter}_topics")
    for suffix, keyword, more in (("test", "TESTS", ["octavo::fakes"]), ("demo", "DEMO", ["octavo::bench"] + profile),
                                  ("bench", "BENCH", ["octavo::bench"]), ("profile", "PROFILE", profile),
                                  ("profile_test", "PROFILE_TEST", profile)):
        if sections.get(keyword):
            made.append((f"{chapter}_{suffix}", True, get(keyword), shared + more))
    return made


def read(root):
    """{name: Target} of the whole tree. octavo::x is what octavo_library(x) makes, unless an ALIAS says otherwise."""
    texts = {path: plain(tree.read(root, path)) for path in tree.files(root)
             if posixpath.basename(path) == "CMakeLists.txt" or path.endswith(".cmake")}
    functions, targets, aliases = definitions(texts), {}, {}
    for path, text in texts.items():
        for function, offset, sections in calls(text) if path.endswith(".txt") else ():
            if "ALIAS" in sections:
                aliases[sections[""][0]] = re.sub("^octavo_", "", sections["ALIAS"][0])
                continue
            for made in parts(function, sections, *functions.get(function, (set(), PLAIN - {"add_executable"}))):
                add(targets, path, tree.line_of(text, offset), *made)
    for target in targets.values():
        names = {word: aliases.get(word, word[len("octavo::"):]) for word in target.depends}
        target.unknown = {word for word, name in names.items() if name not in targets}
        target.depends = {name for name in names.values() if name in targets} - {target.name}
    return targets


def add(targets, path, line, name, program, sources, depends):
    """Adds what one call says to the target of that name, which it makes if there is none."""
    name, folder = re.sub(r"^octavo(::|_)", "", name), posixpath.dirname(path)
    target = targets.setdefault(name, Target(name, f"{path}:{line}", folder, program, set(), set(), set()))
    target.sources |= {source_path(folder, word) for word in sources if not word.startswith("$<")}
    target.depends |= {word for word in depends if word.startswith("octavo::")}


def folder_of(header, targets):
    """The nearest folder around a header that makes targets, or None."""
    folders, folder = {t.folder for t in targets.values()}, posixpath.dirname(header)
    while folder and folder not in folders:
        folder = posixpath.dirname(folder)
    return folder or None


def owners(headers, targets):
    """{header: names of the targets it may belong to}: the library of its folder; where a folder has several, those
    with a source that shares its stem, else any of them."""
    result = {}
    for header in headers:
        folder = folder_of(header, targets)
        here = [t for t in targets.values() if t.folder == folder]
        stem = os.path.splitext(header)[0]
        named = {t.name for t in here if header in t.sources}
        libraries = [t for t in here if not t.program]
        same = {t.name for t in libraries if any(re.match(re.escape(stem) + r"[_.]", s) for s in t.sources)}
        result[header] = named or same or {t.name for t in libraries}
    return result
