"""resize: numpy, safetensors and gensim read the results; plans and new rows as a model in numpy computes them."""
import hashlib
import json
import struct

import numpy as np
from gensim.models import KeyedVectors
from init_oracle import rows as init_rows
from peer import main, objects, run
from safetensors.numpy import load_file, save_file

RNG = np.random.default_rng(17)
NORMAL, COVARIANCE = 0x72650001, 0x72650002                 # streams of random numbers (lib/ops/resize.h)


def header(path):
    data = open(path, "rb").read()
    n, = struct.unpack_from("<Q", data)
    return json.loads(data[8:8 + n]), data[8:8 + n], data[8 + n:]


def save_words(path, words, values):
    kv = KeyedVectors(vector_size=values.shape[1])
    kv.add_vectors(words, values)
    kv.save_word2vec_format(path, binary=path.endswith(".bin"))


def load_words(path):
    kv = KeyedVectors.load_word2vec_format(path, binary=path.endswith(".bin"))
    return kv.index_to_key, kv.vectors


def other_tensors_stay():
    """Growing, cutting and reordering a table in the middle of a file leaves the rest alone."""
    table = RNG.standard_normal((11, 6)).astype("f2")
    rest = {"a.first": np.arange(7, dtype="i8"), "z.last": RNG.standard_normal((3, 3)), "zero": np.zeros((0, 4), "f4"),
            "scalar": np.array(3, "f4")}
    save_file({"model.embed_tokens.weight": table, **rest}, "a.safetensors", {"format": "pt", "note": "é \\ \"x\""})
    before = header("a.safetensors")[0]
    for args, want in ((["--rows", "19"], 19), (["--rows", "4", "--shrink"], 4), (["--pad-to", "11"], 11),
                       (["--pad-to-multiple-of", "1000000"], 1000000)):
        run("resize", "a.safetensors", "-o", "b.safetensors", "--force", *args)
        got = load_file("b.safetensors")
        assert got["model.embed_tokens.weight"].shape == (want, 6), want
        n = min(want, 11)
        assert got["model.embed_tokens.weight"][:n].tobytes() == table[:n].tobytes()
        assert all(got[k].dtype == v.dtype and np.array_equal(got[k], v) for k, v in rest.items()), want
        head, text, _ = header("b.safetensors")
        assert list(head) == list(before) and head["__metadata__"] == before["__metadata__"]
        assert len(text) % 8 == 0
    run("resize", "a.safetensors", "-o", "same.safetensors", "--pad-to", "11")
    assert open("a.safetensors", "rb").read() == open("same.safetensors", "rb").read(), "nothing to do, other bytes"


def bits_stay():
    """Rows that stay keep every bit, NaN payloads too, in every type and order of bytes and axes."""
    for dtype in ("<f2", "<f4", "<f8", ">f4", ">f2", "<i1", "<u2", "<i8", "|b1"):
        raw = RNG.integers(0, 2 if dtype == "|b1" else 256, (9, 5 * np.dtype(dtype).itemsize), dtype="u1")
        a = raw.view(dtype).reshape(9, 5)
        for order in "CF":
            np.save("a.npy", np.asarray(a, order=order))
            open("rows", "w").write("#8\n#3\n#0\n")
            run("resize", "a.npy", "--reorder", "rows", "--remove-tokens", "#1,#5", "--rows", "8", "--init", "copy:#2",
                "-o", "b.npy", "--force")
            b = np.load("b.npy")
            want = a[[8, 3, 0, 2, 4, 6, 7, 2]]
            assert b.astype(dtype).tobytes() == want.tobytes() or b.astype(b.dtype.newbyteorder("<")).tobytes() == \
                want.astype(np.dtype(dtype).newbyteorder("<")).tobytes(), (dtype, order)


def opaque_npy():
    """bf16 and 8-bit floats as numpy stores them: opaque bytes, which keep their descr."""
    for kind, types in (("V2", ["bf16"]), ("V1", ["f8_e4m3", "f8_e5m2"])):
        a = RNG.integers(0, 100, (6, 3 * int(kind[1])), dtype="u1").view(kind)
        np.save("a.npy", a)
        for dtype in types:
            run("resize", "a.npy", "--input-dtype", dtype, "--rows", "9", "-o", "b.npy", "--force")
            b = np.load("b.npy")
            assert b.dtype == a.dtype and b.shape == (9, 3) and b[:6].tobytes() == a.tobytes(), dtype


def words_are_read():
    words = [f"w{i}" for i in range(40)] + ["été", "日本"]
    values = RNG.standard_normal((42, 7)).astype("f4")
    for name in ("a.bin", "a.vec"):
        save_words(name, words, values)
        run("resize", name, "--add-tokens", "neu,w3,zwei", "--remove-tokens", "w0,w7,été", "-o", "new-" + name)
        got, vectors = load_words("new-" + name)
        left = [w for w in words if w not in ("w0", "w7", "été")]
        assert got == left + ["neu", "zwei"], name
        assert np.array_equal(vectors[:-2], values[[words.index(w) for w in left]]), name
        mean = values.astype("f8").mean(0).astype("f4")
        assert np.abs(vectors[-2:] - mean).max() <= np.abs(np.spacing(mean)).max(), name
        run("resize", "new-" + name, "--in-place", "--remove-tokens", "neu,zwei")
        assert load_words("new-" + name)[0] == left, name


def model(words, rows, add, gone, first, rows_asked, multiple, shrink):
    """(source, tokens) of the new table, or None where it must be refused: the rules of docs/commands/resize.md."""
    order = [i for w in first for i in [words.index(w)]]
    order += [i for i in range(rows) if i not in order and not (i < len(words) and words[i] in gone)]
    owned = [i < len(words) and words[i] is not None for i in order]
    used = max((k + 1 for k, o in enumerate(owned) if o), default=0)
    new = [w for k, w in enumerate(add) if w not in add[:k] and (w not in words or w in gone)]
    have = max(used if shrink and not rows_asked else len(order), used + len(new))
    total = rows_asked or have
    if (total < have and not shrink) or (total < used + len(new) and new):
        return None
    total = -(-total // multiple) * multiple if multiple else total
    source = [order[k] if k < len(order) and not used <= k < used + len(new) else None for k in range(total)]
    tokens = [words[i] if i is not None and i < len(words) else None for i in source]
    for k, w in enumerate(new):
        tokens[used + k] = w
    return source, tokens


def random_plans():
    """Many small tables with spare rows and holes: rows, tokens and the map of ids as the model says."""
    for case in range(150):
        n, v = int(RNG.integers(1, 9)), int(RNG.integers(1, 13))
        n = min(n, v)
        words = [f"t{i}" if i == n - 1 or RNG.random() < 0.85 else None for i in range(n)]
        owned = [w for w in words if w]
        a = RNG.standard_normal((v, 3))
        np.save("a.npy", a)
        open("words", "w").write("".join(f"{w or ''}\n" for w in words))
        pick = lambda p: [w for w in owned if RNG.random() < p]
        add = list(RNG.permutation([f"n{i}" for i in range(int(RNG.integers(0, 5)))] + pick(0.3)))
        add = [str(w) for w in add] + [str(w) for w in add[:1]]
        gone = pick(0.3) if RNG.random() < 0.5 else []
        first = [str(w) for w in RNG.permutation([w for w in pick(0.4) if w not in gone])]
        rows = int(RNG.integers(1, 16)) if RNG.random() < 0.4 else 0
        multiple, shrink = int(RNG.choice([0, 0, 1, 3, 8])), bool(RNG.random() < 0.4)
        want = model(words, v, add, gone, first, rows, multiple, shrink)
        open("first", "w").write("".join(f"{w}\n" for w in first))
        args = [x for w in add for x in ("--add-token", w)] + [x for w in gone for x in ("--remove-tokens", w)]
        args += ["--reorder", "first"] + (["--rows", rows] if rows else []) + (["--pad-to", multiple] if multiple else [])
        args += ["--shrink"] if shrink else []
        command = ["resize", "a.npy", "--vocab", "words", *args, "--init", "zeros", "--force", "-q", "-o", "b.npy",
                   "--row-map", "map", "--save-tokens", "tokens"]
        if want is None:
            run(*command, code=2)
            continue
        run(*command)
        source, tokens = want
        b = np.load("b.npy")
        expected = np.array([np.zeros(3) if i is None else a[i] for i in source]).reshape(-1, 3)
        assert np.array_equal(b, expected), (case, args, source, b)
        while tokens and tokens[-1] is None:
            tokens.pop()
        assert open("tokens").read() == "".join(f"{w or ''}\n" for w in tokens), (case, args)
        places = {i: k for k, i in enumerate(source) if i is not None}
        assert open("map").read() == "".join(f"{i}\t{places.get(i, -1)}\n" for i in range(v)), (case, args)


def mean_of_owned_rows():
    """The mean leaves out rows without a token and rows that are not finite, and is rounded once."""
    a = RNG.standard_normal((300, 5)).astype("f2")
    a[7, 2], a[9, 0] = np.nan, np.inf
    np.save("a.npy", a)
    open("words", "w").write("".join(f"t{i}\n" for i in range(200)))
    run("resize", "a.npy", "--vocab", "words", "--add-tokens", "x", "--rows", "301", "-o", "b.npy", "-q")
    b = np.load("b.npy")
    owned = np.delete(np.arange(200), [7, 9])
    want = a[owned].astype("f8").mean(0).astype("f2")       # sums of f2 in f8 are exact here
    assert np.array_equal(b[200], want) and np.array_equal(b[300], want)
    assert b[:200].tobytes() == a[:200].tobytes() and b[201:300].tobytes() == a[201:].tobytes()
    run("resize", "a.npy", "--vocab", "words", "--add-tokens", "x", "--init", "mean-of:t3+#250", "-o", "c.npy", "-q")
    assert np.array_equal(np.load("c.npy")[200], ((a[3].astype("f8") + a[250]) / 2).astype("f2"))


def normal_rows():
    """A new row is the row of that id of a table that init would draw, in a stream of its own."""
    a = RNG.standard_normal((10, 300))
    for dtype in ("f4", "f8", "f2"):
        np.save("a.npy", a.astype(dtype))
        run("resize", "a.npy", "--rows", "14", "--init", "normal:0.02", "--seed", 5, "-o", "b.npy", "--force")
        want = init_rows(14, 300, dtype={"f4": "f32", "f8": "f64", "f2": "f16"}[dtype], dist="normal", std=0.02, seed=5,
                         stream=NORMAL)
        assert np.array_equal(np.load("b.npy")[10:].view("u1"), want[10:].view("u1").reshape(4, -1)), dtype


def covariance_rows():
    """mean + sqrt(scale / n) * sum of g_i * (row_i - mean), g the f64 normal elements of (new id, row)."""
    v, d, scale = 700, 9, 0.25
    a = RNG.standard_normal((v, d)) @ RNG.standard_normal((d, d)) + 3
    a[5, 1] = np.nan
    np.save("a.npy", a)
    good = np.delete(np.arange(v), 5)
    mean = a[good].mean(0)
    g = init_rows(v + 3, v, dtype="f64", dist="normal", std=1.0, seed=2**40 + 1, stream=COVARIANCE)[v:, good]
    want = mean + np.sqrt(scale / len(good)) * (g @ (a[good] - mean))
    for j in (1, 2):
        run("resize", "a.npy", "--rows", v + 3, "--init", f"covariance:{scale}", "--seed", 2**40 + 1, "-j", j,
            "-o", f"b{j}.npy")
    got = np.load("b1.npy")[v:]
    assert np.allclose(got, want, rtol=1e-12, atol=1e-12), np.abs(got - want).max()
    assert open("b1.npy", "rb").read() == open("b2.npy", "rb").read()
    run("resize", "a.npy", "--rows", 20000, "--init", "covariance:1", "-o", "many.npy")
    new = np.load("many.npy")[v:]
    white = np.linalg.inv(np.linalg.cholesky(np.cov(a[good].T)))
    assert np.abs(white @ np.cov(new.T) @ white.T - np.eye(d)).max() < 0.05, "the covariance of many new rows"


def rows_from_a_file():
    words, values = [f"w{i}" for i in range(6)], RNG.standard_normal((6, 4)).astype("f4")
    save_words("a.bin", words, values)
    new = RNG.standard_normal((3, 4)).astype("f4")
    save_words("new.vec", ["x", "y", "z"], new)
    np.save("new.npy", new[:2])
    run("resize", "a.bin", "--add-tokens", "z,x", "--init", "from:new.vec", "-o", "b.bin")
    assert np.array_equal(load_words("b.bin")[1], np.concatenate([values, new[[2, 0]]]))
    run("resize", "a.bin", "--add-tokens", "z,x", "--init", "from:new.npy", "-o", "c.bin")
    assert np.array_equal(load_words("c.bin")[1], np.concatenate([values, new[:2]]))
    run("resize", "a.bin", "--add-tokens", "q", "--init", "from:new.vec", "-o", "d.bin", code=1)
    run("resize", "a.bin", "--add-tokens", "q,r,s", "--init", "from:new.npy", "-o", "d.bin", code=2)


def in_place_is_the_same():
    a = RNG.standard_normal((2000, 64)).astype("f4")
    for name, save in (("a.npy", lambda p: np.save(p, a)), ("a.safetensors", lambda p: save_file({"emb.weight": a}, p))):
        save(name)
        run("resize", name, "--rows", 2100, "--init", "normal", "--seed", 3, "-o", "out-" + name)
        run("resize", name, "--rows", 2100, "--init", "normal", "--seed", 3, "--in-place", "-j", 3)
        both = [hashlib.sha256(open(p, "rb").read()).digest() for p in (name, "out-" + name)]
        assert both[0] == both[1], name
    assert objects("stats", "a.npy")[0]["rows"] == 2100


if __name__ == "__main__":
    main([other_tensors_stay, bits_stay, opaque_npy, words_are_read, random_plans, mean_of_owned_rows, normal_rows,
          covariance_rows, rows_from_a_file, in_place_is_the_same])
