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


VOCABULARY = {
    "tokens": ["<unk>", "<s>", "</s>", "<0x0A>", "\u2581the", "a", "[PAD6]"],
    "scores": [0.0, 0.0, 0.0, 0.0, -1.5, -2.25, -1000.0],
    "token_type": [2, 3, 3, 6, 1, 4, 5],
    "model": "llama", "pre": "default", "merges": ["t h", "th e"],
    "bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0, "padding_token_id": 6,
    "add_bos_token": True, "add_space_prefix": False,
}


def write_vocabulary(path, big):
    gguf = library("gguf")
    v = VOCABULARY
    order = gguf.GGUFEndian.BIG if big else gguf.GGUFEndian.LITTLE
    w = gguf.GGUFWriter(path, "llama", endianess=order)
    w.add_tokenizer_model(v["model"])
    w.add_tokenizer_pre(v["pre"])
    w.add_token_list(v["tokens"])
    w.add_token_scores(v["scores"])
    w.add_token_types(v["token_type"])
    w.add_token_merges(v["merges"])
    w.add_bos_token_id(v["bos_token_id"])
    w.add_eos_token_id(v["eos_token_id"])
    w.add_unk_token_id(v["unknown_token_id"])
    w.add_pad_token_id(v["padding_token_id"])
    w.add_add_bos_token(v["add_bos_token"])
    w.add_add_space_prefix(v["add_space_prefix"])
    w.add_chat_template("not of the vocabulary")
    w.add_tensor("token_embd.weight", RNG.standard_normal((len(v["tokens"]), 32)).astype("f4"))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def vocabulary_of(path):
    fields = library("gguf").GGUFReader(path).fields
    return {name.removeprefix("tokenizer.ggml."): f.contents() for name, f in fields.items() if name.startswith("tokenizer.")}


def vocabulary_stays():
    """GGUF to GGUF, of either byte order: scores, types, roles and all else that is said of the tokens."""
    for big in (False, True):
        write_vocabulary("a.gguf", big)
        run("convert", "a.gguf", "b.gguf", "--force")
        assert vocabulary_of("b.gguf") == VOCABULARY, vocabulary_of("b.gguf")
    np.save("e.npy", np.zeros((len(VOCABULARY["tokens"]), 32), "f4"))
    run("convert", "e.npy", "c.gguf", "--vocab", "a.gguf")
    assert vocabulary_of("c.gguf") == VOCABULARY


def vocabulary_of_chosen_rows():
    """Each row's own; a role goes to the first row of its token, or nowhere; merges are of all tokens together."""
    write_vocabulary("a.gguf", False)
    rows = [4, 1, 4, 6]
    Path("ids").write_text("".join(f"{i}\n" for i in rows))
    run("convert", "a.gguf", "b.gguf", "--select", "ids")
    want = {k: v for k, v in VOCABULARY.items() if k not in ("merges", "eos_token_id", "unknown_token_id")}
    for key in ("tokens", "scores", "token_type"):
        want[key] = [VOCABULARY[key][i] for i in rows]
    want.update(bos_token_id=1, padding_token_id=3)
    assert vocabulary_of("b.gguf") == want, vocabulary_of("b.gguf")
    run("convert", "a.gguf", "c.gguf", "--limit", "3")
    got = vocabulary_of("c.gguf")
    assert got["scores"] == VOCABULARY["scores"][:3] and "padding_token_id" not in got and "merges" not in got


def vocabulary_of_sentencepiece():
    """Scores, types and roles of a model that was trained, as its library has them."""
    library("gguf"), library("google.protobuf")
    spm = library("sentencepiece")
    text = ["the cat sat on the mat", "a dog and a cat", "the dog sat", "mats and cats and dogs"] * 20
    for byte_fallback in (False, True):
        spm.SentencePieceTrainer.train(sentence_iterator=iter(text), model_prefix="m", vocab_size=300 if byte_fallback else 40,
                                       byte_fallback=byte_fallback, user_defined_symbols=["<u>"], pad_id=3,
                                       minloglevel=2, hard_vocab_limit=False)
        sp = spm.SentencePieceProcessor(model_file="m.model")
        n = sp.vocab_size()
        np.save("e.npy", np.zeros((n, 4), "f4"))
        run("convert", "e.npy", "m.gguf", "--vocab", "m.model", "--force")
        got = vocabulary_of("m.gguf")
        assert got["tokens"] == [sp.id_to_piece(i) for i in range(n)]
        assert np.array_equal(np.array(got["scores"], "f4"), np.array([sp.get_score(i) for i in range(n)], "f4"))
        kinds = [2 if sp.is_unknown(i) else 3 if sp.is_control(i) else 6 if sp.is_byte(i) else
                 4 if sp.id_to_piece(i) == "<u>" else 1 for i in range(n)]
        assert got["token_type"] == kinds
        assert got["model"] == ("llama" if byte_fallback else "t5")
        assert [got[f"{r}_token_id"] for r in ("unknown", "bos", "eos", "padding")] == [sp.unk_id(), sp.bos_id(), sp.eos_id(), 3]


def vocabulary_of_tokenizer_json():
    """Scores of a Unigram model; added tokens, and the roles that tokenizer_config.json gives them."""
    library("gguf"), library("safetensors")
    tk = library("tokenizers")
    pieces = [("<unk>", 0.0), ("\u2581the", -1.25), ("a", -2.5), ("\u2581", -3.0078125), ("b", -1e-3)]
    t = tk.Tokenizer(tk.models.Unigram(pieces, unk_id=0, byte_fallback=False))
    t.decoder = tk.decoders.Metaspace()
    t.add_special_tokens(["<s>"])
    t.add_tokens(["user"])
    Path("d").mkdir()
    t.save("d/tokenizer.json")
    Path("d/tokenizer_config.json").write_text('{"bos_token": "<s>", "eos_token": {"content": "<s>"}, "pad_token": "a", "unk_token": null}')
    np.save("e.npy", np.zeros((t.get_vocab_size(), 4), "f4"))
    run("convert", "e.npy", "m.gguf", "--vocab", "d")
    got = vocabulary_of("m.gguf")
    assert got["model"] == "t5" and got["tokens"] == [t.id_to_token(i) for i in range(7)]
    assert got["scores"] == [float(np.float32(s)) for _, s in pieces] + [0.0, 0.0]
    assert got["token_type"] == [2, 1, 1, 1, 1, 3, 4]
    assert (got["bos_token_id"], got["eos_token_id"]) == (5, 5) and "unknown_token_id" not in got
    b = tk.Tokenizer(tk.models.BPE({"a": 0, "\u0120b": 1, "c": 2}, []))
    b.decoder = tk.decoders.ByteLevel()
    b.add_special_tokens(["<|end|>"])
    b.save("b.json")
    np.save("f.npy", np.zeros((6, 4), "f4"))
    run("convert", "f.npy", "b.gguf", "--vocab", "b.json")
    got = vocabulary_of("b.gguf")
    assert got["model"] == "gpt2" and "scores" not in got and got["token_type"] == [1, 1, 1, 3, 5, 5]


main([numbers_of_each_type, tokens, as_the_package_writes, converted, there_and_back, blocks_stay, vocabulary_stays,
      vocabulary_of_chosen_rows, vocabulary_of_sentencepiece, vocabulary_of_tokenizer_json])
