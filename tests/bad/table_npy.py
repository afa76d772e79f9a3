"""Malformed .npy files: as tables, and as lists of ids. Places are byte offsets in the file."""
import struct

from case import Case
from craft import encode, npy, npy_raw

F32x4 = encode("f32", [1, 2, 3, 4])
GOOD = npy([[1.0, 2.0], [3.0, 4.0]])


def head(descr="'<f4'", fortran="False", shape="(2, 2)"):
    return f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}"


def array(name, data, err, code=3, args="stats t.npy"):
    return Case("npy: " + name, args, code, f"t.npy: {err}" if "#" not in args else err, {"t.npy": data})


def header(name, text, err, data=F32x4, **more):
    return array(name, npy_raw(text, data), err, **more)


def ids(name, data, err, code=3, args="lookup -t t.npy -i i.npy"):
    return Case("npy ids: " + name, args, code, "i.npy: ids: " + err, {"t.npy": GOOD, "i.npy": data})


CASES = [
    array("magic alone", b"\x93NUMPY", "header: expected 12 bytes before it, the file ends at 6"),
    array("not an .npy file", b"hello, world: not numpy", "not an .npy file: it does not begin with \\x93NUMPY"),
    array("version 0.0", GOOD[:6] + b"\0\0" + GOOD[8:], ".npy version 0.0: only 1.0, 2.0 and 3.0 are known"),
    array("version 4.0", GOOD[:6] + b"\4\0" + GOOD[8:], ".npy version 4.0: only 1.0, 2.0 and 3.0 are known"),
    array("version 1.1", GOOD[:6] + b"\1\1" + GOOD[8:], ".npy version 1.1: only 1.0, 2.0 and 3.0 are known"),
    array("header beyond the file", GOOD[:8] + b"\xff\xff" + GOOD[10:], "header: expected 65535 bytes, found 134"),
    array("header of 2^32-1 bytes", b"\x93NUMPY\2\0" + struct.pack("<I", 2 ** 32 - 1) + b"{}",
          "header: 4294967295 bytes long; more than 1048576 is not believed"),
    array("header of no bytes", b"\x93NUMPY\1\0\0\0", "header: expected a dict, found its end"),
    array("version 3 header not UTF-8",
          npy_raw(head(), F32x4, version=3).replace(b"}", b"\xff", 1), "header: not UTF-8"),
    header("not a dict", "[1, 2]", 'header: byte 10: expected a dict, found "[1, 2]          "'),
    header("no closing brace", head()[:-1], "header: expected a key in quotes, found its end"),
    header("text after the dict", head() + " + 1",
           'header: byte 70: expected nothing after the dict, found "+ 1             "'),
    header("NUL after the dict", head() + "\0",
           'header: byte 69: expected nothing after the dict, found "\\x00               "'),
    header("a call", "dict(descr='<f4')", "header: byte 10: expected a dict, found \"dict(descr='<f4'\""),
    header("descr missing", "{'fortran_order': False, 'shape': (2, 2)}", "header: the key 'descr' is missing"),
    header("fortran_order missing", "{'descr': '<f4', 'shape': (2, 2)}", "header: the key 'fortran_order' is missing"),
    header("shape missing", "{'descr': '<f4', 'fortran_order': False}", "header: the key 'shape' is missing"),
    header("a key twice", head()[:-1] + "'shape': (2, 2)}",
           "header: byte 68: expected each key once, found \"'shape': (2, 2)}\""),
    header("a key more", head()[:-1] + "'order': 'C'}",
           "header: byte 68: expected one of the keys descr, fortran_order, shape, found \"'order': 'C'}   \""),
    header("no comma", "{'descr': '<f4' 'fortran_order': False, 'shape': (2, 2)}",
           "header: byte 26: expected a comma or the closing brace, found \"'fortran_order':\""),
    header("no colon", "{'descr' '<f4', 'fortran_order': False, 'shape': (2, 2)}",
           "header: byte 19: expected a colon, found \"'<f4', 'fortran_\""),
    header("an open quote", "{'descr: <f4", 'header: byte 63: expected the closing quote, found "\\n"'),
    header("an escape", head(descr="'\\x3cf4'"),
           "header: byte 21: expected the closing quote, found \"\\\\x3cf4', 'fortra\""),
    header("fortran_order 0", head(fortran="0"),
           "header: byte 44: expected True or False, found \"0, 'shape': (2, \""),
    header("fortran_order true", head(fortran="true"),
           "header: byte 44: expected True or False, found \"true, 'shape': (\""),
    header("shape is a list", head(shape="[2, 2]"),
           'header: byte 60: expected a shape in parentheses, found "[2, 2], }       "'),
    header("shape is a number", head(shape="(4)"),
           'header: byte 62: expected a comma after the only dimension, found "), }            "'),
    header("shape is negative", head(shape="(-1, 2)"),
           'header: byte 61: expected a dimension that is not negative, found "-1, 2), }       "'),
    header("shape 2.0", head(shape="(2.0, 2)"),
           'header: byte 62: expected a comma or the closing parenthesis, found ".0, 2), }       "'),
    header("shape 02", head(shape="(02, 2)"), 'header: byte 61: expected a whole number, found "02, 2), }       "'),
    header("shape 2^64", head(shape="(18446744073709551616, 2)"),
           'header: byte 61: expected a dimension below 2^64, found "1844674407370955"'),
    header("shape of nine axes", head(shape="(1, 1, 1, 1, 1, 1, 1, 2, 2)"),
           'header: byte 85: expected at most 8 dimensions, found "2), }           "'),
    header("shape overflows", head(shape="(4294967296, 4294967296)"), "shape [4294967296, 4294967296] is too large"),
    header("shape overflows in bytes", head(shape="(4611686018427387904, 1)"),
           "shape [4611686018427387904, 1] is too large"),
    header("shape without commas", head(shape="(2 2)"),
           'header: byte 63: expected a comma or the closing parenthesis, found "2), }           "'),
    array("2L in version 3", npy_raw(head(shape="(2L, 2L)"), F32x4, version=3),
          'header: byte 64: expected a comma or the closing parenthesis, found "L, 2L), }       "'),
    header("too few data", head(shape="(3, 2)"), "data: expected 24 bytes, found 16"),
    header("2^63 rows", head(shape="(9223372036854775807, 1)", descr="'|i1'"),
           "data: expected 9223372036854775807 bytes, found 16"),
    header("objects", head(descr="'|O'"), "descr '|O': pickled Python objects are never read"),
    header("a structured type", head(descr="[('a', '<f4')]"),
           "header: descr is a structured type (records): not a table of numbers"),
    header("complex", head(descr="'<c8'"), "descr '<c8': complex numbers are not read"),
    header("long double", head(descr="'<f16'"),
           "descr '<f16': 128-bit long doubles (16 bytes, not bits) are not read; save as f8 or f4"),
    header("dates", head(descr="'<M8[s]'"), "descr '<M8[s]': dates are not read"),
    header("strings", head(descr="'<U5'"), "descr '<U5': text is not a table of numbers"),
    header("bytes", head(descr="'|S7'"), "descr '|S7': text is not a table of numbers"),
    header("two opaque bytes", head(descr="'|V2'"), "elements of two opaque bytes: say --input-dtype bf16 or f16"),
    header("one opaque byte", head(descr="'|V1'"),
           "elements of one opaque byte: say --input-dtype f8_e4m3, f8_e5m2, another f8 type, i8 or u8"),
    header("three opaque bytes", head(descr="'|V3'"), "descr '|V3': opaque bytes are read only if there are 1 or 2"),
    header("opaque bytes as f32", head(descr="'|V2'"),
           "elements of two opaque bytes: say --input-dtype bf16 or f16", args="stats --input-dtype f32 t.npy"),
    header("an empty type", head(descr="''"), "descr '' is not a type of numpy"),
    header("an unknown type", head(descr="'<x4'"), "descr '<x4' is not a type of numpy"),
    header("a scalar", head(shape="()"), "shape [] is not a table [V, d]"),
    header("one axis", head(shape="(4,)"), "shape [4] is not a table [V, d]"),
    header("three axes", head(shape="(1, 2, 2)"), "shape [1, 2, 2] is not a table [V, d]"),
    header("no dimensions in a row", head(shape="(2, 0)"), "shape [2, 0] is not a table [V, d]: d is 0"),
    header("d above 2^32-1", head(shape="(0, 4294967296)"), "shape [0, 4294967296]: d is above 4294967295"),
    header("d of 2^32-1, no rows", head(shape="(0, 4294967295)"),
           "shape [0, 4294967295]: d of a table without rows; more than 1048576 is not believed", data=b""),
    array("a tensor name", GOOD, "t.npy#x: npy files hold one table without a name: no #x", 2, "stats t.npy#x"),
    array("a tensor name by option", GOOD,
          "npy files hold one table without a name: no #x", 2, "stats t.npy --tensor x"),
    ids("floats", npy([0.0, 1.0]), "numbers of type <f4 are not ids: expected integers"),
    ids("bools", npy_raw(head("'|b1'", shape="(2,)"), b"\0\1"), "numbers of type |b1 are not ids: expected integers"),
    ids("a scalar", npy_raw(head("'<i8'", shape="()"), bytes(8)), "expected 1 to 3 axes, found 0"),
    ids("four axes", npy([[[[0]]]], "i64"), "expected 1 to 3 axes, found 4"),
    ids("outside", npy([0, 2], "i64"), "item 2: 2 is outside 0..1"),
    ids("negative", npy([[0], [-1]], "i8"), "item 2: -1 is outside 0..1"),
    ids("2^64-1", npy([2 ** 64 - 1], "u64"), "item 1: 18446744073709551615 is outside 0..1"),
    ids("2^32 in u64", npy([0, 2 ** 32], "u64"), "item 2: 4294967296 is outside 0..1"),
    ids("big-endian 1 is no 2^24", npy_raw(head("'>i4'", shape="(2,)"), struct.pack(">2i", 1, 2)),
        "item 2: 2 is outside 0..1"),
    ids("Fortran order counts rows first",
        npy_raw(head("'<i2'", "True", "(2, 2)"), struct.pack("<4h", 0, 1, 7, 0)), "item 2: 7 is outside 0..1"),
    ids("cut", npy([0, 1, 0], "i64")[:-1], "data: expected 24 bytes, found 23"),
    ids("2^62 lists of none", npy([], "i64", (2 ** 62, 0)),
        "4611686018427387904 empty sequences; more than "
        "16777216 are not believed", 3, "lookup -t t.npy -i i.npy --ragged -o o.npz"),
    ids("2^40 lists of none", npy([], "i64", (2 ** 40, 0)),
        "1099511627776 empty sequences; more than 16777216 "
        "are not believed", 3, "lookup -t t.npy -i i.npy --ragged -o o.npz"),
    ids("not an .npy file", b"0 1\n", "not an .npy file: it does not begin with \\x93NUMPY"),
    ids("empty", b"", "not an .npy file: it does not begin with \\x93NUMPY"),
]


def cut(n):
    """What is said of GOOD cut to n bytes."""
    if n == 0:
        return "the file is empty"
    if n < 6:
        return "not an .npy file: it does not begin with \\x93NUMPY"
    if n < 10:
        return f"header: expected {10 if n > 6 else 12} bytes before it, the file ends at {n}"
    if n < 128:
        return f"header: expected 118 bytes, found {n - 10}"
    return f"data: expected 16 bytes, found {n - 128}"


CASES += [array(f"cut to {n} bytes", GOOD[:n], cut(n)) for n in range(0, len(GOOD), 7)]
