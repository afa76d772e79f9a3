#!/usr/bin/env python3
"""A whole file from a server on this machine, by embtool and by curl, in turn: download.py EMBTOOL [--mib N] [--runs N].

nginx has a model of one large file and what the hub's API says of it. embtool brings the file into the hub's cache, checks it by
its SHA-256 and looks one row up; beside it `curl -o` (which checks nothing) and `curl -o && sha256sum`. Directories are emptied
before each run, outside the time. Times are the least of all runs; CPU time is user and system time of the client alone.
"""
import argparse
import contextlib
import hashlib
import json
import shutil
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import clock

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILE = "table.dat"          # no name of weights: it comes whole
DIMS = 1024
STEP = 1 << 20

NGINX = """
daemon off; pid {d}/pid; error_log {d}/error.log; worker_processes 1;
events {{}}
http {{
    access_log off; sendfile on; client_body_temp_path {d}/b; proxy_temp_path {d}/p; fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u;
    scgi_temp_path {d}/s;
    server {{ listen 127.0.0.1:{port}; root {d}/www; add_header X-Repo-Commit {commit};
              location = /api/models/org/model/revision/main {{ try_files /revision.json =404; }}
              location = /org/model/resolve/{commit}/{file} {{ try_files /{file} =404; add_header X-Linked-ETag '"{hash}"';
                                                              add_header X-Repo-Commit {commit}; }} }}
}}
"""


def write_table(path, mib):
    """A .npy file of so many MiB of numbers that look like nothing; its SHA-256."""
    rows = mib * STEP // (DIMS * 4)
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {DIMS}), }}"
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text.ljust(117).encode() + b"\n"
    found = hashlib.sha256(head)
    with open(path, "wb") as f:
        f.write(head)
        for i in range(mib):
            data = hashlib.shake_128(struct.pack("<I", i)).digest(STEP // 16) * 16
            found.update(data)
            f.write(data)
    return found.hexdigest()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


@contextlib.contextmanager
def nginx(d, mib):
    """Its address, and the hash of the file."""
    www = Path(d, "www")
    www.mkdir()
    found = write_table(www / FILE, mib)
    size = (www / FILE).stat().st_size
    (www / "revision.json").write_text(json.dumps({"sha": COMMIT, "siblings": [
        {"rfilename": FILE, "size": size, "blobId": "0" * 40, "lfs": {"sha256": found, "size": size, "pointerSize": 130}}]}))
    port = free_port()
    Path(d, "conf").write_text(NGINX.format(d=d, port=port, commit=COMMIT, file=FILE, hash=found))
    subprocess.run(["chmod", "-R", "a+rX", d], check=True)
    server = subprocess.Popen(["nginx", "-c", f"{d}/conf", "-e", f"{d}/error.log"], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}", found
    finally:
        server.terminate()
        server.wait()


class Emptied(clock.Whole):
    """A program whose directory is empty when it begins."""
    def __init__(self, command, cwd, environment):
        super().__init__(command, [], cwd, environment)

    def run(self):
        shutil.rmtree(self.cwd, ignore_errors=True)
        self.cwd.mkdir()
        sample = super().run()
        shutil.rmtree(self.cwd)
        return sample


def programs(a, d, url, found):
    hub = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HF_ENDPOINT": url, "HF_HOME": f"{d}/embtool", "HOME": f"{d}/embtool"}
    get = ["curl", "-s", "-f", "-o", "out", f"{url}/org/model/resolve/{COMMIT}/{FILE}"]
    both = ["sh", "-c", f"{' '.join(get)} && echo {found} out | sha256sum -c --quiet"]
    embtool = [str(Path(a.tool).resolve()), "lookup", "-q", "-t", f"hf://org/model/{FILE}", "3"]
    runs = {"curl -o": get, "curl -o && sha256sum": both, "embtool": embtool}
    return {name: Emptied(command, Path(d, name.split()[0]), hub) for name, command in runs.items()}


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("tool")
    p.add_argument("--mib", type=int, default=1024)
    p.add_argument("--runs", type=int, default=7)
    p.add_argument("--dir", default="/var/tmp", help="where there is room for the file twice")
    a = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="embtool-download-", dir=a.dir) as d, nginx(d, a.mib) as (url, found):
        samples = clock.in_turn(programs(a, d, url, found), a.runs, 600)
    least = {name: min(s.ms for s in of) for name, of in samples.items()}
    print(f"{a.mib} MiB, {a.runs} runs | wall ms | CPU ms | speed, of `curl -o`")
    for name, of in samples.items():
        print(f"{name} | {least[name]:.0f} | {min(s.cpu_ms for s in of):.0f} | {least['curl -o'] / least[name]:.2f}")


if __name__ == "__main__":
    main()
