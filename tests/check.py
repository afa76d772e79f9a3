#!/usr/bin/env python3
"""Runs suites of checks, shows what they print, and adds up: check.py --build DIR SUITE...

Each suite is a list of programs. As many run at a time as there are CPUs, in the order of the suites; what one prints
is shown when it and all before it have ended. A program says how it went by a line `N passed, N failed[, N skipped]`
or Criterion's synthesis line; one that exits other than 0 without counting a failure counts as one.
Under a sanitizer, a report in the output is a failure whatever the exit code (Criterion exits 0 on leaks).
"""
import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TALLY = re.compile(r"^(?:\w+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
CRITERION = re.compile(r"Tested: .*?(\d+) .*?Passing: .*?(\d+) .*?Failing: .*?(\d+) .*?Crashing: .*?(\d+)")
REPORT = re.compile(r"(ERROR|WARNING): \w+Sanitizer|runtime error:")
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def programs(suite, build, sanitizer):
    """The command lines of a suite."""
    tool, py = str(build / "embtool"), sys.executable
    slow = ["--slow", "10"] if sanitizer else []
    jobs = ["--jobs", str(os.cpu_count() or 1)]
    seconds = ["--seconds", os.environ["FUZZ_SECONDS"]] if "FUZZ_SECONDS" in os.environ else []
    tests = ROOT / "tests"
    if suite in ("unit", "kern"):
        found = sorted(p for p in (build / "tests" / suite).glob("*") if p.is_file() and not p.suffix)
        return [[str(p)] + (["--ascii"] if suite == "unit" else []) for p in found]
    have = "lookup,similar,stats,init,resize,check,convert,ls"
    if suite == "faults":
        return [[str(x) for x in command] for command in (
            [build / "tests/faults/alloc_main", tests / "data"],
            [py, tests / "faults/run.py", build, *(["--few"] if sanitizer else [])])]
    if suite == "cases":        # of the capability positions, the commands that are there
        run = [py, tests / "cases/run.py", tool, *jobs, *slow]
        return [[str(x) for x in command] for command in (
            [*run, "--capability", "main", "--capability", "resize", "--capability", "formats", "--have", have],
            [*run, "--capability", "remote"],
            [*run, "--capability", "positions", "--only", "plan", "--only", "position.*", "--only", "logits",
             "--only", "lookup.*", "--only", "shard"])]
    if suite == "golden":
        kinds = ("npy,npy ids,safetensors,word2vec binary,word2vec text,glove text,model directory,"
                 "tokenizer.json,sentencepiece,tekken,torch zip,torch legacy,gguf,npz,gzip,fasttext vec,text")
        return [[str(x) for x in command] for command in (
            [py, tests / "data/check_golden.py", tool, "--kinds", kinds],
            [py, tests / "data/check_positions.py", tool])]
    if suite == "cuda":         # kernels on the shim; the plugin over the fake driver
        return [[str(x) for x in command] for command in (
            [build / "tests/gpu/kernels_main"],
            *([py, tests / "gpu/run.py", "--build", build, "--part", part, *slow] for part in ("one", "several")))]
    one = {
        "cli": [py, tests / "cli/run.py", tool, *jobs, *slow],
        "bad": [py, tests / "bad/run.py", tool, *slow],
        "fuzz": [py, tests / "fuzz/run.py", "--build", build, *jobs, *seconds],
        "docs": [py, tests / "lint/docs_check.py", tool],
        "install": [py, tests / "install/run.py", "--build", build],
        "remote": [py, tests / "remote/run.py", tool, *(["--quick"] if sanitizer else [])],
        "peers": [py, tests / "peers/run.py", tool, "--build", build],
        "cost": [py, tests / "cost/run.py", "--build", build],
        "lint": [py, tests / "lint/run.py", "--build", build],
    }
    return [[str(x) for x in one[suite]]]


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, passed, failed, skipped=0):
        self.passed, self.failed, self.skipped = self.passed + passed, self.failed + failed, self.skipped + skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else "")


def counted(line):
    m = TALLY.match(line)
    if m:
        return int(m[1]), int(m[2]), int(m[3] or 0)
    m = CRITERION.search(line)
    return (int(m[2]), int(m[3]) + int(m[4]), 0) if m else None


def run(command, environment):
    """(what one program printed, but for its own tally line; its counts)."""
    tally, lines = Tally(), []
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, text=True,
                       errors="replace")
    for line in p.stdout.splitlines():
        plain = ANSI.sub("", line)
        found = counted(plain)
        if found:
            tally.add(*found)
        else:
            lines.append(plain)
    name = " ".join(command)
    if p.returncode and not tally.failed:
        lines.append(f"FAIL {name}: exit {p.returncode}")
        tally.add(0, 1)
    if any(REPORT.search(line) for line in lines) and not tally.failed:
        lines.append(f"FAIL {name}: sanitizer report")
        tally.add(0, 1)
    if not tally.passed and not tally.failed and not tally.skipped:
        lines.append(f"FAIL {name}: ran no test")
        tally.add(0, 1)
    return lines, tally


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", type=Path, required=True)
    p.add_argument("--sanitizer")
    p.add_argument("suites", nargs="+")
    a = p.parse_args()
    environment = dict(os.environ, PATH=f"{a.build.resolve()}:{os.environ['PATH']}")
    if a.sanitizer == "asan":
        environment.setdefault("ASAN_OPTIONS", "detect_leaks=1:allocator_may_return_null=1")
        environment.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    total = Tally()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {suite: [pool.submit(run, command, environment)
                           for command in programs(suite, a.build.resolve(), a.sanitizer)] for suite in a.suites}
        for suite, ran in running.items():
            tally = Tally()
            for future in ran:
                lines, one = future.result()
                print(*lines, sep="\n", end="\n" if lines else "", flush=True)
                tally.add(one.passed, one.failed, one.skipped)
            print(f"== {suite}: {tally}", flush=True)
            total.add(tally.passed, tally.failed, tally.skipped)
    print(total)
    return total.failed > 0


if __name__ == "__main__":
    sys.exit(main())
