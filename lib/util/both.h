/* both.h - EMBI_BOTH marks a function that the CPU and the GPU's compiler both take: the arithmetic
 * that must give the same bits on either side stands in the source once.
 */
#ifndef EMBI_UTIL_BOTH_H
#define EMBI_UTIL_BOTH_H

#ifdef __CUDACC__
#define EMBI_BOTH __host__ __device__
#else
#define EMBI_BOTH
#endif

#endif
