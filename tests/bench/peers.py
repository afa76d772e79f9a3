#!/usr/bin/env python3
"""What other programs need for the same jobs, each in the best form that we know: peers.py CELL PEER FILES...

In process: keeps to the protocol of inproc.c. A peer loads its data and stores the norms of rows before the first run;
files are mapped, and outputs are touched before. WHOLE has the programs that are timed from start to exit; they get
their files and the name of an output as arguments.
"""
import json
import os
import sys
import time

THREADS = len(os.sched_getaffinity(0))


# ---------------------------------------------------------------- helpers of the jobs

def bf16_bits(path):
    """The one tensor of a safetensors file as uint16 [V, d]."""
    import numpy as np
    with open(path, "rb") as f:
        n = int.from_bytes(f.read(8), "little")
        shape = next(v["shape"] for k, v in json.loads(f.read(n)).items() if k != "__metadata__")
    return np.memmap(path, np.uint16, "r", 8 + n, tuple(shape))


def norms(m):
    import numpy as np
    return np.sqrt(np.einsum("ij,ij->i", m, m))         # no squared copy, as numpy.linalg.norm makes


def best_of(scores, k=10):
    """Rows of the k highest scores in order, for each query: a partial selection, then a sort of k."""
    import numpy as np
    scores = np.atleast_2d(scores)
    some = np.argpartition(scores, -k, axis=1)[:, -k:]
    return np.take_along_axis(some, np.argsort(-np.take_along_axis(scores, some, 1), axis=1), 1)


def quicker(*ways):
    """Of several ways to the same, the one that a second run shows to be the fastest."""
    def seconds(way):
        way()
        start = time.perf_counter()
        way()
        return time.perf_counter() - start
    return min(ways, key=seconds)


# ---------------------------------------------------------------- jobs in process: a function that prepares and returns one

def similar_numpy(path, first, queries):
    import numpy as np
    m = np.load(path, mmap_mode="r")
    n, q = norms(m), np.array(m[first:first + queries])
    if queries == 1:
        return lambda: best_of((m @ q[0]) / n)[0].tolist()
    product = quicker(lambda: q @ m.T, lambda: np.ascontiguousarray((m @ q.T).T))
    return lambda: best_of(product() / n)[0].tolist()


def similar_numpy_norms(path, first, queries):
    """One query without stored norms: what a script does that searches once."""
    import numpy as np
    m = np.load(path, mmap_mode="r")
    q = np.array(m[first])
    return lambda: best_of((m @ q) / norms(m))[0].tolist()


def similar_torch(path, first, queries):
    import numpy as np
    import torch
    torch.set_num_threads(THREADS)
    narrow = path.endswith(".safetensors")
    m = torch.from_numpy(np.asarray(bf16_bits(path) if narrow else np.load(path, mmap_mode="r")))
    m = m.view(torch.bfloat16) if narrow else m
    n = torch.cat([x.float().norm(dim=1) for x in m.split(8192)])
    q = m[first:first + queries].clone()
    if queries == 1:
        product = lambda: torch.mv(m, q[0])[None]                                       # noqa: E731
    else:
        product = quicker(lambda: torch.mm(q, m.t()), lambda: torch.mm(m, q.t()).t().contiguous())

    def run():
        scores = product().float() / n
        if not narrow:
            return scores.topk(10, dim=1).indices[0].tolist()
        some = scores.topk(64, dim=1).indices               # scores of bf16 have 8 bits: candidates are scored again
        again = torch.stack([m[some[i]].float() @ q[i].float() / n[some[i]] for i in range(queries)])
        return torch.gather(some, 1, again.topk(10, dim=1).indices)[0].tolist()
    return run


def pairs_numpy(path, first, queries):
    import numpy as np
    m = np.array(np.load(path, mmap_mode="r"))
    m /= norms(m)[:, None]
    return lambda: [int(best_of(m[i:i + 500] @ m.T)[0][1]) for i in range(0, queries, 500)]


def pairs_torch(path, first, queries):
    import numpy as np
    import torch
    torch.set_num_threads(THREADS)
    m = torch.nn.functional.normalize(torch.from_numpy(np.load(path)))
    return lambda: [int(torch.mm(m[i:i + 500], m.t()).topk(10).indices[0, 1]) for i in range(0, queries, 500)]


def stats_numpy(path):
    import numpy as np
    m = np.load(path, mmap_mode="r")
    return lambda: (m.mean(), m.std(), m.min(), m.max(), np.isnan(m).sum(), norms(m).mean()) and [len(m)]


def stats_torch(path):
    import numpy as np
    import torch
    torch.set_num_threads(THREADS)
    narrow = path.endswith(".safetensors")
    m = torch.from_numpy(np.asarray(bf16_bits(path) if narrow else np.load(path, mmap_mode="r")))
    m = m.view(torch.bfloat16) if narrow else m

    def run():
        for x in m.split(4096):                             # blocks that stay in the cache while five passes go over them
            y = x.float()
            torch.std_mean(y), torch.aminmax(y), torch.linalg.vector_norm(y, dim=1).mean(), torch.isnan(y).sum()
        return [len(m)]
    return run


def rows_gguf(path, ids):
    import numpy as np
    from gguf import GGUFReader, dequantize
    t = next(t for t in GGUFReader(path).tensors if t.name == "token_embd.weight")
    i = np.load(ids)
    return lambda: (dequantize(t.data[i], t.tensor_type), [len(i)])[1]


def tokens_json(path, token):
    return lambda: [json.load(open(os.path.join(path, "tokenizer.json"), encoding="utf-8"))["model"]["vocab"][token]]


def tokens_orjson(path, token):
    import orjson
    return lambda: [orjson.loads(open(os.path.join(path, "tokenizer.json"), "rb").read())["model"]["vocab"][token]]


def tokens_tokenizers(path, token):
    from tokenizers import Tokenizer
    return lambda: [Tokenizer.from_file(os.path.join(path, "tokenizer.json")).token_to_id(token)]


def similar(function):
    return lambda files: function(files[0], int(files[1]), int(files[2]))


IN_PROCESS = {
    "similar": {"numpy": similar(similar_numpy), "numpy, norms too": similar(similar_numpy_norms), "torch": similar(similar_torch)},
    "pairs": {"numpy": similar(pairs_numpy), "torch": similar(pairs_torch)},
    "stats": {"numpy": lambda f: stats_numpy(f[0]), "torch": lambda f: stats_torch(f[0])},
    "rows": {"gguf": lambda f: rows_gguf(f[0], f[1])},
    "token": {"json": lambda f: tokens_json(f[0], f[1]), "orjson": lambda f: tokens_orjson(f[0], f[1]),
              "tokenizers": lambda f: tokens_tokenizers(f[0], f[1])},
}

# ---------------------------------------------------------------- whole programs: A the files, O the output

SIMILAR_NUMPY = """import numpy as np
m = np.load(A[0], mmap_mode='r'); q = m[1234]
s = (m @ q) / np.sqrt(np.einsum('ij,ij->i', m, m)); i = np.argpartition(s, -10)[-10:]; print(*i[np.argsort(-s[i])])"""
SIMILAR_TORCH = """import torch
from safetensors import safe_open
f = safe_open(A[0], 'pt'); m = f.get_tensor(list(f.keys())[0]); q = m[1234]
s = torch.mv(m, q).float() / torch.linalg.vector_norm(m, dim=1, dtype=torch.float32); i = s.topk(64).indices
s = (m[i].float() @ q.float()) / torch.linalg.vector_norm(m[i].float(), dim=1); print(*i[s.topk(10).indices].tolist())"""
SIMILAR_GENSIM = """from gensim.models import KeyedVectors as K
k = K.load_word2vec_format(A[0], binary=True)
print(1234, *[k.key_to_index[w] for w, _ in k.most_similar(k.index_to_key[1234], topn=9)])"""
ROWS_NUMPY = """import numpy as np
np.save(O, np.take(np.load(A[0], mmap_mode='r'), np.load(A[1]), axis=0))"""
ROWS_BF16 = """import json, numpy as np
f = open(A[0], 'rb'); n = int.from_bytes(f.read(8), 'little')
s = next(v['shape'] for k, v in json.loads(f.read(n)).items() if k != '__metadata__')
np.save(O, np.memmap(A[0], np.uint16, 'r', 8 + n, tuple(s))[np.load(A[1])])"""
STATS_NUMPY = """import numpy as np
m = np.load(A[0], mmap_mode='r'); n = np.sqrt(np.einsum('ij,ij->i', m, m))
print(m.mean(dtype=np.float64), m.std(dtype=np.float64), m.min(), m.max(), n.min(), np.median(n), n.max())"""
INIT_NUMPY = """import numpy as np
g = np.random.default_rng(1); V, d = int(A[0]), int(A[1])
x = g.standard_normal((V, d), dtype=np.float32); x *= np.float32(0.02); np.save(O, x)"""
TEXT_PYARROW = """import numpy as np, pyarrow as pa, pyarrow.csv as c
d = len(open(A[0], 'rb').readline().split()) - 1
t = c.read_csv(A[0], c.ReadOptions(autogenerate_column_names=True, block_size=8 << 20),
               c.ParseOptions(delimiter=' ', quote_char=False),
               c.ConvertOptions(column_types={f'f{i}': pa.float32() for i in range(1, d + 1)}))
np.save(O, np.stack([t.column(i).to_numpy() for i in range(1, d + 1)], axis=1))"""
TEXT_GENSIM = """from gensim.models import KeyedVectors as K
import numpy as np; np.save(O, K.load_word2vec_format(A[0], no_header=True).vectors)"""
NARROW_TORCH = """import numpy as np, torch
from safetensors.torch import save_file
save_file({'w': torch.from_numpy(np.load(A[0], mmap_mode='r')).to(torch.bfloat16)}, O)"""
TOKEN_JSON = """import json, numpy as np
i = json.load(open(A[0] + '/tokenizer.json', encoding='utf-8'))['model']['vocab'][A[1]]
f = open(A[0] + '/model.safetensors', 'rb'); n = int.from_bytes(f.read(8), 'little'); h = json.loads(f.read(n))
s = next(v['shape'] for k, v in h.items() if k != '__metadata__')
print(i, *np.memmap(A[0] + '/model.safetensors', np.uint16, 'r', 8 + n, tuple(s))[i][:3])"""

WHOLE = {
    "similar": {"numpy": SIMILAR_NUMPY}, "similar bf16": {"torch": SIMILAR_TORCH}, "similar bin": {"gensim": SIMILAR_GENSIM},
    "rows": {"numpy": ROWS_NUMPY}, "rows bf16": {"numpy": ROWS_BF16}, "stats": {"numpy": STATS_NUMPY},
    "init": {"numpy": INIT_NUMPY}, "text": {"pyarrow": TEXT_PYARROW, "gensim": TEXT_GENSIM}, "narrow": {"torch": NARROW_TORCH},
    "token": {"json": TOKEN_JSON}, "start": {"python": "", "numpy": "import numpy", "torch": "import torch"},
}
# What a peer imports, where that is not its name; several, where it needs more.
MODULES = {"numpy, norms too": "numpy", "json": "numpy", "python": "sys", "torch": "torch, numpy, safetensors", "gguf": "gguf, numpy",
           "gensim": "gensim, numpy", "pyarrow": "pyarrow, numpy"}


def serve(run):
    run()
    print("ready", flush=True)
    for _ in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        answer = run()
        print(json.dumps({"ms": (time.perf_counter() - wall) * 1e3, "cpu_ms": (time.process_time() - cpu) * 1e3,
                          "answer": answer}), flush=True)


if __name__ == "__main__":
    serve(IN_PROCESS[sys.argv[1]][sys.argv[2]](sys.argv[3:]))
