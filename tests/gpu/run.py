#!/usr/bin/env python3
"""The CUDA plugin over the fake driver: run.py --build DIR [--slow X] [--only NAME] [--part one|several] [--real].

The plugin is that of the tests, whose kernels the fake driver runs on the shim. Commands are run with --device cuda and
with --device cpu, and must give the same bytes; then with every call of the driver failing in its turn, with too little
memory, without a device, without a driver; and with several devices, of which one lacks memory, is too old, or fails.
--real takes the plugin that was built and the machine's driver, and leaves
out what needs a driver that fails. One line a check, then `N passed, N failed, N skipped`.
"""
import argparse
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from checks import Skip, run_checks   # noqa: E402

LIMIT_S = 60
OPENING = 60           # calls of the driver that open and close a device


class Place:
    """The programs, a folder for files, and how commands are run in it."""

    def __init__(self, build, slow, real, where):
        self.tool, self.build, self.slow, self.real, self.where = build / "embtool", build, slow, real, Path(where)
        self.gpu = build / "tests/gpu"

    def environment(self, fake, plugin, driver):
        kept = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "PATH")
        found = {k: os.environ[k] for k in kept if k in os.environ}
        found.update(HOME=str(self.where), LC_ALL="C")
        if self.real:
            return {**found, **{k: v for k, v in os.environ.items() if k.startswith(("LD_", "CUDA_"))}}
        report = f"report={self.where / 'report'}"
        found.update(FAKE_CUDA=",".join(filter(None, [fake, report])))
        if plugin is None:
            plugin = self.gpu / "plugin"
        if driver is None:
            driver = self.gpu / "driver"
        found.update(EMB_PLUGIN_PATH=str(plugin), LD_LIBRARY_PATH=str(driver))
        return found

    def run(self, *command, fake="", plugin=None, driver=None, stdin=b""):
        (self.where / "report").unlink(missing_ok=True)
        program = str(self.tool)
        if command[0].startswith("/"):
            program, *command = command
        return subprocess.run([program, *map(str, command)], input=stdin, capture_output=True, cwd=self.where,
                              env=self.environment(fake, plugin, driver), timeout=LIMIT_S * self.slow)

    def report(self):
        """What the fake driver said at its end: calls, and what was left."""
        text = (self.where / "report").read_text()
        return {k: int(v) for k, v in (line.split() for line in text.splitlines())}

    def report_or_none(self):
        return self.report() if (self.where / "report").exists() else None

    def same(self, *command, stdin=b"", used=True, device="cuda", **how):
        """The command by the device and by the CPU; used: the device has something to do. Returns what it wrote."""
        cpu = self.run(*command, "--device", "cpu", stdin=stdin)
        cuda = self.run(*command, "--device", device, stdin=stdin, **how)
        assert (cuda.returncode, cuda.stdout) == (cpu.returncode, cpu.stdout), \
            f"{' '.join(map(str, command))}: {cpu.stdout[:200]} became {cuda.stdout[:200]} {cuda.stderr[:500]}"
        if not self.real:
            assert self.report()["left"] == 0, f"{' '.join(map(str, command))}: {self.report()}"
            busy = self.report()["calls"] > OPENING
            assert busy == used, f"{' '.join(map(str, command))}: {self.report()}"
        return cuda.stdout

    def fails(self, *command, code=5, says=(), quiet=(), **how):
        r = self.run(*command, **how)
        text = r.stderr.decode()
        assert r.returncode == code, f"{' '.join(map(str, command))}: exit {r.returncode}: {text}"
        assert not r.stdout, f"{' '.join(map(str, command))}: wrote {r.stdout[:100]}"
        for word in says:
            assert word in text, f"{' '.join(map(str, command))}: expected '{word}' in {text}"


def npy(path, rows, kind="<f4"):
    """A .npy file of a list of rows."""
    code = {"<f4": "f", "<f2": "e", "<f8": "d"}[kind]
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     b"".join(struct.pack(f"<{len(r)}{code}", *r) for r in rows))
    return path


def random_rows(n, d, seed=1):
    r = random.Random(seed)
    return [[r.gauss(0, 1) for _ in range(d)] for _ in range(n)]


def q8_0(path, n, d, seed=5):
    """A GGUF file of random blocks of q8_0, written by struct: a row of zeros, scales that are no numbers, equal rows."""
    r = random.Random(seed)
    rows = []
    for _ in range(n):
        rows.append(b"".join(struct.pack("<e", r.gauss(0, 0.01)) + r.randbytes(32) for _ in range(d // 32)))
    rows[8] = bytes(len(rows[8]))
    rows[9] = struct.pack("<e", float("inf")) + rows[9][2:]
    rows[10] = struct.pack("<e", float("nan")) + rows[10][2:]
    rows[21:40] = [rows[20]] * 19
    name = b"token_embd.weight"
    head = struct.pack("<4sIQQ", b"GGUF", 3, 1, 0) + struct.pack("<Q", len(name)) + name
    head += struct.pack("<IQQIQ", 2, d, n, 8, 0)
    path.write_bytes(head + bytes(-len(head) % 32) + b"".join(rows))
    return "-t", path


# ---------------------------------------------------------------- what the commands give

def ways(p):
    """The table on the device as a whole, and a part at a time."""
    return [""] if p.real else ["", "free=0"]


def lookup_same(p):
    """lookup gives the CPU's bytes: of every type and width, in every order, pooled."""
    ids = " ".join(str((i * 7919) % 900) for i in range(700)).encode()
    for kind in ("<f4", "<f2", "<f8"):
        for d in (1, 7, 64):
            table = npy(p.where / "t.npy", random_rows(900, d), kind)
            for fake in ways(p):
                p.same("lookup", "-t", table, "-O", "raw", stdin=ids, fake=fake)
    table = npy(p.where / "t.npy", random_rows(900, 12))
    for more in (["--dtype", "bf16"], ["--normalize"], ["--pool", "mean"], ["--dtype", "f8_e4m3"]):
        for fake in ways(p):
            p.same("lookup", "-t", table, "-O", "raw", *more, stdin=ids, fake=fake)
    p.same("lookup", "-q", "cat", "dog")
    p.same("lookup", "-t", table, stdin=b"0\n899\n0\n")


def pool_same(p):
    """lookup --pool gives the CPU's vectors: of lines long and short, empty and split over blocks, with weights."""
    r = random.Random(3)
    lines = [[r.randrange(900) for _ in range(n)] for n in (1, 0, 5, 700, 0, 2, 300, 1, 1)]
    ids = "\n".join(" ".join(map(str, line)) for line in lines).encode() + b"\n"
    weights = npy(p.where / "w.npy", [[r.random() for _ in range(900)]], "<f8")
    for kind in ("<f4", "<f2", "<f8"):
        table = npy(p.where / "t.npy", random_rows(900, 33), kind)
        for fake in ways(p):
            for how in ("sum", "mean", "max", "first"):
                p.same("lookup", "-t", table, "--pool", how, "--dtype", "f64", stdin=ids, fake=fake, used=how != "first")
            p.same("lookup", "-t", table, "--pool", "mean", "--weights", weights, stdin=ids, fake=fake)


def pool_in_parts(p):
    """Rows of a sequence that a device has no room for at once are pooled a part at a time."""
    if p.real:
        return
    table = npy(p.where / "t.npy", random_rows(900, 24))        # 128 bytes a row there
    line = " ".join(str(i * 7919 % 900) for i in range(5000)).encode() + b"\n1 2\n"
    for how in ("mean", "max"):
        p.same("lookup", "-t", table, "--pool", how, "--dtype", "f64", stdin=line, fake="free=0,memory=300000")


def positions_same(p):
    """lookup gives the CPU's bytes of rows with learned positions added, and refuses more than that."""
    ids = "\n".join(" ".join(str((i * j) % 900) for j in range(60)) for i in (1, 7, 11)).encode()
    for dtype in ("f32", "f16", "bf16"):
        made = p.run("init", "-q", "900", "37", "--positions", "64", "--dtype", dtype, "-o", "model/", "--force")
        assert made.returncode == 0, made.stderr
        for fake in ways(p):
            p.same("lookup", "-t", "model", "--input-layer", "-O", "raw", stdin=ids, fake=fake)
            p.same("lookup", "-t", "model", "--positions", "learned", "--start", "3", "-O", "raw", "--dtype", "f64",
                   stdin=ids, fake=fake)
    p.fails("lookup", "-t", "model", "--scale", "2", "1", "--device", "cuda", code=2, says=["has no part in it"])
    r = p.run("lookup", "-t", "model", "--input-layer", "--device", "cuda", stdin=b" 1" * 65)
    assert r.returncode == 3 and b"position 64" in r.stderr, r.stderr


def q8_0_same(p):
    """Rows of q8_0, which lie on a device as codes and scales, give the CPU's bytes in lookup, pooled and in every search."""
    ids = " ".join(str((i * 7919) % 700) for i in range(500)).encode()
    lines = b"1 2 3\n\n9\n" + ids + b"\n699\n"
    for d, metrics in ((32, ("cosine", "dot", "euclidean")), (672, ("cosine",))):
        table = q8_0(p.where / "t.gguf", 700, d)
        for fake in ways(p):
            for dtype in ("f32", "f16", "bf16", "f64"):
                p.same("lookup", *table, "-O", "raw", "--dtype", dtype, stdin=ids, fake=fake)
            for how in ("sum", "mean", "max"):
                p.same("lookup", *table, "--pool", how, "--dtype", "f64", stdin=lines, fake=fake)
            for queries in ("0", "0..4", "40..53", "40..80"):    # one, four and one, tiles, tensor cores
                for metric in metrics:
                    p.same("similar", "-q", *table, "--id", queries, "-k", "3", "--metric", metric, "--digits", "17",
                           fake=fake)


def q8_0_takes_its_bytes(p):
    """A table of q8_0 takes 34 bytes for 32 numbers on the device: one of 1.1 MB fits where f32 of it, 4.2 MB, does not."""
    if p.real:
        return
    table = q8_0(p.where / "t.gguf", 1000, 1024)
    room = 1000 * 1024 * 34 // 32
    for free, says in ((room * 4 // 3 + 2, "cuda:0 has rows 0..999"), (room * 4 // 3 - 2, "a part at a time")):
        r = p.run("similar", "-v", *table, "--id", "0", "-k", "1", "--device", "cuda", fake=f"free={free}")
        assert r.returncode == 0 and says in r.stderr.decode(), r.stderr.decode()


def lookup_matches_numbers(p):
    """lookup by a device gives the rows that were written, by struct and not by embtool."""
    rows = random_rows(600, 5)
    table = npy(p.where / "t.npy", rows)
    r = p.run("lookup", "-t", table, "-O", "raw", "--device", "cuda", "599", "0", "7")
    assert r.stdout == b"".join(struct.pack("<5f", *rows[i]) for i in (599, 0, 7)), r.stderr


def similar_same(p):
    """similar gives the CPU's hits and scores: of every metric, one query and many, ties and zero rows."""
    rows = random_rows(900, 24)
    rows[5], rows[6], rows[700] = rows[4], rows[4], [0.0] * 24
    tables = [npy(p.where / f"{k[1:]}.npy", rows, k) for k in ("<f4", "<f2", "<f8")]
    for table in tables:
        for metric in ("cosine", "dot", "euclidean"):
            for fake in ways(p):
                p.same("similar", "-q", "-t", table, "#4", "-k", "3", "--metric", metric, "--digits", "17", fake=fake)
                p.same("similar", "-q", "-t", table, "--id", "0..39", "-k", "9", "--metric", metric, "--digits", "17",
                       fake=fake)
    for more in (["--farthest"], ["--center"], ["--restrict", "650"], ["--min-score", "0.3"], ["--include-query"],
                 ["--exclude", "#10"], ["--json"]):
        p.same("similar", "-q", "-t", tables[0], "--id", "0..19", "-k", "4", *more)
    p.same("similar", "-q", "-t", tables[1], "--all", "-k", "2", "--limit", "600")
    p.same("similar", "-q", "--limit", "3000", "cat", "dog", "--match", "c*")


def similar_matches_sums(p):
    """similar by a device gives the nearest rows by sums written out here."""
    rows = random_rows(800, 16)
    table = npy(p.where / "t.npy", rows, "<f8")
    r = p.run("similar", "-q", "-t", table, "#3", "-k", "5", "--metric", "dot", "--device", "cuda")
    dots = sorted(range(800), key=lambda i: (-sum(a * b for a, b in zip(rows[i], rows[3])), i))
    found = [int(line.split("\t")[-2].lstrip("#")) for line in r.stdout.decode().splitlines()]
    assert found == [i for i in dots if i != 3][:5], (found, r.stderr)


def logits_same(p):
    """logits gives the CPU's highest, of a table of quantised blocks too."""
    hidden = npy(p.where / "h.npy", random_rows(20, 64, seed=2))
    table = npy(p.where / "t.npy", random_rows(900, 64))
    for fake in ways(p):
        p.same("logits", hidden, "-q", "-t", table, "-k", "4", "--digits", "17", fake=fake)
    made = p.run("convert", table, "-o", "t.gguf", "--dtype", "q8_0", "--force")
    assert made.returncode == 0, made.stderr
    p.same("logits", hidden, "-q", "-t", "t.gguf", "-k", "4", "--digits", "17")


def init_same(p):
    """init writes the CPU's bytes, of every type and distribution."""
    for dtype in ("f32", "f16", "bf16", "f64"):
        for dist in ("normal", "uniform", "truncated"):
            made = []
            for device in ("cpu", "cuda"):
                r = p.run("init", "-q", "130", "37", "--dtype", dtype, "--dist", dist, "--seed", "7", "-o", "x.raw",
                          "--force", "--device", device)
                assert r.returncode == 0, r.stderr
                made.append((p.where / "x.raw").read_bytes())
            assert made[0] == made[1] and len(made[0]) > 9000, f"{dtype} {dist}"


def library_same(p):
    """What no command reaches: gradients, gathers and searches through emb.h."""
    plugins = p.build / "lib/embtool" if p.real else p.gpu / "plugin"
    for fake in ways(p)[:1 if p.slow > 1 else 2]:       # several_library has the other
        r = p.run(str(p.gpu / "ops_main"), plugins, p.where / "raw", fake=fake)
        assert r.returncode == 0, (r.stdout + r.stderr).decode()
        assert p.real or p.report()["left"] == 0, p.report()


# ---------------------------------------------------------------- what goes wrong

def no_driver(p):
    """Without a driver `cuda` says what is missing, exit 5; `auto` says nothing."""
    nowhere = p.where / "nowhere"
    p.fails("lookup", "cat", "--device", "cuda", driver=nowhere, says=["--device cuda", "libcuda.so.1"])
    p.fails("init", "9", "9", "-o", "y.raw", "--device", "cuda:2", driver=nowhere, says=["no NVIDIA driver"])
    assert not (p.where / "y.raw").exists()
    r = p.run("similar", "-q", "cat", "-k", "1", "--device", "auto", driver=nowhere)
    assert r.returncode == 0 and not r.stderr and r.stdout, r.stderr


def no_plugin(p):
    """Without the plugin `cuda` says where it was looked for, exit 5; `auto` says nothing."""
    alone = p.where / "alone"
    alone.write_bytes(p.tool.read_bytes())
    alone.chmod(0o755)
    table = npy(p.where / "t.npy", random_rows(9, 3))
    empty = p.where / "empty"
    p.fails(str(alone), "lookup", "-t", table, "1", "--device", "cuda", plugin=empty,
            says=["the CUDA plugin is not there", "libemb-cuda.so was looked for in"])
    r = p.run(str(alone), "lookup", "-q", "-t", table, "1", "--device", "auto", plugin=empty)
    assert r.returncode == 0 and not r.stderr and r.stdout, r.stderr


def wrong_device(p):
    """A device that is not there or too old, a driver without one, names that mean none."""
    p.fails("lookup", "cat", "--device", "cuda:1", says=["there is no device 1", "0..0"])
    p.fails("lookup", "cat", "--device", "cuda", fake="devices=0", says=["no CUDA-capable device"])
    p.fails("lookup", "cat", "--device", "cuda", fake="major=7", says=["compute capability 7.0", "8.0"])
    for name in ("cuda:", "cuda:x", "cuda:-1", "gpu", "CUDA", "cuda:99999", "cuda:0,", "cuda:,1", "cuda:0,,1", "cuda:0,x",
                 "cuda:ALL", "cuda:" + ",".join(map(str, range(65)))):
        p.fails("lookup", "cat", "--device", name, code=2, says=["expected cpu, cuda, cuda:N, cuda:N,M,..., cuda:all or auto"])
    r = p.run("lookup", "-q", "cat", "--device", "cuda:1", fake="devices=2")
    assert r.returncode == 0, r.stderr


def wrong_plugin(p):
    """A plugin of another interface, and a file that is none."""
    for name, says in (("other_abi", "is of another version of embtool"), ("stranger", "embi_cuda_plugin")):
        p.fails("lookup", "cat", "--device", "cuda", plugin=p.gpu / name, says=[says])


def no_part(p):
    """What the CPU alone does is refused with a device, and not with `auto`."""
    hidden = npy(p.where / "h.npy", random_rows(2, 3))
    table = npy(p.where / "t.npy", random_rows(9, 3))
    for command in (["similar", "--pairs", "cat", "dog"], ["similar", "--matrix", "cat", "dog"],
                    ["similar", "--method", "mul", "cat"], ["similar", "--backend", "native", "cat"],
                    ["lookup", "cat", "--scale", "2"], ["logits", hidden, "-t", table, "-o", "l.npy"]):
        p.fails(*command, "--device", "cuda", code=2, says=["has no part in it"])
        r = p.run(*command, "--device", "auto")
        assert r.returncode == 0, r.stderr
        (p.where / "l.npy").unlink(missing_ok=True)


def out_of_memory(p):
    """A device with no room says how much it lacks, exit 5, and nothing is written."""
    table = npy(p.where / "t.npy", random_rows(900, 24))
    p.fails("similar", "-t", table, "#1", "--device", "cuda", fake="memory=20000",
            says=["the device has no memory for", "bytes"])
    p.fails("init", "900", "24", "-o", "z.raw", "--device", "cuda", fake="memory=1000", says=["no memory"])
    assert not (p.where / "z.raw").exists()


def every_call_fails(p):
    """Whichever call of the driver fails: exit 5 with its name and the driver's words, nothing written, nothing left."""
    table = npy(p.where / "t.npy", random_rows(600, 9))
    for command in (["similar", "-q", "-t", table, "--id", "0..16", "-k", "2"],
                    ["lookup", "-q", "-t", table, "-O", "raw", "5", "599"],
                    ["init", "-q", "60", "9", "-o", "w.raw"]):
        for fake in ("", "free=0"):
            p.run(*command, "--device", "cuda", fake=fake)
            (p.where / "w.raw").unlink(missing_ok=True)
            calls = p.report()["calls"]
            few = 8 if p.slow > 1 else 1        # every one of those that open the device; some of the others
            for n in [*range(1, min(calls, 90) + 1, few), *range(91, calls + 1, max(1, few * calls // 60))]:
                words = ",".join(filter(None, [fake, f"fail={n}"]))
                r = p.run(*command, "--device", "cuda", fake=words)
                text = r.stderr.decode()
                assert r.returncode in (0, 5), f"call {n} of {calls}: exit {r.returncode}: {text}"
                assert r.returncode == 0 or re.search(r"(cu[A-Z]\w+|embi_\w+): unknown error \(CUDA_ERROR_UNKNOWN, 999\)",
                                                      text), f"call {n}: {text}"
                assert r.returncode == 0 or (not r.stdout and not (p.where / "w.raw").exists()), f"call {n}"
                # The last calls let a table go, when all is done: what they leave goes with the context.
                assert r.returncode == 0 or p.report()["left"] == 0, f"call {n} of {calls}: {p.report()}"
                (p.where / "w.raw").unlink(missing_ok=True)


def every_nth_fails(p, device, *words):
    """Through emb.h, where every so many-th call fails all the time: every function that fails says so, and leaves nothing."""
    r = p.run(str(p.gpu / "ops_main"), p.gpu / "plugin", p.where / "raw", device, "may-fail", fake=",".join(words))
    text = (r.stdout + r.stderr).decode()
    assert r.returncode == 0 and p.report()["left"] == 0, f"{words}: {text} {p.report()}"
    assert p.report()["failed"] > 40, f"{words}: {p.report()}"


def library_calls_fail(p):
    """The same through emb.h, many calls in a run: every function that fails says so."""
    for n in (97,) if p.slow > 1 else (89, 149):        # the first of them when the device is open
        every_nth_fails(p, "cuda", f"every={n}")


def auto_weighs(p):
    """`auto` says what it weighed, and leaves a small search to the CPU."""
    r = p.run("similar", "-v", "cat", "-k", "1", "--device", "auto")
    text = r.stderr.decode()
    assert re.search(r"search: a device would take about \d+ ms, this CPU \d+ ms", text), text
    assert "products by" in text and "cuda:" not in text, text


def auto_takes(p):
    """`auto` takes a device that is open where that pays, and the CPU goes on where it fails: the same hits, and no error."""
    def run(words):
        r = p.run(str(p.gpu / "ops_main"), p.gpu / "plugin", p.where / "raw", "auto", *(["may-fail"] if words else []), fake=words)
        text = (r.stdout + r.stderr).decode()
        assert r.returncode == 0 and p.report()["left"] == 0, f"{words}: {text} {p.report()}"
        return "the CPU went on" in text
    assert not run("") and p.report()["kernels@0"] > 0, p.report()
    calls = p.report()["calls"]
    assert run("memory=20000")
    assert any([run(f"fail={n}") for n in range(5, calls, max(1, calls // 16))])


def not_linked(p):
    """Neither the program nor the plugin names a CUDA library among those that it needs."""
    for path in (p.tool, p.build / "libemb.so", p.gpu / "plugin/libemb-cuda.so", p.build / "lib/embtool/libemb-cuda.so"):
        if path.exists():
            r = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True)
            assert r.returncode == 0 and not re.search("NEEDED.*cuda", r.stdout), r.stdout + r.stderr


def fatbin_entries(data):
    """(is it PTX, which architecture) of each entry of a fat binary: kind and number stand in its header."""
    magic, _, head, size = struct.unpack_from("<IHHQ", data, 0)
    assert magic == 0xBA55ED50 and head + size <= len(data), "no fat binary"
    at, found = head, []
    while at < head + size:
        kind, _, entry_head, entry_size = struct.unpack_from("<HHIQ", data, at)
        found.append((kind == 1, struct.unpack_from("<I", data, at + 28)[0]))
        at += entry_head + entry_size
    return found


def plugin_carries_kernels(p):
    """The plugin that was built carries code for each architecture that nvcc knows of 8.0 to 10.0, and PTX for later ones."""
    fatbin, plugin = p.build / "lib/cuda/kernels.fatbin", p.build / "lib/embtool/libemb-cuda.so"
    if not plugin.exists() or not shutil.which("nvcc"):
        raise Skip("the plugin was not built: there is no nvcc")
    known = subprocess.run(["nvcc", "--list-gpu-code"], capture_output=True, text=True, check=True).stdout.split()
    sms = [sm for sm in (80, 86, 89, 90, 100) if f"sm_{sm}" in known]
    found = fatbin_entries(fatbin.read_bytes())
    assert sorted(found) == sorted([(True, sms[0])] + [(False, sm) for sm in sms]), found
    assert fatbin.read_bytes() in plugin.read_bytes(), "the plugin has other kernels"


CELLS = ("copy", "gather, rows of 128 bytes", "gather, rows of 1200 bytes", "products, 1 query, bf16", "search, 1 query, bf16",
         "products, 20 queries, bf16", "scatter-add, f32, d 300", "pinned copy to the device", "gather, table on the host")


def bench_runs(p):
    """The benchmark of `make bench-gpu` has all its cells, and says so where a call fails or there is no device."""
    bench = str(p.gpu / "small/bench_main")
    shape = ("100", "64", "20")
    r = p.run(bench, *shape)
    text = r.stdout.decode()
    assert r.returncode == 0 and "failed" not in text and p.report()["left"] == 0, text + r.stderr.decode()
    for cell in (*CELLS, "products, 1 query, q8_0", "products, 20 queries, q8_0", "pinned copy from the device"):
        assert re.search(f"^{cell} +[0-9.]+ (GB/s|TFLOP/s) +[0-9.]+ ms", text, re.M), f"{cell}: {text}"
    # 4 SMs of 1.5 GHz with 2048 products a cycle; aims stand where a cell has one
    assert "tensor cores: 25 TFLOP/s, of 4 SMs at 1500 MHz" in text, text
    for cell, of, aim in (("gather, rows of 128 bytes", "the copy", "0.85"), ("gather, rows of 1200 bytes", "the copy", "0.60"),
                          ("products, 1 query, bf16", "the copy", "0.85"), ("scatter-add, f32, d 300", "the copy", "0.60"),
                          ("products, 20 queries, bf16", "the peak, each twice", "0.60"),
                          ("gather, table on the host", "the copy to the device", "0.80")):
        assert re.search(rf"^{cell} .* [0-9.]+ of {of} \(aim {aim}\)$", text, re.M), f"{cell}: {text}"
    calls = p.report()["calls"]
    for n in range(OPENING, calls - OPENING, calls // (3 if p.slow > 1 else 12)):
        r = p.run(bench, *shape, fake=f"fail={n}")
        assert r.returncode == 1 and re.search(rb"failed: (cu|embi_)\w+: unknown error", r.stdout) and p.report()["left"] == 0, r.stdout.decode()
    r = p.run(bench, *shape, fake="devices=0")
    assert r.returncode == 0 and r.stdout.startswith(b"skipped: no device"), r.stdout.decode()
    assert p.run(bench, "100", "65").returncode == 2


def bench_torch_runs(p):
    """torch's side of it runs, on this CPU, or says what is missing."""
    r = subprocess.run([sys.executable, str(ROOT / "tests/gpu/bench_torch.py"), "100", "64", "20", "--device", "cpu"],
                       capture_output=True, text=True, timeout=LIMIT_S * p.slow)
    assert r.returncode == 0, r.stderr
    for cell in CELLS if not r.stdout.startswith("missing: torch") else ():
        assert re.search(f"^torch: {cell} +[0-9.]+ (GB/s|TFLOP/s) +[0-9.]+ ms", r.stdout, re.M), f"{cell}: {r.stdout}"


# ---------------------------------------------------------------- several devices

THREE = "devices=3"
SHARING = (THREE,                                           # what each holds: all of its rows,
           "devices=3,free=0",                              # a part at a time,
           "devices=3,free@1=9000",                         # one fewer than the others,
           "devices=3,free@1=0",                            # one none,
           "devices=3,free=0,free@1=150000")                # and two a part at a time, where one has room for too few


def by_several(p, *command, device="cuda:0,1,2", idle=(), fake=THREE, **how):
    """The command by several devices and by the CPU; all but the idle ones have something to do."""
    assert p.same(*command, device=device, fake=fake, **how), f"{command} has nothing to say"
    for d in range(3):
        busy = p.report()[f"kernels@{d}"] > 0
        assert busy == (d not in idle), f"{' '.join(map(str, command))}: device {d} of {device}, {fake}: {p.report()}"


def several_lookup(p):
    """lookup gives the CPU's bytes where devices share the rows: in every order, pooled, with positions."""
    table = npy(p.where / "t.npy", random_rows(900, 21))
    r = random.Random(5)
    ids = "\n".join(" ".join(str(r.randrange(900)) for _ in range(n)) for n in (1, 300, 0, 2, 90)).encode() + b"\n"
    some = ids.replace(b"\n", b" ")
    for fake in SHARING:
        idle = [1] if fake == "devices=3,free@1=0" else []
        by_several(p, "lookup", "-t", table, "-O", "raw", stdin=some, fake=fake, idle=idle)
        for how in ("sum", "mean", "max"):
            by_several(p, "lookup", "-t", table, "--pool", how, "--dtype", "f64", stdin=ids, fake=fake, idle=idle)
    weights = npy(p.where / "w.npy", [[r.random() for _ in range(900)]], "<f8")
    by_several(p, "lookup", "-t", table, "--pool", "mean", "--weights", weights, stdin=ids)
    by_several(p, "lookup", "-t", table, "-O", "raw", "--dtype", "bf16", stdin=some, device="cuda:2,0", idle=[1])
    by_several(p, "lookup", "-t", table, "-O", "raw", stdin=b"899\n", device="cuda:all", idle=[0, 1])
    by_several(p, "lookup", "-t", table, "-O", "raw", stdin=b"899\n", device="cuda:2,1,0", idle=[1, 2])
    made = p.run("init", "-q", "900", "37", "--positions", "64", "--dtype", "bf16", "-o", "model/", "--force")
    assert made.returncode == 0, made.stderr
    short = "\n".join(" ".join(str((i * j) % 900) for j in range(60)) for i in (1, 7, 11)).encode()
    for fake in (THREE, "devices=3,free=0"):
        by_several(p, "lookup", "-t", "model", "--input-layer", "-O", "raw", stdin=short, fake=fake)


def several_search(p):
    """similar and logits give the CPU's hits and scores where devices share the rows, ties and odd rows among them."""
    rows = random_rows(900, 24)
    for i in (5, 6, 303, 304, 607, 608, 899):      # the same on both sides of every cut
        rows[i] = rows[4]
    rows[700] = [0.0] * 24
    half = npy(p.where / "h.npy", rows, "<f2")
    rows[310] = [1e38] * 24
    table = npy(p.where / "t.npy", rows)
    for fake in SHARING:
        for metric in ("cosine", "dot", "euclidean"):
            idle = [1] if fake == "devices=3,free@1=0" else []
            by_several(p, "similar", "-q", "-t", table, "--id", "4..6", "-k", "9", "--metric", metric, "--digits", "17",
                       fake=fake, idle=idle)
    for device in ("cuda:0,1,2", "cuda:2,0,1", "cuda:all"):
        by_several(p, "similar", "-q", "-t", half, "--id", "0..19", "-k", "5", "--digits", "17", device=device)
    by_several(p, "similar", "-q", "-t", half, "--id", "0..19", "-k", "4", "--center")
    for more in (["--farthest"], ["--restrict", "650"], ["--exclude", "#305"], ["--include-query"]):
        by_several(p, "similar", "-q", "-t", table, "--id", "0..19", "-k", "4", *more)
    by_several(p, "similar", "-q", "-t", table, "--id", "0..19", "-k", "4", "--restrict", "600", idle=[2])
    by_several(p, "similar", "-q", "-t", table, "--id", "0..3", "-k", "200",    # more than one has rows
               fake="devices=3,free@1=17067")
    by_several(p, "similar", "-q", "--limit", "3000", "cat", "dog", "--match", "c*")
    hidden = npy(p.where / "hidden.npy", random_rows(20, 24, seed=2))
    by_several(p, "logits", hidden, "-q", "-t", table, "-k", "4", "--digits", "17")


def several_q8_0(p):
    """Tables of q8_0 give the CPU's bytes where devices share the rows: looked up, pooled and searched."""
    table = q8_0(p.where / "t.gguf", 700, 96)        # 128 bytes a row there: rows 0..239, 240..471 and 472..699
    r = random.Random(6)
    lines = "\n".join(" ".join(str(r.randrange(700)) for _ in range(n)) for n in (200, 0, 1, 90)).encode() + b"\n"
    # as SHARING has it; in the last one three quarters of 60000 bytes hold 351 rows, the second device's range and not all
    for fake in (*SHARING[:4], "devices=3,free=0,free@1=60000"):
        idle = [1] if fake == "devices=3,free@1=0" else []
        for dtype in ("f32", "f16"):
            by_several(p, "lookup", *table, "-O", "raw", "--dtype", dtype, stdin=lines.replace(b"\n", b" "), fake=fake, idle=idle)
        for how in ("sum", "mean", "max"):
            by_several(p, "lookup", *table, "--pool", how, "--dtype", "f64", stdin=lines, fake=fake, idle=idle)
        for queries in ("0", "236..240", "455..475"):           # one, four and one, tensor cores
            for metric in ("cosine", "euclidean"):
                by_several(p, "similar", "-q", *table, "--id", queries, "-k", "3", "--metric", metric, "--digits", "17",
                           fake=fake, idle=idle)


def several_init(p):
    """init writes the CPU's bytes where devices share the rows."""
    for rows in (130, 2):
        made = []
        for device in ("cpu", "cuda:0,1,2"):
            r = p.run("init", "-q", rows, "37", "--dtype", "bf16", "--seed", "7", "-o", "x.raw", "--force", "--device",
                      device, fake=THREE)
            assert r.returncode == 0, r.stderr
            made.append((p.where / "x.raw").read_bytes())
        assert made[0] == made[1] and len(made[0]) > rows * 37, rows
        assert p.report()["left"] == 0, p.report()


def several_library(p):
    """Gradients, gathers and searches through emb.h, by devices that share the rows."""
    for fake in ("devices=3,free=0",) if p.slow > 1 else (THREE, "devices=3,free=0"):
        r = p.run(str(p.gpu / "ops_main"), p.gpu / "plugin", p.where / "raw", "cuda:0,1,2", fake=fake)
        assert r.returncode == 0, (r.stdout + r.stderr).decode()
        assert p.report()["left"] == 0, p.report()
        for d in range(3):
            assert p.report()[f"kernels@{d}"] > 100, p.report()


def several_at_once(p):
    """Devices work at the same time: the first kernel of each is held back until all have come to theirs."""
    table = npy(p.where / "t.npy", random_rows(900, 24))
    ids = " ".join(map(str, range(0, 900, 7))).encode()
    for fake in ("devices=3,meet=3", "devices=3,meet=3,free=0"):
        for command in (["lookup", "-t", table, "-O", "raw"], ["similar", "-q", "-t", table, "--id", "0..9", "-k", "2"]):
            by_several(p, *command, stdin=ids, fake=fake)
            assert p.report()["alone"] == 0, f"{command}, {fake}: {p.report()}"
    p.run("init", "-q", "130", "37", "-o", "x.raw", "--force", "--device", "cuda:all", fake="devices=3,meet=3")
    assert p.report()["alone"] == 0, p.report()


def several_shares(p):
    """-v says which device has which rows: even ranges, unless one has less room and the others have more."""
    table = npy(p.where / "t.npy", random_rows(900, 24))
    # 900 rows are 113 times 8, the last in part; a row of 96 bytes takes 128, and three quarters of 17067 bytes hold 100.
    even = [(0, 303), (304, 607), (608, 899)]
    for fake, says in (("", [f"cuda:{d} has rows {a}..{b}" for d, (a, b) in enumerate(even)]),
                       ("free@1=17067", ["cuda:0 has rows 0..407", "cuda:1 has rows 408..503", "cuda:2 has rows 504..899"]),
                       ("free=0,free@2=17067", [f"cuda:{d} has too little room for rows {a}..{b}: they are copied a part"
                                                for d, (a, b) in enumerate(even)])):
        r = p.run("similar", "-v", "-t", table, "#1", "-k", "1", "--device", "cuda:all", fake=f"{THREE},{fake}")
        for words in (*says, "by a device, cuda:0,1,2", "cuda:1 is Fake 1, compute capability 9.0"):
            assert words in r.stderr.decode(), f"expected {words}: {r.stderr.decode()}"


def several_wrong(p):
    """Of several devices one is not there, too old, or without memory: exit 5, and the message says which."""
    table = npy(p.where / "t.npy", random_rows(900, 24))
    command = ["similar", "-t", table, "#1", "-k", "1", "--device"]
    p.fails(*command, "cuda:0,3", fake=THREE, says=["device 3: there is no device 3", "0..2"])
    p.fails(*command, "cuda:0,1", fake="devices=3,major@1=7", says=["device 1: Fake 1 is of compute capability 7.0"])
    p.fails(*command, "cuda:all", fake="devices=3,major=7", says=["none of 3 devices will do", "Fake 0"])
    p.fails(*command, "cuda:all", fake="devices=0", says=["no CUDA-capable device"])
    p.fails(*command, "cuda:all", driver=p.where / "nowhere", says=["no NVIDIA driver"])
    p.fails(*command, "cuda:all", fake="devices=3,memory@2=20000", says=["device 2: the device has no memory for"])
    p.fails(*command, "cuda:1,0,1", fake=THREE, code=2, says=["device 1 is named twice"])
    assert p.report_or_none() is None, "a driver for a name that means nothing"
    old = "devices=3,major@1=7"
    p.same("similar", "-q", "-t", table, "--id", "0..9", "-k", "3", device="cuda:all", fake=old)
    assert [p.report()[f"kernels@{d}"] > 0 for d in range(3)] == [True, False, True], p.report()
    r = p.run("lookup", "-v", "-t", table, "1", "899", "--device", "cuda:all", fake=old)
    for words in ("cuda:1 is left out: Fake 1 is of compute capability 7.0", "cuda:0 has rows 0..455",
                  "cuda:2 has rows 456..899"):
        assert words in r.stderr.decode(), r.stderr.decode()


def several_fail(p):
    """Whichever call fails in the context of one device of three: exit 5, its number, nothing written, nothing left."""
    table = npy(p.where / "t.npy", random_rows(600, 9))
    for command in (["similar", "-q", "-t", table, "--id", "0..16", "-k", "2"],
                    ["lookup", "-q", "-t", table, "-O", "raw", "5", "300", "599"],
                    ["init", "-q", "60", "9", "-o", "w.raw"]):
        for fake in (THREE, "devices=3,free=0"):
            p.run(*command, "--device", "cuda:all", fake=fake)
            (p.where / "w.raw").unlink(missing_ok=True)
            calls = p.report()["calls@1"]
            for n in range(1, calls + 1, max(1, calls // (8 if p.slow > 1 else 24))):
                r = p.run(*command, "--device", "cuda:all", fake=f"{fake},fail@1={n}")
                text = r.stderr.decode()
                assert r.returncode in (0, 5), f"call {n} of {calls}: exit {r.returncode}: {text}"
                assert p.report()["left"] == 0 or r.returncode == 0, f"call {n} of {calls}: {p.report()}"
                assert r.returncode == 0 or re.search(r"cuda: device 1: cu[A-Z]\w+: unknown error|"
                                                      r"cuda: device 1: embi_\w+: unknown error", text), f"call {n}: {text}"
                assert r.returncode == 0 or (not r.stdout and not (p.where / "w.raw").exists()), f"call {n}"
                assert r.returncode == 5 or n > calls - 12, f"call {n} of {calls} failed, and nobody noticed"
                (p.where / "w.raw").unlink(missing_ok=True)
    every_nth_fails(p, "cuda:all", THREE, "every@1=97")


SAME = (lookup_same, pool_same, pool_in_parts, positions_same, q8_0_same, q8_0_takes_its_bytes, lookup_matches_numbers, similar_same, similar_matches_sums, logits_same, init_same, library_same)
WRONG = (no_driver, no_plugin, wrong_device, wrong_plugin, no_part, out_of_memory, every_call_fails, library_calls_fail,
         auto_weighs, auto_takes, bench_runs, bench_torch_runs, not_linked, plugin_carries_kernels)
SEVERAL = (several_lookup, several_search, several_q8_0, several_init, several_library, several_at_once, several_shares, several_wrong,
           several_fail)


def main():
    a = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    a.add_argument("--build", type=Path, required=True)
    a.add_argument("--slow", type=float, default=1)
    a.add_argument("--only", action="append")
    a.add_argument("--part", choices=("one", "several"), help="what is of one device, or of several: half of the checks each")
    a.add_argument("--real", action="store_true")
    o = a.parse_args()
    with tempfile.TemporaryDirectory(prefix="embtool-gpu-") as where:
        place = Place(o.build.resolve(), o.slow, o.real, where)
        if o.real:
            r = place.run("lookup", "-q", "cat", "--device", "cuda")
            if r.returncode == 5:
                print("skipped: no device: " + r.stderr.decode().strip())
                return 0
        checks = SAME if o.real else {"one": SAME + WRONG, "several": SEVERAL, None: SAME + WRONG + SEVERAL}[o.part]
        return run_checks(checks, o.only, lambda check: check(place))


if __name__ == "__main__":
    sys.exit(main())
