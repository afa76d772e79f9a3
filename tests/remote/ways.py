"""Tables on a server that behaves: every format and command, what is asked of the server, and the ways to it."""
import random
import shutil
import struct
from pathlib import Path

import far
from far import HEAD, ROWS, TABLE, folder, lookup, row, run, same
from server import Server, files, reply

DATA = Path(__file__).resolve().parent.parent / "data/golden"


def sent(log, body):
    """Bytes that the requests asked for."""
    return sum(min(q.range[1], len(body) - 1) - q.range[0] + 1 if q.range else len(body) for q in log)


def requests_of_a_lookup():
    """Four rows: one request for the header, one for each block of 4 KiB that holds a row, and none for the rest."""
    big = far.safetensors({"embedding.weight": far.tensor([[float(i)] * 64 for i in range(20000)])})   # 5 MB
    with Server(lambda q: files(q, big)) as s:
        r = run("lookup", "-t", f"{s.url}/m.safetensors", "-O", "raw", 3, 9999, 15000, 19999)
        assert r.stdout == b"".join(struct.pack("<64f", *[float(i)] * 64) for i in (3, 9999, 15000, 19999)), r
        assert len(s.log) == 4, [q.headers.get("range") for q in s.log]     # row 3 is in the head
        assert sent(s.log, big) <= HEAD + 3 * 2 * 4096, sent(s.log, big)
        assert s.log[0].headers["range"] == f"bytes=0-{HEAD - 1}" and s.log[0].headers["accept-encoding"] == "identity"


def header_of_gguf():
    """A GGUF file: its header, tokens included, and the rows."""
    with folder() as d:
        Path(d, "t.safetensors").write_bytes(far.safetensors({"embedding.weight": far.tensor([[float(i)] * 64 for i in range(20000)])}))
        Path(d, "v.txt").write_text("".join(f"w{i}\n" for i in range(20000)))
        r = run("convert", "t.safetensors", "t.gguf", "--vocab", "v.txt", cwd=d)
        assert r.returncode == 0, r.stderr
        data = Path(d, "t.gguf").read_bytes()
    with Server(lambda q: files(q, data)) as s:
        r = run("lookup", "-t", f"{s.url}/t.gguf", "-O", "raw", "w19999")
        assert r.stdout == struct.pack("<64f", *[19999.0] * 64), r
        assert sent(s.log, data) < 1 << 20 < len(data) // 4, (sent(s.log, data), len(data))


def near_rows_together():
    """Rows with less than 128 KiB between them come with one request; 2,000 random ones with few."""
    big = far.safetensors({"embedding.weight": far.tensor([[float(i)] * 64 for i in range(40000)])})   # 10 MB
    with Server(lambda q: files(q, big)) as s:
        run("lookup", "-t", f"{s.url}/m.safetensors", "-O", "raw", 20000, 20001, 20100, 20400)
        assert len(s.log) == 2, [q.headers.get("range") for q in s.log]
    rows = random.Random(1).sample(range(40000), 2000)
    with Server(lambda q: files(q, big)) as s:
        r = run("lookup", "-t", f"{s.url}/m.safetensors", "-O", "raw", input=" ".join(map(str, rows)).encode())
        assert r.stdout == b"".join(struct.pack("<f", float(i)) * 64 for i in rows)
        assert len(s.log) <= 200 and sent(s.log, big) <= len(big) + HEAD, (len(s.log), sent(s.log, big))


def nothing_twice():
    """similar reads the table once, stats as well; the header is not asked for again."""
    with Server(lambda q: files(q, TABLE)) as s:
        for command in (("similar", "-t"), ("stats",)):
            before = len(s.log)
            r = run(*command, f"{s.url}/m.safetensors", *(("#5",) if command[0] == "similar" else ()))
            assert r.returncode == 0, r.stderr
            assert sent(s.log[before:], TABLE) <= len(TABLE) + 2 * 4096, [q.headers.get("range") for q in s.log[before:]]


FORMATS = ("npy/f32.npy", "npy/fortran.npy", "npy/big_endian.npy", "word2vec/*.bin", "word2vec/*.vec", "glove/*.txt", "gguf/*.gguf",
           "npz/*.npz", "torch2/*.bin", "torch2/*.pt", "safetensors/*.safetensors", "**/*.gz")


def every_format():
    """What a file says from disk it says from a server, with and without ranges: the same bytes, the same errors."""
    found = sorted({p for f in FORMATS for p in DATA.glob(f) if p.is_file() and "split" not in p.name})
    assert len(found) > 60, len(found)
    for path in found:
        near = run("lookup", "-t", path.name, "-O", "raw", 0, cwd=path.parent)
        for ranges in (True, False):
            with Server(lambda q: files(q, path.read_bytes(), ranges=ranges)) as s:
                url = f"{s.url}/{path.name}"
                there = run("lookup", "-t", url, "-O", "raw", 0)
            clean = there.stderr.decode(errors="replace").replace(url, path.name)
            assert (there.returncode, there.stdout) == (near.returncode, near.stdout), (path, near, there)
            assert near.returncode == 0 or clean == near.stderr.decode(errors="replace"), (clean, near.stderr)


def convert_and_resize():
    """convert and resize read from a server, and write what they write from the disk."""
    with folder() as d, Server(lambda q: files(q, TABLE)) as s:
        Path(d, "t.safetensors").write_bytes(TABLE)
        for name, command in (("c.npy", ("convert", "{}", "{out}")), ("r.safetensors", ("resize", "{}", "--rows", 5008, "-o", "{out}"))):
            made = []
            for source in ("t.safetensors", f"{s.url}/t.safetensors"):
                out = ("far-" if "://" in source else "near-") + name
                r = run(*[str(x).format(source, out=out) for x in command], cwd=d)
                assert r.returncode == 0, r.stderr
                made.append(Path(d, out).read_bytes())
            assert made[0] == made[1]


def one_tensor_by_name():
    """What stands behind # is a tensor, here as elsewhere."""
    two = far.safetensors({"a": far.tensor([row(0)]), "b": far.tensor([row(i) for i in range(ROWS)])})
    with Server(lambda q: files(q, two)) as s:
        same(lookup(f"{s.url}/m.safetensors#b"))
        r = run("ls", f"{s.url}/m.safetensors")
        assert r.returncode == 0 and b"f32\t[5000,16]" in r.stdout, r


def no_directory_for_files():
    """TMPDIR that is not there is an error of the system; the answer needs no directory where the server knows no ranges."""
    with Server(lambda q: files(q, TABLE)) as s:
        r = lookup(f"{s.url}/m.safetensors", env={"TMPDIR": "/nowhere"})
        assert r.returncode == 4 and b"temporary file" in r.stderr, r
    with Server(lambda q: files(q, TABLE, ranges=False)) as s:
        same(lookup(f"{s.url}/m.safetensors", env={"TMPDIR": "/nowhere"}))


def refused_addresses():
    """A name and password in an address, and writing to one."""
    with Server(lambda q: files(q, TABLE)) as s:
        r = lookup(s.url.replace("//", "//me:secret@") + "/m.safetensors")
        assert r.returncode == 3 and b"is not sent" in r.stderr and not s.log, r
        r = run("convert", f"{s.url}/m.safetensors", f"{s.url}/out.npy")
        assert r.returncode != 0 and all(q.method == "GET" for q in s.log), r
    r = lookup("http://name.invalid/t.npy")
    assert r.returncode == 4 and b"resolve" in r.stderr.lower(), r
    r = lookup("http:///t.npy")
    assert r.returncode == 4, r


def proxy():
    """http_proxy is asked in place of the server, no_proxy is kept."""
    with Server(lambda q: files(q, TABLE)) as s:
        same(lookup("http://table.invalid/m.safetensors", env={"http_proxy": s.url}))
        assert s.log[0].path == "http://table.invalid/m.safetensors", s.log[0]
        before = len(s.log)
        same(lookup(f"{s.url}/m.safetensors", env={"http_proxy": "http://127.0.0.1:1", "no_proxy": "127.0.0.1"}))
        assert len(s.log) > before


def without_the_plugin():
    """A program without its plugin says what is missing, exit 5, and reads files as ever."""
    with folder() as d:
        alone = shutil.copy(far.TOOL, d)
        Path(d, "t.safetensors").write_bytes(TABLE)
        tool, far.TOOL = far.TOOL, alone
        try:
            r = lookup("http://127.0.0.1:1/t.npy")
            assert r.returncode == 5 and b"HTTP plugin" in r.stderr, r
            same(lookup("t.safetensors".join((d + "/", ""))))
        finally:
            far.TOOL = tool


def debug_says_requests():
    """-v says every request and what came of it."""
    with Server(lambda q: reply(503, b"") if q.n == 0 else files(q, TABLE)) as s:
        r = run("lookup", "-v", "-t", f"{s.url}/m.safetensors", 4999, "-O", "raw")
        lines = r.stderr.decode().splitlines()
        assert any("HTTP 503" in x and "again" in x for x in lines) and any("HTTP 206" in x for x in lines), lines


CHECKS = [f for n, f in list(globals().items()) if callable(f) and getattr(f, "__module__", "") == __name__ and f.__doc__ and n != "sent"]
