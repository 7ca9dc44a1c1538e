#!/usr/bin/env python3
"""Write the tables of README.md and loss.svg from the committed training.json and quality.json files. Standard library.

    report.py            rewrite what stands between the markers
    report.py --check    exit status 1 if that would change anything
"""
import json
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = ("tiny-moe", "tiny-mla", "tiny-draft", "tiny-draft-domain")
COLOURS = ("#1b6ca8", "#b5442e", "#3c8d40", "#8a5aa8")


def read(name, file):
    path = os.path.join(HERE, name, file)
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def training():
    rows = []
    for name, file in [(name, "training.json") for name in NAMES[:1]] + [("tiny-moe", "training-tiny-moe-specialised.json")] + [
            (name, "training.json") for name in NAMES[1:]]:
        t = read(name, file)
        if t:
            marks = [t["log"][i * (len(t["log"]) - 1) // 5] for i in range(1, 6)]
            rows.append([t["name"], t["seed"], t["steps"], "%.2f M" % (t["tokens"] / 1e6), "%.0f" % (t["seconds"] / 60), ", ".join("%d: %.3f" % (m[0], m[3]) for m in marks)])
    return table(["checkpoint", "seed", "steps", "tokens", "minutes", "loss (nats a token) after step"], rows)


def quality():
    found = {name: read(name, "quality.json") for name in NAMES}
    found = {name: q for name, q in found.items() if q}
    subjects = [s for s in next(iter(found.values()))["subjects"] if s not in ("four", "two")]
    rows = []
    for s in subjects:
        row = [s, "%.4f" % next(iter(found.values()))["subjects"][s]["entropy_bits_per_byte"]]
        for q in found.values():
            line = q["subjects"][s]
            row.append("%.4f (%.3f)" % (line["bits_per_byte"], line["ratio"]) + (", %.3f" % line["acceptance"] if "acceptance" in line else ""))
        rows.append(row)
    text = table(["subject", "entropy"] + list(found), rows)
    text += "\n\nBits a byte on held-out documents, in brackets as a multiple of the entropy; for drafts also the expected acceptance against tiny-moe at T = 1.\n"
    routed = [(name, q) for name, q in found.items() if q["layers"]]
    rows = [[name, int(i) + 1, "%.2f" % l["load_max_over_mean"], "%.3f" % l["mutual_information_bits"], ", ".join(map(str, l["favourite_experts"]))] for name, q in routed for i, l in q["layers"].items()]
    text += "\n" + table(["checkpoint", "router", "load max/mean", "I(expert; subject), bits", "favourite expert of each subject"], rows) + "\n"
    rows = []
    for name, q in found.items():
        if "sampled" in q:
            s = q["sampled"]
            rows.append([name, s["answers"], "%.2f %%" % (100 * s["words_in_lexicon"]), "%.1f %%" % (100 * s["details_used"]),
                         "%.1f %% of %d" % (100 * s["equations_right"], s["equations"]), "%.1f %% of %d" % (100 * s["balances_right"], s["balances"])])
    return text + "\n" + table(["checkpoint", "sampled answers", "words in the lexicon", "answers that use the details", "equations right", "ledger balances right"], rows)


def samples():
    out = []
    for one in read("tiny-moe", "quality.json")["sampled"]["samples"]:
        out.append("**%s** %s\n\n```text\n%s\n```" % (one["subject"], one["user"], one["assistant"]))
    return "\n\n".join(out)


def ticks(top, most=8):
    """Round numbers from 0 to the first that is `top` or more: at most so many steps of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(top / most))
    step = next(s * power for s in (1, 2, 5, 10) if top / (s * power) <= most)
    return [round(i * step, 9) for i in range(math.ceil(top / step) + 1)]


def loss_svg(width=640, height=320, pad=44):
    """Loss against tokens, both axes linear."""
    curves = [(name, read(name, "training.json")) for name in NAMES]
    curves = [(name, [(row[1] / 1e6, row[3]) for row in t["log"]]) for name, t in curves if t]
    columns, rows = ticks(max(x for _, points in curves for x, _ in points)), ticks(1.2)
    right, top = columns[-1], rows[-1]
    at = lambda x, y: "%.1f,%.1f" % (pad + x / right * (width - 2 * pad), height - pad - min(y, top) / top * (height - 2 * pad))
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">' % (width, height),
           '<rect width="100%" height="100%" fill="#ffffff"/>']
    for y in rows:
        out.append('<polyline points="%s %s" stroke="#dddddd" fill="none"/>' % (at(0, y), at(right, y)))
        out.append('<text x="%d" y="%.1f" text-anchor="end">%.1f</text>' % (pad - 6, float(at(0, y).split(",")[1]) + 4, y))
    for x in columns:
        out.append('<polyline points="%s %s" stroke="#dddddd" fill="none"/>' % (at(x, 0), at(x, top)))
        out.append('<text x="%s" y="%d" text-anchor="middle">%g</text>' % (at(x, 0).split(",")[0], height - pad + 18, x))
    for i, (name, points) in enumerate(curves):
        out.append('<polyline points="%s" stroke="%s" stroke-width="1.5" fill="none"/>' % (" ".join(at(x, y) for x, y in points if y <= top), COLOURS[NAMES.index(name)]))
        out.append('<text x="%d" y="%d" fill="%s" text-anchor="end">%s</text>' % (width - pad - 8, pad + 20 + 16 * i, COLOURS[NAMES.index(name)], name))
    out.append('<text x="%d" y="20">training loss, nats a token, against millions of tokens</text></svg>' % pad)
    return "\n".join(out) + "\n"


def between(text, name, content):
    begin, end = "<!-- %s -->\n" % name, "\n<!-- end %s -->" % name
    before, rest = text.split(begin)
    return before + begin + content + end + rest.split(end)[1]


def main():
    path = os.path.join(HERE, "README.md")
    with open(path, encoding="utf-8") as f:
        old = text = f.read()
    for name, content in (("training", training), ("quality", quality), ("samples", samples)):
        text = between(text, name, content())
    figure = os.path.join(HERE, "loss.svg")
    if "--check" in sys.argv:
        with open(figure, encoding="utf-8") as f:
            return 0 if text == old and f.read() == loss_svg() else 1
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    with open(figure, "w", encoding="utf-8") as f:
        f.write(loss_svg())
    return 0


if __name__ == "__main__":
    sys.exit(main())
