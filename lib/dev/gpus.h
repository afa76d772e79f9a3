/* gpus.h - work that the GPUs of a device share, at the same time: a host thread drives each.
 *
 * What hands rows over or takes them (the functions of the caller) runs in turns, for it may use
 * all threads of the context by itself. Errors of one GPU of several say which it is.
 */
#ifndef EMBI_DEV_GPUS_H
#define EMBI_DEV_GPUS_H

#include "dev/device.h"

/* Item i of n, of `all`, begins there: even shares, and that of n is `all`. */
uint64_t embi_gpus_cut(uint64_t all, int i, int n);

/* Calls fn for GPUs 0 .. n-1 at once, and returns when all are done: the result, and the fault, of
 * the first of them that failed. */
typedef int embi_gpu_fn(void *arg, int which, struct embi_cuda_fault *fault);
int embi_gpus_run(const emb_device *device, embi_gpu_fn *fn, void *arg,
                  struct embi_cuda_fault *fault);

/* What hands rows over, and what takes them, in turns. */
bool embi_gpus_fill(emb_device *device, embi_cuda_fill_fn *fill, void *arg, uint64_t first,
                    uint64_t n, void *to, uint64_t pitch);
void embi_gpus_put(emb_device *device, embi_cuda_put_fn *put, void *arg, uint64_t first, uint64_t n,
                   const void *from, uint64_t pitch);

/* embi_cuda.draw: each draws as many of the rows. */
int embi_gpus_draw(emb_device *device, const struct embi_cuda_draw *draw, embi_cuda_put_fn *put,
                   void *arg, struct embi_cuda_fault *fault);

/* embi_cuda.scatter: each gets a range of the segments, all that goes to a row with it; the ranges
 * have about as many rows to send. */
int embi_gpus_scatter(emb_device *device, const struct embi_cuda_scatter *scatter,
                      struct embi_cuda_fault *fault);

#endif
