"""Malformed archives: .npz, members of a zip, gzip. Places are byte offsets in the file.

Rules: PKWARE's APPNOTE for zips, RFC 1951 and 1952 for what is packed, numpy.lib.format for arrays. What zlib says of
a stream that breaks those rules is its own words.
"""
import gzip
import struct
import zlib
from dataclasses import dataclass

from case import Case
from craft import encode, npy, npy_raw, zip_file

TEXT = b"the 1 2\ncat 3 4\n"
ARRAY = npy([[1.0, 2.0], [3.0, 4.0]])
LOCAL, ENTRY = 30, 46  # bytes of a local header and of an entry of the directory, without the name


@dataclass
class Member:
    """A member whose directory entry may say something else than what is true."""
    name: bytes
    data: bytes
    method: int = 8
    flags: int = 0
    crc: int = None
    size: int = None
    packed: bytes = None
    packed_size: int = None
    at: int = None


def deflate(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def archive(*members):
    body, directory = b"", b""
    for m in members:
        packed = m.packed if m.packed is not None else deflate(m.data) if m.method == 8 else m.data
        fields = (zlib.crc32(m.data) if m.crc is None else m.crc, len(packed) if m.packed_size is None else m.packed_size,
                  len(m.data) if m.size is None else m.size, len(m.name), 0)
        at = len(body) if m.at is None else m.at
        body += struct.pack("<4s5H3I2H", b"PK\3\4", 20, m.flags, m.method, 0, 33, *fields) + m.name + packed
        directory += struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, m.flags, m.method, 0, 33, *fields,
                                 0, 0, 0, 0, at) + m.name
    n = len(members)
    return body + directory + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, n, n, len(directory), len(body), 0)


def npz(name, arrays, err, args="stats t.npz", code=3):
    data = arrays if isinstance(arrays, bytes) else zip_file({f"{k}.npy": v for k, v in arrays.items()})
    return Case("npz: " + name, args, code, f"{args.split()[-1]}: {err}", {"t.npz": data})


def zipped(name, data, err, args="stats t.zip", code=3):
    return Case("zip: " + name, args, code, f"{args.split()[-1]}: {err}", {"t.zip": data})


def member(name, err, **fields):
    """A zip of one member, a.txt, that lies about itself."""
    return zipped(name, archive(Member(b"a.txt", TEXT, **fields)), f"member 'a.txt': {err}")


def named(what, name):
    shown = name.decode().replace("\\", "\\\\").replace("\0", "\\x00")
    return zipped("a name that " + what, archive(Member(name, TEXT)),
                  f"zip: member '{shown}': not a name that a member may have")


def gz(name, data, err, file="t.txt.gz"):
    return Case("gzip: " + name, f"stats {file}", 3, f"{file}: {err}", {file: data})


def typed(descr, shape, data):
    return npy_raw(f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}", data)


def ucs4(*points):
    return typed("<U1", f"({len(points)},)", struct.pack(f"<{len(points)}I", *points))


def patched(data, at, new):
    at %= len(data)
    return data[:at] + new + data[at + len(new):]


SEVERAL = "a zip archive, of which several members may be the table; name one after #: "
PACKED = deflate(TEXT)
AT = LOCAL + len("a.txt")           # of the packed bytes of the only member
GOOD = gzip.compress(TEXT, mtime=0)  # ten bytes of header, the stream, CRC, size
NOISE = bytes((i * i >> 3) & 255 for i in range(1 << 18))  # more than is unpacked at first
BAD_ARRAY = npy_raw("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 'x'), }", b"")
BAD_SHAPE = "header: byte 64: expected a whole number, found \"'x'), }         \""
HUGE_ARRAY = npy_raw(f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({1 << 38}, 4), }}", b"")
BAD_GGUF = b"GGUF" + struct.pack("<IQQQ", 3, 1, 1, 1) + b"k" + struct.pack("<I", 99)
OBJECTS = typed("|O", "(2,)", b"\x80\x02.")
FLIPPED = ARRAY[:-1] + bytes([ARRAY[-1] ^ 16])
CRCS = f"its bytes have CRC-32 {zlib.crc32(FLIPPED):08x}, the directory says {zlib.crc32(ARRAY):08x}"

HEADER = b'{"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}'
ONE_TENSOR = struct.pack("<Q", len(HEADER)) + HEADER + bytes(8)

CASES = [
    npz("no arrays", zip_file({"a.txt": TEXT}), "an .npz archive without arrays"),
    npz("no members", zip_file({}), "an .npz archive without arrays"),
    npz("no end", zip_file({"a.npy": ARRAY})[:-22], "zip: no directory at the end of the file; is it complete?"),
    npz("not an array", {"a": b"hello, world"}, "member 'a.npy': not an .npy file: it does not begin with \\x93NUMPY"),
    npz("an array cut short", {"a": npy_raw("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", encode("f32", [1, 2, 3, 4]))},
        "member 'a.npy': data: expected 24 bytes, found 16"),
    npz("another array is cut", {"a": ARRAY, "b": ARRAY[:-1]}, "member 'b.npy': data: expected 16 bytes, found 15"),
    npz("a gigabyte behind an array", archive(Member(b"a.npy", ARRAY, size=len(ARRAY) + 2 ** 30,
                                                     packed=deflate(ARRAY + bytes(2 ** 20)) + bytes(2 ** 20))),
        f"member 'a.npy': {2 ** 30} bytes follow the array; more than 1048576 are not passed over"),
    npz("two tables", {"a": ARRAY, "b": ARRAY[:-1] + b"\1"}, "no tensor is clearly the embedding; name one after #: a, b"),
    npz("two tables, one of them damaged", archive(Member(b"a.npy", ARRAY), Member(b"b.npy", FLIPPED, crc=1)),
        f"member 'b.npy': its bytes have CRC-32 {zlib.crc32(FLIPPED):08x}, the directory says 00000001"),
    npz("two tables, and a damaged one behind them",
        archive(Member(b"a.npy", ARRAY), Member(b"b.npy", FLIPPED), Member(b"c.npy", ARRAY, crc=1)),
        "no tensor is clearly the embedding; name one after #: a, b, c"),
    npz("no table", {"a": npy([1.0]), "b": npy([2.0])}, "none of the 2 tensors is a table [V, d]"),
    npz("a vector", {"a": npy([1.0])}, "tensor 'a': shape [1] is not a table [V, d]"),
    npz("objects", {"a": typed("|O", "(2, 2)", b"\x80\x02.")},
        "tensor 'a': descr '|O': pickled Python objects are never read"),
    npz("objects and a vector", {"a": typed("|O", "(2, 2)", b"\x80\x02."), "b": npy([1.0])},
        "tensor 'a': descr '|O': pickled Python objects are never read"),
    npz("opaque bytes", {"a": typed("|V2", "(2, 2)", bytes(8)), "vocab": ucs4(97, 98)},
        "tensor 'a': elements of two opaque bytes: say --input-dtype bf16 or f16"),
    npz("records", {"a": npy_raw("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", bytes(8))},
        "member 'a.npy': header: descr is a structured type (records): not a table of numbers"),
    npz("no such array", {"a": ARRAY}, "no tensor 'x' in the file, which has: a", "stats t.npz#x", 2),
    *[npz(f"resize to {o}", {"a": ARRAY},
          "npz is read, not rewritten: convert it to npy, safetensors, word2vec or text first", f"resize --rows 3 -o {o} t.npz")
      for o in ("o.npz", "o.npy", "-")],
    npz("text as a table", {"a": ARRAY, "b": typed("<U1", "(2, 1)", bytes(8))},
        "tensor 'b': descr '<U1': text is not a table of numbers", "stats t.npz#b"),
    npz("a flipped bit", archive(Member(b"a.npy", ARRAY, 0, packed=FLIPPED)), f"member 'a.npy': {CRCS}"),
    npz("a flipped bit before it was packed", archive(Member(b"a.npy", ARRAY, packed=deflate(FLIPPED))),
        f"member 'a.npy': {CRCS}"),
    npz("pickled tokens under --strict", {"a": ARRAY, "vocab": OBJECTS},
        "array 'vocab': is of type |O, not text (U or S): the table has no tokens of its own", "stats --strict t.npz"),
    npz("a token beyond Unicode", {"a": ARRAY, "vocab": ucs4(97, 0x110000)},
        "member 'vocab.npy': character 1 of its text is no code point: 0x110000", "lookup 0 -t t.npz"),
    Case("npz: compressed tokens of one length that is too large", "lookup a -t t.npz", 3,
         "t.npz: member 'vocab.npy': compressed text of 4097 characters an element; 4096 are unpacked at most",
         {"t.npz": zip_file({"a.npy": ARRAY, "vocab.npy": typed("<U4097", "(2,)", bytes(2 * 4 * 4097))}, deflate=True)}),
    npz("tokens cut short", {"a": ARRAY, "vocab": typed("<U2", "(2,)", bytes(15))},
        "member 'vocab.npy': data: expected 2 elements of 8 bytes, found 15 bytes"),
    npz("2^62 tokens", {"a": ARRAY, "words": typed("|S4", f"({2 ** 62},)", bytes(15))},
        f"member 'words.npy': data: expected {2 ** 62} elements of 4 bytes, found 15 bytes"),

    named("leads out", b"../a.txt"), named("leads out in the middle", b"a/../../b.txt"), named("is absolute", b"/a.txt"),
    named("has a backslash", b"a\\b.txt"), named("has a NUL", b"a.txt\0.npy"), named("is empty", b""),
    zipped("no members", zip_file({}), "an empty zip archive: it holds no file"),
    zipped("folders alone", archive(Member(b"a/", b"", 0), Member(b"__MACOSX/a", TEXT)), "an empty zip archive: it holds no file"),
    zipped("no member named in an empty zip", zip_file({}), "no member 'a' in the zip, which has: no file", "stats t.zip#a", 2),
    zipped("no table", archive(Member(b"a.png", b"\x89PNG\0\1"), Member(b"b", b"\1\2")),
           "a zip archive without a table, of: a.png, b"),
    Case("zip: damaged members beside the table", "lookup the -t t.zip", 0, "",
         {"t.zip": archive(Member(b"a.txt", TEXT, packed=b"\7" + PACKED), Member(b"b.txt", TEXT), Member(b"c.npy", ARRAY, packed=b""),
                           Member(b"d.npy", ARRAY, size=4000000000), Member(b"e.npy", ARRAY, flags=1))}, out=b"the 1 2\n"),
    Case("zip: ls of two tables, one damaged", "ls t.zip", 3, f"t.zip: member 'b.npy': data: expected 16 bytes, found 15",
         {"t.zip": archive(Member(b"a.npy", ARRAY), Member(b"b.npy", ARRAY[:-1]), Member(b"c.safetensors", ONE_TENSOR))}),
    Case("zip: ls of two texts", "ls t.zip", 3, f"t.zip: {SEVERAL}a.txt, b.txt",
         {"t.zip": archive(Member(b"a.txt", TEXT), Member(b"b.txt", TEXT))}),
    zipped("damaged members and no table", archive(Member(b"a.png", TEXT, packed=b"\7"), Member(b"b", b"\1\2")),
           "a zip archive without a table, of: a.png, b"),
    zipped("a damaged member that is named", archive(Member(b"a.txt", TEXT), Member(b"b.txt", TEXT, packed=b"\7" + PACKED)),
           f"member 'b.txt': byte {AT + len(PACKED) + AT + 1}: invalid block type", "stats t.zip#b.txt"),
    zipped("one file that is no table", archive(Member(b"a.png", b"\x89PNG\r\n\x1a\n")),
           "member 'a.png': not a format embtool knows; it begins with \"\\x89PNG\\r\\n\\x1a\\n\" (for rows without a "
           "header say --format raw)"),
    zipped("two tables", archive(Member(b"a.txt", TEXT), Member(b"b.txt", TEXT)), SEVERAL + "a.txt, b.txt"),
    zipped("eight tables", archive(*(Member(b"%d.txt" % i, TEXT) for i in range(8))),
           SEVERAL + "0.txt, 1.txt, 2.txt, 3.txt, 4.txt, 5.txt and 2 more"),
    zipped("no such member", archive(Member(b"a.txt", TEXT), Member(b"b.md", b"x")),
           "no member 'c.txt' in the zip, which has: a.txt, b.md", "stats t.zip#c.txt", 2),
    zipped("a tensor in a text file", archive(Member(b"a.txt", TEXT)),
           "text files hold one table without a name: no #x", "stats t.zip#a.txt#x", 2),
    zipped("a table with a cut row", archive(Member(b"a.txt", TEXT + b"dog 5\n")),
           "member 'a.txt': line 3 (row 2): expected 2 values, found 1"),
    zipped("a zip in it", archive(Member(b"b.zip", archive(Member(b"a.txt", TEXT)))),
           "member 'b.zip': a zip archive inside another: not read; unzip it first"),
    zipped("an .npz in it", archive(Member(b"b.npz", zip_file({"a.npy": ARRAY}))),
           "member 'b.npz': an .npz archive inside a zip: not read; unzip it first"),
    zipped("gzip twice", archive(Member(b"a.gz", gzip.compress(gzip.compress(TEXT)))),
           "member 'a.gz': inside gzip: gzip inside gzip: not read; gunzip it first"),
    zipped("two members in one place", archive(Member(b"a.txt", TEXT), Member(b"b.txt", TEXT, at=0)),
           "zip: member 'b.txt': overlaps another member"),
    zipped("a member twice", archive(Member(b"a.txt", TEXT), Member(b"a.txt", TEXT)), "zip: member 'a.txt': is there twice"),
    zipped("a member beyond the end", archive(Member(b"a.txt", TEXT, packed_size=1000)),
           "zip: member 'a.txt': its bytes are not inside the file"),
    member("encrypted", "is encrypted", flags=1),
    member("method 12", "is packed by method 12: only stored and deflated ones are read", method=12),
    member("stored in two sizes", f"stored, but of two sizes: 17 and {len(TEXT)} bytes", method=0, size=17),
    member("more than deflate makes", "says to unpack to 4000000000 bytes, more than deflate makes of "
           f"{len(PACKED)}", size=4000000000),
    member("a wrong checksum", f"its bytes have CRC-32 {zlib.crc32(TEXT):08x}, the directory says 00000001", crc=1),
    member("a wrong checksum, stored", f"its bytes have CRC-32 {zlib.crc32(TEXT):08x}, the directory says 00000001",
           crc=1, method=0),
    member("too much comes out", "unpacks to more than 15 bytes, the directory says 15", size=15),
    member("too little comes out", f"unpacks to {len(TEXT)} bytes, the directory says 17", size=17),
    member("nothing is packed", f"byte {AT}: the compressed data end before they are complete", packed=b""),
    member("the stream is cut", f"byte {AT + 5}: the compressed data end before they are complete", packed=PACKED[:5]),
    member("bytes after the stream",
           f"the compressed data end at byte {AT + len(PACKED)}, 3 bytes before the directory says", packed=PACKED + b"\0\0\0"),
    member("an invalid stream", f"byte {AT + 1}: invalid block type", packed=b"\7" + PACKED),

    gz("cut in the header", GOOD[:8], "gzip: the file ends at byte 8, inside member 1"),
    gz("cut in the stream", GOOD[:15], "gzip: the file ends at byte 15, inside member 1"),
    gz("cut before the sums", GOOD[:-8], f"gzip: the file ends at byte {len(GOOD) - 8}, inside member 1"),
    gz("cut in the sums", GOOD[:-3], f"gzip: the file ends at byte {len(GOOD) - 3}, inside member 1"),
    gz("the second member is cut", GOOD + GOOD[:-1], f"gzip: the file ends at byte {2 * len(GOOD) - 1}, inside member 2"),
    gz("a wrong checksum", patched(GOOD, -8, b"\xff\xff\xff\xff"), f"gzip: byte {len(GOOD) - 4}: incorrect data check"),
    gz("a wrong length", patched(GOOD, -4, b"\xff\xff\xff\xff"), f"gzip: byte {len(GOOD)}: incorrect length check"),
    gz("a reserved flag", patched(GOOD, 3, b"\x80"), "gzip: byte 4: unknown header flags set"),
    gz("bytes behind it", GOOD + b"more",
       f"gzip: byte {len(GOOD)}: expected another member or the end, found other bytes"),
    gz("bytes behind zeros", GOOD + bytes(8) + b"x",
       f"gzip: byte {len(GOOD)}: expected another member or the end, found other bytes"),
    gz("no table inside", gzip.compress(bytes(64)),
       'inside gzip: not a format embtool knows; it begins with "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00" (for rows '
       "without a header say --format raw)"),
    gz("nothing inside", gzip.compress(b""), "inside gzip: the file is empty"),
    gz("a page inside", gzip.compress(b"<!DOCTYPE html>"), "inside gzip: a web page (HTML or XML), not a table: the download went wrong"),
    gz("gzip inside", gzip.compress(GOOD), "inside gzip: gzip inside gzip: not read; gunzip it first"),
    gz("a tar archive", gzip.compress(b"a.txt".ljust(257, b"\0") + b"ustar\0" + bytes(249) + TEXT),
       'inside gzip: not a format embtool knows; it begins with "a.txt\\x00\\x00\\x00" (for rows without a header say '
       "--format raw)", "t.tar.gz"),
    gz("an array cut short", gzip.compress(ARRAY[:-1]), "data: expected 16 bytes, found 15", "t.npy.gz"),
    # What the header shows is said before the rest, which is cut here, is unpacked.
    gz("a wrong header of what is cut", gzip.compress(BAD_ARRAY + NOISE)[:-9], BAD_SHAPE, "t.npy.gz"),
    gz("a wrong key of what is cut", gzip.compress(BAD_GGUF + NOISE)[:-9], "key 'k': type: expected 0 to 12, found 99", "t.gguf.gz"),
    gz("a first line of 17 MiB, cut", gzip.compress(b"a " * (17 << 19))[:-9], "line 1: longer than 16 MiB"),
    gz("bytes behind an array", gzip.compress(ARRAY + bytes(2 << 20)),
       f"gzip: unpacks to more than {len(ARRAY) + (1 << 20)} bytes, which is more than its tables need", "t.npy.gz"),
    gz("bytes behind words", gzip.compress(b"2 1\na " + bytes(4 << 20)),
       f"gzip: unpacks to more than {4 + 2 * (4096 + 2 + 4) + (1 << 20)} bytes, which is more than its tables need", "t.bin.gz"),
    gz("an array that is not there", gzip.compress(HUGE_ARRAY + bytes(1 << 17)),
       f"says to hold {(1 << 42) + 128} bytes, more than deflate makes of {len(gzip.compress(HUGE_ARRAY + bytes(1 << 17)))}",
       "t.npy.gz"),
    zipped("a wrong header of what is cut", archive(Member(b"a.npy", BAD_ARRAY + NOISE, packed=deflate(BAD_ARRAY + NOISE)[:-9])),
           f"member 'a.npy': {BAD_SHAPE}", "stats t.zip#a.npy"),
    zipped("a wrong key of what is cut", archive(Member(b"a.gguf", BAD_GGUF + NOISE, packed=deflate(BAD_GGUF + NOISE)[:-9])),
           "member 'a.gguf': key 'k': type: expected 0 to 12, found 99"),
    zipped("bytes behind an array", archive(Member(b"a.npy", ARRAY + bytes(2 << 20))),
           f"member 'a.npy': {2 << 20} bytes follow the tables, which end at byte {len(ARRAY)}; more than {1 << 20} are not unpacked",
           "stats t.zip#a.npy"),
    gz("a zip of no table", gzip.compress(zip_file({"a": b"\1"})),
       "member 'a': not a format embtool knows; it begins with \"\\x01\" (for rows without a header say --format raw)",
       "t.zip.gz"),
]
