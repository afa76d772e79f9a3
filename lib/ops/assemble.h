/* assemble.h - what the files of emb_assembly_* share.
 *
 * Rows are of the type of the results after each step, and computed in f32, or in f64 where a table
 * is of f64 ("work" below).
 */
#ifndef EMBI_OPS_ASSEMBLE_H
#define EMBI_OPS_ASSEMBLE_H

#include "model/input_layer.h"
#include "ops/sinusoid.h"
#include "table/device.h"

#include <stdatomic.h>

/* Rows of sinusoids that were made: those of positions first .. first+n-1. */
struct embi_wave_rows {
    enum embi_sinusoid layout;
    char *rows; /* [cap, dims] of the type of the results, in room for the work type */
    uint64_t first, n, cap;
    uint32_t dims;
};

/* What one thread works in, each as wide as the widest row. */
struct embi_assembly_room {
    char *row, *side;         /* of the type of the results */
    char *work;               /* of the work type */
    double *narrow, *project; /* [EMBI_PROJECT_ROWS, d] and [.., D]: only with a projection */
    atomic_bool taken;        /* by who makes a piece for a file */
};

enum { EMBI_PROJECT_ROWS = 64 };

struct emb_assembly {
    const emb_table *table;
    const struct embi_env *env;
    emb_assembly_info info;
    struct embi_input_layer layer;
    bool wide;                     /* the work type is f64 */
    double factor;                 /* that rows are multiplied with first; 0: none */
    char *positions, *types;       /* copies that the layer's sides point into, or NULL */
    char *norm_weight, *norm_bias; /* [width of the norm] of the work type */
    double *project /* [d, D] */, *project_bias /* [D] */;
    uint32_t widest;
    struct embi_wave_rows waves;
    struct embi_assembly_room *rooms; /* [n_rooms]: one for each worker */
    size_t n_rooms;
    char *memory;             /* that they are in */
    emb_device *device;       /* makes the rows (assemble_device.c); NULL: the CPU does */
    struct embi_shared *side; /* the positions on it, once they are there */
    emb_err side_err;
};

static inline size_t embi_work_bytes(const struct emb_assembly *a)
{
    return a->wide ? sizeof(double) : sizeof(float);
}

static inline emb_dtype embi_work_dtype(const struct emb_assembly *a)
{
    return a->wide ? EMB_F64 : EMB_F32;
}

/* ------------------------------------------------------------------------------------------------
 * assemble_row.c
 */

/* Tokens that become rows of dst. */
struct embi_assembly_job {
    struct emb_assembly *a;
    const uint64_t *rows, *positions, *types; /* [n] */
    size_t n;
    emb_block *dst;
    size_t stride;
    const struct embi_blas *blas; /* NULL: none; for the projection */
    emb_writer
        *writer;   /* gets the rows, of the dims and type of dst, whose data is not used; NULL */
    bool *reading; /* with a writer: false where it was that which failed */
};

/* Rows begin .. end-1 of dst. */
emb_status embi_assemble_rows(const struct embi_assembly_job *job, size_t begin, size_t end,
                              const struct embi_assembly_room *room, emb_err *err);

/* assemble.c: all of them, once they were checked. */
emb_status embi_assembly_make(struct embi_assembly_job *job, emb_err *err);

/* assemble_put.c: all of them, into the writer. */
emb_status embi_assembly_put(const struct embi_assembly_job *job, emb_err *err);

/* Rounds n numbers of the work type to the type of the results; out may be x where these are the
 * same. */
void embi_assembly_round(const struct emb_assembly *a, void *out, const void *x, size_t n);

/* ------------------------------------------------------------------------------------------------
 * assemble_device.c
 */

/* Can a device make these rows: is all that is done to them the sum with a row of learned
 * positions, and all of one type? Asked before sides are copied into another type. */
bool embi_assembly_fits_device(const struct emb_assembly *a);

/* All rows of the job. */
emb_status embi_assemble_on_device(const struct embi_assembly_job *job, emb_err *err);
void embi_assembly_leave_device(struct emb_assembly *a);

/* ------------------------------------------------------------------------------------------------
 * assemble_waves.c
 */

/* Makes the rows of the first positions of these n, as many as memory is spent on, one at least;
 * *covered says how many. Called outside of loops. */
emb_status embi_waves_cover(struct emb_assembly *a, const uint64_t *positions, size_t n,
                            size_t *covered, emb_err *err);

/* The row of a position that is covered. */
static inline const void *embi_waves_row(const struct emb_assembly *a, uint64_t position)
{
    return a->waves.rows +
           (position - a->waves.first) * a->waves.dims * emb_dtype_bytes(a->info.dtype);
}

/* ------------------------------------------------------------------------------------------------
 * project.c
 */

/* The matrix of the layer, turned and in f64, and its bias. */
emb_status embi_project_open(struct emb_assembly *a, emb_err *err);

/* out[n, D] = x[n, d] times it, n <= EMBI_PROJECT_ROWS. */
void embi_project(const struct emb_assembly *a, const struct embi_blas *blas, const double *x,
                  size_t n, double *out);

#endif
