/* convert.h - what the parts of `embtool convert` share: convert.c has the options and the order of
 * things, convert_select.c reads --select, convert_say.c says what was, or would be, made. */
#ifndef EMBTOOL_CONVERT_H
#define EMBTOOL_CONVERT_H

#include "cmd.h"

struct convert_opts {
    struct common common;
    const char *select, *select_tokens, *header, *separator, *name;
    bool normalize, lossy, dry_run;
};

struct convert {
    struct run *run;
    const struct convert_opts *opts;
    const char *target;
    emb_table *table;
    emb_table_info info;
    struct embi_buf rows; /* of --select: uint64_t */
    emb_save *save;
};

/* Fills cv->rows. Returns 0, or an exit code after the messages: 1 where tokens are unknown. */
int convert_select(struct convert *cv);

/* What a user may not expect, before anything is written; what happened to numbers, after. */
void convert_warn(const struct convert *cv);
void convert_warn_after(const struct convert *cv);

/* The plan as text or JSON on standard output, unless the table goes there. */
int convert_say(const struct convert *cv);

#endif
