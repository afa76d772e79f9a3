"""Rotary positions are those of transformers, by the config.json that it writes: tables and turned queries.

Runs where torch and transformers can be imported (the peers' environment does not bring them: they are large), else
every test is skipped. Models compute their angles in float32, so how far they may lie apart grows with the position:
tests/data/check_positions.py has the bound.
"""
import importlib
import os
import warnings

from peer import Skip, main, run

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import numpy as np
    import torch
    import transformers
    WHY = ""
except ImportError as e:
    WHY = f"{e.name} is not installed"

HEADS, HEAD, START, LENGTH = 3, 24, 40, 50
LISTS = {"short_factor": [1 + 0.03 * i for i in range(HEAD // 2)], "long_factor": [1 + 0.7 * i for i in range(HEAD // 2)]}


def modules(name, prefix):
    """(config, rotary positions, the function that turns q and k) of a model type."""
    if WHY:
        raise Skip(WHY)
    warnings.simplefilter("ignore")
    torch.set_grad_enabled(False)
    try:
        model = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
    except ImportError as e:
        raise Skip(f"transformers {transformers.__version__} has no {name}") from e
    return getattr(transformers, f"{prefix}Config"), getattr(model, f"{prefix}RotaryEmbedding"), model.apply_rotary_pos_emb


def expected(name, prefix, rope, more):
    """Writes config.json and q.npy; q as the model turns it, and how many channels turn."""
    config_of, rotary_of, apply = modules(name, prefix)
    config = config_of(hidden_size=HEADS * HEAD, num_attention_heads=HEADS, num_key_value_heads=HEADS, num_hidden_layers=1,
                       vocab_size=32, head_dim=HEAD, rope_parameters=rope, **more)
    config.save_pretrained("m")
    q = torch.randn(2, HEADS, LENGTH, HEAD, generator=torch.Generator().manual_seed(len(name)))
    cos, sin = rotary_of(config)(q, torch.arange(START, START + LENGTH)[None])
    width = cos.shape[-1]
    if width == HEAD:
        turned, _ = apply(q, q, cos, sin)
    else:
        part, _ = apply(q[..., :width], q[..., :width], cos, sin)
        turned = torch.cat([part, q[..., width:]], -1)
    np.save("q.npy", q.numpy())
    return turned.numpy(), width, q.numpy()


def compare(name, prefix, rope, blend=0, **more):
    want, r, q = expected(name, prefix, rope, more)
    run("position", "rope", "--apply", "q.npy", "-t", "m", "--start", START, "-o", "out.npy", "--force")
    run("position", "rope", "-L", LENGTH, "-t", "m", "--start", START, "-o", "table.npy", "--force")
    got, table = np.load("out.npy"), np.load("table.npy")
    assert got.shape == want.shape and got.dtype == np.float32, f"{got.dtype} {got.shape}"
    assert table.shape == (2, LENGTH, r // 2), f"table {table.shape}, {r} channels turn"
    assert np.array_equal(got[..., r:], q[..., r:]), "channels that stay"
    scale = np.hypot(table[0], table[1]).max()
    bound = scale * ((4 + 2 * blend) * 2.0 ** -24 * (START + LENGTH) + 2.0 ** -22) * (np.abs(q).max() * 1.5 + 0.1)
    worst = np.abs(got.astype(np.float64) - want).max()
    assert worst <= bound, f"{name} {rope}: off by {worst}, allowed {bound}"


def theta(x, kind="default", **keys):
    return {"rope_type": kind, "rope_theta": x, **keys}


def plain_models():
    for name, prefix in (("llama", "Llama"), ("mistral", "Mistral"), ("qwen3", "Qwen3"), ("gemma", "Gemma"), ("olmo2", "Olmo2")):
        compare(name, prefix, theta(12345.0))


def pairs_side_by_side():
    for name, prefix in (("cohere", "Cohere"), ("helium", "Helium"), ("ernie4_5", "Ernie4_5")):
        compare(name, prefix, theta(5000.0))


def a_part_of_the_head():
    for name, prefix in (("glm", "Glm"), ("glm4", "Glm4")):
        compare(name, prefix, theta(10000.0, partial_rotary_factor=0.5))
    compare("stablelm", "StableLm", theta(10000.0, partial_rotary_factor=0.25))


def every_scaling():
    llama = ("llama", "Llama")
    compare(*llama, theta(10000.0, "linear", factor=3.0))
    compare(*llama, theta(10000.0, "dynamic", factor=3.0), max_position_embeddings=30)
    compare(*llama, theta(10000.0, "yarn", factor=6.0, original_max_position_embeddings=64), blend=6)
    compare(*llama, theta(1e5, "yarn", factor=6.0, original_max_position_embeddings=64, beta_fast=8.0, beta_slow=2.0,
                          mscale=0.8, mscale_all_dim=0.3), blend=6)
    compare(*llama, theta(10000.0, "llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=3.0,
                          original_max_position_embeddings=128), blend=4)
    compare(*llama, theta(10000.0, "longrope", factor=4.0, original_max_position_embeddings=256, **LISTS))


def longrope_beyond_the_original_positions():
    """The model sees 90 positions at once, more than its 64."""
    compare("phi3", "Phi3", theta(10000.0, "longrope", original_max_position_embeddings=64, **LISTS),
            max_position_embeddings=256, original_max_position_embeddings=64, pad_token_id=0)


if __name__ == "__main__":
    main([plain_models, pairs_side_by_side, a_part_of_the_head, every_scaling, longrope_beyond_the_original_positions])
