"""Malformed GGUF files. Places are byte offsets in the file.

Rules: docs/gguf.md of ggml, and what its reader (gguf.cpp) refuses; split files as llama-model-loader.cpp of llama.cpp.
"""
import struct

from case import Case
from craft import encode, gguf, gguf_str, safetensors, tensor

ROWS = encode("f32", [1, 2, 3, 4])
U32, STR, ARRAY, U64 = 4, 8, 9, 10


def header(kv=(), infos=(), version=3, n_kv=None, n_tensors=None, order="<"):
    """Keys and infos are bytes; the counts may lie."""
    return struct.pack(f"{order}4sIQQ", b"GGUF", version, len(infos) if n_tensors is None else n_tensors,
                       len(kv) if n_kv is None else n_kv) + b"".join(kv) + b"".join(infos)


def info(name="a", ne=(2, 2), kind=0, offset=0):
    return gguf_str(name) + struct.pack(f"<I{len(ne)}QIQ", len(ne), *ne, kind, offset)


def value(kind, data=b"", key="k"):
    return gguf_str(key) + struct.pack("<I", kind) + data


def array(kind, n, data=b"", key="k"):
    return value(ARRAY, struct.pack("<IQ", kind, n) + data, key)


def padded(head, data=ROWS, align=32):
    return head + bytes(-len(head) % align) + data


def file(name, data, err, args="stats t.gguf", code=3):
    return Case("gguf: " + name, args, code, f"t.gguf: {err}", {"t.gguf": data})


def key(name, kv, err):
    return file("key: " + name, padded(header([*kv], [info()])), err)


def infos(name, list_, err, data=ROWS):
    return file("tensor: " + name, padded(header([], list_), data), err)


def model(kv=(), tensors=(("token_embd.weight", [2, 2], "f32", ROWS),)):
    return gguf([("general.architecture", "str", "llama"), *kv], tensors)


def tokens(name, kv, err):
    return Case("gguf: tokens: " + name, "lookup --token a -t t.gguf", 3, f"t.gguf: {err}", {"t.gguf": model(kv)})


def split(no, count, total, *tensors, more=()):
    return model([("split.no", "u16", no), ("split.count", "u16", count), ("split.tensors.count", "i32", total), *more],
                 tensors)


EMBEDDING = ("token_embd.weight", [2, 2], "f32", ROWS)
HEAD = ("output.weight", [2, 2], "f32", ROWS)
ONE, TWO = "m-00001-of-00002.gguf", "m-00002-of-00002.gguf"


def parts(name, one, two, err, args=f"stats {ONE}", code=3, path=None):
    files = {k: v for k, v in ((ONE, one), (TWO, two)) if v is not None}
    return Case("gguf: parts: " + name, args, code, f"{path or args.split()[-1]}: {err}", files)


CASES = [
    # the magic, the version, the counts
    file("another magic", b"GGUX" + header()[4:], 'expected the bytes "GGUF" first, found "GGUX"'),
    file("the magic alone", b"GGUF", "version: expected 4 bytes at 4, the file ends at 4"),
    file("version 0", header(version=0), "GGUF of version 0: expected 1 to 3"),
    file("version 4", header(version=4), "GGUF of version 4: expected 1 to 3"),
    file("version 4, big-endian", header(version=4, order=">"), "GGUF of version 4: expected 1 to 3"),
    file("version 9, another name", header(version=9), "GGUF of version 9: expected 1 to 3"),
    file("cut in tensor_count", header()[:11], "tensor_count: expected 8 bytes at 8, the file ends at 11"),
    file("cut in kv_count", header()[:23], "kv_count: expected 8 bytes at 16, the file ends at 23"),
    file("no tensor", header(), "the file holds no tensor"),
    file("2^60 tensors", padded(header(infos=[info()], n_tensors=2 ** 60)),
         "tensor_count is 1152921504606846976, of at least 24 bytes each: 88 bytes are left at 24"),
    file("one tensor too many", padded(header(infos=[info()], n_tensors=2)),
         "tensor '': expected the offset 32, behind the tensor before it, found 0"),
    file("2^64-1 keys", padded(header([value(U32, bytes(4))], [info()], n_kv=2 ** 64 - 1)),
         "kv_count is 18446744073709551615, of at least 14 bytes each: 88 bytes are left at 24"),
    file("big-endian, cut", header(n_tensors=1, order=">"),
         "tensor_count is 1, of at least 24 bytes each: 0 bytes are left at 24"),
    # keys
    key("empty", [value(U32, bytes(4), "")], "key 1 is empty"),
    key("twice", [value(U32, bytes(4)), value(U32, bytes(4), "other"), value(STR, gguf_str("x"))],
        "key 'k' is there twice"),
    key("of 2^40 bytes", [struct.pack("<Q", 2 ** 40)],
        "key 1: a string of 1099511627776 bytes, at most 1073741824 are allowed"),
    key("of 2^30 bytes", [struct.pack("<Q", 2 ** 30) + b"k"],
        "key 1: expected 1073741824 bytes at 32, the file ends at 112"),
    key("type 13", [value(13, bytes(8))], "key 'k': type: expected 0 to 12, found 13"),
    file("key: a type that version 1 has not",
         struct.pack("<4sIIII", b"GGUF", 1, 0, 1, 1) + b"k" + struct.pack("<I", U64) + bytes(8),
         "key 'k': type: expected 0 to 9, found 10"),
    key("a string of 2^63 bytes", [value(STR, struct.pack("<Q", 2 ** 63))],
        "key 'k': a string: a string of 9223372036854775808 bytes, at most 1073741824 are allowed"),
    file("key: a cut string", header([value(STR, struct.pack("<Q", 9) + b"12345678")]),
         "key 'k': a string: expected 9 bytes at 45, the file ends at 53"),
    file("key: a cut number", header([value(U64, bytes(7))]),
         "key 'k': u64: expected 8 bytes at 37, the file ends at 44"),
    key("an array of arrays", [array(ARRAY, 1, struct.pack("<IQ", U32, 1) + bytes(4))],
        "key 'k': an array of arrays: not read"),
    key("an array of type 99", [array(99, 1, bytes(8))],
        "key 'k': type of an array's elements: expected 0 to 12, found 99"),
    key("an array of 2^60 numbers", [array(U32, 2 ** 60)],
        "key 'k': an array of 1152921504606846976 elements, at most 1073741824 are allowed"),
    key("an array of 2^30 numbers", [array(U32, 2 ** 30)],
        "key 'k': an array: expected 4294967296 bytes at 49, the file ends at 112"),
    key("an array of 2^60 strings", [array(STR, 2 ** 60)],
        "key 'k': an array of 1152921504606846976 elements, at most 1073741824 are allowed"),
    key("an array of 2^30 strings", [array(STR, 2 ** 30)],
        "key 'k': an array of 1073741824 strings; more than 4194304 are not believed"),
    file("key: a cut array of strings", header([array(STR, 3, gguf_str("ab") + gguf_str("c"))]),
         "key 'k': a string: expected 8 bytes at 68, the file ends at 68"),
    key("alignment of 64 bits", [value(U64, struct.pack("<Q", 32), "general.alignment")],
        "general.alignment: expected a u32, found a value of type u64"),
    key("alignment 0", [value(U32, bytes(4), "general.alignment")],
        "general.alignment: expected a power of two, found 0"),
    key("alignment 48", [value(U32, struct.pack("<I", 48), "general.alignment")],
        "general.alignment: expected a power of two, found 48"),
    # tensors
    infos("a name of 64 bytes", [info("x" * 64)],
          f"tensor '{'x' * 64}': a name of 64 bytes, at most 63 are allowed"),
    infos("twice", [info(), info(offset=32)], "tensor 'a' is there twice", ROWS + bytes(16) + ROWS),
    infos("5 axes", [info(ne=(1, 1, 1, 2, 2))], "tensor 'a': 5 axes, at most 4 are allowed"),
    infos("2^32-1 axes", [gguf_str("a") + struct.pack("<I", 2 ** 32 - 1)],
          "tensor 'a': 4294967295 axes, at most 4 are allowed"),
    infos("a negative size", [info(ne=(2, 2 ** 64 - 1))],
          "tensor 'a': shape [18446744073709551615, 2] of f32 is too large"),
    infos("2^63 elements", [info(ne=(2 ** 31, 2 ** 32))],
          "tensor 'a': shape [4294967296, 2147483648] of f32 is too large"),
    infos("2^62 elements of 8 bytes", [info(ne=(2 ** 31, 2 ** 31), kind=28)],
          "tensor 'a': shape [2147483648, 2147483648] of f64 is too large"),
    infos("4 axes that overflow", [info(ne=(2 ** 32, 2 ** 32, 2 ** 32, 2 ** 32))],
          "tensor 'a': shape [4294967296, 4294967296, 4294967296, 4294967296] of f32 is too large"),
    infos("type 43", [info(kind=43)], "tensor 'a': element type 43 is none of ggml's"),
    *(infos(f"type {n}, which was removed", [info(kind=n)], f"tensor 'a': element type {n} is none of ggml's")
      for n in (4, 5, 31, 32, 33, 36, 37, 38)),
    infos("part of a block", [info(ne=(33, 2), kind=8)],
          "tensor 'a': shape [2, 33]: rows of 33 are no whole blocks of q8_0, which have 32 elements"),
    infos("a block across rows", [info(ne=(128, 2), kind=12)],
          "tensor 'a': shape [2, 128]: rows of 128 are no whole blocks of q4_k, which have 256 elements"),
    infos("a gap before the first", [info(offset=32)],
          "tensor 'a': expected the offset 0, behind the tensor before it, found 32"),
    infos("offset 2^40", [info(offset=2 ** 40)],
          "tensor 'a': expected the offset 0, behind the tensor before it, found 1099511627776"),
    infos("two in one place", [info(), info("b")],
          "tensor 'b': expected the offset 32, behind the tensor before it, found 0"),
    infos("an offset that is not padded", [info(), info("b", offset=16)],
          "tensor 'b': expected the offset 32, behind the tensor before it, found 16"),
    infos("sizes that add up to 2^63", [info(ne=(2 ** 60,)), info("b", (2 ** 60,), offset=2 ** 62)],
          "tensor 'b': the tensors up to here have 2^63 bytes or more"),
    file("tensor: cut in its info", header([], [info()])[:-1],
         "tensor 'a': offset: expected 8 bytes at 57, the file ends at 64"),
    # data that are not there
    infos("2^40 wide", [info(ne=(2 ** 40, 2))],
          "tensor 'a': shape [2, 1099511627776]: d is above 4294967295"),
    infos("2^40 rows", [info(ne=(2, 2 ** 40))],
          "tensor 'a': expected 8796093022208 bytes at 96, the file ends at 112; its first 2 rows are there"),
    file("tensor: no data", header([], [info()]), "tensor 'a': expected 16 bytes at 96, the file ends at 65"),
    infos("a byte less", [info()],
          "tensor 'a': expected 16 bytes at 96, the file ends at 111; its first 1 rows are there", ROWS[:-1]),
    # what can be listed only
    infos("a type that is not computed with", [info(ne=(256, 1), kind=16)],
          "tensor 'a': elements of type iq2_xxs can be listed only", bytes(66)),
    file("big-endian blocks, cut",
         padded(header([], [struct.pack(">Q", 1) + b"a" + struct.pack(">IQQIQ", 2, 32, 1, 8, 0)], order=">"), bytes(33)),
         "tensor 'a': expected 34 bytes at 96, the file ends at 129"),
    file("no table among many", model(tensors=[("a.weight", [2], "f32", ROWS[:8]), ("b.weight", [2], "f32", ROWS[:8])]),
         "none of the 2 tensors is a table [V, d]"),
    # the vocabulary
    tokens("no array", [("tokenizer.ggml.tokens", "u32", 5)], "tokenizer.ggml.tokens: expected an array of strings"),
    tokens("of numbers", [("tokenizer.ggml.tokens", "[u32]", [1, 2])],
           "tokenizer.ggml.tokens: expected an array of strings"),
    tokens("fewer scores", [("tokenizer.ggml.tokens", "[str]", ["a", "b"]), ("tokenizer.ggml.scores", "[f32]", [0])],
           "tokenizer.ggml.scores has 1 entries, tokenizer.ggml.tokens 2"),
    tokens("types of 64 bits", [("tokenizer.ggml.tokens", "[str]", ["a", "b"]),
                                ("tokenizer.ggml.token_type", "[u64]", [1, 1])],
           "tokenizer.ggml.token_type: expected an array of i32"),
    Case("gguf: tokens: a vocabulary that has none", "lookup a -t t.gguf --vocab t.gguf", 3,
         "t.gguf: t.gguf: a GGUF file without tokenizer.ggml.tokens", {"t.gguf": model()}),
    # parts
    parts("split.count is not that of the name", split(0, 3, 2, EMBEDDING), split(1, 2, 2, HEAD),
          f"{ONE}: split.count: expected 2, by its name, found 3"),
    parts("split.count of another part", split(0, 2, 2, EMBEDDING), split(1, 5, 2, HEAD),
          f"{TWO}: split.count: expected 2, by its name, found 5"),
    parts("one part twice", split(0, 2, 2, EMBEDDING), split(0, 2, 2, HEAD),
          f"{TWO}: split.no: expected 1, by its name, found 0"),
    parts("another number of tensors", split(0, 2, 3, EMBEDDING), split(1, 2, 3, HEAD),
          f"{ONE}: split.tensors.count is 3, the parts have 2 tensors"),
    parts("a tensor in both", split(0, 2, 2, EMBEDDING), split(1, 2, 2, EMBEDDING),
          "tensor 'token_embd.weight' is there twice"),
    parts("another format", split(0, 2, 2, EMBEDDING), safetensors({"a": tensor([[1, 2], [3, 4]])}),
          f"{TWO}: is Hugging Face safetensors, not GGUF"),
    parts("a damaged one", split(0, 2, 2, EMBEDDING), b"GGUF",
          f"{TWO}: version: expected 4 bytes at 4, the file ends at 4"),
    parts("the first is missing", None, split(1, 2, 2, HEAD), f"{ONE}, a part of the model, is not there", code=4,
          args=f"stats {TWO}"),
    parts("the head is missing", split(0, 2, 2, EMBEDDING), None, f"{TWO}, a part of the model, is not there", code=4,
          args=f"lookup 0 --head -t {ONE}"),
    parts("a named tensor is missing", split(0, 2, 2, EMBEDDING), None,
          f"no tensor 'output.weight' here: {TWO}, a part of the model, is not there", code=4,
          args=f"lookup 0 -t {ONE}#output.weight", path=f"{ONE}#output.weight"),
    Case("gguf: parts: another name", "lookup 0 --head -t t.gguf", 3,
         "t.gguf: it is part 1 of 2 of a model, under a name that does not say where the others are",
         {"t.gguf": split(0, 2, 2, EMBEDDING)}),
    # directories
    Case("gguf: several in a directory", "stats .", 3, ".: 2 GGUF models are here: name one of a.gguf, m-00001-of-"
         "00002.gguf", {"a.gguf": model(), ONE: split(0, 2, 2, EMBEDDING), TWO: split(1, 2, 2, HEAD)}),
    Case("gguf: another model between two parts", "stats .", 3, ".: 2 GGUF models are here: name one of "
         f"{ONE}, m-00002-of-00002-x.gguf", {ONE: b"", "m-00002-of-00002-x.gguf": b"", TWO: b""}),
    Case("gguf: models of other numbers of parts", "stats .", 3, ".: 2 GGUF models are here: name one of "
         f"{ONE}, m-00001-of-00003.gguf", {ONE: b"", "m-00001-of-00003.gguf": b"", TWO: b"", "m-00003-of-00003.gguf": b""}),
    Case("gguf: resize", "resize t.gguf --add-tokens x -o r.gguf", 3,
         "t.gguf: GGUF is read, not rewritten: resize the model that it was converted from",
         {"t.gguf": model([("tokenizer.ggml.tokens", "[str]", ["a", "b"])])}),
    Case("gguf: resize of a directory", "resize . --add-tokens x -o r", 3,
         ".: the weights are GGUF, which is read, not rewritten: resize the model that it was converted from", {"t.gguf": model()}),
    Case("gguf: check", "check .", 3, ".: the weights are GGUF: expected a model of safetensors or "
         "PyTorch weights with its config.json and tokenizer", {"t.gguf": model()}),
]
