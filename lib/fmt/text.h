/* text.h - what the two halves of the text reader know of an open file. Only for text*.c. */
#ifndef EMBI_FMT_TEXT_H
#define EMBI_FMT_TEXT_H

#include "fmt/words.h"

/* embi_reader.state */
struct embi_text {
    bool header;
    uint64_t header_rows; /* with a header: the rows it promises */
    uint64_t body;        /* offset of the first row's line */
    const char *data;     /* the whole file; set by walk */
};

emb_status embi_text_walk(struct embi_reader *r, emb_err *err);
emb_status embi_text_tokens(struct embi_reader *r, emb_err *err);
emb_status embi_text_rows(const struct embi_reader *r, uint64_t first, uint64_t n, float *dst,
                          emb_err *err);

#endif
