#!/usr/bin/env python3
"""Draw experts.svg: which experts of tiny-moe and tiny-mla each subject uses on held-out documents.

    heat_map.py [--documents 20]        documents a subject; needs the packages of requirements.txt
"""
import argparse
import os

import torch

import evaluate

HERE = os.path.dirname(os.path.abspath(__file__))
CELL, GAP, LEFT, TOP = 15, 26, 84, 44


def shares(name, documents):
    """A list of [subjects, E], one a router: each subject's slots by expert, as shares that sum to 1."""
    model, encoder = evaluate.load(name)
    _, counts = evaluate.likelihood(model, encoder, documents)
    return [c / c.sum(1, keepdim=True) for _, c in sorted(counts.items())]


def colour(over_even):
    """White for no use, dark blue from four times the even share on."""
    part = min(over_even / 4, 1) ** 0.5
    return "#%02x%02x%02x" % tuple(round(255 + part * (dark - 255)) for dark in (12, 50, 110))


def panel(table, x, y, title):
    out = ['<text x="%d" y="%d">%s</text>' % (x, y - 8, title)]
    for s, row in enumerate(table.tolist()):
        for e, share in enumerate(row):
            out.append('<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>' % (
                x + e * CELL, y + s * CELL, CELL, CELL, colour(share * len(row))))
    width, height = table.shape[1] * CELL, table.shape[0] * CELL
    out.append('<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#999999"/>' % (x, y, width, height))
    return out, width


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    out, y, right = [], TOP, 0
    for name, first in (("tiny-moe", 0), ("tiny-mla", 1)):  # tiny-mla's layer 0 is dense
        out.append('<text x="8" y="%d" font-weight="bold">%s</text>' % (y - 24, name))
        for s, subject in enumerate(evaluate.SUBJECTS):
            out.append('<text x="%d" y="%d" text-anchor="end">%s</text>' % (LEFT - 6, y + s * CELL + 12, subject))
        x = LEFT
        for i, table in enumerate(shares(name, options.documents)):
            part, width = panel(table, x, y, "layer %d" % (first + i))
            out, x = out + part, x + width + GAP
        right, y = max(right, x), y + len(evaluate.SUBJECTS) * CELL + TOP + GAP
    out.append('<text x="8" y="%d">columns: experts; white: unused, dark: four times the even share or more</text>' % (y - TOP))
    head = '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">' % (right, y - 20)
    with open(os.path.join(HERE, "experts.svg"), "w", encoding="utf-8") as f:
        f.write("\n".join([head, '<rect width="100%" height="100%" fill="#ffffff"/>'] + out) + "\n</svg>\n")


if __name__ == "__main__":
    main()
