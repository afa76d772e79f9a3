"""Hidden states that cannot be multiplied, and models that do not say with what, as `logits` meets them."""
import json

from case import Case
from craft import npy, npy_raw, safetensors, tensor

ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
TABLE = npy(ROWS)
H = npy([[1.0, 0.5]])


def hidden(name, data, err, code=3, args="-o out.npy"):
    return Case(f"logits: {name}", f"logits h.npy -t t.npy {args}", code, err if err.startswith("-") else f"h.npy: {err}",
                {"h.npy": data, "t.npy": TABLE})


def model(name, tensors, config, err, args="", code=3):
    """A model's two files, where the command runs."""
    files = {"h.npy": H, "model.safetensors": safetensors(tensors)}
    if config is not None:
        files["config.json"] = config if isinstance(config, bytes) else json.dumps(config).encode()
    return Case(f"logits: {name}", f"logits h.npy -t . {args}", code, err, files)


def biased(name, bias, err):
    return model(name, {"lm_head.weight": tensor(ROWS), "lm_head.bias": bias, "transformer.wte.weight": tensor(ROWS)},
                 {"model_type": "gptj"}, f".: lm_head.bias: {err}")


LLAMA = {"model.embed_tokens.weight": tensor(ROWS)}
CASES = [
    hidden("cut", H[:-1], "data: expected 8 bytes, found 7"),
    hidden("no numbers", b"", "the file is empty"),
    hidden("another width", npy([[1.0, 2.0, 3.0]]), "hidden states of 3 numbers; the output table has rows of 2"),
    hidden("integers", npy_raw("{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2), }", bytes(8)),
           "numbers of type i32 are no hidden states: expected floats"),
    hidden("five axes", npy_raw("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 2), }", bytes(8)),
           "5 axes: an array that is written has 1 to 4"),
    hidden("NaN", npy([[1.0, 2.0], [1.0, float("nan")]]), "hidden state 1 holds NaN or an infinity"),
    hidden("NaN, the highest", npy([[1.0, 2.0], [float("inf"), 0.0]]), "hidden state 1 holds NaN or an infinity", args="-k 1"),
    biased("a bias of another length", tensor([1.0, 2.0], shape=[2]), "2 entries, the output table has 3 rows"),
    biased("a bias with NaN", tensor([1.0, float("nan"), 0.0], shape=[3]), "the entry of row 1 is NaN or an infinity"),
    biased("a bias of integers", tensor([1, 2, 3], "i32", shape=[3]), "a bias that is no plain list of floats (I32)"),
    model("as an unknown model", LLAMA, {"model_type": "newest"},
          ".: --as-model: what a model of type newest does with its logits is not known", args="--as-model"),
    model("a cap as text", LLAMA, {"model_type": "gemma2", "final_logit_softcapping": "30"},
          '.: config.json: final_logit_softcapping: expected a number above 0, found "30"', args="--as-model"),
    model("a scale of zero", LLAMA, {"model_type": "cohere", "logit_scale": 0},
          ".: config.json: logit_scale: expected a number above 0, found 0"),
    Case("logits: a table alone as a model", "logits h.npy -t t.npy --as-model", 3,
         "t.npy: --as-model: a table alone says of no model what it does", {"h.npy": H, "t.npy": TABLE}),
    Case("logits: a head that is not stored", "logits h.npy -t .", 3, ".: no output table is stored",
         {"h.npy": H, "model.safetensors": safetensors({"word_embeddings.weight": tensor(ROWS)}),
          "config.json": b'{"tie_word_embeddings": false}'}),
]
