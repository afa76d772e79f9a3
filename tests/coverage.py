#!/usr/bin/env python3
"""Which lines of lib/ and cmd/ the tests reached, by file, the least reached first: coverage.py --build DIR

Reads the counters that a build with COV=1 has left, through gcov's JSON. A line of a header counts once, whatever the
number of files that include it. Processes that end by a signal leave no counters, so what only they run is shown as
not reached. -v lists those lines. A report, not a gate.
"""
import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def counters(build):
    """{file: {line: times}} over all objects of the library and the program."""
    notes = sorted(p for part in ("lib", "cmd") for p in (build / part).rglob("*.gcda"))
    if not notes:
        sys.exit(f"coverage.py: {build} holds no counters: make coverage builds with COV=1 and runs the tests")
    times = defaultdict(lambda: defaultdict(int))
    for note in notes:
        said = subprocess.run(["gcov", "--json-format", "--stdout", str(note)], capture_output=True, check=True)
        for line in said.stdout.splitlines():
            for source in json.loads(line)["files"]:
                path = Path(source["file"])
                if path.is_relative_to(ROOT):
                    for x in source["lines"]:
                        times[path.relative_to(ROOT)][x["line_number"]] += x["count"]
    return times


def ranges(lines):
    """[3, 4, 5, 9] as '3-5 9'."""
    runs = []
    for n in lines:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", type=Path, required=True)
    p.add_argument("-v", action="store_true", help="the lines that were not reached")
    a = p.parse_args()
    rows = []
    for path, lines in counters(a.build.resolve()).items():
        missed = sorted(n for n, times in lines.items() if not times)
        rows.append((1 - len(missed) / len(lines), len(lines), missed, path))
    print("reached  lines  missed  file")
    for share, n, missed, path in sorted(rows, key=lambda row: (row[0], row[3])):
        print(f"{share:7.1%}  {n:5}  {len(missed):6}  {path}")
        if a.v and missed:
            print(f"                        {ranges(missed)}")
    n, missed = sum(row[1] for row in rows), sum(len(row[2]) for row in rows)
    print(f"{1 - missed / n:7.1%}  {n:5}  {missed:6}  all")


if __name__ == "__main__":
    main()
