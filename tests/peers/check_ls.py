"""`ls` lists what the headers say, read here by other means: the tables that the reference libraries recorded in golden.json, and
every header of the golden safetensors files as JSON."""
import json
import os
import re
import struct

from peer import DATA, main, objects

GOLDEN = {DATA / path: entry for path, entry in json.loads((DATA / "golden.json").read_text())["files"].items()}
OK = [(path, entry) for path, entry in GOLDEN.items() if entry["expect"] == "ok"]
OURS = {"BF16": "bf16", "BFLOAT16": "bf16", "TEXT": "f32", "FLOAT8_E4M3FN": "f8_e4m3"}


def dtype_of(name):
    """f32 for F32, float32, >f4 ...: our name for a type."""
    known = OURS.get(name.upper())
    numpy = re.fullmatch(r"[<>|](\w)(\d)", name)
    words = re.fullmatch(r"(float|uint|int)(.*)", name)
    if known or not (numpy or words):
        return known or name.lower()
    return f"{numpy[1]}{8 * int(numpy[2])}" if numpy else {"float": "f", "uint": "u", "int": "i"}[words[1]] + words[2]


def recorded_tables():
    """Name, shape and type of each table. (golden.json has a scalar without axes, which its file gives one.)"""
    kinds = ("npy", "torch zip", "torch legacy", "word2vec text", "word2vec binary", "glove text", "model directory",
             "gguf", "npz", "gzip")
    checked = 0
    for path, entry in OK:
        told = ("--input-dtype", "bf16") if "must be told that it is bf16" in entry.get("note", "") else ()
        if entry["kind"] not in kinds:
            continue
        listed = [(o["name"] or None, o["shape"], o["dtype"]) for o in objects("ls", path, *told)]
        for t in entry.get("tables", ()):
            want = (t["name"] or None, t["shape"], "bf16" if told else dtype_of(t["dtype"]))
            assert want in listed, (str(path), want, listed[:5])
            checked += 1
    assert checked > 100, checked


def headers(path):
    with open(path, "rb") as f:
        return json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))


def safetensors_headers():
    """All tensors of a file, in the order of their data."""
    files = [path for path, entry in OK if entry["kind"] == "safetensors"]
    for path in files:
        listed = [(o["name"], o["dtype"].upper(), o["shape"], o["bytes"], o["file"]) for o in objects("ls", path)]
        want = [(name, t["dtype"], t["shape"], t["data_offsets"][1] - t["data_offsets"][0], str(path))
                for name, t in headers(path).items() if name != "__metadata__"]
        assert sorted(listed) == sorted(want), (str(path), listed, want)
    assert len(files) > 10


def shards_and_roles():
    """A model's tensors are those of its shards; the embedding and the head are marked, and nothing else."""
    models = [(path, entry) for path, entry in OK if entry["kind"] == "model directory" and (path / "config.json").exists()]
    for path, entry in models:
        listed = objects("ls", path)
        marked = {o["role"]: o["name"] for o in listed if o["role"]}
        assert marked.get("embedding") == entry.get("input", marked.get("embedding")), (str(path), marked)
        assert marked.get("head") in (None, entry.get("head")), (str(path), marked)
        for file in {o["file"] for o in listed if o["file"].endswith(".safetensors")}:
            names = [o["name"] for o in listed if o["file"] == file]
            assert sorted(names) == sorted(x for x in headers(path / file) if x != "__metadata__"), (str(path), file)
    assert len(models) > 4


def parts_of_gguf():
    """The tensors of each part, as the gguf package found them in it."""
    parts = [(path, entry) for path, entry in OK if entry.get("parts")]
    for path, entry in parts:
        listed = [(o["name"], o["file"]) for o in objects("ls", path)]
        assert listed == [(t["name"], str(path)) for t in entry["tables"]], (str(path), listed)
    assert len(parts) == 2, parts


def four_hundred_tensors():
    """Names that no format minds, in a file of many."""
    names = [f"layers.{i}.é\t{i * i}" for i in range(400)]
    header = json.dumps({name: {"dtype": "F16", "shape": [i % 3 + 1, 2], "data_offsets": [12 * i, 12 * i + 4 * (i % 3 + 1)]}
                         for i, name in enumerate(names)})
    data = {name: t for name, t in json.loads(header).items()}
    at = 0
    for t in data.values():
        n = 4 * t["shape"][0]
        t["data_offsets"] = [at, at + n]
        at += n
    text = json.dumps(data).encode()
    with open("many.safetensors", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + bytes(at))
    listed = objects("ls", "many.safetensors")
    assert [o["name"] for o in listed] == names
    assert [o["shape"] for o in listed] == [[i % 3 + 1, 2] for i in range(400)]
    assert sum(o["bytes"] for o in listed) == at == os.path.getsize("many.safetensors") - 8 - len(text)


main((recorded_tables, safetensors_headers, shards_and_roles, parts_of_gguf, four_hundred_tensors))
