#!/usr/bin/env python3
"""Writes splits.json: small tokenizers, one for each step and option, and what the library tokenizers splits texts into.

    make_splits.py            in a Python with tokenizers 0.22 or later and sentencepiece

Each entry is {"tokenizer": a tokenizer.json, "splits": [[text, [id ...]], ...]}; ids are null where the library fails. The
texts and steps are those of tests/peers/check_encode.py, which compares many more at test time.
"""
import base64
import json
import random
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.argv = [sys.argv[0]]
sys.path.insert(0, str(HERE.parent / "peers"))
import tokenizers                                      # noqa: E402
import check_encode as peer                            # noqa: E402

TEXTS = ["", " ", "a", "The cat's  <s>sat.", " naïve Ångström ", "don't WE'LL x=1;y", "日本語テスト 한국어", "e\u0301a\u0308 \u0301x ½ ①", "<s> </s><s>x",
         "ﬁne ｆｕｌｌ ㍿…", "123456 7.89", "a\tb\r\n\nc ", "👩‍👩‍👧 🙂", "\u0000\u0001\u200b\ufeff\u00a0\ufffd", "snake_case the THE cat's İ", "▁▁x  ##ing"]
ALPHABET = [chr(c) for c in range(0x20, 0x7F)] + ["▁", "é", "日"]
BYTES = [f"<0x{i:02X}>" for i in range(256)]


def spelled():
    """Every character of ALPHABET is a piece, with a | in front where it goes on a word; others are unknown."""
    vocab = {p: i for i, p in enumerate(["?", *(c for c in ALPHABET if c != "?"), *("|" + c for c in ALPHABET)])}
    return {"type": "BPE", "dropout": None, "unk_token": "?", "continuing_subword_prefix": "|", "end_of_word_suffix": None,
            "fuse_unk": False, "byte_fallback": False, "vocab": vocab, "merges": []}


def unigram(draw, byte):
    pieces = sorted({t[i:j] for t in TEXTS for i in range(len(t)) for j in range(i + 1, min(len(t), i + 5) + 1)})
    pieces = ["<unk>", *(BYTES if byte else []), *draw.sample(pieces, 150)]
    return {"type": "Unigram", "unk_id": 0, "byte_fallback": byte, "vocab": [[p, -draw.randrange(1, 40) / 4] for p in pieces]}


def charsmap():
    import sentencepiece as spm
    from sentencepiece import sentencepiece_model_pb2 as pb
    with tempfile.TemporaryDirectory() as tmp:
        Path(tmp, "rules.tsv").write_text("FB01\t66 69\n2026\t2E 2E 2E\n65 301\tE9\n200B\t\n3000\t20\n")
        Path(tmp, "corpus").write_text("\n".join(TEXTS[2:] * 4))
        spm.SentencePieceTrainer.train(input=f"{tmp}/corpus", model_prefix=f"{tmp}/s", vocab_size=200, hard_vocab_limit=False,
                                       normalization_rule_tsv=f"{tmp}/rules.tsv", minloglevel=2)
        proto = pb.ModelProto()
        proto.ParseFromString(Path(tmp, "s.model").read_bytes())
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()}


def wordpiece(draw):
    pieces = ["[UNK]", *(c for c in ALPHABET), *("##" + c for c in ALPHABET), "the", "##ive", "cat", "##t", "na", "##ing", "日本"]
    return {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9,
            "vocab": {p: i for i, p in enumerate(pieces)}}


def cases():
    draw = random.Random(peer.SEED)
    meta = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    yield from (dict(model=spelled(), normalizer=n, pre=meta) for n in (*peer.NORMALIZERS[:17], peer.NORMALIZERS[19], peer.NORMALIZERS[-1], charsmap()))
    yield from (dict(model=spelled(), pre=p) for p in (*peer.SPLITS[:28], *peer.SPLITS[29:49:3]))
    yield from (dict(model=spelled(), pre={"type": "Split", "pattern": p, "behavior": b, "invert": False})
                for p, b in zip(peer.PATTERNS, peer.BEHAVIORS * 20))
    for normalizer in (None, peer.NORMALIZERS[4], {"type": "Prepend", "prepend": "▁"}):
        yield dict(model=spelled(), normalizer=normalizer, added=peer.ADDED)
    for prefix, suffix, fuse, ignore in ((None, None, False, True), ("##", None, True, False), (None, "</w>", True, True), ("##", "</w>", False, False)):
        yield dict(model=peer.bpe(draw, ALPHABET[:95], unk_token="?", fuse_unk=fuse, continuing_subword_prefix=prefix, end_of_word_suffix=suffix,
                                  ignore_merges=ignore), pre={"type": "WhitespaceSplit"})
    yield dict(model=peer.bpe(draw, ALPHABET[:60] + BYTES, byte_fallback=True))
    yield dict(model=peer.bpe(draw, ALPHABET[:60], unk_token="none"))
    yield dict(model=wordpiece(draw), pre={"type": "BertPreTokenizer"}, normalizer=peer.NORMALIZERS[17])
    yield dict(model={**wordpiece(draw), "type": "WordLevel"}, pre={"type": "Whitespace"})
    yield dict(model=unigram(draw, False), pre=meta)
    yield dict(model=unigram(draw, True))


def main():
    out = []
    with tempfile.TemporaryDirectory() as tmp:
        import os
        os.chdir(tmp)
        for case in cases():
            path = peer.tokenizer(case["model"], case.get("normalizer"), case.get("pre"), case.get("added", ())) / "tokenizer.json"
            t = tokenizers.Tokenizer.from_file(str(path))
            splits = []
            for text in TEXTS:
                try:
                    splits.append([text, t.encode(text, add_special_tokens=False).ids])
                except Exception:
                    splits.append([text, None])
            out.append({"tokenizer": json.loads(path.read_text()), "splits": splits})
    lines = ",\n".join(json.dumps(o, ensure_ascii=False, separators=(",", ":")) for o in out)
    (HERE / "splits.json").write_text(f"[\n{lines}\n]\n")
    print(f"{len(out)} tokenizers, {sum(len(o['splits']) for o in out)} texts, tokenizers {tokenizers.__version__}")


if __name__ == "__main__":
    main()
