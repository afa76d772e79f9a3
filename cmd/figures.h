/* figures.h - what `embtool stats` found, and the two ways it is written. */
#ifndef EMBTOOL_FIGURES_H
#define EMBTOOL_FIGURES_H

#include "out.h"

enum odd { ODD_ZERO, ODD_NONFINITE, ODD_DUPLICATE, ODD_UNOWNED, ODD_KINDS };

struct figures {
    struct run *run;
    const emb_table *table;
    emb_table_info info;
    emb_model_info model;
    emb_stats stats;
    emb_spectrum spectrum;
    uint64_t tokens;    /* rows that have one; only where info.has_tokens */
    uint64_t *unowned;  /* [odd_rows(ODD_UNOWNED)]: rows that have none, if they are listed */
    const char *format; /* "text" or "json" */
    bool columns;       /* per-dimension figures are asked for */
    bool rows;          /* odd rows are listed */
    bool with_spectrum; /* the spectrum is asked for ... */
    size_t listed;      /* ... and so many of its singular values are listed */
};

/* "zero", "nonfinite" ...; how many rows are odd in this way; which, in order (NULL: not listed).
 */
const char *odd_name(enum odd kind);
uint64_t odd_rows(const struct figures *f, enum odd kind);
const uint64_t *odd_list(const struct figures *f, enum odd kind);

/* Lines of `key TAB value`; on a terminal aligned, with a histogram of norms. */
void figures_text(const struct figures *f, struct out *out);

/* One JSON object on one line. */
void figures_json(const struct figures *f, struct out *out);

#endif
