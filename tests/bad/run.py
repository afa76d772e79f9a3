#!/usr/bin/env python3
"""Runs every bad input through embtool: run.py EMBTOOL [--only PART] [--slow N].

A case passes when the exit code and all of stderr are what its table says, stdout is empty, and no file is left.
Prints a line a case and `N passed, N failed`.
"""
import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "cases"), str(HERE)]

import table_convert  # noqa: E402
import table_gguf     # noqa: E402
import table_ids      # noqa: E402
import table_kinds    # noqa: E402
import table_logits   # noqa: E402
import table_models   # noqa: E402
import table_npy      # noqa: E402
import table_output   # noqa: E402
import table_positions  # noqa: E402
import table_safetensors  # noqa: E402
import table_shards   # noqa: E402
import table_torch    # noqa: E402
import table_words    # noqa: E402
import table_zip      # noqa: E402

CASES = [c for table in (table_safetensors, table_npy, table_words, table_kinds, table_ids, table_output,
                       table_models, table_torch, table_gguf, table_zip,
                       table_convert, table_positions, table_logits, table_shards)
         for c in table.CASES]
SECONDS = 10


def environment(tool):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("EMBTOOL", "LC_", "LANG"))}
    return dict(env, PATH=f"{tool.parent}:{env['PATH']}", LC_ALL="C")


def difference(case, result, files):
    """Why the case failed, or None."""
    err = result.stderr.decode("utf-8", "backslashreplace")
    if result.returncode != case.code:
        return f"exit {result.returncode}, expected {case.code}: {err[:600]}"
    if err != case.stderr():
        return f"stderr\n  expected {case.stderr()!r}\n  found    {err[:1200]!r}"
    if result.stdout != case.out:
        return f"stdout: expected {case.out[:80]!r}, found {result.stdout[:80]!r}"
    if files != sorted(case.files):
        return f"files: expected {sorted(case.files)}, found {files}"
    return None


def run(case, tool, slow):
    command = ["bash", "-c", case.args] if case.shell else [str(tool), *shlex.split(case.args)]
    with tempfile.TemporaryDirectory(prefix="bad-") as folder:
        for name, data in case.files.items():
            Path(folder, name).write_bytes(data)
        try:
            result = subprocess.run(command, cwd=folder, input=case.stdin, capture_output=True,
                                    timeout=SECONDS * slow, env=environment(tool))
        except subprocess.TimeoutExpired:
            return f"no answer in {SECONDS * slow} seconds"
        changed = [n for n, data in case.files.items()
                   if not case.shell and Path(folder, n).exists() and Path(folder, n).read_bytes() != data]
        if changed:
            return f"changed: {changed}"
        return difference(case, result, sorted(os.listdir(folder)))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("embtool", type=Path)
    p.add_argument("--only", default="", help="cases whose name has this in it")
    p.add_argument("--slow", type=float, default=1, help="times as long is allowed (sanitizers)")
    a = p.parse_args()
    names = [c.name for c in CASES]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        sys.exit(f"two cases of one name: {twice}")
    passed = failed = 0
    for case in CASES:
        if a.only not in case.name:
            continue
        why = run(case, a.embtool.resolve(), a.slow)
        print(f"FAIL {case.name}: {why}" if why else f"ok {case.name}", flush=True)
        passed, failed = passed + (not why), failed + bool(why)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
