/* resize.h - what `embtool resize` was asked for and is going to do; its parts share it.
 *
 * resize_args.c and resize_names.c turn options into what the library wants, resize_say.c and
 * resize_say_model.c print the plan, resize_table.c and resize_model.c write, resize.c holds the
 * command.
 */
#ifndef EMBTOOL_RESIZE_H
#define EMBTOOL_RESIZE_H

#include "cmd.h"
#include "token_list.h"

struct resize_opts {
    struct common common;
    const char *init, *keep, *reorder, *row_map, *save_tokens;
    struct opt_list remove, renames, roles;
    uint64_t multiple, rows;
    int special; /* 1 --special, -1 --no-special */
    bool has_multiple, has_rows, shrink, dry_run, in_place, link, no_tokenizer;
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
    bool is_model;
    char *dir, *file;   /* where a file of a model was named: its directory, its name; else NULL */
    const char *target; /* path that is written; NULL with --dry-run alone */
    bool to_stdout;     /* the table itself goes to standard output */
    char *beside;       /* the file of its tokens beside it, or NULL */
    struct names add, remove;
    struct token_list keep, reorder;
    struct token_list *files; /* [n_files]: --tokens-file */
    size_t n_files;
    uint64_t *fill_rows;
    emb_resize_opts how;
    emb_resize plan; /* of a model: borrowed from model_plan */
    emb_token_rename *renames;
    emb_token_role *roles;
    char **role_names; /* of roles [n_roles] */
    emb_model_resize_opts model_how;
    const emb_model_plan *model_plan; /* NULL: a single file */
};

/* Fills rz->how from the options; the table is open. Returns 0, or an exit code after the message.
 * resize_args_free in any case. */
int resize_args(struct resize *rz);
void resize_args_free(struct resize *rz);

/* --rename-token and --role, likewise. */
int resize_names(struct resize *rz);
void resize_names_free(struct resize *rz);

/* Options that mean nothing for what the table is. */
int resize_check_table_opts(struct resize *rz);
int resize_check_model_opts(struct resize *rz);

/* A model of the hub is resized from whole files: brings them. */
int resize_bring_model(struct resize *rz, const char *url);

/* Opens the directory of the file that rz->table was opened from, in its place. */
int resize_open_model_of(struct resize *rz);

int resize_table(struct resize *rz);
int resize_model(struct resize *rz);

/* The plan on standard output, as lines of `key TAB value` or as one JSON object; notes about it on
 * stderr. */
int resize_say(const struct resize *rz);

struct out;

/* What it says of a model besides: tensors, files, names, roles. The JSON ends with a comma. */
void resize_say_model_text(const struct resize *rz, struct out *out);
void resize_say_model_json(const struct resize *rz, struct out *out);

#endif
