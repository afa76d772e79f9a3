/* token_list.h - tokens from a file with one a line, all in memory. */
#ifndef EMBTOOL_TOKEN_LIST_H
#define EMBTOOL_TOKEN_LIST_H

#include "cmd.h"
#include "util/buf.h"

struct token_list {
    struct embi_buf bytes;
    emb_str *v; /* [n] */
    size_t n;
};

/* Reads `path` ("-": standard input). Returns 0, or an exit code after the message: an empty line
 * is no token (3). Free with token_list_free in any case. */
int token_list_read(struct token_list *list, struct run *run, const char *path);
void token_list_free(struct token_list *list);

#endif
