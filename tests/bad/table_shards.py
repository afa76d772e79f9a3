"""Directories of shards that are not those of one table: each is refused, by the name of the file that is wrong."""
from case import Case
from craft import safetensors, tensor

META = {"emb_axis": "vocab", "emb_size": "2", "emb_total_rows": "5"}
PARTS = [{"emb_rank": "0", "emb_first_row": "0", "emb_rows": "3"}, {"emb_rank": "1", "emb_first_row": "3", "emb_rows": "2"}]
ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
NAMES = ["table-00001-of-00002.safetensors", "table-00002-of-00002.safetensors"]


def part(k, tensors=None, **change):
    meta = {key: v for key, v in {"format": "pt", **META, **PARTS[k], **change}.items() if v is not None}
    return safetensors({"e": tensor(ROWS)} if tensors is None else tensors, meta)


def shards(name, files, err, code=3, args="lookup -t . --id 0"):
    return Case(f"shards: {name}", args, code, err if err.startswith(".:") else f".: {err}", files)


def second(name, err, tensors=None, **change):
    return shards(name, {NAMES[0]: part(0), NAMES[1]: part(1, tensors, **change)}, f"{NAMES[1]}: {err}")


def first(name, err, tensors=None, **change):
    return shards(name, {NAMES[0]: part(0, tensors, **change), NAMES[1]: part(1)}, f"{NAMES[0]}: {err}")


TWO = {NAMES[0]: part(0), NAMES[1]: part(1)}
KIND = f"tensor 'e' is not what it is in {NAMES[0]}: another name, type or shape"
CASES = [
    shards("the last is missing", {NAMES[0]: part(0)}, f"{NAMES[1]} is missing"),
    shards("the first is missing", {NAMES[1]: part(1)}, f"{NAMES[0]} is missing"),
    shards("one too many", {**TWO, "table-00003-of-00002.safetensors": part(1)},
           "table-00003-of-00002.safetensors is none of 2 shards"),
    shards("a number 0", {**TWO, "table-00000-of-00002.safetensors": part(0)},
           "table-00000-of-00002.safetensors is none of 2 shards"),
    shards("two sizes", {**TWO, "table-00001-of-00004.safetensors": part(0)},
           f"{NAMES[0]} and table-00001-of-00004.safetensors are shards of two tables"),
    shards("none of none", {"table-00001-of-00000.safetensors": part(0)},
           "table-00001-of-00000.safetensors: expected 1 to 512 shards"),
    shards("too many to open", {"table-00001-of-00513.safetensors": part(0)},
           "table-00001-of-00513.safetensors: expected 1 to 512 shards"),
    shards("cut", {NAMES[0]: part(0), NAMES[1]: part(1)[:-1]},
           f"{NAMES[1]}: tensor 'e': data_offsets end at byte 24, the file has 23 bytes of data"),
    shards("empty", {NAMES[0]: part(0), NAMES[1]: b""},
           f"{NAMES[1]}: header length: expected 8 bytes, found 0"),
    shards("no shard", {NAMES[0]: safetensors({"e": tensor(ROWS)}), NAMES[1]: part(1)},
           f"{NAMES[0]}: its metadata have no emb_axis: it is no shard"),
    second("a wrong rank", "emb_rank: expected 1, found 0", emb_rank="0"),
    second("a wrong size", "emb_size: expected 2, found 3", emb_size="3"),
    second("another table", "emb_total_rows: expected 5, found 6", emb_total_rows="6"),
    second("other rows", "emb_first_row: expected 3, found 2", emb_first_row="2"),
    second("other padding", "emb_rows: expected 2, found 3", emb_rows="3"),
    second("another axis", "emb_axis: expected vocab, found dims", emb_axis="dims", emb_first_dim="3", emb_dims="2",
           emb_total_dims="5"),
    second("no rank", "its metadata have no emb_rank: it is no shard", emb_rank=None),
    second("another shape", KIND, {"e": tensor(ROWS[:2])}),
    second("another type", KIND, {"e": tensor(ROWS, "f16")}),
    second("another name", f"tensor 'f' is not what it is in {NAMES[0]}: another name, type or shape", {"f": tensor(ROWS)}),
    second("another tensor", f"expected 1 tensors, as {NAMES[0]} has, found 2", {"e": tensor(ROWS), "f": tensor(ROWS)}),
    first("a number of letters", "emb_total_rows: expected a whole number, found 'x'", emb_total_rows="x"),
    first("an empty number", "emb_rank: expected a whole number, found ''", emb_rank=""),
    first("a number beyond 64 bits", "emb_total_rows: expected a whole number, found '18446744073709551616'",
          emb_total_rows="18446744073709551616"),
    first("an axis of its own", "emb_axis: expected vocab or dims", emb_axis="depth"),
    shards("rows that are not there", {n: part(k, emb_total_rows="9", emb_first_row=str(5 * k), emb_rows=str(5 - k))
                                       for k, n in enumerate(NAMES)},
           "tensor 'e': expected a part of 5 rows of a table or a bias"),
    shards("no tensors", {n: part(k, {}) for k, n in enumerate(NAMES)}, f"{NAMES[0]}: no tensors"),
]
