/* gpus.c - see gpus.h. */
#include "dev/gpus.h"

#include "util/signals.h"

#include <stdio.h>
#include <stdlib.h>

uint64_t embi_gpus_cut(uint64_t all, int i, int n)
{
    const uint64_t more = all % (uint64_t)n, before = (uint64_t)i;
    return all / (uint64_t)n * before + embi_min(before, more);
}

/* ------------------------------------------------------------------------------------------------
 * Threads
 */

struct task {
    embi_gpu_fn *fn;
    void *arg;
    int which, result;
    bool started;
    pthread_t thread;
    struct embi_cuda_fault fault;
};

static void *task_main(void *arg)
{
    struct task *t = arg;
    t->result = t->fn(t->arg, t->which, &t->fault);
    return NULL;
}

/* The first is the caller's own, and so are those for which there is no thread to be had. Signals
 * are for the program's threads. */
static void run_all(struct task *tasks, int n)
{
    sigset_t before;
    embi_signals_block(&before);
    for (int i = 1; i < n; i++)
        tasks[i].started = pthread_create(&tasks[i].thread, NULL, task_main, &tasks[i]) == 0;
    embi_signals_restore(&before);
    for (int i = 0; i < n; i++)
        if (!tasks[i].started)
            task_main(&tasks[i]);
    for (int i = 1; i < n; i++)
        if (tasks[i].started)
            pthread_join(tasks[i].thread, NULL);
}

int embi_gpus_run(const emb_device *device, embi_gpu_fn *fn, void *arg,
                  struct embi_cuda_fault *fault)
{
    struct task tasks[EMBI_GPUS_MOST];
    if (device->n == 1)
        return fn(arg, 0, fault);
    for (int i = 0; i < device->n; i++)
        tasks[i] = (struct task){.fn = fn, .arg = arg, .which = i};
    run_all(tasks, device->n);
    for (int i = 0; i < device->n; i++) {
        if (tasks[i].result == EMBI_CUDA_DONE)
            continue;
        snprintf(fault->msg, sizeof fault->msg, "device %d: %.180s", device->gpus[i].ordinal,
                 tasks[i].fault.msg);
        return tasks[i].result;
    }
    return EMBI_CUDA_DONE;
}

/* ------------------------------------------------------------------------------------------------
 * Turns
 */

bool embi_gpus_fill(emb_device *device, embi_cuda_fill_fn *fill, void *arg, uint64_t first,
                    uint64_t n, void *to, uint64_t pitch)
{
    pthread_mutex_lock(&device->turn);
    bool filled = fill(arg, first, n, to, pitch);
    pthread_mutex_unlock(&device->turn);
    return filled;
}

void embi_gpus_put(emb_device *device, embi_cuda_put_fn *put, void *arg, uint64_t first, uint64_t n,
                   const void *from, uint64_t pitch)
{
    pthread_mutex_lock(&device->turn);
    put(arg, first, n, from, pitch);
    pthread_mutex_unlock(&device->turn);
}

/* ------------------------------------------------------------------------------------------------
 * Random rows
 */

struct drawing {
    emb_device *device;
    const struct embi_cuda_draw *draw;
    embi_cuda_put_fn *put;
    void *arg;
};

/* Rows of one GPU, which the caller knows by other numbers. */
struct drawn {
    const struct drawing *all;
    uint64_t first;
};

static void put_drawn(void *arg, uint64_t first, uint64_t n, const void *from, uint64_t pitch)
{
    const struct drawn *d = arg;
    embi_gpus_put(d->all->device, d->all->put, d->all->arg, d->first + first, n, from, pitch);
}

static int draw_share(void *arg, int which, struct embi_cuda_fault *fault)
{
    const struct drawing *all = arg;
    const emb_device *d = all->device;
    struct embi_cuda_draw draw = *all->draw;
    struct drawn drawn = {all, embi_gpus_cut(draw.rows, which, d->n)};
    draw.rows = embi_gpus_cut(draw.rows, which + 1, d->n) - drawn.first;
    draw.first += drawn.first;
    return d->cuda->draw(d->gpus[which].handle, &draw, put_drawn, &drawn, fault);
}

int embi_gpus_draw(emb_device *device, const struct embi_cuda_draw *draw, embi_cuda_put_fn *put,
                   void *arg, struct embi_cuda_fault *fault)
{
    struct drawing all = {device, draw, put, arg};
    return embi_gpus_run(device, draw_share, &all, fault);
}

/* ------------------------------------------------------------------------------------------------
 * Gradients
 */

struct scattering {
    emb_device *device;
    const struct embi_cuda_scatter *scatter;
};

/* Segments of one GPU: segment 0 of it is `first` of all, gradient 0 is `begin`. */
struct scattered {
    const struct scattering *all;
    uint64_t first, begin;
};

static bool fill_targets(void *arg, uint64_t first, uint64_t n, void *to, uint64_t pitch)
{
    const struct scattered *s = arg;
    const struct embi_cuda_scatter *w = s->all->scatter;
    return embi_gpus_fill(s->all->device, w->fill_targets, w->arg, s->first + first, n, to, pitch);
}

static bool fill_grads(void *arg, uint64_t first, uint64_t n, void *to, uint64_t pitch)
{
    const struct scattered *s = arg;
    const struct embi_cuda_scatter *w = s->all->scatter;
    return embi_gpus_fill(s->all->device, w->fill_grads, w->arg, s->begin + first, n, to, pitch);
}

static void put_sums(void *arg, uint64_t first, uint64_t n, const void *from, uint64_t pitch)
{
    const struct scattered *s = arg;
    const struct embi_cuda_scatter *w = s->all->scatter;
    embi_gpus_put(s->all->device, w->put, w->arg, s->first + first, n, from, pitch);
}

/* Gradients before a segment. */
static uint64_t begin_of(const struct embi_cuda_scatter *w, uint64_t segment)
{
    return segment == 0 ? 0 : w->ends[segment - 1];
}

/* The first segment of a GPU's: rows to send, targets and gradients, are cut evenly. */
static uint64_t first_of(const struct embi_cuda_scatter *w, int i, int n)
{
    const uint64_t rows = begin_of(w, w->segments) + w->segments,
                   before = embi_gpus_cut(rows, i, n);
    uint64_t low = 0, high = w->segments;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (begin_of(w, middle) + middle < before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int scatter_share(void *arg, int which, struct embi_cuda_fault *fault)
{
    const struct scattering *all = arg;
    const emb_device *d = all->device;
    const struct embi_cuda_scatter *w = all->scatter;
    struct scattered s = {.all = all, .first = first_of(w, which, d->n)};
    struct embi_cuda_scatter mine = *w;
    mine.segments = first_of(w, which + 1, d->n) - s.first;
    if (mine.segments == 0)
        return EMBI_CUDA_DONE;
    uint64_t *ends = malloc(mine.segments * sizeof *ends);
    if (!ends) {
        snprintf(fault->msg, sizeof fault->msg, "out of memory for gradients");
        return EMBI_CUDA_HOST_MEMORY;
    }
    s.begin = begin_of(w, s.first);
    for (uint64_t i = 0; i < mine.segments; i++)
        ends[i] = w->ends[s.first + i] - s.begin;
    mine.ends = ends;
    mine.fill_targets = fill_targets;
    mine.fill_grads = fill_grads;
    mine.put = put_sums;
    mine.arg = &s;
    int result = d->cuda->scatter(d->gpus[which].handle, &mine, fault);
    free(ends);
    return result;
}

int embi_gpus_scatter(emb_device *device, const struct embi_cuda_scatter *scatter,
                      struct embi_cuda_fault *fault)
{
    struct scattering all = {device, scatter};
    return embi_gpus_run(device, scatter_share, &all, fault);
}
