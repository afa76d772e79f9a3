#!/usr/bin/env python3
"""Record how the transformers library lays out small models: make_layouts.py MODELS > layouts.json.

MODELS is a folder of model directories, each with a record NAME.json beside it that says which tensors have a vocabulary
axis, which of them is the input embedding or a head, and whether the two are one. Of each model are kept: config.json,
the names, types and shapes of its tensors (of layers after the first, none), which of them hold the same bytes, and what
the record says. Python 3 alone.
"""
import hashlib
import json
import re
import struct
import sys
from pathlib import Path

LATER = re.compile(r"(layers?|h|block|blocks)\.[1-9]\d*\.")


def tensors(path):
    data = path.read_bytes()
    n = struct.unpack("<Q", data[:8])[0]
    for name, t in json.loads(data[8:8 + n]).items():
        if name != "__metadata__" and not LATER.search(name):
            a, b = (8 + n + x for x in t["data_offsets"])
            yield name, t["dtype"], t["shape"], hashlib.sha256(data[a:b]).hexdigest()


def layout(folder, record):
    groups, files = {}, {}
    for path in sorted(folder.glob("*.safetensors")):
        files[path.name] = {name: [dtype, shape, groups.setdefault((tuple(shape), digest), len(groups))]
                            for name, dtype, shape, digest in sorted(tensors(path))}
    roles = {role: [e["name"] for e in record["vocab_tensors"] if e["role"] == role] for role in ("input", "head", "copy")}
    return {"config": json.loads((folder / "config.json").read_text()), "files": files, "other": sorted(
                p.name for p in folder.glob("*.bin")), "rows": record["rows"], "dims": record["dims"],
            "tied": record["tied_by_bytes"], **{k: sorted(set(v)) for k, v in roles.items()}}


def main():
    models = Path(sys.argv[1])
    found = {p.stem: layout(models / p.stem, json.loads(p.read_text())) for p in sorted(models.glob("*.json"))}
    lines = [f"{json.dumps(name)}: {json.dumps(x, separators=(',', ':'))}" for name, x in found.items()]
    print("{\n" + ",\n".join(lines) + "\n}")


main()
