"""Malformed word2vec and GloVe files, raw rows and vocabulary files.

Rows are counted from 0, lines from 1; items of a header are the first line.
"""
import struct

from case import Case
from craft import npy, words_bin, words_text

WORDS = [("the", [1.0, 2.0]), ("cat", [3.0, 4.0]), ("dog", [5.0, 6.0])]
BIN, TEXT = words_bin(WORDS), words_text(WORDS, True)


def w2v(name, data, err, code=3, args="stats t.bin"):
    return Case("word2vec: " + name, args, code, err if "#" in args else "t.bin: " + err, {"t.bin": data})


def text(name, data, err, code=3, args="stats t.txt"):
    return Case("text: " + name, args, code, err if "#" in args else "t.txt: " + err, {"t.txt": data})


def raw(name, args, err, data=bytes(20), code=3):
    err = err if err.startswith("--") else "t.raw: raw: " + err
    return Case("raw: " + name, "stats t.raw --format raw " + args, code, err, {"t.raw": data})


def vocab(name, data, err, code=3, args="stats t.npy --vocab v.txt"):
    return Case("vocab: " + name, args, code, err, {"t.npy": npy([[1.0, 2.0], [3.0, 4.0]]), "v.txt": data})


def rows(n):
    return struct.pack(f"<{n}f", *range(1, n + 1))


NUMBERS, HEADER = "most of the first tokens end with a number", "the first reads as a header"


def bare(name, args, path, why, files, **more):
    """Rows that the form without a header would change."""
    return Case("text: " + name, args, 3,
                f"{path}: text without a header cannot hold these rows: {why} (word2vec-text has one)", files, **more)


CASES = [
    w2v("a row more in the header", words_bin(WORDS, rows=4), "the header says 4 rows, the file has 3"),
    w2v("a row less in the header", words_bin(WORDS, rows=2),
        "the header says 2 rows, which end at byte 29; the file has 43 bytes"),
    w2v("0 rows", b"0 2\n", "line 1: the header says 0 rows"),
    w2v("d is 0", b"2 0\na \nb \n", "line 1: d is 0"),
    w2v("d above 2^32-1", b"1 4294967296\na " + rows(2), "line 1: d is 4294967296, the most is 4294967295"),
    w2v("d of 2^32-1", b"1 4294967295\na " + rows(2),
        "row 0: expected 4294967295 values, found 2 (the header says 1 rows, the file has 0)"),
    w2v("V of 2^64-1", b"18446744073709551615 2\na " + rows(2), "line 1: the header says 2^64-1 rows, or more"),
    w2v("V of 10^30", b"1" + b"0" * 30 + b" 2\na " + rows(2), "line 1: the header says 2^64-1 rows, or more"),
    w2v("V times d of 2^64", b"4294967296 1073741824\na " + rows(2),
        "row 0: expected 1073741824 values, found 2 (the header says 4294967296 rows, the file has 0)"),
    w2v("a word of 4096 bytes", b"1 2\n" + b"x" * 4096 + b" " + rows(2),
        "row 0: no space within 4096 bytes ends its word"),
    w2v("a word without its end", b"1 2\nword",
        "row 0: the file ends inside its word (the header says 1 rows)", args="stats t.bin --format word2vec"),
    w2v("header alone", b"3 2\n", "the header says 3 rows, the file has 0"),
    w2v("header without a line end", b"3 2", "the header says 3 rows, the file has 0"),
    w2v("no header", b"word " + rows(2),
        "line 1: expected two numbers, rows and dims", args="stats t.bin --format word2vec"),
    w2v("three numbers in the header", b"3 2 1\na " + rows(2),
        "line 1: expected two numbers, rows and dims", args="stats t.bin --format word2vec"),
    w2v("negative rows", b"-3 2\na " + rows(2),
        "line 1: expected two numbers, rows and dims", args="stats t.bin --format word2vec"),
    w2v("bytes after the last row", BIN + b"more",
        "the header says 3 rows, which end at byte 42; the file has 47 bytes"),
    w2v("an empty file", b"", "line 1: expected two numbers, rows and dims", args="stats t.bin --format word2vec"),
    w2v("a tensor name", BIN, "t.bin#x: word2vec files hold one table without a name: no #x", 2, "stats t.bin#x"),

    text("a value too few", b"3 2\nthe 1 2\ncat 3\ndog 5 6\n", "line 3 (row 1): expected 2 values, found 1"),
    text("a value too few, no header", b"the 1 2\ncat 3 4\ndog 5\n", "line 3 (row 2): expected 2 values, found 1"),
    text("a matrix, strict", b"0.5 1 2\n-1 0 4\n",
         "the first 2 tokens are numbers: a matrix without tokens? its first column was taken for them; "
         "numpy.save makes an .npy file of it", args="stats --strict t.txt"),
    text("a value too many, strict", b"3 2\nthe 1 2\ncat 3 4 5\ndog 5 6\n",
         "line 3 (row 1): the token 'cat 3' ends with a number: more than 2 values?", args="stats --strict t.txt"),
    text("a word for a number", b"3 2\nthe 1 2\ncat 3 x\ndog 5 6\n", "line 3 (row 1): 'x' is not a number"),
    text("hexadecimal", b"3 2\nthe 1 2\ncat 0x3 4\ndog 5 6\n", "line 3 (row 1): '0x3' is not a number"),
    text("decimal comma", b"3 2\nthe 1 2\ncat 3,5 4\ndog 5 6\n", "line 3 (row 1): '3,5' is not a number"),
    text("two points", b"3 2\nthe 1 2\ncat 3.5.1 4\ndog 5 6\n", "line 3 (row 1): '3.5.1' is not a number"),
    text("an exponent without digits", b"3 2\nthe 1 2\ncat 3e 4\ndog 5 6\n", "line 3 (row 1): '3e' is not a number"),
    text("an underscore", b"3 2\nthe 1 2\ncat 1_0 4\ndog 5 6\n", "line 3 (row 1): '1_0' is not a number"),
    text("a NUL in a number", b"3 2\nthe 1 2\ncat 1\x000 4\ndog 5 6\n",
         "line 3 (row 1): '1\\x000' is not a number", args="stats t.txt --format text"),
    text("no-break space for a blank", b"3 2\nthe 1 2\ncat 3\xc2\xa04\ndog 5 6\n",
         "line 3 (row 1): expected 2 values, found 1"),
    bare("tokens that would show another d", "init 3 2 --dist zeros --tokens k.txt -o o.txt", "o.txt", NUMBERS,
         {"k.txt": b"Apollo 11\ncat\nSoyuz 1\n"}),
    bare("a first row that would be a header", "init 2 1 --dist zeros --tokens k.txt -o o.txt", "o.txt", HEADER,
         {"k.txt": b"5\ncat\n"}),
    bare("a kept row that would be a header", "resize t.txt --remove-tokens cat,dog -o o.txt", "t.txt", HEADER,
         {"t.txt": b"cat 1\n5 3\ndog 2\n"},
         out=b"rows\t3\t1\ndims\t1\ndtype\tf32\nformat\ttext\nremoved_rows\t2\n"),
    text("a row less", b"3 2\nthe 1 2\ncat 3 4\n", "the header says 3 rows, the file has 2"),
    text("a row more", b"1 2\nthe 1 2\ncat 3 4\n", "the header says 1 rows, the file has 2"),
    text("a blank line among rows", b"3 2\nthe 1 2\n\ncat 3 4\ndog 5 6\n",
         "line 3 (row 1): blank, and rows follow it"),
    text("header alone", b"3 2\n", "the header says 3 rows, the file has 0"),
    text("0 rows", b"0 2\nthe 1 2\n", "line 1: the header says 0 rows"),
    text("d is 0", b"1 0\nthe\n", "line 1: d is 0", args="stats t.txt --format text"),
    text("d of 2^32-1", b"1 4294967295\nthe 1 2\n", "line 2 (row 0): expected 4294967295 values, found 2"),
    text("d above 2^32-1", b"1 4294967296\nthe 1 2\n", "line 1: d is 4294967296, the most is 4294967295"),
    text("V of 2^64-1", b"18446744073709551615 2\nthe 1 2\n", "line 1: the header says 2^64-1 rows, or more"),
    text("words only", b"one two three\nfour five six\n",
         "line 1: expected a token and numbers, found no number at its end"),
    text("blank lines only", b"\n\n\n", "line 1: expected a token and numbers, found blank lines only"),
    text("an empty file", b"", "the file is empty"),
    text("an empty file, named text", b"",
         "line 1: expected a token and numbers, found an empty file", args="stats t.txt --format text"),
    text("a tensor name", TEXT, "t.txt#x: text files hold one table without a name: no #x", 2, "stats t.txt#x"),
    text("lookup says it as well", b"3 2\nthe 1 2\ncat 3\ndog 5 6\n",
         "line 3 (row 1): expected 2 values, found 1", args="lookup 1 -t t.txt"),
    text("similar says it as well", b"3 2\nthe 1 2\ncat 3 x\ndog 5 6\n",
         "line 3 (row 1): 'x' is not a number", args="similar dog -t t.txt"),

    raw("no shape", "--input-dtype f32", "the shape is needed (--shape V,D)", code=2),
    raw("no type", "--shape ,2", "the element type is needed (--input-dtype)", code=2),
    raw("not whole rows", "--input-dtype f32 --shape ,2", "20 bytes are not a whole number of rows of 8 bytes"),
    raw("rows beyond the end", "--input-dtype f32 --shape 3,2", "3 rows of 8 bytes expected, found 20 bytes"),
    raw("2^64-1 rows", "--input-dtype f32 --shape 18446744073709551615,2",
        "18446744073709551615 rows of 8 bytes expected, found 20 bytes"),
    raw("2^61 rows: 2^64 bytes", "--input-dtype f32 --shape 2305843009213693952,2",
        "2305843009213693952 rows of 8 bytes expected, found 20 bytes"),
    raw("offset beyond the end", "--input-dtype f32 --shape ,1 --offset 21", "rows begin at byte 21, the file has 20"),
    raw("offset 2^64-1", "--input-dtype f32 --shape ,1 --offset 18446744073709551615",
        "rows begin at byte 18446744073709551615, the file has 20"),
    raw("offset and 2^62 rows wrap", "--input-dtype f32 --shape 4611686018427387903,1 --offset 8",
        "4611686018427387903 rows of 4 bytes expected, found 12 bytes"),
    raw("shape 0,2", "--input-dtype f32 --shape 0,2", "--shape 0,2: expected V,D", code=2),
    raw("shape 2,0", "--input-dtype f32 --shape 2,0", "--shape 2,0: expected V,D", code=2),
    raw("shape 2", "--input-dtype f32 --shape 2", "--shape 2: expected V,D", code=2),
    raw("shape 2,2,2", "--input-dtype f32 --shape 2,2,2", "--shape 2,2,2: expected V,D", code=2),
    raw("shape -1,2", "--input-dtype f32 --shape -1,2", "--shape -1,2: expected V,D", code=2),
    raw("shape 2x2", "--input-dtype f32 --shape 2x2", "--shape 2x2: expected V,D", code=2),
    raw("d above 2^32-1", "--input-dtype u8 --shape ,4294967296", "--shape ,4294967296: expected V,D", code=2),
    raw("unknown type", "--input-dtype f33 --shape ,2",
        "--input-dtype f33: expected f64 f32 f16 bf16 f8_e4m3 f8_e5m2 f8_e4m3fnuz f8_e5m2fnuz "
        "f8_e8m0 i8 u8 i16 u16 i32 u32 i64 u64 bool", code=2),
    raw("offset -1", "--input-dtype f32 --shape ,2 --offset -1", "--offset -1: expected a whole number, 0 or more", code=2),

    vocab("no such file", b"", "t.npy: no.txt: No such file or directory", 4, "stats t.npy --vocab no.txt"),
    vocab("a directory", b"", "t.npy: .: is a directory without a tokenizer", 3, "stats t.npy --vocab ."),
    vocab("a word that is not in it", b"a\nb\n", "zz: not in the vocabulary", 1, "lookup zz --vocab v.txt -t t.npy"),
    vocab("a row without a token", b"a\n", "zz: not in the vocabulary", 1, "lookup zz --vocab v.txt -t t.npy"),
    vocab("no tokens at all", b"",
          "t.npy: the table has no tokens: name rows by id (0, 1, 2 ...), or say "
          "--vocab FILE", 3, "lookup zz -t t.npy"),
]


def bin_cut(n):
    """What is said of BIN (header of 4 bytes, rows of 3 + 1 + 8 + 1) cut to n bytes."""
    row, within = divmod(n - 4, 13)
    if row > 2:
        return None
    if within == 0:
        return f"the header says 3 rows, the file has {row}"
    if within < 4:
        return f"row {row}: the file ends inside its word (the header says 3 rows)"
    return (f"row {row}: expected 2 values, found {(within - 4) // 4} "
            f"(the header says 3 rows, the file has {row})")


CASES += [w2v(f"cut to {n} bytes", BIN[:n], bin_cut(n), args="stats t.bin --format word2vec")
          for n in range(4, len(BIN) - 1, 7)]


def text_cut(n):
    """What is said of TEXT cut to n bytes, before its last line. A cut number may still be a number;
    cut inside line 2, "3 2" may be a row of a table with d = 1."""
    lines = TEXT[4:n].split(b"\n")
    lines = lines[:-1] if lines[-1] == b"" else lines
    return f"the header says 3 rows, the file has {len(lines)}"


CASES += [text(f"cut to {n} bytes", TEXT[:n], text_cut(n)) for n in (4, 5, 6, 7, 20, 26)]
