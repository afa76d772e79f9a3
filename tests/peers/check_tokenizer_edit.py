"""Tokenizer files that were edited, as loaders read them: each new token is one id, the planned one, and decodes back; old
texts keep their ids. Read by the tokenizers library and by transformers, without torch.

tests/data/tiny_models.py makes the tokenizers of every layout; expected ids are the trained tokenizer's largest plus 1, 2 ...
"""
import json
import os
import shutil
import subprocess
from pathlib import Path

from peer import TOOL, library, main
from tiny import maker

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_OFFLINE"] = "1"
EDIT = Path(TOOL).parent / "tests/peers/edit_tokenizer"
NEW = (("--special", "<|tool|>"), ("--add", "new word"), ("--add", "naïve☃🙂"), ("--add", 'q"uo\\te\tx, y'), ("--special", "<|im_x|>"))
TEXTS = ("The cat%ssat", "the cat %s sat", "%s", "%s%s end", "Read the %s file")
OLD = ("The cat sat on the warm stone wall. naïve readers, 12 25", "walked to the <s> bridge")
ROLES_ONLY = ("MarianTokenizer",)  # a class in Python: what is special there is said by roles alone
OWN_TOKENS = ("T5Tokenizer",)      # in the oldest layout no file has their ids


def kits():
    """(name, kit, layout) of every tokenizer, in its layout and in the oldest one."""
    for name in ("numpy", "tokenizers", "transformers", "sentencepiece", "google.protobuf"):
        library(name)
    tiny_models = maker()
    seen = set()
    for name, spec in tiny_models.SPECS.items():
        kit = spec["kit"]()
        for layout in (spec["layout"], "old"):
            key = (spec["kit"], kit.cls, layout)
            if key in seen or (layout == "old" and (not kit.side or kit.cls in OWN_TOKENS)):
                continue
            seen.add(key)
            folder = Path(f"{name}-{layout}")
            folder.mkdir()
            kind, _ = spec["config"](600, kit.tok.token_to_id)
            (folder / "config.json").write_text(json.dumps({"model_type": kind}))
            tiny_models.write_tokenizer(kit, str(folder), layout)
            yield folder, kit, layout


def edit(source, *options):
    """A copy of the directory with the files that changed; (where, their names)."""
    out = Path(f"{source}-edited")
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(source, out)
    r = subprocess.run([EDIT, source, out, *options], capture_output=True, text=True)
    assert r.returncode == 0, (source, options, r.stderr)
    return out, r.stdout.split()


def loaders(folder):
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer
    yield "transformers", AutoTokenizer.from_pretrained(folder)
    if (folder / "tokenizer.json").exists():
        yield "tokenizers", Tokenizer.from_file(str(folder / "tokenizer.json"))


def encode(loader, text):
    got = loader.encode(text, add_special_tokens=False)
    return got if isinstance(got, list) else got.ids


def id_of(loader, token):
    return loader.convert_tokens_to_ids(token) if hasattr(loader, "convert_tokens_to_ids") else loader.token_to_id(token)


def one_token(what, loader, token, want, special):
    assert id_of(loader, token) == want, (what, token, id_of(loader, token), want)
    assert loader.decode([want], skip_special_tokens=False).strip() == token.strip(), (what, token)
    for text in TEXTS:
        got = encode(loader, text.replace("%s", token))
        assert got.count(want) == text.count("%s"), (what, text, token, got)
    left = loader.decode([want], skip_special_tokens=True)
    if type(loader).__name__ not in ROLES_ONLY:
        assert (left.strip() == "") == special, (what, token, left)


def new_tokens():
    """Every layout and class: each new token has its id, alone, inside a text and on the way back."""
    done = 0
    for folder, kit, layout in kits():
        first = max(kit.tok.get_vocab(True).values()) + 1
        out, changed = edit(folder, *(word for pair in NEW for word in pair))
        assert "vocab.json" not in changed and "vocab.txt" not in changed, (folder, changed)
        for (name, before), (_, after) in zip(loaders(folder), loaders(out)):
            for text in OLD:
                assert encode(before, text) == encode(after, text), (str(folder), name, text)
            for i, (how, token) in enumerate(NEW):
                one_token((str(folder), name), after, token, first + i, how == "--special")
        done += 1
    assert done > 40, done


def filled_gaps():
    """A gap that is filled: old and new tokens have the ids that are written, in both libraries."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    done = 0
    for folder, kit, layout in kits():
        if layout not in ("v4", "slow"):
            continue
        last = max(kit.tok.get_vocab(True).values())
        path, config = folder / "tokenizer.json", folder / "tokenizer_config.json"
        c = json.loads(config.read_text())
        c["added_tokens_decoder"][str(last + 4)] = {"content": "<g>", **flags}
        config.write_text(json.dumps(c, indent=2))
        if path.exists():
            t = json.loads(path.read_text())
            t["added_tokens"].append({"id": last + 4, "content": "<g>", **flags})
            path.write_text(json.dumps(t, indent=2))
        refused = subprocess.run([EDIT, folder, folder, "--add", "<n>"], capture_output=True, text=True)
        assert refused.returncode == 3 and str(last + 1) in refused.stderr, (str(folder), refused)
        out, _ = edit(folder, "--special", "<n>", "--fill")
        for name, loader in loaders(out):
            got = id_of(loader, "<g>"), id_of(loader, "<n>")
            assert got == (last + 4, last + 5), (str(folder), name, got)
        done += 1
    assert done > 15, done


def names_and_roles():
    """A reserved token gets a name and a role: the same id, the old name gone, other texts as before."""
    done = 0
    for folder, kit, layout in kits():
        reserved = {"<|reserved_special_token_0|>", "[unused1]", "<unused0>", "<|placeholder1|>"} & set(kit.tok.get_vocab(True))
        if not reserved or (kit.cls == "GemmaTokenizer" and layout != "v4"):
            continue
        old, = reserved
        want = kit.tok.token_to_id(old)
        if layout not in ("v4", "v433", "bare") and any(name.endswith(".model") for name in kit.side):
            continue  # a piece of a SentencePiece model, or not: its file is the only one that counts
        out, _ = edit(folder, "--rename", old, "<|tool|>", "--role", "pad", "<|tool|>")
        for (name, before), (_, after) in zip(loaders(folder), loaders(out)):
            assert id_of(after, "<|tool|>") == want, (str(folder), name)
            assert id_of(after, old) != want, (str(folder), name)
            assert want in encode(after, "The<|tool|>sat"), (str(folder), name)
            for text in OLD:
                assert encode(before, text) == encode(after, text), (str(folder), name, text)
            if name == "transformers":
                assert (after.pad_token, after.pad_token_id) == ("<|tool|>", want), (str(folder), after.pad_token)
        assert json.loads((out / "config.json").read_text())["pad_token_id"] == want
        done += 1
    assert done > 5, done


if __name__ == "__main__":
    main([new_tokens, filled_gaps, names_and_roles])
