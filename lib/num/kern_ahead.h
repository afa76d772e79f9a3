/* kern_ahead.h - for kernels alone: memory that is asked for while tiles are multiplied. */
#ifndef EMBI_NUM_KERN_AHEAD_H
#define EMBI_NUM_KERN_AHEAD_H

#include "util/base.h"

/* So many lines in each step of a kernel. */
struct ahead {
    const char *at;
    size_t lines;
};

static inline void ask_ahead(struct ahead *ahead)
{
    for (size_t i = 0; i < ahead->lines; i++, ahead->at += 64)
        __builtin_prefetch(ahead->at, 0, 2);
}

#endif
