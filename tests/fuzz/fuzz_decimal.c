/* fuzz_decimal.c - numbers as text against the C library: what is a number, its nearest value, and that
 * what is printed reads back to the same bits and is no longer than it must be.
 */
#include "fuzz.h"

#include "num/decimal.h"

#include <math.h>

enum { TEXT_MAX = 4096 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The grammar of decimal.h, once more. */
static bool is_number(const char *s)
{
    size_t digits = 0;
    s += *s == '+' || *s == '-';
    if (!strcasecmp(s, "nan") || !strcasecmp(s, "inf") || !strcasecmp(s, "infinity"))
        return true;
    for (; is_digit(*s); s++)
        digits++;
    if (*s == '.')
        for (s++; is_digit(*s); s++)
            digits++;
    if (digits && (*s == 'e' || *s == 'E')) {
        s++;
        s += *s == '+' || *s == '-';
        if (!is_digit(*s))
            return false;
        s += strspn(s, "0123456789");
    }
    return digits > 0 && *s == 0;
}

static bool same_f64(double a, double b)
{
    return isnan(a) ? isnan(b) && signbit(a) == signbit(b) : memcmp(&a, &b, sizeof a) == 0;
}

static void check_read(const char *s, size_t n)
{
    double x = 0;
    float y = 0, z = 0;
    uint16_t half = 0, brain = 0;
    bool number = memchr(s, 0, n) == NULL && is_number(s);
    CHECK(embi_read_f64(s, n, &x) == number && embi_read_f32(s, n, &y) == number);
    CHECK(embi_read_f16(s, n, &half) == number && embi_read_bf16(s, n, &brain) == number);
    CHECK(embi_scan_f32(s, n, &z) == (number ? n : 0) || strpbrk(s, " \t\r\n"));
    if (!number)
        return;
    CHECK(same_f64(x, strtod(s, NULL)) && same_f64(y, strtof(s, NULL)) && same_f64(z, y));
}

/* Significant digits of a printed number. */
static size_t digits_of(const char *s, size_t n)
{
    size_t first = 0, last = 0, count = 0;
    for (size_t i = 0; i < n && s[i] != 'e'; i++)
        if (is_digit(s[i])) {
            count++;
            first = first || s[i] == '0' ? first : count;
            last = s[i] == '0' ? last : count;
        }
    return first ? last - first + 1 : 0;
}

/* Reads back, and no text with one digit less does. */
static void check_shortest(const char *s, size_t n, double x, bool single)
{
    char text[EMBI_DECIMAL_MAX + 1], less[64];
    memcpy(text, s, n);
    text[n] = 0;
    double back = single ? strtof(text, NULL) : strtod(text, NULL);
    CHECK(n <= 24 && (isnan(x) ? isnan(back) : same_f64(back, x)));
    size_t digits = digits_of(s, n);
    if (!isfinite(x) || digits < 2)
        return;
    (void)snprintf(less, sizeof less, "%.*e", (int)digits - 2, x);
    CHECK((single ? strtof(less, NULL) : strtod(less, NULL)) != x);
}

static void check_print(const uint8_t *data)
{
    char text[EMBI_DECIMAL_MAX], want[64];
    double x;
    float y;
    uint16_t code, back;
    memcpy(&x, data, sizeof x);
    memcpy(&y, data, sizeof y);
    memcpy(&code, data, sizeof code);
    check_shortest(text, embi_print_f64(text, x), x, false);
    check_shortest(text, embi_print_f32(text, y), y, true);
    size_t n = embi_print_f16(text, code);
    CHECK(embi_read_f16(text, n, &back) &&
          (back == code || strncmp(text + (text[0] == '-'), "nan", 3) == 0));
    n = embi_print_bf16(text, code);
    CHECK(embi_read_bf16(text, n, &back) &&
          (back == code || strncmp(text + (text[0] == '-'), "nan", 3) == 0));
    int digits = 1 + data[0] % 17;
    n = embi_print_digits(text, x, digits);
    CHECK(n <= 24);
    (void)snprintf(want, sizeof want, "%.*e", digits - 1, x);
    double printed;
    CHECK(embi_read_f64(text, n, &printed));
    CHECK(isnan(x) ? isnan(printed) : same_f64(printed, strtod(want, NULL)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct embi_buf text = {0};
    char *exact = fuzz_copy(data, size);
    double x;
    embi_buf_add(&text, data, size);
    if (size <= TEXT_MAX)
        check_read(embi_buf_cstr(&text), size);
    embi_read_f64(exact, size, &x); /* no byte past the span */
    if (size >= sizeof x)
        check_print(data);
    free(exact);
    embi_buf_free(&text);
    return 0;
}
