/* util/pool.c - see pool.h.
 *
 * A loop is published under the mutex as a new round; workers 1 .. helpers-1 take part in it, the
 * caller is worker 0. Items are claimed from one atomic counter. The round is over when every
 * helper has said so under the mutex, which is also what makes their results visible to the caller.
 * A worker that is not asked in a round need not even wake for it.
 */
#include "util/pool.h"

#include "util/err.h"
#include "util/signals.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { THREADS_MAX = 4096 };

struct worker {
    struct embi_pool *pool;
    pthread_t thread;
    uint64_t round; /* the last round it has seen; written before the thread starts, then by it */
    int number;     /* 1 .. threads-1                                                           */
};

struct embi_pool {
    int threads;            /* 0: not known yet                                          */
    int started;            /* workers [0 .. started-1] run                              */
    struct worker *workers; /* [threads - 1], made when the first is started              */

    pthread_mutex_t mutex; /* guards what follows, up to busy                            */
    pthread_cond_t begin, end;
    uint64_t round; /* loops so far                                              */
    int helpers;    /* workers 1 .. helpers take part in this round              */
    int busy;       /* of them, how many have not finished                       */
    bool stop;

    embi_item_fn *fn; /* the loop; set before its round is published             */
    void *arg;
    size_t n;
    atomic_size_t next;
};

emb_status embi_pool_new(int threads, struct embi_pool **out, emb_err *err)
{
    *out = NULL;
    if (threads < 0 || threads > THREADS_MAX)
        return embi_fail(err, EMB_BAD_ARG, -1, "threads: expected 0..%d, found %d", THREADS_MAX,
                         threads);
    struct embi_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return embi_fail_memory(err, sizeof *pool, "the thread pool");
    pool->threads = threads;
    pthread_mutex_init(&pool->mutex, NULL); /* with default attributes these three cannot fail */
    pthread_cond_init(&pool->begin, NULL);
    pthread_cond_init(&pool->end, NULL);
    *out = pool;
    return EMB_OK;
}

void embi_pool_free(struct embi_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->stop = true;
    pthread_cond_broadcast(&pool->begin);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->end);
    pthread_cond_destroy(&pool->begin);
    pthread_mutex_destroy(&pool->mutex);
    free(pool->workers);
    free(pool);
}

/* Counting the CPUs reads files, so it waits until somebody asks. */
static int settle_threads(struct embi_pool *pool)
{
    if (pool->threads == 0)
        pool->threads = (int)embi_min((uint64_t)embi_cpus_allowed(), THREADS_MAX);
    return pool->threads;
}

int embi_pool_threads(const struct embi_pool *pool)
{
    return settle_threads(
        (struct embi_pool *)pool); /* made by embi_pool_new, so not const itself */
}

static void work(struct embi_pool *pool, int number)
{
    for (;;) {
        size_t item = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (item >= pool->n)
            return;
        pool->fn(pool->arg, item, number);
    }
}

static void *worker_main(void *arg)
{
    struct worker *self = arg;
    struct embi_pool *pool = self->pool;
    pthread_mutex_lock(&pool->mutex);
    while (!pool->stop) {
        if (self->round == pool->round) {
            pthread_cond_wait(&pool->begin, &pool->mutex);
            continue;
        }
        self->round = pool->round;
        if (self->number > pool->helpers)
            continue;
        pthread_mutex_unlock(&pool->mutex);
        work(pool, self->number);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->end);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* Sees to it that `wanted` workers run, or as many as the system gives. Signals are for the
 * program's own threads. */
static void start_workers(struct embi_pool *pool, int wanted)
{
    if (pool->started >= wanted)
        return;
    if (!pool->workers)
        pool->workers = calloc((size_t)pool->threads - 1, sizeof *pool->workers);
    if (!pool->workers)
        return;
    sigset_t before;
    embi_signals_block(&before);
    while (pool->started < wanted) {
        struct worker *worker = &pool->workers[pool->started];
        *worker = (struct worker){.pool = pool, .round = pool->round, .number = pool->started + 1};
        if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0)
            break;
        pool->started++;
    }
    embi_signals_restore(&before);
}

void embi_pool_run(struct embi_pool *pool, size_t n, embi_item_fn *fn, void *arg)
{
    int helpers = 0;
    if (n > 1) {
        int wanted = (int)embi_min((uint64_t)settle_threads(pool), n) - 1;
        start_workers(pool, wanted);
        helpers = pool->started < wanted ? pool->started : wanted;
    }
    pool->fn = fn;
    pool->arg = arg;
    pool->n = n;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    if (helpers == 0) {
        work(pool, 0);
        return;
    }
    pthread_mutex_lock(&pool->mutex);
    pool->helpers = pool->busy = helpers;
    pool->round++;
    pthread_cond_broadcast(&pool->begin);
    pthread_mutex_unlock(&pool->mutex);

    work(pool, 0);

    pthread_mutex_lock(&pool->mutex);
    while (pool->busy > 0)
        pthread_cond_wait(&pool->end, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}
