/* openblas.c - the BLAS plugin: OpenBLAS behind the struct of dev/blas.h.
 *
 * The only file that sees cblas.h. LAPACK is the Fortran one that lies in libopenblas as well: its
 * routines are column-major, so the matrices here are their transposes there, which symmetric
 * matrices and singular values do not mind. The hidden lengths of Fortran's strings come last, as
 * gfortran passes them.
 */
#include "dev/blas.h"

#include <cblas.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

_Static_assert(sizeof(blasint) == sizeof(int), "an OpenBLAS with 32-bit integers is expected");

void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w,
             double *work, const int *lwork, int *iwork, const int *liwork, int *info,
             size_t jobz_n, size_t uplo_n);
void dgesdd_(const char *jobz, const int *m, const int *n, double *a, const int *lda, double *s,
             double *u, const int *ldu, double *vt, const int *ldvt, double *work, const int *lwork,
             int *iwork, int *info, size_t jobz_n);

static const char *config(void)
{
    return openblas_get_config();
}

static const char *core(void)
{
    return openblas_get_corename();
}

static void sgemm_nt(int m, int n, int k, const float *a, int lda, const float *b, int ldb,
                     float *c, int ldc)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, a, lda, b, ldb, 0, c, ldc);
}

static void sgemv(int m, int n, const float *a, int lda, const float *x, float *y)
{
    cblas_sgemv(CblasRowMajor, CblasNoTrans, m, n, 1, a, lda, x, 1, 0, y, 1);
}

static void sgemm_nn(int m, int n, int k, const float *a, int lda, const float *b, int ldb,
                     float *c, int ldc)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, lda, b, ldb, 1, c, ldc);
}

static void dgemm_nn(int m, int n, int k, const double *a, int lda, const double *b, int ldb,
                     double *c, int ldc)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, lda, b, ldb, 1, c, ldc);
}

static void dgemm_tn(int m, int n, int k, const double *a, int lda, const double *b, int ldb,
                     double *c, int ldc)
{
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, n, k, 1, a, lda, b, ldb, 1, c, ldc);
}

static void dsyrk(int n, int k, const double *a, int lda, double *c, int ldc)
{
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, n, k, 1, a, lda, 1, c, ldc);
}

/* The optimal size of a workspace, as LAPACK answers it: a whole number in a double. */
static int workspace(double answer)
{
    return answer < 1 ? 1 : answer > INT_MAX ? INT_MAX : (int)answer;
}

/* Upper by rows is lower by columns. */
static int dsyevd_values(int n, double *a, int lda, double *w)
{
    double best = 0;
    int ask = -1, ints = 0, info = 0;
    dsyevd_("N", "L", &n, a, &lda, w, &best, &ask, &ints, &ask, &info, 1, 1);
    if (info)
        return info;
    int size = workspace(best);
    double *work = malloc((size_t)size * sizeof *work);
    int *iwork = malloc((size_t)ints * sizeof *iwork);
    info = EMBI_BLAS_NO_MEMORY;
    if (work && iwork)
        dsyevd_("N", "L", &n, a, &lda, w, work, &size, iwork, &ints, &info, 1, 1);
    free(iwork);
    free(work);
    return info;
}

static int dgesdd_values(int m, int n, double *a, int lda, double *s)
{
    double best = 0, none = 0;
    int ask = -1, one = 1, info = 0, least = m < n ? m : n;
    int *iwork = malloc(8 * (size_t)(least > 0 ? least : 1) * sizeof *iwork);
    if (!iwork)
        return EMBI_BLAS_NO_MEMORY;
    dgesdd_("N", &n, &m, a, &lda, s, &none, &one, &none, &one, &best, &ask, iwork, &info, 1);
    int size = workspace(best);
    double *work = info ? NULL : malloc((size_t)size * sizeof *work);
    if (work)
        dgesdd_("N", &n, &m, a, &lda, s, &none, &one, &none, &one, work, &size, iwork, &info, 1);
    else if (!info)
        info = EMBI_BLAS_NO_MEMORY;
    free(work);
    free(iwork);
    return info;
}

static const struct embi_blas functions = {.abi = EMBI_BLAS_ABI,
                                           .size = sizeof functions,
                                           .config = config,
                                           .core = core,
                                           .sgemm_nt = sgemm_nt,
                                           .sgemv = sgemv,
                                           .sgemm_nn = sgemm_nn,
                                           .dgemm_nn = dgemm_nn,
                                           .dgemm_tn = dgemm_tn,
                                           .dsyrk = dsyrk,
                                           .dsyevd_values = dsyevd_values,
                                           .dgesdd_values = dgesdd_values};

__attribute__((visibility("default"))) embi_blas_plugin_fn embi_blas_plugin;

const struct embi_blas *embi_blas_plugin(void)
{
    openblas_set_num_threads(1);
    return &functions;
}
