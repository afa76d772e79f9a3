/* logits.h - what the parts of logits share: the head that was opened (logits.c), products
 * (logits_rows.c), probabilities (logits_softmax.c).
 */
#ifndef EMBI_OPS_LOGITS_H
#define EMBI_OPS_LOGITS_H

#include "table/table.h"

struct emb_logits {
    const emb_table *table;
    emb_logits_info info;
    double *bias;    /* [V], or NULL */
    char *bias_name; /* info.bias */
    bool as_model;
    double temperature;
    emb_device *device; /* of the search for the highest, or NULL */
};

/* Is a logit just the product? */
static inline bool embi_logits_plain(const emb_logits *l)
{
    const emb_logits_info *i = &l->info;
    return !l->bias && l->temperature == 1 && (!l->as_model || (i->scale == 1 && i->soft_cap == 0));
}

/* The factor of hidden states. */
static inline double embi_logits_hidden_scale(const emb_logits *l)
{
    return l->as_model ? l->info.hidden_scale : 1;
}

/* A logit from the product and the bias, x. Rises with x. */
double embi_logit_of(const emb_logits *l, double x);

/* EMB_BAD_ARG: hidden states of another type or width. EMB_BAD_DATA: one that is not finite. */
emb_status embi_logits_check(const emb_logits *l, const emb_block *h, emb_err *err);

/* Hidden state i in double precision, times its factor. */
void embi_logits_hidden(const emb_logits *l, const emb_block *h, size_t i, double *v);

#endif
