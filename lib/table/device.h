/* device.h - a table on a device: what of it was copied there, and rows gathered there.
 *
 * A device has a table in up to two forms: as stored, for rows, and as numbers that its kernels
 * compute with, which is the same thing for f32, f16, bf16 and q8_0, and f32 for every other type.
 * Rows of q8_0 lie there, and come back, with all codes first (dev/cuda.h).
 */
#ifndef EMBI_TABLE_DEVICE_H
#define EMBI_TABLE_DEVICE_H

#include "dev/shared.h"
#include "table/table.h"

enum embi_form { EMBI_AS_STORED, EMBI_AS_NUMBERS, EMBI_FORMS };

/* Writes rows as elements of type `as`, as a device has them: `pitch` bytes apart and zeros between
 * them. */
emb_status embi_device_fill(const emb_table *table, emb_dtype as, uint64_t first, uint64_t n,
                            void *to, uint64_t pitch, emb_err *err);

/* The type that kernels compute with, and what the plugin calls it. */
emb_dtype embi_device_dtype(emb_dtype stored);
enum embi_cuda_type embi_device_type(emb_dtype dtype);

/* The table, which is ready, on the device, which is too: copied there at the first call, to
 * several GPUs by ranges of rows. It stays until the table is closed. */
emb_status embi_table_on_device(emb_device *device, const emb_table *table, enum embi_form form,
                                struct embi_shared **there, emb_err *err);
void embi_table_off_device(emb_table *table);

/* Rows that a device hands back, on their way to a block, converted by all threads: what
 * embi_device_put, an embi_place_fn, is given. What cannot be converted is in `status` and `err`
 * afterwards. */
struct embi_device_sink {
    const struct embi_env *env;
    emb_dtype dtype; /* of the rows as they come */
    emb_block *dst;
    size_t stride; /* of dst */
    emb_status status;
    emb_err err;
    const unsigned char *from; /* of one call: */
    const uint64_t *places;
    uint64_t first, n, pitch;
};

struct embi_device_sink embi_device_sink_to(const struct embi_env *env, emb_dtype dtype,
                                            emb_block *dst);
void embi_device_put(void *sink, const uint64_t *places, uint64_t first, uint64_t n,
                     const void *from, uint64_t pitch);

/* What a call of the plugin for such a table returned, as a status; what stopped its rows is known.
 */
emb_status embi_table_device_status(const emb_table *table, enum embi_form form, int result,
                                    const struct embi_cuda_fault *fault, emb_err *err);

#endif
