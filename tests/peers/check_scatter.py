"""emb_scatter_add gives the bits of numpy.add.at, which adds in the order of its indices too."""
import ctypes
from pathlib import Path

import numpy as np
from peer import TOOL, main

LIB = ctypes.CDLL(str(Path(TOOL).parent / "libemb.so"))
TYPES = {"f64": 1, "f32": 2, "f16": 3}           # emb_dtype of emb.h


class Block(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("rows", ctypes.c_uint64), ("dims", ctypes.c_uint32), ("dtype", ctypes.c_int),
                ("stride_bytes", ctypes.c_size_t)]


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("sys", ctypes.c_int), ("at", ctypes.c_int64), ("msg", ctypes.c_char * 240)]


class Opts(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("frozen", ctypes.c_void_p), ("device", ctypes.c_void_p)]


def block(a, dtype):
    return Block(a.ctypes.data, a.shape[0], a.shape[1], TYPES[dtype], a.strides[0])


def scatter_add(table, rows, grads, dtype, frozen=None):
    ctx, err = ctypes.c_void_p(), Error()
    assert LIB.emb_ctx_new(None, ctypes.byref(ctx), ctypes.byref(err)) == 0, err.msg
    bits = None if frozen is None else np.packbits(frozen, bitorder="little")
    opts = Opts(ctypes.sizeof(Opts), bits.ctypes.data if bits is not None else None, None)
    to, of = block(table, dtype), block(grads, dtype)
    status = LIB.emb_scatter_add(ctx, ctypes.byref(to), ctypes.c_void_p(rows.ctypes.data), ctypes.byref(of),
                                 ctypes.byref(opts), ctypes.byref(err))
    assert status == 0, err.msg
    LIB.emb_ctx_free(ctx)


def random(v, d, n, kind, seed):
    r = np.random.default_rng(seed)
    rows = np.minimum(r.zipf(1.3, n) - 1, v - 1).astype(np.uint64)      # some rows get most of them
    return r.standard_normal((v, d)).astype(kind), rows, (r.standard_normal((n, d)) * 10).astype(kind)


def sums_of_f32_and_f64_are_those_of_numpy():
    for dtype, kind in (("f32", "<f4"), ("f64", "<f8")):
        for v, d, n in ((1, 1, 1), (5, 3, 100), (5000, 37, 20000), (70000, 300, 3000)):
            table, rows, grads = random(v, d, n, kind, n)
            want = table.copy()
            np.add.at(want, rows.astype(np.int64), grads)
            scatter_add(table, rows, grads, dtype)
            assert np.array_equal(table.view("u1"), want.view("u1")), f"{dtype} {v} x {d}, {n}"


def sums_of_f16_are_rounded_once():
    table, rows, grads = random(300, 9, 4000, "<f2", 5)
    want = table.astype("<f4")
    np.add.at(want, rows.astype(np.int64), grads.astype("<f4"))
    scatter_add(table, rows, grads, "f16")
    assert np.array_equal(table, want.astype("<f2"))


def frozen_rows_stay():
    table, rows, grads = random(300, 9, 4000, "<f4", 6)
    frozen = np.arange(300) % 3 == 0
    want, keep = table.copy(), ~frozen[rows.astype(np.int64)]
    np.add.at(want, rows[keep].astype(np.int64), grads[keep])
    scatter_add(table, rows, grads, "f32", frozen)
    assert np.array_equal(table, want) and keep.any() and not keep.all()


main([sums_of_f32_and_f64_are_those_of_numpy, sums_of_f16_are_rounded_once, frozen_rows_stay])
