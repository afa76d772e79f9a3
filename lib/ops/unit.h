/* unit.h - vectors of length 1.
 */
#ifndef EMBI_OPS_UNIT_H
#define EMBI_OPS_UNIT_H

#include "util/base.h"

/* Scales x[d] to L2 norm 1, without overflow and underflow, and returns the norm that it had; where
 * that is 0, or NaN because x holds one or an infinity, x stays. */
double embi_normalize(double *x, uint32_t dims);

#endif
