"""Malformed safetensors files. Places are byte offsets in the file, so the header begins at byte 8.

Rules: the limits of the format's documentation and the table of JSON forms in docs/formats.
"""
import struct

from case import Case
from craft import encode, safetensors, safetensors_raw, tensor

F32x4 = encode("f32", [1, 2, 3, 4])


def entry(dtype="F32", shape="[2,2]", offsets="[0,16]", name="a", more=""):
    return f'"{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}{more}}}'


def one(**fields):
    return safetensors_raw("{" + entry(**fields) + "}", F32x4)


def two(first, second, data=F32x4 + F32x4):
    return safetensors_raw("{" + entry(offsets=first) + "," + entry(offsets=second, name="b") + "}", data)


def st(name, data, err, code=3, args="stats t.safetensors"):
    return Case("safetensors: " + name, args, code, f"{args.split()[-1]}: {err}", {"t.safetensors": data})


def text(name, header, err, data=F32x4, **more):
    return st(name, safetensors_raw(header, data), err, **more)


def nested(depth):
    return '{"a":{"x":' + "[" * depth + "]" * depth + "}}"


CASES = [
    # the length and the file
    st("7 bytes", b"\x10\0\0\0\0\0\0", "header length: expected 8 bytes, found 7"),
    st("length alone", struct.pack("<Q", 2), "header: expected 2 bytes, found 0"),
    st("length 0", struct.pack("<Q", 0) + b"{}", "header: JSON: byte 8: expected a value, found the end of the text"),
    st("length beyond the file", safetensors_raw("{" + entry() + "}", F32x4, n=1000),
       "header: expected 1000 bytes, found 73"),
    st("length cuts the header", safetensors_raw("{" + entry() + "}", F32x4, n=20),
       "tensor 'a': JSON: byte 28: expected a key, found the end of the text"),
    st("length 100,000,001", safetensors_raw("{}", b"", n=100_000_001),
       "header length: 100000001 bytes, at most 100000000 are allowed: not a safetensors file, or damaged"),
    st("length 2^64-1", safetensors_raw("{}", b"", n=2 ** 64 - 1),
       "header length: 18446744073709551615 bytes, at most 100000000 are allowed: not a safetensors file, or "
       "damaged"),
    st("length 2^63", safetensors_raw("{}", b"", n=2 ** 63),
       "header length: 9223372036854775808 bytes, at most 100000000 are allowed: not a safetensors file, or damaged"),
    st("no tensor", safetensors({}), "the file holds no tensor"),
    # JSON
    text("blanks only", "    ", "header: JSON: byte 12: expected a value, found the end of the text"),
    text("an array", "[]", 'header: JSON: byte 8: expected an object, found "[]"'),
    text("trailing NUL", "{" + entry() + "}\0",
         'header: JSON: byte 65: expected nothing after the value, found "\\x00"'),
    text("trailing text", "{" + entry() + "} x", 'header: JSON: byte 66: expected nothing after the value, found "x"'),
    text("byte order mark", b"\xef\xbb\xbf{" + entry().encode() + b"}",
         'header: JSON: byte 8: expected JSON without a byte order mark, found "\ufeff{"a":{"dtype""'),
    text("trailing comma", "{" + entry() + ",}", 'header: JSON: byte 65: expected a key, found "}"'),
    text("no closing brace", "{" + entry(), "header: JSON: byte 64: expected ',' or '}', found the end of the text"),
    text("single quotes", "{'a':{}}", "header: JSON: byte 9: expected a key or '}', found \"'a':{}}\""),
    text("comment", "{/* a */" + entry() + "}",
         "header: JSON: byte 9: expected a key or '}', found \"/* a */\"a\":{\"dty\""),
    text("lone high surrogate", "{" + entry(name="\\ud800") + "}",
         'header: JSON: byte 10: expected a high surrogate, then a low one, found "\\\\ud800":{"dtype""'),
    text("lone low surrogate", "{" + entry(name="\\udc00x") + "}",
         'header: JSON: byte 10: expected a high surrogate, then a low one, found "\\\\udc00x":{"dtype"'),
    text("bad escape", "{" + entry(name="\\x41") + "}",
         'header: JSON: byte 10: expected an escape of JSON, found "\\\\x41":{"dtype":""'),
    text("half an escape", "{" + entry(name="\\u00g0") + "}",
         'header: JSON: byte 10: expected an escape of JSON, found "\\\\u00g0":{"dtype""'),
    text("raw control character", "{" + entry(name="a\tb") + "}",
         'header: JSON: byte 11: expected an escape in place of a control character, found "\\tb":{"dtype":"F3"'),
    text("raw NUL in a name", "{" + entry(name="a\0b") + "}",
         'header: JSON: byte 11: expected an escape in place of a control character, found "\\x00b":{"dtype":"F3"'),
    text("not UTF-8", b"{" + entry(name="a").encode().replace(b'"a"', b'"\xff"') + b"}",
         'header: JSON: byte 10: expected valid UTF-8, found "\\xff":{"dtype":"F32"'),
    text("overlong UTF-8", b"{" + entry(name="a").encode().replace(b'"a"', b'"\xc0\x80"') + b"}",
         'header: JSON: byte 10: expected valid UTF-8, found "\\xc0\\x80":{"dtype":"F3"'),
    text("nested 1000 deep", nested(1000),
         "tensor 'a': JSON: byte 144: expected at most 128 open brackets, found \"[[[[[[[[[[[[[[[[\""),
    text("nested 70000 deep", nested(70000),
         "tensor 'a': JSON: byte 144: expected at most 128 open brackets, found \"[[[[[[[[[[[[[[[[\""),
    # names and metadata
    text("a name twice", "{" + entry() + "," + entry() + "}", "tensor 'a' is there twice"),
    text("a name twice, one escaped", "{" + entry() + "," + entry(name="\\u0061") + "}", "tensor 'a' is there twice"),
    text("__metadata__ twice", '{"__metadata__":{},"__metadata__":{},' + entry() + "}", "__metadata__ is there twice"),
    text("a metadata key twice", '{"__metadata__":{"k":"1","k":"2"},' + entry() + "}",
         "__metadata__: the key 'k' is there twice"),
    text("a metadata value that is a number", '{"__metadata__":{"k":1},' + entry() + "}",
         "__metadata__: the value of 'k': expected a string, found 1"),
    text("a metadata value that is null", '{"__metadata__":{"k":null},' + entry() + "}",
         "__metadata__: the value of 'k': expected a string, found null"),
    text("__metadata__ is a list", '{"__metadata__":["k"],' + entry() + "}",
         '__metadata__: JSON: byte 24: expected an object, found "["k"],"a":{"dtyp"'),
    # entries
    text("an entry as an array", '{"a":["F32",[2,2],[0,16]]}',
         "tensor 'a': JSON: byte 13: expected an object, found \"[\"F32\",[2,2],[0,\""),
    text("an entry as a number", '{"a":1}', "tensor 'a': JSON: byte 13: expected an object, found \"1}\""),
    text("an empty entry", '{"a":{}}', "tensor 'a': dtype is missing"),
    text("no shape", '{"a":{"dtype":"F32","data_offsets":[0,16]}}', "tensor 'a': shape is missing"),
    text("no data_offsets", '{"a":{"dtype":"F32","shape":[2,2]}}', "tensor 'a': data_offsets is missing"),
    st("dtype twice", one(more=',"dtype":"F32"'), "tensor 'a': dtype is there twice"),
    st("shape twice", one(more=',"shape":[2,2]'), "tensor 'a': shape is there twice"),
    st("data_offsets twice", one(more=',"data_offsets":[0,16]'), "tensor 'a': data_offsets is there twice"),
    st("dtype f32", one(dtype="f32"), "tensor 'a': dtype: expected a type of safetensors, found \"f32\""),
    st("dtype empty", one(dtype=""), "tensor 'a': dtype: expected a type of safetensors, found \"\""),
    text("dtype null", '{"a":{"dtype":null,"shape":[2,2],"data_offsets":[0,16]}}',
         "tensor 'a': dtype: expected a string, found null"),
    st("shape a number", one(shape="4"), "tensor 'a': JSON: byte 36: expected an array, found \"4,\"data_offsets\"\""),
    st("shape of text", one(shape='["2",2]'), "tensor 'a': shape: expected an unsigned integer, found \"2\""),
    st("shape 1.0", one(shape="[2.0,2]"), "tensor 'a': shape: expected an unsigned integer, found 2.0"),
    st("shape 1e0", one(shape="[2e0,2]"), "tensor 'a': shape: expected an unsigned integer, found 2e0"),
    st("shape -0", one(shape="[-0,2]"), "tensor 'a': shape: expected an unsigned integer, found -0"),
    st("shape -1", one(shape="[-1,2]"), "tensor 'a': shape: expected an unsigned integer, found -1"),
    st("shape 01", one(shape="[02,2]"), "tensor 'a': JSON: byte 38: expected ',' or ']', found \"2,2],\"data_offse\""),
    st("shape 2^64", one(shape="[18446744073709551616,2]"),
       "tensor 'a': shape: expected an unsigned integer, found 18446744073709551616"),
    st("shape nested", one(shape="[[2,2]]"), "tensor 'a': shape: expected an unsigned integer, found ["),
    st("shape of nine axes", one(shape="[1,1,1,1,1,1,1,2,2]"), "tensor 'a': shape: more than 8 dimensions"),
    st("shape overflows", one(shape="[4294967296,4294967296]"),
       "tensor 'a': shape [4294967296, 4294967296] of F32 is too large"),
    st("shape overflows in bytes", one(shape="[4611686018427387904,1]"),
       "tensor 'a': shape [4611686018427387904, 1] of F32 is too large"),
    st("shape overflows before its 0", one(shape="[9223372036854775808,4,0]", offsets="[0,0]"),
       "tensor 'a': shape [9223372036854775808, 4, 0] of F32 is too large"),
    st("one offset", one(offsets="[0]"), "tensor 'a': data_offsets: expected 2 numbers, found 1"),
    st("three offsets", one(offsets="[0,16,32]"), "tensor 'a': data_offsets: expected 2 numbers, found more"),
    st("offsets reversed", one(offsets="[16,0]"), "tensor 'a': data_offsets: the end 0 is before the beginning 16"),
    st("offsets too short", one(offsets="[0,12]"),
       "tensor 'a': data_offsets: expected 16 bytes for F32 [2, 2], found 12"),
    st("offsets beyond the data", one(shape="[2,3]", offsets="[0,24]"),
       "tensor 'a': data_offsets end at byte 24, the file has 16 bytes of data"),
    st("offsets near 2^64", one(offsets="[18446744073709551600,18446744073709551615]"),
       "tensor 'a': data_offsets: expected 16 bytes for F32 [2, 2], found 15"),
    st("F4 of three elements", one(dtype="F4", shape="[3]", offsets="[0,2]"),
       "tensor 'a': shape [3] of F4 does not fill whole bytes"),
    st("F6 of two elements", one(dtype="F6_E2M3", shape="[2]", offsets="[0,2]"),
       "tensor 'a': shape [2] of F6_E2M3 does not fill whole bytes"),
    # places
    st("a hole at the start", safetensors_raw("{" + entry(offsets="[4,20]") + "}", F32x4 + b"1234"),
       "tensor 'a' is the first and begins at byte 4 of the data, expected 0"),
    st("a hole between", two("[0,16]", "[20,36]", F32x4 + F32x4 + b"1234"),
       "tensor 'a' ends at byte 16 of the data and 'b' begins at 20: what is between belongs to neither"),
    st("an overlap", two("[0,16]", "[8,24]"), "tensors 'a' and 'b' overlap: expected byte 16, found 8"),
    st("the same bytes twice", two("[0,16]", "[0,16]", F32x4), "tensors 'a' and 'b' are the same bytes 0..16"),
    st("trailing bytes, strict", one() + b"x", "1 byte after the last tensor", args="stats --strict t.safetensors"),
    # well formed, but no table
    st("three axes", safetensors({"a": tensor([[[1.0, 2.0]]])}), "tensor 'a': shape [1, 1, 2] is not a table [V, d]"),
    st("one axis", safetensors({"a": tensor([1.0, 2.0])}), "tensor 'a': shape [2] is not a table [V, d]"),
    st("a scalar", safetensors({"a": ("F32", [], encode("f32", [1.0]))}),
       "tensor 'a': shape [] is not a table [V, d]"),
    st("no dimensions in a row", safetensors({"a": ("F32", [3, 0], b"")}),
       "tensor 'a': shape [3, 0] is not a table [V, d]: d is 0"),
    st("d above 2^32-1", safetensors({"a": ("F32", [0, 2 ** 32], b"")}),
       "tensor 'a': shape [0, 4294967296]: d is above 4294967295"),
    st("F6 elements", safetensors({"a": ("F6_E2M3", [2, 2], b"abc")}),
       "tensor 'a': elements of type F6_E2M3 can be listed only"),
    st("complex elements", safetensors({"a": ("C64", [1, 1], bytes(8))}),
       "tensor 'a': elements of type C64 can be listed only"),
    st("two tables", safetensors({"x": tensor([[1.0]]), "y": tensor([[2.0]])}),
       "no tensor is clearly the embedding; name one after #: x, y"),
    st("two tensors, no table", safetensors({"x": tensor([1.0]), "y": tensor([2.0])}),
       "none of the 2 tensors is a table [V, d]"),
    st("a tensor that is not there", safetensors({"x": tensor([[1.0]])}),
       "no tensor 'y' in the file, which has: x", 2, "stats t.safetensors#y"),
    st("an empty tensor name", safetensors({"x": tensor([[1.0]])}),
       "no tensor '' in the file, which has: x", 2, "stats t.safetensors#"),
    st("packed weights", safetensors({"e.weight": ("U32", [1, 2], bytes(8)), "e.scales": tensor([[1.0]])}),
       "e.weight holds MLX packed weights (see scales beside it), which cannot be read as a table",
       args="stats t.safetensors#e.weight"),
    st("control characters in names", safetensors({"x\x1b[31m\n": tensor([1.0])}),
       "tensor 'x\\x1b[31m\\n': shape [1] is not a table [V, d]"),
]


def cut(n):
    """What is said of one() cut to n bytes."""
    header = len(one()) - 24
    if n < 8:
        return f"header length: expected 8 bytes, found {n}" if n else "the file is empty"
    if n < 8 + header:
        return f"header: expected {header} bytes, found {n - 8}"
    return f"tensor 'a': data_offsets end at byte 16, the file has {n - 8 - header} bytes of data"


CASES += [st(f"cut to {n} bytes", one()[:n], cut(n)) for n in range(0, len(one()), 7)]
