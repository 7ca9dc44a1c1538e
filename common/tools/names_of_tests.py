#!/usr/bin/env python3
"""Checks that no two tests of a build share a name.

CMake sets a test's properties by its name: of two with one name in a folder, the first gets what both were given, a label
such as gpu for one, and the other gets nothing. And a name given to ctest -R should choose one test.
"""

import collections
import json
import os
import subprocess
import sys

import tree


def breaches(listing):
    """One line for each name that several tests of ctest's JSON have, with their programs; those not built are left out."""
    programs = collections.defaultdict(list)
    for test in listing["tests"]:
        if test.get("command"):
            programs[test["name"]].append(os.path.basename(test["command"][0]))
    return [f"{len(found)} tests are called {name}: in {', '.join(found)}"
            for name, found in sorted(programs.items()) if len(found) > 1]


def main(arguments=None):
    parser = tree.parser(__doc__)
    parser.add_argument("--build", required=True, help="a build folder")
    parser.add_argument("--ctest", default="ctest", help="the ctest that lists its tests")
    options = parser.parse_args(arguments)
    run = subprocess.run([options.ctest, "--test-dir", options.build, "--show-only=json-v1"], capture_output=True,
                         text=True, check=True)
    listing = json.loads(run.stdout)
    return tree.report("names_of_tests", breaches(listing), tree.counted(len(listing["tests"]), "test"))


if __name__ == "__main__":
    sys.exit(main())
