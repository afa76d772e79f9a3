"""What is kept of files on servers from one run to the next: asked for once, never wrong, never more than it may be.

Each check has a folder of its own as the cache."""
import json
import os
import random
import signal
import struct
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import far
from far import HEAD, TABLE, WANTED, folder, lookup, row, run, same
from server import Server, files, reply

DIMS = 64
ROWS = 20000                                    # 5 MB
BIG = far.safetensors({"embedding.weight": far.tensor([[float(i)] * DIMS for i in range(ROWS)])})
NEW = far.safetensors({"embedding.weight": far.tensor([[float(-i)] * DIMS for i in range(ROWS)])})


def rows_of(url, cache, *rows, sign=1, env=(), more=()):
    r = run("lookup", "-t", url, "-O", "raw", "--cache", cache, *more, *rows, env=env)
    want = b"".join(struct.pack("<f", float(sign * i)) * DIMS for i in rows)
    assert r.returncode == 0 and r.stdout == want and r.stderr == b"", (r.returncode, r.stdout[:8], len(r.stdout), r.stderr)


def ranges(log, begin=0):
    return [q.headers.get("range") for q in log[begin:]]


def entries(d):
    return sorted(Path(d).glob("*.blocks"))


def age(d, seconds=3600):
    """All that is kept was checked so long ago."""
    for path in entries(d):
        with path.open("r+b") as f:
            f.seek(4088)
            then = struct.unpack("<q", f.read(8))[0]
            f.seek(4088)
            f.write(struct.pack("<q", then - seconds))


def rows_come_once():
    """A row that is there opens no connection, the plugin is not even loaded; others cost their own blocks alone."""
    with folder() as d:
        with Server(lambda q: files(q, BIG)) as s:
            url = f"{s.url}/m.safetensors"
            rows_of(url, d, 7, 9999, 15000)
            assert len(s.log) == 3, ranges(s.log)               # row 7 is in the head
            rows_of(url, d, 7, 9999, 15000)
            rows_of(url, d, 15000)
            assert len(s.log) == 3, ranges(s.log, 3)
            rows_of(url, d, 9999, 19999)
            assert len(s.log) == 4, ranges(s.log, 3)
            first, last = s.log[3].range
            assert last - first < 8192 and last == len(BIG) - 1, (first, last)
        rows_of(url, d, 19999, 7, env={"EMB_PLUGIN_PATH": "/nowhere"})      # the server is gone
        r = run("lookup", "-t", url, "--cache", d, 5000)
        assert r.returncode == 4 and r.stdout == b"", r


def whole_files_come_once():
    """The same of files that come whole: a small one, a table of words, one from a server without ranges."""
    words = "".join(f"w{i} {i} {-i}\n" for i in range(20000)).encode()
    short = "".join(f"w{i}" + " 1 0" * 50 + "\n" for i in range(1000)).encode()       # less text than 4 bytes a number
    for name, body, ranged in (("m.safetensors", TABLE, False), ("w.txt", words, True), ("w.txt", words, False), ("w.txt", words[:30], True),
                               ("w.txt", short, True)):
        with folder() as d:
            with Server(lambda q: files(q, body, ranges=ranged)) as s:
                first = run("stats", f"{s.url}/{name}", "--json", "--cache", d)
                asked = len(s.log)
            again = run("stats", f"{s.url}/{name}", "--json", "--cache", d)
            assert first.returncode == 0 and (again.returncode, again.stdout) == (0, first.stdout), (first, again, asked)


def what_is_not_kept():
    """Without a strong entity tag, with no-store, for --cache none, or where no folder can be: nothing is."""
    def weak(q, headers):
        a = files(q, TABLE)
        a["headers"] = [h for h in a["headers"] if h[0] != "ETag"] + list(headers.items())
        return a
    for headers in ({"ETag": 'W/"1"'}, {}, {"ETag": '""'}, {"ETag": '"v1'}, {"ETag": "v1"}, {"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"},
                    {"ETag": '"v1"', "Cache-Control": "private, no-store"}):
        with folder() as d, Server(lambda q: weak(q, headers)) as s:
            for _ in range(2):
                before = len(s.log)
                same(lookup(f"{s.url}/m.safetensors", WANTED, (), "--cache", d))
                assert len(s.log) > before and not entries(d), headers
    with folder() as d, Server(lambda q: files(q, TABLE)) as s:
        env = {"HOME": d, "XDG_CACHE_HOME": d, "EMBTOOL_CACHE": ""}
        for how in (("--cache", "none"), ("--cache", "/proc/nothing"), ("--cache", "/dev/null")):
            same(lookup(f"{s.url}/m.safetensors", WANTED, env, *how))
        same(lookup(f"{s.url}/m.safetensors", WANTED, {**env, "EMBTOOL_CACHE": "none"}))
        assert not list(Path(d).rglob("*.blocks"))


def where_it_is():
    """--cache, else EMBTOOL_CACHE, else XDG_CACHE_HOME, else ~/.cache; for this user alone."""
    with folder() as d, Server(lambda q: files(q, TABLE)) as s:
        env = {"HOME": f"{d}/home", "XDG_CACHE_HOME": "", "EMBTOOL_CACHE": ""}
        for place, env, more in (("home/.cache/embtool", env, ()), ("x/embtool", {**env, "XDG_CACHE_HOME": f"{d}/x"}, ()),
                                 ("e/f", {**env, "XDG_CACHE_HOME": f"{d}/y", "EMBTOOL_CACHE": f"{d}/e/f"}, ()),
                                 ("o", {**env, "EMBTOOL_CACHE": f"{d}/z"}, ("--cache", f"{d}/o"))):
            before = set(Path(d).rglob("*.blocks"))
            same(lookup(f"{s.url}/m.safetensors", WANTED, env, *more))
            new = set(Path(d).rglob("*.blocks")) - before
            assert {p.parent for p in new} == {Path(d, place)} and len(new) == 1, new
            assert all(p.stat().st_mode & 0o777 == 0o600 and p.parent.stat().st_mode & 0o777 == 0o700 for p in new)


def asked_when_old():
    """After ten minutes, or after what Cache-Control says, the server is asked whether it is still so: a 304 is enough."""
    def answer(q):
        if q.headers.get("if-none-match") == '"v1"':
            return reply(304, b"", {"ETag": '"v1"'}, length=False)
        return files(q, BIG)
    for sure in (answer, lambda q: files(q, BIG)):          # and by a server that knows no If-None-Match
        with folder() as d, Server(sure) as s:
            url = f"{s.url}/m.safetensors"
            rows_of(url, d, 9999)
            before = len(s.log)
            age(d, 590)
            rows_of(url, d, 9999)
            assert len(s.log) == before
            age(d, 20)
            rows_of(url, d, 9999)
            assert len(s.log) == before + 1 and s.log[before].headers["if-none-match"] == '"v1"', s.log[before]
            assert s.log[before].headers["range"] == "bytes=0-4095"
            rows_of(url, d, 9999)                           # it is checked now
            assert len(s.log) == before + 1
    for control, fresh in (("max-age=60", 59), ("no-cache", -1), ("public , max-age=0", -1), ("max-age=100000", 599), ("max-age=99999999999999999999", 599)):
        with folder() as d, Server(lambda q: files(q, BIG, {"Cache-Control": control})) as s:
            url = f"{s.url}/m.safetensors"
            rows_of(url, d, 9999)
            before = len(s.log)
            if fresh >= 0:
                age(d, fresh - 1)
                rows_of(url, d, 9999)
                assert len(s.log) == before, control
                age(d, 3)
            rows_of(url, d, 9999)
            assert len(s.log) == before + 1, control


def another_version_when_old():
    """The server has another version by then: it is that which is read and kept."""
    for body, tag, sign in ((NEW, '"v2"', -1), (BIG[:-4], '"v2"', 0), (BIG, '"v2"', 1)):
        with folder() as d:
            now = [BIG, '"v1"']

            def answer(q):
                if q.headers.get("if-none-match") == now[1]:
                    return reply(304, b"", {"ETag": now[1]}, length=False)
                return files(q, now[0], {"ETag": now[1]})
            with Server(answer) as s:
                url = f"{s.url}/m.safetensors"
                rows_of(url, d, 9999, 5)
                now[:] = [body, tag]
                age(d)
                if sign:
                    rows_of(url, d, 9999, 15000, sign=sign)
                    before = len(s.log)
                    rows_of(url, d, 9999, 15000, sign=sign)
                    assert len(s.log) == before and len(entries(d)) == 1
                else:
                    assert run("lookup", "-t", url, "--cache", d, 9999).returncode == 3       # it is cut


def another_version_while_fresh():
    """A new version that shows in the middle: where its header is the same, its rows alone; else exit 4 once, never both."""
    def model(sign, rows):
        return far.safetensors({"embedding.weight": far.tensor([[float(sign * i)] * DIMS for i in range(rows)])},
                               meta={"about": "x" * 5000})
    def pair(sign):
        """Two tables of one size: where the first was there is the second now, and the other way round."""
        names = ("embedding.weight", "other.weight")
        tables = {n: far.tensor([[float(s * i)] * DIMS for i in range(ROWS)]) for n, s in zip(names, (sign, 2 * sign))}
        return far.safetensors(tables if sign > 0 else dict(reversed(tables.items())), meta={"about": "x" * 5000})
    assert len(pair(1)) == len(pair(-1))
    for before, body, good in ((model(1, ROWS), model(-1, ROWS), True), (model(1, ROWS), model(-1, ROWS + 1), False), (pair(1), pair(-1), False)):
        with folder() as d:
            now = [before, '"v1"']
            with Server(lambda q: files(q, now[0], {"ETag": now[1]})) as s:
                url = f"{s.url}/m.safetensors"
                rows_of(url, d, 9999)
                now[:] = [body, '"v2"']
                rows_of(url, d, 9999)                   # nobody asked: the row is ten minutes old at most
                if good:
                    rows_of(url, d, 9999, 15000, sign=-1)
                else:
                    r = run("lookup", "-t", url, "-O", "raw", "--cache", d, 9999, 15000)
                    assert r.returncode == 4 and r.stdout == b"" and b"forgotten" in r.stderr, r
                rows_of(url, d, 9999, 15000, 7, sign=-1)
                assert len(entries(d)) == 1


def version_without_a_tag():
    """A server that stops saying the entity tag is not believed to have the same content."""
    with folder() as d:
        def answer(q):
            a = files(q, BIG if q.n < 2 else NEW)
            if q.n >= 2:
                a["headers"] = [h for h in a["headers"] if h[0] != "ETag"]
            return a
        with Server(answer) as s:
            rows_of(f"{s.url}/m.safetensors", d, 9999)
            r = run("lookup", "-t", f"{s.url}/m.safetensors", "--cache", d, 9999, 15000)
            assert r.returncode == 4 and r.stdout == b"", r
            rows_of(f"{s.url}/m.safetensors", d, 9999, 15000, sign=-1)


def damage():
    """Bytes, heads and lengths that are not what was written are not used: asked for anew."""
    with folder() as d, Server(lambda q: files(q, BIG)) as s:
        url = f"{s.url}/m.safetensors"
        rows_of(url, d, 9999, 15000)
        path = entries(d)[0]
        good = path.read_bytes()
        at = good.index(struct.pack("<f", 9999.0) * DIMS)

        def change(where, what):
            return good[:where] + what + good[where + len(what):]
        for i, bad in enumerate((change(at, b"\0" * 4), change(at, b"\xff"), change(0, b"x"), change(16, b"\1"), change(40, b"\0"),
                                 change(50, b"X"), good[:5000], b"", good + b"x", change(4096, b"\0" * 8),
                                 change(4096, os.urandom(len(good) // 4096 * 8)), os.urandom(len(good)))):
            path.write_bytes(bad)
            before = len(s.log)
            rows_of(url, d, 9999, 15000)
            assert len(s.log) > before, i
            before = len(s.log)
            rows_of(url, d, 9999, 15000)
            assert len(s.log) == before, i
        path.unlink()
        path.mkdir()
        rows_of(url, d, 9999)
        path.rmdir()
        Path(d, "other").write_bytes(good)
        path.symlink_to(Path(d, "other"))
        rows_of(url, d, 9999)


def many_at_once():
    """Twelve processes at a time that read rows of one table, and of two versions of it, get right ones and leave a right cache."""
    r = random.Random(5)
    with folder() as d, Server(lambda q: files(q, BIG)) as s:
        url = f"{s.url}/m.safetensors"
        lists = [r.sample(range(ROWS), 40) for _ in range(60)]
        with ThreadPoolExecutor(12) as pool:
            list(pool.map(lambda rows: rows_of(url, d, *rows), lists))
        assert len(entries(d)) == 1
        before = len(s.log)
        for rows in lists[-3:]:
            rows_of(url, d, *rows)
        assert len(s.log) - before <= 40, len(s.log) - before      # two that began together may each have made the entry
    with folder() as d:
        def answer(q):
            return files(q, *((BIG, {"ETag": '"v1"'}) if q.n % 40 < 20 else (NEW, {"ETag": '"v2"'})))

        def either(rows):
            r = run("lookup", "-t", url, "-O", "raw", "--cache", d, *rows)
            both = [b"".join(struct.pack("<f", float(sign * i)) * DIMS for i in rows) for sign in (1, -1)]
            assert r.returncode == 4 and r.stdout == b"" or r.returncode == 0 and r.stdout in both, r
            return r.returncode == 0
        with Server(answer) as s:
            url = f"{s.url}/m.safetensors"
            with ThreadPoolExecutor(12) as pool:
                assert any(pool.map(either, lists))


def ended_at_any_moment():
    """Ctrl-C or kill -9 in the middle: the next run has right rows, and nothing lies about."""
    r = random.Random(7)
    with folder() as d:
        def answer(q):
            time.sleep(r.random() * 0.01)
            return files(q, BIG)
        with Server(answer) as s:
            url = f"{s.url}/m.safetensors"
            for i in range(40):
                how = signal.SIGKILL if i % 2 else signal.SIGINT
                p = subprocess.Popen([far.TOOL, "stats", url, "--cache", d] if i % 3 else
                                     [far.TOOL, "lookup", "-t", url, "--cache", d, *map(str, r.sample(range(ROWS), 60))],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=far.environment())
                time.sleep(r.random() * 0.08)
                p.send_signal(how)
                p.wait()
                if i % 4 == 3:
                    rows_of(url, d, *r.sample(range(ROWS), 60))
                if i % 10 == 9:
                    run("cache", "clear", "--cache", d)
            left = [p.name for p in Path(d).iterdir() if p.suffix != ".blocks"]
            assert not left, left


def size_cap():
    """The cache never takes more than it may: what was used longest ago goes; a file that is too large by itself goes at once."""
    with folder() as d:
        def used():
            return sum(p.stat().st_blocks * 512 for p in entries(d))
        env = {"EMBTOOL_CACHE_BYTES": "1M"}
        with Server(lambda q: files(q, BIG)) as s:
            def kept():
                return [json.loads(x)["url"].rsplit("/", 1)[1] for x in run("cache", "ls", "--json", "--cache", d).stdout.splitlines()]
            for name in "abcdefgh":                             # of each some 200 KB: the head, and 31 blocks
                rows_of(f"{s.url}/{name}", d, *range(600, ROWS, 620), env=env)
                assert used() <= 10**6, used()
                time.sleep(0.01)
            assert kept() == list("hgfe")[:len(kept())] and len(kept()) >= 2, kept()
            oldest = kept()[-1]
            rows_of(f"{s.url}/{oldest}", d, 600, env=env)       # used: now another one is the oldest
            time.sleep(0.01)
            rows_of(f"{s.url}/i", d, *range(600, ROWS, 620), env=env)
            assert kept()[:2] == ["i", oldest], kept()
            before = kept()
            r = run("stats", f"{s.url}/z", "--cache", d, env=env)       # 5 MB
            assert r.returncode == 0 and kept() == before, (r, kept())
        r = run("lookup", "0", "-t", "x.npy", env={"EMBTOOL_CACHE_BYTES": "much"})
        assert r.returncode == 2 and b"EMBTOOL_CACHE_BYTES=much" in r.stderr, r


def signatures_in_addresses():
    """What signs an address is neither kept nor part of its name; another query is another file."""
    with folder() as d, Server(lambda q: files(q, NEW if "v=2" in q.path else BIG)) as s:
        url = f"{s.url}/m.safetensors"
        signed = ("X-Amz-Signature=SECRET1&X-Amz-Date=1", "X-Amz-Signature=SECRET2&X-Amz-Date=2&x-amz-security-token=SECRET3",
                  "Expires=1&Signature=SECRET4&Key-Pair-Id=SECRET5", "sv=1&se=2&sp=r&sig=SECRET6", "")
        for i, query in enumerate(signed):
            rows_of(f"{url}?{query}", d, 9999)
            assert len(s.log) == 2, (query, ranges(s.log))
        rows_of(f"{url}?v=2&X-Amz-Signature=SECRET7", d, 9999, sign=-1)
        rows_of(f"{url}?se=2", d, 9999)                             # without a signature this may mean anything
        assert len(entries(d)) == 3
        everything = b"".join(p.read_bytes() for p in entries(d))
        assert b"SECRET" not in everything and b"SECRET" not in run("cache", "ls", "--json", "--cache", d).stdout


def listed_and_cleared():
    """cache ls says what there is, cache clear removes all or one; neither touches other files."""
    with folder() as d, Server(lambda q: files(q, BIG)) as s:
        assert run("cache", "ls", "--cache", f"{d}/none").stdout == b"" == run("cache", "clear", "--cache", f"{d}/none").stdout
        Path(d, "letter.txt").write_text("dear")
        Path(d, "0" * 32).write_text("dear")
        for name in ("a?v=1", "a?v=2", "b"):
            rows_of(f"{s.url}/{name}", d, 9999)
            time.sleep(0.01)
        lines = [x.split("\t") for x in run("cache", "--cache", d).stdout.decode().splitlines()]
        assert [x[2] for x in lines] == [f"{s.url}/b", f"{s.url}/a", f"{s.url}/a"], lines
        sizes = {p.stat().st_blocks * 512 for p in entries(d)}
        assert {int(x[0]) for x in lines} == sizes and {x[1] for x in lines} == {str(len(BIG))}, (lines, sizes)
        o = json.loads(run("cache", "ls", "--json", env={"EMBTOOL_CACHE": d}).stdout.splitlines()[0])
        assert o["url"] == f"{s.url}/b" and o["etag"] == '"v1"' and o["size"] == len(BIG), o
        assert abs(o["used"] - time.time()) < 60 and abs(o["checked"] - time.time()) < 60, o
        for path in entries(d):
            os.utime(path, (1000, time.time()))
        for _ in range(2):                                          # to look is no use
            assert all(json.loads(x)["used"] == 1000 for x in run("cache", "ls", "--json", "--cache", d).stdout.splitlines())
        r = run("cache", "clear", f"{s.url}/a?v=3", "--cache", d)
        assert r.returncode == 0 and b"2 files removed" in r.stderr and len(entries(d)) == 1, r
        entries(d)[0].write_bytes(b"rubbish")
        assert run("cache", "ls", "--cache", d).stdout.split(b"\t")[1:] == [b"0", b"\n"]
        r = run("cache", "clear", "--cache", d)
        assert not entries(d) and sorted(p.name for p in Path(d).iterdir()) == ["0" * 32, "letter.txt"]
        for bad in (("cache", "purge"), ("cache", "ls", "x"), ("cache", "ls", "--cache", "none")):
            assert run(*bad).returncode == 2, bad
        r = run("cache", "ls", "--cache", f"{d}/letter.txt")
        assert r.returncode == 4, r


CHECKS = [rows_come_once, whole_files_come_once, what_is_not_kept, where_it_is, asked_when_old, another_version_when_old,
          another_version_while_fresh, version_without_a_tag, damage, many_at_once, ended_at_any_moment, size_cap,
          signatures_in_addresses, listed_and_cleared]
