"""Quantised blocks: their numbers are those of the gguf package, and so are the blocks of numbers."""
import subprocess
from pathlib import Path

import numpy as np
from peer import TOOL, library, main

CONVERT = Path(TOOL).parent / "tests/peers/convert_numbers"
RNG = np.random.default_rng(11)
TYPES = ["q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "iq4_nl", "iq4_xs",
         "mxfp4", "nvfp4", "tq1_0", "tq2_0"]
# Where the f16 scales of a block are.
SCALES = {"q4_1": (0, 2), "q5_1": (0, 2), "q2_K": (80, 82), "q3_K": (108,), "q4_K": (0, 2), "q5_K": (0, 2), "q6_K": (208,),
          "mxfp4": (), "nvfp4": (), "tq1_0": (52,), "tq2_0": (64,)}


def convert(source, target, data):
    r = subprocess.run([CONVERT, source, target], input=data, capture_output=True, timeout=60)
    assert r.returncode == 0, r.stderr
    return r.stdout


def random_blocks(name, size, n=500):
    """Bytes of any kind; in half of the blocks scales as models have them, in half any f16: infinite, NaN, tiny."""
    blocks = RNG.integers(0, 256, (n, size), dtype=np.uint8)
    for at in SCALES.get(name, (0,)):
        scales = (RNG.standard_normal(n // 2) * 10.0 ** RNG.integers(-5, 2, n // 2)).astype("<f2")
        blocks[: n // 2, at : at + 2] = scales.view(np.uint8).reshape(-1, 2)
    return blocks


def numbers_of_every_type():
    gguf = library("gguf")
    from gguf.quants import dequantize
    for name in TYPES:
        kind = gguf.GGMLQuantizationType[name.upper()]
        _, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = random_blocks(name, size)
        with np.errstate(all="ignore"):
            want = dequantize(blocks, kind).ravel()
        got = np.frombuffer(convert(name.lower(), "f32", blocks.tobytes()), "<f4")
        assert len(got) == len(want), name
        nan = np.isnan(want)
        assert np.array_equal(np.isnan(got), nan), name
        assert got[~nan].tobytes() == want[~nan].astype("<f4").tobytes(), name


def some_numbers():
    x = RNG.standard_normal((2000, 32)).astype("f4") * (10.0 ** RNG.integers(-6, 4, (2000, 1))).astype("f4")
    x[:300] = RNG.integers(-8, 9, (300, 32)) / np.float32(4)  # ties, and several largest
    x[300] = 0
    x[301:310] = RNG.integers(-9, 10, (9, 32)) * np.float32(1e-44)  # scales without an inverse
    return x


def blocks_of_q8_0():
    gguf = library("gguf")
    from gguf.quants import quantize
    x = some_numbers()
    x[301:310] = 0  # numpy's infinities are not ours
    with np.errstate(all="ignore"):
        want = quantize(x, gguf.GGMLQuantizationType.Q8_0)
    assert convert("f32", "q8_0", x.tobytes()) == want.tobytes()


def blocks_of_q4_0():
    """By the formula of ggml in f32. The package computes in f64, so a code may differ by one where f32 rounds."""
    gguf = library("gguf")
    from gguf.quants import quantize
    x = some_numbers()
    most = np.take_along_axis(x, np.abs(x).argmax(1)[:, None], 1)
    d = most / np.float32(-8)
    with np.errstate(all="ignore"):
        inverse = np.where(d == 0, np.float32(0), np.float32(1) / d)
    inverse[np.isinf(inverse)] = 0
    codes = np.minimum(15, np.trunc(x * inverse + np.float32(8.5))).astype(np.uint8)
    want = np.concatenate([d.astype("<f2").view(np.uint8), codes[:, :16] | codes[:, 16:] << 4], axis=1)
    got = np.frombuffer(convert("f32", "q4_0", x.tobytes()), np.uint8).reshape(-1, 18)
    assert np.array_equal(got, want)
    with np.errstate(all="ignore"):
        other = quantize(x, gguf.GGMLQuantizationType.Q4_0)
    usual = np.r_[:301, 310:2000]  # see above
    assert np.array_equal(got[usual, :2], other[usual, :2])
    low = got[usual, 2:].astype(int), other[usual, 2:].astype(int)
    for shift in (0, 4):
        off = np.abs((low[0] >> shift & 15) - (low[1] >> shift & 15))
        assert off.max() <= 1 and (off != 0).mean() < 1e-3, (off.max(), (off != 0).mean())


main([numbers_of_every_type, blocks_of_q8_0, blocks_of_q4_0])
