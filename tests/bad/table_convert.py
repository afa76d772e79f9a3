"""What convert refuses: what the target cannot hold, and what makes no sense. Nothing is written then."""
from case import Case

WORDS = {"t.txt": b"3 2\ncat 1 2\nNew York 3 4\n\xff\r 5 6\n"}
NPY = {"t.npy": b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }".ljust(117) +
       b"\n" + bytes(16) + b"\x00\x00\x00\x00\x00\x00\x00\x7f" + bytes(8)}
ODD = {"t.npy": NPY["t.npy"], "v.json": b'{"a\\nb": 0, "\\u0000": 1}', "twice.txt": b"a\na\n"}

WIDE = {"t.txt": b"cat" + b" 1" * 32 + b"\ndog 1 2 inf" + b" 2" * 29 + b"\n"}


def bad(name, args, err, code=3, files=WORDS, **more):
    return Case(f"convert: {name}", f"convert {args}", code, err, files, **more)


CASES = [
    *[bad(f"tokens to {f}", f"t.txt o.{f}", f"o.{f}: {f} holds no tokens; with --lossy they are left out")
      for f in ("npy", "raw")],
    bad("a token that is not UTF-8, to npz", "t.txt o.npz",
        "o.npz: row 2: npz cannot hold '\\xff\\r': it is not UTF-8 (1 in all); with --lossy bytes that it cannot hold "
        "become _"),
    bad("a NUL that numpy would drop", "t.npy o.npz --vocab v.json",
        "o.npz: row 1: npz cannot hold '\\x00': a NUL at its end is padding (1 in all); with --lossy bytes that it "
        "cannot hold become _", files=ODD),
    bad("a table of the tokens' name, in npz", "t.txt o.npz --name tokens", "o.npz: two arrays are named 'tokens'",
        2, files={"t.txt": b"a 1\nb 2\n"}),
    bad("a row without a token, to npz", "t.npy o.npz --vocab v.txt",
        "o.npz: npz needs a token for every row, and 1 have none or an empty one; with --lossy they are named by their "
        "numbers, as #0", files={**NPY, "v.txt": b"cat\n"}),
    bad("rows that are no whole blocks", "t.txt o.gguf --dtype q8_0 --lossy",
        "o.gguf: q8_0 needs rows of a multiple of 32 numbers, these have 2"),
    bad("a type that is only read", "t.txt o.gguf --dtype q4_k",
        "--dtype q4_k: expected f64 f32 f16 bf16 f8_e4m3 f8_e5m2 f8_e4m3fnuz f8_e5m2fnuz f8_e8m0 i8 u8 i16 u16 i32 u32 "
        "i64 u64 bool q4_0 q8_0", 2),
    bad("an infinity into blocks", "t.txt o.gguf --dtype q4_0",
        "t.txt: row 1: element 2 is NaN or infinite: q4_0 holds neither", files=WIDE),
    *[bad(f"blocks to {f}", f"t.txt o.{f} --dtype q8_0 --lossy", f"o.{f}: {f} cannot hold q8_0; use --dtype f32",
          files={"t.txt": b"cat" + b" 1" * 32 + b"\ndog" + b" 2" * 32 + b"\n"})
      for f in ("safetensors", "npy", "npz", "csv", "tsv")],
    bad("tokens of safetensors to a pipe", "t.txt - --to safetensors",
        "-: safetensors holds no tokens; with --lossy they are left out"),
    bad("a space in a word", "t.txt o.bin",
        "o.bin: row 1: word2vec cannot hold 'New York': a space ends a word (1 in all); with --lossy bytes that it "
        "cannot hold become _"),
    bad("no tokens", "t.npy o.vec --vocab v.txt",
        "o.vec: word2vec-text needs a token for every row, and 1 have none or an empty one; with --lossy they are named "
        "by their numbers, as #0", files={**NPY, "v.txt": b"cat\n"}),
    bad("no tokens at all", "t.npy o.txt",
        "o.txt: text needs a token for every row, and 2 have none or an empty one; with --lossy they are named by their "
        "numbers, as #0", files=NPY),
    bad("f64 to word2vec", "t.npy o.bin --vocab v.txt",
        "o.bin: word2vec cannot hold f64; with --lossy numbers are rounded to f32", files={**NPY, "v.txt": b"a\nb\n"}),
    bad("a type that npy has not", "t.npy o.npy --dtype bf16", "o.npy: npy cannot hold bf16; use --dtype f32", files=NPY),
    bad("a type that word2vec has not", "t.txt o.bin --dtype f16 --lossy", "o.bin: word2vec holds f32 only, not f16"),
    bad("newlines in labels", "t.npy o.tsv --vocab v.json",
        "o.tsv: row 0: metadata.tsv cannot hold 'a\\nb': tabs and ends of lines part the labels (1 in all); with "
        "--lossy bytes that it cannot hold become _", files=ODD),
    bad("a newline in text", "t.npy o.txt --vocab v.json --dtype f32",
        "o.txt: row 0: text cannot hold 'a\\nb': a newline ends a row (2 in all); with --lossy bytes that it cannot "
        "hold become _", files=ODD),
    bad("numbers that overflow, strictly", "t.npy o.npy --dtype f16 --strict",
        "t.npy: numbers outside the range of f16: 1", files=NPY),
    bad("a number that is not whole", "t.txt o.safetensors --dtype i8", "t.txt: row 0: element 1 is not a whole number "
        "that i8 holds", files={"t.txt": b"cat 1 2.5\ndog 3 4\n"}),
    bad("the input itself", "t.txt t.txt --force", "t.txt: is the file that is read: name another one", 2),
    bad("the input by another name", "t.txt ./t.txt --force", "./t.txt: is the file that is read: name another one", 2),
    bad("the tokens' file is the input", "o.vocab.txt o.safetensors --force --format text",
        "o.safetensors: o.vocab.txt: is the file that is read: name another one", 2,
        files={"o.vocab.txt": b"cat 1 2\n"}),
    bad("an output that is there", "t.txt o.csv", "o.csv exists; --force overwrites it", 4, files={**WORDS, "o.csv": b""}),
    bad("tokens that are there", "t.txt o.safetensors", "o.vocab.txt exists; --force overwrites it", 4,
        files={"t.txt": b"a 1\nb 2\n", "o.vocab.txt": b""}),
    bad("no extension", "t.txt o", "o: no format for that extension: name the format of the "
        "output (npy, npz, safetensors, gguf, word2vec, text, word2vec-text, raw, csv, tsv)", 2),
    bad("an extension that is only read", "t.txt o.pt", "o.pt: no format for that extension: name the format of the "
        "output (npy, npz, safetensors, gguf, word2vec, text, word2vec-text, raw, csv, tsv)", 2),
    bad("no output", "t.txt", "no output: say embtool convert t.txt OUT", 2),
    bad("no input", "-o x.npy", "no table: say embtool convert IN OUT", 2),
    bad("an argument too many", "t.txt o.csv p.csv", "unexpected argument 'p.csv'", 2),
    bad("a separator of two characters", "t.txt o.csv --separator ab", "--separator ab: expected one character that is no "
        "part of a number, or tab", 2),
    bad("a separator that numbers hold", "t.txt o.csv --separator e", "--separator e: expected one character that is no "
        "part of a number, or tab", 2),
    bad("a separator for npy", "t.npy o.npy --separator ,", "o.npy: npy has no separator to choose", 2, files=NPY),
    bad("a header for npy", "t.npy o.npy --header yes", "o.npy: npy has no header line to choose", 2, files=NPY),
    bad("an unknown token", "t.txt o.txt --select s", "cta: not in the vocabulary; close: cat", 1,
        files={**WORDS, "s": b"cat\ncta\n"}),
    bad("an id outside", "t.txt o.txt --select s", "s: line 2: id 3 is outside 0..2", 3, files={**WORDS, "s": b"2\n3\n"}),
    bad("an empty line", "t.txt o.txt --select s", "s: line 2: expected a token or an id, found nothing", 3,
        files={**WORDS, "s": b"2\n\n1\n"}),
    bad("an empty list", "t.txt o.txt --select s", "s: expected a token or an id a line, found none", 3,
        files={**WORDS, "s": b""}),
    bad("two lists", "t.txt o.txt --select s --select-tokens s", "--select and --select-tokens: which one?", 2,
        files={**WORDS, "s": b"cat\n"}),
    bad("a table that is cut", "t.bin o.safetensors", "t.bin: row 1: expected 2 values, found 0 (the header says 2 rows, the file has 1)", 3,
        files={"t.bin": b"2 2\na " + bytes(8) + b"b " + bytes(3)}),
    bad("a full device", "t.npy /dev/full --to raw", "/dev/full: No space left on device", 4, files=NPY),
]
