"""Logits with --as-model are those of transformers: what its output layer receives, times the table of the saved model.

Runs where torch and transformers can be imported (the peers' environment does not bring them: they are large), else
every test is skipped. Weights are random. The tolerance is that of sums of d products in float32.
"""
import inspect
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

D, V = 48, 101
SIZES = {"vocab_size": V, "hidden_size": D, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 12, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1,
         "eos_token_id": 2}
GPT = {"vocab_size": V, "n_embd": D, "n_layer": 1, "n_head": 4, "n_positions": 64}
T5 = {"vocab_size": V, "d_model": D, "d_kv": 12, "d_ff": 64, "num_layers": 1, "num_heads": 4, "decoder_start_token_id": 0}
BART = {"vocab_size": V, "d_model": D, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_position_embeddings": 64,
        "pad_token_id": 0, "decoder_start_token_id": 0, "eos_token_id": 2, "bos_token_id": 1}


def build(prefix, suffix, sizes, more):
    if WHY:
        raise Skip(WHY)
    warnings.simplefilter("ignore")
    torch.set_grad_enabled(False)
    try:
        config_of, model_of = (getattr(transformers, prefix + s) for s in ("Config", suffix))
    except AttributeError as e:
        raise Skip(f"transformers {transformers.__version__} has no {prefix}{suffix}") from e
    torch.manual_seed(len(prefix))
    model = model_of(config_of(**sizes, **more)).eval().float()
    for name, x in model.named_parameters():
        x.copy_(torch.randn(x.shape) * (0.3 if x.ndim > 1 else 0.1) + (1 if x.ndim == 1 and "bias" not in name else 0))
    for name, x in model.named_buffers():
        if name.endswith("final_logits_bias"):
            x.copy_(torch.randn(x.shape))
    return model


def compare(prefix, suffix="ForCausalLM", sizes=SIZES, before=None, bias=False, cap=0, plain=None, **more):
    """before: the module whose output is the hidden state, where the model changes it on the way to the output layer."""
    model = build(prefix, suffix, sizes, more)
    seen = []
    if before:
        before(model).register_forward_hook(lambda m, args, out: seen.append(out[0] if not hasattr(out, "last_hidden_state")
                                                                             else out.last_hidden_state))
    else:
        model.get_output_embeddings().register_forward_pre_hook(lambda m, args: seen.append(args[0]))
    ids = torch.arange(3, 21).reshape(2, 9)
    inputs = {"input_ids": ids}
    if "decoder_input_ids" in inspect.signature(model.forward).parameters:
        inputs["decoder_input_ids"] = ids
    want, h = model(**inputs).logits, seen[-1]
    where = prefix.lower()
    model.save_pretrained(where)
    np.save("h.npy", h.numpy())
    run("logits", "h.npy", "-t", where, "--as-model", "-o", "out.npy", "--force")
    got = np.load("out.npy")
    table = model.get_output_embeddings().weight
    bound = 2 * np.sqrt(D) * 2.0 ** -23 * h.norm(dim=-1).max().item() * table.norm(dim=-1).max().item() + 1e-5
    assert got.shape == tuple(want.shape) and got.dtype == np.float32, f"{got.dtype} {got.shape}"
    worst = np.abs(got.astype(np.float64) - want.numpy()).max()
    assert worst <= bound, f"{prefix}: off by {worst}, allowed {bound}"
    assert not cap or np.abs(want).max() <= cap, "the cap is not what it should be"
    run("logits", "h.npy", "-t", where, "-o", "plain.npy", "--force", "-q")
    product = (h @ table.T).numpy()
    near = np.abs(np.load("plain.npy") - product).max() <= bound
    assert near != bias, f"{prefix}: plain logits have {'no' if near else 'a'} bias"
    assert plain is None or (np.abs(product - want.numpy()).max() <= bound) == plain, f"{prefix}: the model does nothing"
    return got


def heads_and_tied_tables():
    compare("Llama", plain=True)
    compare("Llama", plain=True, tie_word_embeddings=True)
    compare("Qwen2", plain=True)
    compare("GPT2", "LMHeadModel", GPT, plain=True)
    compare("GPTNeoX", plain=True)
    compare("Gemma", plain=True)


def biases():
    compare("GPTJ", sizes={**GPT, "rotary_dim": 4}, bias=True)
    compare("Phi", sizes=SIZES, bias=True)
    bert = {k: v for k, v in SIZES.items() if k not in ("head_dim", "num_key_value_heads")}
    compare("Bert", "ForMaskedLM", bert, bias=True)
    compare("Roberta", "ForMaskedLM", {**bert, "pad_token_id": 1}, bias=True)
    compare("Albert", "ForMaskedLM", {**bert, "embedding_size": D}, bias=True)
    compare("DistilBert", "ForMaskedLM", {"vocab_size": V, "dim": D, "n_layers": 1, "n_heads": 4, "hidden_dim": 64}, bias=True)
    compare("Marian", "MTModel", {**BART}, bias=True)
    compare("Bart", "ForConditionalGeneration", BART, bias=True)


def soft_caps():
    compare("Gemma2", cap=30, plain=False, query_pre_attn_scalar=12)
    compare("Gemma2", cap=5, plain=False, query_pre_attn_scalar=12, final_logit_softcapping=5.0)
    compare("Gemma2", plain=True, query_pre_attn_scalar=12, final_logit_softcapping=None)


def soft_caps_of_newer_models():
    compare("VaultGemma", cap=30, plain=False, query_pre_attn_scalar=12)
    compare("NanoChat", cap=15, plain=False)


def scales():
    compare("Cohere", plain=False)
    compare("Cohere", plain=False, logit_scale=0.5)
    compare("Cohere2", plain=False, sliding_window=8)
    compare("Granite", plain=False, logits_scaling=8.0)
    compare("Granite", plain=True)


def scaled_hidden_states():
    compare("T5", "ForConditionalGeneration", T5, before=lambda m: m.decoder, plain=False)
    compare("UMT5", "ForConditionalGeneration", T5, before=lambda m: m.decoder, plain=False)
    compare("MT5", "ForConditionalGeneration", T5, before=lambda m: m.decoder, plain=True)
    compare("LongT5", "ForConditionalGeneration", T5, before=lambda m: m.decoder, plain=False)


def the_highest_are_those_of_torch():
    got = compare("GPTJ", sizes={**GPT, "rotary_dim": 4}, bias=True).reshape(-1, V)
    lines = [line.split("\t") for line in run("logits", "h.npy", "-t", "gptj", "-k", 7, "--softmax").decode().splitlines()]
    top = torch.topk(torch.from_numpy(got).double(), 7)
    share = torch.softmax(torch.from_numpy(got).double(), -1)
    assert [int(x[2]) for x in lines] == top.indices.flatten().tolist(), "other tokens"
    for x in lines:
        row, token = int(x[0]), int(x[2])
        assert abs(float(x[4]) - share[row, token].item()) <= 3e-6, f"row {row} token {token}: {x[4]}"


if __name__ == "__main__":
    main([heads_and_tied_tables, biases, soft_caps, soft_caps_of_newer_models, scales, scaled_hidden_states,
          the_highest_are_those_of_torch])
