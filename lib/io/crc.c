/* crc.c - embi_crc32 of inflate.h: pieces of fixed size on all threads, joined in their order. */
#include "io/inflate.h"

#include "util/pool.h"

#include <stdlib.h>
#include <zlib.h>

#define PIECE_BYTES ((uint64_t)4 << 20)

struct pieces {
    const unsigned char *s; /* [n] */
    uint64_t n;
    uint32_t *sums; /* [pieces] */
};

static uint64_t piece_bytes(const struct pieces *p, size_t i)
{
    return embi_min(p->n - i * PIECE_BYTES, PIECE_BYTES);
}

static void sum_piece(void *arg, size_t i, int worker)
{
    const struct pieces *p = arg;
    (void)worker;
    p->sums[i] = (uint32_t)crc32_z(0, p->s + i * PIECE_BYTES, (z_size_t)piece_bytes(p, i));
}

uint32_t embi_crc32(const struct embi_env *env, const void *data, uint64_t n)
{
    struct pieces p = {.s = data, .n = n};
    size_t count = (size_t)((n + PIECE_BYTES - 1) / PIECE_BYTES);
    bool alone = count < 2 || !env || !env->pool;
    p.sums = alone ? NULL : calloc(count, sizeof *p.sums);
    if (!p.sums) /* also where there is no memory for the sums: one thread needs none */
        return (uint32_t)crc32_z(0, data, (z_size_t)n);
    embi_pool_run(env->pool, count, sum_piece, &p);
    uLong sum = p.sums[0];
    for (size_t i = 1; i < count; i++)
        sum = crc32_combine(sum, p.sums[i], (z_off_t)piece_bytes(&p, i));
    free(p.sums);
    return (uint32_t)sum;
}
