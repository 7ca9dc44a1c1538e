#!/usr/bin/env python3
"""Tests of verdict.py: what a judge must say about a file as shipped, and about a solution."""

import contextlib
import io
import os
import subprocess
import tempfile
import unittest

import verdict


class Verdict(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def judge(self, text, status):
        path = os.path.join(self.root, "judge")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nprintf '{text}'\nexit {status}\n")
        os.chmod(path, 0o755)
        return path

    def run_on(self, text, status, *arguments):
        with contextlib.redirect_stdout(io.StringIO()):
            return verdict.main([self.judge(text, status), "--root", self.root, *arguments])

    def test_a_solution_is_right(self):
        self.assertEqual(self.run_on("Right. And quick.", 0, "--right"), 0)
        self.assertEqual(self.run_on("Right.", 1, "--right"), 1)
        self.assertEqual(self.run_on("Not yet", 0, "--right"), 1)

    def test_a_file_as_shipped_is_wrong_in_the_words_expected(self):
        words = ["--file", "a.cu", "--says", "it moves 3"]
        self.assertEqual(self.run_on("but it\n moves 3 kB", 1, *words), 0)
        self.assertEqual(self.run_on("but it moves 2 kB", 1, *words), 1)
        self.assertEqual(self.run_on("it moves 3", 0, *words), 1)
        self.assertEqual(self.run_on("it moves 3", 139, *words), 1)

    def test_a_file_that_a_reader_changed_is_not_tested(self):
        git = ["git", "-C", self.root, "-c", "user.name=n", "-c", "user.email=e"]
        path = os.path.join(self.root, "a.cu")
        with open(path, "w", encoding="utf-8") as file:
            file.write("one\n")
        for command in (["init", "-q"], ["add", "a.cu"], ["commit", "-q", "-m", "m"]):
            subprocess.run(git + command, check=True)
        words = ["--file", "a.cu", "--says", "wrong"]
        self.assertEqual(self.run_on("Right.", 0, *words), 1)
        with open(path, "a", encoding="utf-8") as file:
            file.write("two\n")
        self.assertEqual(self.run_on("Right.", 0, *words), 77)


if __name__ == "__main__":
    unittest.main()
