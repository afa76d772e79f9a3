/* save.c - a table, or rows of it, saved in another format: the plan, and the files.
 *
 * Formats are asked what they can hold: their check says which types, their caps and `refuses`
 * which tokens. The tokens' file, where there is one, is complete before the table is, and gets its
 * name just before it.
 */
#include "ops/save.h"

#include "table/writer.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

emb_status embi_save_loss(emb_save *s, const char *deed, emb_err *err, const char *what, ...)
{
    va_list args;
    char line[sizeof err->msg];
    va_start(args, what);
    (void)vsnprintf(line, sizeof line, what, args);
    va_end(args);
    if (!s->o.lossy)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s; with --lossy %s", line, deed);
    struct embi_buf text = {0};
    embi_buf_print(&text, "%s: %s", line, deed);
    if (s->plan.n_losses == EMBI_SAVE_LOSSES || !*embi_buf_cstr(&text)) {
        embi_buf_free(&text);
        return embi_fail_memory(err, sizeof line, "a message");
    }
    s->losses[s->plan.n_losses++] = text.s;
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Plan
 */

static void take_opts(emb_save *s, const emb_save_opts *o)
{
    s->o = (emb_save_opts){
        .format = EMBI_HAS(o, format) ? o->format : NULL,
        .dtype = EMBI_HAS(o, dtype) ? o->dtype : EMB_DTYPE_NONE,
        .rows = EMBI_HAS(o, n_rows) ? o->rows : NULL,
        .n_rows = EMBI_HAS(o, n_rows) ? o->n_rows : 0,
        .normalize = EMBI_HAS(o, normalize) && o->normalize,
        .lossy = EMBI_HAS(o, lossy) && o->lossy,
        .strict = EMBI_HAS(o, strict) && o->strict,
        .header = EMBI_HAS(o, header) ? o->header : 0,
        .separator = EMBI_HAS(o, separator) ? o->separator : 0,
        .name = EMBI_HAS(o, name) ? o->name : NULL,
        .done = EMBI_HAS(o, done_arg) ? o->done : NULL,
        .done_arg = EMBI_HAS(o, done_arg) ? o->done_arg : NULL,
    };
}

static emb_status choose_format(emb_save *s, emb_err *err)
{
    const char *name = s->o.format;
    s->format = name ? embi_format_by_name(name) : embi_format_by_ext(s->path, true);
    if (!s->format && name)
        return embi_fail(err, EMB_BAD_ARG, -1, "there is no format '%s'", name);
    if (!s->format)
        return embi_format_fail_ext(EMB_BAD_ARG, true, err);
    if (!(s->format->caps & EMBI_FMT_WRITE))
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s cannot be written", s->format->name);
    s->plan.format = s->format->name;
    if (!s->o.name && !s->format->array_name && !s->table->reader->format->array_name)
        s->o.name = s->table->tensor; /* else by the custom of the new format */
    s->plan.text = s->format->caps & EMBI_FMT_DECIMAL;
    return EMB_OK;
}

static emb_status check_rows(emb_save *s, emb_err *err)
{
    uint64_t rows = s->table->layout.rows;
    s->plan.rows = s->o.rows ? s->o.n_rows : rows;
    s->plan.dims = s->table->layout.dims;
    for (uint64_t i = 0; s->o.rows && i < s->plan.rows; i++)
        if (s->o.rows[i] >= rows)
            return embi_fail(err, EMB_RANGE, (int64_t)i, "row %" PRIu64 " of %" PRIu64,
                             s->o.rows[i], rows);
    return EMB_OK;
}

static emb_array array_of(const emb_save *s, emb_dtype dtype)
{
    return (emb_array){s->o.name, dtype, 2, {s->plan.rows, s->plan.dims}};
}

/* EMB_OK if the format can hold the rows as this type. */
static emb_status try_type(const emb_save *s, emb_dtype dtype, emb_err *err)
{
    emb_array array = array_of(s, dtype);
    if (emb_dtype_row_bytes(dtype, s->plan.dims) == 0)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "%s needs rows of a multiple of %" PRIu32 " numbers, these have %" PRIu32,
                         emb_dtype_name(dtype), emb_dtype_block(dtype), s->plan.dims);
    array.name = "x"; /* its own is looked at when the writer is opened */
    struct embi_sink sink = {.env = s->table->env,
                             .format = s->format,
                             .arrays = &array,
                             .n = 1,
                             .tokens = s->tokens && !s->beside.kind,
                             .all_tokens = s->beside.kind ? NULL : s->tokens};
    return s->format->check ? s->format->check(&sink, err) : EMB_OK;
}

/* Does f32, or f64, hold every number of the type? */
static bool widens_to(emb_dtype from, emb_dtype to)
{
    switch (from) {
    case EMB_F64:
    case EMB_I64:
    case EMB_U64: return false;
    case EMB_I32:
    case EMB_U32: return to == EMB_F64;
    default: return true;
    }
}

/* In decimal text a small float would be as short as its own type allows, and be read as another
 * number of a wider one. Of blocks only the numbers are text. */
static bool is_small_float(emb_dtype dtype)
{
    return emb_dtype_block(dtype) > 1 ||
           (emb_dtype_is_float(dtype) && emb_dtype_bytes(dtype) < sizeof(float));
}

static emb_status choose_type(emb_save *s, emb_err *err)
{
    const emb_dtype own = s->table->layout.dtype, wider[] = {EMB_F32, EMB_F64};
    emb_err first = {0};
    s->plan.dtype = s->o.dtype ? s->o.dtype : own;
    if (!s->o.dtype && s->plan.text && is_small_float(own))
        s->plan.dtype = EMB_F32;
    emb_status status = try_type(s, s->plan.dtype, &first);
    bool another = status == EMB_UNSUPPORTED && !s->o.dtype;
    for (size_t i = 0; another && i < EMBI_LEN(wider); i++)
        if (widens_to(own, wider[i]) && try_type(s, wider[i], err) == EMB_OK) {
            s->plan.dtype = wider[i];
            s->plan.widened = true;
            return EMB_OK;
        }
    if (!another || try_type(s, EMB_F32, err) != EMB_OK) {
        *err = first;
        return status;
    }
    s->plan.dtype = EMB_F32;
    return embi_save_loss(s, "numbers are rounded to f32", err, "%s cannot hold %s",
                          s->format->name, emb_dtype_name(own));
}

static emb_status plan(emb_save *s, emb_err *err)
{
    emb_status status = embi_table_ready(s->table, err);
    if (!status)
        status = choose_format(s, err);
    if (!status)
        status = embi_refuse_source(s->table, s->path, err);
    if (!status)
        status = check_rows(s, err);
    if (!status)
        status = embi_save_tokens(s, err);
    if (!status)
        status = choose_type(s, err);
    s->plan.tokens = s->tokens != NULL;
    s->plan.beside = s->beside.path;
    s->plan.losses = (const char *const *)s->losses;
    return status;
}

emb_status emb_save_open(emb_ctx *ctx, const emb_table *table, const char *path,
                         const emb_save_opts *opts, emb_save **save, emb_err *err)
{
    emb_save *s = calloc(1, sizeof *s);
    *save = NULL;
    if (!s)
        return embi_fail_memory(err, sizeof *s, "what is saved");
    s->ctx = ctx;
    s->table = table;
    s->path = strdup(path);
    take_opts(s, opts);
    emb_status status = s->path ? plan(s, err) : embi_fail_memory(err, strlen(path), "a path");
    if (status)
        emb_save_close(s);
    else
        *save = s;
    return status;
}

const emb_save_plan *emb_save_plan_of(const emb_save *save)
{
    return &save->plan;
}

void emb_save_close(emb_save *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < EMBI_SAVE_LOSSES; i++)
        free(s->losses[i]);
    embi_buf_free(&s->changed);
    free(s->tokens);
    embi_notes_free(&s->notes);
    embi_tokens_file_free(&s->beside);
    free(s->path);
    free(s);
}

/* ------------------------------------------------------------------------------------------------
 * Writing
 */

static emb_status open_writer(emb_save *s, const emb_write_opts *w, emb_writer **writer,
                              emb_err *err)
{
    emb_array array = array_of(s, s->plan.dtype);
    emb_write_opts opts = {.size = sizeof opts,
                           .format = s->format->name,
                           .force = EMBI_HAS(w, force) && w->force,
                           .sync = EMBI_HAS(w, sync) ? w->sync : 0,
                           .all_tokens = s->beside.kind ? NULL : s->tokens,
                           .header = s->o.header,
                           .separator = s->o.separator,
                           .tokens_in = s->beside.kind ? s->beside.kind->ending : NULL};
    const struct embi_token_notes *notes = s->noted ? &s->notes : NULL;
    return embi_writer_open_noted(s->ctx, s->path, &array, 1, &opts, notes, writer, err);
}

/* Both names appear, the table's last. */
static emb_status commit(emb_save *s, emb_writer *writer, emb_err *err)
{
    emb_status status = embi_writer_prepare(writer, err);
    if (status)
        return status;
    status = embi_tokens_file_commit(&s->beside, s->path, err);
    s->plan.failed = status ? s->beside.path : NULL;
    if (status)
        return status;
    status = emb_writer_commit(writer, err);
    embi_tokens_file_end(&s->beside, s->path);
    return status;
}

static emb_status check_overflows(const emb_save *s, emb_err *err)
{
    if (!s->o.strict || !s->plan.overflows)
        return EMB_OK;
    return embi_fail(err, EMB_BAD_DATA, -1, "numbers outside the range of %s: %" PRIu64,
                     emb_dtype_name(s->plan.dtype), s->plan.overflows);
}

emb_status emb_save_write(emb_save *s, const emb_write_opts *wopts, emb_err *err)
{
    emb_writer *writer;
    emb_status status = open_writer(s, wopts, &writer, err);
    if (status)
        return status;
    status = embi_tokens_file_write(&s->beside, s->table, s->tokens, s->plan.rows, wopts, err);
    s->plan.failed = status ? s->beside.path : NULL;
    if (!status)
        status = embi_save_rows(s, writer, err);
    if (!status)
        status = check_overflows(s, err);
    if (!status)
        status = commit(s, writer, err);
    emb_writer_close(writer);
    return status;
}
