#!/usr/bin/env python3
"""Runs the commands of the claims ledger, docs/claims.md, and looks for its figures in their output.

The ledger is the table whose head has the columns "Command" and "What we got". The code spans of a row's Command cell
run from the root; each code span of its "What we got" cell is a quotation and must stand in what they print, spaces
counting alike however many. So a row cannot keep a figure that its command no longer gives. A row needs at least one
command and one quotation. `./run generate` and `./run inspect` run the program that is built, and build/cpu/ is the
folder it was built in. --list prints the rows, --row N runs one.
"""

import os
import re
import sys

import markdown
import shell
import tree

LEDGER = "docs/claims.md"
COLUMNS = ("No.", "Command", "What we got")
TIMEOUT = 300  # seconds a command
KINDS = ("computed", "measured", "simulated", "exact")


def normal(text):
    return re.sub(r"\s+", " ", text).strip()


def ledger(root):
    """(line, number, commands, quotations, kind) of each row of the ledger."""
    found, head = [], None
    for line, cells in markdown.rows(tree.read(root, LEDGER)):
        if all(name in cells for name in COLUMNS) and "Kind" in cells:
            head = cells
        elif "No." in cells:
            head = None  # another table begins
        elif head is not None:
            row = dict(zip(head, cells))
            got = markdown.CODE.findall(row.get("What we got", ""))
            found.append((line, row["No."], markdown.CODE.findall(row.get("Command", "")), got, row.get("Kind", "")))
    return found


def direct(command, programs):
    """The command without what ./run would build first, for the build that the program in `programs` belongs to."""
    command = re.sub(r"^\./run (?=generate |inspect )", "octavo ", command)
    return re.sub(r"^build/cpu/", os.path.dirname(programs) + "/", command)


def check_row(root, row, programs, cache):
    """The breaches of one row. `cache` keeps what a command printed: rows may share it."""
    line, number, commands, quotations, kind = row
    where = f"{LEDGER}:{line}: claim {number}"
    if not commands or not quotations:
        return [f"{where}: {tree.counted(len(commands), 'command')} and {tree.counted(len(quotations), 'quotation')}, "
                "at least 1 of each is needed"]
    if kind.split(",")[0].split()[:1] not in [[k] for k in KINDS]:
        return [f"{where}: kind '{kind}', must begin with one of {', '.join(KINDS)}"]
    printed = ""
    for command in commands:
        if command not in cache:
            cache[command] = shell.run(root, direct(command, programs), TIMEOUT, programs)
        status, output = cache[command]
        if status != 0:
            what = f"took more than {TIMEOUT} s" if status is None else f"ended with {status}"
            return [f"{where}: '{command}' {what}: {normal(output)[-200:]}"]
        printed += "\n" + output
    missing = [q for q in quotations if not re.search(pattern(q), normal(printed))]
    return [f"{where}: its command does not print '{q}'" for q in missing]


def pattern(quotation):
    """Matches the quotation, but not inside a longer number or word: 9.9 is not found in 79.9 or 9.93."""
    return r"(?<![\w.])" + re.escape(normal(quotation)) + r"(?!\w|\.\d)"


def main(arguments=None):
    parser = tree.parser(__doc__)
    parser.add_argument("--program", help="the octavo program (default: build/cpu/serve/octavo)")
    parser.add_argument("--list", action="store_true", help="print the rows")
    parser.add_argument("--row", help="run this row only")
    options = parser.parse_args(arguments)
    root = options.root
    rows = [r for r in ledger(root) if options.row in (None, r[1])]
    if not rows:
        tree.stop(f"{LEDGER} has no row {options.row or ''}".rstrip())
    if options.list:
        for _, number, commands, quotations, kind in rows:
            print(f"{number:>4}  {kind}: {'; '.join(commands)}  ->  {', '.join(quotations)}")
        return 0
    program = os.path.abspath(options.program or os.path.join(root, "build", "cpu", "serve", "octavo"))
    if not os.path.exists(program):
        tree.stop(f"{program} is not built; claims run the octavo program")
    cache, breaches = {}, []
    for row in rows:
        breaches += check_row(root, row, os.path.dirname(program), cache)
    return tree.report("claims", breaches, f"{tree.counted(len(rows), 'row')}, {tree.counted(len(cache), 'command')}")


if __name__ == "__main__":
    sys.exit(main())
