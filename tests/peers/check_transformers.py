"""Model directories that init makes are models to transformers: they load, with our numbers bit for bit.

Runs where torch and transformers can be imported (the peers' environment does not bring them: they are large), else
every test is skipped.
"""
import json
import os
import warnings
from pathlib import Path

from peer import Skip, main, objects, run

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import torch
    import transformers
    from safetensors.torch import load_file
    WHY = ""
except ImportError as e:
    WHY = f"{e.name} is not installed"


def need():
    if WHY:
        raise Skip(WHY)
    warnings.simplefilter("ignore")
    transformers.utils.logging.disable_progress_bar()
    return torch, transformers


def bits(tensor):
    return tensor.detach().contiguous().view(torch.uint8)


def same(a, b, what):
    assert a.dtype == b.dtype and a.shape == b.shape, f"{what}: {a.dtype} {list(a.shape)}, ours {b.dtype} {list(b.shape)}"
    assert torch.equal(bits(a), bits(b)), f"{what}: other bits"


def loaded(cls, directory):
    """The model, and the names of stored tensors that it had no place for."""
    model, info = cls.from_pretrained(directory, output_loading_info=True, torch_dtype="auto")
    assert not info["mismatched_keys"], info["mismatched_keys"]
    return model, set(info["unexpected_keys"])


def opens(arch, *options, positions=None, head=None):
    """Makes a model and compares its tables, in the base model and in the model with a head."""
    _, tf = need()
    run("init", 300, 128, "--arch", arch, "--seed", 5, "-o", arch, *options)
    stored = load_file(f"{arch}/model.safetensors")
    ours = [stored.get(name) for name in TABLES[arch]]
    base = loaded(tf.AutoModel, arch)[0]
    same(base.get_input_embeddings().weight, ours[0], "embedding")
    if positions:
        same(base.get_parameter(positions), ours[1], "positions")
    name, = json.loads(Path(arch, "config.json").read_text())["architectures"]
    whole, unexpected = loaded(getattr(tf, name), arch)
    assert not unexpected, unexpected
    same(whole.get_input_embeddings().weight, ours[0], "embedding under the head")
    same(whole.get_output_embeddings().weight, ours[2] if head else ours[0], "head")
    return whole


TABLES = {  # names as the model sources have them
    "gpt2": ("transformer.wte.weight", "transformer.wpe.weight", "lm_head.weight"),
    "llama": ("model.embed_tokens.weight", None, "lm_head.weight"),
    "mistral": ("model.embed_tokens.weight", None, "lm_head.weight"),
    "qwen2": ("model.embed_tokens.weight", None, "lm_head.weight"),
    "gpt_neox": ("gpt_neox.embed_in.weight", None, "embed_out.weight"),
    "bert": ("bert.embeddings.word_embeddings.weight", "bert.embeddings.position_embeddings.weight",
             "cls.predictions.decoder.weight"),
    "distilbert": ("distilbert.embeddings.word_embeddings.weight", "distilbert.embeddings.position_embeddings.weight",
                   "vocab_projector.weight"),
}


def gpt2_with_positions_tied_and_untied():
    opens("gpt2", "--positions", 64, positions="wpe.weight")
    opens("gpt2", "--positions", 64, "--untied", "--force", positions="wpe.weight", head=True)


def bert_with_positions_tied_and_untied():
    opens("bert", "--positions", 64, positions="embeddings.position_embeddings.weight")
    opens("bert", "--positions", 64, "--untied", "--force", positions="embeddings.position_embeddings.weight", head=True)


def distilbert_with_positions():
    opens("distilbert", "--positions", 64, positions="embeddings.position_embeddings.weight")


def models_without_positions():
    for arch in ("llama", "mistral", "qwen2", "gpt_neox"):
        opens(arch)
        opens(arch, "--untied", "--force", head=True)


def types_are_kept():
    torch, _ = need()
    for dtype, want in (("f16", torch.float16), ("bf16", torch.bfloat16), ("f64", torch.float64)):
        whole = opens("llama", "--dtype", dtype, "--force")
        assert whole.get_input_embeddings().weight.dtype == want, whole.get_input_embeddings().weight.dtype


def a_model_of_ours_runs():
    """One step through the whole model gives finite scores [1, 3, V]."""
    torch, _ = need()
    for arch in ("gpt2", "llama", "bert"):
        scores = opens(arch)(input_ids=torch.tensor([[1, 299, 0]])).logits
        assert list(scores.shape) == [1, 3, 300] and bool(torch.isfinite(scores).all()), f"{arch}: {list(scores.shape)}"


def presets_have_the_parameters_they_say():
    """Built without memory from the directory's config, with the total that the preset names."""
    torch, tf = need()
    for name, total, close in (("gpt2", 124439808, 0), ("bert-base", 109482240, 0), ("andrea-120m", 120e6, 1e-3),
                               ("sophia", 1.01e9, 5e-3)):
        said, = objects("init", "--preset", name, "-o", name, "--dist", "zeros")
        config = tf.AutoConfig.from_pretrained(name)
        auto = tf.AutoModel if name == "bert-base" else tf.AutoModelForCausalLM
        with torch.device("meta"):
            model = auto.from_config(config)
        model.tie_weights()
        n = sum(p.numel() for p in {id(p): p for p in model.parameters()}.values())
        assert abs(n - total) <= close * total, f"{name}: {n} parameters"
        assert said["model_params"] == int(total), said
        assert model.get_input_embeddings().weight.shape == (said["rows"], said["dims"])


def like_gives_the_same_model():
    _, tf = need()
    run("init", 300, 128, "--positions", 32, "--untied", "--seed", 1, "-o", "a")
    tf.AutoModelForCausalLM.from_pretrained("a").save_pretrained("whole")
    run("init", "--like", "whole", "--seed", 1, "-o", "b")
    a, b = load_file("a/model.safetensors"), load_file("b/model.safetensors")
    assert a.keys() == b.keys(), b.keys()
    for name in a:
        same(a[name], b[name], name)
    assert Path("b/config.json").read_bytes() == Path("whole/config.json").read_bytes()
    loaded(tf.AutoModelForCausalLM, "b")


main([gpt2_with_positions_tied_and_untied, bert_with_positions_tied_and_untied, distilbert_with_positions,
      models_without_positions, types_are_kept, a_model_of_ours_runs, presets_have_the_parameters_they_say,
      like_gives_the_same_model])
