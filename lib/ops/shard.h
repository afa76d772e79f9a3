/* shard.h - what planning shards (shard.c) and writing them (shard_write.c) share. */
#ifndef EMBI_OPS_SHARD_H
#define EMBI_OPS_SHARD_H

#include "model/model.h"
#include "model/shards.h"
#include "ops/save.h"

/* Along which axis a tensor, looked at as rows of numbers, is cut. */
enum embi_shard_cut {
    EMBI_CUT_ROWS,
    EMBI_CUT_COLUMNS,
    EMBI_CUT_NONE /* each file has all of it */
};

struct embi_shard_source {
    const emb_table *table; /* a bias is one row [1, V] */
    emb_table *own;         /* the same, where it was opened for this; or NULL */
    enum embi_shard_cut cut;
};

struct emb_shards {
    emb_ctx *ctx;
    const emb_table *table;
    char *path;
    emb_shards_opts o;                 /* with every member there is                  */
    struct embi_shard kind;            /* axis, size and total; of rank 0             */
    struct embi_model *model;          /* whose small files are copied, or NULL       */
    emb_save *save;                    /* what tokens lie beside the first file       */
    struct embi_shard_source *sources; /* [plan.n_tensors]                            */
    emb_shards_tensor *tensors;        /* [plan.n_tensors] */
    emb_shards_plan plan;
};

#endif
