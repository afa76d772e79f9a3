#!/usr/bin/env python3
"""Runs the command-line cases: run.py EMBTOOL [--only PATTERN] [--update] [--jobs N] [--slow X].

A case is NAME.sh with, beside it, what it must do: NAME.sh.stdout, NAME.sh.stderr and NAME.sh.exit.
A missing stdout or stderr file means that nothing may be written there, a missing exit file means 0.
Each case runs in its own empty directory under `sh -eu`, with the program's directory first in PATH,
$DATA naming tests/data, and nothing on stdin. --update rewrites the files from what happened: read the
difference before you keep it.
"""
import argparse
import concurrent.futures
import difflib
import fnmatch
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT_S = 20


def environment(tool, where):
    """Nothing of the user's own settings reaches a case."""
    kept = ("LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS")
    return {**{k: os.environ[k] for k in kept if k in os.environ}, "PATH": f"{tool.parent}:{os.environ['PATH']}",
            "HOME": where, "LC_ALL": "C", "DATA": str(HERE.parent / "data")}


def run(case, tool, slow):
    """(stdout, stderr, exit) of a case, as bytes."""
    with tempfile.TemporaryDirectory(prefix="embtool-cli-") as where:
        try:
            r = subprocess.run(["sh", "-eu", str(case)], cwd=where, env=environment(tool, where), timeout=LIMIT_S * slow,
                               stdin=subprocess.DEVNULL, capture_output=True)
        except subprocess.TimeoutExpired as e:
            return e.stdout or b"", (e.stderr or b"") + b"[not done in time]\n", b"timeout\n"
    return r.stdout, r.stderr, b"%d\n" % r.returncode


def parts(case):
    """The files beside a case, with what a missing one stands for."""
    return [(case.with_name(case.name + ext), default)
            for ext, default in ((".stdout", b""), (".stderr", b""), (".exit", b"0\n"))]


def difference(path, want, got):
    lines = [x.decode("utf-8", "backslashreplace").splitlines() for x in (want, got)]
    return list(difflib.unified_diff(*lines, path.name, "found", lineterm="", n=1))[:40] or [f"{path.name}: line ends"]


def check(case, tool, slow):
    """What differs from the files, as lines."""
    bad = []
    for (path, default), got in zip(parts(case), run(case, tool, slow)):
        want = path.read_bytes() if path.exists() else default
        if want != got:
            bad += difference(path, want, got)
    return bad


def update(case, tool, slow):
    for (path, default), got in zip(parts(case), run(case, tool, slow)):
        if got != default:
            path.write_bytes(got)
        else:
            path.unlink(missing_ok=True)
    return []


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("tool", type=Path)
    p.add_argument("--only", action="append", help="names to run, as shell patterns")
    p.add_argument("--update", action="store_true")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    p.add_argument("--slow", type=float, default=1)
    a = p.parse_args()
    cases = [c for c in sorted(HERE.glob("*.sh"))
             if not a.only or any(fnmatch.fnmatch(c.stem, pattern) for pattern in a.only)]
    act = update if a.update else check
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for case, bad in zip(cases, pool.map(lambda c: act(c, a.tool.resolve(), a.slow), cases)):
            failed += bool(bad)
            print(f"{'FAIL' if bad else 'ok  '} {case.stem}", *(f"     {line}" for line in bad), sep="\n", flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
