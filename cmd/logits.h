/* logits.h - what the files of the logits command share. Nobody else includes it.
 */
#ifndef EMBTOOL_LOGITS_H
#define EMBTOOL_LOGITS_H

#include "out.h"
#include "progress.h"

#define LOGITS_ARRAYS  "npy|npz|safetensors|raw"
#define LOGITS_FORMATS "text|json|" LOGITS_ARRAYS

struct logits_opts {
    struct common common;
    uint64_t k, digits;
    double temperature;
    const char *name;
    bool has_k, has_temperature, softmax, as_model;
};

struct logits_run {
    struct run *run;
    const struct logits_opts *opts;
    const char *format;
    const char *hidden_path; /* as it was named */
    emb_table *table, *hidden;
    emb_table_info info, hidden_info;
    emb_logits *logits;
    struct progress progress;
};

/* logits_top.c: the highest logits of each hidden state, as text or JSON. */
int logits_top(struct logits_run *l);

/* logits_array.c: all of them, as an array. */
int logits_array(struct logits_run *l);

/* Hidden states first .. first+n-1, as f64 [n, d]. */
int logits_hidden(struct logits_run *l, uint64_t first, size_t n, double *to);

/* A call about hidden states first .. failed: err.at counts them from there. */
int logits_failed(struct logits_run *l, uint64_t first, const emb_err *err);

#endif
