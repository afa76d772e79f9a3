"""Names and passwords of netrc: sent where they belong, and nowhere else."""
import base64
import netrc
import stat
from pathlib import Path

from far import TABLE, WANTED, folder, lookup, same
from server import Server, files, reply

ENTRY = "machine 127.0.0.1 login me password s3cr3t\n"


def said(request):
    """(name, password) of a request; None: it has none."""
    word = request.headers.get("authorization")
    return word and tuple(base64.b64decode(word.removeprefix("Basic ")).decode().split(":", 1))


def private(q):
    return files(q, TABLE) if said(q) == ("me", "s3cr3t") else reply(401, b"who?")


def with_netrc(text, url, d, env=(), more=()):
    path = Path(d, "netrc")
    path.write_text(text)
    return lookup(url, WANTED, {"HOME": "/nowhere", "NETRC": path, **dict(env)}, *more)


def where_it_lies():
    """NETRC, else ~/.netrc; without either, and with a file that cannot be read, nobody is told anything."""
    with folder() as d, Server(private) as s:
        url = f"{s.url}/m.safetensors"
        same(with_netrc(ENTRY, url, d))
        Path(d, ".netrc").write_text(ENTRY)
        same(lookup(url, env={"HOME": d, "NETRC": ""}))
        for env in ({"HOME": "/nowhere", "NETRC": ""}, {"HOME": d, "NETRC": "/nowhere"}, {"HOME": d, "NETRC": d}):
            before = len(s.log)
            r = lookup(url, env=env)
            assert r.returncode == 4 and b"HTTP 401 Unauthorized" in r.stderr, r
            assert [said(q) for q in s.log[before:]] == [None]


TEXTS = (
    "machine other login a password b\n" + ENTRY, ENTRY + "machine other login second password x\n",
    "default login anyone password word\n", "machine other login a password b\ndefault login d password e\n",
    "machine\n127.0.0.1\n\tlogin\tme\n\n  password\n pw\n", "machine 127.0.0.1 password p login l account c\n",
    'machine 127.0.0.1 login "me and you" password "a\\"b\\\\c d"\n', "# machine 127.0.0.1 login no password no\n" + ENTRY,
    "machine other\nmacdef init\nmachine 127.0.0.1 login no password no\n\n" + ENTRY,
    "machine 127.0.0.10 login a password b\n", "machine 127.0.0.1x login a password b\n", "", "machine", "machine 127.0.0.1", "login a password b\n",
    "machine 127.0.0.1 login me password #1\n", "machine 127.0.0.1 login me password p#1\n")


def as_others_read_it():
    """Entries, defaults, quotes, comments and macros, as Python's netrc reads them; of two of one host the first, as with curl."""
    with folder() as d, Server(lambda q: files(q, TABLE)) as s:
        for text in TEXTS:
            before = len(s.log)
            same(with_netrc(text, f"{s.url}/m.safetensors", d))
            try:
                found = netrc.netrc(Path(d, "netrc")).authenticators("127.0.0.1")
            except netrc.NetrcParseError:
                found = None
            want = (found[0], found[2] or "") if found and found[0] else None
            assert {said(q) for q in s.log[before:]} == {want}, (text, want, s.log[before].headers)
        for text, want in (("machine 127.0.0.1 login me\n", ("me", "")), (ENTRY + "machine 127.0.0.1 login x password y\n", ("me", "s3cr3t")),
                           ("default login d password e\n" + ENTRY, ("d", "e")), ("MACHINE 127.0.0.1 LOGIN a PassWord b\n", ("a", "b")),
                           ("machine localhost login l password p\n", ("l", "p"))):
            before = len(s.log)
            same(with_netrc(text, s.url.replace("127.0.0.1", "LOCALHOST" if want == ("l", "p") else "127.0.0.1") + "/m.safetensors", d))
            assert {said(q) for q in s.log[before:]} == {want}, text


def not_in_the_open():
    """Over http to another machine nothing is sent, though netrc has it; to this one it passes no proxy."""
    with folder() as d, Server(lambda q: files(q, TABLE)) as s:
        entry = "machine table.invalid login me password s3cr3t\nmachine 127.0.0.1.invalid login me password s3cr3t\ndefault login x password y\n"
        for host in ("table.invalid", "127.0.0.1.invalid"):
            same(with_netrc(entry, f"http://{host}/m.safetensors", d, {"http_proxy": s.url}))
        assert s.log and all(said(q) is None for q in s.log)
    with folder() as d, Server(private) as s, Server(lambda q: reply(502, b"")) as proxy:
        same(with_netrc(ENTRY, f"{s.url}/m.safetensors", d, {"http_proxy": proxy.url}))
        assert not proxy.log


def redirects_to_others():
    """A redirect within the origin keeps them, one to another port does not, whatever netrc has for that host; ten at most."""
    with folder() as d, Server(lambda q: files(q, TABLE)) as other:
        with Server(lambda q: reply(302, b"", {"Location": f"{other.url}/x?sig=1"})) as s:
            same(with_netrc(ENTRY, f"{s.url}/m.safetensors", d))
            assert [said(q) for q in s.log] == [("me", "s3cr3t")] and all(said(q) is None for q in other.log), s.log
            assert "authorization" not in str([q.headers for q in other.log]).lower()
        with Server(lambda q: private(q) if q.path == "/b" else reply(307, b"", {"Location": "/b"})) as s:
            same(with_netrc(ENTRY, f"{s.url}/m.safetensors", d))
            assert all(said(q) == ("me", "s3cr3t") for q in s.log) and [q.path for q in s.log].count("/b") == len(s.log) - 1
        for where, words in (("/loop", b"10 redirects"), ("file:///etc/hostname", b"file"), ("", b"")):
            with Server(lambda q: reply(302, b"", {"Location": where} if where else {})) as s:
                r = with_netrc(ENTRY, f"{s.url}/m.safetensors", d)
                assert r.returncode == 4 and words in r.stderr and len(s.log) <= 11, (where, r)


def a_place_that_ends():
    """Where a redirect led is asked at once the next time; when it refuses, the first address is asked again, with the password."""
    used = set()
    with folder() as d, Server(lambda q: reply(403, b"expired") if q.path in used or used.add(q.path) else files(q, TABLE)) as other:
        with Server(lambda q: reply(302, b"", {"Location": f"{other.url}/{q.n}"})) as s:
            same(with_netrc(ENTRY, f"{s.url}/m.safetensors", d))
            assert len(s.log) > 1 and all(said(q) for q in s.log) and not any(said(q) for q in other.log)


def nothing_is_said():
    """Neither -v, nor a message, nor what is kept has the password."""
    with folder() as d, Server(private) as s:
        r = with_netrc(ENTRY, f"{s.url}/m.safetensors", d, {}, ("-v", "--cache", f"{d}/c"))
        assert r.returncode == 0 and b"HTTP 206" in r.stderr
        kept = b"".join(p.read_bytes() for p in Path(d, "c").iterdir())
        wrong = with_netrc(ENTRY.replace("s3cr3t", "wr0ng"), f"{s.url}/m.safetensors", d, {}, ("-v",))
        assert wrong.returncode == 4
        for text in (r.stderr, wrong.stderr, kept):
            assert not any(x in text for x in (b"s3cr3t", b"wr0ng", base64.b64encode(b"me:s3cr3t"), b"Basic"))
        assert stat.S_IMODE(Path(d, "c").stat().st_mode) == 0o700


CHECKS = [where_it_lies, as_others_read_it, not_in_the_open, redirects_to_others, a_place_that_ends, nothing_is_said]
