"""The machine: what it is, what it can do at best, and whether it could do so in this run.

machines.json keeps the best limits that were seen on each kind of machine (model of CPU and number of CPUs). The first
run on a kind records its own; later ones add to it what was better. A cell beside which the machine reached less than
70 % of that was not measured: others used it, or its host did.
"""
import json
import os
import platform
import subprocess
from pathlib import Path

BEST = Path(__file__).with_name("machines.json")
LEAST = 0.7


def cpu_model():
    with open("/proc/cpuinfo") as f:
        fields = dict(line.split(":", 1) for line in f.read().split("\n\n")[0].splitlines() if ":" in line)
    named = {k.strip(): v.strip() for k, v in fields.items()}
    return f"{named.get('model name', platform.machine())} family {named.get('cpu family', '?')} model {named.get('model', '?')}"


def describe():
    flags = next((line for line in open("/proc/cpuinfo") if line.startswith("flags")), "").split()
    sets = [s for s in ("avx2", "fma", "f16c", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16") if s in flags]
    caches = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        if (index / "type").read_text().strip() != "Instruction":
            caches.append(f"L{(index / 'level').read_text().strip()} {(index / 'size').read_text().strip()}")
    memory = next(line for line in open("/proc/meminfo") if line.startswith("MemTotal")).split()[1]
    return {"cpu": cpu_model(), "cpus": len(os.sched_getaffinity(0)), "sets": sets, "caches": caches,
            "virtual": "hypervisor" in flags, "memory_gb": round(int(memory) / 1e6, 1), "kernel": platform.release()}


class Machine:
    def __init__(self, program, directory):
        self.program, self.directory = str(program), str(directory)
        self.about = describe()
        self.kind = f"{self.about['cpu']}, {self.about['cpus']} CPUs"
        self.known = json.loads(BEST.read_text()) if BEST.exists() else {}
        self.now = self.measure()

    def measure(self, *how):
        r = subprocess.run([self.program, self.directory, "--threads", str(self.about["cpus"]), *how], capture_output=True, text=True,
                           check=True)
        found = json.loads(r.stdout)
        best = self.known.setdefault(self.kind, {})
        for name, value in found.items():
            better = min if name.endswith("_ms") else max
            best[name] = better(best.get(name, value), value)
        return found

    def share(self, limits):
        """How much of the best known the machine reached: the less of reading and multiplying."""
        best = self.known[self.kind]
        return min(limits[name] / best[name] for name in ("read_gbs", "fma_gflops"))

    def around(self, job):
        """(what the job returned, the limits of this moment, could it be measured?): looks before and after it."""
        before = self.measure("--quick")
        result = job()
        after = self.measure("--quick")
        limits = {**self.now, **{k: max(before[k], after[k]) for k in before}}
        return result, limits, self.share(limits)

    def record(self):
        BEST.write_text(json.dumps(self.known, indent=4, sort_keys=True) + "\n")
