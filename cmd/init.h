/* init.h - the plan of a new table: all that can be refused is refused here, before a file exists.
 */
#ifndef EMBTOOL_INIT_H
#define EMBTOOL_INIT_H

#include "cmd.h"
#include "token_list.h"

#define INIT_FORMATS "safetensors|npy|npz|word2vec|word2vec-text|text|raw"

struct init_opts {
    struct common common;
    const char *dist, *tokens, *name;
    double std;
    uint64_t padding_idx, multiple;
    bool has_std, has_padding, has_multiple, dry_run;
};

/* What will be made. */
struct plan {
    struct run *run;
    const struct init_opts *opts;
    const char *format;
    emb_array array; /* [V, D] */
    emb_init_opts how;
    struct token_list tokens;
};

/* Fills the plan from its options and the run's arguments. Returns 0, or an exit code after the
 * message. plan->tokens is to be freed in any case. */
int init_plan(struct plan *plan);

#endif
