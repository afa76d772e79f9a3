/* draw.c - random rows: what the device hands back as it is made. */
#include "cuda/device.h"

static int draw_rows(struct embi_cuda_device *d, const struct embi_cuda_draw *draw,
                     uint64_t row_bytes, embi_cuda_put_fn *put, void *arg,
                     struct embi_cuda_fault *fault)
{
    const uint64_t most = EMBI_OUT_BYTES / row_bytes;
    struct embi_draw_args args = {.out_pitch = row_bytes,
                                  .scale = draw->scale,
                                  .key = {draw->key[0], draw->key[1]},
                                  .stream = draw->stream,
                                  .dims = draw->dims,
                                  .type = draw->type,
                                  .dist = draw->dist};
    const uint64_t numbers = draw->type == EMBI_CUDA_F64 ? 2 : 4;
    const uint64_t blocks = (draw->dims + numbers - 1) / numbers; /* of Philox, in a row */
    int result = EMBI_CUDA_DONE;
    for (uint64_t done = 0; !result && done < draw->rows; done += args.rows) {
        args.first = draw->first + done;
        args.rows = draw->rows - done < most ? draw->rows - done : most;
        result =
            embi_cuda_device_reserve(d, EMBI_BUFFER_OUT, args.rows * row_bytes, &args.out, fault);
        if (!result)
            result = embi_cuda_device_launch(
                d, embi_draw_kernel, &args,
                embi_cuda_device_blocks(d, args.rows * blocks, EMBI_BLOCK_THREADS), 1, fault);
        if (!result)
            result =
                embi_cuda_rows_download(d, args.out, done, args.rows, row_bytes, put, arg, fault);
    }
    return result;
}

int embi_cuda_device_draw(struct embi_cuda_device *device, const struct embi_cuda_draw *draw,
                          embi_cuda_put_fn *put, void *arg, struct embi_cuda_fault *fault)
{
    const uint64_t row_bytes = (uint64_t)draw->dims * embi_cuda_type_bytes(draw->type);
    if (row_bytes == 0)
        return EMBI_CUDA_DONE;
    if (row_bytes > EMBI_RING_BYTES)
        return embi_cuda_fail(fault, EMBI_CUDA_FAILED, "rows of %llu bytes: expected at most %llu",
                              (unsigned long long)row_bytes, (unsigned long long)EMBI_RING_BYTES);
    int result = embi_cuda_device_enter(device, fault);
    return result ? result
                  : embi_cuda_device_leave(
                        device, draw_rows(device, draw, row_bytes, put, arg, fault), fault);
}
