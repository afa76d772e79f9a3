/* listed.h - names in a message: "a, b, c" and, after the sixth, " and 12 more".
 *
 *     struct embi_listed l = {0};
 *     embi_listed_add(&l, name);
 *     embi_fail(err, status, -1, "name one of %s", embi_listed_text(&l));
 *     embi_listed_free(&l);
 */
#ifndef EMBI_UTIL_LISTED_H
#define EMBI_UTIL_LISTED_H

#include "util/buf.h"

struct embi_listed {
    struct embi_buf text;
    size_t n; /* names that were added, also those that are only counted */
};

void embi_listed_add(struct embi_listed *l, emb_str name);

/* All of it, "" where there is none, or no memory. No name is added after that. */
const char *embi_listed_text(struct embi_listed *l);

void embi_listed_free(struct embi_listed *l);

#endif
