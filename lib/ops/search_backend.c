/* search_backend.c - who multiplies queries and rows in the fast way of search: our kernels, or
 * BLAS.
 *
 * The answer does not depend on it: both propose candidates within an error bound, and what they
 * propose is scored canonically. So AUTO goes by time alone.
 */
#include "dev/load.h"
#include "num/bf16.h"
#include "ops/search.h"

#include <limits.h>

#define LEAST_QUERIES  24  /* with fewer, the scalar kernels keep up */
#define LEAST_PRODUCTS 1e8 /* what loading the plugin costs must be won back */
#define WORTH_TRYING   1e9 /* products: some milliseconds, for the one that measuring takes */
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
    return !s->blas && n > 1 && s->table->layout.dtype == EMB_BF16 && !s->opts.center &&
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

static void say_choice(const struct embi_search *s, size_t n)
{
    const struct embi_env *env = s->table->env;
    if (!embi_search_fast_possible(s, s->bound))
        embi_log(env, EMB_LOG_DEBUG, NULL, "search: %zu queries, scored canonically", n);
    else
        embi_log(env, EMB_LOG_DEBUG, NULL, "search: %zu queries, products by %s", n,
                 s->blas   ? "BLAS"
                 : s->bf16 ? s->bf16->name
                           : env->kern->name);
}

emb_status embi_search_choose(struct embi_search *s, size_t n, emb_err *err)
{
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
