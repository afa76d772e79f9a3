#!/usr/bin/env python3
"""Prints what an .npy, .npz or .safetensors file holds, for the cases: shape, type, values in one line."""
import ast
import json
import struct
import sys
import zipfile

CODES = {"f8": "d", "f4": "f", "f2": "e", "i8": "q", "i4": "i", "u1": "B", "F32": "f", "F16": "e", "I64": "q", "F64": "d"}


def line(name, shape, kind, data):
    code = CODES.get(kind)
    values = struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data) if code else data.hex()
    print(*[x for x in (name, list(shape), kind) if x is not None], *(values if code else [values]))


def npy(name, data):
    n, = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10:10 + n].decode())
    assert data[:8] == b"\x93NUMPY\x01\0" and (10 + n) % 64 == 0 and not header["fortran_order"], data[:128]
    line(name, header["shape"], header["descr"][1:], data[10 + n:])


def safetensors(data):
    n, = struct.unpack_from("<Q", data)
    for name, t in json.loads(data[8:8 + n]).items():
        if name != "__metadata__":
            begin, end = t["data_offsets"]
            line(name, t["shape"], t["dtype"], data[8 + n + begin:8 + n + end])


for path in sys.argv[1:]:
    raw = sys.stdin.buffer.read() if path == "-" else open(path, "rb").read()
    if raw[:2] == b"PK":
        with zipfile.ZipFile(path) as z:
            assert z.testzip() is None
            for member in z.namelist():
                npy(member, z.read(member))
    elif raw[:1] == b"\x93":
        npy(None, raw)
    else:
        safetensors(raw)
