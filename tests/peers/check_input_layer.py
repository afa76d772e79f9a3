"""--input-layer is what the first block of a model gets, by a hook in front of that block (transformers with torch).

Runs where torch and transformers can be imported, else every test is skipped. Models are tiny and random, weights far from
their usual scale, so that a step left out shows. Sums and products must have equal bits; where LayerNorm or a projection is
among the steps, the type's rounding is allowed for. `VERBOSE=1` prints the largest difference of each model.
"""
import os
import warnings

from peer import Skip, main, run

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import numpy as np
    import torch
    import transformers as tf
    WHY = ""
except ImportError as e:
    WHY = f"{e.name} is not installed"

V, D, T, B, L = 61, 32, 40, 3, 11
SIZES = {"hidden_size": D, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 48}
LLAMA = {**SIZES, "num_key_value_heads": 2, "max_position_embeddings": 64}
BERT = {**SIZES, "max_position_embeddings": T, "type_vocab_size": 2}
SEQ2SEQ = {"d_model": D, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
           "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": T, "pad_token_id": 1,
           "decoder_start_token_id": 2}


def spread(model, gen):
    """Every number of an order of magnitude that betrays a step left out; norms are neither 1 nor 0."""
    done = set()
    for name, t in model.named_parameters():
        if t.data_ptr() in done or "embed_positions" in name and "inusoidal" in type(t).__name__:
            continue
        done.add(t.data_ptr())
        frozen = not t.requires_grad
        if not frozen:
            t.copy_((torch.randn(t.shape, generator=gen) * 0.5 + (1 if "norm" in name.lower() else 0)).to(t.dtype))


def make(prefix, dtype, head, **config):
    """A model directory m, and the model as it is loaded from there."""
    if WHY:
        raise Skip(WHY)
    warnings.simplefilter("ignore")
    torch.set_grad_enabled(False)
    torch.manual_seed(0)
    if not hasattr(tf, prefix + head):
        raise Skip(f"transformers {tf.__version__} has no {prefix}{head}")
    c = getattr(tf, prefix + "Config")(vocab_size=V, **config)
    model = getattr(tf, prefix + head)(c).to(dtype)
    spread(model, torch.Generator().manual_seed(len(prefix) + D))
    os.makedirs("m", exist_ok=True)
    model.save_pretrained("m")
    return type(model).from_pretrained("m", dtype=dtype).eval()


def first_input(model, block, args):
    """What goes into the module called `block`."""
    seen = []

    def look(module, values, named):
        seen.append((values[0] if values else named["hidden_states"]).detach().clone())
    hook = model.get_submodule(block).register_forward_pre_hook(look, with_kwargs=True)
    model(**args)
    hook.remove()
    return seen[0]


def bits(t):
    return t.float().numpy()


def compare(prefix, block, dtype="float32", head="Model", ids=None, types=None, exact=True, start=0, tolerance=3e-6, args="",
            more=None, mask=None, **config):
    kind = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "float64": torch.float64}[dtype] \
        if not WHY else None
    model = make(prefix, kind, head, **config)
    if ids is None:
        ids = torch.randint(3, V, (B, L), generator=torch.Generator().manual_seed(7))
    given = {"input_ids": ids, **(more(ids) if more else {})}
    words = ["lookup", "-t", "m", "-i", "ids.npy", "--input-layer", "-o", "x.npy", "--force", *args.split()]
    np.save("ids.npy", ids.numpy())
    if types is not None:
        given["token_type_ids"] = types
        np.save("types.npy", types.numpy())
        words += ["--type-ids", "types.npy"]
    want = first_input(model, block, given)
    run(*words)
    got, want = np.load("x.npy"), want.numpy() if dtype == "float64" else bits(want)
    assert got.shape == want.shape, f"{prefix}: {got.shape}, expected {want.shape}"
    worst = float(np.abs(got - want).max())
    if os.environ.get("VERBOSE"):
        print(f"    {prefix:14} {dtype:9} {worst:.3g}  differing {np.mean(got != want):.2g}")
    if exact:
        assert np.array_equal(got, want), f"{prefix} {dtype}: {np.mean(got != want):.3f} differ, by {worst}"
        return
    step = {"float32": 0, "float64": 0, "bfloat16": 2.0 ** -8, "float16": 2.0 ** -11}[dtype]
    allowed = (1e-13 if dtype == "float64" else tolerance) + 2 * step * np.abs(want)
    assert (np.abs(got - want) <= allowed).all(), f"{prefix} {dtype}: off by {worst}"
    assert not step or np.mean(got != want) < 0.02, f"{prefix} {dtype}: {np.mean(got != want)} of the numbers differ"


TYPES = ("float32", "bfloat16", "float16")


def rotary_models_add_nothing():
    for prefix in ("Llama", "Mistral", "Qwen2", "Qwen3", "Phi3", "Olmo2"):
        compare(prefix, "layers.0", pad_token_id=0, **LLAMA)
    compare("Llama", "layers.0", "bfloat16", **LLAMA)
    compare("GPTNeoX", "layers.0", **SIZES)
    compare("GPTJ", "h.0", n_embd=D, n_layer=1, n_head=2, rotary_dim=8)
    compare("Falcon", "h.0", **SIZES)


def models_of_relative_positions_add_nothing():
    compare("T5", "encoder.block.0", d_model=D, d_kv=16, d_ff=48, num_layers=1, num_heads=2, decoder_start_token_id=0,
            more=lambda ids: {"decoder_input_ids": ids})
    compare("Mpt", "blocks.0", d_model=D, n_heads=2, n_layers=1)
    compare("Mamba", "layers.0", hidden_size=D, num_hidden_layers=1)


def gpt2_and_others_of_learned_positions():
    for dtype in TYPES + ("float64",):
        compare("GPT2", "h.0", dtype, n_embd=D, n_layer=1, n_head=2, n_positions=T)
    compare("GPT2", "transformer.h.0", head="LMHeadModel", n_embd=D, n_layer=1, n_head=2, n_positions=T, start=5, args="--start 5",
            more=lambda ids: {"position_ids": torch.arange(5, 5 + L)[None]})
    compare("GPTNeo", "h.0", hidden_size=D, num_layers=1, num_heads=2, attention_types=[[["global"], 1]], max_position_embeddings=T)
    compare("GPTBigCode", "h.0", n_embd=D, n_layer=1, n_head=2, n_positions=T)
    compare("OpenAIGPT", "h.0", n_embd=D, n_layer=1, n_head=2, n_positions=T)
    compare("CLIPText", "encoder.layers.0", **SIZES, max_position_embeddings=T)


def gemma_multiplies_with_a_rounded_root():
    for prefix in ("Gemma", "Gemma2"):
        for dtype in TYPES:
            compare(prefix, "layers.0", dtype, head_dim=16, **LLAMA)
    for dtype in TYPES:
        compare("Gemma3Text", "layers.0", dtype, head_dim=16, **LLAMA)


def granite_multiplies_with_a_number_of_its_config():
    for dtype in TYPES:
        compare("Granite", "layers.0", dtype, embedding_multiplier=12.3, **LLAMA)


def opt_counts_from_two():
    opt = {"hidden_size": D, "num_hidden_layers": 1, "num_attention_heads": 2, "ffn_dim": 48, "max_position_embeddings": T,
           "pad_token_id": 1}
    for dtype in TYPES:
        compare("OPT", "decoder.layers.0", dtype, word_embed_proj_dim=D, **opt)
        compare("OPT", "decoder.layers.0", dtype, exact=False, word_embed_proj_dim=D // 2, do_layer_norm_before=False, **opt)
    biogpt = {**SIZES, "max_position_embeddings": T}
    compare("BioGpt", "layers.0", "bfloat16", **biogpt)


def opt_does_not_count_what_a_mask_hides():
    lines = [[5, 6, 7, 8], [9, 10], [11]]
    model = make("OPT", None if WHY else torch.float32, "Model", hidden_size=D, num_hidden_layers=1, num_attention_heads=2,
                 ffn_dim=48, max_position_embeddings=T, pad_token_id=1, word_embed_proj_dim=D)
    ids = torch.tensor([x + [1] * (4 - len(x)) for x in lines])
    want = first_input(model, "decoder.layers.0", {"input_ids": ids, "attention_mask": (ids != 1).long()}).numpy()
    with open("lines.txt", "w") as f:
        f.write("".join(" ".join(map(str, x)) + "\n" for x in lines))
    run("lookup", "-t", "m", "-i", "lines.txt", "--pad-id", 1, "--input-layer", "-o", "x.npy")
    assert np.array_equal(np.load("x.npy"), want)


def padded():
    """The pad id 1 behind, before and among other ids."""
    ids = torch.randint(3, V, (B, L), generator=torch.Generator().manual_seed(8))
    ids[0, L - 3:] = 1
    ids[1, :2] = 1
    ids[2, 4] = 1
    return ids


def bert_and_its_kind():
    types = None if WHY else torch.randint(0, 2, (B, L), generator=torch.Generator().manual_seed(9))
    for dtype in TYPES + ("float64",):
        compare("Bert", "encoder.layer.0", dtype, exact=False, **BERT)
        compare("Bert", "encoder.layer.0", dtype, exact=False, types=types, layer_norm_eps=0.1, **BERT)
    for prefix in ("Electra", "ConvBert"):
        compare(prefix, "encoder.layer.0", exact=False, types=types, embedding_size=D, **BERT)
        compare(prefix, "encoder.layer.0", exact=False, types=types, embedding_size=D // 2, **BERT)
    for dtype in TYPES:
        compare("Albert", "encoder.albert_layer_groups.0", dtype, exact=False, types=types, embedding_size=16, **BERT)
        compare("Electra", "encoder.layer.0", dtype, exact=False, types=types, embedding_size=16, **BERT)
    compare("Albert", "encoder.albert_layer_groups.0", exact=False, embedding_size=D, **BERT)
    compare("RoFormer", "encoder.layer.0", exact=False, types=types, embedding_size=16, **BERT)
    compare("DistilBert", "transformer.layer.0", exact=False, dim=D, hidden_dim=48, n_layers=1, n_heads=2,
            max_position_embeddings=T)


def roberta_does_not_count_padding():
    roberta = {**BERT, "max_position_embeddings": T + 2, "pad_token_id": 1, "type_vocab_size": 1}
    for prefix in ("Roberta", "XLMRoberta", "Camembert"):
        compare(prefix, "encoder.layer.0", exact=False, **roberta)
        compare(prefix, "encoder.layer.0", exact=False, ids=None if WHY else padded(), **roberta)
    compare("MPNet", "encoder.layer.0", exact=False, ids=None if WHY else padded(), **{**SIZES, "max_position_embeddings": T + 2})
    compare("Longformer", "encoder.layer.0", exact=False, attention_window=[4], ids=None if WHY else padded()[:, :8], **roberta)


def deberta_projects_before_it_normalises():
    types = None if WHY else torch.randint(0, 2, (B, L), generator=torch.Generator().manual_seed(9))
    deberta = {**SIZES, "max_position_embeddings": T, "pad_token_id": 0}
    for prefix in ("Deberta", "DebertaV2"):
        compare(prefix, "encoder.layer.0", exact=False, type_vocab_size=2, types=types, **deberta)
        compare(prefix, "encoder.layer.0", exact=False, type_vocab_size=0, position_biased_input=False, **deberta)
    compare("DebertaV2", "encoder.layer.0", exact=False, type_vocab_size=0, embedding_size=16, **deberta)


def norms_without_positions():
    for dtype in TYPES:
        compare("ModernBert", "layers.0", dtype, exact=False, pad_token_id=0, **SIZES)
        compare("Bloom", "h.0", dtype, exact=False, hidden_size=D, n_layer=1, n_head=2)


def translators():
    decode = {"more": lambda ids: {"decoder_input_ids": ids}, **SEQ2SEQ}
    for prefix in ("Bart", "MBart", "PLBart", "BlenderbotSmall"):
        for scale in (False, True):
            compare(prefix, "encoder.layers.0", exact=False, scale_embedding=scale, **decode)
    compare("Bart", "encoder.layers.0", "bfloat16", exact=False, scale_embedding=True, **decode)
    for dtype in TYPES:
        compare("Blenderbot", "encoder.layers.0", dtype, scale_embedding=True, **decode)


def sinusoids_in_halves():
    decode = {"more": lambda ids: {"decoder_input_ids": ids}, **SEQ2SEQ}
    for dtype in TYPES:
        compare("Marian", "encoder.layers.0", dtype, scale_embedding=True, **decode)
        compare("Pegasus", "encoder.layers.0", dtype, scale_embedding=True, **decode)
    compare("Marian", "encoder.layers.0", scale_embedding=False, **{**decode, "d_model": 24})


def sinusoids_of_tensor2tensor():
    """Angles are f32 there, exponentials of another library: the last bit of a frequency shows at a few positions."""
    decode = {"more": lambda ids: {"decoder_input_ids": ids}, **SEQ2SEQ}
    for dtype in ("float32", "bfloat16"):
        compare("M2M100", "encoder.layers.0", dtype, exact=False, ids=None if WHY else padded(), **decode)
    compare("XGLM", "layers.0", exact=False, d_model=D, ffn_dim=48, num_layers=1, attention_heads=2, max_position_embeddings=T)


if __name__ == "__main__":
    main([rotary_models_add_nothing, models_of_relative_positions_add_nothing, gpt2_and_others_of_learned_positions,
          gemma_multiplies_with_a_rounded_root, granite_multiplies_with_a_number_of_its_config, opt_counts_from_two,
          opt_does_not_count_what_a_mask_hides, bert_and_its_kind, roberta_does_not_count_padding,
          deberta_projects_before_it_normalises, norms_without_positions, translators, sinusoids_in_halves,
          sinusoids_of_tensor2tensor])
