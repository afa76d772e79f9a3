"""What convert writes, read by numpy, safetensors, csv and gensim; and there and back again, bit for bit."""
import csv
import itertools
import json
import struct

import numpy as np
from peer import library, main, objects, run

RNG = np.random.default_rng(11)
PLAIN = ["cat", "New York", "a\tb", " lead", "trail ", "été", "日本", '"quoted"', "a,b", "7", "#1", "##s"]
ODD = ["cat", "two\nlines", "nul\0", "cr\r", "", "\n", "tab\t", "\\n", "été"]
BYTES = [b"cat", b"\xff\xfe", b"caf\xe9 x", b"cat", b"\xc3", b"dog"]          # a duplicate, no UTF-8


def values(n, d=7):
    """f32 of every size, with both zeros, subnormals, infinities and NaN."""
    rows = (RNG.standard_normal((n, d)) * 10.0 ** RNG.integers(-30, 30, (n, d))).astype("f4")
    rows.flat[:6] = [0.0, -0.0, 1e-45, np.inf, -np.inf, 3.4028235e38]
    return rows


def write_vec(name, tokens, rows):
    """word2vec's binary form, as it is specified: any token without a blank, and not beginning with a newline."""
    with open(name, "wb") as f:
        f.write(f"{len(tokens)} {rows.shape[1]}\n".encode())
        for token, row in zip(tokens, rows):
            f.write(token + b" " + row.tobytes() + b"\n")


def write_npy(tokens, rows):
    """t.npy, and tokens beside it as an object from token to row."""
    np.save("t.npy", rows)
    with open("v.json", "w") as f:
        json.dump({t: i for i, t in enumerate(tokens)}, f)


def tokens_of(name, n):
    out = objects("lookup", "-t", name, *range(n))
    return [bytes.fromhex(o["token_bytes"]) if "token_bytes" in o else o["token"].encode() for o in out]


def rows_of(name, n):
    return np.frombuffer(run("lookup", "-t", name, "-O", "raw", *range(n)), "f4").reshape(n, -1)


def check_same(name, tokens, rows):
    assert tokens_of(name, len(tokens)) == tokens, f"{name}: {tokens_of(name, len(tokens))}"
    assert rows_of(name, len(tokens)).tobytes() == rows.tobytes(), f"{name}: other bits"


def there_and_back():
    """Every format that holds these tokens, to every other, and back."""
    rows = values(len(PLAIN))
    names = {"safetensors": "x.safetensors", "word2vec-text": "x.vec", "text": "x.txt"}
    for (a, b) in itertools.product(names, names):
        write_npy(PLAIN, rows)
        run("convert", "t.npy", "0" + names[a], "--vocab", "v.json", "--to", a, "--force")
        run("convert", "0" + names[a], "1" + names[b], "--to", b, "--force")
        run("convert", "1" + names[b], "2" + names[a], "--to", a, "--force")
        for name in ("0" + names[a], "1" + names[b], "2" + names[a]):
            check_same(name, [t.encode() for t in PLAIN], rows)
        assert open("0" + names[a], "rb").read() == open("2" + names[a], "rb").read(), f"{a} {b}"


def odd_tokens():
    """Newlines, NUL, empty: what a line cannot hold goes into x.vocab.json; what no file holds is refused."""
    rows = values(len(ODD))
    write_npy(ODD, rows)
    run("convert", "t.npy", "x.safetensors", "--vocab", "v.json")
    check_same("x.safetensors", [t.encode() for t in ODD], rows)
    assert json.load(open("x.vocab.json")) == {t: i for i, t in enumerate(ODD)}
    for target in ("x.bin", "x.vec", "x.txt", "x.tsv"):
        run("convert", "x.safetensors", target, code=3)
        run("convert", "x.safetensors", target, "--lossy")
    changed = ["cat", "two_lines", "nul_", "cr\r", "#4", "_", "tab\t", "\\n", "été"]
    check_same("x.vec", [t.encode() for t in changed], rows)
    raw = values(len(BYTES))
    write_vec("b.bin", [t.replace(b" ", b"_") for t in BYTES], raw)
    run("convert", "b.bin", "b.safetensors")                                  # as lines: any bytes
    check_same("b.safetensors", [t.replace(b" ", b"_") for t in BYTES], raw)
    write_vec("c.bin", [b"a\nb", b"\xff"], raw[:2])
    run("convert", "c.bin", "c.safetensors", code=3)
    run("convert", "c.bin", "c.safetensors", "--lossy")
    check_same("c.safetensors", [b"a_b", b"\xff"], raw[:2])


def safetensors_reads():
    library("safetensors.numpy")
    rows = values(5)
    write_npy(PLAIN[:5], rows)
    run("convert", "t.npy", "x.safetensors", "--vocab", "v.json", "--name", "wte")
    got = library("safetensors").numpy.load_file("x.safetensors")
    assert list(got) == ["wte"] and got["wte"].tobytes() == rows.tobytes()
    assert open("x.vocab.txt", "rb").read() == b"".join(t.encode() + b"\n" for t in PLAIN[:5])


def numpy_reads_npz():
    """The array and its tokens, without pickle; and back again."""
    tokens = PLAIN + ["\U0001f600 \u00e9", "a\0b", "cr\r", "two\nlines", "", "\ufeff"]
    rows = values(len(tokens))
    write_npy(tokens, rows)
    run("convert", "t.npy", "x.npz", "--vocab", "v.json", "--name", "wte")
    with np.load("x.npz", allow_pickle=False) as got:
        assert got.files == ["wte", "tokens"] and got["wte"].tobytes() == rows.tobytes()
        assert got["tokens"].tolist() == tokens and got["tokens"].dtype.str == f"<U{max(map(len, tokens))}"
    got = objects("lookup", "-t", "x.npz", *range(len(rows)))
    assert [o["token"] for o in got] == tokens
    run("convert", "x.npz", "y.safetensors")
    check_same("y.safetensors", [t.encode() for t in tokens], rows)
    write_vec("b.bin", [b"ok", b"\xff", b"end\0"], rows[:3])
    run("convert", "b.bin", "b.npz", code=3)
    run("convert", "b.bin", "b.npz", "--lossy")
    assert np.load("b.npz")["tokens"].tolist() == ["ok", "_", "end_"]


def one_rounding():
    """f64 and f32 to f16 as numpy casts; to bf16 by the formula of round to nearest even."""
    wide = np.concatenate([RNG.standard_normal((300, 9)) * 10.0 ** RNG.integers(-9, 4, (300, 9)),
                           RNG.integers(0, 4097, (300, 9)) / 2048.0])
    for source in ("f8", "f4"):
        rows = wide.astype(source)
        np.save("t.npy", rows)
        run("convert", "t.npy", "h.npy", "--dtype", "f16", "--force")
        with np.errstate(over="ignore"):
            assert np.load("h.npy").tobytes() == rows.astype("f2").tobytes(), source
    run("convert", "t.npy", "b.raw", "--dtype", "bf16")
    bits = rows.view("u4").astype("u8")
    want = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("u2")
    assert np.fromfile("b.raw", "u2").tobytes() == want.tobytes()
    for threads in ("1", "2", "3"):
        run("convert", "t.npy", "j.raw", "--dtype", "bf16", "--force", "-j", threads)
        assert open("j.raw", "rb").read() == open("b.raw", "rb").read(), threads


def every_type_of_npy_through_safetensors():
    for code in ("f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
        rows = (RNG.standard_normal((30, 4)) * 50).astype(code)
        np.save("t.npy", np.asfortranarray(rows.astype(np.dtype(code).newbyteorder(">"))))
        run("convert", "t.npy", "t.safetensors", "--force")
        run("convert", "t.safetensors", "u.npy", "--force")
        got = np.load("u.npy")
        assert got.dtype == rows.dtype and got.tobytes() == rows.tobytes(), code


def csv_reads():
    tokens = PLAIN + ['say "a,b"', "cr\r", "two\nlines", ""]
    rows = values(len(tokens))
    write_npy(tokens, rows)
    run("convert", "t.npy", "x.csv", "--vocab", "v.json")
    with open("x.csv", newline="") as f:
        lines = list(csv.reader(f))
    assert lines[0] == ["token", *map(str, range(7))]
    assert [line[0] for line in lines[1:]] == tokens
    assert np.array(lines[1:])[:, 1:].astype("f4").tobytes() == rows.tobytes()
    run("convert", "t.npy", "n.csv", "--header", "no", "--separator", ";")
    assert np.loadtxt("n.csv", delimiter=";", dtype="f4").tobytes() == rows.tobytes()


def projector_reads():
    rows = values(len(PLAIN) - 1)
    tokens = [t for t in PLAIN if "\t" not in t]
    write_npy(tokens, rows)
    run("convert", "t.npy", "x.tsv", "--vocab", "v.json")
    assert np.loadtxt("x.tsv", delimiter="\t", dtype="f4").tobytes() == rows.tobytes()
    assert open("x.metadata.tsv", "rb").read().decode().split("\n") == tokens + [""]


def gensim_reads():
    library("gensim.models")
    tokens = ["cat", "dog", "été", "a_b"]
    rows = np.nan_to_num(values(4), posinf=1, neginf=-1)
    write_npy(tokens, rows)
    load = library("gensim").models.KeyedVectors.load_word2vec_format
    for name, how in (("x.bin", {"binary": True}), ("x.vec", {}), ("x.txt", {"no_header": True})):
        run("convert", "t.npy", name, "--vocab", "v.json")
        got = load(name, **how)
        assert got.index_to_key == tokens and got.vectors.tobytes() == rows.tobytes(), name


def chosen_and_unit_rows():
    rows = values(40, 6)
    rows[3] = 0
    rows[5] = [1e-40] * 6
    np.save("t.npy", rows)
    ids = RNG.integers(0, 40, 200)
    with open("ids", "w") as f:
        f.write("".join(f"{i}\n" for i in ids))
    run("convert", "t.npy", "s.npy", "--select", "ids")
    assert np.load("s.npy").tobytes() == rows[ids].tobytes()
    run("convert", "t.npy", "u.npy", "--normalize", "--dtype", "f64")
    wide, got = rows.astype("f8"), np.load("u.npy")
    finite = np.isfinite(wide).all(axis=1)
    norms = np.sqrt((wide ** 2).sum(axis=1, keepdims=True))
    want = np.divide(wide, norms, out=wide.copy(), where=(norms > 0) & np.isfinite(norms))
    assert np.allclose(got[finite], want[finite], rtol=1e-15, atol=0) and not got[3].any()
    assert np.array_equal(got[~finite], wide[~finite], equal_nan=True) and (~finite).any()


def many_rows():
    """More than a block, on several threads, from text and from binary."""
    rows = RNG.standard_normal((30000, 20)).astype("f4")
    write_vec("t.bin", [b"w%d" % i for i in range(30000)], rows)
    run("convert", "t.bin", "t.txt")
    for source in ("t.bin", "t.txt"):
        run("convert", source, "o.safetensors", "--force", "-j", "2")
        data = open("o.safetensors", "rb").read()
        head = 8 + struct.unpack("<Q", data[:8])[0]
        assert data[head:] == rows.tobytes(), source
        run("convert", source, "u.npy", "--normalize", "--lossy", "--force")
        unit = rows / np.sqrt((rows.astype("f8") ** 2).sum(axis=1, keepdims=True))
        assert np.array_equal(np.load("u.npy"), unit.astype("f4")), source


if __name__ == "__main__":
    main([there_and_back, odd_tokens, safetensors_reads, numpy_reads_npz, one_rounding, every_type_of_npy_through_safetensors, csv_reads,
          projector_reads, gensim_reads, chosen_and_unit_rows, many_rows])
