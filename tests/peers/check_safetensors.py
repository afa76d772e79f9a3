"""safetensors reads what we write and we read what safetensors writes."""
import struct

import numpy as np
from peer import main, run
from safetensors.numpy import load_file, save_file

RNG = np.random.default_rng(11)


def theirs_to_ours():
    a = RNG.standard_normal((50, 7))
    for dtype in ("f2", "f4", "f8", "i1", "u1", "i2", "i4", "i8"):
        t = (a * 50).astype(dtype)
        save_file({"embedding.weight": t, "other": np.ones(3, "f4")}, "a.safetensors", {"format": "pt", "note": "é\n"})
        run("lookup", "-t", "a.safetensors", "-o", "b.npy", "--force", "--id", "0..49")
        assert np.array_equal(np.load("b.npy"), t), dtype


def ours_to_theirs():
    a = RNG.standard_normal((50, 7))
    for dtype in ("f2", "f4", "f8", "i2", "u1"):
        np.save("a.npy", (a * 50).astype(dtype))
        run("lookup", "-t", "a.npy", "-o", "b.safetensors", "--force", "--id", "0..49")
        (name, b), = load_file("b.safetensors").items()
        assert np.array_equal(b, np.load("a.npy")), dtype


def init_is_read():
    run("init", "12", "5", "-o", "a.safetensors", "--name", "model.embed_tokens.weight")
    run("init", "12", "5", "-o", "a.npy")
    (name, b), = load_file("a.safetensors").items()
    assert name == "model.embed_tokens.weight" and np.array_equal(b, np.load("a.npy"))


def bf16_bits():
    """bf16 is the upper half of f32, rounded to nearest even."""
    a = RNG.standard_normal((64, 9)).astype("f4")
    a.flat[:3] = [1.00390625, 1.01171875, 3.4028235e38]
    np.save("a.npy", a)
    run("lookup", "-t", "a.npy", "-o", "b.safetensors", "--dtype", "bf16", "--id", "0..63")
    raw = open("b.safetensors", "rb").read()
    n = struct.unpack("<Q", raw[:8])[0]
    got = np.frombuffer(raw[8 + n:], "<u2").reshape(a.shape)
    bits = a.view("u4").astype(np.uint64)
    want = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("u2")
    assert np.array_equal(got, want)


def ragged():
    a = RNG.standard_normal((9, 4)).astype("f4")
    np.save("a.npy", a)
    run("lookup", "-t", "a.npy", "--ragged", "-o", "r.safetensors", stdin=b"0 1 2\n\n3\n4 5\n")
    parts = load_file("r.safetensors")
    offsets = next(v for v in parts.values() if v.dtype.kind == "i")
    values = next(v for v in parts.values() if v.dtype.kind == "f")
    assert np.array_equal(values, a[[0, 1, 2, 3, 4, 5]]), values
    assert list(offsets) in ([0, 3, 3, 4, 6], [0, 3, 4, 6]), offsets


if __name__ == "__main__":
    main([theirs_to_ours, ours_to_theirs, init_is_read, bf16_bits, ragged])
