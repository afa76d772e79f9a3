/* scatter.c - gradient rows added to rows: whole segments at a time, as many as the device is given
 * memory for; one that is larger by itself takes what it needs.
 */
#include "cuda/device.h"

struct scatter {
    struct embi_cuda_device *device;
    const struct embi_cuda_scatter *what;
    uint64_t row_bytes, pitch;
};

static uint64_t begin_of(const struct embi_cuda_scatter *s, uint64_t segment)
{
    return segment == 0 ? 0 : s->ends[segment - 1];
}

/* The first segment that does not go with `from`. */
static uint64_t end_of_group(const struct scatter *s, uint64_t from)
{
    const uint64_t begin = begin_of(s->what, from), most = EMBI_GROUP_BYTES / s->pitch;
    uint64_t to = from + 1;
    while (to < s->what->segments && s->what->ends[to] - begin + (to - from) < most)
        to++;
    return to;
}

static int upload(const struct scatter *s, embi_cuda_fill_fn *fill, uint64_t first, uint64_t n,
                  enum embi_buffer buffer, uint64_t *at, struct embi_cuda_fault *fault)
{
    const struct embi_cuda_rows rows = {
        .row_bytes = s->row_bytes, .fill = fill, .arg = s->what->arg};
    int result = embi_cuda_device_reserve(s->device, buffer, n * s->pitch, at, fault);
    return result ? result
                  : embi_cuda_rows_upload(s->device, &rows, first, n, s->pitch, *at, fault);
}

/* Segments from .. to-1, of which nothing is pending when it returns. */
static int add_group(const struct scatter *s, uint64_t from, uint64_t to,
                     struct embi_cuda_fault *fault)
{
    struct embi_cuda_device *d = s->device;
    struct embi_scatter_args args = {.pitch = s->pitch,
                                     .grads_pitch = s->pitch,
                                     .base = begin_of(s->what, from),
                                     .segments = to - from,
                                     .dims = s->what->dims,
                                     .type = s->what->type};
    int result =
        upload(s, s->what->fill_targets, from, to - from, EMBI_BUFFER_OUT, &args.table, fault);
    if (!result)
        result = upload(s, s->what->fill_grads, args.base, s->what->ends[to - 1] - args.base,
                        EMBI_BUFFER_QUERIES, &args.grads, fault);
    if (!result)
        result = EMBI_CALL(d, fault, cuEventRecord, d->uploaded[0], d->copy);
    if (!result)
        result = EMBI_CALL(d, fault, cuStreamWaitEvent, d->compute, d->uploaded[0], 0);
    if (!result)
        result = embi_cuda_device_send(d, EMBI_BUFFER_IDS, s->what->ends + from,
                                       args.segments * sizeof *s->what->ends, &args.ends, fault);
    if (!result)
        result = embi_cuda_device_launch(
            d, embi_scatter_kernel, &args,
            embi_cuda_device_blocks(d, args.segments, EMBI_BLOCK_THREADS / EMBI_WARP), 1, fault);
    if (!result)
        result = embi_cuda_rows_download(d, args.table, from, args.segments, s->pitch, s->what->put,
                                         s->what->arg, fault);
    return result;
}

static int add_groups(const struct scatter *s, struct embi_cuda_fault *fault)
{
    int result = EMBI_CUDA_DONE;
    for (uint64_t from = 0, to; !result && from < s->what->segments; from = to) {
        to = end_of_group(s, from);
        result = add_group(s, from, to, fault);
    }
    return result;
}

int embi_cuda_device_scatter(struct embi_cuda_device *device,
                             const struct embi_cuda_scatter *scatter, struct embi_cuda_fault *fault)
{
    struct scatter s = {.device = device, .what = scatter};
    s.row_bytes = (uint64_t)scatter->dims * embi_cuda_type_bytes(scatter->type);
    if (scatter->segments == 0 || s.row_bytes == 0)
        return EMBI_CUDA_DONE;
    s.pitch = embi_pitch_of(s.row_bytes);
    if (s.pitch > EMBI_RING_BYTES)
        return embi_cuda_fail(fault, EMBI_CUDA_FAILED, "rows of %llu bytes: expected at most %llu",
                              (unsigned long long)s.row_bytes, (unsigned long long)EMBI_RING_BYTES);
    int result = embi_cuda_device_enter(device, fault);
    return result ? result : embi_cuda_device_leave(device, add_groups(&s, fault), fault);
}
