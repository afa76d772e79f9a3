#!/usr/bin/env python3
"""Writes decimal_powers.c, the 128-bit powers of ten behind num/decimal.

    python3 lib/num/make_powers.py > lib/num/decimal_powers.c
    python3 lib/num/make_powers.py --prove

Entry q holds T = floor(10^q / 2^(e-127)) with e = floor(log2(10^q)), so 2^127 <= T < 2^128 and
T * 2^(e-127) <= 10^q < (T + 1) * 2^(e-127). Only whole numbers are used: nothing is rounded by
chance. --prove checks, for every binary exponent and every mantissa at once, that the products of
the shortest printer (decimal_print.c) leave enough room around each integer, and that the
fixed-point logarithms of decimal_impl.h are right in their ranges.
"""
import sys

FIRST, LAST = -342, 340

HEAD = """\
/* decimal_powers.c - 128-bit powers of ten for num/decimal, written by make_powers.py: change that,
 * not this. May hold nothing else.
 *
 * {high, low} words of floor(10^q / 2^(e-127)), where e is floor(log2(10^q)), for q = %d .. %d.
 * Rounded down: the true power is never below the entry, and less than one unit above it. */
#include "num/decimal_impl.h"

/* clang-format off */
const uint64_t embi_pow10[EMBI_POW10_LAST - EMBI_POW10_FIRST + 1][2] = {"""


def log2_pow10(q):
    """floor(log2(10^q)) from whole numbers alone."""
    if q >= 0:
        return (10**q).bit_length() - 1
    return -((10**-q - 1).bit_length())


def power(q):
    """The 128-bit T of entry q."""
    shift = 127 - log2_pow10(q)
    if q >= 0:
        return 10**q << shift if shift >= 0 else 10**q >> -shift
    return (1 << shift) // 10**-q


def write():
    print(HEAD % (FIRST, LAST))
    for q in range(FIRST, LAST + 1):
        t = power(q)
        print(f"    {{0x{t >> 64:016x}u, 0x{t & (1 << 64) - 1:016x}u}}, /* {q} */")
    print("};\n/* clang-format on */")


def extremes(a, m, n):
    """The least residue above 0, and the least distance below m, of a*x mod m for 1 <= x <= n
    (Euclid's algorithm on the two sides of 0, cut off at n)."""
    above, x_above, below, x_below = a % m, 1, m, 0
    if above == 0:
        return m, m
    while True:
        if above < below:
            t = min((below - 1) // above, (n - x_below) // x_above)
            below, x_below = below - t * above, x_below + t * x_above
        else:
            t = min((above - 1) // below, (n - x_above) // x_below)
            above, x_above = above - t * below, x_above + t * x_below
        if t == 0:
            return above, below


def prove_format(name, first_q, last_q, mantissa_bits, word_bits, sticky_bits):
    """V = m * 2^q / 10^k for 1 <= m <= 2^(mantissa_bits+2) - 2, scaled with a power that is
    rounded up to word_bits. Safe if the error, less than m * 2^(h-word_bits), cannot carry V to
    the next integer and is below 2^-sticky_bits, and the fraction of a V that is no integer is at
    least 2^-sticky_bits."""
    most = (1 << mantissa_bits + 2) - 2
    for q in range(first_q, last_q + 1):
        for k in {(q * 1262611) >> 22, (q * 1262611 - 524031) >> 22}:
            h = q + log2_pow10(-k) + 1
            assert 1 <= h <= 4, (name, q, k, h)
            num = (1 << max(q, 0)) * 10**max(-k, 0)
            den = (1 << max(-q, 0)) * 10**max(k, 0)
            above, below = extremes(num, den, most)
            error = most << h                                   # in units of 2^-word_bits
            assert error >> (word_bits - sticky_bits) == 0, (name, q)
            assert below << word_bits > error * den, (name, q)
            assert den == 1 or above == den or above << sticky_bits >= den, (name, q)
    print(f"{name}: proved for 2^{first_q} .. 2^{last_q}")


def prove():
    for q in range(-1100, 1101):
        for offset, numerator in ((0, 4), (524031, 3)):         # floor(log10(2^q)) and of 3/4 * 2^q
            e = (q * 1262611 - offset) >> 22
            num, den = numerator << max(q, 0), 4 << max(-q, 0)
            assert den * 10**max(e, 0) <= num * 10**max(-e, 0), q
            assert num * 10**max(-e - 1, 0) < den * 10**max(e + 1, 0), q
    for q in range(FIRST, LAST + 1):
        assert (q * 1741647) >> 19 == log2_pow10(q), q
    prove_format("f32, f16, bf16", -149, 120, 24, 64, 34)
    prove_format("f64", -1074, 971, 53, 128, 68)


if __name__ == "__main__":
    prove() if sys.argv[1:] == ["--prove"] else write()
