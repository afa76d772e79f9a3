/* position_apply.c - queries and keys, turned by their positions, in blocks as they are read. */
#include "position.h"
#include "progress.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { AXES_MAX = 4 }; /* of an array that is written */

struct turning {
    struct positions *p;
    emb_table *table;
    emb_table_info info;
    int axis;
    uint64_t length, inner; /* positions, and rows between one and the next */
    emb_rope *rope;
    emb_writer *writer;
    double *rows; /* [room, D] */
    void *made;   /* the same in the type that is written */
    uint64_t room;
    uint64_t overflows;
    struct progress progress;
};

/* "-2", "1". */
static bool parse_axis(const char *text, int *axis)
{
    uint64_t x;
    bool minus = text[0] == '-';
    if (!opt_u64(text + minus, &x) || x > EMB_TENSOR_DIMS)
        return false;
    *axis = minus ? -(int)x : (int)x;
    return true;
}

/* The place of the axis, which is any but the last. */
static int choose_axis(struct turning *t)
{
    struct run *run = t->p->run;
    const char *text = t->p->opts->axis, *path = t->p->opts->apply;
    int ndim = t->info.ndim, axis = -2;
    if (ndim < 2 || ndim > AXES_MAX)
        return fail_with(run, EXIT_DATA, path, "expected [..., L, D], 2 to %d axes, found %d",
                         AXES_MAX, ndim);
    if (text && !parse_axis(text, &axis))
        return usage_error(run, "--axis %s: expected the number of an axis, as 1 or -2", text);
    t->axis = axis < 0 ? axis + ndim : axis;
    if (t->axis < 0 || t->axis >= ndim - 1)
        return usage_error(run, "--axis %d: %s has %d axes, the last of which is D", axis, path,
                           ndim);
    t->length = t->info.shape[t->axis];
    t->inner = 1;
    for (int i = t->axis + 1; i < ndim - 1; i++)
        t->inner *= t->info.shape[i];
    return EXIT_DONE;
}

static int open_input(struct turning *t)
{
    struct run *run = t->p->run;
    const char *path = t->p->opts->apply;
    emb_open_opts opts = {.size = sizeof opts, .flat = true};
    emb_err err;
    watch_file(run, path);
    if (emb_table_open(run->ctx, path, &opts, &t->table, &err) != EMB_OK ||
        emb_table_describe(t->table, &t->info, &err) != EMB_OK)
        return fail(run, path, &err);
    report_input(run, t->info.path);
    if (!emb_dtype_is_float(t->info.dtype))
        return fail_with(run, EXIT_DATA, path, "numbers of type %s do not turn: expected floats",
                         emb_dtype_name(t->info.dtype));
    if (t->p->dims && t->p->dims != t->info.dims)
        return fail_with(run, EXIT_DATA, path, "heads of %u channels: -D says %u", t->info.dims,
                         t->p->dims);
    int code = choose_axis(t);
    if (!code && t->p->length && t->p->length != t->length)
        code = fail_with(run, EXIT_DATA, path, "%" PRIu64 " positions: -L says %" PRIu64, t->length,
                         t->p->length);
    return code;
}

/* Types that every format holds are kept. */
static emb_dtype kept(emb_dtype dtype)
{
    return dtype == EMB_F64 || dtype == EMB_F16 ? dtype : EMB_F32;
}

static bool make_room(struct turning *t, const emb_block *block)
{
    uint64_t n;
    if (block->rows <= t->room)
        return true;
    if (!embi_mul(block->rows, block->dims, &n) || n > SIZE_MAX / sizeof(double))
        return false;
    free(t->rows);
    free(t->made);
    t->rows = malloc(n * sizeof *t->rows);
    t->made = malloc(n * sizeof(double));
    t->room = t->rows && t->made ? block->rows : 0;
    return t->room > 0;
}

static emb_status turn_block(void *arg, const emb_block *block, uint64_t first, emb_err *err)
{
    struct turning *t = arg;
    size_t n = block->rows * block->dims;
    if (!make_room(t, block)) {
        *err = (emb_err){
            .status = EMB_NO_MEMORY, .at = -1, .msg = "out of memory for a block of rows"};
        return EMB_NO_MEMORY;
    }
    size_t row_bytes = block->dims * sizeof(double);
    size_t stride = block->stride_bytes ? block->stride_bytes : row_bytes;
    for (uint64_t r = 0; r < block->rows; r++)
        memcpy(t->rows + r * block->dims, (const char *)block->data + r * stride, row_bytes);
    emb_block rows = {t->rows, block->rows, block->dims, EMB_F64, 0};
    emb_block made = {t->made, block->rows, block->dims, t->p->dtype, 0};
    emb_status status = emb_rope_turn(t->rope, t->p->start, t->length, t->inner, first, &rows, err);
    if (!status)
        status = emb_convert(t->made, made.dtype, t->rows, EMB_F64, n, &t->overflows, err);
    if (!status)
        status = emb_writer_put(t->writer, &made, NULL, err);
    progress_add(&t->progress, block->rows);
    return status;
}

static int turn_all(struct turning *t)
{
    struct positions *p = t->p;
    emb_array array = {.name = p->opts->name, .dtype = p->dtype, .ndim = t->info.ndim};
    emb_err err;
    memcpy(array.shape, t->info.shape, (size_t)array.ndim * sizeof array.shape[0]);
    int code = position_open_writer(p, &array, &t->writer);
    if (code)
        return code;
    progress_begin(&t->progress, p->run, t->info.rows, emb_dtype_row_bytes(p->dtype, t->info.dims));
    emb_status status = emb_table_scan(t->table, 0, t->info.rows, EMB_F64, turn_block, t, &err);
    progress_end(&t->progress);
    if (status)
        code = fail(p->run, p->opts->apply, &err);
    return position_close_writer(p, t->writer, code);
}

int position_apply(struct positions *p)
{
    struct turning t = {.p = p};
    int code = open_input(&t);
    if (!code && t.length > EMB_POSITION_MAX - p->start)
        code = usage_error(p->run, "--start: expected positions below 2^53");
    if (!code)
        code = position_open_rope(p, t.info.dims, p->start + t.length, &t.rope);
    if (!code)
        p->dtype = p->dtype ? p->dtype : kept(t.info.dtype);
    if (!code)
        code = turn_all(&t);
    if (!code && t.overflows)
        warn(p->run, NULL, "%" PRIu64 " numbers do not fit %s", t.overflows,
             emb_dtype_name(p->dtype));
    emb_rope_close(t.rope);
    emb_table_close(t.table);
    free(t.rows);
    free(t.made);
    return code;
}
