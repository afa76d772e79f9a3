"""Small models of every layout that transformers writes, tokenizers included: their table, head and vocabulary are what
transformers and safetensors read.

tests/data/tiny_models.py makes the models, with torch and transformers; where those are absent only the tokenizers are
compared, which it makes without them.
TINY_MODELS=DIR names a folder that holds them already (tiny_models.py DIR makes it).
"""
import json
from pathlib import Path

from peer import library, main, objects, run
from tiny import made, maker

MODELS = 53
ROOM = 600  # rows, more than any of the vocabularies has


def models():
    """(directory, record) of each model whose weights are not in a PyTorch file alone."""
    records = [json.loads(p.read_text()) for p in sorted(made().glob("*.json"))]
    assert len(records) == MODELS, len(records)
    return [(made() / r["name"], r) for r in records if any(f.endswith(".safetensors") for f in r["files"])]


def names(record, role):
    return [t["name"] for t in record["vocab_tensors"] if t["role"] == role]


def stored(folder, record, role):
    """The one table of a role, as safetensors reads it: [V, d] of the type's bytes."""
    open_file = library("safetensors").safe_open
    for t in record["vocab_tensors"]:
        if t["role"] == role and t["file"].endswith(".safetensors"):
            with open_file(folder / t["file"], framework="pt") as f:
                return f.get_tensor(t["name"]).float().numpy()
    return None


def shape_and_ties():
    """stats: V, d, which tensor, tied, and how many rows no token owns."""
    for folder, r in models():
        s, = objects("stats", folder)
        assert (s["rows"], s["dims"]) == (r["rows"], r["dims"]), r["name"]
        assert s["tensor"] in names(r, "input"), (r["name"], s["tensor"])
        assert s["tied"] == r["tied_by_bytes"], (r["name"], s["tied"])
        owned = r["owned_rows"]
        n = owned[1] - owned[0] + 1 if len(owned) == 2 else len(owned)
        assert (s["tokens"], s["unowned_rows"]) == (r["tokens"], r["rows"] - n), (r["name"], s["tokens"], s["unowned_rows"])


def values():
    """The rows of the embedding and of the head, all of them, are the numbers of the file."""
    library("torch")
    import numpy as np
    for folder, r in models():
        table = stored(folder, r, "input")
        head = stored(folder, r, "head") if r["stored_head"] else table
        for want, how in ((table, ()), (head, ("--head",))):
            raw = run("lookup", "--id", f"0..{r['rows'] - 1}", "-t", folder, *how, "-O", "raw", "--dtype", "f32")
            got = np.frombuffer(raw, "<f4").reshape(want.shape)
            assert np.array_equal(got.view("u4"), want.view("u4")), (r["name"], how)


def loaded(folder):
    """{token: id} as transformers reads it, or None: version 4 cannot load a list of extra_special_tokens."""
    transformers = library("transformers")
    config = json.loads((folder / "tokenizer_config.json").read_text()) if (folder / "tokenizer_config.json").exists() else {}
    if isinstance(config.get("extra_special_tokens"), list) and transformers.__version__.startswith("4."):
        return None
    return transformers.AutoTokenizer.from_pretrained(folder).get_vocab()


def vocabularies():
    """Every row has the token that transformers gives its id, and every token is found by its text."""
    library("transformers")
    library("sentencepiece"), library("google.protobuf")  # what transformers reads .model files with
    compared = 0
    for folder, r in models():
        theirs = loaded(folder)
        if theirs is None:
            continue
        want = {i: token for token, i in theirs.items() if i < r["rows"]}
        rows = objects("lookup", "--id", f"0..{r['rows'] - 1}", "-t", folder)
        got = {x["id"]: x["token"] for x in rows if x.get("token") is not None}
        assert got == want, (r["name"], sorted(set(got.items()) ^ set(want.items()))[:6])
        asked = [t for t in want.values() if "\n" not in t]
        found = objects("lookup", "--tokens", "-t", folder, stdin="".join(t + "\n" for t in asked).encode())
        assert [x["token"] for x in found] == asked, r["name"]
        compared += 1
    assert compared > MODELS - 4, compared


def tokenizers_alone():
    """The tokenizer files of every layout, without a model: ids as the tokenizer has them that the files were saved from.

    The layout of transformers 5 is left out: transformers itself writes it.
    """
    for name in ("numpy", "tokenizers", "sentencepiece", "google.protobuf"):
        library(name)
    import numpy as np
    tiny = maker()
    np.save("rows.npy", np.zeros((ROOM, 1), "f4"))
    for name, spec in tiny.SPECS.items():
        if spec["layout"] == "v5":
            continue
        kit = spec["kit"]()
        Path(name).mkdir()
        tiny.write_tokenizer(kit, name, spec["layout"])
        want = {i: token for token, i in kit.tok.get_vocab(True).items()}
        rows = objects("lookup", "--id", f"0..{ROOM - 1}", "-t", "rows.npy", "--vocab", name)
        got = {x["id"]: x["token"] for x in rows if x.get("token") is not None}
        assert got == want, (name, sorted(set(got.items()) ^ set(want.items()))[:6])


if __name__ == "__main__":
    main([tokenizers_alone, shape_and_ties, values, vocabularies])
