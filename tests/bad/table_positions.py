"""Arrays that cannot be turned, and config.json files that do not say how, as `position rope` meets them."""
import json

from case import Case
from craft import npy, npy_raw, safetensors, tensor

ROWS = npy([[1.0, 2.0, 3.0, 4.0]] * 3)


def array(name, data, err, code=3, args=""):
    return Case(f"apply: {name}", f"position rope --apply q.npy {args} -o out.npy", code,
                err if err.startswith("--") else f"q.npy: {err}", {"q.npy": data})


def shaped(name, shape, data, err, descr="<f4", order="False", **more):
    return array(name, npy_raw(f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}", data), err, **more)


def config(name, value, err, code=3, args="-L 3"):
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Case(f"rope config: {name}", f"position rope -t config.json {args} -o out.npy", code, f"config.json: {err}",
                {"config.json": text})


def scaled(name, scaling, err, **more):
    return config(name, {"head_dim": 4, "rope_theta": 10000.0, "rope_scaling": scaling}, "config.json: " + err, **more)


WORDS, PLACES, NORM = [[1.0, 2.0]] * 3, [[0.0, 0.0]] * 4, [1.0, 1.0]
BERT = {"embeddings.word_embeddings.weight": WORDS, "embeddings.position_embeddings.weight": PLACES,
        "embeddings.token_type_embeddings.weight": WORDS, "embeddings.LayerNorm.weight": NORM, "embeddings.LayerNorm.bias": NORM}


def model(name, err, code=3, args="--input-layer", ids="0 1", weights=None, **said):
    """A BERT with other tensors, or in whose config.json other things are said."""
    stored = {k: tensor(v) if isinstance(v, list) else v for k, v in {**BERT, **(weights or {})}.items() if v is not None}
    return Case(f"input of a model: {name}", f"lookup {ids} -t model.safetensors -o out.npy {args}", code,
                f"model.safetensors: {err}", {"model.safetensors": safetensors(stored),
                                              "config.json": json.dumps({"model_type": "bert", **said}).encode()})


CASES = [
    model("no number", "config.json: layer_norm_eps: expected a number, 0 or more, found [1]", layer_norm_eps=[1]),
    model("a negative number", "config.json: type_vocab_size: expected a number, 0 or more, found -2", type_vocab_size=-2),
    model("no switch", "config.json: scale_embedding: expected true or false, found 1", scale_embedding=1),
    model("an unknown type", "what a model of type novel does before its first block is not known here", model_type="novel"),
    model("no positions", "bert: expected a tensor bert.embeddings.position_embeddings.weight, found none",
          weights={"embeddings.position_embeddings.weight": None}),
    model("no norm", "bert: expected a tensor bert.embeddings.LayerNorm.weight, found none",
          weights={"embeddings.LayerNorm.weight": None}),
    model("no types", "bert: expected a tensor bert.embeddings.token_type_embeddings.weight, found none", type_vocab_size=2,
          weights={"embeddings.token_type_embeddings.weight": None}),
    model("narrow positions", "embeddings.position_embeddings.weight is 1 wide, what it meets 2",
          weights={"embeddings.position_embeddings.weight": [[1.0]] * 4}),
    model("a long norm", "embeddings.LayerNorm.bias is 3 wide, what it meets 2",
          weights={"embeddings.LayerNorm.bias": [1.0, 2.0, 3.0]}),
    model("positions of one axis", "embeddings.position_embeddings.weight: expected rows of numbers, found 1 axes",
          weights={"embeddings.position_embeddings.weight": [1.0, 2.0]}),
    model("positions of integers", "embeddings.position_embeddings.weight: expected floats, row after row, found I32",
          weights={"embeddings.position_embeddings.weight": ("I32", [4, 2], bytes(32))}),
    model("one position too many", "position 4: expected one below 4, for which there are rows in "
          "embeddings.position_embeddings.weight", args="--input-layer --start 3"),
    model("a large start", "position 9007199254740991: expected one below 4, for which there are rows in "
          "embeddings.position_embeddings.weight", args="--input-layer --start 9007199254740991"),
    Case("input of a model: a larger start", "lookup 0 --input-layer --start 9007199254740992 -o out.npy", 2,
         "--start 9007199254740992: expected a position below 2^53"),
    model("a pad id that is there, without a row", "a token that is padding: there is no row for these in "
          "embeddings.position_embeddings.weight", model_type="roberta", pad_token_id=5, ids="5",
          weights={"embeddings.word_embeddings.weight": WORDS * 3}),
    model("a large pad id", "position 0: expected one below 0, for which there are rows in "
          "embeddings.position_embeddings.weight", model_type="roberta", pad_token_id=7),
    model("the largest pad id", "position 0: expected one below 0, for which there are rows in "
          "embeddings.position_embeddings.weight", model_type="roberta", pad_token_id=18446744073709551615),
    array("cut", ROWS[:-1], "data: expected 48 bytes, found 47"),
    array("not an array", b"", "the file is empty"),
    shaped("one axis", "(4,)", bytes(16), "expected [..., L, D], 2 to 4 axes, found 1"),
    shaped("no axis", "()", bytes(4), "shape [] is not a table [V, d]"),
    shaped("five axes", "(1, 1, 1, 1, 4)", bytes(16), "expected [..., L, D], 2 to 4 axes, found 5"),
    shaped("three axes in Fortran order", "(2, 1, 4)", bytes(32),
           "shape [2, 1, 4] is not stored in C order, row after row", order="True"),
    shaped("axes without a size", "(4294967296, 4294967296, 0)", b"", "shape [4294967296, 4294967296, 0] is too large"),
    shaped("no channels", "(3, 0)", b"", "shape [3, 0] is not a table [V, d]: d is 0"),
    shaped("integers", "(1, 4)", bytes(16), "numbers of type i32 do not turn: expected floats", descr="<i4"),
    array("an axis that is not there", ROWS, "--axis 2: q.npy has 2 axes, the last of which is D", code=2, args="--axis 2"),
    array("the last axis", ROWS, "--axis -1: q.npy has 2 axes, the last of which is D", code=2, args="--axis -1"),
    array("other channels", ROWS, "heads of 4 channels: -D says 6", args="-D 6"),
    array("other positions", ROWS, "3 positions: -L says 4", args="-L 4"),
    config("not JSON", b"{", "config.json: JSON: byte 1: expected a key or '}', found the end of the text"),
    config("a list", [], 'config.json: JSON: byte 0: expected an object, found "[]"'),
    config("no rotary positions", {"model_type": "bert", "hidden_size": 8, "num_attention_heads": 2},
           "config.json: nothing is said of rotary positions (model type bert)"),
    config("no head", {"model_type": "llama"}, "how many channels does a head have?", code=2),
    config("odd head", {"model_type": "llama", "head_dim": 5},
           "5 of 5 channels turn: expected an even number from 2 to all of them", code=2),
    config("a huge head", {"model_type": "llama", "head_dim": 1e300}, "a head of 1e+300 channels makes no sense", code=2),
    config("theta as text", {"rope_theta": "1e4"}, 'config.json: rope_theta: expected a number, 0 or more, found "1e4"'),
    config("scaling as text", {"rope_scaling": "linear"}, "config.json: rope_scaling: expected an object or null"),
    scaled("an unknown kind", {"type": "cubic"},
           'rope_scaling: type: "cubic": expected default, linear, dynamic, ntk, yarn, longrope or llama3'),
    scaled("linear without a factor", {"type": "linear"}, "scaling: linear: factor is missing"),
    scaled("a negative factor", {"type": "linear", "factor": -2},
           "rope_scaling: factor: expected a number, 0 or more, found -2"),
    scaled("too few factors", {"type": "longrope", "original_max_position_embeddings": 8, "short_factor": [1.0], "long_factor": []},
           "scaling: longrope: short_factor: expected 2 numbers, one a pair, found 1"),
    scaled("a list in a list", {"type": "longrope", "short_factor": [[1.0]]},
           "rope_scaling: short_factor: expected a number, 0 or more, found [1.0]"),
    config("layers that differ", {"rope_parameters": {"full_attention": {"rope_theta": 1.0}}},
           "config.json: rope_parameters: layers turn differently (full_attention ...): say --base and --scaling without a model"),
]
