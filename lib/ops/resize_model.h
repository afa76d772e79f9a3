/* resize_model.h - the inside of emb_model_resize: resize_model.c plans, resize_model_text.c edits
 * the small files, resize_model_say.c puts the plan into the form of emb.h, resize_model_pieces.c
 * splits new tokens, resize_model_rows.c makes new entries, resize_model_write.c writes,
 * resize_model_check.c looks at the result.
 */
#ifndef EMBI_OPS_RESIZE_MODEL_H
#define EMBI_OPS_RESIZE_MODEL_H

#include "io/tree.h"
#include "model/file_edit.h"
#include "model/tokenizer_edit.h"
#include "model/vocab_tensors.h"
#include "ops/resize.h"

/* New entries of one tensor. */
struct embi_new_entries {
    bool changes;           /* the tensor is rewritten                                       */
    emb_table *opened;      /* of tables other than the embedding, or NULL                   */
    bool filled;            /* fill has begun                                                */
    struct embi_fill fill;  /* of tables that are no copies                                  */
    unsigned char entry[8]; /* of biases: every new entry                                    */
};

struct emb_model_resize {
    emb_ctx *ctx;
    struct emb_ctx quiet; /* the same without a log, for what was said before */
    const emb_table *table;
    struct embi_model *m; /* the table's */
    emb_resize_opts o;
    emb_model_resize_opts mo;
    char *root;   /* the directory, without links in its path */
    char *inside; /* "", or "0_Transformer/": where in it the model lies */
    int lock;
    emb_resize rows;
    struct embi_vocab_tensors v;
    struct embi_new_entries *entries; /* [v.n] */
    struct embi_tree tree;
    struct embi_file_edits edits; /* names are relative to where the model lies */

    emb_model_plan plan;
    emb_model_tensor *tensors;
    emb_model_file *files; /* names of new ones are malloc'd */
    bool *special;         /* [rows.n_added] */
    struct embi_token_fills fills;
    struct embi_made_of made_of;
    emb_token_pieces *pieces; /* [rows.n_added] into made_of.rows, or NULL */
    char **warnings;
};

/* r->o.next_id = the id of the first new token by the tokenizer's files, where any come. Refuses
 * what those files do not allow. */
emb_status embi_model_resize_next_id(emb_model_resize *r, emb_err *err);

/* r->edits = the small files that change; r->special. */
emb_status embi_model_resize_edit(emb_model_resize *r, emb_err *err);

/* With EMB_FILL_PIECES: r->made_of, r->pieces. Refuses a token that is split into nothing, warns of
 * one that is unknown as a whole. */
emb_status embi_model_resize_split(emb_model_resize *r, emb_err *err);

/* Makes r->plan of what is known. */
emb_status embi_model_resize_say(emb_model_resize *r, emb_err *err);

/* Adds a warning to the plan. */
emb_status embi_model_resize_warn(emb_model_resize *r, emb_err *err, const char *format, ...)
    EMBI_PRINTF(3, 4);

/* The name of a file of the model, from its name in the root; NULL: it lies elsewhere. */
const char *embi_model_resize_inside(const emb_model_resize *r, const char *name);

/* The weights file that an entry of the tree is, if tensors in it change; else SIZE_MAX. */
size_t embi_model_resize_shard(const emb_model_resize *r, const char *name);

const struct embi_tensor *embi_model_resize_tensor(const emb_model_resize *r, size_t i);

/* Begins the fills of all tables, and warns of new rows that are nearly equal. */
emb_status embi_new_entries_begin(emb_model_resize *r, emb_err *err);
void embi_new_entries_end(emb_model_resize *r);

/* dst = n new entries of tensor i, rows first .. of the plan; `nth` new ones are before them. n is
 * at most embi_new_entries_step. */
emb_status embi_new_entries_make(const emb_model_resize *r, size_t i, uint64_t first, uint64_t n,
                                 uint64_t nth, void *dst, emb_err *err);
uint64_t embi_new_entries_step(const emb_model_resize *r, size_t i);

/* Opens the directory that was written: has every tensor the entries that were planned, are copies
 * equal, has every token its id, every edited file its bytes? EMB_BUG where not. */
emb_status embi_model_resize_check(const emb_model_resize *r, const char *dir, emb_err *err);

#endif
