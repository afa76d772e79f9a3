"""Model directories laid out like published ones: which tensor is the table, the head, tied or not, whose tokens.

Names and shapes are those that the libraries write; the numbers are the cases' own.
"""
import json
import shutil
import struct
from math import prod
from pathlib import Path

from craft import LLAMA_DECODER, npy, safetensors, tensor, tokenizer_json
from harness import case, check, count, eq, err_mentions, near, rc

V, D = 12, 4
WORDS = ["<s>", "</s>", "<unk>", "a", "b", "c", "d", "e", "f", "g", "h", "i"]


def table(seed, rows=V, dims=D):
    return [[float(seed), float(r)] + [r * 0.5 - seed + c for c in range(dims - 2)] for r in range(rows)]


EMBED, HEAD, DECOY = table(1), table(2), table(3)
NORM = [1.0] * D

# name: model_type, config, tensors (the embedding first), embedding, head (None: not stored), tied, dims
LLAMA = {"model.embed_tokens.weight": EMBED, "model.layers.0.mlp.gate_proj.weight": DECOY,
         "model.layers.0.mlp.down_proj.weight": table(4, D, V), "model.norm.weight": NORM}
GPT2 = {"transformer.wte.weight": EMBED, "transformer.wpe.weight": DECOY, "transformer.h.0.mlp.c_fc.weight": table(4, D, 16)}
BERT = {"bert.embeddings.word_embeddings.weight": EMBED, "bert.embeddings.position_embeddings.weight": DECOY,
        "bert.embeddings.token_type_embeddings.weight": table(4, 2), "cls.predictions.bias": [0.0] * V,
        "cls.predictions.transform.dense.weight": table(5, D)}
T5 = {"shared.weight": EMBED, "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight": table(3, 32, 2)}


def plain(tensors, drop):
    """As the class without a head saves them."""
    return {k.removeprefix(drop): v for k, v in tensors.items() if k.startswith(drop)}


def size(**more):
    return {"vocab_size": V, "hidden_size": D, **more}


LAYOUTS = {
    "gpt2": ("gpt2", {"vocab_size": V, "n_embd": D}, GPT2, None, 1),
    "gpt2-copy": ("gpt2", {"vocab_size": V, "n_embd": D}, {**GPT2, "lm_head.weight": EMBED}, "lm_head.weight", 1),
    "gpt2-base": ("gpt2", {"vocab_size": V, "n_embd": D}, plain(GPT2, "transformer."), None, 1),
    "gpt2-compiled": ("gpt2", {"vocab_size": V, "n_embd": D}, {"_orig_mod." + k: v for k, v in GPT2.items()}, None, 1),
    "gpt_neox": ("gpt_neox", size(tie_word_embeddings=False), {"gpt_neox.embed_in.weight": EMBED, "embed_out.weight": HEAD,
                 "gpt_neox.layers.0.attention.dense.weight": table(4, D)}, "embed_out.weight", 0),
    "llama": ("llama", size(tie_word_embeddings=False), {**LLAMA, "lm_head.weight": HEAD}, "lm_head.weight", 0),
    "llama-tied": ("llama", size(tie_word_embeddings=True), LLAMA, None, 1),
    "llama-tie-differs": ("llama", size(tie_word_embeddings=True), {**LLAMA, "lm_head.weight": HEAD}, "lm_head.weight", 0),
    "llama-nohead": ("llama", size(tie_word_embeddings=False), LLAMA, None, 1),
    "llama-peft": ("llama", size(), {"base_model.model.model.embed_tokens.modules_to_save.default.weight": EMBED,
                   "base_model.model.lm_head.modules_to_save.default.weight": HEAD,
                   "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight": table(4, 2)},
                   "base_model.model.lm_head.modules_to_save.default.weight", 0),
    "mistral": ("mistral", size(tie_word_embeddings=False), {**LLAMA, "lm_head.weight": HEAD}, "lm_head.weight", 0),
    "qwen2": ("qwen2", size(tie_word_embeddings=True), LLAMA, None, 1),
    "gemma3": ("gemma3_text", size(), LLAMA, None, 1),
    "gemma3n": ("gemma3n_text", size(vocab_size_per_layer_input=V), {
        "model.embed_tokens.weight": EMBED, "model.embed_tokens_per_layer.weight": table(3, V, 8), "model.norm.weight": NORM}, None, 1),
    "phi": ("phi", size(tie_word_embeddings=False), {"model.embed_tokens.weight": EMBED, "lm_head.weight": HEAD,
            "lm_head.bias": [0.0] * V, "model.layers.0.mlp.fc1.weight": DECOY}, "lm_head.weight", 0),
    "mixtral": ("mixtral", size(tie_word_embeddings=False), {**LLAMA, "lm_head.weight": HEAD,
                "model.layers.0.block_sparse_moe.experts.0.w1.weight": DECOY}, "lm_head.weight", 0),
    "bert": ("bert", size(), BERT, None, 1),
    "bert-full": ("bert", size(), {**BERT, "cls.predictions.decoder.weight": EMBED, "cls.predictions.decoder.bias": [0.0] * V},
                  "cls.predictions.decoder.weight", 1),
    "bert-base": ("bert", size(), plain(BERT, "bert."), None, 1),
    "roberta": ("roberta", size(), {"roberta.embeddings.word_embeddings.weight": EMBED,
                "roberta.embeddings.position_embeddings.weight": DECOY, "lm_head.bias": [0.0] * V, "lm_head.dense.weight": table(4, D)}, None, 1),
    "xlm-roberta": ("xlm-roberta", size(), {"roberta.embeddings.word_embeddings.weight": EMBED,
                    "roberta.embeddings.position_embeddings.weight": DECOY, "lm_head.bias": [0.0] * V}, None, 1),
    "distilbert": ("distilbert", {"vocab_size": V, "dim": D}, {"distilbert.embeddings.word_embeddings.weight": EMBED,
                   "distilbert.embeddings.position_embeddings.weight": DECOY, "vocab_projector.bias": [0.0] * V}, None, 1),
    "albert": ("albert", size(embedding_size=D, hidden_size=8), {"albert.embeddings.word_embeddings.weight": EMBED,
               "albert.embeddings.position_embeddings.weight": DECOY, "albert.encoder.embedding_hidden_mapping_in.weight": table(4, 8),
               "predictions.bias": [0.0] * V}, None, 1),
    "modernbert": ("modernbert", size(), {"model.embeddings.tok_embeddings.weight": EMBED, "head.dense.weight": table(4, D),
                   "decoder.bias": [0.0] * V}, None, 1),
    "t5": ("t5", {"vocab_size": V, "d_model": D}, T5, None, 1),
    "t5-copies": ("t5", {"vocab_size": V, "d_model": D}, {**T5, "encoder.embed_tokens.weight": EMBED, "decoder.embed_tokens.weight": EMBED,
                  "lm_head.weight": EMBED}, "lm_head.weight", 1),
    "t5-v1_1": ("t5", {"vocab_size": V, "d_model": D, "tie_word_embeddings": False}, {**T5, "lm_head.weight": HEAD}, "lm_head.weight", 0),
    "bart": ("bart", {"vocab_size": V, "d_model": D}, {"model.shared.weight": EMBED, "model.encoder.embed_positions.weight": DECOY,
             "model.decoder.embed_positions.weight": DECOY, "final_logits_bias": [[0.0] * V]}, None, 1),
    "marian": ("marian", {"vocab_size": V, "decoder_vocab_size": V, "d_model": D}, {"model.shared.weight": EMBED,
               "model.encoder.embed_positions.weight": table(4, 64), "final_logits_bias": [[0.0] * V]}, None, 1),
    "opt": ("opt", size(hidden_size=8, word_embed_proj_dim=D), {"model.decoder.embed_tokens.weight": EMBED,
            "model.decoder.embed_positions.weight": table(4, 64, 8), "model.decoder.project_in.weight": table(5, 8),
            "model.decoder.project_out.weight": table(5, D, 8)}, None, 1),
    "falcon": ("falcon", size(), {"transformer.word_embeddings.weight": EMBED, "transformer.h.0.mlp.dense_h_to_4h.weight": DECOY}, None, 1),
    "whisper": ("whisper", {"vocab_size": V, "d_model": D}, {"model.decoder.embed_tokens.weight": EMBED,
                "model.decoder.embed_positions.weight": DECOY, "model.encoder.embed_positions.weight": DECOY}, None, 1),
    "llava": ("llava", {"text_config": {"model_type": "llama", **size(tie_word_embeddings=False)}, "vision_config": {"vocab_size": 16, "hidden_size": 2}},
              {"language_model.model.embed_tokens.weight": EMBED, "language_model.lm_head.weight": HEAD,
               "vision_tower.vision_model.embeddings.position_embedding.weight": DECOY}, "language_model.lm_head.weight", 0),
    "llava-v5names": ("llava", {"text_config": {"model_type": "llama", **size(tie_word_embeddings=False)}},
                      {"model.language_model.embed_tokens.weight": EMBED, "lm_head.weight": HEAD,
                       "model.vision_tower.vision_model.embeddings.position_embedding.weight": DECOY}, "lm_head.weight", 0),
    "qwen2_vl": ("qwen2_vl", {"text_config": size(), "tie_word_embeddings": True, "vision_config": {"hidden_size": D}},
                 {"model.language_model.embed_tokens.weight": EMBED, "model.visual.patch_embed.proj.weight": DECOY}, None, 1),
    "mamba": ("mamba", size(), {"backbone.embeddings.weight": EMBED, "backbone.layers.0.mixer.in_proj.weight": DECOY}, None, 1),
    "unknown": ("nobody_knows", size(tie_word_embeddings=False), {"trunk.table.weight": EMBED, "trunk.other.weight": table(3, 16)}, None, 0),
    "unknown-names": ("nobody_knows", size(), {"trunk.wte.weight": EMBED, "lm_head.weight": HEAD, "trunk.up.weight": DECOY}, "lm_head.weight", 0),
}


def tensors_of(layout):
    return {k: tensor(v) for k, v in layout.items()}


@case("models.layouts", needs="lookup stats")
def layouts(t):
    """The embedding, the head, and tied or not, as published architectures store them; decoys have the same shape."""
    for name, (kind, config, tensors, head, tied) in LAYOUTS.items():
        t.model(name, tensors_of(tensors), tokenizer_json(WORDS), {"model_type": kind, **config})
        embedding = next(iter(tensors))
        s = t.stats(name)
        eq((s["tensor"], s["rows"], s["dims"], s["tied"], s["tokens"]), (embedding, V, D, bool(tied), V), name)
        numbers = sum(len(v) * len(v[0]) if isinstance(v[0], list) else len(v) for k, v in tensors.items()
                      if k == embedding or v is not EMBED)
        eq(s["model_params"], numbers, f"{name}: parameters, copies counted once")
        near([s["share"]], [V * D / numbers], 1e-12, f"{name}: share")
        near(t.vectors(name, 0, V - 1), [EMBED[0], EMBED[-1]], 0, name)
        if tied or head:
            want = HEAD if not tied else EMBED
            near(t.vectors(name, 0, V - 1, args=["--head"]), [want[0], want[-1]], 0, f"{name}: --head")
        else:
            t.fails(f"lookup 0 --head -t {name}", 3, "head")
        near(t.vectors(f"{name}/model.safetensors", 5), [EMBED[5]], 0, f"{name}: the file in the directory")
        eq(t.ids(f"{name}/model.safetensors", "a"), [3], f"{name}: tokens of the file in the directory")
    r = t.ok("stats llama-nohead")
    err_mentions(r, "config.json", "none is stored")


@case("models.shards", needs="lookup stats")
def shards(t):
    """Only the shard that holds the table is opened; the others matter to stats alone."""
    one, two, three = (f"model-0000{i}-of-00003.safetensors" for i in (1, 2, 3))
    files = {one: {"model.embed_tokens.weight": tensor(EMBED)}, two: {"lm_head.weight": tensor(HEAD)}, three: {"model.norm.weight": tensor(NORM)}}

    def model(name, leave_out=(), config=None, index=None):
        t.write(f"{name}/config.json", json.dumps({"model_type": "llama", **size(), **(config or {})}))
        for file, tensors in files.items():
            if file not in leave_out:
                t.write(f"{name}/{file}", safetensors(tensors))
        weight_map = {k: file for file, tensors in files.items() for k in tensors}
        t.write(f"{name}/model.safetensors.index.json", json.dumps(index or {"metadata": {"total_size": 4.0e2}, "weight_map": weight_map}))
    model("m")
    s = t.stats("m")
    eq((s["tied"], s["model_params"], s["tensor"]), (False, 2 * V * D + D, "model.embed_tokens.weight"))
    near(t.vectors("m", 3, args=["--head"]), [HEAD[3]], 0, "--head")
    near(t.vectors("m#lm_head.weight", 3), [HEAD[3]], 0, "#lm_head.weight")
    model("no-head", leave_out=(two,))
    near(t.vectors("no-head", 3), [EMBED[3]], 0, "a shard that is not needed is missing")
    t.fails("lookup 3 --head -t no-head", (3, 4), two)
    r = t.ok("stats no-head --json")
    err_mentions(r, two)
    eq([r.json()[0][k] for k in ("tied", "model_params", "share")], [None] * 3)
    near(t.vectors(f"m/{two}", 3), [HEAD[3]], 0, "a shard by its name")
    eq(t.stats(f"m/{one}")["model_params"], None, "a shard is not the model")
    for what in ({}, {"weight_map": {}}, {"weight_map": {"x": 1}}, {"weight_map": []}, []):
        model("bad", index=what if what else {"metadata": {}})
        t.fails("lookup 3 -t bad", 3, "model.safetensors.index.json")
    t.write("bad/model.safetensors.index.json", '{"weight_map": {"a": "x.safetensors", "a": "y.safetensors"}}')
    t.fails("lookup 3 -t bad", 3, "'a'", "twice")
    t.write("bad/model.safetensors.index.json", '{"weight_map": {"a": "x\\u0000.safetensors"}}')
    t.fails("lookup 3 -t bad", 3, "model.safetensors.index.json")
    t.write("m/model.safetensors", safetensors({"model.embed_tokens.weight": tensor(DECOY)}))
    r = t.ok("lookup 3 -t m --json")
    eq(r.json()[0]["vector"], DECOY[3], "the single file wins")
    err_mentions(r, "model.safetensors.index.json")
    t.fails("lookup 3 -t m --strict", 3, "model.safetensors.index.json")


@case("models.choice", needs="lookup stats")
def choices(t):
    """Copies that differ are named; what names and shapes do not decide is asked, not guessed."""
    t.model("t5", tensors_of({"shared.weight": EMBED, "decoder.embed_tokens.weight": DECOY}), None, {"model_type": "t5", "vocab_size": V, "d_model": D})
    r = t.ok("lookup 1 -t t5 --json")
    eq(r.json()[0]["vector"], EMBED[1])
    err_mentions(r, "shared.weight", "decoder.embed_tokens.weight")
    t.fails("lookup 1 -t t5 --strict", 3, "shared.weight", "decoder.embed_tokens.weight")
    two = {"left.embed_tokens.weight": EMBED, "right.embed_tokens.weight": DECOY}
    t.model("two", tensors_of(two), None, {"model_type": "nobody_knows", **size()})
    t.fails("lookup 1 -t two", 3, *two)
    t.model("same", tensors_of({**two, "right.embed_tokens.weight": EMBED}), None, {"model_type": "nobody_knows", **size()})
    near(t.vectors("same", 1), [EMBED[1]], 0, "copies of the same bytes")
    t.model("flax", tensors_of({"wte.weight": table(1, D, V), "x.weight": table(2, 3)}), None, {"model_type": "gpt2", **size()})
    t.fails("lookup 1 -t flax", 3, "wte.weight", "[d, V]")
    t.model("lone", tensors_of({"a.weight": EMBED, "b.weight": NORM}), None, {})
    near(t.vectors("lone", 1), [EMBED[1]], 0, "the only table")
    t.fails("lookup 1 -t lone --head", 3, "head")
    eq(t.stats("lone")["tied"], None)


@case("models.files", needs="lookup stats")
def other_files(t):
    """Weights under other names, in sentence-transformers' folder, of a kind that is not read; config.json in odd forms."""
    weights = safetensors(tensors_of(GPT2))
    t.write("named/weights.safetensors", weights)
    near(t.vectors("named", 1), [EMBED[1]], 0, "the only *.safetensors")
    t.write("named/more.safetensors", weights)
    t.fails("lookup 1 -t named", 3, "2")
    for folder in ("0_Transformer", "0_StaticEmbedding"):
        t.write(f"st-{folder}/modules.json", "[]")
        t.write(f"st-{folder}/{folder}/model.safetensors", weights)
        t.write(f"st-{folder}/{folder}/tokenizer.json", tokenizer_json(WORDS))
        near(t.vectors(f"st-{folder}", 1), [EMBED[1]], 0, folder)
        eq(t.ids(f"st-{folder}", "b"), [4])
    for name in ("pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5"):
        t.write(f"other-{name}/config.json", "{}")
        t.write(f"other-{name}/{name}", "x")
        t.fails(f"lookup 1 -t other-{name}", 3, name)
    t.write("none/config.json", "{}")
    t.fails("lookup 1 -t none", 3, "model.safetensors")
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 5\n"
    for name in ("config.json", "tokenizer.json"):
        t.write(f"lfs-{name}/model.safetensors", weights)
        t.write(f"lfs-{name}/config.json", "{}")
        t.write(f"lfs-{name}/{name}", pointer)
        t.fails(f"lookup a -t lfs-{name}", 3, name, "lfs")
    odd = {"vocab_size": 12.5, "n_embd": [1], "model_type": 7, "tie_word_embeddings": "yes", "rope": {"x": [None]}}
    for text in (json.dumps(odd), '{"a": NaN, "b": [-Infinity, Infinity], "model_type": "gpt2"}', "{}"):
        t.write("odd/model.safetensors", weights)
        t.write("odd/config.json", text)
        near(t.vectors("odd", 1), [EMBED[1]], 0, text)
    for text in ("", "{", '{"a": 1,}', "[1]", "{} x"):
        t.write("odd/config.json", text)
        t.fails("lookup 1 -t odd", 3, "config.json")


def spm(pieces):
    """A SentencePiece ModelProto: the first piece is the unknown one."""
    out = b""
    for i, piece in enumerate(pieces):
        raw = piece.encode()
        body = b"\x0a" + bytes([len(raw)]) + raw + b"\x15" + struct.pack("<f", -i) + (b"\x18\x02" if i == 0 else b"")
        out += b"\x0a" + bytes([len(body)]) + body
    return out


@case("models.tokens", needs="lookup similar stats")
def whose_tokens(t):
    """Each layout of tokenizer files labels the rows; --vocab takes each file; other tables of the model have no tokens."""
    def model(name, **files):
        t.write(f"{name}/model.safetensors", safetensors(tensors_of(GPT2)))
        t.write(f"{name}/config.json", json.dumps({"model_type": "gpt2", "vocab_size": V, "n_embd": D}))
        for file, data in files.items():
            t.write(f"{name}/{file.replace('__', '.')}", data)
    vocab = {w: i for i, w in enumerate(WORDS[:10])}
    decoder = json.dumps({"added_tokens_decoder": {"10": {"content": "h", "special": True}, "11": {"content": "i", "special": False}}})
    pieces = ["<unk>", "a", "b"]
    model("json", tokenizer__json=tokenizer_json(WORDS))
    model("v4", tokenizer__json=tokenizer_json(WORDS[:10], {"h": 10, "i": 11}), tokenizer_config__json=decoder)
    model("slow", vocab__json=json.dumps(vocab), merges__txt="#version: 0.2\n", tokenizer_config__json=decoder)
    model("old", vocab__json=json.dumps(vocab), added_tokens__json=json.dumps({"h": 10, "i": 11}))
    model("txt", vocab__txt="".join(w + "\n" for w in WORDS))
    for name in ("json", "v4", "slow", "old", "txt"):
        s = t.stats(name)
        eq((s["tokens"], count(s["unowned_rows"])), (V, 0), name)
        eq(t.ids(name, "a", "i"), [3, 11], name)
    model("spm", tokenizer__model=spm(pieces))
    s = t.stats("spm")
    eq((s["tokens"], count(s["unowned_rows"])), (3, V - 3), "fewer tokens than rows")
    t.write("x.npy", npy(EMBED))
    for file in ("json/tokenizer.json", "slow/vocab.json", "txt/vocab.txt", "json"):
        eq(t.ids("x.npy", "a", args=["--vocab", file]), [3], file)
    eq(t.ids("x.npy", "b", args=["--vocab", "spm/tokenizer.model"]), [2])
    eq(t.ids("json", "w3", args=["--vocab", t.write("w", "w0\nw1\nw2\nw3\n")]), [3], "--vocab wins over the tokenizer")
    t.fails("lookup a -t x.npy --vocab spm/model.safetensors", 3, "spm/model.safetensors")
    t.fails("lookup a -t json#transformer.wpe.weight", 3, "no tokens")
    t.write("bare/model.safetensors", safetensors(tensors_of(GPT2)))
    t.write("bare/tokenizer.json", "{")
    near(t.vectors("json", 2), [EMBED[2]], 0, "ids")
    t.ok("lookup 2 -t bare --label id")
    t.ok("lookup 2 -t bare -O npy")
    for command in ("lookup 2 -t bare", "lookup a -t bare", "lookup 2 -t bare --json", "similar #2 -t bare", "stats bare"):
        t.fails(command, 3, "tokenizer.json")


@case("models.stale", needs="lookup similar stats")
def more_tokens_than_rows(t):
    """A token without a row is said to be past the end, and is found nowhere."""
    t.llama("m", EMBED[:4], ["a", "b", "c", "d", "e", "f"])
    r = t.ok("stats m --json")
    err_mentions(r, "6 tokens", "4 rows")
    eq((r.json()[0]["tokens"], r.json()[0]["unowned_rows"]), (4, 0))
    t.fails("lookup f -t m", 1, "f", "5", "4 rows")
    t.fails("similar e -t m", 1, "e", "4 rows")
    eq(t.ids("m", "d"), [3])
    t.fails("lookup 4 -t m", 3, "0..3")


@case("models.text", needs="lookup similar")
def pieces_as_text(t):
    """JSON has the piece and its text; --pieces chooses for lines."""
    t.llama("bytes", EMBED[:4], ["cat", "\u0120cat", "\u010a", "\u00c3"])
    rows = [json.loads(x) for x in t.ok("lookup 0 1 2 3 -t bytes --json").out.splitlines()]
    eq([x["token"] for x in rows], ["cat", "\u0120cat", "\u010a", "\u00c3"])
    eq([x["text"] for x in rows[:3]], ["cat", " cat", "\n"])
    eq(rows[3]["text_bytes"], "c3", "a part of a character")
    t.model("spm", tensors_of({"model.embed_tokens.weight": EMBED[:3]}), tokenizer_json(["<unk>", "\u2581cat", "<0x0A>"], decoder=LLAMA_DECODER),
            {"model_type": "llama", "vocab_size": 3, "hidden_size": D})
    rows = [json.loads(x) for x in t.ok("lookup 1 2 -t spm --json").out.splitlines()]
    eq([x["text"] for x in rows], [" cat", "\n"])
    raw, text = (t.ok(f"lookup 1 -t spm --pieces {x}").out.decode().split(" ")[0] for x in ("raw", "text"))
    eq((raw, text), ("\u2581cat", "\\x20cat"))
    eq(t.ids("spm", " cat", "cat", " CAT"), [1, 1, 1], "the text of a piece finds it")
    eq(t.ok("lookup 1 -t spm").out.decode().split(" ")[0], raw, "raw to a pipe")
    hits = t.ok("similar #0 -t spm --json").json()[0]["hits"]
    eq({x["token"]: x["text"] for x in hits}, {"\u2581cat": " cat", "<0x0A>": "\n"})
    lines = t.ok("similar #0 -t spm --pieces text").out.decode().splitlines()
    eq(sorted(x.split("\t")[1] for x in lines), [" cat", "\\n"])
    t.write("w.txt", "cat 1 2\ndog 3 4\n")
    check("text" not in t.ok("lookup cat -t w.txt --json").json()[0], "tokens of a text table are their own text")


@case("models.mapping", needs="lookup stats")
def static_embeddings(t):
    """model2vec: rows by token id, through `mapping`; the tensor itself by its name."""
    rows = table(1, 3)
    mapping = [2, 0, 1, 1, 2]

    def model(name, mapping):
        t.model(name, {"embeddings": tensor(rows), "mapping": tensor(mapping, "i64"), "weights": tensor([1.0] * len(mapping))},
                tokenizer_json(["a", "b", "c", "d", "e"]), {"hidden_dim": D, "normalize": True})
    model("m", mapping)
    near(t.vectors("m", *range(5)), [rows[i] for i in mapping], 0)
    s = t.stats("m")
    eq((s["rows"], s["tokens"], s["tied"], s["model_params"]), (5, 5, None, 3 * D + 5))
    near([s["share"]], [3 * D / (3 * D + 5)], 1e-12, "share")
    near(t.vectors("m#embeddings", 0, 1, 2), rows, 0, "by its name")
    eq(t.ids("m", "e"), [4])
    for bad in ([0, 1, 3, 0, 0], [0, -1, 0, 0, 0]):
        model("bad", bad)
        t.fails("lookup 0 -t bad", 3, "mapping")


@case("models.hub", needs="lookup")
def hub_cache(t):
    """hf:// names what lies in the hub's cache; nothing leads out of it, nothing is asked for."""
    commit, other = "0123456789abcdef" * 2 + "01234567", "f" * 40
    hub = "cache/hub/models--org--name"
    for c, rows in ((commit, EMBED), (other, DECOY)):
        t.model(f"{hub}/snapshots/{c}", tensors_of({"transformer.wte.weight": rows, "transformer.wpe.weight": DECOY}), tokenizer_json(WORDS),
                {"model_type": "gpt2"})
    t.write(f"{hub}/refs/main", commit)
    t.write(f"{hub}/refs/refs/pr/1", other)
    t.model(f"cache/hub/models--gpt2/snapshots/{commit}", tensors_of({"wte.weight": HEAD}), None, {"model_type": "gpt2"})
    t.write("cache/hub/models--gpt2/refs/main", commit)
    t.write("outside/model.safetensors", safetensors(tensors_of(GPT2)))
    t.write(f"{hub}/refs/evil", "../../../../outside".ljust(40, "/"))
    home = str(t.path("cache"))
    for env in ({"HF_HOME": home}, {"HF_HUB_CACHE": home + "/hub"}, {"HUGGINGFACE_HUB_CACHE": home + "/hub"}):
        for url, want in (("org/name", EMBED), ("org/name@main", EMBED), (f"org/name@{other}", DECOY), ("org/name@refs/pr/1", DECOY),
                          ("org/name/model.safetensors", EMBED), ("org/name@refs%2Fpr%2F1/model.safetensors", DECOY), ("gpt2", HEAD),
                          ("gpt2/model.safetensors", HEAD), ("org/name#transformer.wpe.weight", DECOY)):
            r = t.ok(["lookup", "1", "--json", "-t", "hf://" + url], env=env)
            eq(r.json()[0]["vector"], want[1], url)
    env = {"HF_HOME": home, "HF_HUB_OFFLINE": "1"}
    for url in ("org/none", "org/name@v2", "org/name/none.bin", "org/name@evil", "none"):
        r = t.run(["lookup", "1", "-t", "hf://" + url], env=env)
        rc(r, 4)
        err_mentions(r, home, "network")
    for url in ("", "org", "../outside", "org/name/../../../../../outside", "org/name@../../../../outside", "org/..", "/name", "org//x"):
        rc(t.run(["lookup", "1", "-t", "hf://" + url], env=env), 2, 4)


@case("models.here", needs="lookup stats similar")
def current_directory(t):
    """Without a TABLE the model in the current directory answers, and says so; -t and EMBTOOL_TABLE come first."""
    t.model(".", tensors_of(LLAMA), tokenizer_json(WORDS), {"model_type": "llama", **size()})
    r = t.ok("lookup a --json")
    eq(r.json()[0]["id"], 3)
    err_mentions(r, "current directory")
    eq(t.ok("stats -q --json").err, b"", "-q")
    t.write("x.npy", npy(DECOY))
    eq(t.ok("lookup 1 --json -t x.npy").json()[0]["vector"], DECOY[1])
    eq(t.ok("lookup 1 --json", env={"EMBTOOL_TABLE": "x.npy"}).json()[0]["vector"], DECOY[1])


@case("models.published", needs="lookup stats")
def published(t):
    """What the transformers library writes for its own architectures (layouts.json): embedding, head, tied, one or many files."""
    size_of = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8}

    def write(folder, x):
        for file, tensors in x["files"].items():
            header, data = {}, b""
            for name, (dtype, shape, group) in tensors.items():
                n = prod(shape)
                element = (0x3C00 + group).to_bytes(2, "little").rjust(size_of[dtype], b"\0")[:size_of[dtype]]
                header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + n * size_of[dtype]]}
                data += element * n
            head = json.dumps(header).encode()
            t.write(f"{folder}/{file}", struct.pack("<Q", len(head)) + head + data)
        if len(x["files"]) > 1:
            t.write(f"{folder}/model.safetensors.index.json", json.dumps({"metadata": {}, "weight_map": {
                name: file for file, tensors in x["files"].items() for name in tensors}}))
        for file in x["other"]:
            t.write(f"{folder}/{file}", b"x")
        t.write(f"{folder}/config.json", json.dumps(x["config"]))
    layouts = json.loads((Path(__file__).resolve().parent.parent / "data/layouts.json").read_text())
    check(len(layouts) == 53, f"{len(layouts)} layouts")
    for name, x in layouts.items():
        write(name, x)
        if not x["files"]:
            t.fails(f"stats {name}", 3, *x["other"])
            continue
        s = t.stats(name)
        eq((s["rows"], s["dims"], s["tied"]), (x["rows"], x["dims"], x["tied"]), name)
        check(s["tensor"] in x["input"], f"{name}: {s['tensor']}, expected one of {x['input']}")
        first = {k: v for tensors in x["files"].values() for k, v in tensors.items()}
        copies = {first[k][2] for k in x["input"] + x["copy"]}
        others = [v for k, v in first.items() if v[0] != "I64" and v[2] not in copies]
        eq(s["model_params"], sum(prod(v[1]) for v in others) + x["rows"] * x["dims"], f"{name}: parameters")
        for head in x["head"]:
            eq(t.vectors(name, 0, args=["--head"]), t.vectors(f"{name}#{head}", 0), f"{name}: --head")
        if not x["head"]:
            eq(t.vectors(name, 0, args=["--head"]), t.vectors(name, 0), f"{name}: --head of a tied model")
        shutil.rmtree(t.path(name))
