"""numpy reads what we write and we read what numpy writes, bit for bit."""
import io

import numpy as np
from peer import main, objects, run

RNG = np.random.default_rng(7)
DTYPES = ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


def table(dtype, shape=(37, 5)):
    """Random numbers of every size; floats with NaN, infinities, subnormals and both zeros among them."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return RNG.integers(info.min, info.max, shape, dtype=dtype.newbyteorder("="), endpoint=True).astype(dtype)
    values = (RNG.standard_normal(shape) * 10.0 ** RNG.integers(-4, 4, shape)).astype(dtype)
    tiny = np.finfo(dtype.newbyteorder("=")).smallest_subnormal
    values.flat[:6] = [np.nan, np.inf, -np.inf, 0.0, -0.0, tiny]
    return values


def same_bits(a, b):
    assert a.shape == b.shape and a.dtype == b.dtype, f"{a.dtype}{a.shape} and {b.dtype}{b.shape}"
    assert np.array_equal(np.isnan(a), np.isnan(b)) if a.dtype.kind == "f" else True
    keep = ~np.isnan(a) if a.dtype.kind == "f" else np.ones(a.shape, bool)
    assert a[keep].tobytes() == b[keep].tobytes(), "values differ"


def every_type_order_and_byte_order():
    for code in DTYPES:
        for order in "<>":
            for fortran in (False, True):
                a = np.array(table(order + code), order="F" if fortran else "C")
                np.save("a.npy", a)
                ids = RNG.integers(0, len(a), 50)
                np.save("ids.npy", ids)
                run("lookup", "-t", "a.npy", "-i", "ids.npy", "-o", "b.npy", "--force")
                same_bits(np.load("b.npy"), a[ids].astype(a.dtype.newbyteorder("=")))


def our_npy_is_numpy_s_own_bytes():
    for dtype in DTYPES:
        a = table(dtype)
        np.save("a.npy", a)
        ids = " ".join(map(str, range(len(a)))).encode()
        run("lookup", "-t", "a.npy", "-o", "file.npy", "--force", stdin=ids)
        want = io.BytesIO()
        np.save(want, a)
        assert open("file.npy", "rb").read() == want.getvalue(), dtype
        assert run("lookup", "-t", "a.npy", "-O", "npy", stdin=ids) == want.getvalue(), dtype


def shapes_of_id_arrays():
    a = table("f4", (11, 3))
    np.save("a.npy", a)
    for shape in ((6,), (2, 3), (1, 4), (0,), (0, 3)):
        ids = RNG.integers(0, 11, shape)
        for ids in (ids, np.asfortranarray(ids), ids.astype(">i4")):
            np.save("ids.npy", ids)
            run("lookup", "-t", "a.npy", "-i", "ids.npy", "-o", "b.npy", "--force")
            same_bits(np.load("b.npy"), a[ids.astype(np.int64)])


def one_rounding_between_types():
    """f64 to f32 and f16, f32 to f16: as numpy casts, nearest even."""
    for source in ("f8", "f4"):
        a = np.concatenate([table(source, (200, 8)), (RNG.integers(0, 4097, (200, 8)) / 2048.0).astype(source)])
        np.save("a.npy", a)
        ids = " ".join(map(str, range(len(a)))).encode()
        for target, name in (("f4", "f32"), ("f2", "f16"), ("f8", "f64")):
            run("lookup", "-t", "a.npy", "-o", "b.npy", "--force", "--dtype", name, stdin=ids)
            with np.errstate(over="ignore"):
                same_bits(np.load("b.npy"), a.astype(target))


def text_reads_back():
    for dtype in ("f2", "f4", "f8"):
        a = table(dtype, (100, 6))
        a = np.where(np.isfinite(a), a, np.array(1, dtype))
        np.save("a.npy", a)
        out = run("lookup", "-t", "a.npy", "--label", "none", stdin=" ".join(map(str, range(100))).encode())
        b = np.array([[np.dtype(dtype).type(x) for x in line.split()] for line in out.decode().splitlines()])
        same_bits(b.astype(dtype), a)


def statistics():
    for dtype in ("f2", "f4", "f8"):
        a = (RNG.standard_normal((1000, 17)) * 3 + 100).astype(dtype)
        a[5] = 0
        a[700] = a[3]
        np.save("a.npy", a)
        s, = objects("stats", "a.npy")
        w = a.astype(np.float64)
        n = np.linalg.norm(w, axis=1)
        want = {"mean": w.mean(), "std": w.std(), "min": w.min(), "max": w.max()}
        for key, value in want.items():
            assert np.isclose(s[key], value, rtol=1e-12, atol=1e-12), (dtype, key, s[key], value)
        norms = {"min": n.min(), "p05": np.quantile(n, 0.05), "median": np.median(n), "p95": np.quantile(n, 0.95),
                 "max": n.max(), "mean": n.mean()}
        for key, value in norms.items():
            assert np.isclose(s["norm"][key], value, rtol=1e-12), (dtype, key, s["norm"][key], value)


def search():
    """The ten nearest rows in double precision, for each metric and type."""
    for dtype in ("f2", "f4", "f8", "i1"):
        a = table(dtype, (3000, 24)) if dtype == "i1" else RNG.standard_normal((3000, 24)).astype(dtype)
        np.save("a.npy", a)
        w = a.astype(np.float64)
        for metric in ("cosine", "dot", "euclidean"):
            q = w[42]
            s = {"cosine": w @ q / (np.linalg.norm(w, axis=1) * np.linalg.norm(q)), "dot": w @ q,
                 "euclidean": -np.linalg.norm(w - q, axis=1)}[metric]
            order = [i for i in np.lexsort((np.arange(3000), -s)) if i != 42][:10]
            hits = objects("similar", "#42", "-t", "a.npy", "--metric", metric)[0]["hits"]
            assert [h["id"] for h in hits] == order, (dtype, metric)
            assert np.allclose([h["score"] for h in hits], s[order], rtol=1e-5, atol=1e-6), (dtype, metric)


def positions():
    """Sinusoids are the formula in f64, rounded once; queries turn along any axis, of any float type and byte order."""
    t, c = np.arange(1000, 3000)[:, None], np.arange(33)[None]
    angle = t / 10000.0 ** ((c - c % 2) / 33)
    want = np.where(c % 2, np.cos(angle), np.sin(angle))
    for dtype in ("f8", "f4", "f2"):
        run("position", "sinusoidal", "-L", 2000, "-D", 33, "--start", 1000, "--dtype", dtype.replace("f8", "f64").replace(
            "f4", "f32").replace("f2", "f16"), "-o", "pe.npy", "--force")
        got = np.load("pe.npy")
        assert got.dtype == dtype and got.shape == want.shape
        # f64: the last bits of an angle of 3000; else at most a neighbour, where numpy's own last bit decides
        assert np.abs(got.astype("f8") - want).max() <= (1e-12 if dtype == "f8" else np.finfo(dtype).eps / 2)
    turned = RNG.standard_normal((3, 5, 4, 8))
    for dtype in ("<f8", ">f8", "<f4", ">f4", "<f2"):
        for axis in range(3):
            np.save("q.npy", turned.astype(dtype))
            run("position", "rope", "--apply", "q.npy", "--axis", axis, "-o", "out.npy", "--force")
            x = np.moveaxis(turned.astype(dtype).astype("f8"), axis, -2)
            turn = np.arange(x.shape[-2])[:, None] * 10000.0 ** (-np.arange(4) / 4)
            a, b = x[..., :4], x[..., 4:]
            y = np.concatenate([a * np.cos(turn) - b * np.sin(turn), b * np.cos(turn) + a * np.sin(turn)], -1)
            got, y = np.load("out.npy"), np.moveaxis(y, -2, axis)
            assert got.dtype == np.dtype(dtype).newbyteorder("=") and got.shape == y.shape, (dtype, axis)
            assert np.abs(got - y).max() <= np.finfo(got.dtype).eps * 4, (dtype, axis)


if __name__ == "__main__":
    main([every_type_order_and_byte_order, our_npy_is_numpy_s_own_bytes, shapes_of_id_arrays,
          one_rounding_between_types, text_reads_back, statistics, search, positions])
