#!/usr/bin/env python3
"""Fails when a file holds what does not belong in a finished tree: notes to oneself, promises, a machine's paths."""

import re
import sys

import tree

# Written in pieces, so that this file does not hold what it looks for.
WORDS = [
    (r"\b" + "TO" + r"DO\b", "a note to oneself"),
    (r"\b" + "FIX" + r"ME\b", "a note to oneself"),
    (r"\b" + "XX" + r"X\b", "a note to oneself"),
    (r"(?i)\bcoming\s+" + r"soon\b", "a promise"),
    (r"(?i)\bto be\s+" + r"written\b", "a promise"),
    (r"(?<![\w.}~-])/(?:wo" + r"rk|ro" + r"ot|home/\w+)/", "a path of one machine"),
]


def breaches_of(path, text):
    found = []
    for pattern, what in WORDS:
        for match in re.finditer(pattern, text):
            found.append((tree.line_of(text, match.start()), what, match[0]))
    return [f"{path}:{line}: {what}, '{word}', limit none" for line, what, word in sorted(found)]


def main(arguments=None):
    options = tree.parser(__doc__).parse_args(arguments)
    breaches, checked = [], 0
    for path in tree.files(options.root):
        text = tree.read(options.root, path)
        if "\0" in text:
            continue
        checked += 1
        breaches += breaches_of(path, text)
    return tree.report("words", breaches, tree.counted(checked, "text file"))


if __name__ == "__main__":
    sys.exit(main())
