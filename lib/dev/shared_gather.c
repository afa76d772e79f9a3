/* shared_gather.c - rows of a table that GPUs share: each id goes to the one that has its row. */
#include "dev/shared.h"

#include <stdio.h>
#include <stdlib.h>

/* Ids by the GPU that has their rows, in their order otherwise: those of GPU g are
 * begins[g] .. begins[g+1] - 1. */
struct sorted {
    uint64_t *ids;    /* as that GPU numbers its rows          */
    uint64_t *places; /* which of the call's ids each was      */
    uint64_t *side;   /* the side rows of these; NULL: none    */
    uint64_t begins[EMBI_GPUS_MOST + 1];
};

struct gathering {
    struct embi_shared *table, *side;
    embi_place_fn *put;
    void *arg;
    struct sorted sorted;
};

static int owner_of(const struct embi_shared *t, uint64_t id)
{
    int i = 0;
    while (id - t->shares[i].first >= t->shares[i].rows) /* wraps round below the first */
        i++;
    return i;
}

static void sort(struct sorted *s, const struct embi_shared *t, const uint64_t *ids,
                 const uint64_t *side_ids, size_t n)
{
    uint64_t next[EMBI_GPUS_MOST] = {0};
    memset(s->begins, 0, sizeof s->begins);
    for (size_t i = 0; i < n; i++)
        s->begins[owner_of(t, ids[i]) + 1]++;
    for (int g = 0; g < t->device->n; g++) {
        next[g] = s->begins[g];
        s->begins[g + 1] += s->begins[g];
    }
    for (size_t i = 0; i < n; i++) {
        const int owner = owner_of(t, ids[i]);
        const uint64_t at = next[owner]++;
        s->ids[at] = ids[i] - t->shares[owner].first;
        s->places[at] = i;
        if (side_ids)
            s->side[at] = side_ids[i];
    }
}

/* Rows that one GPU hands back. */
struct part {
    const struct gathering *all;
    const uint64_t *places; /* of its first row */
};

static void put_part(void *arg, uint64_t first, uint64_t n, const void *from, uint64_t pitch)
{
    const struct part *p = arg;
    const uint64_t *places = p->places ? p->places + first : NULL;
    pthread_mutex_lock(&p->all->table->device->turn);
    p->all->put(p->all->arg, places, first, n, from, pitch);
    pthread_mutex_unlock(&p->all->table->device->turn);
}

static int gather_part(void *arg, int which, struct embi_cuda_fault *fault)
{
    const struct gathering *all = arg;
    const struct sorted *s = &all->sorted;
    const struct embi_cuda *cuda = all->table->device->cuda;
    const uint64_t at = s->begins[which], n = s->begins[which + 1] - at;
    struct part part = {all, s->places + at};
    struct embi_cuda_table *there = all->table->shares[which].there;
    if (all->side)
        return cuda->gather_sum(there, s->ids + at, all->side->shares[which].there, s->side + at,
                                (size_t)n, put_part, &part, fault);
    return cuda->gather(there, s->ids + at, (size_t)n, put_part, &part, fault);
}

/* A single GPU has all rows: its ids are in order as they are. */
static int gather_alone(const struct gathering *all, const uint64_t *ids, const uint64_t *side_ids,
                        size_t n, struct embi_cuda_fault *fault)
{
    const struct embi_cuda *cuda = all->table->device->cuda;
    struct embi_cuda_table *there = all->table->shares[0].there;
    struct part part = {all, NULL};
    if (all->side)
        return cuda->gather_sum(there, ids, all->side->shares[0].there, side_ids, n, put_part,
                                &part, fault);
    return cuda->gather(there, ids, n, put_part, &part, fault);
}

static int gather(struct gathering *all, const uint64_t *ids, const uint64_t *side_ids, size_t n,
                  struct embi_cuda_fault *fault)
{
    struct sorted *s = &all->sorted;
    int result = EMBI_CUDA_HOST_MEMORY;
    if (all->table->device->n == 1)
        return gather_alone(all, ids, side_ids, n, fault);
    s->ids = malloc(n * sizeof *s->ids + 1);
    s->places = malloc(n * sizeof *s->places + 1);
    s->side = side_ids ? malloc(n * sizeof *s->side + 1) : NULL;
    if (s->ids && s->places && (s->side || !side_ids)) {
        sort(s, all->table, ids, side_ids, n);
        result = embi_gpus_run(all->table->device, gather_part, all, fault);
    } else {
        snprintf(fault->msg, sizeof fault->msg, "out of memory for %zu ids", n);
    }
    free(s->ids);
    free(s->places);
    free(s->side);
    return result;
}

int embi_shared_gather(struct embi_shared *table, const uint64_t *ids, size_t n, embi_place_fn *put,
                       void *arg, struct embi_cuda_fault *fault)
{
    struct gathering all = {.table = table, .put = put, .arg = arg};
    return gather(&all, ids, NULL, n, fault);
}

int embi_shared_gather_sum(struct embi_shared *table, const uint64_t *ids, struct embi_shared *side,
                           const uint64_t *side_ids, size_t n, embi_place_fn *put, void *arg,
                           struct embi_cuda_fault *fault)
{
    struct gathering all = {.table = table, .side = side, .put = put, .arg = arg};
    return gather(&all, ids, side_ids, n, fault);
}
