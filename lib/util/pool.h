/* pool.h - the one owner of threads: a small pool that runs the items of one loop at a time.
 *
 * Threads are started when a loop first asks for them. Which thread runs which item is chance, so
 * an item must write to places of its own; what depends on order is joined afterwards in item
 * order.
 */
#ifndef EMBI_UTIL_POOL_H
#define EMBI_UTIL_POOL_H

#include "util/base.h"

struct embi_pool;

/* One item of a loop; worker is below embi_pool_threads and lets an item use that worker's scratch.
 */
typedef void embi_item_fn(void *arg, size_t item, int worker);

/* threads: 0 = as many CPUs as this process may use (affinity, then the cgroup's quota). */
emb_status embi_pool_new(int threads, struct embi_pool **pool, emb_err *err);
void embi_pool_free(struct embi_pool *pool);
int embi_pool_threads(const struct embi_pool *pool);

/* Runs fn for items 0 .. n-1 and returns when all are done. The calling thread takes part. With
 * n == 1 or one thread no thread is started. If no thread can be started, the caller does it all.
 * Not reentrant: an item may not call it. */
void embi_pool_run(struct embi_pool *pool, size_t n, embi_item_fn *fn, void *arg);

/* The CPUs this process may use: sched_getaffinity, cut by cpu.max of its cgroup (rounded up). */
int embi_cpus_allowed(void);

#endif
