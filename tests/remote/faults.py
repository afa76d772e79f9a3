"""A table on a server that misbehaves: the right rows after bounded tries, or exit 4 with what happened; never a wrong row.

Each check starts its server on loopback (tests/cases/server.py), says what it answers, and counts what was asked of it."""
import gzip
import random
import re

from far import HEAD, TABLE, lookup, same
from server import Server, files, reply

HTML = b"<!DOCTYPE html><html><body>Please log in</body></html>"
TRIES = 5                                   # the first, and four more


def gives(answer, *, requests=None, at="model.safetensors", env=()):
    """The rows are right; how often the server was asked."""
    with Server(answer) as s:
        same(lookup(f"{s.url}/{at}", env=env))
        assert requests is None or len(s.log) == requests, [(q.path, q.headers.get("range")) for q in s.log]
        return s.log


def fails(answer, *words, code=4, requests=None, at="model.safetensors"):
    with Server(answer) as s:
        r = lookup(f"{s.url}/{at}")
        assert r.returncode == code and r.stdout == b"", (r.returncode, r.stdout[:80], r.stderr)
        for word in (at, *words):
            assert word in r.stderr.decode(), (word, r.stderr)
        assert requests is None or len(s.log) == requests, [(q.path, q.headers.get("range")) for q in s.log]
        return r


def later(n, answer, first=lambda q: files(q, TABLE)):
    """The first n requests are answered well."""
    return lambda q: first(q) if q.n < n else answer(q)


def passing_503():
    """503 once, at the first request and at a later one: asked again."""
    for n in (0, 1):
        gives(lambda q, n=n: reply(503, b"busy") if q.n == n else files(q, TABLE))


def lasting_errors():
    """500, 502, 503, 504, 429, 408 for ever: given up after five tries."""
    for status in (500, 502, 503, 504, 429, 408):
        fails(lambda q, status=status: reply(status, HTML), f"HTTP {status}", requests=TRIES)


def final_errors():
    """400, 401, 403, 404, 410 and 418 are not asked again."""
    for status, words in ((400, "Bad Request"), (401, "Unauthorized"), (403, "Forbidden"), (404, "Not Found"), (410, "Gone"),
                          (418, "")):
        fails(lambda q, status=status: reply(status, HTML), f"HTTP {status} {words}".strip(), requests=1)


def retry_after():
    """Retry-After of a second is kept; one of an hour is said, and not waited for."""
    import time
    begin = time.monotonic()
    gives(lambda q: reply(429, b"", {"Retry-After": "1"}) if q.n == 0 else files(q, TABLE))
    assert time.monotonic() - begin >= 1
    fails(lambda q: reply(503, b"", {"Retry-After": "3600"}), "asks to wait 3600 s", requests=1)


def no_answer():
    """A server that is gone: refused, after tries."""
    with Server(lambda q: files(q, TABLE)) as s:
        pass
    r = lookup(f"{s.url}/t.npy")
    assert r.returncode == 4 and b"connect" in r.stderr.lower(), r.stderr


def stall():
    """30 s without a byte count as an error; the request is made again."""
    gives(lambda q: reply(200, TABLE, wait=33) if q.n == 0 else files(q, TABLE))


def drop_in_a_range():
    """A connection that ends in the middle of a range: the rest is asked for, from the byte that is missing."""
    def answer(q):
        a = files(q, TABLE)
        return {**a, "cut": 1000} if q.n == 0 else a
    log = gives(answer)
    assert log[1].headers["range"] == f"bytes=1000-{HEAD - 1}", log[1].headers


def drop_every_time():
    """A connection that ends before any byte, always: given up."""
    fails(lambda q: {**files(q, TABLE), "cut": 0}, requests=TRIES)


def drop_in_the_whole():
    """The same where the server knows no ranges: what comes twice counts once."""
    def answer(q):
        a = files(q, TABLE, ranges=False)
        return {**a, "cut": 5000} if q.n == 0 else a
    gives(answer)


def short_body():
    """Fewer bytes than Content-Length says, always and nothing new each time: an error, not a shorter table."""
    fails(lambda q: reply(200, TABLE[:3000], {"ETag": '"v1"'}, length=len(TABLE)) if q.n == 0 else reply(200, b"", length=len(TABLE)))


def short_range():
    """A server may answer with less than the range that was asked for: the rest is asked for."""
    def answer(q):
        first, last = q.range
        return reply(206, TABLE[first:min(last, first + 20000) + 1],
                     {"Content-Range": f"bytes {first}-{min(last, first + 20000, len(TABLE) - 1)}/{len(TABLE)}", "ETag": '"v1"'})
    gives(answer)


def long_range():
    """More bytes than Content-Range says: refused."""
    def answer(q):
        first, last = q.range
        return reply(206, TABLE[first:last + 100], {"Content-Range": f"bytes {first}-{last}/{len(TABLE)}"})
    fails(later(1, answer), "more bytes than it said")


def other_range():
    """206 with other bytes than those that were asked for: refused, and never read as them."""
    def answer(q):
        return reply(206, TABLE[:100], {"Content-Range": f"bytes 0-99/{len(TABLE)}"})
    fails(later(1, answer), "the server sent bytes 0-99")


def no_range_said():
    """206 without Content-Range, or with one that means nothing."""
    for headers in ({}, {"Content-Range": "bytes"}, {"Content-Range": "bytes 5-1/100"}, {"Content-Range": "lines 1-2/3"},
                    {"Content-Range": "bytes 0-99999999999999999999999/100"}):
        fails(later(1, lambda q, h=headers: reply(206, TABLE[:100], h)), "HTTP 206 without a range")


def whole_for_a_range():
    """200 to a later range: the whole content, from which the rows are taken."""
    log = gives(later(1, lambda q: files(q, TABLE, ranges=False)))
    assert len(log) <= 1 + 8, len(log)      # as many as were on their way


def encoded_range():
    """A range of gzipped bytes is of no use: the whole is asked for, and unpacked."""
    packed = gzip.compress(TABLE)

    def answer(q):
        if q.range:
            return reply(206, packed[:100], {"Content-Encoding": "gzip", "Content-Range": f"bytes 0-99/{len(packed)}"})
        return reply(200, packed, {"Content-Encoding": "gzip"})
    gives(answer, requests=2)


def encoded_rubbish():
    """Content-Encoding gzip without gzip in it."""
    fails(lambda q: reply(200, TABLE, {"Content-Encoding": "gzip"}))


def changed_tag():
    """Another ETag later: the file changed, so there is no answer."""
    fails(later(1, lambda q: files(q, TABLE, {"ETag": '"v2"'})), "changed on the server")


def changed_date():
    """Without ETag, another Last-Modified."""
    def dated(q, date):
        a = files(q, TABLE)
        a["headers"] = [h for h in a["headers"] if h[0] != "ETag"] + [("Last-Modified", date)]
        return a
    fails(later(1, lambda q: dated(q, "Tue, 01 Jan 2030 00:00:00 GMT"), lambda q: dated(q, "Mon, 01 Jan 2024 00:00:00 GMT")),
          "changed on the server")
    gives(lambda q: dated(q, "Mon, 01 Jan 2024 00:00:00 GMT"))


def changed_size():
    """Another length later."""
    fails(later(1, lambda q: files(q, TABLE + b"more")), "changed on the server")


def changed_in_the_middle():
    """Another version when a broken answer is taken up again."""
    def answer(q):
        if q.n == 0:
            return {**files(q, TABLE), "cut": 1000}
        return files(q, TABLE, {"ETag": '"v2"'})
    fails(answer, "changed on the server")


def redirects():
    """Relative ones, one with a query, one to another name; where they led to is asked at once the next time."""
    for where, path in (("/b?etag=x&sig=a%2Fb", "/b?etag=x&sig=a%2Fb"), ("../c/d", "/c/d"), ("?v=2", "/a/model.safetensors?v=2")):
        def answer(q, where=where, path=path):
            if q.path == path:
                return files(q, TABLE)
            return reply(307, b"", {"Location": where}) if q.path == "/a/model.safetensors" else reply(404, b"lost")
        log = gives(answer, at="a/model.safetensors")
        assert [q.path for q in log].count("/a/model.safetensors") == 1, [q.path for q in log]


def redirect_that_ends():
    """An address that a redirect gave and that is good for one request: the first one is asked again."""
    used = set()

    def answer(q):
        if q.path == "/model.safetensors":
            return reply(302, b"", {"Location": f"/signed/{q.n}"})
        good = q.path not in used
        used.add(q.path)
        return files(q, TABLE) if good else reply(403, b"<Error>expired</Error>")
    gives(answer)


def redirect_loop():
    """A loop ends after ten, one to a file at once."""
    fails(lambda q: reply(302, b"", {"Location": "/loop"}), requests=11)
    fails(lambda q: reply(302, b"", {"Location": "file:///etc/hostname"}), requests=1)


def no_length():
    """Neither Content-Length nor ranges; in chunks; chunks that do not end."""
    gives(lambda q: reply(200, TABLE, length=False), requests=1)
    gives(lambda q: reply(200, TABLE, chunked="whole"), requests=1)
    fails(lambda q: reply(200, TABLE, chunked="open"))


def no_total():
    """Content-Range that does not say how much there is: the whole is asked for."""
    def answer(q):
        if q.range:
            first, last = q.range
            return reply(206, TABLE[first:last + 1], {"Content-Range": f"bytes {first}-{last}/*"})
        return reply(200, TABLE)
    gives(answer)


def unsatisfied():
    """416 to every range: the whole is asked for. 416 of an empty file: it is empty."""
    gives(lambda q: reply(416, HTML, {"Content-Range": f"bytes */{len(TABLE)}"}) if q.range else files(q, TABLE))
    gives(lambda q: reply(416, HTML) if q.range else files(q, TABLE))
    fails(lambda q: reply(416, HTML, {"Content-Range": "bytes */0"}), "the file is empty", code=3)
    fails(lambda q: reply(416, HTML), "HTTP 416")


def web_page():
    """200 with a page in place of the file: no table, by name."""
    for name in ("model.safetensors", "words.vec", "words.txt"):
        fails(lambda q: reply(200, HTML, {"Content-Type": "text/html"}), "a web page (HTML or XML)", code=3, at=name)


def headers_of_all_kinds():
    """Heads that are long, empty, or twice there."""
    gives(lambda q: files(q, TABLE, {f"X-{i}": "y" * 500 for i in range(100)}))
    gives(lambda q: files(q, TABLE, {"ETag": ""}))
    gives(lambda q: files(q, TABLE, {"ETag": '"' + "e" * 5000 + '"'}))


def random_answers():
    """Answers that are broken by chance, 60 servers: the right rows or an error."""
    good = 0
    for seed in range(60):
        r = random.Random(seed)

        def answer(q, r=r):
            a = files(q, TABLE)
            what = r.randrange(8)
            if what == 0:
                return {**a, "cut": r.randrange(3000)}
            if what == 1:
                return reply(r.choice((500, 503, 416, 206, 304)), HTML)
            if what == 2 and q.range:
                first = max(0, q.range[0] + r.randrange(-5, 5))
                return reply(206, TABLE[first:q.range[1] + 1], {"Content-Range": f"bytes {first}-{q.range[1]}/{len(TABLE)}"})
            if what == 3:
                return {**a, "headers": [h for h in a["headers"] if r.random() < 0.5]}
            return a
        with Server(answer) as s:
            got = lookup(f"{s.url}/model.safetensors")
            if got.returncode == 0:
                same(got)
                good += 1
            else:
                assert got.returncode in (3, 4) and got.stdout == b"" and re.match(rb"embtool: lookup: http", got.stderr), got
            assert len(s.log) < 60, len(s.log)
    assert good > 10, good


CHECKS = [f for n, f in list(globals().items()) if callable(f) and getattr(f, "__module__", "") == __name__
          and f.__doc__ and n not in ("gives", "fails", "later")]
