/* table/writer.h - a writer whose file is a part of something larger, which appears with it. */
#ifndef EMBI_TABLE_WRITER_H
#define EMBI_TABLE_WRITER_H

#include "emb.h"

/* commit comes after that of the file, close after the file was closed. */
struct embi_writer_owner {
    void *state; /* NULL: none */
    emb_status (*commit)(void *state, emb_err *err);
    void (*close)(void *state);
};

/* The writer owns the state from then on. */
void embi_writer_own(emb_writer *writer, const struct embi_writer_owner *owner);

#endif
