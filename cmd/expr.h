/* expr.h - reads `king - man + 2*woman`, the text of --expr, term by term.
 *
 * Blanks part the words, so a token may hold + - and * itself. A word that is + or - alone is an
 * operator; the first term may have its sign glued on. `2*king`, `0.5*king`: a weight.
 */
#ifndef EMBTOOL_EXPR_H
#define EMBTOOL_EXPR_H

#include "emb.h"

#include <stdbool.h>

struct expr {
    const char *at; /* what is not read yet; begins as the whole text */
    bool begun;     /* a term was read */
    char why[160];  /* EXPR_BAD: what is wrong */
};

struct expr_term {
    emb_str word; /* borrowed from the text */
    double weight;
};

enum expr_event { EXPR_TERM, EXPR_END, EXPR_BAD };

enum expr_event expr_next(struct expr *e, struct expr_term *term);

#endif
