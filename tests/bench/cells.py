"""The cells: what is timed, what bounds it, and what is aimed at. All are of docs/performance.md's table.

A cell in process asks inproc.c and peers.py for one run after another; a whole one times programs from start to exit.
In arguments, {FILE} is a file of tables.py, {out} the output. A limit is a function of what limits.c measured and of
the share of the rows that the scale leaves; it is in ms, or None where nothing simple bounds the job.
"""
from dataclasses import dataclass, field

from tables import G, L, QUANTS

L_BYTES, G_BYTES = L[0] * L[1] * 4, G[0] * G[1] * 4


@dataclass
class Cell:
    number: str                 # of the cell in docs/performance.md
    name: str
    about: str
    embtool: list               # arguments of the program, or of inproc
    peers: str = ""             # the job in peers.py
    files: list = field(default_factory=list)   # what its peers are given
    inproc: bool = False
    out: str = ""               # name of the output
    answer: str = ""            # how answers are compared: "ids", "tail" of the output, or not at all
    limit: object = None
    share: float = 0            # aimed at: of the limit
    at_most: float = 0          # aimed at: ms
    ratios: dict = field(default_factory=dict)  # aimed at: times as fast as that peer


def read(bytes_):
    return lambda m, scale: bytes_ * scale / m["read_gbs"] / 1e6


def mapped(bytes_):
    """The first scan of a file by a process of its own."""
    return lambda m, scale: bytes_ * scale / m["mapped_gbs"] / 1e6 + m["start_ms"]


def products(n, bytes_):
    """n multiplications and additions, or the time that reading takes if that is more."""
    return lambda m, scale: max(2 * n * scale / m["fma_gflops"] / 1e6, bytes_ * scale / m["read_gbs"] / 1e6)


def written(bytes_):
    return lambda m, scale: bytes_ * scale / m["pwrite_gbs"] / 1e6 + m["start_ms"]


def few_written(bytes_):
    """Of a number of rows that does not go by the scale."""
    return lambda m, scale: written(bytes_)(m, 1)


def similar(number, table, queries, **aims):
    file = {"L f32": "{L.npy}", "L bf16": "{L_bf16.safetensors}", "G f32": "{G.npy}"}[table]
    shape, size = (L, 4 if "f32" in table else 2) if table[0] == "L" else (G, 4)
    elements = shape[0] * shape[1]
    words = f"{queries} quer{'y' if queries == 1 else 'ies'}"
    return Cell(number, f"sim{queries}_{table.replace(' ', '_')}", f"{words} cosine k 10, {table}", inproc=True, answer="ids",
                embtool=["search", file, "1234", str(queries), "10"], peers="similar", files=[file, "1234", str(queries)],
                limit=products(elements * queries, elements * size), **aims)


def lookup(number, name, about, table, ids, peers, bytes_, limit, **aims):
    out = "out.npy" if peers == "rows" else "out.safetensors"       # .npy has no bf16
    return Cell(number, name, about, ["lookup", "-q", "-t", table, "-i", ids, "-o", "{out}"], peers, [table, ids], out=out,
                answer="tail", limit=limit(bytes_), **aims)


CELLS = [
    similar("1", "L f32", 1, share=0.95, ratios={"numpy, norms too": 4}),
    similar("2", "L bf16", 1, share=0.95),
    Cell("2w", "whole1_L_bf16", "1 query, whole process, L bf16", ["similar", "-q", "-t", "{L_bf16.safetensors}", "#1234",
         "--include-query"], "similar bf16", ["{L_bf16.safetensors}"], answer="ids", limit=mapped(L_BYTES / 2), ratios={"torch": 50}),
    Cell("3", "whole1_G_f32", "1 query, whole process, G f32", ["similar", "-q", "-t", "{G.npy}", "#1234", "--include-query"],
         "similar", ["{G.npy}"], answer="ids", limit=mapped(G_BYTES), share=0.8, ratios={"numpy": 5}),
    Cell("3g", "whole1_G_bin", "1 query, whole process, G as word2vec .bin", ["similar", "-q", "-t", "{G.bin}", "--id", "1234",
         "--include-query"], "similar bin", ["{G.bin}"], limit=mapped(G_BYTES), ratios={"gensim": 100}),
    similar("4", "L f32", 8, share=0.85, ratios={"torch": 2}),
    similar("4b", "L bf16", 8, share=0.85),
    similar("5", "G f32", 100, share=0.85, ratios={"torch": 3}),
    similar("5b", "L f32", 100, share=0.85),
    similar("6", "L bf16", 100, share=0.85),
    lookup("8", "rows_1m_G", "lookup of 1M ids, G f32 -> file", "{G.npy}", "{ids_1m_G.npy}", "rows", 1000000 * 1200, written,
           share=0.7, ratios={"numpy": 2.9}),
    lookup("9", "rows_8k_L_f32", "lookup of 8k ids, L f32 -> file", "{L.npy}", "{ids_8k_L.npy}", "rows", 8192 * 16384, few_written,
           share=0.667, ratios={"numpy": 6}),
    lookup("9b", "rows_8k_L_bf16", "lookup of 8k ids, L bf16 -> file", "{L_bf16.safetensors}", "{ids_8k_L.npy}", "rows bf16",
           8192 * 8192, few_written, share=0.667, ratios={"numpy": 6}),
    *(Cell(number, f"stats_{table.replace(' ', '_')}", f"stats, {table}", ["stats", file], "stats", [file], inproc=True,
           limit=read(bytes_), share=share)
      for number, table, file, bytes_, share in (("11", "L f32", "{L.npy}", L_BYTES, 0.85),
                                                 ("11b", "L bf16", "{L_bf16.safetensors}", L_BYTES / 2, 0.75),
                                                 ("11c", "G f32", "{G.npy}", G_BYTES, 0.65))),
    Cell("11w", "stats_whole_L_f32", "stats, whole process, L f32", ["stats", "-q", "{L.npy}"], "stats", ["{L.npy}"],
         limit=mapped(L_BYTES), ratios={"numpy": 30}),
    Cell("12", "init_L", "init normal, L f32 -> file", ["init", "{L rows}", str(L[1]), "--std", "0.02", "-q", "-o", "{out}"], "init",
         ["{L rows}", str(L[1])], out="out.npy", limit=written(L_BYTES), share=0.85, ratios={"numpy": 15}),
    Cell("13", "text_G", "GloVe text of 1.1 GB -> safetensors", ["convert", "{G.txt}", "{out}", "-q"], "text", ["{G.txt}"],
         out="out.safetensors", answer="tail", limit=lambda m, scale: 1.1e9 * scale / 1.2e6, share=1,
         ratios={"pyarrow": 10, "gensim": 10}),
    Cell("14", "tokens", "tokenizer.json of 16 MB indexed, a token found", ["token", "{model}", "a"], "token",
         ["{model}", "a"], inproc=True, answer="ids", at_most=12),
    Cell("14b", "token_row", "token -> row, whole process", ["lookup", "-q", "-t", "{model}", "a"], "token", ["{model}", "a"],
         at_most=15),
    Cell("15", "pairs_10k_G", "all pairs, top 10, 10000 rows of G", ["search", "{G10k.npy}", "0", "{pairs}", "10"], "pairs",
         ["{G10k.npy}", "0", "{pairs}"], inproc=True, answer="ids", limit=products(10000 * 10000 * G[1], 0), share=0.8,
         ratios={"torch": 1.5}),
    Cell("16", "narrow_L", "f32 -> bf16, L -> file", ["convert", "{L.npy}", "{out}", "--dtype", "bf16", "-q"], "narrow", ["{L.npy}"],
         out="out.safetensors", answer="tail",
         limit=lambda m, scale: read(L_BYTES)(m, scale) + written(L_BYTES / 2)(m, scale), share=0.85),
    *(Cell(f"17{letter}", f"rows_8k_{kind}", f"8k rows of a {kind.upper()} table", ["rows", f"{{L_{kind}.gguf}}", "{ids_8k_L.npy}"],
           "rows", [f"{{L_{kind}.gguf}}", "{ids_8k_L.npy}"], inproc=True, ratios={"gguf": 10})
      for letter, kind in zip(("", "b", "c"), QUANTS)),
    Cell("18", "start", "embtool --version", ["--version"], "start", limit=lambda m, scale: m["start_ms"] + 1, share=1),
    Cell("18b", "cat", "similar cat, built-in table", ["similar", "-q", "cat"], at_most=8),
]
