"""Models that were resized, beside recorded results and as transformers loads them.

tests/data/resize_expected.json has worked-out results (new ids, files that change, SHA-256 of each tensor) for the models of
tests/data/tiny_models.py. Where torch and transformers are there, or TINY_MODELS=DIR names a folder of models, all of them
run, and every model is loaded before and after: no other warning, each new token one id that decodes back, old tokens with
the same logits. Without torch the same directories are made of tests/data/layouts.json, tables by the maker's own formula.
"""
import contextlib
import hashlib
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import warnings
import zlib
from pathlib import Path

from peer import DATA, TOOL, library, main
from tiny import made, maker

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
EXPECTED = json.loads((DATA / "resize_expected.json").read_text())
LAYOUTS = json.loads((DATA / "layouts.json").read_text())
MIXED = ("new word", "naïve☃🙂", 'q"uo\\te\tx, y')  # what FILE holds in the scenarios


def tool(*args):
    return subprocess.run([TOOL, *map(str, args)], capture_output=True, text=True)


# ------------------------------------------------------------------------------------------------ models
def bytes_of(x, dtype):
    """Little-endian bytes of f32 numbers in a type of safetensors, rounded to nearest, ties to even."""
    if dtype == "F32":
        return x.astype("<f4").tobytes()
    if dtype == "F16":
        return x.astype("<f2").tobytes()
    bits = x.astype("<f4").view("<u4").astype("u8")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()


def table(model, name, shape, owned):
    """The numbers that tiny_models.fill gives a tensor, by the same streams."""
    import numpy as np
    rng = np.random.RandomState(zlib.crc32(f"{model.split('-')[0]}/{name}".encode()))
    x = rng.standard_normal(tuple(shape)).astype(np.float32) * 0.05
    if len(shape) == 2 and shape[0] >= max(owned) + 1 and maker().is_table(name):
        x += rng.standard_normal((1, shape[1])).astype(np.float32) * 0.1
        spare = sorted(set(range(shape[0])) - owned)
        x[spare] = rng.standard_normal((len(spare), shape[1])).astype(np.float32) * 1e-3
    return x


def write_shard(path, model, tensors, owned):
    """Returns the bytes of its tensors."""
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, shape, _) in tensors.items():
        data = bytes_of(table(model, name, shape, owned), dtype)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return len(body)


def make_alone(folder, model):
    """The model's directory without torch: its tokenizer really trained, its tables by formula."""
    tiny, layout = maker(), LAYOUTS[model]
    spec = tiny.SPECS[model]
    kit = spec["kit"]()
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(dict(layout["config"]), indent=2) + "\n")
    files = dict(layout["files"])
    owned = set(kit.tok.get_vocab(True).values())
    total = sum(write_shard(folder / name, model, tensors, owned) for name, tensors in files.items())
    if len(files) > 1:
        where = {tensor: name for name, tensors in files.items() for tensor in tensors}
        (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": total}, "weight_map": where}))
    tiny.write_tokenizer(kit, str(folder), spec["layout"])


# ------------------------------------------------------------------------------------------------ recorded results
def tensors_of(path):
    """{name: (dtype, shape, bytes)} of a safetensors file."""
    raw = path.read_bytes()
    n, = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + n])
    header.pop("__metadata__", None)
    return {k: (v["dtype"], v["shape"], raw[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]]) for k, v in header.items()}


def sha(data):
    return hashlib.sha256(data).hexdigest()


def same_start(folder, s):
    """Do the tables that are to be resized have the recorded bytes?"""
    return all(sha(tensors_of(folder / t["file"])[name][2]) == t["sha256_before"] for name, t in s["tensors"].items())


def check_ids(s, out):
    if not s["new_ids"]:
        return
    r = tool("lookup", "--json", "-t", out, *(w for token in s["new_ids"] for w in ("--token", token)))
    got = {x["token"]: x["id"] for x in map(json.loads, r.stdout.splitlines())}
    assert got == s["new_ids"], (got, r.stderr)


def check_files(s, folder, out, alone):
    same = {p.name for p in out.iterdir() if (folder / p.name).exists() and (folder / p.name).read_bytes() == p.read_bytes()}
    changed = {p.name for p in out.iterdir()} - same
    if alone:  # files that transformers alone writes are not there
        want = {n for n in s["files_changed"] if (out / n).exists()}
        assert changed == want, (changed, want)
    else:
        assert (changed, same) == (set(s["files_changed"]), set(s["files_identical"])), (changed, same)
    assert {p.name for p in folder.iterdir()} <= {p.name for p in out.iterdir()}


def check_config(s, folder, out):
    a, b = (json.loads((d / "config.json").read_text()) for d in (folder, out))
    assert list(a) == list(b)
    assert [k for k in a if a[k] != b[k]] == s["config_keys_changed"]


def check_scenario(s, folder, alone):
    """One scenario; the message of a failure says which."""
    args = ["mixed.txt" if a == "FILE" else a for a in s["args"]]
    out = Path("out")
    shutil.rmtree(out, ignore_errors=True)
    r = tool("resize", folder, *args, "-o", out)
    assert r.returncode == s["exit"], r.stderr
    for name, t in s["tensors"].items():
        dtype, shape, data = tensors_of(out / t["file"])[name]
        assert (dtype, shape, sha(data)) == (t["dtype"], t["shape_after"], t["sha256_after"]), name
    check_ids(s, out)
    check_files(s, folder, out, alone)
    check_config(s, folder, out)
    checked = tool("check", out)
    assert checked.returncode == tool("check", folder).returncode, checked.stdout


def run_scenarios(folder_of, alone):
    done, skipped, bad = 0, [], []
    Path("mixed.txt").write_text("".join(t + "\n" for t in MIXED))
    for s in EXPECTED["scenarios"]:
        folder = folder_of(s["model"])
        if alone and not same_start(folder, s):
            skipped.append(s["name"])
            continue
        assert same_start(folder, s), f"{s['name']}: the model is not the one that was recorded"
        try:
            check_scenario(s, folder, alone)
            done += 1
        except AssertionError as e:
            bad.append(f"{s['name']}: {e}")
    assert not bad, "\n".join(bad)
    return done, skipped


def alone():
    """Scenarios on directories that are made without torch; tables whose stored name is not that of the class are left out."""
    for name in ("numpy", "tokenizers", "sentencepiece", "google.protobuf"):
        library(name)

    def folder_of(model):
        folder = Path("models") / model
        folder.parent.mkdir(exist_ok=True)
        if not folder.exists():
            make_alone(folder, model)
        return folder
    done, skipped = run_scenarios(folder_of, True)
    assert done >= 24, (done, skipped)


def scenarios():
    """Every scenario, on the models as they were recorded."""
    done, _ = run_scenarios(lambda model: made() / model, False)
    assert done == len(EXPECTED["scenarios"])


# ------------------------------------------------------------------------------------------------ refusals
def conflict(folder):
    """tokenizer.json says that <x> is 384, tokenizer_config.json 385."""
    entry = {"content": "<x>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    path, config = folder / "tokenizer.json", folder / "tokenizer_config.json"
    t, c = json.loads(path.read_text()), json.loads(config.read_text())
    t["added_tokens"].append({"id": 384, **entry})
    c["added_tokens_decoder"]["385"] = entry
    path.write_text(json.dumps(t))
    config.write_text(json.dumps(c))


def no_tokenizer(folder):
    for p in folder.iterdir():
        if p.name not in ("config.json", "model.safetensors", "generation_config.json"):
            p.unlink()


def cut_off(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-7])


CHANGES = {"refuse/no-tokenizer": no_tokenizer, "refuse/ids-conflict": conflict, "refuse/weights-cut-off": cut_off}
WORDS = {"refuse/no-tokenizer": ("tokenizer",), "refuse/rows-too-small": ("100", "384"), "refuse/pad-zero": ("--pad-to",),
         "refuse/empty-token": ("empty",), "refuse/ids-conflict": ("<x>", "384", "385"),
         "refuse/weights-cut-off": ("model.safetensors",), "refuse/output-exists": ("exists", "--force"),
         "refuse/tokens-file-not-utf8": ("UTF-8",), "copy/unknown-token": ("no-such-token-here",)}


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def refusals():
    """What must be refused: the words of the message, no output, the input untouched."""
    for name in ("numpy", "tokenizers"):
        library(name)
    make_alone(Path("gpt2"), "gpt2")
    Path("bad.txt").write_bytes(b"ok\n\xff\xfe\n")
    for r in EXPECTED["refusals"]:
        folder, out = Path("m"), Path("out")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree("gpt2", folder)
        CHANGES.get(r["name"], lambda f: None)(folder)
        if r["name"] == "refuse/output-exists":
            out.mkdir()
            (out / "file").write_text("kept")
        before, listed = contents(folder), sorted(os.listdir())
        got = tool("resize", folder, *("bad.txt" if a == "FILE" else a for a in r["args"]), "-o", out)
        allowed = (2, 3, 4, 5) if r["name"].startswith("refuse") else (1, 2, 3, 4, 5)
        assert got.returncode in allowed, (r["name"], got)
        assert all(w in got.stderr for w in WORDS[r["name"]]), (r["name"], got.stderr)
        assert contents(folder) == before and sorted(os.listdir()) == listed, r["name"]
        if out.exists():
            assert contents(out) == {"file": b"kept"}
            shutil.rmtree(out)


# ------------------------------------------------------------------------------------------------ PyTorch weights
def converts():
    """The line that a refusal of PyTorch weights prints keeps every tensor: shared, transposed, in any shard."""
    torch = library("torch")
    library("safetensors")
    from safetensors.torch import load_file
    folder = Path("pickled")
    folder.mkdir()
    table = torch.arange(12, dtype=torch.bfloat16).reshape(4, 3)
    shards = {"pytorch_model-00001-of-00002.bin": {"model.embed_tokens.weight": table, "lm_head.weight": table},
              "pytorch_model-00002-of-00002.bin": {"across": table.T, "flags": torch.tensor([True, False])}}
    for name, tensors in shards.items():
        torch.save(tensors, folder / name)
    index = {"metadata": {"total_size": 56}, "weight_map": {k: name for name, tensors in shards.items() for k in tensors}}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", "vocab_size": 4, "hidden_size": 3}))
    got = tool("resize", folder, "--rows", 5, "-o", "longer")
    assert got.returncode == 3 and "not rewritten" in got.stderr, got
    line = next(x for x in got.stderr.splitlines() if " python3 -c " in x).split("removed: ")[1]
    subprocess.run(line.replace("python3", sys.executable, 1), shell=True, check=True, cwd=folder)
    found, meant = load_file(folder / "model.safetensors"), {k: v for tensors in shards.values() for k, v in tensors.items()}
    assert set(found) == set(meant) and all(torch.equal(found[k], v) for k, v in meant.items()), found
    for path in folder.glob("pytorch_model*"):
        path.unlink()
    got = tool("resize", folder, "--rows", 5, "-o", "longer")
    assert got.returncode == 0, got


# ------------------------------------------------------------------------------------------------ transformers
TOKENS = (("<|tool|>", True), ("new word", False), ("naïve☃🙂", False))
TEXTS = ("The cat%ssat", "the cat %s sat", "%s", "Read the %s file")
OLD = "The cat sat on the warm stone wall and watched the river. naïve 12, 25"


@contextlib.contextmanager
def heard(lines):
    """What the libraries say meanwhile, on stderr and as warnings."""
    import logging
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logger = logging.getLogger("transformers")
    logger.addHandler(handler)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield
    logger.removeHandler(handler)
    lines += stream.getvalue().splitlines() + [str(w.message) for w in said]


def load(folder):
    """(tokenizer, model, keys that were missing ..., what was said); None where transformers cannot load the directory."""
    import torch
    import transformers
    said = []
    config = json.loads((folder / "config.json").read_text())
    with heard(said):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        cls = getattr(transformers, config["architectures"][0])
        model, info = cls.from_pretrained(folder, output_loading_info=True, torch_dtype=torch.float32)
    odd = {k: sorted(map(str, v)) for k, v in info.items() if v}
    return tokenizer, model.eval(), odd, [x.replace(str(folder), "DIR") for x in said]


def logits(model, ids, odd):
    """[len(ids), V]; where there is no head, or a random one: the last hidden states."""
    import torch
    ids = torch.tensor([ids])
    how = {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}
    with torch.no_grad():
        out = model(input_ids=ids, output_hidden_states="missing_keys" in odd, **how)
    if "missing_keys" in odd:
        return out.hidden_states[-1][0]
    return (out.logits if hasattr(out, "logits") else out.last_hidden_state)[0]


def check_tokens(before, after, first):
    """Each new token: one id, the next one; alone and inside texts; back to its text; old texts as before."""
    assert before(OLD).input_ids == after(OLD).input_ids, "an old text is split otherwise"
    for i, (token, special) in enumerate(TOKENS):
        assert after.convert_tokens_to_ids(token) == first + i, (token, after.convert_tokens_to_ids(token))
        assert after.decode([first + i], skip_special_tokens=False).strip() == token, token
        for text in TEXTS:
            got = after(text.replace("%s", token), add_special_tokens=False).input_ids
            assert got.count(first + i) == 1, (text, token, got)


def check_values(before, after, ids, rows, odd):
    """Old tokens' rows and logits, bit for bit; False: the model does not run as it is."""
    import torch
    old, new = (m.get_input_embeddings().weight for m in (before, after))
    assert torch.equal(old[:rows], new[:rows]), "old rows differ"
    try:
        a = logits(before, ids, odd)
    except Exception:
        return False
    b = logits(after, ids, odd)
    n = min(a.shape[-1], rows)
    assert torch.equal(a[:, :n], b[:, :n]), f"logits differ by {float((a[:, :n] - b[:, :n]).abs().max())}"
    return True


def check_model(folder, record):
    """Before and after, in one version of transformers; False: that cannot load or run the model as it is."""
    out = Path("resized-model")
    shutil.rmtree(out, ignore_errors=True)
    Path("plain.txt").write_text("".join(t + "\n" for t, s in TOKENS if not s))
    r = tool("resize", folder, "--add-tokens", TOKENS[0][0], "--tokens-file", "plain.txt", "-o", out)
    assert r.returncode == 0, r.stderr
    try:
        old = load(folder)
    except Exception:
        return False
    new = load(out)
    assert old[2] == new[2] and set(new[3]) <= set(old[3]), f"loading says {new[2:]}, before {old[2:]}"
    first = record["next_id"]
    check_tokens(old[0], new[0], first)
    if not check_values(old[1], new[1], old[0](OLD, add_special_tokens=False).input_ids[:12], first, old[2]):
        return False
    logits(new[1], [first, first + 1, first + 2], {})
    return True


def loads():
    """Every model that is resized loads as it did before."""
    torch = library("torch")
    transformers = library("transformers")
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_warning()
    transformers.logging.disable_progress_bar()
    bad, done, not_loaded = [], [], []
    for path in sorted(made().glob("*.json")):
        record = json.loads(path.read_text())
        if not any(f.endswith(".safetensors") for f in record["files"]):
            continue
        try:
            ok = check_model(made() / record["name"], record)
            (done if ok else not_loaded).append(record["name"])
        except AssertionError as e:
            bad.append(f"{record['name']}: {e}")
    print(f"transformers {transformers.__version__}: {len(done)} models; not loaded or not run as they are: {', '.join(not_loaded) or 'none'}")
    assert not bad, "\n".join(bad)
    assert len(done) > 45, (len(done), not_loaded)


if __name__ == "__main__":
    main([alone, refusals, scenarios, converts, loads])
