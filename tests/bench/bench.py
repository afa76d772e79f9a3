#!/usr/bin/env python3
"""Whole-process timings of embtool beside numpy doing the same, in turn, in one run.

    bench.py --embtool build/embtool [--python PYTHON_WITH_NUMPY] [--data DIR] [--scale 1.0] [--runs 7]

Every cell runs its programs one after the other, round by round, so that a machine whose speed drifts treats them
alike; it prints the minimum and median of each in milliseconds and the ratio of the medians. Files are read from a
warm page cache; outputs are deleted between runs, outside the time. Answers are compared before times are shown.
The limits that are promised (start-up, memory, one row of a huge file) are printed with what was measured.
"""
import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EMPTY_C = "int main(void) { return 0; }\n"


def npy_header(shape, descr="<f4"):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def once(command, cwd, fresh=()):
    """(milliseconds, stdout) of one run."""
    for f in fresh:
        Path(cwd, f).unlink(missing_ok=True)
    start = time.perf_counter()
    r = subprocess.run(command, cwd=cwd, capture_output=True)
    ms = (time.perf_counter() - start) * 1e3
    if r.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {r.returncode}: {r.stderr.decode(errors='replace')[:500]}")
    return ms, r.stdout


def peak_mb(command, cwd):
    """Largest resident set of one run, in MB."""
    pid = os.fork()
    if pid == 0:
        os.chdir(cwd)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.execv(command[0], [str(c) for c in command])
    _, status, usage = os.wait4(pid, 0)
    assert status == 0, command
    return usage.ru_maxrss / 1024


def cell(name, programs, cwd, runs, fresh=(), check=None):
    """programs: {name: command}; the first is embtool's."""
    times, answers = {p: [] for p in programs}, {}
    for _ in range(runs + 1):                                   # the first round warms up
        for p, command in programs.items():
            ms, answers[p] = once(command, cwd, fresh)
            times[p].append(ms)
            if check:
                answers[p] = check(answers[p])
    if len({str(a) for a in answers.values()}) > 1 and check:
        sys.exit(f"{name}: answers differ: {answers}")
    ours = statistics.median(times[next(iter(programs))][1:])
    for p, ms in times.items():
        ms = ms[1:]
        median = statistics.median(ms)
        print(f"{name:26} {p:10} min {min(ms):9.2f} ms  median {median:9.2f} ms  x{median / ours:.2f}", flush=True)
    return ours


def make_tables(d, scale, python):
    """G: 400000 x 300 normal f32 (.npy), and a million random ids (text and .npy)."""
    rows, ids = int(400000 * scale), int(1000000 * scale)
    code = f"""import numpy as np
r = np.random.default_rng(1)
with open('G.npy', 'wb') as f:
    f.write({npy_header((rows, 300))!r})
    for i in range(0, {rows}, 10000):
        f.write(r.standard_normal((min(10000, {rows} - i), 300), dtype=np.float32).tobytes())
ids = r.integers(0, {rows}, {ids})
np.save('ids.npy', ids)
open('ids.txt', 'w').write(' '.join(map(str, ids)) + '\\n')
"""
    if not Path(d, "ids.txt").exists():
        subprocess.run([python, "-c", code], cwd=d, check=True)
    with open(Path(d, "huge.npy"), "wb") as f:                  # sparse: 8.4 GiB that take no space
        head = npy_header((2200000, 1024))
        f.write(head)
        f.truncate(len(head) + 2200000 * 1024 * 4)


def make_many(d):
    """A model's header, of 400 tensors; the data are a hole."""
    header, at = {}, 0
    for i in range(400):
        n = 2 * (32000 * 4096 if i == 0 else 4096 * 4096)
        name = "model.embed_tokens.weight" if i == 0 else f"model.layers.{i // 9}.self_attn.part_{i % 9}.weight"
        header[name] = {"dtype": "BF16", "shape": [n // 8192, 4096], "data_offsets": [at, at + n]}
        at += n
    text = json.dumps(header).encode()
    with open(Path(d, "many.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        f.truncate(8 + len(text) + at)


NP_TAKE = """import numpy as np
np.save('out.npy', np.take(np.load('G.npy', mmap_mode='r'), np.load('ids.npy'), axis=0))"""
NP_SIMILAR = """import numpy as np
t = np.load('G.npy', mmap_mode='r'); q = t[123]
s = (t @ q) / (np.sqrt(np.einsum('ij,ij->i', t, t)) * np.linalg.norm(q)); s[123] = -2
best = np.argpartition(-s, 10)[:10]; print(*best[np.argsort(-s[best])])"""
NP_STATS = """import numpy as np
t = np.load('G.npy', mmap_mode='r'); n = np.sqrt(np.einsum('ij,ij->i', t, t))
print(t.mean(dtype=np.float64), t.std(dtype=np.float64), t.min(), t.max(), n.min(), np.median(n), n.max())"""


READ_WRITE = """b = memoryview(bytearray(1 << 20))
with open('G.raw', 'rb', buffering=0) as f, open('copy.raw', 'wb', buffering=0) as out:
    while n := f.readinto(b):
        out.write(b[:n // 2])"""  # the bytes of f32 -> bf16, and nothing done to them
PA_TEXT = """import numpy as np, pyarrow as pa, pyarrow.csv as c
t = c.read_csv('G.txt', c.ReadOptions(autogenerate_column_names=True),
               c.ParseOptions(delimiter=' ', quote_char=False),
               c.ConvertOptions(column_types={f'f{i}': pa.float32() for i in range(1, 301)}))
np.save('peer.npy', np.stack([t.column(i).to_numpy() for i in range(1, 301)], axis=1))"""
GENSIM_TEXT = """from gensim.models import KeyedVectors as K
import numpy as np; np.save('peer.npy', K.load_word2vec_format('G.txt', no_header=True).vectors)"""
GENSIM_BIN = """from gensim.models import KeyedVectors as K
print(K.load_word2vec_format('G.bin', binary=True).get_index('w7'))"""
GGUF_ROWS = """import sys, numpy as np
from gguf import GGUFReader, dequantize
t = next(t for t in GGUFReader(sys.argv[1]).tensors if t.name == 'token_embd.weight')
np.save('peer.npy', dequantize(t.data[np.load('some.npy')], t.tensor_type))"""


def has(python, module):
    """A peer that is not installed has no time: it is said to be missing, and its cell runs without it."""
    there = subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0
    if not there:
        print(f"{module}: missing")
    return there


def make_forms(d, tool, python):
    """G with tokens, in the forms that conversions begin with; as q8_0 in rows of 320; ids of rows of that."""
    if not Path(d, "some.npy").exists():
        code = """import numpy as np
n = len(np.load('G.npy', mmap_mode='r'))
open('words', 'w').write(''.join(f'w{i}\\n' for i in range(n)))
np.save('some.npy', np.random.default_rng(2).integers(0, n * 300 // 320, min(n, 8192)))"""
        subprocess.run([python, "-c", code], cwd=d, check=True)
    for to, more in (("G.txt", ["--vocab", "words"]), ("G.bin", ["--vocab", "words"]),
                     ("G.raw", [])):
        if not Path(d, to).exists():
            subprocess.run([tool, "convert", "G.npy", to, "-q", *more], cwd=d, check=True, stdout=subprocess.DEVNULL)
    if not Path(d, "Q.gguf").exists():  # a row is whole blocks of 32
        n = Path(d, "G.raw").stat().st_size // 1280
        subprocess.run([tool, "convert", "G.raw", "Q.gguf", "--format", "raw", "--shape", f"{n},320", "--input-dtype", "f32",
                        "--dtype", "q8_0", "-q"], cwd=d, check=True, stdout=subprocess.DEVNULL)


def conversions(d, tool, python, runs):
    """convert, and what begins with a file of another form, beside the libraries that read it."""
    make_forms(d, tool, python)
    libraries = {m: has(python, m) for m in ("pyarrow", "gensim", "gguf")}
    peers = {m: [python, "-c", code] for m, code in (("pyarrow", PA_TEXT), ("gensim", GENSIM_TEXT)) if libraries[m]}
    out = ["-q", "--force"]
    cell("GloVe text -> safetensors", {"embtool": [tool, "convert", "G.txt", "out.safetensors", *out], **peers}, d, runs,
         fresh=("out.safetensors", "out.vocab.txt", "peer.npy"))
    cell("f32 -> bf16", {"embtool": [tool, "convert", "G.raw", "out.raw", "--format", "raw", "--shape", ",300",
                                     "--input-dtype", "f32", "--dtype", "bf16", *out],
                         "read+write": [python, "-S", "-c", READ_WRITE]}, d, runs, fresh=("out.raw", "copy.raw"))
    cell("word2vec .bin, a token", {"embtool": [tool, "lookup", "-t", "G.bin", "w7"],
                                    **({"gensim": [python, "-c", GENSIM_BIN]} if libraries["gensim"] else {})}, d, runs)
    rows = {"gguf": [python, "-c", GGUF_ROWS, "Q.gguf"]} if libraries["gguf"] else {}
    cell("8192 rows of q8_0 -> npy", {"embtool": [tool, "lookup", "-t", "Q.gguf", "-i", "some.npy", "-o", "out.npy", "-q"],
                                      **rows}, d, runs, fresh=("out.npy", "peer.npy"))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--embtool", type=Path, required=True)
    p.add_argument("--python", default=None, help="a Python that has numpy (default: build/peers, else this one)")
    p.add_argument("--data", type=Path, help="keep the tables here (0.5 GB)")
    p.add_argument("--scale", type=float, default=1.0)
    p.add_argument("--runs", type=int, default=7)
    a = p.parse_args()
    tool = str(a.embtool.resolve())
    peers = Path(__file__).resolve().parents[2] / "build/peers/bin/python"
    python = os.path.abspath(a.python) if a.python and "/" in a.python else a.python or (str(peers) if peers.exists() else sys.executable)
    have_numpy = subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0
    if not have_numpy:
        sys.exit(f"bench: {python} has no numpy: run `make check-peers` once, or say --python")
    with tempfile.TemporaryDirectory() as tmp:
        d = a.data.resolve() if a.data else Path(tmp)
        d.mkdir(exist_ok=True)
        make_tables(d, a.scale, python)
        make_many(d)
        Path(d, "empty.c").write_text(EMPTY_C)
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "empty.c", "-o", "empty"], cwd=d, check=True)
        many = max(a.runs, 50)
        empty = cell("start an empty C program", {"empty": ["./empty"]}, d, many)
        cell("start", {"embtool": [tool, "--version"], "numpy": [python, "-c", "import numpy"]}, d, a.runs)
        start = cell("start, many runs", {"embtool": [tool, "--version"]}, d, many)
        cat = cell("similar cat (built in)", {"embtool": [tool, "similar", "-q", "cat"]}, d, many)
        cell("similar, G f32", {"embtool": [tool, "similar", "-t", "G.npy", "#123"], "numpy": [python, "-c", NP_SIMILAR]},
             d, a.runs, check=lambda out: [x.split(b"\t")[-2] for x in out.splitlines()] if b"\t" in out else out.split())
        cell("stats, G f32", {"embtool": [tool, "stats", "G.npy"], "numpy": [python, "-c", NP_STATS]}, d, a.runs)
        cell("lookup 1M ids.npy -> npy", {"embtool": [tool, "lookup", "-t", "G.npy", "-i", "ids.npy", "-o", "out.npy"],
             "numpy": [python, "-c", NP_TAKE]}, d, a.runs, fresh=("out.npy",))
        cell("lookup 1M ids.txt -> npy", {"embtool": [tool, "lookup", "-t", "G.npy", "-i", "ids.txt", "-o", "out.npy"],
             "numpy": [python, "-c", NP_TAKE.replace("np.load('ids.npy')", "np.loadtxt('ids.txt', dtype=np.int64)")]},
             d, a.runs, fresh=("out.npy",))
        conversions(d, tool, python, a.runs)
        shards = cell("ls, 400 tensors", {"embtool": [tool, "ls", "many.safetensors"]}, d, many)
        far = [tool, "lookup", "2199999", "-t", "huge.npy", "--label", "id"]
        one = cell("one row of 8.4 GiB", {"embtool": far}, d, many)
        print(f"\nstart-up above an empty program: {start - empty:.2f} ms (limit 1)")
        print(f"similar cat: {cat:.2f} ms (limit 8)")
        print(f"ls of 400 tensors: {shards:.2f} ms (limit 10)")
        print(f"one row of 8.4 GiB: {one:.2f} ms (limit 50), {peak_mb(far, d):.0f} MB (limit 100)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
