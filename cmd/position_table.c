/* position_table.c - tables of positions, block by block, whatever their length. */
#include "position.h"
#include "progress.h"

#include <stdlib.h>

enum { BLOCK_BYTES = 4 << 20 };

/* Which rows a pass over all positions makes. */
struct pass {
    const emb_rope *rope; /* NULL: sinusoidal */
    double base;
    bool sine;
};

static emb_status fill(const struct positions *p, const struct pass *pass, uint64_t first,
                       emb_block *block, emb_err *err)
{
    return pass->rope ? emb_rope_rows(pass->rope, pass->sine, p->start + first, block, err)
                      : emb_sinusoid_rows(p->run->ctx, pass->base, p->start + first, block, err);
}

/* All positions once, through `rows` of step rows. */
static emb_status write_pass(struct positions *p, const struct pass *pass, emb_writer *writer,
                             emb_block rows, struct progress *progress, emb_err *err)
{
    uint64_t step = rows.rows;
    emb_status status = EMB_OK;
    for (uint64_t first = 0; !status && first < p->length; first += step) {
        rows.rows = embi_min(step, p->length - first);
        status = fill(p, pass, first, &rows, err);
        if (!status)
            status = emb_writer_put(writer, &rows, NULL, err);
        progress_add(progress, rows.rows);
    }
    return status;
}

/* The passes [n], one after another, as one array of rows of `dims`. */
static int write_passes(struct positions *p, const struct pass *passes, int n, uint32_t dims,
                        emb_writer *writer)
{
    uint64_t row_bytes = emb_dtype_row_bytes(p->dtype, dims);
    emb_block rows = {.rows = embi_min(embi_max(BLOCK_BYTES / row_bytes, 1), p->length),
                      .dims = dims,
                      .dtype = p->dtype};
    struct progress progress;
    emb_status status = EMB_OK;
    emb_err err;
    rows.data = malloc(rows.rows * row_bytes);
    if (!rows.data)
        return fail_with(p->run, EXIT_MEMORY, NULL, "out of memory for a block of rows");
    progress_begin(&progress, p->run, p->length * (uint64_t)n, row_bytes);
    for (int i = 0; !status && i < n; i++)
        status = write_pass(p, &passes[i], writer, rows, &progress, &err);
    progress_end(&progress);
    free(rows.data);
    return status ? fail(p->run, p->run->common->output, &err) : EXIT_DONE;
}

static int write_table(struct positions *p, const struct pass *passes, int n, uint32_t dims,
                       const emb_array *array)
{
    emb_writer *writer;
    int code = position_open_writer(p, array, &writer);
    if (code)
        return code;
    code = write_passes(p, passes, n, dims, writer);
    return position_close_writer(p, writer, code);
}

int position_sinusoidal(struct positions *p)
{
    const struct pass pass = {.base = p->opts->base};
    p->dtype = p->dtype ? p->dtype : EMB_F32;
    const emb_array array = {
        .name = p->opts->name, .dtype = p->dtype, .ndim = 2, .shape = {p->length, p->dims}};
    return write_table(p, &pass, 1, p->dims, &array);
}

int position_rope(struct positions *p)
{
    emb_rope *rope;
    int code = position_open_rope(p, 0, p->start + p->length, &rope);
    if (code)
        return code;
    uint32_t pairs = emb_rope_describe(rope)->rotary_dims / 2;
    const struct pass passes[] = {{.rope = rope, .sine = false}, {.rope = rope, .sine = true}};
    p->dtype = p->dtype ? p->dtype : EMB_F32;
    const emb_array array = {
        .name = p->opts->name, .dtype = p->dtype, .ndim = 3, .shape = {2, p->length, pairs}};
    code = write_table(p, passes, 2, pairs, &array);
    emb_rope_close(rope);
    return code;
}
