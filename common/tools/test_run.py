"""The entry script from outside: its help, its errors, and what it does on a system without apt."""

import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(*args, **environment):
    found = subprocess.run([os.path.join(ROOT, "run"), *args], capture_output=True, text=True, timeout=60,
                           env={**os.environ, **environment})
    return found.returncode, found.stdout, found.stderr


class Run(unittest.TestCase):
    def test_help_lists_every_verb(self):
        with open(os.path.join(ROOT, "run")) as f:
            verbs = re.findall(r"^  ([a-z |]+)\)", f.read().split("case $verb in")[1], re.M)
        for args in ((), ("help",), ("--help",)):
            code, out, err = run(*args)
            self.assertEqual((code, err), (0, ""))
            for verb in " | ".join(verbs).split(" | "):
                self.assertRegex(out, r"(?m)^  %s\b" % verb.strip())

    def test_bad_arguments_give_one_line_and_exit_code_2(self):
        for args, says in ((("dance",), "dance"), (("bench",), "chapter"), (("bench", "09"), "09"), (("demo", "x"), "x"),
                           (("bench", "1"), "'1'"), (("demo", "07"), "07"), (("exercise",), "01"),
                           (("exercise", "1"), "'1'"), (("exercise", "01", "x"), "tiled"),
                           (("exercise", "01", "tiled", "-s"), "--solution")):
            code, out, err = run(*args)
            self.assertEqual((code, out), (2, ""), args)
            self.assertRegex(err, r"^run: [^\n]+\n$")
            self.assertIn(says, err)

    def test_exercises_are_listed_with_their_files(self):
        code, out, err = run("exercise", "01")
        self.assertEqual((code, err), (0, ""))
        for name in ("tiled", "activation_tail"):
            self.assertRegex(out, r"  %s: \w[^\n]+\n    (01_dense_ffn/exercises/%s\.cu)\n" % (name, name))

    def test_without_apt_the_packages_are_listed(self):
        with tempfile.TemporaryDirectory() as folder:
            for tool in ("bash", "dirname", "env", "cat", "readlink", "nproc"):
                for path in ("/bin/", "/usr/bin/"):
                    if os.path.exists(path + tool) and not os.path.exists(os.path.join(folder, tool)):
                        os.symlink(path + tool, os.path.join(folder, tool))
            code, out, err = run("setup", PATH=folder)
        self.assertEqual((code, out), (2, ""))
        for package in ("cmake", "ninja-build", "libfmt-dev", "libgtest-dev"):
            self.assertIn(package, err)


if __name__ == "__main__":
    unittest.main()
