"""`stats --spectrum` beside numpy.linalg.svd, in double precision, on each of its three ways."""
import numpy as np
from peer import Skip, main, objects, run

RNG = np.random.default_rng(23)


def spectrum(path):
    if b"blas no" in run("--version"):
        raise Skip("there is no BLAS plugin")
    return objects("stats", path, "--spectrum", "-k", "0")[0]["spectrum"]


def compare(table, power=2):
    """Values (power 1) or their squares within 1e-13 of the largest; the figures follow from their definitions."""
    np.save("t.npy", table)
    found = spectrum("t.npy")
    rows = table.astype(np.float64)
    rows = rows[np.isfinite(rows).all(1)]
    want = np.linalg.svd(rows, compute_uv=False)
    values = np.array(found["singular_values"])
    assert values.shape == want.shape, f"{values.shape} and {want.shape}"
    off = np.abs(values**power - want**power).max() / want[0]**power
    assert off <= 1e-13, f"values to the power of {power} are off by {off} of the largest"
    assert np.allclose(found["shares"], want**2 / (want**2).sum(), rtol=0, atol=1e-13)
    p = want[want > 0] / want.sum()
    assert abs(found["effective_rank"] / np.exp(-(p * np.log(p)).sum()) - 1) < 1e-9
    norms = np.linalg.norm(rows, axis=1)
    units = rows[norms > 0] / norms[norms > 0, None]
    n, total = len(units), units.sum(0)
    assert abs(found["mean_cosine"] - (total @ total - n) / (n * (n - 1))) < 1e-13


def small_tables():
    for shape in ((2, 1), (7, 1), (500, 40), (30, 700), (256, 256), (40001, 5)):
        compare(RNG.standard_normal(shape).astype("f4"), power=1)


def tables_by_their_columns():
    for shape in ((3000, 1500), (20000, 300), (16385, 129), (1025, 1025)):
        compare(RNG.standard_normal(shape).astype("f4"))
        compare((RNG.standard_normal(shape) * np.logspace(0, -3, shape[1]) + 0.3).astype("f4"))


def tables_by_their_rows():
    for shape in ((700, 1500), (300, 4000)):
        compare(RNG.standard_normal(shape).astype("f4"))


def types_and_orders():
    for code in ("<f2", ">f4", "<f8", "|i1", "<u2"):
        for order in "CF":
            compare(np.array(RNG.standard_normal((3000, 310)) * 20 + 128, dtype=code, order=order))


def odd_rows_are_left_out():
    for shape in ((90, 200), (4000, 300), (500, 1500)):
        table = RNG.standard_normal(shape).astype("f4")
        table[::7] = 0
        table[3], table[5, 6] = np.nan, -np.inf
        compare(table)


def far_ends_of_f64():
    for shape in ((90, 20), (4000, 300)):
        table = RNG.standard_normal(shape)
        np.save("t.npy", table)
        plain = spectrum("t.npy")
        for power in (-1000, -600, 600, 1000):
            np.save("t.npy", np.ldexp(table, power))
            found = spectrum("t.npy")
            assert np.allclose(np.ldexp(found["singular_values"], -power), plain["singular_values"], rtol=1e-14), power
            assert np.isclose(found["effective_rank"], plain["effective_rank"], rtol=1e-13), power
            assert np.isclose(found["mean_cosine"], plain["mean_cosine"], rtol=0, atol=1e-15), power


if __name__ == "__main__":
    main([small_tables, tables_by_their_columns, tables_by_their_rows, types_and_orders, odd_rows_are_left_out,
          far_ends_of_f64])
