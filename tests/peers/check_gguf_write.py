"""The gguf package reads the GGUF files that we write: numbers, blocks, tokens and what stands beside them."""
import subprocess
from pathlib import Path

import numpy as np
from peer import DATA, TOOL, library, main, run

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


def write_words(words, rows):
    with open("t.vec", "w") as f:
        f.write(f"{len(words)} {rows.shape[1]}\n")
        for word, row in zip(words, rows):
            f.write(" ".join([word, *map(str, row)]) + "\n")


def converted():
    """embtool convert into each type: numbers and tokens as the package reads them."""
    gguf = library("gguf")
    from gguf.quants import dequantize, quantize
    words = [t for t in TOKENS if t and "\t" not in t]
    rows = RNG.standard_normal((len(words), 64)).astype("f4")
    write_words(words, rows)
    for dtype in ("f32", "f16", "bf16", "q8_0", "q4_0"):
        run("convert", "t.vec", "t.gguf", "--dtype", dtype, "--force")
        reader = gguf.GGUFReader("t.gguf")
        tensor = reader.tensors[0]
        assert tensor.tensor_type == gguf.GGMLQuantizationType[dtype.upper()]
        assert reader.fields["tokenizer.ggml.tokens"].contents() == words
        if dtype in ("f32", "f16"):
            assert tensor.data.tobytes() == rows.astype(tensor.data.dtype).tobytes(), dtype
            continue
        got = dequantize(tensor.data, tensor.tensor_type)
        want = dequantize(quantize(rows, tensor.tensor_type), tensor.tensor_type)
        if dtype == "q4_0":                     # a code may differ by one: check_blocks.py
            assert np.abs(got - want).max() <= np.abs(rows).max() / 4 and (got != want).mean() < 1e-3
        else:
            assert np.array_equal(got, want), dtype


def there_and_back():
    """From words to GGUF and back every token and bit, in order."""
    words = [t for t in TOKENS if t and "\t" not in t and " " not in t]
    rows = (RNG.standard_normal((len(words), 9)) * 10.0 ** RNG.integers(-30, 30, (len(words), 9))).astype("f4")
    write_words(words, rows)
    run("convert", "t.vec", "a.bin")
    run("convert", "a.bin", "t.gguf")
    run("convert", "t.gguf", "b.bin")
    assert Path("a.bin").read_bytes() == Path("b.bin").read_bytes()


def blocks_stay():
    """GGUF to GGUF: quantised rows byte for byte, all of them and chosen ones."""
    gguf = library("gguf")
    Path("ids").write_text("2\n0\n2\n")
    for path in sorted((DATA / "golden/gguf").glob("*_q*_*.gguf")):
        old = gguf.GGUFReader(path).tensors[0]
        run("convert", path, "t.gguf", "--force")
        new = gguf.GGUFReader("t.gguf").tensors[0]
        assert new.tensor_type == old.tensor_type and new.data.tobytes() == old.data.tobytes(), path
        run("convert", path, "t.gguf", "--force", "--select", "ids")
        assert gguf.GGUFReader("t.gguf").tensors[0].data.tobytes() == old.data[[2, 0, 2]].tobytes(), path


main([numbers_of_each_type, tokens, as_the_package_writes, converted, there_and_back, blocks_stay])
