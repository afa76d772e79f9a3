"""Outputs that cannot be written, and inputs that go away while they are read."""
from case import Case
from craft import npy, npy_raw, words_bin

TABLE = npy([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
FILES = {"t.npy": TABLE, "w.bin": words_bin([("the", [1.0, 2.0]), ("cat", [3.0, 4.0])])}
BIG = npy_raw("{'descr': '<f4', 'fortran_order': False, 'shape': (4096, 1024)}", b"")
FULL = "No space left on device"


def output(name, args, err, code=4, **files):
    return Case("output: " + name, args, code, err, {**FILES, **{k.replace("_", "."): v for k, v in files.items()}})


def shell(name, command, code, err, files=FILES):
    return Case("output: " + name, command, code, err, files, shell=True)


CASES = [
    output("exists", "lookup 0 -t t.npy -o o.npy", "o.npy exists; --force overwrites it", o_npy=b"mine"),
    output("is the table", "lookup 0 -t t.npy -o t.npy", "t.npy exists; --force overwrites it"),
    output("exists: init", "init 4 4 -o o.npy", "o.npy exists; --force overwrites it", o_npy=b"mine"),
    output("exists: stats", "stats t.npy -o o.txt", "o.txt exists; --force overwrites it", o_txt=b"mine"),
    output("exists: similar", "similar cat -t w.bin -o o.npz", "o.npz exists; --force overwrites it", o_npz=b"mine"),
    output("is a directory", "lookup 0 -t t.npy -o .", ".: is a directory"),
    output("is a directory, forced", "lookup 0 -t t.npy --force -o /", "/: is a directory"),
    output("in no directory", "lookup 0 -t t.npy -o no/o.npy", "no/o.npy: No such file or directory"),
    output("below a file", "lookup 0 -t t.npy -o w.bin/o.npy", "w.bin/o.npy: Not a directory"),
    output("a bad id, forced over a file", "lookup 0 9 -t t.npy --force -o o.npy",
           "argument 2: id 9 is outside 0..2", 3, o_npy=b"mine"),
    output("a missing word, forced over a file", "lookup zz -t w.bin --force -o o.npy",
           "embtool: lookup: zz: not in the vocabulary\n"
           "embtool: lookup: o.npy: not written, since rows are missing\n", 1, o_npy=b"mine"),
    output("text of a table without tokens", "init 4 4 -o o.vec",
           "word2vec-text needs a token for every row: say --tokens FILE", 2),
    output("ragged text", "lookup -t t.npy --ragged -O text",
           "--ragged makes two arrays: -O safetensors or npz, not text", 2),

    *[Case(f"output: lookup -O {f} into a full device", f"lookup 0 -t t.npy -O {f} -o /dev/full", 4,
           f"/dev/full: {FULL}", dict(FILES)) for f in ("text", "json", "npy", "npz", "safetensors", "raw")],
    *[Case(f"output: similar -O {f} into a full device", f"similar cat -t w.bin -O {f} -o /dev/full", 4,
           f"/dev/full: {FULL}", dict(FILES)) for f in ("text", "json", "npz", "safetensors")],
    *[Case(f"output: init -O {f} into a full device", f"init 4 4 -O {f} -o /dev/full", 4,
           f"/dev/full: {FULL}", dict(FILES)) for f in ("npy", "npz", "safetensors", "raw")],
    *[Case(f"output: init --tokens -O {f} into a full device", f"init 4 --tokens v.txt -O {f} -o /dev/full", 4,
           f"/dev/full: {FULL}", {"v.txt": b"a\nb\n"}) for f in ("text", "word2vec", "word2vec-text")],
    output("stats into a full device", "stats t.npy -o /dev/full", "/dev/full: No space left on device"),
    shell("standard output is full", "embtool lookup 0 -t t.npy > /dev/full", 4,
          "embtool: lookup: standard output: No space left on device\n"),
    shell("standard output is full: help", "embtool lookup -h > /dev/full", 4,
          "embtool: lookup: standard output: No space left on device\n"),
    shell("standard output is full: version", "embtool --version > /dev/full", 4,
          "embtool: standard output: No space left on device\n"),
    shell("standard output is closed", "embtool lookup 0 -t t.npy >&-", 4,
          "embtool: lookup: standard output: Bad file descriptor\n"),
    shell("standard output is closed: array", "embtool lookup 0 -t t.npy -O npy >&-", 4,
          "embtool: lookup: standard output: Bad file descriptor\n"),
    shell("standard input is closed", "embtool lookup -t t.npy <&-", 4,
          "embtool: lookup: standard input: Bad file descriptor\n"),
    shell("standard error is closed", "embtool lookup 9 -t t.npy 2>&-", 3, ""),

    *[shell(f"{f} beyond the size that is allowed", f"ulimit -f 24; embtool init 4000 4 -O {f} -o o.{f}", 4,
            f"embtool: init: o.{f}: File too large\n") for f in ("npy", "npz", "safetensors", "raw")],
    shell("replaced file beyond the size that is allowed",
          "ulimit -f 24; embtool init 4000 4 --force -o t.npy; code=$?; cmp t.npy t.npy; exit $code", 4,
          "embtool: init: t.npy: File too large\n"),
    shell("text beyond the size that is allowed",
          "ulimit -f 24; "
          "yes 0 | head -9000 | embtool lookup -t t.npy -o o.txt", 4, "embtool: lookup: o.txt: File too large\n"),
    shell("the table becomes shorter while it is read",
          "truncate -s 16777344 big.npy; mkfifo f; embtool lookup -t big.npy -i f -o o.npy & exec 3> f; echo 0 >&3; "
          "truncate -s 128 big.npy; echo 4095 >&3; exec 3>&-; wait $!; code=$?; rm f; exit $code", 4,
          "embtool: lookup: big.npy: the file became shorter while it was read\n", files={"big.npy": BIG}),
]
