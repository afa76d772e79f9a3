"""Model directories that would be waited for, or looked through, without end."""
import json

from case import Case
from craft import safetensors

TABLE = safetensors({"wte.weight": ("F32", [2, 1], b"\0" * 8)})
MAPPED = safetensors({"embeddings": ("F32", [2, 1], b"\0" * 8), "mapping": ("I64", [2], bytes([1] + [0] * 7 + [9] + [0] * 7))})
MANY = 60000


def fifo(name, before=""):
    """A FIFO in the place of one file of a directory that is whole without it."""
    files = {"model.safetensors": TABLE, "vocab.txt": b"a\nb\n"}
    return Case(f"model: {name} is a FIFO",
                f"mkdir m; cp model.safetensors vocab.txt m; rm -f m/{name}; mkfifo m/{name}; {before}"
                f"timeout 5 embtool lookup 0 -t m; code=$?; rm -r m; exit $code", 3,
                f"embtool: lookup: m: {name}: is a FIFO, not a file of a model\n", files, shell=True)


CASES = [
    *[fifo(name) for name in ("config.json", "model.safetensors", "tokenizer.json", "vocab.txt",
                              "tokenizer_config.json", "added_tokens.json")],
    fifo("model.safetensors.index.json", "rm m/model.safetensors; "),
    Case("model: a reference in the hub's cache is a FIFO",
         "r=h/hub/models--a--b/refs; mkdir -p $r; mkfifo $r/main; HF_HUB_OFFLINE=1 HF_HOME=h timeout 5 embtool lookup 0 -t hf://a/b; "
         "code=$?; rm -r h; exit $code", 4,
         "embtool: lookup: hf://a/b: not in the hub's cache at h/hub, and HF_HUB_OFFLINE forbids the network\n", shell=True),
    *[Case(f"model: tokens have rows that are not there: {command.split()[0]}", command, 3,
           "m.safetensors: mapping: token 1 has row 9, the table has 2 rows", {"m.safetensors": MAPPED})
      for command in ("stats m.safetensors", "lookup 0 -t m.safetensors", "similar #0 -t m.safetensors",
                      "resize m.safetensors --rows 4 -o o.safetensors")],
    Case("model: an index of very many files",
         "mkdir m; cp model.safetensors.index.json m; embtool lookup 0 -t m; code=$?; rm -r m; exit $code", 4,
         "embtool: lookup: m: f0.safetensors: No such file or directory\n",
         {"model.safetensors.index.json": json.dumps(
             {"weight_map": {f"t{i}": f"f{i}.safetensors" for i in range(MANY)}}).encode()}, shell=True),
    Case("model: very many tensors with an embedding's name", "lookup 0 -t many.safetensors", 3,
         "many.safetensors: no tensor is clearly the embedding; name one after #: "
         + ", ".join(f"wte{i}.embed_tokens.weight" for i in range(6)) + f" and {MANY - 6} more",
         {"many.safetensors": safetensors(
             {f"wte{i}.embed_tokens.weight": ("U8", [1, 1], bytes([i % 251])) for i in range(MANY)})}),
]
