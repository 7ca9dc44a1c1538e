#!/usr/bin/env python3
"""Writes the result tables of the READMEs from committed JSON, so that a number in the text is a number that was measured.

A table stands between markers, which name a file below docs/results and a topic, and may name one shape and one type:

    <!-- table: amd-epyc-avx512-2-threads/ch01.json ffn T:1/D:4096/F:14336 bf16 -->
    <!-- end of table -->

Without arguments every Markdown file of the tree is checked and a table that is out of date is a breach; --write renews them.
CPU rows, kernels with their modelled times, and kernels measured on a GPU share one table; what was not measured says so.
A type or a shape that all rows share stands above them, a column that no row fills is left out; the machine's ceilings stand once, under a file's last table.
"""

import json
import os
import re
import sys

import tree

RESULTS = "docs/results"
MARKED = re.compile(r"(<!-- table: ([^\n]*?) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)
OPENED = re.compile(r"<!-- table: ([^\n]*?) -->")
GPUS = ("A100", "H100", "H200")
MISSING = "not measured"


def time_text(nanoseconds):
    for limit, unit, scale in ((1e3, "ns", 1), (1e6, "us", 1e3), (1e9, "ms", 1e6)):
        if nanoseconds < limit:
            return f"{nanoseconds / scale:.3g} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"


def model_text(kernel, gpu_name):
    if kernel is None:
        return ""
    return time_text(kernel["model_ns"][gpu_name]) if "model_ns" in kernel else "not modelled"


def shape_text(shape):
    return shape.replace(":", " ").replace("/", ", ")


def lines_of(rows):
    """[(CPU row or None, kernel row or None, GPU row or None)], in the order of the file: one a version, threads and shape."""
    lines = {}
    for row in rows:
        kernel = row["backend"] != "cpu"
        line = lines.setdefault((row["shape"], row["dtype"], row["version"], kernel, row.get("threads")), [None, None, None])
        if not kernel:
            line[0] = row
        else:
            line[1] = row
            if row["backend"] == "cuda":
                line[2] = row
    return list(lines.values())


def cells_of(line):
    cpu, kernel, gpu = line
    row, timed = cpu or kernel, cpu or gpu
    threads = f", {row['threads']} thread{'s' if row['threads'] > 1 else ''}" if "threads" in row else ""
    cells = [f"`{row['version']}`{threads}", row["dtype"], shape_text(row["shape"])]
    if timed is not None and timed.get("error_occurred"):
        cells += [f"failed: {timed['error_message']}", "", "", "", ""]
    elif timed is not None and "real_time" in timed:
        cells += [f"{time_text(timed['real_time'])} ± {100 * timed['cv']:.0f} %", f"{timed['GB/s']:.1f}",
                  f"{timed['TFLOP/s']:.3f}", f"{timed['roof%']:.0f} %" if "roof%" in timed else "",
                  f"{timed['x_v1']:.2f}" if "x_v1" in timed else ""]
    else:
        cells += [MISSING, "", "", "", ""]
    cells += [model_text(kernel, gpu_name) for gpu_name in GPUS]
    cells.append(f"{timed['max_error']:.2g}" if timed is not None and "max_error" in timed else MISSING)
    return cells


def roofs_text(context):
    """What this machine can do, as the run measured it."""
    roofs = context["ceilings"]
    read, copy, do = ("reads", "copies", "does") if roofs["threads"] == 1 else ("read", "copy", "do")
    return (f"\n{context['cpu']} with {context['vectors']}, {context['compiler']}: one thread reads {roofs['read_core_GB/s']:.1f} GB/s and does "
            f"{roofs['fma_core_TFLOP/s']:.3f} TFLOP/s of FMA; {tree.counted(roofs['threads'], 'thread')} {read} {roofs['read_GB/s']:.1f} GB/s, "
            f"{copy} {roofs['copy_GB/s']:.1f} GB/s and {do} {roofs['fma_all_TFLOP/s']:.3f} TFLOP/s. Rows of one thread are its "
            f"processor time, the others time by the clock.\n")


def table(result, topic, filters, with_roofs=True):
    """The Markdown of one topic's rows. ValueError when the file has none that the filters let through."""
    rows = [row for row in result["benchmarks"] if row["topic"] == topic and set(filters) <= {row["shape"], row["dtype"]}]
    if not rows:
        raise ValueError(f"no row of topic {' '.join([topic, *filters])}")
    head = ["version", "type", "shape", "measured", "GB/s", "TFLOP/s", "of the roof", "times v1"]
    head += [f"{name} (model)" for name in GPUS] + ["differs from v1 by"]
    lines = [cells_of(line) for line in lines_of(rows)]
    shared = [column for column in (1, 2) if len({cells[column] for cells in lines}) == 1]
    kept = [column for column in range(len(head)) if column not in shared and any(cells[column] for cells in lines)]
    text = f"**{', '.join([topic, *(lines[0][column] for column in shared)])}**\n\n"
    text += "| " + " | ".join(head[column] for column in kept) + " |\n|"
    text += "".join("---|" if column < 3 else "---:|" for column in kept) + "\n"
    for cells in lines:
        text += "| " + " | ".join(cells[column] for column in kept) + " |\n"
    return text + (roofs_text(result["context"]) if with_roofs else "")


def table_of(root, words, with_roofs):
    """The table that a marker asks for; ValueError says what is wrong with it."""
    if len(words) < 2:
        raise ValueError("a table wants a file and a topic")
    path = f"{RESULTS}/{words[0]}"
    if not os.path.isfile(os.path.join(root, path)):
        raise ValueError(f"there is no file {path}")
    try:
        return table(json.loads(tree.read(root, path)), words[1], words[2:], with_roofs)
    except (json.JSONDecodeError, KeyError) as error:
        raise ValueError(f"{path} is no result file: {error}") from error


def renew(root, path, text):
    """The text with its tables renewed, and the breaches met."""
    breaches, opened, closed = [], len(OPENED.findall(text)), len(MARKED.findall(text))
    if opened != closed:
        breaches.append(f"{path}:1: {tree.counted(opened, 'begin marker')}, {tree.counted(closed, 'end marker')}")

    def replace(match):
        try:
            words = match[2].split()
            later = {after.split()[0] for after in OPENED.findall(text, match.end()) if after.split()}
            return match[1] + table_of(root, words, not set(words[:1]) <= later) + match[4]
        except ValueError as error:
            breaches.append(f"{path}:{tree.line_of(text, match.start())}: {error}")
            return match[0]
    return MARKED.sub(replace, text), breaches


def main(arguments=None):
    parser = tree.parser(__doc__)
    parser.add_argument("--write", action="store_true", help="renew the tables instead of checking them")
    options = parser.parse_args(arguments)
    breaches, tables = [], 0
    for path in tree.files(options.root):
        if not path.endswith(".md"):
            continue
        text = tree.read(options.root, path)
        tables += len(MARKED.findall(text))
        renewed, faults = renew(options.root, path, text)
        breaches += faults
        if renewed == text:
            continue
        if options.write:
            with open(os.path.join(options.root, path), "w", encoding="utf-8") as file:
                file.write(renewed)
        else:
            breaches.append(f"{path}:1: a table is out of date; common/tools/tables.py --write renews it")
    return tree.report("tables", breaches, tree.counted(tables, "table"))


if __name__ == "__main__":
    sys.exit(main())
