#!/usr/bin/env python3
"""Runs the fuzz targets: run.py --build DIR [--seconds N] [--jobs N] [--only NAME].

Every target replays its corpus (tests/fuzz/corpus/NAME). With --seconds, one that was built with libFuzzer (make fuzz)
then looks for new inputs that long; one that fails is kept as DIR/findings/NAME-.... Where they were built without, that
is skipped. Prints a line a target and `N passed, N failed, N skipped`.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
# A small file may take neither long nor much memory.
LIMITS = ["-timeout=5", "-rss_limit_mb=2048", "-malloc_limit_mb=128"]
REPLAY_SECONDS = 300


class Failed(Exception):
    pass


def call(command, seconds):
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1", UBSAN_OPTIONS="print_stacktrace=1")
    r = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", timeout=seconds,
                       env=env)
    if r.returncode:
        raise Failed(f"exit {r.returncode}: {r.stderr[-3000:]}")
    return r.stderr


def has_fuzzer(program):
    """Does the program know the options of libFuzzer?"""
    return b"print_final_stats" in program.read_bytes()


def replay(program, name, limits):
    files = sorted((HERE / "corpus" / name).iterdir())
    if not files:
        raise Failed("its corpus is empty")
    call([program, *limits, *files], REPLAY_SECONDS)
    return f"{len(files)} files"


def fuzz(program, name, seconds, findings):
    words = HERE / "dict" / f"{name}.dict"
    with tempfile.TemporaryDirectory(prefix="fuzz-") as new:
        out = call([program, *LIMITS, f"-max_total_time={seconds}", f"-artifact_prefix={findings}/{name}-",
                    "-print_final_stats=1", *([f"-dict={words}"] if words.exists() else []), new,
                    HERE / "corpus" / name], seconds + REPLAY_SECONDS)
    runs = re.search(r"number_of_executed_units: (\d+)", out)
    return f", {int(runs[1]):,} runs" if runs else ""


def one(program, seconds, findings):
    name = program.name.removeprefix("fuzz_")
    try:
        said = replay(program, name, LIMITS if seconds else [])
        return name, said + (fuzz(program, name, seconds, findings) if seconds else ""), True
    except (Failed, OSError, subprocess.TimeoutExpired) as e:
        return name, str(e), False


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", type=Path, required=True)
    p.add_argument("--seconds", type=int, default=0)
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--only", default="", help="targets whose name has this in it")
    a = p.parse_args()
    findings = a.build.resolve() / "findings"
    findings.mkdir(exist_ok=True)
    programs = sorted(p for p in (a.build.resolve() / "tests/fuzz").glob("fuzz_*") if not p.suffix and a.only in p.name)
    passed = failed = skipped = 0
    if a.seconds and not all(map(has_fuzzer, programs)):
        print("skip new inputs: no libFuzzer, only the corpora are replayed", flush=True)
        a.seconds, skipped = 0, 1
    with ThreadPoolExecutor(a.jobs) as pool:
        for name, said, good in pool.map(lambda program: one(program, a.seconds, findings), programs):
            print(f"{'ok' if good else 'FAIL'} {name}: {said}", flush=True)
            passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
