#!/usr/bin/env python3
"""Prints the expected hashes of test_map.c: the definition at the head of lib/util/hash.c, written
a second time in Python, applied to the first n bytes of the alphabet in lower and upper case."""
from math import isqrt
from string import ascii_lowercase, ascii_uppercase

MASK = 2**64 - 1
K = [(isqrt(n << 128) & MASK) | 1 for n in (2, 3, 5, 7)]


def fold(a, b):
    return (a * b & MASK) ^ (a * b >> 64)


def le(b):
    return int.from_bytes(b, "little")


def embi_hash(s):
    h, p = K[0], s
    while len(p) > 16:
        h, p = fold(le(p[:8]) ^ K[1], le(p[8:16]) ^ h), p[16:]
    n = len(p)
    if n >= 8:
        a, b = le(p[:8]), le(p[-8:])
    elif n >= 4:
        a, b = le(p[:4]), le(p[-4:])
    else:
        a, b = (p[0] + 256 * p[n // 2] + 65536 * p[-1] if n else 0), 0
    return fold(fold(a ^ K[2], b ^ h) ^ K[3], len(s) ^ K[1])


text = (ascii_lowercase + ascii_uppercase).encode()
for n in (0, 1, 3, 4, 7, 8, 16, 17, 32, 33, 52):
    print("{%d, UINT64_C(0x%016X)}," % (n, embi_hash(text[:n])))
