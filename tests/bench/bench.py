#!/usr/bin/env python3
"""embtool beside the libraries that do the same, and beside what the machine can do: bench.py --build DIR [CELL...]

    bench.py --build DIR [CELL...] [--list] [--python PYTHON] [--data DIR] [--work DIR] [--scale 1.0] [--runs 7]
             [--seconds 60] [--json FILE] [--markdown FILE]

A CELL is the name or number of one, or a shell pattern; all by default. Every program of a cell runs once in each round,
answers are compared before a time is shown, and limits are measured around each cell (machine.py). PYTHON is one
that has the peers (default: build/bench-peers, which tests/bench/peers.sh makes, else this one); a peer that is not
installed is printed as missing. DIR of --data has tables from an earlier run, or from elsewhere; nothing is written there.
"""
import argparse
import fnmatch
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import machine
import peers
import report
from cells import CELLS
from clock import Server, Whole, figures, in_turn
from tables import G, L, Tables

HERE = Path(__file__).resolve().parent
TAIL = 1 << 16


def environment():
    """The same for all: as many threads as there are CPUs, no advice to BLAS about the CPU."""
    e = {k: v for k, v in os.environ.items() if not k.startswith(("OPENBLAS_", "OMP_", "MKL_", "EMBTOOL_", "EMB_"))}
    return {**e, "OMP_NUM_THREADS": str(peers.THREADS), "OPENBLAS_NUM_THREADS": str(peers.THREADS)}


class Bench:
    def __init__(self, a):
        self.a = a
        self.tables = Tables(a.data, a.work, a.scale)
        self.environment = environment()
        self.has = {}

    def there(self, peer):
        """Can it be imported?"""
        if peer not in self.has:
            code = f"import {peers.MODULES.get(peer, peer)}"
            self.has[peer] = subprocess.run([self.a.python, "-c", code], capture_output=True).returncode == 0
        return self.has[peer]

    def fill(self, words, out=""):
        """Arguments with the names of files, of the output and of counts."""
        known = {"{out}": str(self.a.work / out), "{L rows}": str(self.tables.rows(L)),
                 "{pairs}": str(min(10000, self.tables.rows(G)))}
        return [known.get(w) or self.tables.find(w) for w in words]

    def peers_of(self, cell):
        kinds = (peers.IN_PROCESS if cell.inproc else peers.WHOLE).get(cell.peers, {})
        names = [p for p in kinds if self.fits(cell, p)]
        return [p for p in names if self.there(p)], [p for p in names if not self.there(p)]

    @staticmethod
    def fits(cell, peer):
        """numpy has no bf16, and norms that are not stored are of interest where there is one query."""
        narrow, one = "bf16" in cell.name, cell.name.startswith("sim1_")
        return not (cell.inproc and peer.startswith("numpy") and (narrow or (peer != "numpy" and not one)))

    def programs(self, cell, names):
        ours = self.fill(cell.embtool, cell.out)
        files = self.fill(cell.files)
        if cell.inproc:
            yield "embtool", Server([str(self.a.build / "tests/bench/inproc"), *ours], self.environment)
            for peer in names:
                yield peer, Server([self.a.python, str(HERE / "peers.py"), cell.peers, peer, *files], self.environment)
            return
        out = self.a.work / cell.out
        beside = [out, out.with_name("out.vocab.txt")] if cell.out else []
        yield "embtool", Whole([str(self.a.build / "embtool"), *ours], beside, self.a.work, self.environment)
        for peer in names:
            target = self.a.work / "peer.npy"
            code = f"A = {files!r}; O = {str(target)!r}\n{peers.WHOLE[cell.peers][peer]}"
            yield peer, Whole([self.a.python, "-c", code], [target], self.a.work, self.environment)

    def answer(self, cell, name, sample):
        """What programs must agree in; None: nothing."""
        if cell.answer == "ids" and not cell.inproc:
            text = sample.answer.decode()
            return [int(line.split("\t")[-2]) for line in text.splitlines()] if "\t" in text else [int(w) for w in text.split()]
        if cell.answer == "ids":
            return sample.answer
        if cell.answer == "tail":
            with open(self.a.work / (cell.out if name == "embtool" else "peer.npy"), "rb") as f:
                f.seek(-TAIL, os.SEEK_END)
                return f.read()
        return None

    def compare(self, cell, programs):
        """One run of each; notes which answers differ from the first."""
        notes, first = [], None
        for name, program in programs.items():
            found = self.answer(cell, name, program.run())
            if first is None:
                first = found
            elif found is not None and found != first:
                notes.append(f"{name} answers otherwise: {str(found)[:80]}, not {str(first)[:80]}")
        return notes

    def run(self, cell, host):
        names, missing = self.peers_of(cell)
        programs = {}
        try:
            for name, program in self.programs(cell, names):
                programs[name] = program
            notes = self.compare(cell, programs)
            samples, limits, share = host.around(lambda: in_turn(programs, self.a.runs, self.a.seconds))
        finally:
            for program in programs.values():
                program.close()
        found = {name: figures(s) for name, s in samples.items()}
        limit = cell.limit(limits, self.a.scale) if cell.limit else None
        return {"cell": cell, "embtool": found.pop("embtool"), "peers": found, "missing": missing, "notes": notes,
                "limit_ms": limit, "limits": limits, "machine": share}


def chosen(names):
    """The cells of these names, numbers or patterns; none: all."""
    picked = [c for c in CELLS if not names or any(fnmatch.fnmatchcase(x, n) for n in names for x in (c.name, c.number))]
    if not picked:
        sys.exit(f"bench: no cell is called {' or '.join(names)}; --list names all")
    return picked


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("cells", nargs="*", metavar="CELL")
    p.add_argument("--build", type=Path, required=True)
    p.add_argument("--list", action="store_true", help="name the cells and their aims")
    p.add_argument("--python", help="a Python that has the peers")
    p.add_argument("--data", type=Path, help="tables that are there already")
    p.add_argument("--work", type=Path, help="what is made (default: BUILD/bench; 8 GB at scale 1)")
    p.add_argument("--scale", type=float, default=1.0, help="rows of the tables; limits of time hold for 1")
    p.add_argument("--runs", type=int, default=7)
    p.add_argument("--seconds", type=float, default=60, help="for a cell, after two rounds")
    p.add_argument("--json", type=Path, help="all figures")
    p.add_argument("--markdown", type=Path, help="the table of docs/performance.md")
    a = p.parse_args()
    a.build = a.build.resolve()
    a.work = (a.work or a.build / "bench").resolve()
    a.data = a.data and a.data.resolve()
    installed = a.build / "bench-peers/bin/python"
    a.python = shutil.which(a.python or (str(installed) if installed.exists() else sys.executable))
    return a


def go_on_in(python):
    """Tables are made by numpy: on in the Python that has it."""
    if importlib.util.find_spec("numpy"):
        return
    if os.path.abspath(python) == sys.executable:
        sys.exit(f"bench: {python} has no numpy: make bench-peers, or --python")
    os.execv(python, [python, *sys.argv, "--python", python])


def main():
    a = arguments()
    cells = chosen(a.cells)
    if a.list:
        for c in cells:
            print(f"{c.number:4} {c.name:18} {c.about}; {report.aims(c)}")
        return 0
    go_on_in(a.python)
    bench = Bench(a)
    host = machine.Machine(a.build / "tests/bench/limits", a.work)
    print(host.kind, "|", ", ".join(f"{k} {v:.3g}" for k, v in host.now.items()), flush=True)
    results, broken = [], 0
    for cell in cells:
        try:
            results.append(bench.run(cell, host))
            print("\n".join(report.lines(results[-1])), flush=True)
        except RuntimeError as e:
            broken += 1
            print(f"{cell.number:4} {cell.about}: could not run\n       {e}", flush=True)
    host.record()
    best = host.known[host.kind]
    if a.json:
        a.json.write_text(json.dumps(report.as_json(results, host.about, best), indent=1) + "\n")
    if a.markdown:
        a.markdown.write_text("\n".join(report.markdown(results, host.about, best)) + "\n")
    return broken > 0


if __name__ == "__main__":
    sys.exit(main())
