"""Lists of ids, tokens and options that make no sense."""
import struct

from case import Case
from craft import npy, words_bin

TABLE = npy([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
WORDS = words_bin([("the", [1.0, 2.0]), ("cat", [3.0, 4.0]), ("zero", [0.0, 0.0]), ("nan", [float("nan"), 1.0])])


def ids(name, stdin, err, more="", code=3, out=b""):
    """A list of ids that is to become an array, so that nothing is printed before the error."""
    err = "ids: " + err if code == 3 and not err.startswith("--") else err
    return Case("ids: " + name, "lookup -t t.npy -O raw " + more, code, err, {"t.npy": TABLE}, stdin, out)


MISSING = "embtool: lookup: not written, since rows are missing\n"


def missing(name, words, err, stdin=b""):
    """A word that is not there: two lines, as nothing in an array would tell which row is missing."""
    return word(name, f"lookup {words} -t w.bin -O raw", f"embtool: lookup: {err}\n{MISSING}", 1, stdin)


def word(name, args, err, code=1, stdin=b"", out=b""):
    return Case("token: " + name, args, code, err, {"w.bin": WORDS}, stdin, out)


def option(name, args, err, code=2):
    return Case("option: " + name, args, code, err, {"t.npy": TABLE, "w.bin": WORDS})


CASES = [
    ids("outside", b"0 1 3\n", "item 3: 3 is outside 0..2"),
    ids("-1", b"0 -1\n", "item 2: -1 is outside 0..2"),
    ids("-0", b"-0\n", "item 1: -0 is outside 0..2"),
    ids("+1", b"+1\n", "item 1: '+1' is not an id"),
    ids("2^32", b"4294967296\n", "item 1: 4294967296 is outside 0..2"),
    ids("2^64", b"18446744073709551616\n", "item 1: 18446744073709551616 is outside 0..2"),
    ids("2^64+1", b"0 18446744073709551617\n", "item 2: 18446744073709551617 is outside 0..2"),
    ids("a thousand digits", b"1" * 1000,
        "item 1: 111111111111111111111111111111111111111111111111111111111111 is outside 0..2"),
    ids("65,536 zeros are 0", b"0" * 65_536 + b" 3", "item 2: 3 is outside 0..2"),
    ids("200,000 zeros", b"0" * 200_000 + b"1", "item 1: a word of more than 65536 bytes is not an id"),
    ids("200,000 digits", b"1" * 200_000, "item 1: a word of more than 65536 bytes is not an id"),
    ids("1.0", b"1.0\n", "item 1: '1.0' is not an id"),
    ids("1e0", b"1e0\n", "item 1: '1e0' is not an id"),
    ids("0x1", b"0 0x1\n", "item 2: '0x1' is not an id"),
    ids("1x", b"1x\n", "item 1: '1x' is not an id"),
    ids("quotes", b'["1"]\n', "item 1: '\"1\"' is not an id"),
    ids("null", b"[null]\n", "item 1: 'null' is not an id"),
    ids("true", b"[true]\n", "item 1: 'true' is not an id"),
    ids("an object", b'{"ids":[1]}\n', "item 1: '{\"ids\":' is not an id"),
    ids("a word", b"0 cat\n", "item 2: 'cat' is not an id; --tokens reads tokens"),
    ids("a semicolon", b"1;2\n", "item 1: '1;2' is not an id"),
    ids("a no-break space", b"1\xc2\xa02\n", "item 1: '1 2' is not an id"),
    ids("a digit of another script", "\u0661\n".encode(), "item 1: '١' is not an id"),
    ids("not UTF-8", b"1 \xff\n", "item 2: '\\xff' is not an id"),
    ids("NUL", b"1 \x00 2\n", "item 2: '\\x00' is not an id"),
    ids("NUL within", b"1 2\x001\n", "item 2: '2\\x001' is not an id"),
    ids("an escape sequence", b"\x1b[31m\n", "item 1: '\\x1b' is not an id"),
    ids("two commas", b"1,,2\n", "item 2: nothing stands before ','"),
    ids("a comma first", b",1\n", "item 1: nothing stands before ','"),
    ids("a comma last in an array", b"[1,]\n", "item 2: nothing stands between ',' and ']'"),
    ids("a comma first in an array", b"[,1]\n", "item 1: nothing stands before ','"),
    ids("an array not closed", b"[1, 2\n", "'[' is not closed at the end"),
    ids("inner array not closed", b"[[1, 2], [1\n", "'[' is not closed at the end"),
    ids("closed twice", b"[1]]\n", "item 2: ']' without '['"),
    ids("closed without opening", b"1]\n", "item 2: ']' without '['"),
    ids("nested twice", b"[[[1]]]\n", "item 1: arrays may be nested once, not deeper"),
    ids("nested 100,000 times", b"[" * 100_000, "item 1: arrays may be nested once, not deeper"),
    ids("an id beside arrays", b"[[1], 2]\n", "item 2: 2 stands beside arrays"),
    ids("arrays beside an id", b"[1, [2]]\n", "item 2: '[' among ids"),
    ids("an array in a line of ids", b"1 [2]\n", "item 2: '[' among ids"),
    ids("lines of two lengths", b"0 1\n2\n",
        "sequence 2 has 1 ids, the first one 2: say --pad-id N or --ragged", "-o o.npy -O npy"),
    ids("bare: half an id", b"\1\0\0\0\2\0", "2 bytes are left after item 1: not a whole i32",
        "--ids-format i32 -o o.npy -O npy"),  # a pause before the end would let row 1 out
    ids("bare: negative", struct.pack("<2i", 1, -1), "item 2: -1 is outside 0..2", "--ids-format i32"),
    ids("bare: outside", struct.pack("<2H", 1, 65535), "item 2: 65535 is outside 0..2", "--ids-format u16"),
    ids("bare: -2^63", struct.pack("<q", -2 ** 63),
        "item 1: -9223372036854775808 is outside 0..2", "--ids-format i64"),
    ids("bare: unknown format", b"", "--ids-format f32: expected i32, i64, u16 or u32", "--ids-format f32", 2),
    ids("pad id outside", b"0\n1 2\n", "--pad-id 3: outside a table of 3 rows", "--pad-id 3"),
    ids("a file that is not there", b"", "no.txt: No such file or directory", "-i no.txt", 4),
    ids("a directory", b"", ".: Is a directory", "-i .", 4),
    ids("floats in .npy by pipe", npy([1.0]), "numbers of type <f4 are not ids: expected integers"),
    ids("magic of .npy alone", b"\x93NUMPY", "header: expected 12 bytes before it, the file ends at 6"),
    ids("0x93 alone", b"\x93", "not an .npy file: it does not begin with \\x93NUMPY"),

    missing("not there", "zz", "zz: not in the vocabulary"),
    missing("close ones are named", "teh", "teh: not in the vocabulary; close: the"),
    missing("an empty argument", "''", "'': not in the vocabulary"),
    missing("NUL in a line", "--tokens", "zz\\x00q: not in the vocabulary", b"zz\0q\n"),
    missing("an empty line", "--tokens", "'': not in the vocabulary", b"\n"),
    missing("an escape sequence", "--tokens", "\\x1b]0;x\\x07: not in the vocabulary", b"\x1b]0;x\7\n"),
    missing("70,000 bytes", "--tokens",
            "" "y" * 115 + ": not in the vocabulary", b"y" * 70_000),
    missing("not UTF-8", "--tokens", "\\xff\\xfe: not in the vocabulary", b"\xff\xfe\n"),
    missing("1x is no id", "1x", "1x: not in the vocabulary"),
    word("tokens file that is not there", "lookup --tokens-file no.txt -t w.bin",
         "no.txt: No such file or directory", 4),
    word("similar: not there", "similar zz -t w.bin", "zz: not in the vocabulary"),
    word("similar: the zero row", "similar zero -t w.bin", "the query vector of 'zero' is zero", 3),
    word("similar: a NaN row", "similar nan -t w.bin", "the query vector of 'nan' is not finite", 3),
    word("similar: #4", "similar '#4' -t w.bin", "argument 1: id 4 is outside 0..3", 3),
    word("similar: #18446744073709551616", "similar '#18446744073709551616' -t w.bin",
         "argument 1: id 18446744073709551616 is outside 0..3", 3),
    word("similar: --expr of nothing", "similar --expr '' -t w.bin", "--expr '': expected a term, found ''", 2),
    word("similar: --expr ends with a sign", "similar --expr 'cat -' -t w.bin",
         "--expr 'cat -': a term is missing after '-'", 2),
    word("similar: --exclude what is not there", "similar cat --exclude zz -t w.bin",
         "embtool: similar: zz: not in the vocabulary\n"
         "embtool: warning: w.bin: rows left out as non-finite (NaN or infinite): 1\n", 1, b"",
         b"cat\tthe\t0\t0.98387\ncat\tzero\t2\t0\n"),

    option("--topn", "similar cat -t w.bin --topn 5", "unknown option --topn; did you mean --top-k?"),
    option("unknown", "lookup 0 -t t.npy --topn 3", "unknown option --topn; did you mean --token?"),
    option("close to one", "similar cat -t w.bin --topk 3", "unknown option --topk; did you mean --top-k?"),
    option("unknown letter", "lookup 0 -t t.npy -Z", "unknown option -Z"),
    option("no value", "lookup 0 -t", "-t: a value is missing (-t TABLE)"),
    option("a value where none goes", "lookup 0 -t t.npy --force=yes", "--force takes no value"),
    option("-k x", "similar cat -t w.bin -k x", "-k x: expected a whole number, 0 or more"),
    option("-k -1", "similar cat -t w.bin -k -1", "-k -1: expected a whole number, 0 or more"),
    option("-k 2^64", "similar cat -t w.bin -k 18446744073709551616",
           "-k 18446744073709551616: expected at most 18446744073709551615"),
    option("-k 1e3", "similar cat -t w.bin -k 1e3", "-k 1e3: expected a whole number, 0 or more"),
    option("--limit 0", "stats t.npy --limit 0", "--limit 0: expected 1 or more"),
    option("--limit 2^64", "stats t.npy --limit 18446744073709551616",
           "--limit 18446744073709551616: expected at most 18446744073709551615"),
    option("--id 3", "lookup --id 3 -t t.npy", "--id 3: outside 0..2", 3),
    option("--id -1", "lookup --id -1 -t t.npy", "--id -1: outside 0..2", 3),
    option("--id 0..2^64-1", "lookup --id 0..18446744073709551615 -t t.npy",
           "--id 0..18446744073709551615: outside 0..2", 3),
    option("--id 2..1", "lookup --id 2..1 -t t.npy", "--id 2..1: the range is empty"),
    option("--id 1..", "lookup --id 1.. -t t.npy", "--id 1..: expected an id or a range such as 0..99"),
    option("--id a", "lookup --id a -t t.npy", "--id a: expected an id or a range such as 0..99"),
    option("an id as argument", "lookup 3 -t t.npy", "argument 1: id 3 is outside 0..2", 3),
    option("-1 as argument", "lookup -t t.npy -- -1", "argument 1: id -1 is outside 0..2", 3),
    option("2^64 as argument", "lookup 18446744073709551616 -t t.npy",
           "argument 1: id 18446744073709551616 is outside 0..2", 3),
    option("a token, table without any", "lookup cat -t t.npy",
           "t.npy: the table has no tokens: name rows by id (0, 1, 2 ...), or say --vocab FILE", 3),
    option("-j 1025", "stats t.npy -j 1025", "1025 threads: expected at most 1024"),
    option("-j -1", "stats t.npy -j -1", "-j -1: expected a whole number, 0 or more"),
    option("--metric none", "similar cat -t w.bin --metric none", "--metric none: expected cosine, dot or euclidean"),
    option("--digits 18", "similar cat -t w.bin --digits 18", "--digits: expected 0 to 17"),
    option("--min-score x", "similar cat -t w.bin --min-score x", "--min-score x: expected a number"),
    option("--dtype f31", "lookup 0 -t t.npy --dtype f31",
           "--dtype f31: expected f64 f32 f16 bf16 f8_e4m3 f8_e5m2 f8_e4m3fnuz f8_e5m2fnuz f8_e8m0 i8 u8 i16 "
           "u16 i32 u32 i64 u64 bool"),
    option("--format gzip", "stats t.npy --format gzip",
           "--format gzip: expected safetensors, npy, npz, torch, gguf, word2vec, text or raw"),
    option("the wrong format", "stats t.npy --format safetensors",
           "t.npy: header length: 379676406402707 bytes, at most 100000000 are allowed: not a safetensors "
           "file, or damaged", 3),
    option("--fail-on none", "stats t.npy --fail-on none",
           "--fail-on none: expected zero, nonfinite, duplicate or unowned"),
    option("init without D", "init 4 -o o.npy", "expected V and D, found 1"),
    option("init 0 rows", "init 0 4 -o o.npy", "V 0: expected a whole number, 1 or more"),
    option("init of 2^64-1 rows of 2^32-1", "init 18446744073709551615 4294967295 -o o.npy",
           "a table of 18446744073709551615 x 4294967295 has no size"),
    option("init D above 2^32-1", "init 4 4294967296 -o o.npy", "D 4294967296: too large"),
    option("init --std nan", "init 4 4 -o o.npy --std nan", "--std nan: expected a number"),
    option("init --dist", "init 4 4 -o o.npy --dist bogus",
           "--dist bogus: expected normal, uniform, truncated, zeros, constant:X or identity"),
    option("init --padding-idx V", "init 4 4 -o o.npy --padding-idx 4", "--padding-idx 4 is outside 0..3"),
    option("init --pad-to-multiple-of 0", "init 4 4 -o o.npy --pad-to-multiple-of 0",
           "--pad-to-multiple-of 0: expected 1 or more"),
    option("init --pad-to-multiple-of 2^64-1", "init 4 4 -o o.npy --pad-to-multiple-of 18446744073709551615",
           "--pad-to-multiple-of 18446744073709551615: too large"),
    option("init --tokens of an empty file", "init 4 --tokens /dev/null -o o.npy",
           "/dev/null: expected tokens, one a line, found an empty file", 3),
    option("init bf16 as npy", "init 4 4 -o o.npy --dtype bf16", "o.npy: npy cannot hold bf16; use --dtype f32", 3),
    option("init --tokens not there", "init 4 --tokens no.txt -o o.npy", "no.txt: No such file or directory", 4),
    Case("option: EMBTOOL_THREADS=abc", "EMBTOOL_THREADS=abc embtool stats", 2,
         "embtool: stats: EMBTOOL_THREADS=abc: expected a whole number\n", shell=True),
    Case("option: unknown command", "embtool lokup", 2,
         "embtool: unknown command lokup; did you mean lookup?\n", shell=True),
    Case("option: table and vocab both -", "embtool stats - --vocab -", 2,
         "embtool: stats: the table and its tokens cannot both come from standard input\n", shell=True),
    option("ids and vocab both -", "lookup -t t.npy --vocab -",
           "--vocab - takes all of standard input: nothing is left to read"),
    Case("option: table and ids both -", "embtool lookup -t - -i -", 2,
         "embtool: lookup: the table and the rows cannot both come from standard input\n", shell=True),
]
