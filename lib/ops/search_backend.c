/* search_backend.c - who multiplies queries and rows in the fast way of search: our kernels, or
 * BLAS, or a device.
 *
 * The answer does not depend on it: all propose candidates within an error bound, and what they
 * propose is scored canonically. So AUTO goes by time alone.
 */
#include "dev/device.h"
#include "dev/load.h"
#include "num/bf16.h"
#include "ops/search_fast.h"
#include "util/err.h"
#include "util/pool.h"

#include <limits.h>
#include <math.h>

#define LEAST_QUERIES  24  /* with fewer, the scalar kernels keep up */
#define LEAST_PRODUCTS 1e8 /* what loading the plugin costs must be won back */
#define WORTH_TRYING   1e9 /* products: some milliseconds, for the one that measuring takes */
#define BF16_QUERIES   8   /* with so few, memory is the limit, and half of a panel empty */
#define ROUNDED_BF16   0x1p-8

/* Rows that may answer: BLAS multiplies the others as well. */
static uint64_t allowed_rows(const struct embi_search *s)
{
    uint64_t n = 0;
    for (uint64_t row = 0; row < s->rows; row++)
        n += embi_search_allowed(s, row);
    return n;
}

/* Is BLAS likely to be faster for n queries, if it is a current one? Kernels of an instruction set
 * are about as fast or faster (docs/performance.md). */
static bool pays(const struct embi_search *s, size_t n)
{
    return s->table->env->kern == &embi_kern_scalar && n >= LEAST_QUERIES &&
           (double)s->rows * s->dims * (double)n >= LEAST_PRODUCTS &&
           allowed_rows(s) >= s->rows / 2;
}

static void use(struct embi_search *s, const struct embi_blas *blas)
{
    s->blas = blas;
    s->bound = embi_any_order_bound(s->dims);
}

/* AUTO: nothing is loaded for a search that the fast way cannot answer. */
static void use_if_faster(struct embi_search *s, size_t n)
{
    const struct embi_env *env = s->table->env;
    const struct embi_blas *blas;
    emb_err ignored;
    if (embi_search_fast_possible(s, embi_any_order_bound(s->dims)) && pays(s, n) &&
        embi_blas_get(env, &blas, &ignored) == EMB_OK && embi_blas_is_current(env, blas))
        use(s, blas);
}

/* Can rows be multiplied as bf16? */
static bool bf16_possible(const struct embi_search *s, size_t n)
{
    double bound = ROUNDED_BF16 + (1 + ROUNDED_BF16) * embi_any_order_bound(s->dims);
    return !s->blas && n > BF16_QUERIES && s->table->layout.dtype == EMB_BF16 && !s->opts.center &&
           embi_table_direct(s->table) && s->dims % EMBI_BF16_DIMS == 0 &&
           embi_search_fast_possible(s, bound) &&
           (double)s->rows * s->dims * (double)n >= WORTH_TRYING;
}

/* Takes the kernel for bf16 that was faster than widening the rows, if one was. Of a panel that
 * the queries do not fill, the rest of its lanes is lost. */
static void use_bf16_if_faster(struct embi_search *s, size_t n)
{
    const struct embi_env *env = s->table->env;
    const struct embi_bf16_kern *kernels[EMBI_BF16_KERNELS];
    size_t found = bf16_possible(s, n) ? embi_bf16_kernels(env->cpu, kernels) : 0;
    size_t panels = embi_panels_of(embi_min(n, EMBI_MOST_BATCH));
    double full = n < EMBI_PANEL ? (double)n / EMBI_PANEL : 1;
    double widened = found ? embi_bf16_rate(env->kern, NULL, panels) : 0, best = widened;
    for (size_t i = 0; i < found; i++) {
        double rate = full * embi_bf16_rate(env->kern, kernels[i], panels);
        embi_log(env, EMB_LOG_DEBUG, NULL, "search: %s multiplies at %d %% of the rate of %s",
                 kernels[i]->name, widened > 0 ? (int)(100 * rate / widened) : 0, env->kern->name);
        if (rate > best) {
            best = rate;
            s->bf16 = kernels[i];
        }
    }
}

/* What an optional device is weighed by, in seconds and per second. Assumed, from data sheets and
 * from what CPUs did (docs/gpu.md): no device was measured. */
#define DEVICE_START  0.35 /* the driver, a context, the kernels */
#define DEVICE_BUS    2e10 /* bytes of rows to the device        */
#define DEVICE_READS  1.5e12
#define DEVICE_MATRIX 1e14 /* products by tensor cores */
#define DEVICE_PLAIN  1e13 /* and by others            */
#define CPU_READS     2e10
#define CPU_PRODUCTS  4e10 /* of a thread */

/* Is the device likely to be faster than the CPU, with its start and the way of the rows to it? */
static bool device_pays(const struct embi_search *s, const emb_device *device, size_t n,
                        bool matrix)
{
    const struct embi_env *env = s->table->env;
    double bytes = (double)s->rows * (double)embi_layout_row_bytes(&s->table->layout);
    double products = (double)s->rows * s->dims * (double)n;
    size_t passes = (n + EMBI_MOST_BATCH - 1) / EMBI_MOST_BATCH;
    double on_device = (device->n > 0 ? 0 : DEVICE_START) +
                       (s->table->on_device ? 0 : bytes / DEVICE_BUS) +
                       fmax((double)passes * bytes / DEVICE_READS,
                            products / (matrix ? DEVICE_MATRIX : DEVICE_PLAIN));
    double on_cpu = fmax((double)passes * bytes / CPU_READS,
                         products / (CPU_PRODUCTS * embi_pool_threads(env->pool)));
    embi_log(env, EMB_LOG_DEBUG, NULL,
             "search: a device would take about %.0f ms, this CPU %.0f ms", on_device * 1000,
             on_cpu * 1000);
    return on_device < on_cpu;
}

/* What a device has no part in: searches that the fast way cannot answer, and backends that were
 * asked for. Of an optional one nothing is said where it is not there. */
static emb_status use_device(struct embi_search *s, size_t n, emb_err *err)
{
    emb_device *device = s->opts.device;
    bool matrix;
    if (!device)
        return EMB_OK;
    emb_dtype dtype = s->opts.center ? EMB_F32 : s->table->layout.dtype; /* as the device gets it */
    double bound = embi_device_bound(dtype, s->dims, n, &matrix);
    bool wanted = embi_search_fast_possible(s, bound) && n > 0;
    if (device->named.optional)
        wanted = wanted && !device->failed && s->opts.backend == EMB_BACKEND_AUTO &&
                 device_pays(s, device, n, matrix);
    else if (s->opts.backend == EMB_BACKEND_BLAS)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "a device multiplies by itself: BLAS has no part in it");
    if (!wanted)
        return EMB_OK;
    emb_status status = embi_device_ready(device, err);
    if (!status) {
        s->device = device;
        s->matrix = matrix;
        s->bound = bound;
    }
    return device->named.optional ? EMB_OK : status;
}

double embi_search_bound(uint32_t dims, size_t n)
{
    double bound = embi_dot_bound(dims);
    return n > EMBI_MOST_SINGLE ? fmax(bound, embi_panel_bound(dims)) : bound;
}

static void say_choice(const struct embi_search *s, size_t n)
{
    const struct embi_env *env = s->table->env;
    if (s->device)
        embi_log(env, EMB_LOG_DEBUG, NULL, "search: %zu queries, products by %s, %s", n,
                 s->matrix ? "tensor cores" : "a device", s->device->name);
    else if (!embi_search_fast_possible(s, s->bound))
        embi_log(env, EMB_LOG_DEBUG, NULL, "search: %zu queries, scored canonically", n);
    else
        embi_log(env, EMB_LOG_DEBUG, NULL, "search: %zu queries, products by %s", n,
                 s->blas   ? "BLAS"
                 : s->bf16 ? s->bf16->name
                           : env->kern->name);
}

emb_status embi_search_choose(struct embi_search *s, size_t n, emb_err *err)
{
    emb_status chosen = use_device(s, n, err);
    if (chosen)
        return chosen;
    if (s->device) {
        say_choice(s, n);
        return EMB_OK;
    }
    if (s->opts.backend == EMB_BACKEND_BLAS) {
        const struct embi_blas *blas;
        emb_status status = embi_blas_get(s->table->env, &blas, err);
        if (status)
            return status;
        use(s, blas);
    } else if (s->opts.backend == EMB_BACKEND_AUTO) {
        use_if_faster(s, n);
    }
    use_bf16_if_faster(s, n);
    say_choice(s, n);
    return EMB_OK;
}

bool embi_search_do_without(struct embi_search *s, size_t n, const emb_err *err)
{
    emb_err none; /* what can fail is a backend that was asked for, and then there is no device */
    if (!s->device || !s->device->named.optional)
        return false;
    embi_log(s->table->env, EMB_LOG_DEBUG, NULL, "search: the CPU goes on: %s", err->msg);
    s->device->failed = true; /* each search would try again, and send the table again */
    s->opts.device = s->device = NULL;
    s->matrix = false;
    s->bound = embi_search_bound(s->dims, n);
    return embi_search_choose(s, n, &none) == EMB_OK;
}

void embi_search_multiply(const struct embi_blas *blas, const float *queries, size_t m,
                          const float *rows, size_t n, size_t d, size_t stride, float *products)
{
    if (m == 1)
        blas->sgemv((int)n, (int)d, rows, (int)stride, queries, products);
    else
        blas->sgemm_nt((int)m, (int)n, (int)d, queries, (int)d, rows, (int)stride, products,
                       (int)n);
}

bool embi_search_blas_in_place(const emb_table *table)
{
    const struct embi_layout *l = &table->layout;
    uint64_t stride = l->row_stride / sizeof(float);
    return l->dtype == EMB_F32 && !l->row_offsets && embi_table_direct(table) &&
           l->row_stride % sizeof(float) == 0 && stride >= l->dims && stride <= INT_MAX &&
           (uintptr_t)embi_table_row(table, 0) % sizeof(float) == 0;
}
