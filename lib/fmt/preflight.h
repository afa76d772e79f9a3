/* preflight.h - is what is packed worth to unpack? Only for unwrap.c. */
#ifndef EMBI_FMT_PREFLIGHT_H
#define EMBI_FMT_PREFLIGHT_H

#include "fmt/fmt.h"
#include "io/inflate.h"

/* Reads the header of what is inside r's file, out of its first bytes, as `format`, or as what it
 * looks like if NULL. Fails as reading all of it would, where these bytes show that; bytes behind
 * the tables are bounded by packed->most, or refused where `size`, what it unpacks to, is known
 * (not 0). A header that is too long for this is no failure. */
emb_status embi_preflight(const struct embi_reader *r, const struct embi_format *format,
                          struct embi_packed *packed, uint64_t size, emb_err *err);

#endif
