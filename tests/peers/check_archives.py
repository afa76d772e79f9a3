"""Archives that numpy, Python's zipfile and gzip make: every array, row and token is read as they read them."""
import gzip
import io
import zipfile

import numpy as np
from peer import main, objects, run

RNG = np.random.default_rng(11)
TYPES = ["<f2", "<f4", "<f8", ">f4", ">f8", "|i1", "<i4", ">i8", "<u2"]
WORDS = ["the", "Stra\u00dfe", "a b", "", "\u65e5\u672c\u8a9e", "\U0001F600!", "tab\there", "trailing "]


class Pipe(io.RawIOBase):
    """Takes bytes and cannot seek: zipfile then writes sizes after the data."""
    def __init__(self, path):
        self.file = open(path, "wb")

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)

    def close(self):
        self.file.close()
        super().close()


def table(dtype="<f4", rows=len(WORDS), dims=5):
    if np.dtype(dtype).kind in "iu":
        return RNG.integers(0, 100, (rows, dims)).astype(dtype)
    return RNG.standard_normal((rows, dims)).astype(dtype)


def same(name, want, *options):
    """All rows of a table, as numbers of their own type."""
    ids = " ".join(map(str, range(len(want)))).encode()
    got = np.load(io.BytesIO(run("lookup", "-t", name, "-O", "npy", *options, stdin=ids)))
    native = want.astype(want.dtype.newbyteorder("="))
    assert got.dtype == native.dtype and got.shape == want.shape, f"{name}: {got.dtype}{got.shape}"
    assert got.tobytes() == np.ascontiguousarray(native).tobytes(), name


def tokens(name, want):
    got = objects("lookup", "-t", name, stdin=" ".join(map(str, range(len(want)))).encode())
    got = [bytes.fromhex(o["token_bytes"]) if "token_bytes" in o else o["token"].encode() for o in got]
    assert got == [w if isinstance(w, bytes) else w.encode("utf-8", "surrogatepass") for w in want], f"{name}: {got}"


def arrays_of_every_type():
    for dtype in TYPES:
        for order in "CF":
            a = np.array(table(dtype), order=order)
            np.savez("a.npz", emb=a, ids=np.arange(3), other=a[:2])
            np.savez_compressed("c.npz", emb=a, ids=np.arange(3), other=a[:2])
            for name in ("a.npz", "c.npz"):
                same(name, a)
                same(f"{name}#emb", a)
                same(f"{name}#other", a[:2])


def positional_arrays():
    a, b = table(), table(rows=3)
    np.savez("one.npz", a)
    same("one.npz", a)
    np.savez("two.npz", a, b)
    same("two.npz#arr_1", b)
    run("stats", "two.npz", code=3)


def tokens_beside_the_rows():
    wide = np.array(WORDS)
    narrow = np.array([w.encode() for w in WORDS])
    lone = np.array([*WORDS[:-1], "x\ud800"])
    for key in ("vocab", "words", "tokens"):
        for save in (np.savez, np.savez_compressed):
            for words in (wide, wide.astype(wide.dtype.newbyteorder(">")), narrow, lone):
                save("a.npz", vectors=table(), **{key: words})
                tokens("a.npz", list(words))
    assert objects("lookup", "-t", "a.npz", WORDS[4])[0]["id"] == 4


def zip64_and_descriptors():
    a = table()
    buffer = io.BytesIO()
    np.save(buffer, a)
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        for target in ("file", "pipe"):
            with zipfile.ZipFile(Pipe("a.npz") if target == "pipe" else "a.npz", "w", method) as z:
                with z.open("emb.npy", "w", force_zip64=True) as f:
                    f.write(buffer.getvalue())
            same("a.npz", a)
    with zipfile.ZipFile("a.npz", "w") as z:
        z.comment = b"PK\5\6 in a comment" * 100
        z.writestr("emb.npy", buffer.getvalue())
    same("a.npz", a)


def many_members():
    """More than 65,535: the directory is a zip64 one."""
    with zipfile.ZipFile("a.zip", "w") as z:
        for i in range(66000):
            z.writestr(f"{i}.txt", "")
        z.writestr("w.txt", "cat 1 2\n")
    assert run("lookup", "-t", "a.zip#w.txt", "cat") == b"cat 1 2\n"


def members_of_every_format():
    a = table()
    np.save("e.npy", a)
    run("lookup", "-t", "e.npy", "-o", "e.safetensors", stdin=b"0 1 2 3 4 5 6 7")
    words = [f"w{i}" for i in range(len(a))]
    text = "".join(f"{w} " + " ".join(map(repr, map(float, row))) + "\n" for w, row in zip(words, a)).encode()
    binary = f"{len(a)} 5\n".encode() + b"".join(w.encode() + b" " + row.tobytes() for w, row in zip(words, a))
    files = {"e.npy": open("e.npy", "rb").read(), "e.safetensors": open("e.safetensors", "rb").read(), "dir/e.txt": text,
             "e.bin": binary, "e.txt.gz": gzip.compress(text), "README.md": b"vectors of words\n"}
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        for name, data in files.items():
            with zipfile.ZipFile("one.zip", "w", method) as z:
                z.writestr("README.md", files["README.md"])
                z.writestr(name, data) if name != "README.md" else None
                for aside in ("__MACOSX/x", "dir/.x", ".x"):
                    z.writestr(aside, text)
            if name != "README.md":
                same("one.zip", a)
        with zipfile.ZipFile("all.zip", "w", method) as z:
            for name, data in files.items():
                z.writestr(name, data)
        for name in list(files)[:-1]:
            same(f"all.zip#{name}", a)
        run("stats", "all.zip", code=3)
        run("stats", "all.zip#README.md", code=3)


def gzip_of_every_format():
    a = table(rows=3000)
    np.save("e.npy", a)
    np.savez_compressed("e.npz", emb=a)
    for name in ("e.npy", "e.npz"):
        data = open(name, "rb").read()
        for cut in (0, 1, len(data) // 3):
            open("x.gz", "wb").write(gzip.compress(data[:cut]) + gzip.compress(data[cut:], 1) + bytes(512))
            same("x.gz", a)
        got = np.load(io.BytesIO(run("lookup", "-t", "-", "-O", "npy", *range(3000), stdin=open("x.gz", "rb").read())))
        assert got.tobytes() == a.tobytes()


def in_a_file_or_in_memory():
    """More than the 64 MiB that are always kept in memory: whatever is free, the rows are the same."""
    a = np.repeat(table(rows=500, dims=400), 100, axis=0)
    np.savez_compressed("a.npz", emb=a)
    for row in (0, 777, len(a) - 1):
        got = np.load(io.BytesIO(run("lookup", "-t", "a.npz", "-O", "npy", row)))
        assert got.tobytes() == a[row].tobytes(), row


def many_copies():
    """Of many equal arrays, which are compared to find the table, two are unpacked at one time. First of all tests, since
    the peak is that of all runs so far."""
    import resource
    a = np.zeros((1 << 20, 4), "f4")                # 16 MiB
    np.savez_compressed("a.npz", **{f"t{i}": a for i in range(12)})
    run("lookup", "-t", "a.npz", 5)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert peak < 5 * (16 << 10), f"{peak} KiB"


if __name__ == "__main__":
    main([many_copies, arrays_of_every_type, positional_arrays, tokens_beside_the_rows, zip64_and_descriptors, many_members,
          members_of_every_format, gzip_of_every_format, in_a_file_or_in_memory])
