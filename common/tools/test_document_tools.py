#!/usr/bin/env python3
"""Tests of the checks of the documents: each must pass a good tree and name a planted fault."""

import os
import time
import unittest

import claims
import columns
import markdown
import readme_commands
import shell
import words
from tree_test import TreeTest


class Words(TreeTest):
    def test_planted_words(self):
        self.write("a/fine.md", "A methodology for TODOS and /usr/local/cuda; see ../root/x and network/work/.\n")
        self.expect(words, 0)
        for planted in ("TO" + "DO", "FIX" + "ME", "Coming " + "soon", "/wo" + "rk/x", "/ro" + "ot/x"):
            self.write("a/bad.md", f"fine\nhere: {planted}\n")
            self.expect(words, 1, "a/bad.md:2:")

    def test_binary_files_are_left_out(self):
        self.write("a/bad.bin", "\0" + "TO" + "DO")
        self.expect(words, 0)


class Markdown(TreeTest):
    def test_rows_keep_bars_inside_code(self):
        text = "| No. | b |\n|---|---|\n| 1 | `x | y` and a \\| b |\n"
        self.assertEqual(markdown.rows(text), [(1, ["No.", "b"]), (3, ["1", "`x | y` and a | b"])])

    def test_links_paths_and_anchors(self):
        self.write("a/b.h", "")
        self.write("docs/two.md", "# Big Title: here\n")
        good = ("[x](docs/two.md#big-title-here) [y](https://example.org/z) [m](#top)\n"
                "# Top\n`a/b.h` `b.h` `q/r` `x/y.z`\n")
        self.write("README.md", good + "```sh\n[no](gone.md)\n```\n`[no](gone.md)`\n")
        self.expect(readme_commands, 0, arguments=["--links"])
        for bad in ("[x](gone.md)", "[x](docs/two.md#other)", "`a/gone.h`", "`gone.h`", "`09_later/x.h`", "[x](../up)"):
            self.write("README.md", good + "\n" + bad + "\n")
            self.expect(readme_commands, 1, "README.md:5: ", arguments=["--links"])


class ReadmeCommands(TreeTest):
    def test_marked_blocks_run_in_the_root_and_others_do_not(self):
        self.write("docs/a.md", "```sh\ntouch no\n```\n```sh ci\ntouch yes\n```\n```bash ci\ntouch no\n```\n")
        self.expect(readme_commands, 0, "docs/a.md:4: running", "touch yes")
        self.assertTrue(os.path.exists(os.path.join(self.root, "yes")))
        self.assertFalse(os.path.exists(os.path.join(self.root, "no")))

    def test_any_failing_line_stops(self):
        for block in ("false\ntrue", "false | true", "echo $unset_name"):
            self.write("README.md", f"```sh ci\n{block}\n```\n```sh ci\ntouch later\n```\n")
            self.expect(readme_commands, 1, "README.md:1: the block exit status")
            self.assertFalse(os.path.exists(os.path.join(self.root, "later")))

    def test_time_limit(self):
        self.write("README.md", "```sh ci timeout=1\nsleep 60 & sleep 60\n```\n")
        self.expect(readme_commands, 1, "took more than its time, limit 1 s")
        self.expect(readme_commands, 0, "at most 1 s", arguments=["--list"])
        self.write("README.md", "```sh ci twice\ntrue\n```\n")
        self.expect(readme_commands, 2, "README.md:1: 'twice'")


class Columns(TreeTest):
    def program(self, path, text):
        self.write(path, f"#!/bin/sh\nprintf '%b\\n' '{text}'\n")
        os.chmod(os.path.join(self.root, path), 0o755)

    def setUp(self):
        super().setUp()
        self.write("01_x/demo.cpp", "")
        for path in ("build/01_x/ch01_demo", "build/serve/octavo", "common/tools/demo.sh"):
            self.program(path, "█" * 100)
        self.write("common/model/configs/big.json", "")

    def expect_columns(self, status, *wanted):
        self.expect(columns, status, *wanted, arguments=["--program", os.path.join(self.root, "build/serve/octavo")])

    def test_lines_as_wide_as_a_terminal_pass(self):
        self.expect_columns(0, "columns: 8 commands, no breach")  # two of the tour, a demo, five models

    def test_a_wider_line_of_any_program_fails(self):
        for path, count in (("build/01_x/ch01_demo", 1), ("build/serve/octavo", 5), ("common/tools/demo.sh", 2)):
            self.program(path, "short\n" + "x" * 101)
            self.expect_columns(1, "a line of 101 columns, limit 100: xxx", f"{count} breach")
            self.program(path, "short")

    def test_a_program_that_fails_is_a_breach(self):
        self.write("build/01_x/ch01_demo", "#!/bin/sh\necho no memory; exit 3\n")
        self.expect_columns(1, "ended with 3: no memory")


class Claims(TreeTest):
    HEAD = "| No. | Claim | Command | What we got | Kind |\n|---|---|---|---|---|\n"

    def ledger(self, *rows):
        self.write("docs/claims.md", self.HEAD + "\n".join(rows) + "\n")
        self.write("bin/octavo", "#!/bin/sh\necho 'all  79.9 %' \"$@\"\n")
        os.chmod(os.path.join(self.root, "bin/octavo"), 0o755)

    def expect_claims(self, status, *wanted, arguments=()):
        program = ["--program", os.path.join(self.root, "bin/octavo")]
        self.expect(claims, status, *wanted, arguments=program + list(arguments))

    def test_figures_that_are_printed_pass(self):
        self.ledger("| 3 | share | `./run inspect x` | `79.9 %` of all | computed |",
                    "| 4 | two | `octavo a`, `echo b` | `all 79.9 % a` and `b` | exact |")
        self.expect_claims(0, "2 rows, 3 commands")
        self.ledger("| 5 | test | `build/cpu/bin/octavo t` | `79.9 % t` | exact |")  # bin stands for the build's serve
        self.expect_claims(0, "1 row, 1 command")

    def test_figures_that_are_not_printed_fail(self):
        for figure in ("80.0 %", "9.9 %", "79.9 % y", "79"):
            self.ledger(f"| 3 | share | `octavo x` | `{figure}` | computed |")
            self.expect_claims(1, f"claim 3: its command does not print '{figure}'")

    def test_rows_need_a_command_a_quotation_and_a_kind(self):
        self.ledger("| 3 | share | octavo x | `79.9 %` | computed |")
        self.expect_claims(1, "0 commands and 1 quotation, at")
        self.ledger("| 3 | share | `octavo x` | 79.9 % | computed |")
        self.expect_claims(1, "1 command and 0 quotations, at")
        self.ledger("| 3 | share | `octavo x` | `79.9 %` | shown |")
        self.expect_claims(1, "kind 'shown'")

    def test_a_command_that_fails_and_an_empty_ledger(self):
        self.ledger("| 3 | share | `octavo x; false` | `79.9 %` | computed |")
        self.expect_claims(1, "claim 3: 'octavo x; false' ended with 1")
        self.ledger()
        self.expect_claims(2, "has no row")


def running(process):
    """Whether a process is there and not merely waiting to be reaped."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as stat:
            return stat.read().split()[2] not in "ZX"
    except OSError:
        return False


class Shell(unittest.TestCase):
    def test_a_child_left_behind_is_ended(self):
        status, output = shell.run("/", "sleep 300 >/dev/null 2>&1 & echo $!", 20)
        self.assertEqual(status, 0)
        deadline = time.monotonic() + 10
        while running(output.strip()) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertFalse(running(output.strip()))


if __name__ == "__main__":
    unittest.main()
