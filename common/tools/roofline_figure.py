#!/usr/bin/env python3
"""Draws a roofline figure from the JSON that `./run demo 01 --data FILE` writes: roofline_figure.py DATA.json FIGURE.svg

Needs matplotlib (Debian: python3-matplotlib). The figure carries the hash of the data it was drawn from; with --check
nothing is drawn, nothing beyond Python is needed, and the exit status is 1 when the figure is of other data.
"""

import argparse
import hashlib
import json
import re
import sys

COLOURS = ("#1b6ca8", "#d1495b", "#2e933c", "#6f4a8e")
MARK = re.compile(r"data sha256 ([0-9a-f]{64})")


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def drawn_from(figure):
    """The hash that a figure carries, or None."""
    with open(figure, encoding="utf-8") as file:
        found = MARK.search(file.read())
    return found and found[1]


def draw(data, figure, mark):
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    matplotlib.rcParams.update({"svg.hashsalt": "octavo", "svg.fonttype": "path", "font.size": 10,
                                "axes.spines.top": False, "axes.spines.right": False})
    canvas, axes = pyplot.subplots(figsize=(8, 4.8), layout="constrained")
    for machine, colour in zip(data["machines"], COLOURS):
        ridge = machine["tokens_at_ridge"]
        points = sorted([(p["T"], 100 * p["share_of_peak"]) for p in machine["points"]] + [(ridge, 100)])
        name = machine["name"]
        if name == "this CPU":
            threads = data["context"]["ceilings"]["threads"]
            name = f"{data['context']['cpu']}, {threads} thread{'' if threads == 1 else 's'}"
        label = f"{name}: {machine['flops'] / 1e12:.3g} TFLOP/s from {ridge} tokens on"
        axes.plot(*zip(*points), color=colour, linewidth=1.8, label=label)
        axes.plot([ridge], [100], "o", color=colour, markersize=6, clip_on=False)
    tokens = [p["T"] for p in data["machines"][0]["points"]]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=10)
    axes.set_xticks(tokens, [str(t) for t in tokens])
    axes.set_yticks([0.3, 1, 3, 10, 30, 100], ["0.3 %", "1 %", "3 %", "10 %", "30 %", "100 %"])
    axes.minorticks_off()
    axes.set_xlim(tokens[0], tokens[-1])
    axes.set_xlabel("tokens in the batch")
    axes.set_ylabel("share of the peak FLOP/s that memory allows")
    axes.set_title(f"One feed-forward layer, D {data['D']}, F {data['F']}, bf16 weights; dots: the ridge",
                   fontsize=10.5, loc="left", pad=12)
    axes.legend(loc="lower right", frameon=False)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    canvas.savefig(figure, metadata={"Date": None, "Description": f"data sha256 {mark}"})


def main(arguments=None, draw_with=draw, description=__doc__):
    parser = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    parser.add_argument("data")
    parser.add_argument("figure")
    parser.add_argument("--check", action="store_true", help="only check that the figure is of this data")
    options = parser.parse_args(arguments)
    mark = digest(options.data)
    if options.check:
        if drawn_from(options.figure) != mark:
            print(f"{options.figure} was not drawn from {options.data}; draw it again")
            return 1
        print(f"{options.figure} is of {options.data}")
        return 0
    with open(options.data, encoding="utf-8") as file:
        draw_with(json.load(file), options.figure, mark)
    return 0


if __name__ == "__main__":
    sys.exit(main())
