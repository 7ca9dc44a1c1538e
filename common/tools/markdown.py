"""Reads the Markdown of the tree: fenced blocks, prose without them, links, anchors, table rows."""

import dataclasses
import posixpath
import re

import tree

FENCE = re.compile(r"^(`{3,})[ \t]*([^\n`]*)\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]\n]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@dataclasses.dataclass
class Block:
    path: str
    line: int      # of the opening fence
    info: list     # the words after the fence
    text: str


def documents(root):
    """Every README.md, and the Markdown files of docs/."""
    return [p for p in tree.files(root)
            if posixpath.basename(p) == "README.md" or (p.startswith("docs/") and p.endswith(".md"))]


def blocks(path, text):
    """The fenced blocks of a document."""
    return [Block(path, tree.line_of(text, m.start()), m[2].split(), m[3]) for m in FENCE.finditer(text)]


def prose(text):
    """The text with fenced blocks and HTML comments blanked; offsets and lines stay."""
    text = FENCE.sub(lambda m: tree.blank(m[0]), text)
    return re.sub(r"<!--.*?-->", lambda m: tree.blank(m[0]), text, flags=re.DOTALL)


def links(text):
    """(line, target) of each inline link outside code."""
    bare = CODE.sub(lambda m: tree.blank(m[0]), prose(text))
    return [(tree.line_of(bare, m.start()), m[1]) for m in LINK.finditer(bare)]


def code_spans(text):
    """(line, content) of each `code span` of the prose."""
    plain = prose(text)
    return [(tree.line_of(plain, m.start()), m[1]) for m in CODE.finditer(plain)]


def anchors(text):
    """The names under which GitHub makes the headings of a document reachable."""
    found = {}
    for match in re.finditer(r"^#{1,6}[ \t]+(.+?)[ \t]*#*$", prose(text), re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1])
        name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        count = found.get(name, -1) + 1
        found[name] = count
        if count:
            found[f"{name}-{count}"] = 0
    return set(found)


def rows(text):
    """(line, [cells]) of each table row of the prose; a | inside a code span, or written \\|, does not end a cell."""
    result = []
    for number, line in enumerate(prose(text).split("\n"), 1):
        line = line.strip()
        if not line.startswith("|") or re.fullmatch(r"[|\s:\-]+", line):
            continue
        hidden = CODE.sub(lambda m: m[0].replace("|", "\0"), line).replace("\\|", "\0")
        result.append((number, [cell.strip().replace("\0", "|") for cell in hidden.strip("|").split("|")]))
    return result
