/* loop.c - a parallel loop whose items can fail.
 *
 * Every item below the lowest failed one still runs: otherwise a later item's error could hide an
 * earlier one, and the message would depend on chance.
 */
#include "util/loop.h"

#include <pthread.h>
#include <stdatomic.h>

struct loop {
    embi_try_fn *fn;
    void *arg;
    atomic_size_t failed_item; /* lowest so far; n: none */
    pthread_mutex_t lock;      /* over err */
    emb_err *err;
};

static void run_item(void *arg, size_t item, int worker)
{
    struct loop *loop = arg;
    if (item > atomic_load_explicit(&loop->failed_item, memory_order_relaxed))
        return;
    emb_err err = {.at = -1};
    if (loop->fn(loop->arg, item, worker, &err) == EMB_OK)
        return;
    pthread_mutex_lock(&loop->lock);
    if (item < atomic_load(&loop->failed_item)) {
        atomic_store(&loop->failed_item, item);
        *loop->err = err;
    }
    pthread_mutex_unlock(&loop->lock);
}

emb_status embi_loop(struct embi_pool *pool, size_t n, embi_try_fn *fn, void *arg, emb_err *err)
{
    struct loop loop = {.fn = fn, .arg = arg, .lock = PTHREAD_MUTEX_INITIALIZER, .err = err};
    atomic_init(&loop.failed_item, n);
    if (pool) {
        embi_pool_run(pool, n, run_item, &loop);
    } else {
        for (size_t i = 0; i < n; i++)
            run_item(&loop, i, 0);
    }
    return atomic_load(&loop.failed_item) < n ? err->status : EMB_OK;
}
