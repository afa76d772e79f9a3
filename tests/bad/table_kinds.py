"""Files that are known but are no table, files of no kind, and paths that lead to no file."""
import struct

from case import Case
from craft import encode, fasttext_bin, npy, words_text

LFS = (b"version https://git-lfs.github.com/spec/v1\n"
       b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n")
GLOVE = words_text([("the", [1.0, 2.0]), ("cat", [3.0, 4.0])])


def kind(name, data, err, file="t.dat", code=3):
    return Case("kind: " + name, f"stats {file}", code, f"{file}: {err}", {file: data})


def path(name, table, err, code=4, **more):
    return Case("path: " + name, f"stats {table}", code, err, **more)


CASES = [
    kind("Git LFS pointer", LFS, "a Git LFS pointer: the file itself (12345 bytes) was not pulled; run git lfs pull"),
    kind("Git LFS pointer, named safetensors", LFS,
         "a Git LFS pointer: the file itself (12345 bytes) was not pulled; run git lfs pull", "model.safetensors"),
    kind("Git LFS pointer, named npy", LFS,
         "a Git LFS pointer: the file itself (12345 bytes) was not pulled; run git lfs pull", "t.npy"),
    kind("Git LFS pointer without a size", LFS[:60],
         "a Git LFS pointer: the file itself was not pulled; run git lfs pull"),
    kind("Git LFS pointer of 2^70 bytes", LFS.replace(b"12345", b"1180591620717411303424"),
         "a Git LFS pointer: the file itself was not pulled; run git lfs pull"),
    kind("HTML page", b"<!DOCTYPE html>\n<html><head>",
         "a web page (HTML or XML), not a table: the download went wrong", "model.safetensors"),
    kind("HTML page in capitals", b"<HTML><BODY>404 1 2", "a web page (HTML or XML), not a table: the download went wrong", "t.txt"),
    kind("XML", b"<?xml version='1.0'?><Error>", "a web page (HTML or XML), not a table: the download went wrong"),
    kind("a server's error", b'{"error":"Repository not found"}',
         "a server's error message, not a table: the download went wrong", "model.safetensors"),
    kind("a JSON file", b'{"vocab_size": 2}', "a JSON document, not a table", "config.json"),
    kind("ggml", struct.pack("<II", 0x67676d6c, 1) + bytes(40),
         "a llama.cpp model from before GGUF: not read; convert it to GGUF"),
    kind("ggjt", struct.pack("<II", 0x67676a74, 3) + bytes(40),
         "a llama.cpp model from before GGUF: not read; convert it to GGUF"),
    kind("pickle", b"\x80\x04\x95\x10\0\0\0\0\0\0\0",
         "a Python pickle: not read, since reading one means running it", "w.model"),
    kind("finalfusion", b"FiFu" + struct.pack("<II", 0, 2),
         "finalfusion: not read by this version; convert it to word2vec"),
    kind("fastText", fasttext_bin(["a"], [[1.0, 2.0], [1.0, 2.0]], 1, 3, 6),
         "a fastText model: not read by this version; use its .vec file", "cc.bin"),
    kind("HDF5", b"\x89HDF\r\n\x1a\n" + bytes(88),
         "HDF5: not read; h5py and numpy.save make an .npy file of it", "tf_model.h5"),
    kind("HDF5 at byte 512", bytes(512) + b"\x89HDF\r\n\x1a\n" + bytes(80),
         "HDF5: not read; h5py and numpy.save make an .npy file of it"),
    kind("Parquet", b"PAR1\x15\0\x15\0" + bytes(20) + b"PAR1",
         "Parquet: not read; pyarrow and numpy.save make an .npy file of it"),
    kind("Arrow", b"ARROW1\0\0" + bytes(40),
         "Arrow or Feather: not read; pyarrow and numpy.save make an .npy file of it"),
    kind("Feather 1", b"FEA1\0\0\0\0" + bytes(40),
         "Arrow or Feather: not read; pyarrow and numpy.save make an .npy file of it"),
    kind("SQLite", b"SQLite format 3\0" + bytes(84),
         "an SQLite database (Magnitude?): not read; convert it to text or .npy", "w.magnitude"),
    kind("zstd", b"\x28\xb5\x2f\xfd\x04\0", "zstd: not read by this version; unzstd it first"),
    kind("xz", b"\xfd7zXZ\0\0\4", "xz: not read by this version; unxz it first"),
    kind("bzip2", b"BZh91AY&SY\0\0", "bzip2: not read by this version; bunzip2 it first"),
    kind("sentencepiece", b"\x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\2",
         "a sentencepiece tokenizer, not a table", "tokenizer.model"),
    kind("tiktoken", b"IQ== 0\nIg== 1\n", "a tiktoken vocabulary, not a table", "r50k.tiktoken"),
    kind("ONNX", b"\x08\x07\x12\x07pytorch", "ONNX: not read by this version; convert it to safetensors", "m.onnx"),
    kind("no kind", bytes(range(128, 192)),
         'not a format embtool knows; it begins with "\\x80\\x81\\x82\\x83\\x84\\x85\\x86\\x87" (for rows without a '
         "header say --format raw)"),
    kind("zeros", bytes(64),
         'not a format embtool knows; it begins with "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00" (for rows without a '
         "header say --format raw)"),
    kind("one byte", b"x",
         'not a format embtool knows; it begins with "x" (for rows without a header say --format raw)'),
    kind("line ends in a name's message", b"\n\r\t\x1b[31m\0",
         'not a format embtool knows; it begins with "\\n\\r\\t\\x1b[31m" (for rows without a header say '
         "--format raw)"),

    path("a device without an end", "/dev/zero", "/dev/zero: is a device, not a table file", 3),
    path("no such file", "no/such.bin", "no/such.bin: No such file or directory"),
    path("a directory", ".",
         ".: is a directory without weights: neither model.safetensors nor model.safetensors.index.json", 3),
    path("a name that is empty", "''", "'': No such file or directory"),
    path("a part of the path is a file", "t.txt/x", "t.txt/x: Not a directory", files={"t.txt": GLOVE}),
    path("a name of 5000 bytes", "x" * 5000, "x" * 5000 + ": File name too long"),
    path("empty standard input", "-", "-: the file is empty", 3),
    path("a pipe cut short", "-", "-: data: expected 8 bytes, found 7", 3, stdin=npy([[1.0, 2.0]])[:-1]),
    path("a line end in its name", "'a\nb'", "a\\x0ab: No such file or directory"),
    Case("path: an input that is closed", "embtool stats - <&-", 4,
         "embtool: stats: -: Bad file descriptor\n", shell=True),
    Case("path: a FIFO with a bad table",
         "mkfifo f; printf '3 2\\nthe 1 2\\n' > f & embtool stats f; code=$?; rm f; exit $code", 3,
         "embtool: stats: f: the header says 3 rows, the file has 1\n", shell=True),
    Case("path: a directory entry of /proc", "embtool stats /proc/self/mem", 4,
         "embtool: stats: /proc/self/mem: Input/output error\n", shell=True),
    Case("path: EMBTOOL_TABLE leads nowhere", "EMBTOOL_TABLE=no.bin embtool stats", 4,
         "embtool: stats: no.bin: No such file or directory\n", shell=True),
    Case("path: # after a file that is not there", "embtool stats no.npy#x", 4,
         "embtool: stats: no.npy#x: No such file or directory\n", shell=True),
]
