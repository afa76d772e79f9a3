/* loop.h - a parallel loop whose items can fail. */
#ifndef EMBI_UTIL_LOOP_H
#define EMBI_UTIL_LOOP_H

#include "util/pool.h"

typedef emb_status embi_try_fn(void *arg, size_t item, int worker, emb_err *err);

/* Runs fn for items 0 .. n-1 as embi_pool_run does. Reports the error of the lowest item that
 * failed (items after it may not have run), so that the message does not depend on the threads.
 * pool may be NULL: the calling thread does it all. */
emb_status embi_loop(struct embi_pool *pool, size_t n, embi_try_fn *fn, void *arg, emb_err *err);

#endif
