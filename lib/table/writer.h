/* table/writer.h - what writers of other layers need of the one for tables: how options open a
 * file, and a writer whose file is a part of something larger, which appears with it. */
#ifndef EMBI_TABLE_WRITER_H
#define EMBI_TABLE_WRITER_H

#include "emb.h"

/* As emb_writer_open, with what is known of opts->all_tokens beside their names (NULL: nothing),
 * which stays the caller's until the writer is closed. */
struct embi_token_notes;
emb_status embi_writer_open_noted(emb_ctx *ctx, const char *path, const emb_array *arrays, size_t n,
                                  const emb_write_opts *opts, const struct embi_token_notes *notes,
                                  emb_writer **writer, emb_err *err);

/* All that emb_writer_commit does but give the file its name. */
emb_status embi_writer_prepare(emb_writer *writer, emb_err *err);

/* EMBI_IO_WRITE with what the options say of replacing and syncing. */
unsigned embi_write_mode(const emb_write_opts *opts);

/* commit comes after that of the file, close after the file was closed. */
struct embi_writer_owner {
    void *state; /* NULL: none */
    emb_status (*commit)(void *state, emb_err *err);
    void (*close)(void *state);
};

/* The writer owns the state from then on. */
void embi_writer_own(emb_writer *writer, const struct embi_writer_owner *owner);

#endif
