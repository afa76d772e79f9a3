/* gram.h - the Gram matrix G = A^T A [m, m] in double precision, of a matrix A that comes in panels
 * of rows.
 *
 * The upper triangle is cut into tiles, and each panel's rows into groups with a G of their own,
 * where tiles alone would leave threads idle. Tiles and groups depend on m alone and each call of
 * the BLAS computes one tile, so threads do not show in the bits.
 */
#ifndef EMBI_OPS_GRAM_H
#define EMBI_OPS_GRAM_H

#include "dev/blas.h"
#include "util/pool.h"

struct embi_gram {
    const struct embi_blas *blas;
    struct embi_pool *pool;
    uint32_t m;
    uint32_t tile, side; /* columns of a tile; tiles along a side of G */
    uint32_t groups;
    double *g; /* [groups, m, m], of which the upper triangles are used */
    uint64_t group_rows;
    const double *panel; /* [rows, m]: the one that is being added */
    uint64_t rows;
};

/* Says how G [m, m] is cut, and allocates nothing. */
void embi_gram_plan(struct embi_gram *gram, uint32_t m);

/* Bytes of memory of a planned G; UINT64_MAX where that does not fit. */
uint64_t embi_gram_bytes(const struct embi_gram *gram);

/* A planned G becomes zero. Panels have at most panel_rows rows (of fewer than 2^31). Free with
 * embi_gram_free. */
emb_status embi_gram_begin(struct embi_gram *gram, const struct embi_blas *blas,
                           struct embi_pool *pool, uint64_t panel_rows, emb_err *err);

/* G += panel^T panel, panel [rows, m]. */
void embi_gram_add(struct embi_gram *gram, const double *panel, uint64_t rows);

/* Adds up the groups: gram->g [m, m] then holds the upper triangle of G. */
void embi_gram_end(struct embi_gram *gram);
void embi_gram_free(struct embi_gram *gram);

#endif
