#!/usr/bin/env python3
"""Runs the peer tests in a virtual environment of pinned peers: run.py EMBTOOL --build DIR [--full].

The environment is made in DIR/../peers (or DIR/peers) on first use. Where packages cannot be had, the tests that need
them are skipped, with the reason; check_english.py needs none.
"""
import argparse
import re
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
TALLY = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")


def pip(python, *args):
    r = subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "install", "-q", *map(str, args)],
                       capture_output=True, text=True)
    return "" if r.returncode == 0 else (r.stderr.strip().splitlines() or ["pip failed"])[-1]


def environment(where):
    """(python, why not): a virtual environment with the peers."""
    python, done = where / "bin/python", where / "done"
    wanted = (HERE / "requirements.txt").read_text() + (HERE / "tables.txt").read_text()
    if done.exists() and done.read_text() == wanted:
        return str(python), ""
    try:
        venv.create(where, with_pip=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as e:
        return sys.executable, f"no virtual environment: {e}"
    why = pip(python, "-r", HERE / "requirements.txt") or pip(python, "--no-deps", "-r", HERE / "tables.txt")
    if not why:
        done.write_text(wanted)
    return str(python), why


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("embtool")
    p.add_argument("--build", type=Path, required=True)
    p.add_argument("--setup", action="store_true", help="only make the environment")
    a = p.parse_args()
    python, why = environment(HERE.parents[1] / "build/peers")
    if a.setup:
        sys.exit(why or 0)
    passed = failed = skipped = 0
    for test in sorted(HERE.glob("check_*.py")):
        needs = re.findall(r"^(?:import|from) (numpy|safetensors|gensim)\b", test.read_text(), re.M)
        if why and needs:
            print(f"skip {test.name}: {why}")
            skipped += 1
            continue
        r = subprocess.run([python, str(test), a.embtool], stdout=subprocess.PIPE, text=True)
        counts = None
        for line in r.stdout.splitlines():
            counts = TALLY.match(line) or counts
            if not TALLY.match(line):
                print(line, flush=True)
        if not counts:
            print(f"FAIL {test.name}: exit {r.returncode} without a count")
            failed += 1
            continue
        passed, failed, skipped = passed + int(counts[1]), failed + int(counts[2]), skipped + int(counts[3] or 0)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
