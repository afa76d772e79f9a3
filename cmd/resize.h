/* resize.h - what `embtool resize` was asked for and is going to do; its parts share it.
 *
 * resize_args.c turns options into what the library wants, resize_say.c prints the plan, resize.c
 * holds the command and writes.
 */
#ifndef EMBTOOL_RESIZE_H
#define EMBTOOL_RESIZE_H

#include "cmd.h"
#include "token_list.h"

struct resize_opts {
    struct common common;
    const char *init, *keep, *reorder, *row_map, *save_tokens;
    struct opt_list remove;
    uint64_t multiple, rows;
    bool has_multiple, has_rows, shrink, dry_run, in_place;
};

/* Tags of the options whose order on the command line is the order of the new tokens. */
enum { RESIZE_ADD_LIST = 1, RESIZE_ADD_ONE, RESIZE_ADD_FILE };

struct names {
    emb_str *v; /* [n] */
    size_t n, cap;
};

struct resize {
    struct run *run;
    const struct resize_opts *opts;
    emb_table *table, *from; /* from: of --init from:FILE, or NULL */
    emb_table_info info;
    const char *target; /* path that is written; NULL with --dry-run alone */
    bool to_stdout;     /* the table itself goes to standard output */
    struct names add, remove;
    struct token_list keep, reorder;
    struct token_list *files; /* [n_files]: --tokens-file */
    size_t n_files;
    uint64_t *fill_rows;
    emb_resize_opts how;
    emb_resize plan;
};

/* Fills rz->how from the options; the table is open. Returns 0, or an exit code after the message.
 * resize_args_free in any case. */
int resize_args(struct resize *rz);
void resize_args_free(struct resize *rz);

/* The plan on standard output, as lines of `key TAB value` or as one JSON object; notes about it on
 * stderr. */
int resize_say(const struct resize *rz);

#endif
