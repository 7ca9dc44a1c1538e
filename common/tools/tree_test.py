"""What the tests of the checks share: a temporary tree."""

import contextlib
import io
import os
import shutil
import tempfile
import unittest


class TreeTest(unittest.TestCase):
    """A temporary tree; run(module) gives the exit status and what was printed."""

    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def run_check(self, module, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            try:
                status = module.main(["--root", self.root, *arguments])
            except SystemExit as stop:
                status = stop.code
        return status, output.getvalue()

    def expect(self, module, status, *words_wanted, arguments=()):
        got, output = self.run_check(module, *arguments)
        self.assertEqual(got, status, output)
        for word in words_wanted:
            self.assertIn(word, output)
