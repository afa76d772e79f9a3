/* assemble_put.c - rows of an assembly on their way into a file: each piece is made and written
 * while it is in a core's caches; see assemble.h.
 */
#include "dev/blas.h"
#include "ops/assemble.h"

struct making {
    const struct embi_assembly_job *job;
    atomic_bool failed;
};

/* No more pieces are made at a time than there are rooms: a free one is found. */
static struct embi_assembly_room *take_room(const struct emb_assembly *a)
{
    size_t i = 0;
    while (atomic_exchange(&a->rooms[i].taken, true))
        i = (i + 1) % a->n_rooms;
    return &a->rooms[i];
}

static emb_status make_piece(void *arg, uint64_t first, emb_block *block, emb_err *err)
{
    struct making *m = arg;
    struct embi_assembly_job job = *m->job;
    job.rows += first;
    job.positions = job.positions ? job.positions + first : NULL;
    job.types = job.types ? job.types + first : NULL;
    job.n = (size_t)block->rows;
    job.dst = block;
    job.stride = (size_t)emb_dtype_row_bytes(block->dtype, block->dims);
    struct embi_assembly_room *room = take_room(job.a);
    emb_status status = embi_assemble_rows(&job, 0, job.n, room, err);
    atomic_store(&room->taken, false);
    if (status)
        m->failed = true;
    return status;
}

emb_status embi_assembly_put(const struct embi_assembly_job *job, emb_err *err)
{
    struct embi_assembly_job own = *job;
    struct making m = {.job = &own};
    const emb_block rows = {NULL, job->n, job->dst->dims, job->dst->dtype, 0};
    if (job->a->n_rooms > EMBI_BLAS_CALLS)
        own.blas = NULL; /* which bears no more calls at a time */
    emb_status status = emb_writer_put_made(job->writer, &rows, NULL, make_piece, &m, err);
    if (status)
        *job->reading = m.failed;
    return status;
}

emb_status emb_writer_put_assembly(emb_writer *writer, const emb_assembly *assembly,
                                   const uint64_t *rows, const uint64_t *positions,
                                   const uint64_t *types, size_t n, emb_dtype dtype, bool *reading,
                                   emb_err *err)
{
    emb_block block = {NULL, n, assembly->info.dims, dtype, 0};
    struct embi_assembly_job job = {.a = (emb_assembly *)(uintptr_t)assembly, /* as ever */
                                    .rows = rows,
                                    .positions = positions,
                                    .types = types,
                                    .n = n,
                                    .dst = &block,
                                    .writer = writer,
                                    .reading = reading};
    *reading = true;
    return embi_assembly_make(&job, err);
}
