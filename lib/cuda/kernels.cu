/* kernels.cu - all kernels, as one module: nvcc makes a fat binary of it, which the plugin carries.
 *
 * The same source is compiled as C++ for the CPU by the tests (tests/gpu). Nothing here fuses or
 * reorders but where fmaf says so: see the Makefile's flags.
 */
#include "cuda/draw.cuh"
#include "cuda/gather.cuh"
#include "cuda/matrix.cuh"
#include "cuda/products.cuh"
#include "cuda/scatter.cuh"
#include "cuda/select.cuh"
