/* profile.h - what S3 is asked with, where the files of Amazon's own tools say it.
 *
 * Only files of io/ include this.
 */
#ifndef EMBI_IO_PROFILE_H
#define EMBI_IO_PROFILE_H

#include "util/buf.h"
#include "util/env.h"

enum embi_profile_value {
    EMBI_PROFILE_ACCESS,
    EMBI_PROFILE_SECRET,
    EMBI_PROFILE_TOKEN,
    EMBI_PROFILE_REGION,
    EMBI_PROFILE_ENDPOINT,
    EMBI_PROFILE_VALUES
};

struct embi_profile {
    struct embi_s3 s3; /* all that is known: its strings are below, or the caller's */
    struct embi_buf values[EMBI_PROFILE_VALUES];
};

/* What `given` says, and what that leaves open as its profile says it, in the files that it names.
 * Keys that are given are taken alone, without a profile's. EMB_BAD_ARG: there is no such profile.
 * EMB_UNSUPPORTED: it gets its keys in a way that is not followed. EMB_BAD_DATA: a file is none of
 * the kind. Free it in any case. */
emb_status embi_profile_read(const struct embi_s3 *given, struct embi_profile *p, emb_err *err);
void embi_profile_free(struct embi_profile *p);

#endif
