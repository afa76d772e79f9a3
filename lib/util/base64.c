/* base64.c - see base64.h. */
#include "util/base64.h"

/* The value of a character plus 1; 0 for those that base64 does not have. */
/* clang-format off */
static const unsigned char values[256] = {
    ['A'] = 1, ['B'] = 2, ['C'] = 3, ['D'] = 4, ['E'] = 5, ['F'] = 6, ['G'] = 7, ['H'] = 8,
    ['I'] = 9, ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};
/* clang-format on */

/* One group of which `given` characters, 2 to 4, are not padding. */
static bool group(const char *s, size_t given, char *out)
{
    uint32_t bits = 0;
    bool good = true;
    for (size_t i = 0; i < 4; i++) {
        unsigned value = i < given ? values[(unsigned char)s[i]] : 1;
        good = good && value > 0;
        bits = bits << 6 | ((value - 1) & 63);
    }
    for (size_t i = 0; i < given - 1; i++)
        out[i] = (char)(bits >> (16 - 8 * i));
    return good && (bits & ((1u << 8 * (4 - given)) - 1)) == 0;
}

bool embi_base64_decode(const char *s, size_t n, char *out, size_t *bytes)
{
    if (n % 4 != 0)
        return false;
    size_t padding = n == 0 ? 0 : s[n - 1] != '=' ? 0 : s[n - 2] != '=' ? 1 : 2;
    for (size_t i = 0; i < n; i += 4, out += 3)
        if (!group(s + i, i + 4 == n ? 4 - padding : 4, out))
            return false;
    *bytes = embi_base64_room(n) - padding;
    return true;
}
