#!/usr/bin/env python3
"""Runs the examples of README.md and docs/, and looks whether their links lead anywhere: docs_check.py EMBTOOL [PAGE...].

An example stands in a ```sh block: a line `$ COMMAND`, then exactly what it writes to standard output. A command line
that ends in a backslash goes on in the next line. Blanks at the end of lines, and empty lines at the end of an output,
do not count; `...` alone on a line stands for any number of lines. Standard error is not looked at unless the command
says 2>&1; a command without that must succeed. Blocks without a `$ ` line are not executed.

The examples of a page run one after another, by `sh -c`, in one temporary directory that holds links to the
repository's lib/ and tests/; the program's directory comes first in PATH and $DATA is tests/data. One line a block, one
a page for its links, then `N passed, N failed`.
"""
import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 60
FENCE = re.compile(r"^( *)```(.*)$")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def blocks(text):
    """(line number, lines) of each ```sh block, and the text outside of all blocks."""
    found, outside, block = [], [], None
    for at, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if block is None and fence:
            block = (at, [], fence[1], fence[2].strip() == "sh")
        elif block is None:
            outside.append(line)
        elif fence and not fence[2].strip():
            found += [block[:2]] if block[3] else []
            block = None
        else:
            block[1].append(line.removeprefix(block[2]))
    if block is not None:
        raise SystemExit(f"the block that begins in line {block[0]} has no end")
    return found, "\n".join(outside)


def examples(lines):
    """(command, expected lines) of each example of a block."""
    found = []
    for line in lines:
        if found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1][0] += "\n" + line
        elif line.startswith("$ "):
            found.append([line[2:], []])
        elif found:
            found[-1][1].append(line)
    return found


def tidy(lines):
    lines = [line.rstrip() for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def matches(want, got):
    """Do the lines agree, with `...` in want for any number of them?"""
    if "..." not in want:
        return want == got
    cut = want.index("...")
    head, rest = want[:cut], want[cut + 1:]
    return got[:cut] == head and any(matches(rest, got[at:]) for at in range(cut, len(got) + 1))


def environment(tool, where):
    """Nothing of the user's own settings reaches an example."""
    kept = {k: v for k, v in os.environ.items() if k == "LD_LIBRARY_PATH" or k.endswith("SAN_OPTIONS")}
    return {**kept, "PATH": f"{tool.parent}:{os.environ['PATH']}", "HOME": where, "LC_ALL": "C",
            "DATA": str(ROOT / "tests/data")}


def run(command, want, tool, where):
    """What is wrong with an example, as lines."""
    try:
        r = subprocess.run(["sh", "-c", command], cwd=where, env=environment(tool, where), stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return [f"$ {command}", f"not done in {LIMIT_S} s"]
    got = tidy(r.stdout.decode("utf-8", "backslashreplace").split("\n"))
    want = tidy(want)
    bad = []
    if r.returncode > 125 or r.returncode < 0 or (r.returncode and "2>&1" not in command):
        bad += [f"exit {r.returncode}", *r.stderr.decode("utf-8", "backslashreplace").splitlines()[:10]]
    if not matches(want, got):
        bad += list(difflib.unified_diff(want, got, "page", "found", lineterm="", n=1))[2:40]
    return [f"$ {command}", *bad] if bad else []


def dead_links(page, text):
    """Links to files that are not there; addresses are not looked at."""
    return [f"no such file: {to}" for to in LINK.findall(text)
            if not re.match(r"[a-z]+:", to) and not (page.parent / to).exists()]


def check_page(page, tool, report):
    found, outside = blocks(page.read_text())
    name = os.path.relpath(page, ROOT)
    with tempfile.TemporaryDirectory(prefix="embtool-docs-") as where:
        for link in ("lib", "tests"):
            Path(where, link).symlink_to(ROOT / link)
        for at, lines in found:
            todo = examples(lines)
            if todo:
                report(f"{name}:{at}", [x for command, want in todo for x in run(command, want, tool, where)])
    report(f"{name} links", dead_links(page, outside))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("tool", type=Path)
    p.add_argument("pages", type=Path, nargs="*", help="default: README.md and all of docs/")
    a = p.parse_args()
    counts = [0, 0]

    def report(name, bad):
        counts[bool(bad)] += 1
        print(f"{'FAIL' if bad else 'ok  '} {name}", *(f"     {line}" for line in bad), sep="\n", flush=True)

    for page in a.pages or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        check_page(page.resolve(), a.tool.resolve(), report)
    print(f"{counts[0]} passed, {counts[1]} failed")
    return counts[1] > 0


if __name__ == "__main__":
    sys.exit(main())
