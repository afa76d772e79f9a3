#!/usr/bin/env python3
"""Writes the files that fuzzing begins with: seeds.py DIR makes DIR/TARGET/ for every target.

They are the golden files, the malformed ones of tests/bad, and small texts that show a reader its own grammar.
"""
import hashlib
import json
import struct
import sys
import zlib
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "cases"), str(TESTS / "bad")]

import craft          # noqa: E402
import table_gguf     # noqa: E402
import table_ids      # noqa: E402
import table_kinds    # noqa: E402
import table_models   # noqa: E402
import table_npy      # noqa: E402
import table_safetensors  # noqa: E402
import table_torch    # noqa: E402
import table_words    # noqa: E402
import table_zip      # noqa: E402

LARGEST = 16384
BAD = [table_gguf, table_ids, table_kinds, table_models, table_npy, table_safetensors, table_torch, table_words,
       table_zip]

# Which targets a file is for: by the end of its name, or by a part of its path.
FOR = [
    ("npy", lambda n: n.endswith(".npy")), ("npy_ids", lambda n: n.endswith(".npy")),
    ("safetensors", lambda n: n.endswith(".safetensors")),
    ("word2vec", lambda n: n.endswith(".bin") and "hf/" not in n and "torch" not in n),
    ("text", lambda n: n.endswith((".txt", ".vec"))),
    ("torch", lambda n: n.endswith((".pt", ".pth", ".ckpt")) or ("torch" in n and n.endswith(".bin"))),
    ("gguf", lambda n: n.endswith(".gguf")),
    ("npz", lambda n: n.endswith(".npz")),
    ("inflate", lambda n: n.endswith(".gz")),
    ("zip", lambda n: n.endswith((".pt", ".pth", ".ckpt", ".npz", ".zip"))),
    ("tokenizer_json", lambda n: n.endswith("tokenizer.json") or ("tokenizers/" in n and n.endswith(".json"))),
    ("vocab_json", lambda n: n.endswith(("vocab.json", "added_tokens.json"))),
    ("vocab_lines", lambda n: n.endswith(".txt")),
    ("sentencepiece", lambda n: n.endswith((".model", ".spm"))),
    ("tiktoken", lambda n: n.endswith(".tiktoken")),
    ("tekken", lambda n: n.endswith("tekken.json")),
    ("config", lambda n: n.endswith("config.json")),
    ("index", lambda n: n.endswith("index.json")),
    ("json", lambda n: n.endswith(".json")),
    ("ids_text", lambda n: n.endswith((".ids", "ids.txt", "i.txt"))),
    ("any", lambda n: not n.endswith(".json")),
]

# What stands in front of the file, where the target takes options from the first bytes.
BEFORE = {"any": b"\0", "inflate": b"\1", "ids_text": b"\x10\x07", "json": b"\0\x2a"}

DECIMALS = ("0 -0 1 -1.5 .5 5. 1e5 1E-5 +2.25e+10 nan -nan inf -Infinity 0.1 123456789 1.7976931348623157e308 5e-324 "
            "2.2250738585072014e-308 9007199254740993 65504 65520 3.4028236e38 1.401298464324817e-45 1e400 1e-400 "
            "0x1p3 1_0 1,5 -- 1e 1e+ .e1 5.960464477539063e-08 8.5899345920e9 0.500000000000000166533453693773481063544"
            ).split()
EXPRESSIONS = ["king - man + woman", "-king + 2*queen", "0.5*a + b", "+ a", "a -", "a b", "2* - -", "nan*a",
               "1e400*x + y", "  a  ", "-", "", "a\t+\nb - c"]
IDS = ["0 1 2\n3 4 5\n", "[[1,2],[3]]", "[1, 2 ,3]", "0,1,,2", "[", "]", "00000000000000000000000007", "-1", "1\r\n2\r\n",
       "[]", "[[],[0]]\n[1]", "18446744073709551616", "9 [8]", "\n\n1\n", "1, 2\n,3"]
JSONS = ['{"a":[1,2.5e-3,"x\\u00e9\\ud83d\\ude00",null,true,false,{}],"b":"","a":[[]]}', "[NaN,-Infinity,Infinity]",
         '"\\b\\f\\n\\r\\t\\/\\\\\\""', "-0", "18446744073709551615", "-9223372036854775808", "[" * 129,
         "[1,]", '{"a":1,}', "01", "1.",
         '"\\ud800"', "\ufeff1", "[1] x", '{"a" 1}', "\t[\n]\r ", "1e", '"\x01"',
         '["a","b","c","d" ,"e", "f"]', '[["a","b"],["c","d"],["e","f"],["g"]]',
         '[[\n  "a",\n  "b"\n],[\n  "c",\n  "d"\n],[\n  "e",\n  "f"\n],[\n  "g"]',
         '{"m":["a",{"k":1},"b",{"k":1},"c",{"k":1},"d"],"n":["a b","b c","c d","d e"}']
CONFIGS = [{"model_type": "llama", "vocab_size": 32000, "hidden_size": 64, "tie_word_embeddings": False},
           {"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 8, "vocab_size": 9}},
           {"model_type": "t5", "d_model": 8, "text_encoder": {}, "n_embd": 7, "vocab_size": "x"}]
ROPES = [("linear:4", {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 5e5}),
         ("yarn:factor=4,original_max_position_embeddings=64,truncate=false,beta_fast=16",
          {"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0,
                               "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}}),
         ("longrope:short_factor=[1,1,1,1,1,1,1,1],long_factor=[1,2,3,4,5,6,7,8],original_max_position_embeddings=9",
          {"model_type": "gptj", "n_embd": 32, "n_head": 2, "rotary_dim": None}),
         ("dynamic:factor=2,max_position_embeddings=50", {"text_config": {"rope_scaling": {"type": "su", "long_factor": [2.0]}}}),
         ("llama3:factor=8,low_freq_factor=1,high_freq_factor=4,original_max_position_embeddings=90",
          {"rope_scaling": {"type": "yarn", "factor": 2, "mscale": 1, "mscale_all_dim": 0.5,
                            "original_max_position_embeddings": 64, "attention_factor": None}}),
         ("ntk:alpha=3", {"rope_scaling": {"rope_type": "dynamic", "alpha": 1000.0}, "head_dim": 128})]
INDEXES = [{"metadata": {"total_size": 8},
            "weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors", "c": "m-1.safetensors"}},
           {"weight_map": {"a": "../x"}}, {"weight_map": {}}, {"weight_map": {"a": 1}}]
VOCABS = [{"a": 0, "b": 1, "\u0120c": 2, "<pad>": 5}, {"a": 0, "b": 0}, {"a": 4000000000}, {"": 0, "\u0000": 1}]
UTF8 = [b"abc\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
        b"\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80", b"\xe2\x82", b"\x80\xbf\xf8\xff"]
BASE64 = [b"aGVsbG8=", b"aGVsbG8", b"aGVsbA==", b"aGVsbB==", b"====", b"+/+/"]


def tokenizer(model, **more):
    return {"added_tokens": [{"id": 4, "content": "<x>", "special": True}], "model": model, **more}


TOKENIZERS = [
    tokenizer({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120c": 3}, "merges": ["a b"]},
              decoder={"type": "ByteLevel"}),
    tokenizer({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["\u2581a", -1.5], ["<0x0A>", -2]]},
              decoder={"type": "Sequence", "decoders": [
                  {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"},
                  {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}),
    tokenizer({"type": "WordPiece", "vocab": {"a": 0, "##b": 1}},
              decoder={"type": "WordPiece", "prefix": "##", "cleanup": True}),
    tokenizer({"type": "WordLevel", "vocab": {"a": 0, "b": 1}}, decoder=None),
    tokenizer({"vocab": {"a": 0, "b</w>": 1}}, decoder={"type": "BPEDecoder", "suffix": "</w>"}),
    tokenizer({"vocab": {"\u2581a": 0}}, decoder={"type": "Metaspace", "replacement": "\u2581"}),
]
LEVEL = {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1}}
CHARSMAP = "CAAAAAAEAABhAQAAeAA="       # a trie of two units, and a text
ENCODERS = [
    *({"normalizer": {"type": t}, "model": LEVEL} for t in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel")),
    {"normalizer": {"type": "Sequence", "normalizers": [
        {"type": "Strip", "strip_left": True, "strip_right": False}, {"type": "Prepend", "prepend": "\u2581"},
        {"type": "Replace", "pattern": {"Regex": " {2,}|[a-c&&[^b]]"}, "content": "x"}, {"type": "Precompiled", "precompiled_charsmap": CHARSMAP},
        {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}]},
     "model": {"type": "WordPiece", "unk_token": "?", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9,
               "vocab": {"?": 0, "a": 1, "##b": 2}}},
    *({"pre_tokenizer": {"type": t}, "model": LEVEL} for t in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "ByteLevel", "FixedLength")),
    {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"String": "<"}, "behavior": "MergedWithNext", "invert": False},
        {"type": "Split", "pattern": {"Regex": "\\p{N}{1,3}+|(?i:'s)|\\s+(?!\\S)"}, "behavior": "MergedWithPrevious", "invert": True},
        {"type": "Digits", "individual_digits": False}, {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "CharDelimiterSplit", "delimiter": "o"},
        {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True}]},
     "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": True, "vocab": [["?", -9], ["a", -1.5], ["\u2581a", -2], ["<0xC3>", 0], ["<0xA9>", 0]]}},
    {"model": {"type": "BPE", "unk_token": "?", "fuse_unk": True, "byte_fallback": True, "ignore_merges": True, "continuing_subword_prefix": "##",
               "end_of_word_suffix": "</w>", "vocab": {"?": 0, "a": 1, "##b": 2, "ab": 3, "##b</w>": 4, "<0xC3>": 5}, "merges": ["a ##b", ["a", "##b"]]}},
]
PATTERNS = ["\\p{N}{1,3}+", "(?i:'s|'t)|\\s+(?!\\S)", "[^\\r\\n\\p{L}]?\\p{Lu}*", "[\\p{Han}&&[^a]]", "[[:^punct:]\\d-]", "a(?i)b|c{,2}?", "(?<n>.)\\k<n>\\1",
            "\\bx\\B", "^.$", "\\x{41}\\u0042", "[]a[b]", "(?<=a)b(?!c)", "(a|b)*+c"]
TEKKEN = {"config": {"default_vocab_size": 4, "default_num_special_tokens": 2, "pattern": "x"},
          "vocab": [{"rank": 0, "token_bytes": "YQ==", "token_str": "a"},
                    {"rank": 1, "token_bytes": "/w==", "token_str": None}],
          "special_tokens": [{"rank": 0, "token_str": "<unk>", "is_control": True}]}


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, wire, data):
    return varint(number << 3 | wire) + (varint(len(data)) + data if wire == 2 else data)


def piece(text, kind=1):
    return field(1, 2, field(1, 2, text) + field(2, 5, struct.pack("<f", -1.0)) + field(3, 0, varint(kind)))


SENTENCEPIECE = piece(b"<unk>", 2) + piece(b"<s>", 3) + piece("\u2581a".encode()) + piece(b"<0x0A>", 6) + field(
    2, 2, field(3, 0, b"\1")) + field(3, 2, field(3, 0, b"\0"))


def crafted():
    """(target, bytes) of what no golden file shows."""
    yield from (("decimal", d.encode()) for d in DECIMALS)
    yield from (("expr", e.encode()) for e in EXPRESSIONS)
    yield from (("ids_text", b"\x10\x03" + i.encode()) for i in IDS)
    yield from (("json", bytes([flag, 0x5A]) + j.encode()) for j in JSONS for flag in (0, 1))
    yield from (("config", json.dumps(c).encode()) for c in CONFIGS)
    yield from (("rope", scaling.encode() + b"\n" + json.dumps(config).encode()) for scaling, config in ROPES)
    yield from (("index", json.dumps(c).encode()) for c in INDEXES)
    yield from (("vocab_json", json.dumps(v).encode()) for v in VOCABS)
    yield from (("tokenizer_json", json.dumps(t).encode()) for t in TOKENIZERS)
    yield from (("encode", json.dumps(t).encode()) for t in ENCODERS)
    yield from (("regex", bytes([len(p.encode())]) + p.encode() + " a\u00e9b 12's\nABC\u4e2d".encode()) for p in PATTERNS)
    yield from (("utf8", u) for u in UTF8)
    yield from (("base64", b) for b in BASE64)
    yield "tekken", json.dumps(TEKKEN).encode()
    yield "sentencepiece", SENTENCEPIECE
    yield "tiktoken", b"YQ== 0\nYg== 1\nYWI= 2\n"
    yield "vocab_lines", b"[PAD]\na\n##b\r\n\nc"
    for data in (b"", b"abc" * 9, bytes(range(256)), bytes(3000)):
        for level in (0, 1, 9):
            packer = zlib.compressobj(level, zlib.DEFLATED, -15)
            yield "inflate", b"\0" + packer.compress(data) + packer.flush()
    for dtype in range(1, 19):
        yield "raw", bytes([dtype, 2, 0, 0]) + bytes(range(1, 65))
    yield "raw", bytes([2, 3, 2, 4]) + craft.encode("f32", [9, 1, 2, 3, 4, 5, 6]) + b"\xff\xff"
    for dtype in ("f64", "f16", "bf16", "u64", "i8"):
        yield "npy", craft.npy([[1, 2], [3, 4]], dtype)


def pickles():
    """data.pkl of the zips, and old files, which begin with pickles."""
    for path in sorted((TESTS / "data/golden").glob("torch*/**/*")):
        data = path.read_bytes() if path.is_file() else b""
        at = data.find(b"\x80\x02")
        if 0 <= at:
            yield "pickle", data[at:data.find(b"PK\7\10", at) if data[:2] == b"PK" else len(data)]


def found():
    files = [(str(p), p.read_bytes()) for p in sorted((TESTS / "data/golden").rglob("*")) if p.is_file()]
    files += [(n, d) for table in BAD for case in table.CASES for n, d in case.files.items()]
    files += [("vocab.txt", case.stdin) for table in BAD for case in table.CASES if case.stdin]
    for name, data in files:
        for target, wants in FOR:
            if len(data) <= LARGEST and wants(name):
                yield target, BEFORE.get(target, b"") + data


def main():
    folder = Path(sys.argv[1])
    for target, data in [*found(), *crafted(), *pickles()]:
        place = folder / target
        place.mkdir(parents=True, exist_ok=True)
        (place / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)


if __name__ == "__main__":
    main()
