"""Malformed PyTorch files: pickles, zips, tensors, the old form. Places are byte offsets in the file.

Rules: pickletools for the opcodes, PKWARE's APPNOTE for zips, torch/serialization.py for the rest.
"""
import struct
import zlib

from case import Case
from craft import encode, zip_file

END = b"PK\5\6"
ODD = "opcode 0x%02X is not one that torch.save writes"


def text(s):
    return b"X" + struct.pack("<I", len(s)) + s.encode()


def number(n):
    return b"J" + struct.pack("<i", n)


def numbers(ns):
    return b"(" + b"".join(number(n) if isinstance(n, int) else n for n in ns) + b"t"


def storage(key="0", kind=b"ctorch\nFloatStorage\n", numel=4, more=b""):
    return b"(" + text("storage") + kind + text(key) + text("cpu") + number(numel) + more + b"tQ"


def rebuild(store, offset=0, size=(2, 2), stride=(2, 1), function="_rebuild_tensor_v2", more=b""):
    return (b"ctorch._utils\n" + function.encode() + b"\n(" + store + number(offset) + numbers(size)
            + numbers(stride) + b"\x89}" + more + b"tR")


def dict_of(*pairs):
    return b"\x80\x02}(" + b"".join(text(k) + v for k, v in pairs) + b"u."


def archive(pickle, data=encode("f32", [1, 2, 3, 4]), **more):
    return zip_file({"archive/data.pkl": pickle, "archive/data/0": data,
                     **{f"archive/{k}": v for k, v in more.items()}})


def torch(name, data, err, file="t.pt", args="stats"):
    return Case("torch: " + name, f"{args} {file}", 3, f"{file}: {err}" if err else "", {file: data})


def pickle(name, data, at, err):
    """A pickle that is refused at its byte `at`."""
    return torch("pickle: " + name, archive(data), f"member 'archive/data.pkl': pickle: byte {at}: {err}")


def tensor(name, err, **fields):
    return torch("tensor: " + name, archive(dict_of(("a", rebuild(storage(), **fields)))), f"tensor 'a': {err}")


def stored(name, err, **fields):
    return torch("storage: " + name, archive(dict_of(("a", rebuild(storage(**fields))))), err)


def left_out(name, value, why):
    c = torch("left out: " + name, archive(dict_of(("a", value))), "")
    c.err = f"embtool: warning: t.pt: tensor 'a': {why}: left out\nembtool: stats: t.pt: {NO_DICT}\n"
    return c


NO_DICT = ("a PyTorch file without a dict of tensors: torch.save of a state_dict, or safetensors, can be read")
INSIDE = "the pickle ends inside this opcode"
FEW = "the stack holds too few values"
DEEP = "objects are nested too deep"
PICKLE = dict_of(("a", rebuild(storage())))
GOOD = archive(PICKLE)
FOUR = encode("f32", [1, 2, 3, 4])
WHOLE = GOOD.index(END)
DIRECTORY = GOOD.index(b"PK\1\2")


def patched(at, new, data=GOOD):
    return data[:at] + new + data[at + len(new):]


def other_crc(member):
    """Deflated members, of which the directory gives one another checksum."""
    data = zip_file({"archive/data.pkl": PICKLE, "archive/data/0": FOUR}, deflate=True)
    at = data.rindex(member.encode()) - 46 + 16  # the last: in the directory
    return data[:at] + b"\1\0\0\0" + data[at + 4:]


def zipped(name, data, err):
    return torch("zip: " + name, data, "zip: " + err)


MAGIC = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
MACHINE = b"\x80\x02}" + text("little_endian") + b"\x88s."
KEYS = b"\x80\x02]" + text("0") + b"a."


def old(name, err, version=b"\x80\x02M\xe9\x03.", machine=MACHINE, keys=KEYS,
        data=struct.pack("<q", 4) + encode("f32", [1, 2, 3, 4]), store=storage(more=b"N")):
    whole = MAGIC + version + machine + dict_of(("a", rebuild(store))) + keys
    return torch("old form: " + name, whole + data, err, "t.pth")


CASES = [
    pickle("empty", b"", 0, "the pickle has no end"),
    pickle("no STOP", b"\x80\x02}", 3, "the pickle has no end"),
    pickle("protocol 1", b"\x80\x01}.", 0, "a protocol other than 2 to 5"),
    pickle("protocol 6", b"\x80\x06}.", 0, "a protocol other than 2 to 5"),
    pickle("INST", b"\x80\x02(ios\nsystem\n.", 3, ODD % ord("i")),
    pickle("OBJ", b"\x80\x02(cos\nsystem\no.", 14, ODD % ord("o")),
    pickle("EXT1", b"\x80\x02\x82\1.", 2, ODD % 0x82),
    pickle("PERSID", b"\x80\x02Pcpu\n.", 2, ODD % ord("P")),
    pickle("BYTEARRAY8", b"\x80\x05\x96" + bytes(8) + b".", 2, ODD % 0x96),
    pickle("NEXT_BUFFER", b"\x80\x05\x97.", 2, ODD % 0x97),
    pickle("a byte that is no opcode", b"\x80\x02\xff", 2, ODD % 0xFF),
    pickle("a string beyond the end", b"\x80\x02X\xff\xff\xff\xffabc", 2, INSIDE),
    pickle("a string of 2^64-1 bytes", b"\x80\x04\x8d" + b"\xff" * 8 + b"abc", 2, INSIDE),
    pickle("a cut number", b"\x80\x02J\1\0", 2, INSIDE),
    pickle("a cut float", b"\x80\x02G\1\0", 2, INSIDE),
    pickle("a long beyond the end", b"\x80\x02\x8b\xff\xff\xff\xff\0", 2, INSIDE),
    pickle("a global without its second line", b"\x80\x02cos\nsystem", 2, INSIDE),
    pickle("memo number never put", b"\x80\x02}q\0h\1.", 5, "nothing was put under this memo number"),
    pickle("memo number 2^32-1", b"\x80\x02}r\xff\xff\xff\xff.", 3, "a memo number beyond any count"),
    pickle("a memo number beyond the opcodes before it", b"\x80\x02}r\x09\0\0\0" + b"0}" * 9 + b".", 3,
           "a memo number beyond any count"),
    pickle("memo of nothing", b"\x80\x02q\0.", 2, FEW),
    pickle("STOP on nothing", b"\x80\x02.", 2, "expected one value at the end of the pickle"),
    pickle("STOP on two values", b"\x80\x02NN.", 4, "expected one value at the end of the pickle"),
    pickle("STOP with a mark", b"\x80\x02N(.", 4, "expected one value at the end of the pickle"),
    pickle("TUPLE without a mark", b"\x80\x02Nt.", 3, "no mark was set"),
    pickle("SETITEMS without a mark", b"\x80\x02}NNu.", 5, "no mark was set"),
    pickle("TUPLE2 of one", b"\x80\x02N\x86.", 3, FEW),
    pickle("TUPLE1 across a mark", b"\x80\x02N(\x85.", 4, FEW),
    pickle("POP of nothing", b"\x80\x020.", 2, FEW),
    pickle("DUP of nothing", b"\x80\x022.", 2, FEW),
    pickle("REDUCE of one", b"\x80\x02)R.", 3, FEW),
    pickle("REDUCE without a tuple", b"\x80\x02cos\nsystem\nNR.", 14, "expected the arguments of a call in a tuple"),
    pickle("BUILD of nothing", b"\x80\x02b.", 2, FEW),
    pickle("BINPERSID of nothing", b"\x80\x02Q.", 2, FEW),
    pickle("a key without a value", b"\x80\x02}(Nu.", 5, "a key without a value"),
    pickle("items for a number", b"\x80\x02NNNs.", 5, "items are added to what cannot hold them"),
    pickle("items for a tuple", b"\x80\x02)Na.", 4, "items are added to what cannot hold them"),
    pickle("items for nothing", b"\x80\x02(NNu.", 5, FEW),
    pickle("STACK_GLOBAL of numbers", b"\x80\x04NN\x93.", 4, "expected the names of a module and of what is in it"),
    pickle("300 marks", b"\x80\x02" + b"(" * 300, 202, DEEP),
    pickle("300 tuples", b"\x80\x02)" + b"\x85" * 300 + b".", 203, DEEP),
    pickle("300 lists", b"\x80\x02" + b"]" * 150 + b"a" * 149 + b"q\0]h\0a" + b"\x85" * 60 + b".", 357, DEEP),
    pickle("a list that holds itself", b"\x80\x02]q\0" + b"h\0a" * 300 + b".", 607, DEEP),
    pickle("OrderedDict of no pairs", b"\x80\x02ccollections\nOrderedDict\n]Na\x85R.", 31,
           "expected pairs of a key and a value"),
    pickle("OrderedDict of one list, again and again",
           b"\x80\x02(]q\0(" + b"NN\x86" * 40 + b"e" + b"ccollections\nOrderedDict\nq\1h\0\x85R0" +
           b"h\1h\0\x85R0" * 40 + b"t.", 172, "too many objects"),

    torch("a call", archive(b"\x80\x02cos\nsystem\n" + text("touch executed") + b"\x85R."), NO_DICT),
    torch("a number", archive(b"\x80\x02K\1."), NO_DICT),
    torch("an empty dict", archive(b"\x80\x02}."), NO_DICT),
    torch("a whole module", archive(b"\x80\x02c__main__\nNet\n)\x81}" + text("a") + rebuild(storage()) + b"sb."), NO_DICT),
    left_out("a quantised tensor", rebuild(storage(), function="_rebuild_qtensor"), "a tensor of a kind that is not read"),
    left_out("a storage of objects", rebuild(storage(kind=b"cnumpy\nFloatStorage\n")),
             "its storage is not one that is read"),
    left_out("an object for a storage", rebuild(b"cos\nsystem\n)R"), "its storage is not one that is read"),
    left_out("bytes without a type", rebuild(storage(kind=b"ctorch.storage\nUntypedStorage\n")),
             "elements of a type that is not known"),
    left_out("a type of tomorrow", rebuild(storage(kind=b"ctorch.storage\nUntypedStorage\n"),
                                           function="_rebuild_tensor_v3", more=b"ctorch\nfloat3\n"),
             "elements of a type that is not known"),

    tensor("beyond its storage", "elements lie outside its storage", size=(3, 2)),
    tensor("offset beyond its storage", "elements lie outside its storage", offset=1),
    tensor("stride beyond its storage", "elements lie outside its storage", stride=(3, 1)),
    tensor("strides that overflow", "elements lie outside its storage", size=(2, 2),
           stride=(b"\x8a\x08" + b"\xff" * 7 + b"\x7f", b"\x8a\x08" + b"\xff" * 7 + b"\x7f")),
    tensor("a shape that overflows", "the shape is too large", size=(2 ** 31 - 1,) * 3, stride=(0, 0, 0)),
    tensor("expanded without end", "expanded to far more than is in the file", size=(2 ** 31 - 1, 4), stride=(0, 1)),
    tensor("expanded beyond 4 MiB", "expanded to far more than is in the file", size=(2 ** 20 + 1, 1), stride=(0, 1)),
    tensor("a negative size", "expected sizes and strides that are not negative", size=(-1, 2)),
    tensor("a negative stride", "expected sizes and strides that are not negative", stride=(-1, 1)),
    tensor("a negative offset", "expected an offset that is not negative", offset=-1),
    tensor("a size that is no number", "expected sizes and strides that are not negative", size=(b"N", 2)),
    tensor("more strides than sizes", "expected as many strides as sizes", stride=(2, 1, 1)),
    tensor("nine dimensions", "more than 8 dimensions", size=(1,) * 9, stride=(1,) * 9),
    stored("missing", "tensor 'a': its storage is not in the file", key="7"),
    stored("shorter than it says", "tensor 'a': its storage is shorter than it says", numel=5),
    torch("a name twice", archive(dict_of(("a", rebuild(storage())), ("a", rebuild(storage())))),
          "tensor 'a': is there twice"),
    torch("a name that is not UTF-8",
          archive(dict_of(("a", rebuild(storage()))).replace(b"\1\0\0\0a", b"\1\0\0\0\xff")),
          "tensor '\\xff': the name is not UTF-8"),
    torch("a vector", archive(dict_of(("a", rebuild(storage(), size=(4,), stride=(1,))))),
          "tensor 'a': shape [4] is not a table [V, d]"),
    torch("complex numbers", archive(dict_of(("a", rebuild(storage(kind=b"ctorch\nComplexFloatStorage\n", numel=2),
                                                           size=(1, 2))))),
          "tensor 'a': elements of type complex64 can be listed only"),
    torch("byteorder of neither kind", archive(dict_of(("a", rebuild(storage()))), byteorder=b"middle"),
          "member 'archive/byteorder': expected little or big"),
    torch("TorchScript", archive(dict_of(("a", rebuild(storage()))), **{"constants.pkl": b"."}),
          "a TorchScript archive: a program, not read; save its state_dict or convert it to safetensors"),
    torch("TorchScript by its code", archive(dict_of(("a", rebuild(storage()))), **{"code/a.py": b""}),
          "a TorchScript archive: a program, not read; save its state_dict or convert it to safetensors"),
    torch("no data.pkl", zip_file({"a.txt": b"hello"}),
          "a zip archive without a data.pkl: not a PyTorch checkpoint"),

    zipped("cut", GOOD[:-30], "no directory at the end of the file; is it complete?"),
    zipped("bytes after the end", GOOD + b"\0", "no directory at the end of the file; is it complete?"),
    zipped("alone", b"PK\3\4", "no directory at the end of the file; is it complete?"),
    zipped("one of several", patched(WHOLE + 4, b"\1"), "one part of several"),
    zipped("directory outside", patched(WHOLE + 16, b"\xff\xff\xff\x7f"),
           f"a directory of {WHOLE - DIRECTORY} bytes at 2147483647 is not inside the file"),
    zipped("more members than there is room for", patched(WHOLE + 10, b"\xff\xff"),
           f"a directory of {WHOLE - DIRECTORY} bytes cannot list 65535 members"),
    zipped("fewer members than there are", patched(WHOLE + 10, b"\1\0"), "the directory goes on after its last member"),
    zipped("no entry in the directory", patched(DIRECTORY, b"QK"), "no directory entry here"),
    zipped("an entry longer than the directory", patched(DIRECTORY + 32, b"\xff\xff"), "a directory entry is cut"),
    zipped("a member beyond the file", patched(DIRECTORY + 20, b"\xff\xff\xff\x7f"),
           "member 'archive/data.pkl': its bytes are not inside the file"),
    zipped("no local header", patched(DIRECTORY + 42, b"\2"),
           "member 'archive/data.pkl': no local header where the directory says"),
    zipped("zip64 without its field", patched(DIRECTORY + 42, b"\xff\xff\xff\xff"),
           "member 'archive/data.pkl': no local header where the directory says"),
    zipped("members that overlap", patched(GOOD.index(b"PK\1\2", DIRECTORY + 1) + 42, bytes(4)),
           "member 'archive/data/0': overlaps another member"),
    zipped("a name twice", archive(dict_of(("a", rebuild(storage()))), **{"data/1": b""}).replace(b"data/1", b"data/0"),
           "member 'archive/data/0': is there twice"),
    torch("encrypted", patched(DIRECTORY + 8, b"\1"), "member 'archive/data.pkl': is encrypted"),
    torch("a stored member of two sizes", patched(DIRECTORY + 24, b"\1\0\0\0"),
          f"member 'archive/data.pkl': stored, but of two sizes: 1 and {len(PICKLE)} bytes"),
    torch("packed by another method", patched(DIRECTORY + 10, b"\x0e"),
          "member 'archive/data.pkl': is packed by method 14: only stored and deflated ones are read"),
    torch("a storage that was deflated, with a wrong checksum", other_crc("archive/data/0"),
          f"member 'archive/data/0': its bytes have CRC-32 {zlib.crc32(FOUR):08x}, the directory says 00000001"),
    torch("a pickle that was deflated, with a wrong checksum", other_crc("archive/data.pkl"),
          f"member 'archive/data.pkl': its bytes have CRC-32 {zlib.crc32(PICKLE):08x}, the directory says 00000001"),
    torch("a deflated pickle without a storage", zip_file({"archive/data.pkl": PICKLE}, deflate=True),
          "tensor 'a': its storage is not in the file"),

    torch("old form: magic alone", MAGIC, "pickle: byte 15: the pickle has no end", "t.bin"),
    old("another version", "a PyTorch file of the old form, version 7: only 1001 is known", version=b"\x80\x02K\7."),
    old("no byte order", "little_endian is not said", machine=b"\x80\x02}."),
    old("no list of keys", "expected a list of storage keys", keys=b"\x80\x02N."),
    old("a key that is a number", "a storage key is no string", keys=b"\x80\x02]K\0a."),
    old("a storage that nothing uses", "storage '1': its type is not one that is read",
        keys=b"\x80\x02]" + text("1") + b"a."),
    old("cut before a storage", "storage '0': the file ends before it", data=b"\4\0\0"),
    old("cut inside a storage", "storage '0': the file ends inside it", data=struct.pack("<q", 4) + bytes(15)),
    old("a storage of 2^63 elements", "storage '0': the file ends inside it", data=struct.pack("<Q", 2 ** 63)),
    old("a view outside its storage", "storage '0': its type is not one that is read",
        store=storage(more=b"(" + text("1") + number(2) + number(3) + b"t")),
]
