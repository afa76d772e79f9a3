/* save.h - what the parts of saving a table in another format share.
 *
 * save.c plans and opens the files, save_tokens.c makes the tokens what the target can hold,
 * save_rows.c brings the rows over.
 */
#ifndef EMBI_OPS_SAVE_H
#define EMBI_OPS_SAVE_H

#include "ops/tokens_file.h"

enum { EMBI_SAVE_LOSSES = 4 };

struct emb_save {
    emb_ctx *ctx;
    const emb_table *table;
    emb_save_opts o; /* with every member there is */
    emb_save_plan plan;
    char *path;
    const struct embi_format *format;
    struct embi_tokens_file beside; /* where tokens go, or {0}: into the table's file */
    emb_str *tokens;                /* [rows] as they are written, or NULL */
    struct embi_buf changed;        /* those that are not as in the table */
    bool noted;                     /* the target holds what is known of them */
    struct embi_token_notes notes;  /* which is this */
    char *losses[EMBI_SAVE_LOSSES]; /* plan.losses */
};

/* The row of the table that becomes row i. */
static inline uint64_t embi_save_row(const emb_save *s, uint64_t i)
{
    return s->o.rows ? s->o.rows[i] : i;
}

/* Something is lost: `what`; `deed` says what is done about it. Notes it, or, where nothing may be
 * lost, is EMB_UNSUPPORTED "what; with --lossy deed". */
emb_status embi_save_loss(emb_save *s, const char *deed, emb_err *err, const char *what, ...)
    EMBI_PRINTF(4, 5);

/* Fills s->tokens with what the target takes, and chooses s->beside. */
emb_status embi_save_tokens(emb_save *s, emb_err *err);

/* All rows through the writer, which has begun; counts in s->plan. */
emb_status embi_save_rows(emb_save *s, emb_writer *writer, emb_err *err);

#endif
