/* quantity.h - counts as people write and read them: 50257, 256k, 256Ki, 1.5M, 70e9.
 *
 * k (or K) M G T, and B for G, are powers of 1000; Ki Mi Gi Ti powers of 1024. The two are never
 * taken for each other: what is printed says both.
 */
#ifndef EMBTOOL_QUANTITY_H
#define EMBTOOL_QUANTITY_H

#include "util/buf.h"

/* The whole of s as a whole number; false where it is none, or 64 bits do not hold it. */
bool quantity_parse(const char *s, uint64_t *x);

/* "256k = 250Ki", to four digits; with `unit` "B" "1.05 MB = 1 MiB". Nothing below 1000, where the
 * number itself is as short. */
void quantity_words(struct embi_buf *out, uint64_t x, const char *unit);

#endif
