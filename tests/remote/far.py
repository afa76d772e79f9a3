"""What the checks of tables on servers share: a table, how it is asked for, and what must come."""
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cases"))
from craft import safetensors, tensor  # noqa: E402

TOOL = None                                 # set by run.py
ROWS, DIMS = 5000, 16
ROW = 4 * DIMS
HEAD = 64 << 10                             # bytes of the first request
WANTED = (0, 7, 2500, 4999)


def row(i):
    return [i + c / 16 for c in range(DIMS)]


TABLE = safetensors({"embedding.weight": tensor([row(i) for i in range(ROWS)])})


def environment(env=()):
    keep = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy") and not k.startswith(("HF_", "EMB_", "SSL_", "CURL_"))}
    return {**keep, "LC_ALL": "C", "EMBTOOL_CACHE": "none", **dict(env)}


def run(*args, env=(), **more):
    return subprocess.run([TOOL, *map(str, args)], capture_output=True, env=environment(env), timeout=300, **more)


def lookup(url, rows=WANTED, env=(), *more):
    return run("lookup", "-t", url, "-O", "raw", *rows, *more, env=env)


def same(r, rows=WANTED):
    want = b"".join(struct.pack(f"<{DIMS}f", *row(i)) for i in rows)
    assert r.returncode == 0 and r.stdout == want, (r.returncode, r.stdout[:100], r.stderr)
    assert r.stderr == b"", r.stderr


def folder():
    return tempfile.TemporaryDirectory(prefix="embtool-remote-")
