#!/usr/bin/env python3
"""Instructions that small jobs cost, counted by callgrind, against the budgets of budgets.json: run.py --build DIR.

    run.py --build DIR [--only NAME] [-v]     -v: the functions that cost most
    run.py --build DIR --record               what was counted becomes the budget of this compiler

Counted is the program's own code alone: the loader, the C library and zlib differ by system and are left out. What is
left depends on the compiler and its options, so each compiler that was recorded has budgets of its own (by name, first
number of its version and processor), and with another one the jobs are skipped, with that reason. They run without
AVX2 and AVX-512, on one thread, with an empty environment, as a copy of the program in a directory of its own, and
without the look at the machine's cgroups; so counts are the same in each run and on each machine, but for what the C
library asks back (the comparisons that its qsort makes).
A job fails when it costs 5 % more than its budget; one that costs 5 % less is said, since the budget may be lowered.
"""
import argparse
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from checks import Skip, run_checks, tool   # noqa: E402

BUDGETS = Path(__file__).with_name("budgets.json")
TOLERANCE = 0.05
# Symbols are bound before main, so that whichever call comes first costs nothing; no instruction set but the base one.
ENVIRONMENT = {"LD_BIND_NOW": "1", "EMB_DISABLE_CPU": "avx2,avx512", "LC_ALL": "C", "PATH": "/usr/bin:/bin"}
ROWS, DIMS, TOKENS = 1000, 64, 5000
UNCOUNTED = ("embi_cgroup_",)           # as many steps as the machine's cgroups lie deep


# ---------------------------------------------------------------- the jobs

def value(row, column):
    """An element of the tables: plain, of no special kind, the same everywhere (multiples of 2^-10)."""
    return math.floor(((row * 7919 + column * 104729 + row * column) % 4093) - 2046) / 1024


def write_npy(path, rows, dims):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {dims}), }}"
    head = (head.ljust(117) + "\n").encode()
    values = [value(r, c) for r in range(rows) for c in range(dims)]
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}f", *values))


def pieces(n):
    """n different pieces, letters by the place of their number."""
    letters = "etaoinshrdlu"
    out = []
    for i in range(n):
        text, left = "", i
        while True:
            text, left = letters[left % 12] + text, left // 12
            if left == 0:
                break
            left -= 1
        out.append(text)
    return out


def write_model(directory):
    """A model directory: a config, a table [TOKENS, 8], a tokenizer.json with as many entries and their merges."""
    directory.mkdir()
    names = pieces(TOKENS)
    known = set(names)
    merges = [[p[:-1], p[-1]] for p in names if len(p) > 1 and p[:-1] in known]
    tokenizer = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "decoder": None,
                 "model": {"type": "BPE", "unk_token": None, "fuse_unk": False, "byte_fallback": False,
                           "vocab": {p: i for i, p in enumerate(names)}, "merges": merges}}
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer, indent=1))
    (directory / "config.json").write_text(json.dumps({"model_type": "llama", "vocab_size": TOKENS, "hidden_size": 8}))
    name = "model.embed_tokens.weight"
    header = json.dumps({name: {"dtype": "F32", "shape": [TOKENS, 8], "data_offsets": [0, TOKENS * 32]}}).encode()
    values = [value(r, c) for r in range(TOKENS) for c in range(8)]
    (directory / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header +
                                                  struct.pack(f"<{len(values)}f", *values))


def make_files(directory, build):
    shutil.copy(build / "embtool", directory / "embtool")
    write_npy(directory / "t.npy", ROWS, DIMS)
    write_model(directory / "model")


# What each runs, and what its output must hold: a job that failed early would look cheap.
JOBS = {
    "start-up": (["--version"], "embtool"),
    "lookup of one row": (["lookup", "-q", "-j", "1", "-t", "t.npy", "#7"], f"7 {value(7, 0):.8g} "),
    "similar on 1000 rows": (["similar", "-q", "-j", "1", "-t", "t.npy", "#7"], "\t"),
    "tokenizer.json of 5000 entries": (["lookup", "-q", "-j", "1", "-t", "model", pieces(TOKENS)[4321]], pieces(TOKENS)[4321]),
}


# ---------------------------------------------------------------- the compiler

def compiler(build):
    """'gcc 12 x86_64', from what the compiler wrote into the program; only of the build that users get."""
    text = subprocess.run([tool("readelf"), "--debug-dump=info", "--dwarf-depth=1", str(build / "cmd/main.o")],
                          capture_output=True, text=True).stdout
    producer = re.search(r"DW_AT_producer\s*:(?: \(indirect[^)]*\):)? (.*)", text)
    if not producer:
        raise Skip("the program does not say which compiler made it")
    made_by = re.match(r"GNU C\d+ (\d+)\.", producer[1]) or re.search(r"clang version (\d+)\.", producer[1])
    if not made_by:
        raise Skip(f"no budgets for {producer[1][:40]}")
    if "fsanitize" in producer[1] or "--coverage" in producer[1] or "-fprofile" in producer[1]:
        raise Skip("a build with sanitizers or counters costs what it costs")
    optimised = re.findall(r" -(O\S*)", producer[1])
    if made_by.re.pattern.startswith("GNU") and (not optimised or optimised[-1] != "O3"):
        raise Skip("budgets are those of -O3")
    return f"{'gcc' if producer[1].startswith('GNU') else 'clang'} {made_by[1]} {os.uname().machine}"


# ---------------------------------------------------------------- callgrind

def costs(path):
    """{object: {function: instructions}} of a callgrind file: cost lines by the object and function they stand under;
    the line after `calls=` is what the called one cost, and is counted where it stands itself."""
    names, out = {"ob": {}, "fn": {}}, {}
    here = {"ob": "?", "fn": "?"}
    called = False
    for line in path.read_text(errors="replace").splitlines():
        named = re.match(r"(ob|fn)=\((\d+)\)(?: (.*))?$", line)
        if named:
            kind, number, text = named.groups()
            if text:
                names[kind][number] = text
            here[kind] = names[kind][number]
        elif re.match(r"c(ob|fn)=", line):
            kind, number, text = re.match(r"c(ob|fn)=\((\d+)\)(?: (.*))?$", line).groups()
            if text:
                names[kind][number] = text
        elif line.startswith("calls="):
            called = True
        elif re.match(r"[+*\-\d]", line):
            count = line.split()
            if not called and len(count) > 1:
                functions = out.setdefault(here["ob"], {})
                functions[here["fn"]] = functions.get(here["fn"], 0) + int(count[1])
            called = False
    return out


def count(directory, arguments, expected):
    """Instructions of the program's own code, by function."""
    out = directory / "callgrind.out"
    command = [tool("valgrind"), "--tool=callgrind", f"--callgrind-out-file={out}", "--quiet", str(directory / "embtool"), *arguments]
    r = subprocess.run(command, cwd=directory, env=ENVIRONMENT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert r.returncode == 0 and expected in r.stdout, f"exit {r.returncode}: {r.stdout[:200]!r} {r.stderr[-500:]}"
    found = [functions for ob, functions in costs(out).items() if Path(ob).name == "embtool"]
    assert found, f"{out}: nothing of the program"
    return {name: n for name, n in found[0].items() if not name.startswith(UNCOUNTED)}


# ---------------------------------------------------------------- the checks

class Run:
    def __init__(self, a, directory):
        self.a, self.directory = a, directory
        self.counted = {}

    def check(self, job):
        """Counts one job and holds it against its budget."""
        made_by = compiler(self.a.build.resolve())
        arguments, expected = JOBS[job]
        functions = count(self.directory, arguments, expected)
        total = self.counted[job] = sum(functions.values())
        if self.a.verbose:
            for name, n in sorted(functions.items(), key=lambda x: -x[1])[:15]:
                print(f"    {n:10} {name}")
        budget = json.loads(BUDGETS.read_text()).get(made_by, {}).get(job)
        if self.a.record:
            return f"{total} instructions recorded for {made_by}"
        if budget is None:
            raise Skip(f"{total} instructions; no budget for {made_by}")
        share = f"{total} instructions, {total / budget - 1:+.1%} of {budget} ({made_by})"
        assert total <= budget * (1 + TOLERANCE), f"{share}: over the budget"
        return share + (": the budget may be lowered" if total < budget * (1 - TOLERANCE) else "")


def as_check(run, job):
    """One of checks.py's checks; its docstring is what is printed, so it is written when the job has run."""
    def check():
        check.__doc__ = run.check(job)
    check.__name__ = job
    return check


def record(build, counted):
    budgets = json.loads(BUDGETS.read_text())
    budgets.setdefault(compiler(build), {}).update(counted)
    BUDGETS.write_text(json.dumps(budgets, indent=4, sort_keys=True) + "\n")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", type=Path, required=True)
    p.add_argument("--only", action="append")
    p.add_argument("--record", action="store_true")
    p.add_argument("-v", "--verbose", action="store_true")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        make_files(Path(tmp), a.build.resolve())
        run = Run(a, Path(tmp))
        bad = run_checks([as_check(run, job) for job in JOBS], a.only, lambda check: check())
        if a.record and not bad:
            record(a.build.resolve(), run.counted)
    return bad


if __name__ == "__main__":
    sys.exit(main())
