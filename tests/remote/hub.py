"""Models of a hub: what is asked of it, what lies in the cache afterwards, who is told the token, and what is said where it refuses.

The hub is hub_server.py. What huggingface_hub makes of the cache is tests/peers/check_hub.py.
"""
import json
import os
import signal
import struct
import subprocess
import threading
import time
from pathlib import Path

import far
from far import folder, run
from hub_server import COMMIT, Hub, git_hash, hash_of, is_lfs
from server import Server, files, reply

from craft import safetensors, tensor, tokenizer_json

ROWS, DIMS = 20000, 64
WORDS = [f"w{i}" for i in range(ROWS)]
HEAD = far.HEAD
CONFIG = json.dumps({"model_type": "llama", "vocab_size": ROWS, "hidden_size": DIMS, "tie_word_embeddings": True}).encode()


def row(i):
    return struct.pack(f"<{DIMS}f", *[float(i)] * DIMS)


def weights(rows=ROWS, first=0):
    return safetensors({"model.embed_tokens.weight": tensor([[float(i)] * DIMS for i in range(first, first + rows)])})


SINGLE = {"config.json": CONFIG, "model.safetensors": weights(), "tokenizer.json": tokenizer_json(WORDS).encode(),
          "tokenizer_config.json": b"{}", "README.md": b"# a model\n", ".gitattributes": b"*.safetensors filter=lfs\n"}
TINY = 64
SMALL = {"config.json": json.dumps({"model_type": "llama", "vocab_size": TINY, "hidden_size": DIMS, "tie_word_embeddings": True}).encode(),
         "model.safetensors": weights(TINY), "tokenizer.json": tokenizer_json(WORDS[:TINY]).encode(), "sub/notes.txt": b"notes\n",
         "pytorch_model.bin": b"not read", "onnx/model.onnx": b"not read"}


def sharded():
    names = [f"model-{i:05}-of-00002.safetensors" for i in (1, 2)]
    norm = safetensors({"model.norm.weight": tensor([[1.0] * DIMS])})
    index = {"metadata": {}, "weight_map": {"model.embed_tokens.weight": names[0], "model.norm.weight": names[1]}}
    return {"config.json": CONFIG, names[0]: weights(), names[1]: norm, "model.safetensors.index.json": json.dumps(index).encode()}


def env_of(hub, home, **more):
    return {"HF_ENDPOINT": hub.url, "HF_HOME": str(home), "HOME": str(home), "XDG_CACHE_HOME": str(home), **more}


def lookup(hub, home, *rows, url="hf://org/model", **more):
    return run("lookup", "-t", url, "-O", "raw", *rows, env=env_of(hub, home, **more))


def gives(r, *rows):
    assert r.returncode == 0 and r.stdout == b"".join(row(i) for i in rows), (r.returncode, len(r.stdout), r.stderr)


def fails(r, *words, code=4):
    assert r.returncode == code and r.stdout == b"", (r.returncode, r.stdout[:80], r.stderr)
    for word in words:
        assert word in r.stderr.decode(), (word, r.stderr)


def cache(home, repo="org--model"):
    return Path(home, "hub", f"models--{repo}")


def sent(log, data):
    return sum(min(q.range[1], len(data) - 1) - q.range[0] + 1 if q.range else len(data) for q in log if q.method == "GET")


def ranges_are_kept():
    """Rows of a commit that came once are not asked for again, however long ago that was."""
    with folder() as home, Hub({"org/model": SINGLE}) as hub:
        more = {"EMBTOOL_CACHE": f"{home}/ranges"}
        gives(lookup(hub, home, 7, 19000, **more), 7, 19000)
        for path in Path(home, "ranges").glob("*.blocks"):
            data = bytearray(path.read_bytes())
            data[4088:4096] = bytes(8)                  # checked in 1970
            path.write_bytes(data)
        before = len(hub.log)
        gives(lookup(hub, home, 19000, 7, **more), 19000, 7)
        assert len(hub.log) == before, [q.path for q in hub.log[before:]]
        gives(lookup(hub, home, 19000, 9000, **more), 19000, 9000)
        assert len(hub.log) > before


def requests_of_a_model():
    """Ten rows: what main is, config.json, where the weights are, their head, the rows; the second time the weights alone."""
    data, ten = SINGLE["model.safetensors"], [i * 1999 for i in range(10)]
    with folder() as home, Hub({"org/model": SINGLE}) as hub:
        gives(lookup(hub, home, *ten), *ten)
        api, cdn = hub.asked
        assert api == ["/api/models/org/model/revision/main?blobs=true", f"/org/model/resolve/{COMMIT}/config.json",
                       f"/org/model/resolve/{COMMIT}/model.safetensors"], api
        assert len(cdn) == 10 and sent(hub.cdn.log, data) <= HEAD + 9 * 2 * 4096, (len(cdn), sent(hub.cdn.log, data))
        n = len(hub.log)
        gives(lookup(hub, home, *ten), *ten)
        assert [q.path for q in hub.log[n:]] == [f"/org/model/resolve/{COMMIT}/model.safetensors"], hub.asked


def tokens():
    """A word: the tokenizer comes whole, once; in the cache it is what the hub has."""
    with folder() as home, Hub({"org/model": SINGLE}) as hub:
        for n in range(2):
            gives(lookup(hub, home, "w7"), 7)
            assert [q.path.rsplit("/", 1)[1] for q in hub.log].count("tokenizer.json") == 1, hub.asked
        for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
            link = cache(home) / "snapshots" / COMMIT / name
            assert link.is_symlink() and os.readlink(link) == f"../../blobs/{git_hash(SINGLE[name])}", os.readlink(link)
            assert link.read_bytes() == SINGLE[name]
        assert (cache(home) / "refs/main").read_text() == COMMIT
        assert not (cache(home) / "snapshots" / COMMIT / "model.safetensors").exists()
        assert not list(cache(home).rglob("*incomplete*")), list(cache(home).rglob("*"))


def list_in_the_cache():
    """trees/COMMIT.json has what the hub's clients keep there, of every file."""
    with folder() as home, Hub({"org/model": SINGLE}) as hub:
        gives(lookup(hub, home, 5), 5)
        tree = json.loads((cache(home) / "trees" / f"{COMMIT}.json").read_text())
        assert tree["format_version"] == 1 and set(tree["files"]) == set(SINGLE), tree
        for name, entry in tree["files"].items():
            assert entry["size"] == len(SINGLE[name]), entry
            if is_lfs(name):
                assert (entry["lfs_sha256"], entry["lfs_size"]) == (hash_of(name, SINGLE[name]), len(SINGLE[name])), entry
            else:
                assert entry["blob_id"] == git_hash(SINGLE[name]) and "lfs_sha256" not in entry, entry


def shards():
    """The index says where the table is: no other shard is asked for. Commands read the model as one that lies on the disk."""
    members = sharded()
    with folder() as home, Hub({"org/model": members}) as hub:
        gives(lookup(hub, home, 5), 5)
        assert not any("00002-of" in p for p in hub.asked[0]), hub.asked
        near = Path(home, "near")
        near.mkdir()
        for name, data in members.items():
            (near / name).write_bytes(data)
        for command in (("ls",), ("stats", "--json"), ("check",), ("plan",)):
            there = run(command[0], "hf://org/model", *command[1:], env=env_of(hub, home))
            here = run(command[0], near, *command[1:], env=env_of(hub, home))
            clean = there.stdout.replace(str(cache(home) / "snapshots" / COMMIT).encode(), str(near).encode())
            clean = clean.replace(b"hf://org/model", str(near).encode())
            assert (there.returncode, clean) == (here.returncode, here.stdout), (command, there, here)


def revisions():
    """A tag, a commit, a pull request (with its slashes or without), and one file of them."""
    with folder() as home, Hub({"org/model": SMALL, "gpt2": SMALL}) as hub:
        for at in ("@v1", f"@{COMMIT}", "@refs/pr/1", "@refs%2Fpr%2F1", "@v1/model.safetensors", "/model.safetensors"):
            gives(lookup(hub, home, 5, url=f"hf://org/model{at}"), 5)
        assert "/api/models/org/model/revision/refs%2Fpr%2F1?blobs=true" in hub.asked[0], hub.asked[0]
        assert (cache(home) / "refs/refs/pr/1").read_text() == COMMIT
        gives(lookup(hub, home, 5, url="hf://gpt2"), 5)
        gives(lookup(hub, home, 5, url="hf://gpt2/model.safetensors"), 5)


def first_word_is_the_model():
    """hf://gpt2/FILE, where no cache knows it: the hub has no model gpt2/FILE, but one gpt2."""
    with folder() as home, Hub({"gpt2": SMALL}) as hub:
        gives(lookup(hub, home, 5, url="hf://gpt2/model.safetensors"), 5)
        fails(lookup(hub, home, 5, url="hf://gpt3/model.safetensors"), "gpt3/model.safetensors")


def cached_is_not_asked():
    """A whole snapshot of another client, without its list: no request, also where there is no hub."""
    with folder() as home, Hub({}) as hub:
        snapshot = cache(home) / "snapshots" / COMMIT
        snapshot.mkdir(parents=True)
        (cache(home) / "refs").mkdir()
        (cache(home) / "refs/main").write_text(COMMIT)
        for name, data in SMALL.items():
            (snapshot / name).parent.mkdir(exist_ok=True)
            (snapshot / name).write_bytes(data)
        gives(lookup(hub, home, "w5"), 5)
        assert not hub.log, hub.asked


def other_endpoints():
    """A hub that tells no sizes and no hashes: files come all the same, and are called as git calls them."""
    with folder() as home, Hub({"org/model": SMALL}, sizes=False) as hub:
        gives(lookup(hub, home, "w5"), 5)
        link = cache(home) / "snapshots" / COMMIT / "tokenizer.json"
        assert link.resolve().name == git_hash(SMALL["tokenizer.json"]) and link.read_bytes() == SMALL["tokenizer.json"]
        assert not (cache(home) / "trees").exists()
        r = run("resize", "hf://org/model", "--add-tokens", "new", "-o", Path(home, "out"), env=env_of(hub, home))
        assert r.returncode == 0, r.stderr
        assert (cache(home) / "snapshots" / COMMIT / "model.safetensors").resolve().name == hash_of("x.bin", SMALL["model.safetensors"])


def offline():
    """HF_HUB_OFFLINE: what the cache has is used, what it has not is an error that says so; nothing is asked."""
    with folder() as home, Hub({"org/model": SMALL}) as hub:
        for value in ("1", "on", "YES", "True"):
            fails(lookup(hub, home, 5, HF_HUB_OFFLINE=value), "HF_HUB_OFFLINE", str(home))
        fails(lookup(hub, home, 5, TRANSFORMERS_OFFLINE="1"), "HF_HUB_OFFLINE")
        assert not hub.log, hub.asked
        gives(lookup(hub, home, 5, HF_HUB_OFFLINE="0"), 5)
        n = len(hub.log)
        fails(lookup(hub, home, 5, HF_HUB_OFFLINE="1"), "HF_HUB_OFFLINE")     # the weights were read by ranges
        r = run("position", "--help", env=env_of(hub, home))
        assert r.returncode == 0 and len(hub.log) == n


def token_goes_to_the_hub_alone():
    """HF_TOKEN, its older name, its file, and none; never to the CDN (which checks it), nor to another host that the hub leads to."""
    with folder() as home, Hub({"org/model": SMALL}, token="hf_secret") as hub:
        Path(home, "token").write_text("  hf_secret\n")
        Path(home, "elsewhere").write_text("hf_secret")
        fails(lookup(hub, home, 5, HF_TOKEN="hf_wrong"), "the token that was sent may not read it")
        fails(lookup(hub, home, 5, HF_HUB_DISABLE_IMPLICIT_TOKEN="1"), "set HF_TOKEN")
        fails(lookup(hub, home, 5, HF_TOKEN_PATH="/nowhere"), "set HF_TOKEN")
        for more in ({"HF_TOKEN": "hf_secret"}, {"HF_TOKEN": "hf_secret\n"}, {"HUGGING_FACE_HUB_TOKEN": "hf_secret"}, {},
                     {"HF_TOKEN_PATH": str(Path(home, "elsewhere"))}):
            gives(lookup(hub, home, 5, url="hf://org/model@v1", **more), 5)
        for path in Path(home, "hub").rglob("*"):
            assert path.is_dir() or b"hf_secret" not in path.read_bytes(), path
    for where in ("/moved/config.json", "http://{}:{}/config.json"):
        log = []

        def before(q):
            if q.path.endswith("/resolve/" + COMMIT + "/config.json"):
                return reply(307, b"", {"Location": where.format("localhost", hub.api.port)})
            if q.path.endswith("/config.json"):
                log.append(q)
                return files(q, SMALL["config.json"])
        with folder() as home, Hub({"org/model": SMALL}, token="hf_secret", before=before) as hub:
            gives(lookup(hub, home, 5, HF_TOKEN="hf_secret"), 5)
            assert log and all(("authorization" in q.headers) == where.startswith("/") for q in log), [q.headers for q in log]


def token_is_not_told():
    """Neither -v nor an error shows the token or the signature of an address; by plain http it goes to this machine alone."""
    with folder() as home, Hub({"org/model": SMALL}, token="hf_secret", at_cdn=lambda q, n, d: reply(418, b"")) as hub:
        r = lookup(hub, home, 5, "-v", HF_TOKEN="hf_secret")
        fails(r, "418")
        assert b"hf_secret" not in r.stderr and b"s3cret" not in r.stderr, r.stderr
    seen = []

    def note(q):
        seen.append(q)
        return reply(404, b"")
    with folder() as home, Hub({}, before=note) as hub:
        r = run("lookup", "5", "-t", "hf://org/model", env={**env_of(hub, home), "HF_ENDPOINT": "http://hub.invalid", "HF_TOKEN": "hf_secret",
                                                            "http_proxy": hub.url})
        fails(r)
        assert seen and all("authorization" not in q.headers for q in seen), [q.headers for q in seen]
    with folder() as home, Hub({"org/model": SMALL}, token="hf_secret") as hub, Server(lambda q: reply(404, b"")) as proxy:
        fails(lookup(hub, home, 5, HF_TOKEN="hf_secret", http_proxy=proxy.url))     # which leads to the CDN alone
        assert len(hub.log) >= 3 and proxy.log and all("authorization" not in q.headers for q in proxy.log), [q.headers for q in proxy.log]


def refusals():
    """No such model, revision or file; one that is not for everyone; 403, 500: each says what to do."""
    with folder() as home, Hub({"org/model": SMALL}) as hub:
        fails(lookup(hub, home, 5, url="hf://org/none"), hub.url, "org/none", "set HF_TOKEN")
        fails(lookup(hub, home, 5, url="hf://org/model@v9"), "has no revision v9")
        fails(lookup(hub, home, 5, url="hf://org/model/none.npy"), "no file none.npy")
        fails(lookup(hub, home, 5, url="hf://org/model@v1/none.npy"), "no file none.npy")
    gated = lambda q: reply(403, b"{}", {"X-Error-Code": "GatedRepo"}) if "/resolve/" in q.path else None  # noqa: E731
    with folder() as home, Hub({"org/model": SMALL}, before=gated) as hub:
        fails(lookup(hub, home, 5), f"ask for access at {hub.url}/org/model", "set HF_TOKEN")
    for status, words in ((403, "refuses org/model"), (500, "HTTP 500"), (404, "has no model org/model")):
        with folder() as home, Hub({}, before=lambda q, status=status: reply(status, b"")) as hub:
            fails(lookup(hub, home, 5), words, hub.url)
    with folder() as home, Hub({}, before=lambda q: reply(200, b"<html>log in</html>")) as hub:
        fails(lookup(hub, home, 5), "the answer of", code=3)
    with folder() as home, Hub({}, before=lambda q: reply(200, b'{"sha": "0", "siblings": []}')) as hub:
        fails(lookup(hub, home, 5), "no commit", code=3)
    with folder() as home, Hub({}) as hub:
        fails(run("lookup", "5", "-t", "hf://org/model", env={**env_of(hub, home), "HF_ENDPOINT": "hub"}), "HF_ENDPOINT", code=2)


def names_that_lead_out():
    """A list with names that lead out of the directory: those are not there."""
    evil = {**SMALL, "../../../evil.json": b"{}", "/etc/evil.json": b"{}", "a/../../b.json": b"{}", "c\\d.json": b"{}", "": b""}
    with folder() as home, Hub({"org/model": evil}) as hub:
        gives(lookup(hub, home, "w5"), 5)
        r = run("resize", "hf://org/model", "--add-tokens", "new", "-o", Path(home, "out"), env=env_of(hub, home))
        assert r.returncode == 0 and not any("evil" in p for p in hub.asked[0]), (r.stderr, hub.asked)
        assert not list(Path(home).rglob("evil.json"))


def other_contents():
    """A file of another length, another hash, another commit or another tag than the list says: an error, and nothing stays."""
    def cases(q):
        if q.path.endswith("/config.json"):
            return [reply(200, SMALL["config.json"] + b" "), reply(200, SMALL["config.json"][:-1] + b" "), reply(200, SMALL["config.json"][:-2]),
                    reply(200, SMALL["config.json"], {"X-Repo-Commit": "f" * 40}), reply(200, SMALL["config.json"], {"ETag": '"%s"' % ("f" * 40)})]
    words = ("expected 96 bytes", "expected a content with the hash", "expected 96 bytes", "expected commit", "expected the content")
    for i, word in enumerate(words):
        def before(q, i=i):
            a = cases(q)
            return a and a[i]
        with folder() as home, Hub({"org/model": SMALL}, before=before) as hub:
            fails(lookup(hub, home, 5), word.replace("96", str(len(SMALL["config.json"]))), "config.json")
            assert not list((cache(home) / "snapshots").rglob("config.json")) and not [
                b for b in (cache(home) / "blobs").iterdir() if "incomplete" not in b.name], list(cache(home).rglob("*"))
    def before(q):
        if q.path.endswith("/model.safetensors"):
            return reply(302, b"", {"X-Linked-ETag": '"%s"' % ("f" * 64), "Location": hub.cdn.url + "/x"})
    with folder() as home, Hub({"org/model": SMALL}, before=before, at_cdn=lambda q, n, d: files(q, d)) as hub:
        fails(lookup(hub, home, 5))


def whole_model():
    """resize brings every file but weights in other forms, writes what it writes from the disk, and brings nothing the next time."""
    with folder() as home, Hub({"org/model": SMALL}) as hub:
        near = Path(home, "near")
        for name, data in SMALL.items():
            if name not in ("pytorch_model.bin", "onnx/model.onnx"):
                (near / name).parent.mkdir(parents=True, exist_ok=True)
                (near / name).write_bytes(data)
        for n, source in enumerate(("hf://org/model", near, "hf://org/model")):
            r = run("resize", source, "--add-tokens", "new", "-o", Path(home, f"out{n}"), env=env_of(hub, home))
            assert r.returncode == 0, r.stderr
            if n == 0:
                before, asked = len(hub.log) + len(hub.cdn.log), hub.asked
        assert len(hub.log) + len(hub.cdn.log) == before, hub.asked[0][-3:]
        assert not any("pytorch" in p or "onnx" in p for p in asked[0]) and len(asked[0]) == 5 and len(asked[1]) == 1, asked
        same = lambda d: {p.relative_to(d): p.read_bytes() for p in sorted(d.rglob("*")) if p.is_file()}  # noqa: E731
        assert same(Path(home, "out0")) == same(Path(home, "out1")) == same(Path(home, "out2"))
        fails(run("resize", "hf://org/model", "--add-tokens", "x", "--in-place", env=env_of(hub, home)), code=2)


PIECE = 8 << 20


def big():
    """A model of 64 MB: a download of eight pieces."""
    header = json.dumps({"model.embed_tokens.weight": {"dtype": "F32", "shape": [250000, DIMS], "data_offsets": [0, 250000 * DIMS * 4]}}).encode()
    header += b" " * (-len(header) % 8)
    data = struct.pack("<Q", len(header)) + header + b"".join(struct.pack("<I", i % 100003) * DIMS for i in range(250000))
    config = json.dumps({"model_type": "llama", "vocab_size": 250000, "hidden_size": DIMS, "tie_word_embeddings": True}).encode()
    return {"config.json": config, "model.safetensors": data}


def resize_big(hub, home, out, **more):
    return ["resize", "hf://org/model", "--rows", "250008", "-o", Path(home, out)], env_of(hub, home, **more)


def pieces_and_resume():
    """A large file comes in pieces; one that was killed in the middle goes on with those that are missing, and is checked as a whole."""
    members = big()
    data = members["model.safetensors"]
    total = -(-len(data) // PIECE)
    ended = threading.Event()                                   # the first run has: until then some pieces do not come

    def slow(q, name, body):
        if q.range and q.range[0] >= 3 * PIECE:
            ended.wait()
    with folder() as home, Hub({"org/model": members}, at_cdn=slow) as hub:
        args, env = resize_big(hub, home, "out")
        p = subprocess.Popen([far.TOOL, *map(str, args)], env=far.environment(env), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        blob = cache(home) / "blobs" / f"{hash_of('x.bin', data)}.embtool.incomplete"
        while p.poll() is None and not (blob.exists() and blob.read_bytes()[len(data) + 24:].count(1) >= 3):
            time.sleep(0.05)                                    # it gives up by itself where they do not come
        p.send_signal(signal.SIGINT)
        assert p.wait(120) == -signal.SIGINT or p.returncode == 130, (p.returncode, p.stderr.read())
        assert blob.exists() and not Path(home, "out").exists()
        ended.set()
        before = len(hub.cdn.log)
        r = run(*args, env=env)
        assert r.returncode == 0, r.stderr
        again = hub.cdn.log[before:]
        assert {q.range[0] for q in again} == {i * PIECE for i in range(3, total)}, [q.range for q in again]
        once = {q.range: q for q in again}.values()             # on a slow machine one may be asked for again
        assert sent(once, data) == len(data) - 3 * PIECE, sent(once, data)
        assert (cache(home) / "snapshots" / COMMIT / "model.safetensors").read_bytes() == data
        assert not list(cache(home).rglob("*incomplete*"))


def damaged_download():
    """A piece that came wrong, from the server or from an earlier run, is found by the hash: exit 4, and the next run begins anew."""
    members = big()
    data = members["model.safetensors"]

    def wrong(q, name, body):
        if q.range and q.range[0] == 2 * PIECE and hub.wrong:
            return files(q, body[:2 * PIECE] + b"x" + body[2 * PIECE + 1:], {"ETag": '"of the CDN"'})
    with folder() as home, Hub({"org/model": members}, at_cdn=wrong) as hub:
        hub.wrong = True
        args, env = resize_big(hub, home, "out")
        fails(run(*args, env=env), "expected a content with the hash", "model.safetensors")
        assert not [p for p in cache(home).rglob("*") if hash_of("x.bin", data) in p.name and "lock" not in p.name], list(cache(home).rglob("*"))
        hub.wrong = False
        assert run(*args, env=env).returncode == 0


def download_without_ranges():
    """A server that knows no ranges sends it all at once."""
    members = big()
    with folder() as home, Hub({"org/model": members}, at_cdn=lambda q, n, d: files(q, d, ranges=False)) as hub:
        args, env = resize_big(hub, home, "out")
        r = run(*args, env=env)
        assert r.returncode == 0, r.stderr
        assert (cache(home) / "snapshots" / COMMIT / "model.safetensors").read_bytes() == members["model.safetensors"]


def two_at_once():
    """Two processes that want the same file: one brings it, the other waits for it."""
    members = big()
    with folder() as home, Hub({"org/model": members}) as hub:
        runs = []
        for out in ("a", "b"):
            args, env = resize_big(hub, home, out)
            runs.append(subprocess.Popen([far.TOOL, *map(str, args)], env=far.environment(env), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL))
        for p in runs:
            assert p.wait(120) == 0, p.stderr.read()
        assert sent(hub.cdn.log, members["model.safetensors"]) == len(members["model.safetensors"]), len(hub.cdn.log)


def full_disk_or_no_cache():
    """A cache that cannot be written to is an error that names it; no HOME is one as well."""
    with folder() as home, Hub({"org/model": SMALL}) as hub:
        Path(home, "hub").write_text("no directory")
        fails(lookup(hub, home, 5), f"{home}/hub")
        r = run("lookup", "5", "-t", "hf://org/model", env={"HF_ENDPOINT": hub.url, "HOME": "", "XDG_CACHE_HOME": ""})
        fails(r, "neither HF_HOME nor HOME")


CHECKS = [f for n, f in list(globals().items()) if callable(f) and getattr(f, "__module__", "") == __name__ and f.__doc__ and n not in ("big",)]
