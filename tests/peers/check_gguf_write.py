"""The gguf package reads the GGUF files that we write: numbers, blocks, tokens and what stands beside them."""
import subprocess
from pathlib import Path

import numpy as np
from peer import TOOL, library, main

WRITE = Path(TOOL).parent / "tests/peers/write_table"
RNG = np.random.default_rng(5)
TOKENS = ["cat", " dog", "\u0120the", "\u2581of", "\u00e9\u4e2d\U0001f600", "", "a\tb", "cat", "<0x0A>", "[PAD9]", "a b"]


def write(dtype, rows, tokens):
    Path("t.gguf").unlink(missing_ok=True)
    if tokens:
        Path("tokens.txt").write_bytes("".join(t + "\n" for t in tokens).encode())
    r = subprocess.run([WRITE, "t.gguf", dtype, str(rows.shape[1]), "tokens.txt" if tokens else "-"],
                       input=rows.astype("<f4").tobytes(), capture_output=True, timeout=60)
    assert r.returncode == 0, r.stderr
    return library("gguf").GGUFReader("t.gguf")


def rows_of(tensor, gguf):
    from gguf.quants import dequantize
    return tensor.data if tensor.data.dtype.kind == "f" else dequantize(tensor.data, tensor.tensor_type)


def numbers_of_each_type():
    gguf = library("gguf")
    rows = RNG.standard_normal((len(TOKENS), 64)).astype("f4")
    for dtype in ("f64", "f32", "f16", "bf16", "q8_0", "q4_0"):
        reader = write(dtype, rows, TOKENS)
        assert [t.name for t in reader.tensors] == ["token_embd.weight"]
        tensor = reader.tensors[0]
        assert tensor.tensor_type == gguf.GGMLQuantizationType[dtype.upper()]
        assert list(tensor.shape) == [64, len(TOKENS)], tensor.shape
        assert tensor.data_offset % 32 == 0
        got = rows_of(tensor, gguf)
        if dtype in ("f64", "f32", "f16"):
            want = rows.astype(got.dtype)
        else:
            from gguf.quants import dequantize, quantize
            want = dequantize(quantize(rows, tensor.tensor_type), tensor.tensor_type)
        near = 0 if dtype != "q4_0" else np.abs(rows).max() / 4  # a code may differ by one: check_blocks.py
        assert np.abs(got - want).max() <= near and (got != want).mean() < 1e-3, dtype


def tokens():
    library("gguf")
    reader = write("f32", np.zeros((len(TOKENS), 3), "f4"), TOKENS)
    value = {name: field.contents() for name, field in reader.fields.items()}
    assert value["tokenizer.ggml.tokens"] == TOKENS
    assert value["tokenizer.ggml.scores"] == [0.0] * len(TOKENS)
    assert value["tokenizer.ggml.token_type"] == [1] * len(TOKENS)
    assert value["tokenizer.ggml.model"] == "none" and value["general.architecture"] == "embedding"
    assert value["GGUF.version"] == 3


def as_the_package_writes():
    """The tensor's bytes, and the order of what is in the file, are those of its own writer."""
    gguf = library("gguf")
    rows = RNG.standard_normal((7, 32)).astype("f4")
    write("f32", rows, [])
    ours = Path("t.gguf").read_bytes()
    w = gguf.GGUFWriter("w.gguf", "embedding")
    w.add_tensor("token_embd.weight", rows)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    assert Path("w.gguf").read_bytes() == ours


main([numbers_of_each_type, tokens, as_the_package_writes])
