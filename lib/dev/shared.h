/* shared.h - a table whose rows the GPUs of a device share: each has a range of them.
 *
 * The ranges are even, unless a GPU has no room for its own and others have: then it gets what it
 * has room for. Where there is not room enough for the table at all they are even again, and a GPU
 * whose range is too large gets it a part at a time. Each answers for its rows, all at the same
 * time (gpus.h).
 */
#ifndef EMBI_DEV_SHARED_H
#define EMBI_DEV_SHARED_H

#include "dev/gpus.h"

/* What one of them has. */
struct embi_share {
    struct embi_shared *table;
    uint64_t first, rows;
    bool resident; /* all of it at once */
    struct embi_cuda_table *there;
};

struct embi_shared {
    emb_device *device;
    struct embi_cuda_rows rows;
    struct embi_share shares[EMBI_GPUS_MOST]; /* [device->n] */
};

/* What embi_shared_search gives: arrays of the caller. */
struct embi_shared_found {
    struct embi_cuda_hit *hits; /* [device->n, n, cap] each GPU's, in no order        */
    uint32_t *counts;           /* [device->n, n] 0 at first; above cap: worthless    */
    uint64_t *odd;              /* [V] rows whose norm tells nothing, of all GPUs     */
    uint64_t odd_count;
};

/* Takes rows that a GPU has made: row i is row places[i] of the call, or, where places is NULL,
 * row first + i. */
typedef void embi_place_fn(void *arg, const uint64_t *places, uint64_t first, uint64_t n,
                           const void *from, uint64_t pitch);

/* Gives them the table; each gets all rows where `whole` is set. The device is ready. */
int embi_shared_open(emb_device *device, const struct embi_cuda_rows *rows, bool whole,
                     struct embi_shared **table, struct embi_cuda_fault *fault);
void embi_shared_close(struct embi_shared *table);

/* The functions of struct embi_cuda, of all GPUs. */
int embi_shared_gather(struct embi_shared *table, const uint64_t *ids, size_t n, embi_place_fn *put,
                       void *arg, struct embi_cuda_fault *fault);

/* side: a table that each has whole. */
int embi_shared_gather_sum(struct embi_shared *table, const uint64_t *ids, struct embi_shared *side,
                           const uint64_t *side_ids, size_t n, embi_place_fn *put, void *arg,
                           struct embi_cuda_fault *fault);
int embi_shared_search(struct embi_shared *table, const struct embi_cuda_search *search,
                       struct embi_shared_found *found, struct embi_cuda_fault *fault);

/* Of one GPU alone: sums are made in an order that rows of several places do not keep. */
int embi_shared_pool(struct embi_shared *table, const struct embi_cuda_pool *pool,
                     struct embi_cuda_fault *fault);

#endif
