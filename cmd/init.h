/* init.h - the plan of new tables: all that can be refused is refused here, before a file exists.
 */
#ifndef EMBTOOL_INIT_H
#define EMBTOOL_INIT_H

#include "cmd.h"
#include "out.h"
#include "token_list.h"

#define INIT_FORMATS "safetensors|npy|npz|word2vec|word2vec-text|text|raw"

struct init_opts {
    struct common common;
    const char *dist, *tokens, *name;
    const char *preset, *like, *arch, *tokenizer;
    double std;
    uint64_t padding_idx, multiple, positions;
    bool has_std, has_padding, has_multiple, has_positions, untied, dry_run;
};

/* What will be made. */
struct plan {
    struct run *run;
    const struct init_opts *opts;
    bool dir;             /* the output is a model directory                               */
    const char *format;   /* of the output where it is a file                              */
    emb_new_model *model; /* NULL: one table, of no model                                  */
    emb_array arrays[EMB_NEW_TENSORS]; /* [V, D], [T, D], [V, D]; ndim 0: there is none     */
    emb_init_opts how;
    struct token_list tokens;
};

/* Fills the plan from its options and the run's arguments. Returns 0, or an exit code after the
 * message. plan->tokens and plan->model are to be freed in any
 * case. */
int init_plan(struct plan *plan);

/* Were the tables of a model asked for, rather than one table? */
bool init_is_model(const struct plan *plan);

/* The part of init_plan that settles the tables of a model. */
int init_plan_model(struct plan *plan);

/* V and D of the run's arguments; *rows is left alone where only D is there, which must be allowed:
 * `from` says by what. */
int init_shape(struct plan *plan, const char *from, uint64_t *rows, uint64_t *dims);

/* Says what was made; nothing where the tables themselves went to standard output. */
int init_say(const struct plan *plan);

#endif
