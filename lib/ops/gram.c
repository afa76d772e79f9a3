/* gram.c - G = A^T A by tiles (gram.h).
 *
 * Off the diagonal a tile is a product of two strips of the panel, on it the upper triangle of one
 * strip with itself. Large tiles spare the BLAS copies of the strips, small ones keep threads busy:
 * about 8 tiles a side, of 384 to 512 columns, or one for a small G.
 */
#include "ops/gram.h"

#include "util/err.h"
#include "util/large.h"

#include <stdlib.h>

enum { TILE_LEAST = 384, TILE_MOST = 512, TILES_A_SIDE = 8, ITEMS_WANTED = 32, GROUPS_MOST = 16 };

static uint32_t tiles(const struct embi_gram *gram)
{
    return gram->side * (gram->side + 1) / 2;
}

/* A tile of a group. */
static size_t items(const struct embi_gram *gram)
{
    return (size_t)tiles(gram) * gram->groups;
}

void embi_gram_plan(struct embi_gram *gram, uint32_t m)
{
    uint32_t wanted = (uint32_t)embi_max(embi_min(m / TILES_A_SIDE, TILE_MOST), TILE_LEAST);
    uint32_t least = (m + wanted - 1) / wanted;
    *gram = (struct embi_gram){.m = m, .tile = (m + least - 1) / least, .groups = 1};
    gram->side = (m + gram->tile - 1) / gram->tile;
    while (gram->groups < GROUPS_MOST && items(gram) < ITEMS_WANTED)
        gram->groups *= 2;
}

uint64_t embi_gram_bytes(const struct embi_gram *gram)
{
    uint64_t bytes;
    bool fits = embi_mul((uint64_t)gram->m * gram->m, gram->groups * sizeof *gram->g, &bytes);
    return fits ? bytes : UINT64_MAX;
}

emb_status embi_gram_begin(struct embi_gram *gram, const struct embi_blas *blas,
                           struct embi_pool *pool, uint64_t panel_rows, emb_err *err)
{
    uint64_t bytes = embi_gram_bytes(gram);
    gram->blas = blas;
    gram->pool = pool;
    gram->group_rows = (panel_rows + gram->groups - 1) / gram->groups;
    if (!gram->g)
        gram->g = bytes <= SIZE_MAX ? embi_large_alloc(bytes) : NULL;
    if (!gram->g)
        return embi_fail_memory(err, bytes, "the Gram matrix");
    memset(gram->g, 0, bytes);
    return EMB_OK;
}

/* Tiles above the diagonal come first, row by row; those on it, half the work, fill the end. */
static void place_of(const struct embi_gram *gram, uint32_t tile, uint32_t *row, uint32_t *col)
{
    uint32_t above = tiles(gram) - gram->side;
    if (tile >= above) {
        *row = *col = tile - above;
        return;
    }
    for (*row = 0; tile >= gram->side - 1 - *row; ++*row)
        tile -= gram->side - 1 - *row;
    *col = *row + 1 + tile;
}

static void add_tile(const struct embi_gram *gram, size_t item)
{
    uint32_t m = gram->m, i, j;
    uint64_t group = item % gram->groups, first = embi_min(group * gram->group_rows, gram->rows);
    int k = (int)embi_min(gram->group_rows, gram->rows - first);
    if (k == 0)
        return;
    place_of(gram, (uint32_t)(item / gram->groups), &i, &j);
    i *= gram->tile;
    j *= gram->tile;
    int height = (int)embi_min(gram->tile, m - i), width = (int)embi_min(gram->tile, m - j);
    const double *rows = gram->panel + first * m;
    double *g = gram->g + group * m * m + (uint64_t)i * m + j;
    if (i == j)
        gram->blas->dsyrk(height, k, rows + i, (int)m, g, (int)m);
    else
        gram->blas->dgemm_tn(height, width, k, rows + i, (int)m, rows + j, (int)m, g, (int)m);
}

/* Tiles lane, lane + EMBI_BLAS_CALLS ...: no more calls at once than the BLAS bears. */
static void add_lane(void *arg, size_t lane, int worker)
{
    const struct embi_gram *gram = arg;
    (void)worker;
    for (size_t item = lane; item < items(gram); item += EMBI_BLAS_CALLS)
        add_tile(gram, item);
}

void embi_gram_add(struct embi_gram *gram, const double *panel, uint64_t rows)
{
    gram->panel = panel;
    gram->rows = rows;
    embi_pool_run(gram->pool, (size_t)embi_min(items(gram), EMBI_BLAS_CALLS), add_lane, gram);
}

void embi_gram_end(struct embi_gram *gram)
{
    uint64_t n = (uint64_t)gram->m * gram->m;
    for (uint32_t group = 1; group < gram->groups; group++)
        for (uint64_t i = 0; i < n; i++)
            gram->g[i] += gram->g[group * n + i];
}

void embi_gram_free(struct embi_gram *gram)
{
    free(gram->g);
    gram->g = NULL;
}
