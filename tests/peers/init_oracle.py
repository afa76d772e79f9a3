#!/usr/bin/env python3
"""The generator of `init`, written a second time in numpy from its documented formula (docs/numerics.md).

As a module: rows(...) gives the table. As a program: init_oracle.py V D [options] writes the raw rows to stdout, and
`init_oracle.py --vectors` prints the expected values of tests/unit/test_init.c.
"""
import argparse
import sys
from math import sqrt

import numpy as np

U32, U64, F32, F64 = np.uint32, np.uint64, np.float32, np.float64
TRUNCATED_STD = 0.87962566103423978


def philox(counter, key):
    """Philox4x32-10 of Salmon et al.: counter is four arrays of 32-bit words (as uint64), key two integers."""
    c = [np.asarray(x, U64) for x in np.broadcast_arrays(*counter)]
    k0, k1 = key
    mask, half = U64(0xFFFFFFFF), U64(32)
    for _ in range(10):
        p0, p1 = U64(0xD2511F53) * c[0], U64(0xCD9E8D57) * c[2]
        c = [(p1 >> half) ^ c[1] ^ U64(k0), p1 & mask, (p0 >> half) ^ c[3] ^ U64(k1), p0 & mask]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


def words(seed, stream, row, block, attempt):
    """Four arrays [rows, blocks] of 32-bit words, as uint64. row [rows, 1], block [blocks]: uint64."""
    high = (row >> U64(32)) | U64(attempt << 16)
    return philox((block, row & U64(0xFFFFFFFF), high, U64(stream)), (seed & 0xFFFFFFFF, seed >> 32))


def horner(terms, z):
    """terms[0] is that of the highest power."""
    p = terms[0]
    for t in terms[1:]:
        p = p * z + t
    return p


def log32(u):
    above = (u.view(np.int32).astype(np.int64) - 0x3F3504F3)
    e = (above >> 23).astype(F32)
    m = ((above & 0x7FFFFF) + 0x3F3504F3).astype(np.int32).view(F32)
    f = m - F32(1)
    s = f / (f + F32(2))
    z = s * s
    p = horner([F32(1) / F32(k) for k in (9, 7, 5, 3)], z)
    s2 = s + s
    return e * F32(float.fromhex("0x1.62e4p-1")) + (s2 + (s2 * (z * p) + e * F32(float.fromhex("0x1.7f7d1cp-20"))))


def log64(u):
    above = u.view(np.int64) - 0x3FE6A09E667F3BCD
    e = (above >> 52).astype(F64)
    m = ((above & 0xFFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD).view(F64)
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    p = horner([1.0 / k for k in range(21, 1, -2)], z)
    s2 = s + s
    hi, lo = float.fromhex("0x1.62e42fefap-1"), float.fromhex("0x1.cf79abc9e3b3ap-40")
    return e * hi + (s2 + (s2 * (z * p) + e * lo))


def cos_sin(y, kind, n_cos, n_sin):
    """Taylor series with the powers up to y^n_cos and y^n_sin."""
    def term(n):
        f = 1
        for i in range(2, n + 1):
            f *= i
        return kind(1) / kind(f) * kind(-1 if n % 4 >= 2 else 1)

    z = y * y
    c = horner([term(n) for n in range(n_cos, -1, -2)], z)
    s = y + y * (z * horner([term(n) for n in range(n_sin, 1, -2)], z))
    return c, s


def turn(q, c, s):
    """cos and sin of q quarter turns plus the angle whose cos and sin are c and s."""
    x, y = np.where(q & U64(1), s, c), np.where(q & U64(1), c, s)
    return np.where((q == 1) | (q == 2), -x, x), np.where(q >= 2, -y, y)


def normal32(radius, angle):
    u = (radius >> U64(1)).astype(F32) * F32(2.0**-31) + F32(2.0**-32)
    r = np.sqrt(F32(-2) * log32(u))
    q = ((angle + U64(1 << 29)) & U64(0xFFFFFFFF)) >> U64(30)
    rest = (angle - (q << U64(30))).astype(U32).view(np.int32).astype(F32)
    y = (rest + F32(0.5)) * F32(float.fromhex("0x1.921fb6p-30"))
    c, s = turn(q, *cos_sin(y, F32, 10, 9))
    return r * c, r * s


def normal64(radius, angle):
    u = ((radius >> U64(11)) + U64(1)).astype(F64) * 2.0**-53
    r = np.sqrt(-2.0 * log64(u))
    q = (angle + U64(1 << 61)) >> U64(62)
    rest = (angle - (q << U64(62))).view(np.int64).astype(F64)
    y = (rest + 0.5) * float.fromhex("0x1.921fb54442d18p-62")
    c, s = turn(q, *cos_sin(y, F64, 16, 17))
    return r * c, r * s


def elements(dist, wide, w):
    """[rows, 4 * blocks] of f32, or [rows, 2 * blocks] of f64, before the scale."""
    if wide:
        w = [w[0] | w[1] << U64(32), w[2] | w[3] << U64(32)]
    if dist != "uniform":
        parts = [z for i in range(0, len(w), 2) for z in (normal64 if wide else normal32)(w[i], w[i + 1])]
    elif wide:
        parts = [(((x ^ U64(1 << 63)).view(np.int64) >> 11).astype(F64) + 0.5) * 2.0**-52 for x in w]
    else:
        parts = [((x.astype(np.int64) - 2**31).astype(F32) + F32(0.5)) * F32(2.0**-31) for x in w]
    return np.stack(parts, axis=-1).reshape(len(parts[0]), -1)


def to_bf16(x):
    """Bits of finite f32 values rounded to bf16, nearest even."""
    b = x.view(U32).astype(U64)
    return ((b + U64(0x7FFF) + ((b >> U64(16)) & U64(1))) >> U64(16)).astype(np.uint16)


def rows(n, d, dist="normal", std=0.0, seed=0, stream=0, dtype="f32", first=0):
    """Rows first .. first+n-1; bf16 as uint16."""
    std = std or 1 / sqrt(d)
    wide = dtype == "f64"
    row = (np.arange(n, dtype=U64) + U64(first))[:, None]
    block = np.arange((d + 3) // (2 if wide else 4), dtype=U64)
    out = elements(dist, wide, words(seed, stream, row, block, 0))[:, :d].copy()
    attempt = 0
    while dist == "truncated" and (np.abs(out) > 2).any():
        attempt += 1
        more = elements(dist, wide, words(seed, stream, row, block, attempt))[:, :d]
        out = np.where(np.abs(out) > 2, more, out)
    scale = {"normal": std, "uniform": std * sqrt(3.0), "truncated": std / TRUNCATED_STD}[dist]
    out = out * (F64 if wide else F32)(scale)
    return {"f64": lambda: out, "f32": lambda: out, "f16": lambda: out.astype(np.float16), "bf16": lambda: to_bf16(out)}[dtype]()


VECTORS = [
    # name, dist, std, seed, stream, first row
    ("NORMAL", "normal", 1.0, 7, 0, 0),
    ("UNIFORM", "uniform", 1.0, 7, 0, 0),
    ("TRUNCATED", "truncated", 1.0, 7, 0, 0),
    ("NORMAL", "normal", 0.02, 0xFEDCBA9876543210, 0xFFFFFFFF, 0x123456789ABC),
]


def print_vectors():
    """C initialisers: two rows of 9 columns as bits of f32, f64, f16 and bf16."""
    for name, dist, std, seed, stream, first in VECTORS:
        how = dict(dist=dist, std=std, seed=seed, stream=stream, first=first)
        print(f"    {{EMB_{name}, {std!r}, UINT64_C({seed:#x}), {stream:#x}, UINT64_C({first:#x}),")
        for dtype, kind, end in (("f32", U32, ","), ("f64", U64, ","), ("f16", np.uint16, ","), ("bf16", np.uint16, "},")):
            bits = [f"{x:#0{2 + 2 * kind().nbytes}x}" for x in rows(2, 9, dtype=dtype, **how).view(kind).flat]
            print("     {" + ", ".join(f"UINT64_C({x})" if dtype == "f64" else x for x in bits) + "}" + end)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("v", type=int, nargs="?", default=1)
    p.add_argument("d", type=int, nargs="?", default=1)
    p.add_argument("--dist", default="normal", choices=["normal", "uniform", "truncated"])
    p.add_argument("--std", type=float, default=0.0)
    p.add_argument("--dtype", default="f32", choices=["f64", "f32", "f16", "bf16"])
    for name in ("seed", "stream", "first"):
        p.add_argument(f"--{name}", type=int, default=0)
    p.add_argument("--vectors", action="store_true")
    a = p.parse_args()
    if a.vectors:
        print_vectors()
    else:
        sys.stdout.buffer.write(rows(a.v, a.d, a.dist, a.std, a.seed, a.stream, a.dtype, a.first).tobytes())


if __name__ == "__main__":
    main()
