"""The files that the cells work on, the same bytes for the same scale. Needs numpy.

L is [128256, 4096], G [400000, 300], both normal; a scale makes them shorter. A file is looked for in the folder of
data first, then in the folder of work, and made there if it is in neither: no other folder is written to.
"""
import itertools
import json
import os
import struct
from pathlib import Path

L, G = (128256, 4096), (400000, 300)
BLOCK = 4096
QUANTS = {"q8_0": (8, 32, 34, (0,)), "q6_k": (14, 256, 210, (208,)), "q4_k": (12, 256, 144, (0, 2))}


class Tables:
    def __init__(self, data, work, scale):
        self.data, self.work, self.scale = data, work, scale
        work.mkdir(parents=True, exist_ok=True)

    def rows(self, shape):
        return max(2048, int(shape[0] * self.scale))

    def path(self, name):
        """Where the file lies, made if need be."""
        for folder in (self.data, self.work):
            if folder and (folder / name).exists():
                return folder / name
        MAKERS[name](self, self.work / name)
        return self.work / name

    def find(self, text):
        """text with each {file} replaced by its path."""
        for name in MAKERS:
            if "{%s}" % name in text:
                text = text.replace("{%s}" % name, str(self.path(name)))
        return text.replace("{work}", str(self.work))


def appear(path, pieces):
    """Writes all pieces and gives the file its name; 8 MiB at a time, so that the page cache holds large pages."""
    part = path.with_name(path.name + ".part")
    with open(part, "wb", buffering=8 << 20) as f:
        for piece in pieces:
            f.write(piece)
    os.rename(part, path)


def normal(shape, rows, seed, deviation):
    """Blocks of rows, each with a generator of its own."""
    import numpy as np
    for first in range(0, rows, BLOCK):
        generator = np.random.default_rng([seed, first])
        yield generator.standard_normal((min(BLOCK, rows - first), shape[1]), dtype=np.float32) * np.float32(deviation)


def l_rows(t):
    return normal(L, t.rows(L), 11, 0.02)


def g_rows(t):
    return normal(G, t.rows(G), 12, 0.1)


def bf16(x):
    """To nearest, ties to even."""
    import numpy as np
    bits = x.view(np.uint32)
    return ((bits + (0x7FFF + (bits >> 16 & 1))) >> 16).astype(np.uint16)


def npy_head(rows, dims):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {dims}), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()


def safetensors_head(name, rows, dims):
    entry = {"dtype": "BF16", "shape": [rows, dims], "data_offsets": [0, rows * dims * 2]}
    text = json.dumps({name: entry}).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def npy(shape, blocks):
    def make(t, path):
        head = npy_head(t.rows(shape), shape[1])
        appear(path, itertools.chain([head], (memoryview(b).cast("B") for b in blocks(t))))
    return make


def safetensors(shape, blocks):
    def make(t, path):
        head = safetensors_head("model.embed_tokens.weight", t.rows(shape), shape[1])
        appear(path, itertools.chain([head], (memoryview(bf16(b)).cast("B") for b in blocks(t))))
    return make


def first_rows(t, path):
    import numpy as np
    np.save(path, np.load(t.path("G.npy"), mmap_mode="r")[:10000])


def word(i):
    """A word of its own for each number."""
    text = ""
    while True:
        text = "bcdfghjklmnprstvwz"[i % 18] + "aeiou"[i // 18 % 5] + text
        i = i // 90 - 1
        if i < 0:
            return text


def words_binary(t, path):
    def pieces():
        yield b"%d %d\n" % (t.rows(G), G[1])
        at = itertools.count()
        for block in g_rows(t):
            for row in block:
                yield word(next(at)).encode() + b" " + row.tobytes() + b"\n"
    appear(path, pieces())


def words_text(t, path):
    """Five digits a number; each is one of 2^18 that are formatted once."""
    import numpy as np
    generator = np.random.default_rng(13)
    levels = generator.standard_normal(1 << 18, dtype=np.float32) * np.float32(0.1)
    text = np.array(["%.5g" % x for x in levels.tolist()], dtype=object)

    def pieces():
        at = itertools.count()
        for first in range(0, t.rows(G), BLOCK):
            for row in text[generator.integers(0, 1 << 18, (min(BLOCK, t.rows(G) - first), G[1]))].tolist():
                yield (word(next(at)) + " " + " ".join(row) + "\n").encode()
    appear(path, pieces())


def gguf(kind):
    """One tensor of random blocks whose scales, of f16, are finite."""
    def make(t, path):
        import numpy as np
        number, elements, size, scales = QUANTS[kind]
        rows, generator = t.rows(L), np.random.default_rng(14)
        text = lambda s: struct.pack("<Q", len(s)) + s                                  # noqa: E731
        head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + text(b"general.architecture") + struct.pack("<I", 8) + text(b"llama")
        head += text(b"token_embd.weight") + struct.pack("<IQQIQ", 2, L[1], rows, number, 0)

        def pieces():
            yield head + b"\0" * (-len(head) % 32)
            for first in range(0, rows, BLOCK):
                n = min(BLOCK, rows - first) * L[1] // elements
                blocks = generator.integers(0, 256, (n, size), dtype=np.uint8)
                for at in scales:
                    scale = (generator.random(n, dtype=np.float32) * 0.01 + 0.001).astype(np.float16)
                    blocks[:, at:at + 2] = scale.view(np.uint8).reshape(-1, 2)
                yield memoryview(blocks).cast("B")
        appear(path, pieces())
    return make


def ids(n, shape, seed):
    def make(t, path):
        import numpy as np
        count = n if n < 10000 else int(n * t.scale)
        np.save(path, np.random.default_rng(seed).integers(0, t.rows(shape), count, dtype=np.uint32))
    return make


def tokenizer(t, path):
    """BPE: 128000 entries, each but the letters made of two earlier ones, 278000 merges, 256 added tokens; as in real
    files, the space is written as another letter, and next to nothing has an escape."""
    import numpy as np
    generator = np.random.default_rng(15)
    letters = "etaoinsrhldcumfpgwybvkxjqz\u0120"       # U+0120 stands for the space
    pieces, seen, merges = [*map(chr, range(33, 127)), letters[-1]], set(), []
    wanted = max(2000, int(128000 * t.scale))
    seen.update(pieces)
    while len(pieces) < wanted:
        a = pieces[61 + int(generator.random() ** 1.3 * (len(pieces) - 61))]    # not punctuation or digits
        if generator.random() < 0.6:
            b = letters[int(generator.random() ** 6 * len(letters))]            # the first ones most of all
        else:
            b = pieces[61 + int(generator.random() ** 2 * (len(pieces) - 61))]
        if len(a + b) <= 9 and a + b not in seen:
            seen.add(a + b)
            pieces.append(a + b)
            merges.append([a, b])
    had = {tuple(m) for m in merges}
    for piece in pieces:
        for cut in range(1, len(piece)):
            pair = (piece[:cut], piece[cut:])
            if len(merges) < wanted * 35 // 16 and pair not in had and pair[0] in seen and pair[1] in seen:
                merges.append(list(pair))
    added = [{"id": wanted + i, "content": f"<|reserved_{i}|>", "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": True} for i in range(256)]
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "ignore_merges": True,
             "vocab": {p: i for i, p in enumerate(pieces)}, "merges": merges}
    text = json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
                       "pre_tokenizer": None, "post_processor": None, "decoder": None, "model": model}, indent=2, ensure_ascii=False)
    appear(path, [text.encode()])


def model(t, path):
    """A directory: that tokenizer, and L in bf16 where the scale leaves a row for each of its entries."""
    part = path.with_name("model.part")
    part.mkdir(exist_ok=True)
    for name, target in (("tokenizer.json", "tokenizer.json"), ("model.safetensors", "L_bf16.safetensors")):
        (part / name).unlink(missing_ok=True)
        (part / name).symlink_to(t.path(target).resolve())
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": t.rows(L), "hidden_size": L[1]}
    (part / "config.json").write_text(json.dumps(config))
    os.rename(part, path)


MAKERS = {
    "L.npy": npy(L, l_rows), "L_bf16.safetensors": safetensors(L, l_rows),
    "G.npy": npy(G, g_rows), "G10k.npy": first_rows, "G.bin": words_binary, "G.txt": words_text,
    **{f"L_{kind}.gguf": gguf(kind) for kind in QUANTS},
    "ids_1m_G.npy": ids(1000000, G, 16), "ids_8k_L.npy": ids(8192, L, 17),
    "tokenizer.json": tokenizer, "model": model,
}
