/* rows.c - rows of tables, to the device and back: the ring of pinned buffers, and windows.
 *
 * A table lies on the device as a whole where there is room for it. Of any other a window of rows
 * comes over at a time, into one of two slots: while kernels work in one, the next window comes
 * into the other.
 */
#include "cuda/device.h"

#include <stdlib.h>
#include <string.h>

#define HEADROOM 4 /* a share of the free memory that tables leave for the rest: a quarter */

/* ------------------------------------------------------------------------------------------------
 * The ring
 */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

int embi_cuda_rows_upload(struct embi_cuda_device *d, const struct embi_cuda_rows *rows,
                          uint64_t first, uint64_t n, uint64_t pitch, embi_address to,
                          struct embi_cuda_fault *fault)
{
    const uint64_t most = EMBI_RING_BYTES / pitch;
    int result = EMBI_CUDA_DONE;
    for (uint64_t done = 0, part; !result && done < n; done += part) {
        const unsigned turn = d->turn++ % EMBI_RING;
        part = least(n - done, most);
        result = EMBI_CALL(d, fault, cuEventSynchronize, d->copied[turn]);
        if (!result && !rows->fill(rows->arg, first + done, part, d->ring[turn], pitch))
            result = EMBI_CUDA_STOPPED;
        if (!result)
            result = EMBI_CALL(d, fault, cuMemcpyHtoDAsync, to + done * pitch, d->ring[turn],
                               part * pitch, d->copy);
        if (!result)
            result = EMBI_CALL(d, fault, cuEventRecord, d->copied[turn], d->copy);
    }
    return result;
}

/* A part that is on its way back. */
struct part {
    uint64_t first, n;
    unsigned turn;
};

static int fetch(struct embi_cuda_device *d, embi_address from, uint64_t pitch, struct part *part,
                 struct embi_cuda_fault *fault)
{
    part->turn = d->turn++ % EMBI_RING;
    int result = EMBI_CALL(d, fault, cuEventSynchronize, d->copied[part->turn]);
    if (!result)
        result = EMBI_CALL(d, fault, cuMemcpyDtoHAsync, d->ring[part->turn],
                           from + part->first * pitch, part->n * pitch, d->compute);
    if (!result)
        result = EMBI_CALL(d, fault, cuEventRecord, d->copied[part->turn], d->compute);
    return result;
}

/* While one part is taken from its buffer the next comes. */
int embi_cuda_rows_download(struct embi_cuda_device *d, embi_address from, uint64_t base,
                            uint64_t n, uint64_t pitch, embi_cuda_put_fn *put, void *arg,
                            struct embi_cuda_fault *fault)
{
    struct part now = {.n = least(n, EMBI_RING_BYTES / pitch)}, next;
    int result = n ? fetch(d, from, pitch, &now, fault) : EMBI_CUDA_DONE;
    for (; !result && now.n; now = next) {
        next = (struct part){.first = now.first + now.n};
        next.n = least(n - next.first, EMBI_RING_BYTES / pitch);
        if (next.n)
            result = fetch(d, from, pitch, &next, fault);
        if (!result)
            result = EMBI_CALL(d, fault, cuEventSynchronize, d->copied[now.turn]);
        if (!result)
            put(arg, base + now.first, now.n, d->ring[now.turn], pitch);
    }
    return result;
}

/* ------------------------------------------------------------------------------------------------
 * Tables
 */

static int ask_room(struct embi_cuda_device *d, uint64_t pitch, uint64_t *rows,
                    struct embi_cuda_fault *fault)
{
    size_t unused = 0, total = 0;
    int result = EMBI_CALL(d, fault, cuMemGetInfo, &unused, &total);
    *rows = (unused - unused / HEADROOM) / pitch;
    return result;
}

int embi_cuda_device_room(struct embi_cuda_device *device, uint64_t row_bytes, uint64_t *rows,
                          struct embi_cuda_fault *fault)
{
    const uint64_t pitch = embi_pitch_of(row_bytes ? row_bytes : 1);
    int result = embi_cuda_device_enter(device, fault);
    return result ? result
                  : embi_cuda_device_leave(device, ask_room(device, pitch, rows, fault), fault);
}

/* All rows, if the memory is there; it is no failure if it is not. */
static int make_resident(struct embi_cuda_table *t, struct embi_cuda_fault *fault)
{
    struct embi_cuda_device *d = t->device;
    uint64_t room;
    int result = ask_room(d, t->pitch, &room, fault);
    if (result || t->rows.rows == 0 || t->rows.rows > room)
        return result;
    result = EMBI_CALL(d, fault, cuMemAlloc, &t->resident, t->rows.rows * t->pitch);
    if (result) {
        t->resident = 0;
        return result == EMBI_CUDA_FULL ? EMBI_CUDA_DONE : result;
    }
    return embi_cuda_rows_upload(d, &t->rows, 0, t->rows.rows, t->pitch, t->resident, fault);
}

int embi_cuda_table_open(struct embi_cuda_device *device, const struct embi_cuda_rows *rows,
                         struct embi_cuda_table **table, bool *resident,
                         struct embi_cuda_fault *fault)
{
    struct embi_cuda_table *t = calloc(1, sizeof *t);
    if (!t)
        return embi_cuda_fail(fault, EMBI_CUDA_HOST_MEMORY, "out of memory for a table");
    *t = (struct embi_cuda_table){.device = device, .rows = *rows};
    t->pitch = embi_pitch_of(rows->row_bytes ? rows->row_bytes : 1);
    int result = EMBI_CUDA_DONE;
    if (rows->row_bytes > EMBI_RING_BYTES / 2)
        result = embi_cuda_fail(
            fault, EMBI_CUDA_FAILED, "rows of %llu bytes: expected at most %llu",
            (unsigned long long)rows->row_bytes, (unsigned long long)EMBI_RING_BYTES / 2);
    if (!result)
        result = embi_cuda_device_enter(device, fault);
    if (result) {
        free(t);
        return result;
    }
    result = embi_cuda_device_leave(device, make_resident(t, fault), fault);
    if (result) {
        embi_cuda_table_close(t);
        return result;
    }
    *resident = t->resident != 0;
    *table = t;
    return EMBI_CUDA_DONE;
}

void embi_cuda_table_close(struct embi_cuda_table *t)
{
    struct embi_cuda_fault ignored;
    if (t->resident && embi_cuda_device_enter(t->device, &ignored) == EMBI_CUDA_DONE) {
        t->device->driver.cuMemFree(t->resident);
        embi_cuda_device_leave(t->device, EMBI_CUDA_DONE, &ignored);
    }
    free(t);
}

/* ------------------------------------------------------------------------------------------------
 * Windows
 */

uint64_t embi_cuda_table_window(const struct embi_cuda_table *t)
{
    return t->resident ? t->rows.rows : EMBI_SLOT_BYTES / t->pitch;
}

/* Rows of a window into its slot, when the kernels have done with what is there. */
static int bring(struct embi_cuda_table *t, unsigned slot, struct embi_cuda_window *w,
                 struct embi_cuda_fault *fault)
{
    struct embi_cuda_device *d = t->device;
    int result =
        embi_cuda_device_reserve(d, EMBI_BUFFER_SLOT_0 + slot, EMBI_SLOT_BYTES, &w->at, fault);
    if (!result)
        result = EMBI_CALL(d, fault, cuStreamWaitEvent, d->copy, d->computed[slot], 0);
    if (!result)
        result = embi_cuda_rows_upload(d, &t->rows, w->first, w->rows, t->pitch, w->at, fault);
    if (!result)
        result = EMBI_CALL(d, fault, cuEventRecord, d->uploaded[slot], d->copy);
    if (!result)
        result = EMBI_CALL(d, fault, cuStreamWaitEvent, d->compute, d->uploaded[slot], 0);
    return result;
}

int embi_cuda_table_windows(struct embi_cuda_table *t, uint64_t rows, uint64_t most,
                            embi_cuda_wanted_fn *wanted, embi_cuda_window_fn *fn, void *arg,
                            struct embi_cuda_fault *fault)
{
    struct embi_cuda_device *d = t->device;
    struct embi_cuda_window w = {0};
    unsigned slot = 0;
    int result = EMBI_CUDA_DONE;
    most = least(most, embi_cuda_table_window(t));
    for (; !result && w.first < rows; w.first += w.rows) {
        w.rows = least(most, rows - w.first);
        w.at = t->resident + w.first * t->pitch;
        if (wanted && !wanted(arg, w.first, w.rows))
            continue;
        if (!t->resident)
            result = bring(t, slot, &w, fault);
        if (!result)
            result = fn(arg, &w, fault);
        if (!result && !t->resident)
            result = EMBI_CALL(d, fault, cuEventRecord, d->computed[slot], d->compute);
        slot = (slot + 1) % EMBI_SLOTS;
    }
    return result;
}
