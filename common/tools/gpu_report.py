#!/usr/bin/env python3
"""The reading half of gpu.sh.

programs           reads ctest's JSON on stdin, prints the programs that its tests run, each once
report PARTS OUT   joins the steps, the JUnit file and the benchmarks' JSON that gpu.sh left in PARTS into one file
"""

import glob
import json
import os
import sys
import xml.etree.ElementTree


def programs(listing):
    """The first word of each test's command, in order, each once; tests without a command are not built."""
    found = [test["command"][0] for test in listing["tests"] if test.get("command")]
    return list(dict.fromkeys(found))


def tests_of(path):
    """{"passed": n, "failed": [names], "skipped": n} of a JUnit file, or None when there is none."""
    if not os.path.exists(path):
        return None
    cases = list(xml.etree.ElementTree.parse(path).getroot().iter("testcase"))
    failed = [c.get("name") for c in cases if c.find("failure") is not None]
    skipped = [c for c in cases if c.find("skipped") is not None or c.get("status") == "notrun"]
    return {"passed": len(cases) - len(failed) - len(skipped), "failed": failed, "skipped": len(skipped)}


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def report(parts):
    """The one JSON of a run."""
    steps = {os.path.basename(p).removesuffix(".step.json"): read_json(p)
             for p in sorted(glob.glob(os.path.join(parts, "*.step.json")))}
    benches = [read_json(p) for p in sorted(glob.glob(os.path.join(parts, "*.bench.json")))]
    sanitizer = os.path.join(parts, "sanitizer.txt")
    if os.path.exists(sanitizer):
        with open(sanitizer, encoding="utf-8") as file:
            said = file.read().strip()
    else:
        said = "not run"
    return {"context": benches[0]["context"] if benches else {},
            "steps": steps,
            "seconds": sum(step["seconds"] for step in steps.values()),
            "tests": tests_of(os.path.join(parts, "tests.xml")),
            "sanitizer": said,
            "benchmarks": [row for bench in benches for row in bench["benchmarks"]]}


def main(arguments):
    if arguments == ["programs"]:
        print("\n".join(programs(json.load(sys.stdin))))
        return 0
    if len(arguments) == 3 and arguments[0] == "report":
        os.makedirs(os.path.dirname(arguments[2]) or ".", exist_ok=True)
        with open(arguments[2], "w", encoding="utf-8") as file:
            json.dump(report(arguments[1]), file, indent=1)
            file.write("\n")
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
