/* shard.h - what the parts of `embtool shard` share: shard.c has the options and cuts, shard_join.c
 * joins, shard_say.c says what was made. */
#ifndef EMBTOOL_SHARD_H
#define EMBTOOL_SHARD_H

#include "cmd.h"

struct shard_opts {
    struct common common;
    uint64_t parts;
    int axis;
    bool has_parts, has_axis, join, lossy, dry_run;
};

/* The shards as text or JSON on standard output. Returns 0, or an exit code after the message. */
int shard_say(struct run *run, const struct shard_opts *o, const emb_shards *shards);

/* Makes a file of the table, which is a directory of shards, and says it. Likewise. */
int shard_join(struct run *run, const struct shard_opts *o, emb_table *table,
               const emb_table_info *info);

#endif
