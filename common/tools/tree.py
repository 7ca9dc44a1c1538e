"""What the checks share: which files the tree has, C++ text without its comments, how a breach is printed."""

import argparse
import os
import re
import subprocess
import sys

CPP = (".h", ".hpp", ".cpp", ".cu", ".cuh", ".inc")
SKIPPED_FOLDERS = {"build", ".git", ".deps", ".cache", "__pycache__"}

LEXEME = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
      | (?P<number>(?<!\w)\d(?:'?[\w.])*)
      | (?P<text>(?:u8|[uUL])?R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"
          | "(?:\\.|[^"\\\n])*"
          | (?<!\w)(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')""",
    re.DOTALL | re.VERBOSE)


def default_root():
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def parser(description):
    """An argument parser with --root, which every check takes."""
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--root", default=default_root(), help="root of the tree (default: the one this script is in)")
    return p


def files(root):
    """The paths of the tree from its root, sorted: what git tracks or would add; without git, all but build output."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         capture_output=True, check=False) if os.path.exists(os.path.join(root, ".git")) else None
    if git and git.returncode == 0:
        found = {path for path in git.stdout.decode().split("\0") if path}
        return sorted(path for path in found if os.path.isfile(os.path.join(root, path)))
    found = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if name not in SKIPPED_FOLDERS]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)


def read(root, path):
    """The text of a file; bytes that are not UTF-8 become replacement characters."""
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def blank(text):
    """Spaces in place of every character but the line ends."""
    return re.sub(r"[^\n]", " ", text)


def without_comments(text, strings=True):
    """C++ text with comments blanked, and with the contents of literals blanked too unless `strings`."""
    def replace(match):
        if match["comment"] is not None or (match["text"] is not None and not strings):
            return blank(match[0])
        return match[0]
    return LEXEME.sub(replace, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def counted(count, singular, plural=None):
    """A number with its noun: 1 file, 2 files; a plural that is more than an s is given."""
    return f"{count} {singular if count == 1 else plural or singular + 's'}"


def report(name, breaches, checked):
    """Prints each breach, then one line of summary; the exit status of the check."""
    for breach in breaches:
        print(breach)
    found = f"{counted(len(breaches), 'breach', 'breaches')} in {checked}"
    print(f"{name}: {found}" if breaches else f"{name}: {checked}, no breach")
    return 1 if breaches else 0


def stop(message):
    """Ends a check that cannot run: one line, exit status 2."""
    print(message, file=sys.stderr)
    sys.exit(2)
