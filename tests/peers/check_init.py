"""init gives the bits of its documented formula, as numpy computes them."""
import numpy as np
from init_oracle import rows
from peer import main, run
from safetensors.numpy import load_file


def bits(dtype, *args):
    run("init", *args, "--dtype", dtype, "-o", "t.raw", "-O", "raw", "--force")
    return np.fromfile("t.raw", {"f64": "u8", "f32": "u4"}.get(dtype, "u2"))


def same(n, d, dtype, **how):
    options = [x for k, v in how.items() for x in (f"--{k}", v)]
    got, want = bits(dtype, n, d, *options), rows(n, d, dtype=dtype, **how).reshape(-1)
    assert np.array_equal(got, want.view(got.dtype)), f"{n} x {d} {dtype} {how}"


def every_distribution_and_type():
    for dist in ("normal", "uniform", "truncated"):
        for dtype in ("f64", "f32", "f16", "bf16"):
            same(40, 37, dtype, dist=dist, std=0.02, seed=2**63 + 5)


def widths_around_blocks_and_tiles():
    for d in (1, 2, 3, 4, 5, 8, 127, 128, 129, 255, 256, 257, 700):
        for dtype in ("f32", "f64"):
            same(3, d, dtype, dist="truncated", seed=d)


def the_default_is_normal_with_deviation_1_by_root_d():
    same(20, 64, "f32")


def many_rows_on_many_threads():
    same(3000, 300, "f32", seed=1)


def tables_of_a_model_are_streams_0_1_2():
    run("init", 50, 33, "--positions", 20, "--untied", "--seed", 9, "-o", "m/")
    tables = load_file("m/model.safetensors")
    for stream, (name, n) in enumerate((("transformer.wte.weight", 50), ("transformer.wpe.weight", 20), ("lm_head.weight", 50))):
        assert np.array_equal(tables.pop(name).view("u4"), rows(n, 33, seed=9, stream=stream).view("u4")), name
    assert not tables, tables.keys()


main([every_distribution_and_type, widths_around_blocks_and_tiles, the_default_is_normal_with_deviation_1_by_root_d,
      many_rows_on_many_threads, tables_of_a_model_are_streams_0_1_2])
