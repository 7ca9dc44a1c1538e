#!/usr/bin/env python3
"""Keeps the documents true: runs their commands and follows their links.

A fenced block marked `sh ci` in a README.md or in docs/*.md runs from the root under bash -euo pipefail; with `sh ci
timeout=N` it has N seconds. Before that, every relative link must lead to a file, every #anchor to a heading, and
every path in backticks to a file. --list prints the blocks, --links only follows the links.
"""

import os
import posixpath
import re
import sys
import time

import markdown
import shell
import tree

TIMEOUT = 300  # seconds a block
PATH = re.compile(r"(?:\.{1,2}/)*[\w.\-]+(?:/[\w.\-]+)+/?")
FILE = re.compile(r"[\w\-]+\.(?:h|cpp|cu|cuh|py|cmake)")
BUILT = ("build/", ".deps/")


def marked(root):
    """The blocks that run."""
    found = []
    for path in markdown.documents(root):
        found += [b for b in markdown.blocks(path, tree.read(root, path)) if b.info[:2] == ["sh", "ci"]]
    return found


def seconds_of(block):
    """The block's time limit; tree.stop for a word after `sh ci` that is not timeout=N."""
    limit = TIMEOUT
    for word in block.info[2:]:
        match = re.fullmatch(r"timeout=(\d+)", word)
        if match is None:
            tree.stop(f"{block.path}:{block.line}: '{word}' after sh ci is not timeout=SECONDS")
        limit = int(match[1])
    return limit


def check_link(root, path, target):
    """Why a link leads nowhere, or None."""
    if re.match(r"[a-z][a-z0-9+.\-]*:", target):
        return None
    name, _, anchor = target.partition("#")
    found = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if name else path
    if found.startswith("..") or not os.path.exists(os.path.join(root, found)):
        return f"link to {target}, which is not in the tree"
    if anchor and found.endswith(".md") and anchor not in markdown.anchors(tree.read(root, found)):
        return f"link to {target}, but {found} has no such heading"
    return None


def check_code(root, path, content, tops, names):
    """Why a code span names no file although it looks like a path of the tree, or None."""
    if FILE.fullmatch(content):
        return None if content in names else f"`{content}` names no file of the tree"
    if not PATH.fullmatch(content) or content.startswith(BUILT):
        return None
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), content))
    first = content.split("/")[0]
    if first not in tops and not re.match(r"\d\d_", first) and first not in (".", ".."):
        return None
    if any(os.path.exists(os.path.join(root, p)) for p in (content, beside)):
        return None
    return f"`{content}` looks like a path of the tree and is not there"


def broken_links(root):
    """Breaches of links and paths, and how many there are."""
    tracked = tree.files(root)
    tops, names = {p.split("/")[0] for p in tracked}, {posixpath.basename(p) for p in tracked}
    breaches, count = [], 0
    for path in markdown.documents(root):
        text = tree.read(root, path)
        faults = [(line, check_link(root, path, target)) for line, target in markdown.links(text)]
        faults += [(line, check_code(root, path, code, tops, names)) for line, code in markdown.code_spans(text)]
        count += len(faults)
        breaches += [f"{path}:{line}: {fault}" for line, fault in sorted(f for f in faults if f[1])]
    return breaches, count


def run_blocks(root, blocks):
    """Runs the blocks in order until one fails; the breaches."""
    for block in blocks:
        limit, start = seconds_of(block), time.monotonic()
        print(f"{block.path}:{block.line}: running", *block.text.strip().splitlines(), sep="\n    ", flush=True)
        status, output = shell.run(root, block.text, limit)
        if status != 0:
            print(output)
            what = f"took more than its time, limit {limit} s" if status is None else f"exit status {status}, limit 0"
            return [f"{block.path}:{block.line}: the block {what}"]
        print(f"    done in {time.monotonic() - start:.1f} s", flush=True)
    return []


def main(arguments=None):
    parser = tree.parser(__doc__)
    parser.add_argument("--list", action="store_true", help="print the blocks that would run")
    parser.add_argument("--links", action="store_true", help="only follow the links and paths")
    options = parser.parse_args(arguments)
    blocks = marked(options.root)
    if options.list:
        for block in blocks:
            print(f"{block.path}:{block.line}: at most {seconds_of(block)} s")
            print("".join(f"    {line}\n" for line in block.text.strip().splitlines()), end="")
        return 0
    breaches, count = broken_links(options.root)
    if options.links:
        return tree.report("links", breaches, f"{tree.counted(count, 'link or code span', 'links and code spans')}")
    if not breaches:
        breaches = run_blocks(options.root, blocks)
    return tree.report("readme_commands", breaches, f"{tree.counted(len(blocks), 'block')}, {count} links and code spans")


if __name__ == "__main__":
    sys.exit(main())
