/* input_layer.h - the tables and numbers of what a model does before its first block: the rule of
 * its architecture, with tensors in place of names. Only found here; ops/assemble.c computes.
 */
#ifndef EMBI_MODEL_INPUT_LAYER_H
#define EMBI_MODEL_INPUT_LAYER_H

#include "model/input_rules.h"
#include "model/model.h"

/* A tensor beside the table, where it lies in its file: [rows, dims] of a float type, in the order
 * of this machine. A vector [dims] has one row. */
struct embi_side {
    emb_str name;     /* borrowed from the model */
    const char *data; /* NULL: there is none     */
    emb_dtype dtype;
    uint64_t rows;
    uint32_t dims;
};

/* What is asked for. */
struct embi_input_wants {
    bool whole; /* all that the model does, in place of the next ones but `types` */
    emb_positions positions;
    bool types, norm;
};

struct embi_input_layer {
    const char *type; /* the model type, or NULL                              (borrowed) */
    enum embi_input_step steps[EMBI_INPUT_STEPS]; /* those that are taken, in order */
    double scale;                                 /* 0: none */
    bool scale_rounded;                           /* to the table's type, before it multiplies */
    bool sinusoidal;                              /* positions are those of emb_sinusoid_rows */
    enum embi_input_positions kind; /* of the model, or LEARNED where it is asked for */
    enum embi_input_padding padding;
    uint64_t pad;         /* EMBI_PAD_ID: the id that is padding */
    uint64_t offset;      /* row of position 0 */
    uint64_t n_positions; /* positions that there are rows for; EMB_POSITION_MAX: no end */
    struct embi_side positions, types, norm, norm_bias, project, project_bias;
    double eps;
    uint32_t dims;  /* of the result */
    bool not_added; /* what is wanted has positions, but they are not rows that are added */
};

/* table: any table; its model decides. EMB_UNSUPPORTED: the model does not have what is wanted, or
 * nothing is known of it. EMB_BAD_DATA: shapes do not fit, or config.json is malformed. */
emb_status embi_input_layer_open(const emb_table *table, const struct embi_input_wants *wants,
                                 struct embi_input_layer *layer, emb_err *err);

#endif
