"""Runs of programs in turn, round by round, so that a machine whose speed drifts treats them alike.

A run is clean if others took less than a quarter of a core meanwhile. Times are wall time, with the CPU time of the
process beside them, which says more where others use the machine.
"""
import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass

MOST_OTHERS = 0.25          # of a core, in a clean run


@dataclass
class Sample:
    ms: float
    cpu_ms: float
    others: float           # cores that others, or the host, took
    answer: object = None


def machine_ms():
    """What all CPUs were busy with, and what the host took, in ms since the start."""
    with open("/proc/stat") as f:
        user, nice, system, _, _, irq, softirq, steal = [int(x) for x in f.readline().split()[1:9]]
    return (user + nice + system + irq + softirq + steal) * 1000 / os.sysconf("SC_CLK_TCK")


def others(busy_ms, own_ms, wall_ms):
    """Clock ticks are 10 ms, so shorter runs say nothing."""
    return max(0.0, busy_ms - own_ms) / wall_ms if wall_ms > 50 else 0.0


class Whole:
    """A program from start to exit; its outputs are removed before, outside the time."""
    def __init__(self, command, outputs, cwd, environment):
        self.command, self.outputs, self.cwd, self.environment = command, outputs, cwd, environment

    def run(self):
        for path in self.outputs:
            path.unlink(missing_ok=True)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
            busy, start = machine_ms(), time.perf_counter()
            p = subprocess.Popen(self.command, cwd=self.cwd, env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=said)
            _, status, usage = os.wait4(p.pid, 0)
            ms, busy = (time.perf_counter() - start) * 1e3, machine_ms() - busy
            p.returncode = os.waitstatus_to_exitcode(status)
            if p.returncode:
                said.seek(0)
                raise RuntimeError(f"{' '.join(self.command)[:200]}: exit {p.returncode}: {said.read()[-600:].decode(errors='replace')}")
            out.seek(0)
            cpu = (usage.ru_utime + usage.ru_stime) * 1e3
            return Sample(ms, cpu, others(busy, cpu, ms), out.read())

    def close(self):
        for path in self.outputs:
            path.unlink(missing_ok=True)


class Server:
    """A process that does its job once for each line it is given (inproc.c)."""
    def __init__(self, command, environment):
        self.command = command
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said,
                                        text=True)
        self.expect("ready")

    def expect(self, word):
        line = self.process.stdout.readline()
        if not line.startswith(word):
            self.said.seek(0)
            raise RuntimeError(f"{' '.join(self.command)[:200]}: {line!r} {self.said.read()[-600:].decode(errors='replace')}")
        return line

    def run(self):
        busy = machine_ms()
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        found = json.loads(self.expect("{"))
        busy = machine_ms() - busy
        return Sample(found["ms"], found["cpu_ms"], others(busy, found["cpu_ms"], found["ms"]), found["answer"])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def in_turn(programs, runs, seconds):
    """{name: [Sample]} of `runs` rounds after one that warms up, or of as many as the seconds allow (two at least)."""
    samples = {name: [] for name in programs}
    until = time.monotonic() + seconds
    for turn in range(runs + 1):
        for name, program in programs.items():
            sample = program.run()
            if turn > 0:
                samples[name].append(sample)
        if turn >= 2 and time.monotonic() > until:
            break
    return samples


def figures(samples):
    """Of the clean runs if there are three, else of all."""
    clean = [s for s in samples if s.others < MOST_OTHERS]
    used = clean if len(clean) >= 3 else samples
    ms = sorted(s.ms for s in used)
    return {"ms": ms[0], "median_ms": ms[len(ms) // 2], "cpu_ms": min(s.cpu_ms for s in samples), "runs": len(samples),
            "clean": len(clean)}
