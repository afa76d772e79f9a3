#!/usr/bin/env python3
"""The program when the system fails it, and when it is ended: run.py BUILD [--few] [--only PATTERN] [-v].

Failures: BUILD/tests/faults/embtool is the program behind the shim (shim.h). Each scenario is run with
the n-th call of a kind failing, n = 1, 2, 3 ... until none is left. Then either it ends with the exit
code and the message of that failure, every output is as it was before and nothing else is there; or,
where the failure does no harm, all is as in a run without one.

Ends: BUILD/embtool writes something large and gets SIGINT, SIGTERM or SIGKILL at a random moment. The
output is then whole, old or not there, and nothing has a temporary name, SIGKILL aside. --few: a part
of it all, for slow builds. Prints a line a test, then `N passed, N failed`.
"""
import argparse
import errno
import fnmatch
import functools
import gzip
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cases"))
from craft import npy, safetensors, tensor, tokenizer_json, words_bin, zip_file  # noqa: E402

LIMIT_S = 60
FAST = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # a folder in memory: many runs, and fsync each
WORDS = ["cat", "dog", "nil", "of", "the", "mat", "sat", "on"]
TEXT = "".join(f"{w} {i} {i + 0.5} -1 2\n" for i, w in enumerate(WORDS, 1)).encode()
TABLE = npy([[float(i % 7), 1.0, -2.0, 0.5] for i in range(40)])
MANY_ROWS = npy([[float(i % 7), float(i), -2.0, 0.5] for i in range(600)])  # more than are scored canonically at once
GRAM_BYTES = bytes(i * i % 127 for i in range(4096 * 257))  # i8 [4096, 257]: too much to be decomposed as it is
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
OLD = b"what was there before"
MODEL = {"config.json": b"{}", "model.safetensors": OLD, "old.txt": OLD}
ROWS = [[float(i % 5), 1.0] for i in range(8)]
LLAMA = {"config.json": b'{"model_type": "llama", "vocab_size": 8, "tie_word_embeddings": false}',
         "tokenizer.json": tokenizer_json(WORDS).encode(), "notes.txt": OLD, "more": {"readme": OLD},
         "model.safetensors": safetensors({"lm_head.weight": tensor(ROWS[::-1]), "model.embed_tokens.weight": tensor(ROWS),
                                           "model.norm.weight": tensor([1.0, 2.0])})}


BESIDE = safetensors({"embedding.weight": tensor(ROWS[:2])}, meta={"emb_tokens": "vocab.txt"})


@dataclass
class Scenario:
    """One command; `outputs` are the files and directories it may make or replace, in the order in which they get
    their names."""
    name: str
    args: str
    outputs: tuple = ()
    files: dict = field(default_factory=dict)   # that are there before: bytes, or a dict for a directory
    always: str = ""                            # a plan that holds in every run
    spared: tuple = ()                          # kinds of calls that it can do without, besides SPARED
    needs: tuple = ()                           # kinds whose failures do harm here alone
    plugin: bool = False                        # it needs the BLAS plugin
    together: bool = False                      # all outputs change, or none


SCENARIOS = [
    Scenario("lookup to text", "lookup -t t.txt cat nil -o o.tsv", ("o.tsv",), {"t.txt": TEXT}),
    Scenario("lookup in gzip", "lookup -t t.txt.gz cat nil -o o.tsv", ("o.tsv",), {"t.txt.gz": gzip.compress(TEXT)}),
    Scenario("lookup in a zip", "lookup -t t.zip#t.txt cat nil -o o.tsv", ("o.tsv",),
             {"t.zip": zip_file({"t.txt": TEXT, "u.txt": TEXT}, deflate=True)}),
    Scenario("lookup in an npz", "lookup -t t.npz 3 4 -o o.tsv", ("o.tsv",), {"t.npz": zip_file({"t.npy": TABLE})}),
    Scenario("lookup to npy", "lookup -t t.bin --tokens-file w -o o.npy", ("o.npy",),
             {"t.bin": words_bin([(w, [1.0, 2.0]) for w in WORDS]), "w": b"cat\nsat\n"}),
    Scenario("lookup to a pipe", "lookup -t t.npy 0 3 5", (), {"t.npy": TABLE}),
    Scenario("init to a file", "init 300 8 -o o.npy", ("o.npy",)),
    Scenario("init and sync", "init 300 8 --sync -o o.safetensors", ("o.safetensors",)),
    Scenario("init with threads", "init 4000 100 -o o.npy", ("o.npy",)),
    Scenario("init to npz", "init 20 4 -o o.npz", ("o.npz",)),
    Scenario("init over a file", "init 300 8 --force -o o.npy", ("o.npy",), {"o.npy": OLD}),
    Scenario("init words", "init --tokens w 4 -o o.bin", ("o.bin",), {"w": b"cat\ndog\n"}),
    Scenario("init a directory", "init 40 4 --arch gpt2 --positions 8 -o d/", ("d",)),
    Scenario("init over a directory", "init 40 4 --arch gpt2 --positions 8 --force -o d", ("d",), {"d": MODEL}),
    Scenario("init with a report", "init 30 4 -o o.npy --report r.json", ("o.npy", "r.json")),
    Scenario("resize with lists", "resize t.txt --add-tokens new,er -o o.txt --row-map m --save-tokens s",
             ("o.txt", "s", "m"), {"t.txt": TEXT}),
    Scenario("resize in place", "resize t.npy --rows 50 --in-place", ("t.npy",), {"t.npy": TABLE}),
    Scenario("resize a model", "resize m --add-tokens new,er -o o", ("o",), {"m": LLAMA}),
    Scenario("resize a model in place", "resize m --add-tokens new,er --role pad=er --in-place", ("m",), {"m": LLAMA},
             spared=("linkat",), needs=("renameat2",)),
    Scenario("convert with tokens beside", "convert t.txt o.safetensors --dtype f16 --sync",
             ("o.vocab.txt", "o.safetensors"), {"t.txt": TEXT}, together=True),
    Scenario("convert and replace both", "convert t.txt o.safetensors --force", ("o.vocab.txt", "o.safetensors"),
             {"t.txt": TEXT, "o.vocab.txt": OLD, "o.safetensors": OLD}, together=True),
    Scenario("resize and replace both", "resize t.safetensors --add-tokens new --force -o o.safetensors",
             ("o.vocab.txt", "o.safetensors"), {"t.safetensors": BESIDE, "t.vocab.txt": b"cat\ndog\n",
                                                "o.vocab.txt": OLD, "o.safetensors": OLD}, together=True),
    Scenario("convert chosen rows", "convert t.txt o.csv --select w --normalize", ("o.csv",),
             {"t.txt": TEXT, "w": b"cat\n3\ncat\n"}),
    Scenario("shard", "shard t.txt --tp 3 -o o", ("o",), {"t.txt": TEXT}),
    Scenario("shard a model by dims", "shard m --tp 2 --axis dims -o o", ("o",), {"m": LLAMA}),
    Scenario("check a model", "check m", (), {"m": LLAMA}),
    Scenario("similar", "similar cat -t t.txt -k 3 -o o.npz", ("o.npz",), {"t.txt": TEXT}),
    Scenario("stats", "stats t.npy --columns", (), {"t.npy": TABLE}),
    Scenario("similar by BLAS", "similar --backend blas --id 3..5 -t t.npy -k 3 -o o.npz", ("o.npz",),
             {"t.npy": MANY_ROWS}, plugin=True),
    Scenario("lookup by products", "lookup --via matmul -t t.npy --id 7..9 -o o.npy", ("o.npy",), {"t.npy": TABLE},
             plugin=True),
    Scenario("stats with a spectrum", "stats t.npy --spectrum", (), {"t.npy": TABLE}, plugin=True, spared=("read",)),
    Scenario("stats with the spectrum of a Gram matrix",
             "stats t.raw --spectrum --format raw --input-dtype i8 --shape ,257", (), {"t.raw": GRAM_BYTES}, plugin=True,
             spared=("read",)),                 # how much memory is free: no answer is no failure
    Scenario("init without unnamed files", "init 300 8 -o o.npy", ("o.npy",), {}, "unnamed:1+:EOPNOTSUPP"),
    Scenario("init over a file without unnamed files", "init 300 8 --force -o o.npy", ("o.npy",), {"o.npy": OLD},
             "unnamed:1+:EOPNOTSUPP"),
    Scenario("init a directory without exchange", "init 40 4 --arch gpt2 --force -o d", ("d",), {"d": MODEL},
             "renameat2:1+:EINVAL"),
]

# What does harm, and the exit code of it; and what does none. N stands for the call's number.
HARM = [("alloc:N:ENOMEM", 5), ("alloc:N+:ENOMEM", 5), ("mmap:N:ENOMEM", 5), ("write:N:ENOSPC", 4), ("write:N+:EIO", 4),
        ("pwrite:N:EDQUOT", 4), ("fsync:N:EIO", 4), ("close:N:EIO", 4), ("fallocate:N:ENOSPC", 4), ("fcntl:N:EMFILE", 4),
        ("linkat:N:EDQUOT", 4), ("renameat:N:EACCES", 4), ("renameat2:N:EIO", 4), ("mkdirat:N:ENOSPC", 4),
        ("open:N:EMFILE", 4), ("openat:N:EACCES", 4), ("read:N:EIO", 4), ("pread:N:EIO", 4), ("getdents64:N:EIO", 4)]
HARMLESS = ["write:N:short", "write:N:EINTR", "write:N:EAGAIN", "stderr:N:short", "stderr:N:EINTR",
            "pwrite:N:short", "pwrite:N:EINTR", "read:N:short",
            "read:N:EINTR", "pread:N:short", "pread:N:EINTR", "fallocate:N:EOPNOTSUPP", "unnamed:N+:EOPNOTSUPP",
            "renameat2:N:EINVAL", "renameat2:N+:ENOSYS", "pthread_create:N+:EAGAIN"]
# Kinds that a run can do without: an input's close, a file that is asked for and need not be there.
SPARED = {"alloc", "mmap", "close", "open", "openat", "getdents64"}


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failed(what)


# ---------------------------------------------------------------- a folder before and after

def put(where, files):
    for name, content in files.items():
        if isinstance(content, dict):
            (where / name).mkdir()
            put(where / name, content)
        else:
            (where / name).write_bytes(content)


def look(where):
    """name: bytes, or a dict for a directory."""
    return {p.name: look(p) if p.is_dir() else p.read_bytes() for p in sorted(where.iterdir())}


@dataclass
class Run:
    code: int
    out: bytes
    err: str
    before: dict
    after: dict
    failed: int                                 # calls that the shim failed


def plugins(tool):
    """Where BUILD/tests/faults/embtool finds what lies beside BUILD/embtool."""
    return tool.parents[2] / "lib/embtool"


def run(tool, scenario, plan):
    with tempfile.TemporaryDirectory(prefix="embtool-faults-", dir=FAST) as top:
        where, log = Path(top, "folder"), Path(top, "log")
        where.mkdir()
        put(where, scenario.files)
        env = {**os.environ, "EMBTOOL_FAULT": plan, "EMBTOOL_FAULT_LOG": str(log), "HOME": top, "LC_ALL": "C",
               "EMBTOOL_THREADS": "2", "EMB_PLUGIN_PATH": str(plugins(tool))}
        p = subprocess.run([tool, *scenario.args.split()], cwd=where, env=env, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=LIMIT_S)
        calls = log.read_text().split() if log.exists() else []
        call = plan.rsplit(",", 1)[-1].split(":")[0]
        return Run(p.returncode, p.stdout, p.stderr.decode(errors="replace"), scenario.files, look(where),
                   calls.count(call))


# ---------------------------------------------------------------- the n-th call fails

def words_of(plan):
    how = plan.rsplit(":", 1)[1]
    return os.strerror(getattr(errno, how)) if hasattr(errno, how) else None


def blamed(scenario, line):
    """How many outputs come before the one that the message names; all, where it names none of them or says that
    the output is there."""
    if "is there, whole" in line or "for the report" in line or "read back" in line:
        return len(scenario.outputs)
    named = [i for i, name in enumerate(scenario.outputs) if f": {name}: " in line or f": {name}/: " in line]
    return named[0] if named else len(scenario.outputs)


def check_failed(scenario, plan, r, whole, code):
    """It failed, and says so. The output that it blames and those behind it are what they were; what was complete
    before stays."""
    expect(r.code == code, f"exit {r.code}, expected {code}: {r.err}")
    lines = r.err.splitlines()
    expect(lines and lines[-1].startswith("embtool: ") and r.err.endswith("\n"), f"message: {r.err!r}")
    told = [line for line in lines if words_of(plan) in line or (code == 5 and "out of memory" in line)]
    expect(told, f"the reason is not told: {r.err!r}")
    n = blamed(scenario, told[0])
    complete = scenario.outputs[:0 if scenario.together and n < len(scenario.outputs) else n]
    for name in sorted({*r.before, *r.after, *scenario.outputs}):
        old, now = r.before.get(name), r.after.get(name)
        expect(now == old or (name in complete and now == whole.after.get(name)),
               f"{name} is not as it was: {r.err!r}")


def without_remains(scenario, r):
    """A directory that was replaced but could not be removed is said to be still there."""
    if "could not be removed" not in r.err:
        return r.after, r.err
    names = [f".{name}.tmp." for name in scenario.outputs]
    return ({k: v for k, v in r.after.items() if not any(k.startswith(n) for n in names)},
            "".join(line for line in r.err.splitlines(True) if "could not be removed" not in line))


def check_run(scenario, plan, r, whole, code):
    expect("Sanitizer" not in r.err and "runtime error" not in r.err, r.err)
    if r.code == 0 and (code is None or plan.split(",")[-1].split(":")[0] in SPARED | {*scenario.spared}):
        expect(r.out == whole.out, f"another answer on standard output: {r.out[:200]!r}")
        after, err = without_remains(scenario, r)
        expect(after == whole.after, f"other files: {sorted(r.after)}")
        expect(err == whole.err, f"another message: {r.err!r}")
        return False
    check_failed(scenario, plan, r, whole, code)
    return True


@functools.cache
def run_whole(tool, i):
    """Scenario i without a failure."""
    whole = run(tool, SCENARIOS[i], SCENARIOS[i].always)
    expect(whole.code == 0, f"without a failure: exit {whole.code}: {whole.err}")
    return whole


def sweep(tool, i, pattern, code, step):
    """Fails call 1, 2, 3 ... in scenario i; returns how many calls there were, and how many did harm."""
    scenario, whole = SCENARIOS[i], run_whole(tool, i)
    first = f"{scenario.always}," if scenario.always else ""
    n = harm = 0
    while True:
        plan = first + pattern.replace("N", str(n * step + 1), 1)
        r = run(tool, scenario, plan)
        try:
            harm += check_run(scenario, plan, r, whole, code) if r.failed else 0
            expect(r.failed or r.code == 0, f"exit {r.code} with nothing failed: {r.err}")
        except Failed as e:
            raise Failed(f"{plan}: {e}") from None
        if not r.failed:
            return n, harm
        n += 1


def skip():
    raise Skipped("no BLAS plugin was built")


def failures(tool, few):
    """(name, function that returns how many calls failed and how many did harm)"""
    for i, scenario in enumerate(SCENARIOS):
        if scenario.plugin and not (plugins(tool) / "libemb-blas.so").exists():
            yield scenario.name, skip
            continue
        for k, (pattern, code) in enumerate([*HARM, *((p, None) for p in HARMLESS)]):
            if code is None and pattern.split(":")[0] in scenario.needs:
                continue
            if scenario.always and pattern.split(":")[0] == scenario.always.split(":")[0] or few and (i + k) % 4:
                continue
            step = 11 if few and pattern.startswith("alloc") else 1
            yield f"{scenario.name}: {pattern}", lambda i=i, p=pattern, c=code, n=step: sweep(tool, i, p, c, n)


# ---------------------------------------------------------------- ended at a random moment

@dataclass
class Large:
    """A command that writes `target` for a while."""
    name: str
    args: list
    target: str
    old: str = ""                               # makes what is there before, by this command line of embtool
    left: bool = False                          # SIGKILL leaves a temporary name: the target's directory says which
    always: str = ""
    cleared: bool = False                       # the next run removes what has a temporary name


def large(few):
    rows = "20000" if few else "60000"
    model = ["--arch", "gpt2", "--positions", "8"]
    made = ["init", rows, "64"]
    return [
        Large("a new file", [*made, "-o", "x.npy"], "x.npy"),
        Large("a file replaced", [*made, "--seed", "1", "--force", "-o", "x.npy"], "x.npy", "init 30 4 -o x.npy", True),
        Large("a resize", ["resize", "in.npy", "--rows", str(int(rows) + 9), "-o", "x.npy"], "x.npy",
              f"init {rows} 64 -o in.npy"),
        Large("a resize in place", ["resize", "x.npy", "--rows", str(int(rows) + 9), "--in-place"], "x.npy",
              f"init {rows} 64 -o x.npy", True),
        Large("a new directory", [*made, *model, "-o", "x/"], "x", "", True),
        Large("a directory replaced", [*made, *model, "--seed", "1", "--force", "-o", "x"], "x",
              "init 30 4 --arch gpt2 -o x/", True),
        Large("a model resized", ["resize", "m", "--rows", str(int(rows) + 1), "-o", "x"], "x",
              f"init {rows} 64 --arch gpt2 --positions 8 -o m/", True, cleared=True),
        Large("a model resized in place", ["resize", "x", "--rows", str(int(rows) + 1), "--in-place"], "x",
              f"init {rows} 64 --arch gpt2 --positions 8 -o x/", True, cleared=True),
        Large("a new file with a temporary name", [*made, "-o", "x.npy"], "x.npy", "", True, "unnamed:1+:EOPNOTSUPP"),
    ]


def digest(path):
    if path.is_dir():
        return {p.name: digest(p) for p in path.iterdir()}
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


class Ending:
    """One Large, and all the moments at which it is ended."""

    def __init__(self, build, job):
        self.job, self.build = job, build
        self.tool = build / ("tests/faults/embtool" if job.always else "embtool")
        self.env = {**os.environ, "EMBTOOL_FAULT": job.always}
        with tempfile.TemporaryDirectory(prefix="embtool-ends-") as top:
            self.old = self.prepare(Path(top))
            begun = time.monotonic()
            subprocess.run([self.tool, *job.args], cwd=top, env=self.env, check=True, stdout=subprocess.DEVNULL)
            self.length_s = time.monotonic() - begun
            self.new = digest(Path(top, job.target))
        expect(self.new and self.new != self.old, "a run to the end makes nothing new")

    def prepare(self, where):
        if self.job.old:
            subprocess.run([self.build / "embtool", *self.job.old.split()], cwd=where, check=True,
                           stdout=subprocess.DEVNULL)
        return digest(where / self.job.target)

    def end(self, number, share):
        """True: it was ended before it was done."""
        with tempfile.TemporaryDirectory(prefix="embtool-ends-") as top:
            where = Path(top)
            self.prepare(where)
            before = {p.name for p in where.iterdir()}
            p = subprocess.Popen([self.tool, *self.job.args], cwd=where, env=self.env, stdout=subprocess.DEVNULL)
            start = time.monotonic()
            try:
                p.wait(share * self.length_s)
                self.length_s = time.monotonic() - start   # the machine is faster than it was
            except subprocess.TimeoutExpired:
                p.send_signal(number)
            code = p.wait(LIMIT_S)
            expect(code in (0, -number), f"exit {code}")
            now = digest(where / self.job.target)
            expect(now in (self.old, self.new), f"after {share:.3f} of the time the output is neither old nor new")
            expect(now == self.new or code, "done, but there is no output")
            left = sorted({p.name for p in where.iterdir()} - before - {self.job.target})
            named = all(name.startswith(f".{self.job.target}.tmp.") for name in left)
            allowed = number == signal.SIGKILL and named and (self.job.left or not has_unnamed(where))
            expect(not left or allowed, f"left behind after {share:.3f} of the time: {left}")
            if left and self.job.cleared:
                self.again(where, before)
            return code != 0

    def again(self, where, before):
        """The next run makes what this one was to make, and removes what it left."""
        subprocess.run([self.tool, *self.job.args], cwd=where, env=self.env, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        expect(digest(where / self.job.target) == self.new, "the next run makes something else")
        left = {p.name for p in where.iterdir()} - before - {self.job.target}
        expect(not left, f"the next run leaves {sorted(left)}")


def has_unnamed(where):
    """Has this file system files without a name?"""
    try:
        os.close(os.open(where, os.O_TMPFILE | os.O_WRONLY))
        return True
    except OSError:
        return False


def end_often(build, job, number, moments, seed):
    """(moments, how many came before the run was done)"""
    ending, draw = Ending(build, job), random.Random(seed)
    cut = 0
    for _ in range(moments):
        try:
            cut += ending.end(number, draw.random())
        except Failed as e:
            raise Failed(f"{number.name}: {e}") from None
    return moments, cut


def ends(build, few):
    jobs = large(few)
    moments = 2 if few else 10                  # of 3 signals for 9 jobs: 270
    for i, job in enumerate(jobs):
        for number in SIGNALS:
            yield f"{job.name}, ended by {number.name}", \
                lambda j=job, n=number, seed=10 * i + number: end_often(build, j, n, moments, seed)


# ---------------------------------------------------------------- all

def total(counts, ending):
    return [sum(x) for x in zip(*(count for name, count in counts if name.endswith(ending)))]


def never_met(counts):
    """Kinds of failure that no scenario met, or that did no harm anywhere: what they were to show was not shown."""
    idle = [p for p in HARMLESS if not total(counts, f": {p}")[0]]
    return ", ".join(idle + [p for p, _ in HARM if not total(counts, f": {p}")[1]])


def never_ended(counts):
    """Signals that mostly came too late to end anything."""
    names = [n.name for n in SIGNALS]
    return ", ".join(n for n in names if 4 * total(counts, f"ended by {n}")[1] < total(counts, f"ended by {n}")[0])


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)   # not ignored, as it is in the background of a shell
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("build", type=Path)
    p.add_argument("--few", action="store_true")
    p.add_argument("--only", help="names to run, as a shell pattern")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    p.add_argument("-v", action="store_true")
    a = p.parse_args()
    build = a.build.resolve()
    tests = [t for t in (*failures(build / "tests/faults/embtool", a.few), *ends(build, a.few))
             if not a.only or fnmatch.fnmatch(t[0], a.only)]
    failed, skipped, counts = 0, 0, []

    def one(test):
        try:
            return test[1](), "ok  ", ""
        except Skipped as e:
            return (0, 0), "skip", str(e)
        except (Failed, OSError, subprocess.SubprocessError) as e:
            return (0, 0), "FAIL", str(e)

    with ThreadPoolExecutor(a.jobs) as pool:
        for (name, _), (count, verdict, why) in zip(tests, pool.map(one, tests)):
            failed += verdict == "FAIL"
            skipped += verdict == "skip"
            counts.append((name, count))
            if why or a.v:
                print(f"{verdict} {name}: {why or count}", flush=True)
    for name, why in [] if a.only or a.few else [("every kind of failure was met", never_met(counts)),
                                        ("signals came before the end", never_ended(counts))]:
        failed += bool(why)
        tests.append((name, None))
        print(f"{'FAIL' if why else 'ok  '} {name}{': ' if why else ''}{why}")
    print(f"{len(tests) - failed - skipped} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
