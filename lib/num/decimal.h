/* decimal.h - decimal text to binary floating point and back, for f64, f32, f16 and bf16.
 *
 * Reading rounds once, from the text to the target type (nearest, ties to even); printing gives the
 * shortest text that reads back to the same value. No locale, no allocation, no state, no errno.
 * Values of f16 and bf16 travel as their 16 bits. Specification: IEEE 754-2019, sections 4.3
 * and 5.12; algorithms: D. Lemire, "Number Parsing at a Gigabyte per Second" (2021), and R.
 * Giulietti, "The Schubfach way to render doubles" (2020). May not allocate, and may not call the C
 * library for a number.
 */
#ifndef EMBI_NUM_DECIMAL_H
#define EMBI_NUM_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room a printer needs, in bytes. It may write anywhere in it, past the length it returns too.
 * (The longest text is 24 bytes: -1.7976931348623157e+308.) */
#define EMBI_DECIMAL_MAX 32

/* Reads s[0, n), which must be one decimal number and nothing else: an optional sign (+ or -);
 * digits with at most one point among, before or after them; an optional exponent, e or E, an
 * optional sign and digits. Or nan, inf, infinity in any case, with an optional sign. Refused
 * (false, *out unchanged): the empty span, blanks, hexadecimal, ".", "1e", "--1", "1,5". Any number
 * of digits and any exponent is read and correctly rounded: too large gives Inf, too small a
 * subnormal or zero, with the sign kept. nan is the quiet NaN, -nan that with the sign bit. s need
 * not end in NUL. */
bool embi_read_f64(const char *s, size_t n, double *out);
bool embi_read_f32(const char *s, size_t n, float *out);
bool embi_read_f16(const char *s, size_t n, uint16_t *bits);
bool embi_read_bf16(const char *s, size_t n, uint16_t *bits);

/* Reads the field at the start of s[0, n): the bytes up to the first space, tab, line feed or
 * carriage return, or the end of the span. The field must be a number as for embi_read_f32. Returns
 * its length in bytes, 0 if it is no number (then *out is unchanged) or empty: separators are the
 * caller's to skip. Made for text tables. Hand it all the bytes at hand, not just the line: the
 * fast path needs 24 of them. */
size_t embi_scan_f32(const char *s, size_t n, float *out);

/* Writes the shortest decimal that reads back to the same value in its type, and of several the one
 * closest to the value (of two equally close the one with an even last digit). Form, with e10 the
 * power of ten of the first digit: for -4 <= e10 < 16 plain, else with an exponent of two digits or
 * more, as Python and numpy write it: 0.0001, 1e-05, 123456790 (the f32 123456792), 1e+16; but
 * whole numbers have no ".0". Then 0, -0, inf, -inf, nan. Returns the length in bytes, at most 24;
 * no NUL is added. buf has EMBI_DECIMAL_MAX bytes. */
size_t embi_print_f64(char *buf, double x);
size_t embi_print_f32(char *buf, float x);
size_t embi_print_f16(char *buf, uint16_t bits);
size_t embi_print_bf16(char *buf, uint16_t bits);

/* Writes x with at most `digits` significant digits, 1 to 17 (a number outside is taken as the
 * nearer end), correctly rounded from the exact binary value, ties to the even digit; zeros that
 * end a fraction are dropped. Form, result and buf as above: 123456 with 2 digits is 120000. */
size_t embi_print_digits(char *buf, double x, int digits);

#endif
