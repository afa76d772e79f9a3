/* blas.h - what the BLAS plugin (lib/blas) and the library agree on: one struct of functions.
 *
 * The plugin is a shared object of its own, libemb-blas.so, that is linked to OpenBLAS; the library
 * and the program are not. It exports one function, EMBI_BLAS_SYMBOL, and imports nothing from the
 * library. This header is all that both sides share, and includes nothing of either.
 *
 * All matrices are row-major; ld.. is the distance between rows, in elements. Each call runs in the
 * calling thread alone, and calls may run in several threads at once. Sizes are ints, as they are
 * in BLAS: callers cut their matrices to fit. Sums run in any order.
 */
#ifndef EMBI_DEV_BLAS_H
#define EMBI_DEV_BLAS_H

#include <stdint.h>

/* Grows with every change of the struct: a plugin of another number is not used. */
#define EMBI_BLAS_ABI 2

struct embi_blas {
    uint32_t abi, size; /* EMBI_BLAS_ABI, sizeof(struct embi_blas) */

    /* What runs, for -v: "OpenBLAS 0.3.21 ... SkylakeX MAX_THREADS=64"; and the CPU it runs for:
     * "SkylakeX". */
    const char *(*config)(void);
    const char *(*core)(void);

    /* c[m,n] = a[m,k] b[n,k]^T */
    void (*sgemm_nt)(int m, int n, int k, const float *a, int lda, const float *b, int ldb,
                     float *c, int ldc);
    /* y[m] = a[m,n] x[n] */
    void (*sgemv)(int m, int n, const float *a, int lda, const float *x, float *y);

    /* c[m,n] += a[m,k] b[k,n] */
    void (*sgemm_nn)(int m, int n, int k, const float *a, int lda, const float *b, int ldb,
                     float *c, int ldc);
    void (*dgemm_nn)(int m, int n, int k, const double *a, int lda, const double *b, int ldb,
                     double *c, int ldc);

    /* c[m,n] += a[k,m]^T b[k,n] */
    void (*dgemm_tn)(int m, int n, int k, const double *a, int lda, const double *b, int ldb,
                     double *c, int ldc);

    /* c[n,n] += a[k,n]^T a[k,n]; only c[i,j] with i <= j is touched. */
    void (*dsyrk)(int n, int k, const double *a, int lda, double *c, int ldc);

    /* Eigenvalues w[n] of a symmetric matrix a[n,n], of which a[i,j] with i <= j is read, smallest
     * first; a is destroyed. These two return 0; EMBI_BLAS_NO_MEMORY; or another number where
     * LAPACK gave up (it did not converge, or the matrix holds NaN). n <= EMBI_BLAS_MOST. */
    int (*dsyevd_values)(int n, double *a, int lda, double *w);

    /* Singular values s[min(m,n)] of a[m,n], largest first; a is destroyed. */
    int (*dgesdd_values)(int m, int n, double *a, int lda, double *s);
};

/* Calls that may run at once: OpenBLAS ends the process where it runs out of buffers, of which it
 * has two for each thread it was built for, 64 and more. */
#define EMBI_BLAS_CALLS 64

#define EMBI_BLAS_NO_MEMORY (-1000)

/* The largest n of which LAPACK, whose sizes are ints, can count the elements of a[n,n]. */
#define EMBI_BLAS_MOST 46340

/* The function a plugin exports. It holds its library at one thread: the blocks of a loop are
 * spread over ours. */
#define EMBI_BLAS_SYMBOL "embi_blas_plugin"
typedef const struct embi_blas *embi_blas_plugin_fn(void);

#endif
