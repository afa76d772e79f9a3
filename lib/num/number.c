/* number.c - one element of any type as text, and text as an element: the public face of decimal.h.
 *
 * An 8-bit float is printed as the shortest decimal of the f32 that it is.
 */
#include "num/decimal.h"
#include "num/dtype.h"

static size_t print_u64(char *out, uint64_t x, bool negative)
{
    char digits[20];
    size_t n = 0, at = 0;
    do {
        digits[n++] = (char)('0' + x % 10);
        x /= 10;
    } while (x > 0);
    if (negative)
        out[at++] = '-';
    while (n > 0)
        out[at++] = digits[--n];
    return at;
}

size_t emb_number_print(char *out, emb_dtype dtype, const void *value)
{
    if (emb_dtype_bytes(dtype) == 0)
        return 0;
    switch (dtype) {
    case EMB_F64: return embi_print_f64(out, embi_element(value, dtype));
    case EMB_F16: return embi_print_f16(out, embi_le16(value));
    case EMB_BF16: return embi_print_bf16(out, embi_le16(value));
    case EMB_U64: return print_u64(out, embi_le64(value), false);
    case EMB_I64: {
        uint64_t bits = embi_le64(value);
        return print_u64(out, bits >> 63 ? 0 - bits : bits, bits >> 63);
    }
    default: break;
    }
    double x = embi_element(value, dtype);
    if (emb_dtype_is_float(dtype))
        return embi_print_f32(out, (float)x);
    return print_u64(out, (uint64_t)(x < 0 ? -x : x), x < 0);
}

size_t emb_number_digits(char *out, double x, int digits)
{
    return digits == 0 ? embi_print_f64(out, x) : embi_print_digits(out, x, digits);
}

bool emb_number_parse(emb_str text, emb_dtype dtype, void *value)
{
    double x;
    float y;
    uint16_t code;
    switch (dtype) {
    case EMB_F64:
        if (!embi_read_f64(text.s, text.n, &x))
            return false;
        memcpy(value, &x, sizeof x);
        return true;
    case EMB_F32:
        if (!embi_read_f32(text.s, text.n, &y))
            return false;
        memcpy(value, &y, sizeof y);
        return true;
    case EMB_F16:
        if (!embi_read_f16(text.s, text.n, &code))
            return false;
        memcpy(value, &code, sizeof code);
        return true;
    case EMB_BF16:
        if (!embi_read_bf16(text.s, text.n, &code))
            return false;
        memcpy(value, &code, sizeof code);
        return true;
    default: return false;
    }
}
