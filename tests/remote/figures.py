"""What rows of a large shard cost: requests, connections and bytes, exactly, and round trips of 30 ms.

The shard is a sparse file of 1 GiB, bf16 [131072, 4096], among the tensors of a model; a row begins with its number. The server
keeps connections open, as real ones do, and says what came over which; a relay in front of it adds 15 ms each way."""
import contextlib
import json
import os
import queue
import random
import socket
import struct
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from far import HEAD, run

ROWS, DIMS = 131072, 4096
ROW = 2 * DIMS
BLOCK = 4096


def head():
    tensors, at = {"model.embed_tokens.weight": {"dtype": "BF16", "shape": [ROWS, DIMS], "data_offsets": [0, ROWS * ROW]}}, ROWS * ROW
    for i in range(32):
        for name in ("input_layernorm", "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj", "self_attn.q_proj"):
            tensors[f"model.layers.{i}.{name}.weight"] = {"dtype": "BF16", "shape": [8], "data_offsets": [at, at + 16]}
            at += 16
    text = json.dumps(tensors, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, at


START = len(head()[0])


def number(i):
    return struct.pack("<I", i) * 4


@contextlib.contextmanager
def shard(rows):
    header, n = head()
    with tempfile.TemporaryFile(prefix="embtool-shard-") as f:
        os.ftruncate(f.fileno(), START + n)
        os.pwrite(f.fileno(), header, 0)
        for i in rows:
            os.pwrite(f.fileno(), number(i), START + i * ROW)
        yield f.fileno(), START + n


class Turns:
    """Answers come when all requests of their turn are there, and after it none is held: a client that waits for one of them before
    it asks for the others gets none, and asks again after half a minute, which the log shows."""
    def __init__(self):
        self.ends, self.came, self.more = [], 0, threading.Condition()

    def begin(self, *turns):
        """How many requests each of the next ones has."""
        with self.more:
            self.ends, self.came = [sum(turns[:i + 1]) for i in range(len(turns))], 0

    def wait(self):
        with self.more:
            self.came += 1
            self.more.notify_all()
            end = next((n for n in self.ends if n >= self.came), 0)
            self.more.wait_for(lambda: self.came >= end)


class Keeping(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def do_GET(self):
        fd, size, log = self.server.shard
        first, last = (int(x) for x in self.headers["Range"].removeprefix("bytes=").split("-"))
        last = min(last, size - 1)
        log.append((self.client_address[1], first, last + 1 - first))
        if self.server.turns:
            self.server.turns.wait()
        self.send_response(206)
        for name, value in (("ETag", '"one"'), ("Content-Length", last + 1 - first), ("Content-Range", f"bytes {first}-{last}/{size}")):
            self.send_header(name, str(value))
        self.end_headers()
        with contextlib.suppress(OSError):
            for at in range(first, last + 1, 1 << 20):
                self.wfile.write(os.pread(fd, min(1 << 20, last + 1 - at), at))

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def keeping(fd, size, turns=None):
    """Its port and its log: (connection, first byte, bytes) of each request."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Keeping)
    server.daemon_threads = True
    server.shard, server.turns = (fd, size, []), turns
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server.server_port, server.shard[2]
    server.shutdown()
    server.server_close()


def pump(a, b, delay):
    """What comes from a goes to b so much later, as fast as it came."""
    waiting = queue.Queue()

    def send():
        with contextlib.suppress(OSError):
            while (item := waiting.get())[1]:
                time.sleep(max(0, item[0] - time.monotonic()))
                b.sendall(item[1])
            b.shutdown(socket.SHUT_WR)
    threading.Thread(target=send, daemon=True).start()
    data = b"-"
    while data:
        try:
            data = a.recv(1 << 16)
        except OSError:
            data = b""
        waiting.put((time.monotonic() + delay, data))


@contextlib.contextmanager
def relay(port, delay):
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        def accept():
            with contextlib.suppress(OSError):
                while True:
                    a, _ = listener.accept()
                    b = socket.create_connection(("127.0.0.1", port))
                    for s in (a, b):
                        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    for pair in ((a, b), (b, a)):
                        threading.Thread(target=pump, args=(*pair, delay), daemon=True).start()
        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def ask(port, cache, rows):
    """The rows are right."""
    r = run("lookup", "-t", f"http://127.0.0.1:{port}/model-00001.safetensors", "-O", "raw", "--cache", cache,
            input=" ".join(map(str, rows)).encode())
    want = b"".join(number(i) + bytes(ROW - 16) for i in rows)
    assert r.returncode == 0 and r.stdout == want, (r.returncode, len(r.stdout), len(want), r.stderr)


def blocks(rows):
    """Bytes of the blocks that hold these rows, each apart from the others."""
    return sum(((START + (i + 1) * ROW - 1) // BLOCK - (START + i * ROW) // BLOCK + 1) * BLOCK for i in rows)


TEN = (50, 20000, 31000, 45000, 60000, 77777, 90001, 100000, 120000, 131071 - 64)


def ten_rows():
    """Ten rows: the head and ten ranges, two round trips; with the head kept ten ranges at once, one; kept, nothing."""
    assert START + TEN[0] * ROW > HEAD, "the first row lies behind the head"
    turns = Turns()                                             # without them one connection would do for some requests
    with (shard((*TEN, 70000)) as (fd, size), keeping(fd, size, turns) as (server, log), relay(server, 0.015) as port,
          tempfile.TemporaryDirectory() as d):
        turns.begin(1, 10)
        ask(port, d, TEN)
        assert len(log) == 11 and log[0][1:] == (0, HEAD), log
        assert sum(n for _, _, n in log[1:]) == blocks(TEN), log
        assert max(sum(c == k for c, *_ in log) for k, *_ in log) <= 2, log     # requests in a row on one connection
        log.clear()
        ask(port, d, TEN)
        assert not log, log
        run("cache", "clear", "--cache", d)
        turns.begin()
        ask(port, d, (70000,))
        log.clear()
        turns.begin(10)
        ask(port, d, TEN)
        assert len(log) == len({c for c, *_ in log}) == 10 and sum(n for *_, n in log) == blocks(TEN), log


def round_trips():
    """It asks in two turns where nothing is kept, in one where the head is, in none where the rows are."""
    turns = Turns()
    with shard((*TEN, 70000)) as (fd, size), keeping(fd, size, turns) as (port, log):
        for kept, want in ((None, (1, 10)), ((70000,), (10,)), (TEN, ())):
            with tempfile.TemporaryDirectory() as d:
                turns.begin()
                if kept:
                    ask(port, d, kept)
                log.clear()
                turns.begin(*want)
                ask(port, d, TEN)
                assert len(log) == sum(want), (want, log)


def ten_thousand_rows():
    """10,000 random rows: at most 200 requests and the bytes of the shard; again, none."""
    rows = random.Random(3).sample(range(ROWS), 10000)
    with shard(rows) as (fd, size), keeping(fd, size) as (port, log), tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        ask(port, d, rows)
        assert len(log) <= 200 and sum(n for *_, n in log) <= size, (len(log), sum(n for *_, n in log))
        log.clear()
        ask(port, d, rows)
        assert not log, len(log)


def other_outputs():
    """Text, JSON, unit rows and pooled ones ask for the rows of a list together as well: 400 rows, at most 200 requests."""
    rows = sorted(random.Random(4).sample(range(ROWS), 400))
    for more in ((), ("--json",), ("--normalize", "-O", "npy"), ("--pool", "mean", "-O", "raw")):
        with shard(rows) as (fd, size), keeping(fd, size) as (port, log):
            r = run("lookup", "-q", "-t", f"http://127.0.0.1:{port}/m.safetensors", *more, input=" ".join(map(str, rows)).encode())
            assert r.returncode == 0 and len(r.stdout) > DIMS, (more, r.stderr)
            assert len(log) <= 200, (more, len(log))


CHECKS = [ten_rows, other_outputs, round_trips, ten_thousand_rows]
