"""Model directories on servers: https://host/dir/. Files are asked for by name, each once; 404 means that there is none."""
from pathlib import Path

from far import HEAD, folder, run
from hub import ROWS, SINGLE, SMALL, fails, gives, row, sent, sharded
from server import Server, files, reply


def serve(members, at="/dir/", **answers):
    """A plain file server with one directory; answers: {name: reply} in place of a file."""
    def answer(q):
        name = q.path[len(at):] if q.path.startswith(at) else None
        if name in answers:
            return answers[name]
        return files(q, members[name], {"ETag": f'"{name}"'}) if name in members else reply(404, b"<html>Not Found</html>")
    return Server(answer)


def asked(s):
    return [q.path.rsplit("/", 1)[1] for q in s.log]


def lookup(s, *rows):
    return run("lookup", "-t", f"{s.url}/dir/", "-O", "raw", *rows)


def single_file():
    """One file of weights: its head, config.json, whether there is an index, the rows; for a word the tokenizer's files as well."""
    with serve(SINGLE) as s:
        gives(lookup(s, 5, 19999), 5, 19999)
        assert asked(s) == ["model.safetensors", "config.json", "model.safetensors.index.json", "tokenizer.json", "model.safetensors"], asked(s)
        assert sent([q for q in s.log if q.path.endswith(".safetensors")], SINGLE["model.safetensors"]) <= HEAD + 2 * 4096
    with serve(SINGLE) as s:
        gives(lookup(s, "w7"), 7)
        assert len(set(asked(s))) == len(asked(s)) - asked(s).count("tokenizer.json") + 1, asked(s)
        assert "tokenizer_config.json" in asked(s) and asked(s).count("tokenizer_config.json") == 1, asked(s)


def shards():
    """An index: the shard that it names, and no other."""
    with serve(sharded()) as s:
        gives(lookup(s, 5, ROWS - 1), 5, ROWS - 1)
        assert asked(s)[:3] == ["model.safetensors", "model.safetensors.index.json", "config.json"], asked(s)
        assert not any("00002-of" in n for n in asked(s)), asked(s)


def nothing_twice():
    """What is small is asked for once, however many parts of a command read it; so is what is not there."""
    with serve(SMALL) as s:
        for command in (("check",), ("plan",), ("stats",), ("lookup", "w5")):
            before = len(s.log)
            r = run(command[0], *(("-t",) if command[0] == "lookup" else ()), f"{s.url}/dir/", *command[1:])
            assert r.returncode == 0, r.stderr
            names = asked(s)[before:]
            assert len(names) == len(set(names)), (command, names)


def as_on_the_disk():
    """What a command says of a directory on the disk it says of one on a server."""
    for members in (SMALL, sharded()):
        with folder() as d, serve(members) as s:
            for name, data in members.items():
                Path(d, name).parent.mkdir(exist_ok=True)
                Path(d, name).write_bytes(data)
            for command in (("ls",), ("stats",), ("stats", "--json"), ("check",), ("plan",), ("similar", "#5")):
                at = ("-t",) if command[0] == "similar" else ()
                there, here = (run(command[0], *at, x, *command[1:]) for x in (f"{s.url}/dir/", f"{d}/"))
                clean = there.stdout.replace(f"{s.url}/dir".encode(), d.encode())
                assert (there.returncode, clean) == (here.returncode, here.stdout), (command, there, here)


def not_a_model():
    """Nothing there; a config.json that is refused, broken, or a web page; a weights file that is refused: never taken for absence."""
    with serve({}) as s:
        fails(lookup(s, 5), "is a directory without weights", code=3)
    with serve(SMALL, **{"config.json": reply(403, b"")}) as s:
        fails(lookup(s, 5), "config.json", "HTTP 403")
    with serve(SMALL, **{"config.json": reply(200, b"<html>")}) as s:
        fails(lookup(s, 5), "config.json", code=3)
    with serve(SMALL, **{"model.safetensors": reply(401, b"")}) as s:
        fails(lookup(s, 5), "model.safetensors", "HTTP 401")
    with serve(SMALL, **{"tokenizer.json": reply(403, b"")}) as s:
        fails(lookup(s, "w5"), "tokenizer.json", "HTTP 403")


def not_written():
    """resize needs the whole directory, which nobody can list: it says so, and writes nothing."""
    with folder() as d, serve(SMALL) as s:
        r = run("resize", f"{s.url}/dir/", "--add-tokens", "x", "-o", Path(d, "out"))
        assert r.returncode == 3 and b"download" in r.stderr and not list(Path(d).iterdir()), r
        r = run("convert", f"{s.url}/dir/", Path(d, "t.npy"), "--lossy")
        assert r.returncode == 0 and Path(d, "t.npy").read_bytes().endswith(row(63)), r.stderr


CHECKS = [f for n, f in list(globals().items()) if callable(f) and getattr(f, "__module__", "") == __name__ and f.__doc__ and n != "serve"]
